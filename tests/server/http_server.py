"""A server in a thread of this process, and a client that sends any bytes."""

from __future__ import annotations

import http.client
import json
import socket
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from kebab_tui.server.calls import Calls
from kebab_tui.server.http import HttpLimits
from kebab_tui.server.listener import listen, serve
from kebab_tui.server.view import AgentView
from kebab_tui.settings.settings import Settings
from kebab_tui.workspace import Workspace

LONGEST_WAIT_S = 120
TOKEN = "a-token-that-only-tests-know"
JSON = {"Content-Type": "application/json"}


@dataclass(frozen=True)
class Answer:
    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def error(self) -> tuple[int, str]:
        """The status and the code of an `error.v1` object."""
        assert self.headers["content-type"] == "application/json"
        assert self.json["schema_version"] == "error.v1"
        return self.status, self.json["code"]


@dataclass
class Served:
    port: int
    workspace: Workspace
    reported: list[str] = field(default_factory=list)

    def ask(
        self, path: str, body: bytes | None = None, method: str | None = None, **headers: str | None
    ) -> Answer:
        """Send a request; headers by keyword, with `_` for `-`; None leaves out one of the usual ones."""
        usual = {"Authorization": f"Bearer {TOKEN}", "Host": f"127.0.0.1:{self.port}"}
        if body is not None:
            usual |= JSON
        given = {name.replace("_", "-").title(): value for name, value in headers.items()}
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=LONGEST_WAIT_S)
        try:
            connection.putrequest(
                method or ("GET" if body is None else "POST"), path, skip_host=True, skip_accept_encoding=True
            )
            for name, value in (usual | given).items():
                if value is not None:
                    connection.putheader(name, value.encode("utf-8", "surrogateescape"))
            if body is not None and "Content-Length" not in given:
                connection.putheader("Content-Length", str(len(body)))
            connection.endheaders()
            with suppress(BrokenPipeError, ConnectionResetError):  # the answer came before the end
                connection.send(body or b"")
            answer = connection.getresponse()
            found = {name.lower(): value for name, value in answer.getheaders()}
            return Answer(answer.status, found, answer.read())
        finally:
            connection.close()

    def send(self, data: bytes) -> socket.socket:
        """A connection on which `data` was sent."""
        made = socket.create_connection(("127.0.0.1", self.port), LONGEST_WAIT_S)
        made.sendall(data)
        return made

    def head(self, line: str = "GET /api/v1/status HTTP/1.1", *more: str) -> bytes:
        """The head of a request, with the token, without the empty line."""
        lines = [line, f"Host: 127.0.0.1:{self.port}", f"Authorization: Bearer {TOKEN}", *more]
        return "".join(f"{one}\r\n" for one in lines).encode()

    def is_well(self) -> bool:
        return self.ask("/api/v1/status").status == 200


def rest_of(connection: socket.socket) -> bytes:
    """All until the server closes its end."""
    parts = []
    try:
        while part := connection.recv(1 << 16):
            parts.append(part)
    except ConnectionResetError:
        pass
    connection.close()
    return b"".join(parts)


@contextmanager
def served(
    data: str,
    *,
    sources: Sequence[str] = (),
    limits: HttpLimits = HttpLimits(call_s=LONGEST_WAIT_S),  # noqa: B008 - frozen
    token: str | None = TOKEN,
    settings: Settings = Settings(),  # noqa: B008 - frozen
) -> Iterator[Served]:
    workspace, stop = Workspace(settings, data), threading.Event()
    sockets = listen("127.0.0.1", 0)
    found = Served(sockets[0].getsockname()[1], workspace)
    calls = Calls(workspace, AgentView(workspace, sources))
    arguments = (calls, sockets, token and token.encode(), limits, stop.is_set, found.reported.append)
    thread = threading.Thread(target=serve, args=arguments)
    thread.start()
    try:
        yield found
    finally:
        stop.set()
        thread.join(LONGEST_WAIT_S)
        assert not thread.is_alive()
        calls.close()
        workspace.close()
