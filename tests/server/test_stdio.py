"""The transport: every line is answered or refused, and nothing but answers reaches stdout."""

from __future__ import annotations

import json
import os
import random
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from kebab_tui.server.stdio import LONGEST_LINE
from tests.command_line import Kebab
from tests.server.raw_client import HANDSHAKE, LONGEST_WAIT_S, RawClient, raw_client

pytestmark = pytest.mark.slow

_GOOD = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "tools/call",
    "params": {"name": "search", "arguments": {"query": "port"}},
}


@pytest.fixture
def client(indexed: Kebab) -> Iterator[RawClient]:
    with raw_client(indexed) as client:
        client.shake_hands()
        yield client


def fuzzed(seed: int, count: int) -> Iterator[tuple[bytes, bool]]:
    """Lines, and whether each is a request that must get an answer of its own or a refusal."""
    dice = random.Random(seed)
    methods = [
        "tools/list",
        "tools/call",
        "resources/read",
        "prompts/get",
        "ping",
        "server/discover",
        "no/such",
        "",
    ]
    values: list[Any] = [
        None,
        0,
        -1,
        1e308,
        True,
        "",
        "검색",
        "\u0000\u001b[2J",
        "a" * 300,
        [],
        {},
        [[[]]],
        {"a": {"b": 1}},
    ]
    for number in range(count):
        match dice.randrange(8):
            case 0:
                yield dice.randbytes(dice.randrange(1, 200)).replace(b"\n", b" ").strip() or b"x", True
            case 1:
                text = json.dumps(_GOOD)
                yield text[: dice.randrange(1, len(text))].encode(), True
            case 2:
                yield json.dumps(dice.choice(values)).encode(), True
            case 3:
                yield json.dumps({"jsonrpc": dice.choice(["2.0", "1.0", 2]), "id": number}).encode(), True
            case 4:
                yield json.dumps([_GOOD] * dice.randrange(3)).encode(), True
            case _:
                params = {
                    dice.choice(["name", "uri", "arguments", "cursor", "_meta", "x"]): dice.choice(values)
                    for _ in range(dice.randrange(4))
                }
                asked = {"jsonrpc": "2.0", "id": number, "method": dice.choice(methods), "params": params}
                yield json.dumps(asked).encode(), True


def test_ten_thousand_broken_lines_are_each_answered_and_the_server_ends_well(indexed: Kebab) -> None:
    with raw_client(indexed) as client:
        client.shake_hands()
        expected = 0
        for line, is_answered in fuzzed(7, 10_000):
            client.send(line)
            expected += is_answered
            while expected > 200:  # the pipe of answers must not fill
                assert client.receive() is not None
                expected -= 1
        for _ in range(expected):
            answer = client.receive()
            assert "result" in answer or answer["error"]["message"]
        found = client.call("search", query="port conflict")
        assert found["structuredContent"]["returned"] > 0
        assert client.close() == 0


def test_deep_and_long_lines_are_refused_and_the_next_call_is_answered(client: RawClient) -> None:
    for line, code in (
        (b"[" * 100_000, -32700),
        (b'{"a":' * 100_000, -32700),
        (b"x" * (LONGEST_LINE + 10), -32600),
        (b'{"jsonrpc":"2.0","id":7,"method":"' + b"a" * (LONGEST_LINE * 3) + b'"}', -32600),
        (b'{"id":8}', -32600),
    ):
        client.send(line)
        answer = client.receive()
        assert answer["error"]["code"] == code
        assert answer["id"] == (8 if line == b'{"id":8}' else None)
    arguments = {"query": "port", "padding": "a" * (LONGEST_LINE - 1_000)}
    refused = client.ask("tools/call", name="search", arguments=arguments)
    assert refused["result"]["isError"]
    assert client.call("read", target="infra/port-conflict.md")["isError"] is False


def test_requests_that_were_sent_before_the_end_are_answered(indexed: Kebab) -> None:
    """As of `printf … | kebab mcp`."""
    lines = [json.dumps({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": HANDSHAKE})]
    lines += [json.dumps(_GOOD | {"id": number}) for number in range(1, 6)]
    done = subprocess.run(
        [*indexed.argv, "mcp"],
        input="\n".join(lines).encode(),  # the last line has no end
        capture_output=True,
        env=indexed.environ,
        timeout=LONGEST_WAIT_S,
        check=True,
    )
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert {answer["id"] for answer in answers} == set(range(6))
    assert all("result" in answer for answer in answers)


def test_a_stray_print_does_not_reach_the_client(indexed: Kebab) -> None:
    """Of a library, of C code, of a child process."""
    noises = "print('noise'), os.write(1, b'noise\\n'), subprocess.run(['echo', 'noise'])"
    noise = (
        "import os, subprocess, kebab_tui.server.view as view",
        "real = view.AgentView.search",
        f"view.AgentView.search = lambda self, *a, **b: ({noises}, real(self, *a, **b))[-1]",
    )
    with raw_client(indexed, code=noise) as client:
        client.shake_hands()
        assert client.call("search", query="port")["structuredContent"]["returned"] > 0
        assert client.close() == 0


def test_the_server_ends_when_its_client_is_killed(indexed: Kebab) -> None:
    starter = (
        "import subprocess, sys, time;"
        "server = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE, stdout=subprocess.PIPE);"
        "print(server.pid, flush=True);"
        "time.sleep(600)"
    )
    client = subprocess.Popen(
        [sys.executable, "-c", starter, *indexed.argv, "mcp"], stdout=subprocess.PIPE, env=indexed.environ
    )
    assert client.stdout is not None
    server = int(client.stdout.readline())
    watched = os.pidfd_open(server)
    client.kill()
    client.communicate()
    import select

    ended, _, _ = select.select([watched], [], [], LONGEST_WAIT_S)
    assert ended
    os.close(watched)


@pytest.mark.parametrize("signal_", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_server(client: RawClient, signal_: signal.Signals) -> None:
    client.process.send_signal(signal_)
    assert client.process.wait(timeout=LONGEST_WAIT_S) != 0


def test_a_cancelled_call_does_not_hold_up_the_end(indexed: Kebab) -> None:
    with raw_client(indexed) as client:
        client.shake_hands()
        for number in range(20):
            client.send(json.dumps(_GOOD | {"id": f"cancelled-{number}"}).encode())
        for number in range(20):
            params = {"requestId": f"cancelled-{number}"}
            cancelled = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}
            client.send(json.dumps(cancelled).encode())
        assert client.call("search", query="port")["structuredContent"]["returned"] > 0
        assert client.close() == 0


def test_ids_that_are_neither_text_nor_numbers_are_refused(client: RawClient) -> None:
    for wrong in (b"1.5", b"null", b"true", b"[1]"):
        client.send(b'{"jsonrpc":"2.0","method":"ping","id":%s}' % wrong)
        assert client.receive()["error"]["code"] == -32600


def test_errors_name_no_folder_of_this_machine(vault: Kebab) -> None:
    with raw_client(vault) as client:
        client.shake_hands()
        for path in (vault.data / "kebab.sqlite", vault.data / "kebab.sqlite-wal"):
            path.write_bytes(b"no database" * 1_000)
        for answer in (
            client.call("search", query="port"),
            client.call("read", target="plan.md"),
            client.ask("resources/list")["error"],
        ):
            assert str(vault.data) not in json.dumps(answer)
        assert "kebab doctor" in json.dumps(client.call("search", query="port"))


def test_a_damaged_index_does_not_keep_a_client_from_connecting(kebab: Kebab) -> None:
    kebab.data.mkdir()
    (kebab.data / "kebab.sqlite").write_bytes(b"no database" * 1_000)
    with raw_client(kebab) as client:
        assert client.shake_hands()["serverInfo"]["name"] == "kebab"
        assert client.call("search", query="port")["isError"]


def test_without_stdin_or_stdout_the_command_says_so(indexed: Kebab) -> None:
    for closed in ("<&-", ">&-"):
        command = " ".join([*map(shlex.quote, indexed.argv), "mcp", closed])
        done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, env=indexed.environ)
        assert done.returncode == 2
        assert "stdin and stdout must be open" in done.stderr
