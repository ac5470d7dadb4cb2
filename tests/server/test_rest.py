"""The endpoints: the same registry, arguments, answers and limits as the tools of the protocol."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote, urlencode

import pytest
from jsonschema import Draft202012Validator
from msgspec import Struct
from openapi_spec_validator import validate

from kebab_tui.server.answers import ToolAnswer
from kebab_tui.server.tools import TOOLS, Tool
from kebab_tui.server.view import AgentView
from kebab_tui.wire.encode import Json
from tests.command_line import Kebab
from tests.server.http_server import Answer, Served, served
from tests.server.test_http import BY_WORDS
from tests.wire.test_schemas import check

API = "/api/v1/"
ASKED = {
    "search": {"query": "ports listeners"},
    "read": {"target": "infra/port.md:L3", "source": "notes", "context": "1"},
    "related": {"target": "plan"},
    "resolve-library-id": {"libraryName": "note"},
    "query-docs": {"libraryId": "/work", "query": "quagga"},
}


@pytest.fixture
def server(vault: Kebab) -> Iterator[Served]:
    with served(str(vault.data), settings=BY_WORDS) as found:
        yield found
        assert found.reported == []


def ask(server: Served, path: str, **parameters: str) -> Answer:
    return server.ask(f"{API}{path}?{urlencode(parameters)}")


def test_row_4_20_the_two_consumers_get_the_same(server: Served, vault: Kebab) -> None:
    """Each tool by GET, by POST and by MCP, as JSON and in the text of the specification."""
    view = AgentView(server.workspace)
    assert set(ASKED) == set(TOOLS)
    for name, tool in TOOLS.items():
        by_tool = tool.answer(view, ASKED[name])
        arguments = {"name": name, "arguments": ASKED[name]}
        call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": arguments}
        by_mcp = server.ask("/mcp", json.dumps(call).encode(), accept="application/json").json["result"]
        assert by_mcp["content"][0]["text"] == by_tool.text
        assert by_mcp["structuredContent"] == by_tool.data
        for answer in (
            ask(server, tool.path, **ASKED[name]),
            server.ask(f"{API}{tool.path}", json.dumps(ASKED[name]).encode()),
        ):
            assert answer.status == 200
            check(answer.json, tool.answers)
            assert answer.json == by_tool.data
        for text in (
            ask(server, tool.path, **ASKED[name], format="txt"),
            server.ask(f"{API}{tool.path}?{urlencode(ASKED[name])}", accept="text/plain"),
            server.ask(f"{API}{tool.path}", json.dumps(ASKED[name] | {"format": "txt"}).encode()),
        ):
            assert text.headers["content-type"] == "text/plain; charset=utf-8"
            assert text.body.decode() == by_tool.text
    listed = ask(server, "libs/search", libraryName="work", type="txt")
    assert listed.body.decode() == vault("source", "search", "work", "--format", "txt").out.rstrip("\n")


class _Echo(Struct, forbid_unknown_fields=True):
    text: str
    many: list[str] = []


def test_a_tool_is_one_entry(vault: Kebab, monkeypatch: pytest.MonkeyPatch) -> None:
    """An endpoint, its description and a tool of the protocol come from one entry of the registry."""

    def echo(view: AgentView, asked: _Echo) -> ToolAnswer:
        return ToolAnswer(asked.text, {"echo": asked.text, "many": asked.many})

    toy = Tool("echo", "Echo", "Says it again.", _Echo, "error.v1", echo, {"words": "text"}, "a/echo")
    monkeypatch.setitem(TOOLS, "echo", toy)
    with served(str(vault.data)) as server:
        answer = server.ask(f"{API}a/echo?words=%ED%95%9C&many=1&many=2")
        assert answer.json == {"echo": "한", "many": ["1", "2"]}
        described = server.ask("/openapi.json").json
        validate(described)
        assert set(described["paths"][f"{API}a/echo"]) == {"get", "post"}
        listing = b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}'
        tools = server.ask("/mcp", listing, accept="application/json").json["result"]["tools"]
        assert "echo" in {tool["name"] for tool in tools}


def test_the_openapi_document(server: Served) -> None:
    """Valid, the same at both paths, and true: real answers have the form that it describes."""
    found = server.ask("/openapi.json")
    assert found.body == server.ask(f"{API}openapi.json").body
    document = found.json
    validate(document)
    assert set(document["paths"]) == {f"{API}status", *(f"{API}{tool.path}" for tool in TOOLS.values())}

    def form(reference: Json) -> Draft202012Validator:
        return Draft202012Validator({"components": document["components"], **reference})

    for name, tool in TOOLS.items():
        described = document["paths"][f"{API}{tool.path}"]["get"]
        answer = ask(server, tool.path, **ASKED[name]).json
        form(described["responses"]["200"]["content"]["application/json"]["schema"]).validate(answer)
        assert {one["name"] for one in described["parameters"]} == {
            *tool.input_schema["properties"],
            "format",
        }
    error = document["components"]["responses"]["error"]["content"]["application/json"]["schema"]
    form(error).validate(ask(server, "read", target="nothing").json)


def test_the_status(server: Served, vault: Kebab) -> None:
    found = server.ask(f"{API}status").json
    check(found, "serve_status.v1")
    assert (found["state"], found["is_watched"]) == ("ready", False)
    counts = {one["source"]: one["passages"] for one in found["sources"]}
    assert counts == {"notes": 2, "work": 2}, "private notes are not counted"


@pytest.mark.parametrize(
    ("path", "status", "code", "named"),
    [
        ("search", 400, "invalid_input", "query"),
        ("search?query=", 400, "invalid_input", "length"),
        ("search?q=" + "x" * 2_001, 400, "invalid_input", "2000"),
        ("search?q=x&limit=0", 400, "invalid_input", "limit"),
        ("search?q=x&limit=many", 400, "invalid_input", "limit"),
        ("search?q=x&query=y", 400, "invalid_input", "twice"),
        ("search?q=x&q=y", 400, "invalid_input", "twice"),
        ("search?qurey=x", 400, "invalid_input", "did you mean query"),
        ("search?q=x&format=xml", 400, "invalid_input", "format"),
        ("search?q=%FF", 400, "invalid_input", "UTF-8"),
        ("search?q=x" + "&a=b" * 200, 400, "invalid_input", "parameters"),
        ("search?q=%27NEAR(a%20b)%27", 400, "invalid_input", "raw"),
        ("search?q=lang:klingon", 400, "bad_filter", "klingon"),
        ("search?q=x&source=nothing", 400, "bad_filter", "nothing"),
        ("search?q=x&type=poem", 400, "bad_filter", "poem"),
        ("read?target=nothing.md", 404, "not_found", "nothing.md"),
        ("read?target=/etc/passwd", 404, "not_found", "/etc/passwd"),
        ("read?target=" + quote("../" * 20 + "etc/passwd"), 404, "not_found", "not in the index"),
        ("context?libraryId=zzz&query=x", 404, "not_found", "zzz"),
    ],
    ids=str,
)
def test_errors(server: Served, path: str, status: int, code: str, named: str) -> None:
    answer = server.ask(API + path)
    assert answer.error == (status, code)
    check(answer.json, "error.v1")
    assert named in answer.json["message"] + answer.json["hint"]


@pytest.mark.parametrize(
    "body", [b"", b"{", b"[]", b'"x"', b"null", b"\xff", b'{"query":"\xff"}', b"[" * 100_000, b'{"query":{}}']
)
def test_bodies_that_are_no_arguments(server: Served, body: bytes) -> None:
    assert server.ask(f"{API}search", body).error == (400, "invalid_input")


def test_what_can_be_accepted(server: Served) -> None:
    for header, status in (
        ("application/json", 200), ("text/html, */*;q=0.8", 200), ("application/*", 200), ("image/png", 406),
        ("", 406), ("application/json;q=0", 406),
    ):  # fmt: skip
        answer = server.ask(f"{API}search?q=port", accept=header)
        assert answer.status == status, header
        assert answer.headers["content-type"] == "application/json"


def test_private_notes_and_other_sources_do_not_leave(vault: Kebab, tmp_path: Path) -> None:
    with served(str(vault.data), settings=BY_WORDS, sources=["notes"]) as server:
        for query in ("zebra", "4711", "yak", "quagga", "password", "codename"):
            assert ask(server, "search", query=query).json["total_matches"] == 0
            assert (
                ask(server, "libs/search", libraryName="", query=query).json["libraries"][0]["snippets"] == 2
            )
        for target in ("infra/secret.md", "secret", "diary/day.md", "plan", "kebab://work/plan.md"):
            for path in ("read", "related"):
                assert ask(server, path, target=target).error == (404, "not_found")
        assert ask(server, "context", libraryId="work", query="quagga").error == (404, "not_found")
        assert [one["source"] for one in server.ask(f"{API}status").json["sources"]] == ["notes"]
        (tmp_path / "notes/infra/port.md").write_text("---\nprivate: true\n---\n# Port\n\nTwo listeners.\n")
        assert ask(server, "search", query="listeners").json["hits"] == []
        assert ask(server, "read", target="infra/port.md").error == (404, "not_found")


def test_an_index_that_is_made_damaged_and_made_anew_meanwhile(kebab: Kebab, notes: Path) -> None:
    with served(str(kebab.data), settings=BY_WORDS) as server:
        missing = ask(server, "search", query="listeners")
        assert missing.error == (503, "not_indexed")
        assert int(missing.headers["retry-after"]) > 0
        status = server.ask(f"{API}status").json
        check(status, "serve_status.v1")
        assert status["state"] == "not_indexed"

        assert kebab("ingest", str(notes)).code == 0
        assert ask(server, "search", query="listeners").json["returned"] == 1
        (notes / "port.md").write_text("# Port\n\nThree listeners and a yak.\n")
        assert kebab("ingest").code == 0
        assert ask(server, "search", query="yak").json["returned"] == 1

        for path in (kebab.data / "kebab.sqlite", kebab.data / "kebab.sqlite-wal"):
            path.write_bytes(b"no database" * 1_000)
        damaged = ask(server, "search", query="yak")
        assert damaged.status == 503
        assert str(kebab.data) not in damaged.body.decode()
        assert server.ask(f"{API}status").json["state"] == "unavailable"

        assert kebab("ingest", str(notes)).code == 0
        assert ask(server, "search", query="yak").json["returned"] == 1
        assert server.ask(f"{API}status").json["state"] == "ready"
        assert server.reported == []


def test_characters_that_cannot_be_seen_are_made_visible(
    server: Served, tmp_path: Path, vault: Kebab
) -> None:
    (tmp_path / "work/odd.md").write_text("# Odd \x1b[2J\u202e\n\ngnu \x9b31m 🦬\n")
    assert vault("ingest").code == 0
    for form in ("json", "txt"):
        body = ask(server, "search", query="gnu", format=form).body.decode()
        assert "🦬" in body
        assert not set("\x1b\x9b\u202e") & set(body)
        assert "\\u001b" not in body


def test_a_lone_surrogate_in_a_question(server: Served) -> None:
    assert server.ask(f"{API}search", b'{"query":"\\ud800 port"}').status in (200, 400)
