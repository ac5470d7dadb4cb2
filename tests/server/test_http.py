"""The server from outside: who may ask, and what a client can do wrong, slowly, or in great numbers."""

from __future__ import annotations

import contextlib
import http.client
import json
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import count

import pytest

from kebab_tui.domain.query import SearchQuery
from kebab_tui.server import listener
from kebab_tui.server.http import HttpLimits
from kebab_tui.settings.settings import SearchSettings, Settings
from tests.command_line import Kebab
from tests.server.http_server import LONGEST_WAIT_S, TOKEN, Served, rest_of, served

BY_WORDS = Settings(search=SearchSettings(mode="lexical"))
STATUS = "/api/v1/status"
SEARCH = "/api/v1/search"
QUESTION = b'{"query":"port"}'


@pytest.fixture(scope="module")
def server(indexed: Kebab) -> Iterator[Served]:
    with served(str(indexed.data), settings=BY_WORDS) as found:
        yield found
        assert found.reported == []


def eventually(is_so: object) -> None:
    """Wait until a condition holds."""
    end = time.monotonic() + LONGEST_WAIT_S
    while not is_so():  # type: ignore[operator]
        assert time.monotonic() < end
        time.sleep(0.02)


# Who may ask


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("127.0.0.1:{port}", 200), ("localhost:{port}", 200), ("LocalHost:{port}", 200),
        ("[::1]:{port}", 200),
        ("127.0.0.1", 403), ("127.0.0.1:80", 403), ("127.0.0.1.:{port}", 403), ("localhost.:{port}", 403),
        ("evil.example:{port}", 403), ("127.0.0.1.evil.example:{port}", 403), ("127.1:{port}", 403),
        ("0.0.0.0:{port}", 403), ("[::ffff:127.0.0.1]:{port}", 403), ("::1:{port}", 403), ("", 403),
        ("user@127.0.0.1:{port}", 403), ("127.0.0.1:{port}, evil.example", 403),
        ("localhost:{port}\u00a0", 403),
    ],
)  # fmt: skip
def test_the_host_must_be_this_one(server: Served, host: str, status: int) -> None:
    answer = server.ask(STATUS, host=host.format(port=server.port))
    assert answer.status == status
    if status == 403:
        assert answer.error == (403, "wrong_host")


@pytest.mark.parametrize(
    ("origin", "status"),
    [
        ("http://127.0.0.1:{port}", 200), ("http://localhost:{port}", 200), ("HTTP://LOCALHOST:{port}", 200),
        ("null", 403), ("", 403), ("http://127.0.0.1:1", 403), ("http://localhost", 403), ("file://", 403),
        ("https://127.0.0.1:{port}", 403), ("http://evil.example", 403),
        ("http://localhost:{port}.evil", 403),
        ("http://localhost:{port}/", 403),
    ],
)  # fmt: skip
def test_other_origins_may_not_ask(server: Served, origin: str, status: int) -> None:
    for path, body in ((STATUS, None), (SEARCH, QUESTION)):
        answer = server.ask(path, body, origin=origin.format(port=server.port))
        assert answer.status == status
        assert not any(name.startswith("access-control") for name in answer.headers)


def test_browsers_may_not_ask_for_other_sites(server: Served) -> None:
    for site, status in (("cross-site", 403), ("same-site", 403), ("same-origin", 200), ("none", 200)):
        assert server.ask(STATUS, sec_fetch_site=site).status == status


@pytest.mark.parametrize(
    "given",
    [None, "", "Bearer", "Bearer ", f"Bearer {TOKEN}x", f"Bearer {TOKEN[:-1]}", f"Basic {TOKEN}", TOKEN,
     "Bearer 한"],
)  # fmt: skip
def test_without_the_token_there_is_nothing_to_see(server: Served, given: str | None) -> None:
    for path, body in ((STATUS, None), ("/mcp", QUESTION), ("/openapi.json", None), ("/nothing", None)):
        answer = server.ask(path, body, authorization=given)
        assert answer.error == (401, "unauthorized")
        assert answer.headers["www-authenticate"].startswith("Bearer")
        assert TOKEN.encode() not in answer.body
    assert server.ask(f"{STATUS}?access_token={TOKEN}", authorization=given).status == 401


def test_the_scheme_of_the_token_is_in_any_case(server: Served) -> None:
    assert server.ask(STATUS, authorization=f"bearer  {TOKEN} ").status == 200


def test_a_server_without_a_token(indexed: Kebab) -> None:
    with served(str(indexed.data), settings=BY_WORDS, token=None) as server:
        assert server.ask(STATUS, authorization=None).status == 200
        assert server.ask(STATUS, authorization=None, origin="http://evil.example").status == 403
        assert server.ask(SEARCH, QUESTION, authorization=None, content_type="text/plain").status == 415


def test_headers_that_decide_are_given_once(server: Served) -> None:
    for line in ("Authorization: Bearer other", "Origin: a\r\nOrigin: b"):
        answer = rest_of(server.send(server.head() + f"{line}\r\nConnection: close\r\n\r\n".encode()))
        assert answer.startswith(b"HTTP/1.1 400 ")


# What may be asked


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("HEAD", STATUS, 200), ("OPTIONS", STATUS, 405), ("TRACE", STATUS, 405), ("DELETE", STATUS, 405),
        ("PUT", SEARCH, 405), ("BREW", SEARCH, 405), ("POST", STATUS, 405), ("GET", "/mcp", 405),
        ("DELETE", "/mcp", 405), ("CONNECT", "127.0.0.1:22", 404), ("GET", "//api/v1/status", 404),
        ("GET", "/api/v1/status/", 404), ("GET", "/api/v1/%2e%2e/v1/status", 404),
        ("GET", "/api/v1/../v1/status", 404),
        ("GET", "http://evil.example/api/v1/status", 404), ("GET", "/", 404),
        ("GET", "/%00", 404), ("GET", "/%ff", 404),
        ("GET", "*", 404), ("OPTIONS", "*", 404),
    ],
)  # fmt: skip
def test_paths_and_methods(server: Served, method: str, path: str, status: int) -> None:
    answer = server.ask(path, method=method)
    assert answer.status == status
    if method == "HEAD":
        assert answer.body == b""
    elif status == 405:
        assert answer.error == (405, "method_not_allowed")
        assert method not in answer.headers["allow"]
    else:
        assert answer.error == (404, "no_such_path")


@pytest.mark.parametrize(
    ("kind", "status"),
    [
        ("application/json", 200), ("Application/JSON; charset=utf-8", 200), ("text/plain", 415), (None, 415),
        ("application/x-www-form-urlencoded", 415), ("application/jsonp", 415),
        ("text/plain;application/json", 415),
        ("multipart/form-data; boundary=x", 415), ("application/json, text/plain", 415),
    ],
)  # fmt: skip
def test_a_body_must_be_json(server: Served, kind: str | None, status: int) -> None:
    assert server.ask(SEARCH, QUESTION, content_type=kind).status == status
    if status == 415:
        assert server.ask("/mcp", QUESTION, content_type=kind).error == (415, "not_json")


def test_a_compressed_body_is_refused(server: Served) -> None:
    assert server.ask(SEARCH, QUESTION, content_encoding="gzip").error == (415, "not_json")


@pytest.mark.parametrize("path", [SEARCH, "/mcp"])
def test_a_large_body_is_refused(server: Served, path: str) -> None:
    assert server.ask(path, b" " * (1 << 20) + QUESTION).error == (413, "too_large")
    assert server.ask(path, b"", content_length="9" * 20).error == (413, "too_large")
    head = server.head(
        f"POST {path} HTTP/1.1", "Content-Type: application/json", "Transfer-Encoding: chunked"
    )
    connection = server.send(head + b"\r\n")
    chunk = b"10000\r\n" + b" " * 0x10000 + b"\r\n"
    with contextlib.suppress(OSError):
        for _ in range(17):
            connection.sendall(chunk)
    assert connection.recv(1 << 16).startswith(b"HTTP/1.1 413 ")
    connection.close()
    assert server.is_well()


def test_an_answer_before_the_body_is_sent(server: Served) -> None:
    """A client that asks first never sends what would be refused."""
    line, expect = f"POST {SEARCH} HTTP/1.1", "Expect: 100-continue"
    kind, size = "Content-Type: application/json", f"Content-Length: {len(QUESTION)}"
    large = server.send(server.head(line, expect, kind, "Content-Length: 99999999") + b"\r\n")
    assert large.recv(4_096).startswith(b"HTTP/1.1 413 ")
    large.close()
    good = server.send(server.head(line, expect, kind, size, "Connection: close") + b"\r\n")
    assert good.recv(4_096).startswith(b"HTTP/1.1 100 ")
    good.sendall(QUESTION)
    assert b'"schema_version":"mcp_search.v1"' in rest_of(good)


@pytest.mark.parametrize(
    ("data", "status"),
    [
        (b"\x00\xff\xfe\r\n\r\n", 400), (b"GET / HTTP/9.9\r\n\r\n", 403),
        (b"GET /\xff HTTP/1.1\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\n\r\n", 400), (b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\n\r\n", 501),
        (b"GET / HTTP/1.1\r\nHost: a\r\nBad Name: x\r\n\r\n", 400),
        (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 403),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nHost: a\r\nX: " + b"x" * (1 << 17), 431),
        (b"GET /" + b"x" * (1 << 17), 431),
        (b"GET / HTTP/1.1\r\nHost: a\r\n" + b"a: b\r\n" * 20_000 + b"\r\n", 431),
    ],
    ids=count(),
)  # fmt: skip
def test_what_is_not_http(server: Served, data: bytes, status: int) -> None:
    connection = socket.create_connection(("127.0.0.1", server.port), LONGEST_WAIT_S)
    with contextlib.suppress(OSError):  # the answer came before the end
        connection.sendall(data)
    answer = b""
    while b'"schema_version":"error.v1"' not in answer:
        part = connection.recv(1 << 16)
        assert part, answer
        answer += part
    connection.close()
    assert answer.startswith(b"HTTP/1.1 %d " % status)
    assert server.is_well()


def test_a_broken_body(server: Served) -> None:
    """Chunks that are none, and a connection that ends within the body."""
    line = f"POST {SEARCH} HTTP/1.1"
    head = server.head(line, "Content-Type: application/json", "Transfer-Encoding: chunked") + b"\r\n"
    assert b"HTTP/1.1 200" not in rest_of(server.send(head + b"zz\r\n"))
    server.send(head + b"5\r\n{").close()
    assert server.is_well()


def test_pipelined_requests_are_answered_in_order(server: Served) -> None:
    first, second = (server.head(f"GET /{name} HTTP/1.1") + b"\r\n" for name in "ab")
    last = server.head("GET /c HTTP/1.1", "Connection: close") + b"\r\n"
    answers = rest_of(server.send(first + second + last))
    assert [answers.index(f"nothing is at /{name}".encode()) for name in "abc"] == sorted(
        answers.index(f"nothing is at /{name}".encode()) for name in "abc"
    )


# Slow clients, and many


@pytest.fixture
def hasty(indexed: Kebab, monkeypatch: pytest.MonkeyPatch) -> Iterator[Served]:
    """A server that waits for a client only a moment."""
    monkeypatch.setattr(listener, "STALLED_S", 0.3)
    limits = HttpLimits(call_s=LONGEST_WAIT_S, body_s=0.3)
    with served(str(indexed.data), settings=BY_WORDS, limits=limits) as found:
        yield found
        assert found.reported == []


def test_a_client_that_stalls_is_cut_off(hasty: Served) -> None:
    before = b"HTTP/1.1 200 "
    whole = hasty.head() + b"\r\n"
    assert rest_of(hasty.send(b"")) == b""
    assert rest_of(hasty.send(hasty.head())) == b""
    assert rest_of(hasty.send(whole + b"GET ")).startswith(before), "the second request never ends"
    line = f"POST {SEARCH} HTTP/1.1"
    head = hasty.head(line, "Content-Type: application/json", "Content-Length: 16") + b"\r\n"
    assert rest_of(hasty.send(head + b'{"query"')).startswith(b"HTTP/1.1 408 ")
    refused = hasty.head(line, "Content-Type: text/plain", "Content-Length: 16") + b"\r\n"
    assert rest_of(hasty.send(refused)).startswith(b"HTTP/1.1 415 ")


def test_a_client_that_drips_is_cut_off(hasty: Served) -> None:
    """A byte now and then does not put off the end."""
    connection = hasty.send(b"GET / HTTP/1.1\r\n")
    with pytest.raises(OSError):  # noqa: PT012
        while True:
            connection.sendall(b"a: b\r\n")
            time.sleep(0.05)
    connection.close()


def test_a_flood_is_answered_dropped_and_cut_off(hasty: Served) -> None:
    """A million chunks of one byte each take long to parse: behind an answer none is."""
    head = f"POST {SEARCH} HTTP/1.1\r\nHost: 127.0.0.1:{hasty.port}\r\nTransfer-Encoding: chunked\r\n\r\n"
    connection = hasty.send(head.encode())
    with pytest.raises(OSError):  # noqa: PT012
        while True:
            connection.sendall(b"1\r\nx\r\n" * 10_000)
    assert rest_of(connection).startswith(b"HTTP/1.1 401 ")
    assert hasty.is_well()


def test_a_client_that_does_not_read_is_cut_off(hasty: Served) -> None:
    connection = socket.socket()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
    connection.settimeout(LONGEST_WAIT_S)
    connection.connect(("127.0.0.1", hasty.port))
    request = hasty.head("GET /openapi.json HTTP/1.1") + b"\r\n"
    with pytest.raises(OSError):  # noqa: PT012
        while True:
            connection.sendall(request)
    connection.close()
    assert hasty.is_well()


def test_half_open_connections_hold_nothing_up(server: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """More than may be open: the ones that stalled longest make room for a client that asks."""
    monkeypatch.setattr(listener, "MOST_CONNECTIONS", 20)
    kept = http.client.HTTPConnection("127.0.0.1", server.port, timeout=LONGEST_WAIT_S)
    stalled = [server.send(server.head()) for _ in range(60)]
    for _ in range(3):
        kept.request("GET", STATUS, headers={"Authorization": f"Bearer {TOKEN}"})
        assert kept.getresponse().read()
    kept.close()
    for connection in stalled[:30]:
        assert rest_of(connection) == b""
    for connection in stalled[30:]:
        connection.close()


def test_too_many_calls_are_refused_at_once(indexed: Kebab, monkeypatch: pytest.MonkeyPatch) -> None:
    going, release = threading.Event(), threading.Event()
    limits = HttpLimits(call_s=LONGEST_WAIT_S, calls=3)
    with served(str(indexed.data), settings=BY_WORDS, limits=limits) as server, ThreadPoolExecutor(3) as pool:
        assert server.is_well()
        real = server.workspace.search

        def slow(*arguments: object) -> object:
            going.set()
            assert release.wait(LONGEST_WAIT_S)
            return real(*arguments)  # type: ignore[arg-type]

        monkeypatch.setattr(server.workspace, "search", slow)
        try:
            asked = [pool.submit(server.ask, SEARCH, QUESTION) for _ in range(3)]
            assert going.wait(LONGEST_WAIT_S)
            eventually(lambda: server.ask("/openapi.json").status == 429)
            refused = server.ask(SEARCH, QUESTION)
            assert refused.error == (429, "too_many_calls")
            assert refused.headers["retry-after"] == "1"
            assert server.ask("/mcp", QUESTION).status == 429
        finally:
            release.set()
        assert [one.result().status for one in asked] == [200] * 3
        assert server.is_well()


def test_an_answer_that_takes_too_long(indexed: Kebab, monkeypatch: pytest.MonkeyPatch) -> None:
    release = threading.Event()
    with served(str(indexed.data), settings=BY_WORDS, limits=HttpLimits(call_s=0.3)) as server:
        real = server.workspace.search
        asked: list[SearchQuery] = []

        def slow(query: SearchQuery) -> object:
            asked.append(query)
            assert release.wait(LONGEST_WAIT_S)
            return real(query)

        monkeypatch.setattr(server.workspace, "search", slow)
        try:
            assert server.ask(SEARCH, QUESTION).error == (504, "timeout")
            assert server.ask("/mcp", CALL, accept="application/json").error == (504, "timeout")
        finally:
            release.set()
        eventually(lambda: server.ask(STATUS).status == 200)
        begun = [one for one in asked if one.text == "port"]  # none if the model was just being loaded
        assert len(begun) <= 1, "a call that timed out while it waited is not begun"


CALL = json.dumps(
    {
        "jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": {"name": "search", "arguments": {"query": "port"}},
    }
).encode()  # fmt: skip


def test_defects_leak_nothing(indexed: Kebab, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise KeyError("/home/me/secret")

    with served(str(indexed.data), settings=BY_WORDS) as server:
        monkeypatch.setattr(server.workspace, "search", broken)
        answer = server.ask(SEARCH, QUESTION)
        assert answer.error == (500, "internal")
        assert b"secret" not in answer.body
        assert b"secret" not in server.ask("/mcp", CALL, accept="application/json").body
        assert server.reported == ["POST /api/v1/search: internal error: KeyError: '/home/me/secret'"]


def test_the_model_context_protocol_refuses_what_it_cannot_read(server: Served) -> None:
    for body in (b"", b"[", b"\xff", b"[]", b'{"a":1}', b"[" * 100_000, b'{"jsonrpc":"2.0","id":1}'):
        for era in ("2025-06-18", "2026-07-28", "1999-01-01", None):
            answer = server.ask("/mcp", body, accept="application/json", mcp_protocol_version=era)
            assert answer.status == 400, (body[:20], era)
            assert answer.json["error"]["code"] < 0
    assert server.is_well()


def test_the_end_lets_a_call_finish(indexed: Kebab, monkeypatch: pytest.MonkeyPatch) -> None:
    going, release = threading.Event(), threading.Event()
    with ThreadPoolExecutor(2) as pool:
        with served(str(indexed.data), settings=BY_WORDS) as server:
            real = server.workspace.search

            def slow(*arguments: object) -> object:
                going.set()
                assert release.wait(LONGEST_WAIT_S)
                return real(*arguments)  # type: ignore[arg-type]

            monkeypatch.setattr(server.workspace, "search", slow)
            asked = pool.submit(server.ask, SEARCH, QUESTION)
            assert going.wait(LONGEST_WAIT_S)
            idle = server.send(b"")

            def release_once_closed() -> None:
                assert rest_of(idle) == b"", "idle connections are closed first"
                release.set()

            pool.submit(release_once_closed)
        assert asked.result().status == 200
        with pytest.raises(ConnectionRefusedError):
            server.send(b"")
