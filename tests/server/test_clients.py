"""Real clients over stdio and HTTP: the SDK's in both eras, an older SDK, and the MCP Inspector."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx2
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError

from kebab_tui.server.tools import TOOLS
from tests.command_line import ROOT, Kebab
from tests.server.http_server import LONGEST_WAIT_S, TOKEN, Served, served

pytestmark = pytest.mark.slow

OLD_SDK = ROOT / ".venv/old-sdk/bin/python"
INSPECTOR = ROOT / ".venv/inspector"
ERAS = ("2026-07-28", "legacy", "auto")


def parameters(kebab: Kebab, *argv: str) -> StdioServerParameters:
    program, *rest = kebab.argv
    return StdioServerParameters(command=program, args=[*rest, "mcp", *argv], env=kebab.environ)


@asynccontextmanager
async def over_http(server: Served, era: str) -> AsyncIterator[Client]:
    url = f"http://127.0.0.1:{server.port}/mcp"
    headers = {"Authorization": f"Bearer {TOKEN}"}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=LONGEST_WAIT_S) as http_client,
        Client(streamable_http_client(url, http_client=http_client), mode=era) as client,
    ):
        yield client


@pytest.fixture(scope="module")
def server(embedded: Kebab) -> Iterator[Served]:
    with served(str(embedded.data)) as found:
        yield found
        assert found.reported == []


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("transport", ["stdio", "http"])
def test_the_sdk_in_each_era(embedded: Kebab, server: Served, era: str, transport: str) -> None:
    async def talk() -> None:
        async with (
            Client(parameters(embedded), mode=era) if transport == "stdio" else over_http(server, era)
        ) as client:
            tools = (await client.list_tools()).tools
            assert [tool.name for tool in tools] == list(TOOLS)
            for tool in tools:
                assert tool.annotations is not None
                assert tool.annotations.read_only_hint
                assert tool.description is not None
                assert len(tool.description) <= 350

            # The client checks each answer by the tool's output schema.
            found = await client.call_tool("search", {"query": "port conflict", "limit": 2})
            assert found.structured_content["hits"][0]["citation"] == "infra/port-conflict.md:L23-L29"
            assert "infra/port-conflict.md:L23-L29" in found.content[0].text  # type: ignore[union-attr]
            by_meaning = await client.call_tool(
                "search", {"query": "how do I free a busy port", "mode": "vector"}
            )
            assert by_meaning.structured_content["returned"] == 8
            read = await client.call_tool("read", {"target": "infra/port-conflict.md:L9"})
            assert read.structured_content["text"] == "9: # Port already in use"
            libraries = await client.call_tool("resolve-library-id", {"libraryName": "note"})
            library = libraries.structured_content["libraries"][0]["library_id"]
            docs = await client.call_tool("query-docs", {"libraryId": library, "query": "포트 충돌"})
            assert docs.structured_content["library_id"] == "notes"

            wrong = await client.call_tool("search", {"query": "port", "limit": 0})
            assert wrong.is_error
            assert wrong.structured_content is None
            assert wrong.content[0].text.startswith("error: invalid_input: ")  # type: ignore[union-attr]
            with pytest.raises(MCPError, match="did you mean search"):
                await client.call_tool("serach", {"query": "port"})

            uri = found.structured_content["hits"][0]["uri"]
            resource = await client.read_resource(uri)
            assert "23: ## Resolve the conflict" in resource.contents[0].text  # type: ignore[union-attr]
            assert (await client.list_resources()).resources
            (template,) = (await client.list_resource_templates()).resource_templates
            assert template.uri_template == "kebab://{source}/{+path}"
            (prompt,) = (await client.list_prompts()).prompts
            answer = await client.get_prompt(prompt.name, {"question": "왜 포트가 충돌하나?"})
            assert "왜 포트가 충돌하나?" in answer.messages[0].content.text  # type: ignore[union-attr]
            with pytest.raises(MCPError, match="not in the index"):
                await client.read_resource("kebab://notes/nothing.md")

    asyncio.run(talk())


@pytest.mark.parametrize("transport", ["stdio", "http"])
def test_an_older_sdk(embedded: Kebab, server: Served, transport: str) -> None:
    """mcp 1: what most clients have that are installed today."""
    connection = [*embedded.argv, "mcp"]
    if transport == "http":
        connection = [f"http://127.0.0.1:{server.port}/mcp", TOKEN]
    if not OLD_SDK.exists():
        pytest.skip("the older SDK is not installed; `make test` installs it")
    program = Path(__file__).with_name("old_client.py")
    done = subprocess.run(
        [OLD_SDK, str(program), *connection],
        capture_output=True,
        text=True,
        env=embedded.environ | {"PYTHONPATH": ""},
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["version"].startswith("1.")
    assert told["protocol"] == "2025-11-25"
    assert told["tools"] == list(TOOLS)
    assert told["citation"] == "infra/port-conflict.md:L23-L29"
    assert told["error"].startswith("error: not_found: ")


@pytest.mark.program
class TestInspector:
    def run(self, kebab: Kebab, *argv: str, code: int = 0, server: Sequence[str] = ()) -> tuple[Any, str]:
        if not (INSPECTOR / "ready").exists():
            pytest.skip("the MCP Inspector is not installed; `make test-more` installs it")
        node, inspector = (INSPECTOR / "ready").read_text().splitlines()
        done = subprocess.run(
            [node, inspector, "--cli", *(server or (*kebab.argv, "mcp")), *argv],
            capture_output=True, text=True, env=kebab.environ, timeout=300,
        )  # fmt: skip
        assert done.returncode == code, done.stderr
        return json.loads(done.stdout), done.stderr

    def test_the_tools_have_no_problem(self, embedded: Kebab) -> None:
        listed, said = self.run(embedded, "--method", "tools/list", "--strict")
        assert [tool["name"] for tool in listed["tools"]] == list(TOOLS)
        assert "warning" not in said.lower()

    @pytest.mark.parametrize("era", ["legacy", "modern"])
    def test_a_search(self, embedded: Kebab, era: str) -> None:
        call = ("--method", "tools/call", "--tool-name", "search", "--tool-arg", "query=port conflict")
        found, _ = self.run(embedded, *call, "--protocol-era", era)
        assert found["structuredContent"]["hits"][0]["citation"] == "infra/port-conflict.md:L23-L29"

    @pytest.mark.parametrize("era", ["legacy", "modern"])
    def test_a_search_over_http(self, embedded: Kebab, server: Served, era: str) -> None:
        url = f"http://127.0.0.1:{server.port}/mcp"
        reached = (url, "--transport", "http", "--header", f"Authorization: Bearer {TOKEN}")
        call = ("--method", "tools/call", "--tool-name", "search", "--tool-arg", "query=port conflict")
        found, _ = self.run(embedded, *call, "--protocol-era", era, server=reached)
        assert found["structuredContent"]["hits"][0]["citation"] == "infra/port-conflict.md:L23-L29"
        listed, said = self.run(embedded, "--method", "tools/list", "--strict", server=reached)
        assert [tool["name"] for tool in listed["tools"]] == list(TOOLS)
        assert "warning" not in said.lower()


def test_a_thousand_requests_of_eight_clients(server: Served) -> None:
    """Half of them over REST, half over the protocol in both eras; each is answered."""
    queries = ["port conflict", "포트 충돌", "rust workspace", "밥 짓는 법", "docker"]

    def by_rest(number: int) -> int:
        found = (server.ask(f"/api/v1/search?q={quote(queries[n % len(queries)])}") for n in range(125))
        return sum(one.status == 200 and one.json["returned"] > 0 for one in found)

    def by_protocol(number: int) -> int:
        async def talk() -> int:
            async with over_http(server, ERAS[number % 2]) as client:
                answered = 0
                for _ in range(25):
                    calls = (client.call_tool("search", {"query": text}) for text in queries)
                    answered += sum(not one.is_error for one in await asyncio.gather(*calls))
                return answered

        return asyncio.run(talk())

    with ThreadPoolExecutor(8) as pool:
        asked = [pool.submit(by_rest if number < 4 else by_protocol, number) for number in range(8)]
        assert [one.result() for one in asked] == [125] * 8


def test_four_clients_with_a_hundred_calls_each(embedded: Kebab) -> None:
    queries = ["port conflict", "포트 충돌", "rust workspace", "밥 짓는 법", "docker"]

    async def talk(number: int) -> int:
        async with Client(parameters(embedded), mode=ERAS[number % 2]) as client:
            calls = [client.call_tool("search", {"query": queries[n % len(queries)]}) for n in range(100)]
            answers = await asyncio.gather(*calls)
            return sum(not one.is_error and one.structured_content["returned"] > 0 for one in answers)

    async def all_of_them() -> list[int]:
        return await asyncio.gather(*(talk(number) for number in range(4)))

    assert asyncio.run(all_of_them()) == [100] * 4


def test_connecting_to_a_missing_index_and_indexing_afterwards(kebab: Kebab, notes: Path) -> None:
    async def talk() -> None:
        async with Client(parameters(kebab), mode="legacy") as client:
            missing = await client.call_tool("search", {"query": "port"})
            assert missing.is_error
            assert missing.content[0].text.startswith("error: not_indexed: ")  # type: ignore[union-attr]
            subprocess.run(
                [*kebab.argv, "ingest", str(notes)], env=kebab.environ, check=True, capture_output=True
            )
            found = await client.call_tool("search", {"query": "port"})
            assert found.structured_content["hits"][0]["citation"].startswith("port.md:")

    asyncio.run(talk())


def test_the_sdk_is_imported_by_the_server_alone() -> None:
    verbs = "kebab_tui.cli.mcp, kebab_tui.cli.serve"
    modules = f"kebab_tui.cli.main, {verbs}, kebab_tui.workspace, kebab_tui.server.tools"
    code = f"import sys, {modules}; print({{'mcp', 'uvicorn', 'h11', 'asyncio'}} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"
