"""`kebab serve`: what it refuses, how it begins and ends, and the clients that it registers."""

from __future__ import annotations

import json
import os
import select
import shlex
import signal
import socket
import stat
import subprocess
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.request import Request, urlopen

import pytest

from kebab_tui.cli import serve
from tests.command_line import ROOT, Kebab

LONGEST_WAIT_S = 120


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.0.1", "example.org", "", "127.0.0.2", "127.1"])
def test_it_listens_on_this_machine_only(kebab: Kebab, host: str) -> None:
    done = kebab("serve", "--host", host)
    assert done.code == 2
    assert "on this machine only" in done.err
    assert "ssh -L" in done.err


def test_without_the_extra(kebab: Kebab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serve, "find_spec", lambda name: None)
    done = kebab("serve")
    assert done.code == 2
    assert done.err == "error: the server is not installed\n  hint: pip install 'kebab-tui[mcp]'\n"


def test_a_port_in_use(kebab: Kebab) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        done = kebab("serve", "--port", str(taken.getsockname()[1]))
    assert done.code == 2
    assert "Address already in use" in done.err
    assert "--port 0" in done.err


def test_what_contradicts_itself(kebab: Kebab, tmp_path: Path) -> None:
    assert kebab("serve", "--no-token", "--token-file", "x").code == 2
    assert "no folder to watch" in kebab("serve", "--watch").err
    (kebab.data / "serve.token").chmod(0o644)
    assert "others may read" in kebab("serve").err
    kebab("source", "add", str(tmp_path), "--yes")
    assert "nots" in kebab("serve", "--source", "nots").err


@pytest.mark.parametrize("client", ["claude-code", "codex", "cursor", "gemini", "vscode", "zed"])
def test_the_registration(kebab: Kebab, client: str) -> None:
    done = kebab("serve", "--port", "7500", "--print-config", client)
    assert (done.code, len(done.err.splitlines())) == (0, 1)
    token = (kebab.data / "serve.token").read_text().strip()
    if client == "claude-code":
        assert token not in done.out, "the shell reads it"
        words = shlex.split(done.out)
        assert words[:8] == ["claude", "mcp", "add", "--scope", "user", "--transport", "http", "kebab"]
        assert words[8:10] == ["http://127.0.0.1:7500/mcp", "--header"]
        assert words[10] == f"Authorization: Bearer $(cat {kebab.data}/serve.token)"
    elif client == "codex":
        assert tomllib.loads(done.out) == {
            "mcp_servers": {
                "kebab": {"url": "http://127.0.0.1:7500/mcp", "bearer_token_env_var": "KEBAB_TOKEN"}
            }
        }
    else:
        text = json.dumps(done.json)
        assert "http://127.0.0.1:7500/mcp" in text
        assert f"Bearer {token}" in text
        assert "the token is in it" in done.err
    assert token not in kebab("serve", "--no-token", "--print-config", client).out


# In a process


class Running:
    def __init__(self, kebab: Kebab, *argv: str) -> None:
        self.kebab = kebab
        self.process = subprocess.Popen(
            [*kebab.argv, "serve", "--port", "0", *argv],
            env=kebab.environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert self.process.stdout is not None
        self.url = self.process.stdout.readline().strip()

    def ask(self, path: str) -> object:
        token = (self.kebab.data / "serve.token").read_text().strip()
        headers = {"Authorization": f"Bearer {token}"}
        with urlopen(Request(self.url + path, headers=headers), timeout=LONGEST_WAIT_S) as answer:
            return json.loads(answer.read())

    def end(self, number: signal.Signals = signal.SIGTERM) -> tuple[int, str]:
        self.process.send_signal(number)
        _, said = self.process.communicate(timeout=LONGEST_WAIT_S)
        return self.process.returncode, said


@contextmanager
def running(kebab: Kebab, *argv: str) -> Iterator[Running]:
    found = Running(kebab, *argv)
    try:
        yield found
    finally:
        found.process.kill()
        found.process.communicate()


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_begins_and_ends(kebab: Kebab, notes: Path, number: signal.Signals) -> None:
    """With the address on stdout and all else on stderr, but never the token; even without an index."""
    with running(kebab) as server:
        assert server.ask("/api/v1/status")["state"] == "not_indexed"  # type: ignore[index]
        assert kebab("ingest", str(notes)).code == 0
        assert server.ask("/api/v1/search?q=listeners")["returned"] == 1  # type: ignore[index]
        path = kebab.data / "serve.token"
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        code, said = server.end(number)
        assert code == 0
        assert said.splitlines() == [
            f"token: {path}",
            "nothing is indexed yet: run `kebab ingest FOLDER`",
            "stopped",
        ]


@pytest.mark.slow
def test_a_second_signal_ends_it_at_once(indexed: Kebab) -> None:
    """While a client takes its time to send what it asks."""
    with running(indexed) as server:
        host, _, port = server.url.removeprefix("http://").rpartition(":")
        token = (indexed.data / "serve.token").read_text().strip()
        head = f"POST /mcp HTTP/1.1\r\nHost: {host}:{port}\r\nAuthorization: Bearer {token}\r\n"
        head += "Content-Type: application/json\r\nContent-Length: 9\r\nExpect: 100-continue\r\n\r\n"
        with socket.create_connection((host, int(port)), LONGEST_WAIT_S) as client:
            client.sendall(head.encode())
            assert client.recv(100).startswith(b"HTTP/1.1 100 ")
            server.process.send_signal(signal.SIGTERM)
            with pytest.raises(OSError):  # noqa: PT012
                while True:  # it does not accept any more
                    socket.create_connection((host, int(port)), LONGEST_WAIT_S).close()
            code, said = server.end()
        assert code in (130, 0), said
        assert "Traceback" not in said


@pytest.mark.slow
def test_it_keeps_the_index_up_to_date(kebab: Kebab, notes: Path) -> None:
    """In a process of its own, which ends with it."""
    assert kebab("ingest", str(notes)).code == 0
    with running(kebab, "--watch") as server:
        while not server.ask("/api/v1/status")["is_watched"]:  # type: ignore[index]
            assert server.process.poll() is None
        (notes / "new.md").write_text("# New\n\nA quagga.\n")
        while not server.ask("/api/v1/search?q=quagga")["returned"]:  # type: ignore[index]
            assert server.process.poll() is None
        indexer = json.loads((kebab.data / "live.json").read_text())["pid"]
        ended = os.pidfd_open(indexer)
        with running(kebab, "--watch") as second:
            second.ask("/api/v1/status")
            code, said = second.end()
            assert code == 0
            assert f"process {indexer} keeps the index up to date" in said
        assert select.select([ended], [], [], 0)[0] == []
        assert server.end()[0] == 0
        assert select.select([ended], [], [], LONGEST_WAIT_S)[0], "no process is left"
        os.close(ended)


@pytest.mark.slow
def test_the_examples_of_the_page(indexed: Kebab) -> None:
    """Each `curl` of docs/serve.md, as it stands there."""
    page = (ROOT / "docs/serve.md").read_text()
    blocks = [block.partition("```")[0] for block in page.split("```sh\n")[1:]]
    scripts = [block for block in blocks if "curl" in block]
    assert scripts
    if not any(os.access(os.path.join(folder, "curl"), os.X_OK) for folder in os.environ["PATH"].split(":")):
        pytest.skip("curl is not installed")
    with running(indexed) as server:
        for script in scripts:
            script = script.replace("http://127.0.0.1:7411", server.url)
            script = script.replace("~/.local/share/kebab/serve.token", f"{indexed.data}/serve.token")
            done = subprocess.run(
                ["sh", "-euc", script],
                capture_output=True,
                text=True,
                env=indexed.environ,
                timeout=LONGEST_WAIT_S,
            )
            assert done.returncode == 0, (script, done.stderr)
            assert "error.v1" not in done.stdout, (script, done.stdout)
            assert done.stdout.strip()
