"""Listens on the loopback interface and speaks HTTP, by uvicorn, with limits for every connection.

uvicorn itself waits for ever for the headers of a request, and for a client that does not read. Here a
connection that stalls is closed, and of too many the one that has stalled longest makes room.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import socket
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from http import HTTPStatus
from typing import Any

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from kebab_tui.domain.errors import UsageError
from kebab_tui.server.access import Gate
from kebab_tui.server.calls import Calls
from kebab_tui.server.http import HttpApp, HttpLimits
from kebab_tui.server.mcp import over_http
from kebab_tui.server.rest import Reply, Rest, refused

STALLED_S = 10.0
"""For the headers of a request; for the rest of a body whose request is answered; for a client that does not
read."""
IDLE_S = 60
"""Between two requests of a connection."""
LAST_CALLS_S = 5
"""For the running calls, once the server is told to stop."""
MOST_CONNECTIONS = 256
_MOST_HEADER_BYTES = 1 << 16
_MOST_BYTES_AT_ONCE = 1 << 13
_BACKLOG = 128
_QUIET = ("uvicorn", "uvicorn.error", "uvicorn.access", "mcp", "asyncio", "sse_starlette")


def listen(host: str, port: int) -> list[socket.socket]:
    """Sockets that listen; for `localhost` in both families, so that nobody else answers under the name."""
    addresses = {"localhost": ("127.0.0.1", "::1")}.get(host, (host,))
    found: list[socket.socket] = []
    try:
        for address in addresses:
            try:
                found.append(_listening(address, found[0].getsockname()[1] if found else port))
            except OSError:
                if not (found and not _has_address(address)):  # a machine without IPv6
                    raise
    except OSError as error:
        for one in found:
            one.close()
        hint = "stop the program that uses it, or choose another one by --port; --port 0 takes a free one"
        raise UsageError(f"cannot listen on {host} port {port}: {error.strerror}", hint) from None
    return found


def _listening(address: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    # Without the number of the protocol, asyncio leaves Nagle's algorithm on: 40 ms for each answer.
    made = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        if os.name == "posix":
            made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # at once after a restart
        made.bind((address, port))
        made.listen(_BACKLOG)
    except BaseException:
        made.close()
        raise
    return made


def _has_address(address: str) -> bool:
    try:
        _listening(address, 0).close()
    except OSError:
        return False
    return True


def serve(
    calls: Calls,
    sockets: Sequence[socket.socket],
    token: bytes | None,
    limits: HttpLimits,
    should_stop: Callable[[], bool],
    report: Callable[[str], None],
) -> None:
    """Answer until told to stop; then the running calls may end within some seconds."""
    for name in _QUIET:
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)

    async def run() -> None:
        mcp = await over_http(calls)
        gate = Gate(sockets[0].getsockname()[1], token)
        server = _Server(HttpApp(Rest(calls), mcp, gate, limits, report), should_stop)
        async with mcp.run():
            calls.warm_up()
            await server.serve(list(sockets))

    asyncio.run(run())


class _Server(uvicorn.Server):
    """Stops when asked to; leaves the signals of the process alone."""

    def __init__(self, app: Any, should_stop: Callable[[], bool]) -> None:
        config = uvicorn.Config(
            app,
            loop="asyncio",
            http=HttpConnection,
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            proxy_headers=False,
            server_header=False,
            backlog=_BACKLOG,
            timeout_keep_alive=IDLE_S,
            timeout_graceful_shutdown=LAST_CALLS_S,
            h11_max_incomplete_event_size=_MOST_HEADER_BYTES,
        )
        super().__init__(config)
        self._should_stop = should_stop

    async def on_tick(self, counter: int) -> bool:
        return await super().on_tick(counter) or self._should_stop()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


class _LingeringTransport:
    """The transport of a connection; a close that would lose the answer to an unread body lingers."""

    def __init__(self, transport: Any, connection: HttpConnection) -> None:
        self._transport = transport
        self._connection = connection
        # At once, the loop would parse 256 KB, which may be 50,000 chunks.
        transport.max_size = _MOST_BYTES_AT_ONCE

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def close(self) -> None:
        is_unread = self._connection.conn.their_state in (h11.SEND_BODY, h11.ERROR)
        if is_unread and not self._transport.is_closing():
            self._transport.write_eof()
            self._connection.linger()
        else:
            self._transport.close()


class HttpConnection(H11Protocol):
    """One connection; closes itself when the client stalls."""

    _deadline: asyncio.TimerHandle | None = None
    _stalled_since = 0.0
    _is_discarding = False

    @property
    def _is_answering(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(_LingeringTransport(transport, self))  # type: ignore[arg-type]
        self._expect()
        self._make_room()

    def connection_lost(self, exc: Exception | None) -> None:
        self._expect_nothing()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._is_discarding:
            return
        try:
            super().data_received(data)
        except h11.LocalProtocolError:  # bytes behind an answer that ended the connection
            self.transport.abort()
        if self._is_answering and not self.flow.write_paused:
            self._expect_nothing()
        elif self._deadline is None:
            self._expect()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if not self._is_answering and self.conn.trailing_data[0]:  # a part of the next request
            self._expect()

    def linger(self) -> None:
        """End our side, and drop what else arrives: left unread, it could cost the client the answer."""
        self._is_discarding = True
        self._unset_keepalive_if_required()
        self._expect()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._expect()

    def resume_writing(self) -> None:
        super().resume_writing()
        if self._is_answering:
            self._expect_nothing()

    def shutdown(self) -> None:
        if self._is_answering:
            super().shutdown()
        else:
            self.transport.abort()

    def timeout_keep_alive_handler(self) -> None:
        self.transport.abort()

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002 - uvicorn's text is no JSON
        """What is not HTTP; called while the error is handled."""
        error = sys.exception()
        status = getattr(error, "error_status_hint", HTTPStatus.BAD_REQUEST)
        if self._is_answering or self.conn.our_state not in (h11.IDLE, h11.SEND_RESPONSE):
            if self.cycle is not None:
                self.cycle.disconnected = True
                self.cycle.message_event.set()
            self.transport.abort()
            return
        reply = refused(HTTPStatus(status), "bad_request", "not a valid HTTP request", connection="close")
        self._write(reply.reply)
        self.transport.close()

    def _write(self, reply: Reply) -> None:
        size = str(len(reply.body)).encode()
        headers = [(b"content-type", reply.type.encode()), (b"content-length", size), *reply.headers]
        reason = HTTPStatus(reply.status).phrase.encode()
        events = (
            h11.Response(status_code=int(reply.status), headers=headers, reason=reason),
            h11.Data(data=reply.body),
            h11.EndOfMessage(),
        )
        self.transport.write(b"".join(self.conn.send(event) or b"" for event in events))

    def _expect(self) -> None:
        """Something must happen soon."""
        self._expect_nothing()
        self._stalled_since = time.monotonic()
        self._deadline = self.loop.call_later(STALLED_S, self.transport.abort)

    def _expect_nothing(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _make_room(self) -> None:
        """Of too many, close the one that has stalled longest; this one if all others are answered now."""
        present = [one for one in self.connections if not one.transport.is_closing()]
        if len(present) > MOST_CONNECTIONS:
            stalled = (one for one in present if isinstance(one, HttpConnection) and not one._is_answering)
            min(stalled, key=lambda one: one._stalled_since).transport.abort()
