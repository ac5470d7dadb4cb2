"""A client that writes any line to `kebab mcp` and reads what comes back."""

from __future__ import annotations

import json
import queue
import subprocess
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from tests.command_line import Kebab

LONGEST_WAIT_S = 120
HANDSHAKE = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "test", "version": "1"},
}


class RawClient:
    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdin is not None
        self.process = process
        self.stdin = process.stdin
        self._answers: queue.Queue[bytes] = queue.Queue()
        self._last_id = 0
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._answers.put(line)
        self._answers.put(b"")

    def send(self, line: bytes) -> None:
        self.stdin.write(line + b"\n")
        self.stdin.flush()

    def receive(self) -> Any:
        """The next message; None once the server has closed its end."""
        line = self._answers.get(timeout=LONGEST_WAIT_S)
        return json.loads(line) if line else None

    def ask(self, method: str, **params: Any) -> Any:
        """The answer to a request; drops what arrives before it."""
        self._last_id += 1
        asked = {"jsonrpc": "2.0", "id": f"ask-{self._last_id}", "method": method, "params": params}
        self.send(json.dumps(asked).encode())
        while True:
            found = self.receive()
            assert found is not None, "the server ended"
            if found.get("id") == asked["id"]:
                return found

    def shake_hands(self) -> Any:
        answer = self.ask("initialize", **HANDSHAKE)
        self.send(b'{"jsonrpc":"2.0","method":"notifications/initialized"}')
        return answer["result"]

    def call(self, tool: str, **arguments: Any) -> Any:
        """The result of a tool."""
        return self.ask("tools/call", name=tool, arguments=arguments)["result"]

    def close(self) -> int:
        """Close our end; the exit code of the server."""
        self.stdin.close()
        return self.process.wait(timeout=LONGEST_WAIT_S)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()
        self._reader.join()
        for stream in (self.stdin, self.process.stdout):
            if stream is not None:
                with suppress(BrokenPipeError):
                    stream.close()


@contextmanager
def raw_client(kebab: Kebab, *argv: str, code: Sequence[str] = ()) -> Iterator[RawClient]:
    """A server on an index; `code`: statements of Python that run in its process first."""
    command = [*kebab.argv, "mcp", *argv]
    if code:
        program = ";".join([*code, "import sys, kebab_tui.cli", "kebab_tui.cli.main()"])
        command = [command[0], "-c", program, *command[3:]]
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=kebab.environ
    )
    client = RawClient(process)
    try:
        yield client
    finally:
        client.kill()
