"""One ASGI application for MCP and REST: checks, limits, and the answer of an error.

Nothing of a body is read before the token is right. Every request has a deadline; the calls above the limit
get 429 at once, so that no queue grows.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

from kebab_tui.domain.errors import defect
from kebab_tui.server.access import Gate
from kebab_tui.server.rest import JSON, RefusedRequest, Reply, Request, Rest, check_method, refused

MCP_PATH = "/mcp"

_Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[_Message]]
Send = Callable[[_Message], Awaitable[None]]

_ONCE = ("host", "origin", "authorization", "content-type", "content-length", "sec-fetch-site")
"""Headers that decide who may ask: two of one kind could be read in two ways."""
_ON_ALL = ((b"cache-control", b"no-store"), (b"x-content-type-options", b"nosniff"))
_CLOSE = ((b"connection", b"close"),)
"""Behind a body that is not read, no further request can be found."""


@dataclass(frozen=True, slots=True)
class HttpLimits:
    call_s: float = 30.0
    """From the end of a request to the end of its answer."""
    body_s: float = 10.0
    body_bytes: int = 1 << 20
    header_bytes: int = 1 << 16
    calls: int = 32
    """At a time; one runs, the others wait."""


class Gone(Exception):  # noqa: N818 - not an error
    """The client has closed the connection."""


class HttpApp:
    """The application; `report` is told of defects."""

    def __init__(
        self,
        rest: Rest,
        mcp: StreamableHTTPSessionManager,
        gate: Gate,
        limits: HttpLimits,
        report: Callable[[str], None],
    ) -> None:
        self._rest = rest
        self._mcp = mcp
        self._gate = gate
        self._limits = limits
        self._report = report
        self._calls = 0

    async def __call__(self, scope: _Message, receive: Receive, send: Send) -> None:
        started = False
        unread = any(name in (b"content-length", b"transfer-encoding") for name, _ in scope["headers"])

        async def receiving() -> _Message:
            nonlocal unread
            message = await receive()
            unread = unread and message.get("more_body", False)
            return message

        async def sending(message: _Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                headers = [*message.get("headers", ()), *_ON_ALL, *(_CLOSE if unread else ())]
                message = {**message, "headers": headers}
            await send(message)

        try:
            reply = await self._reply(scope, receiving, sending)
        except Gone:
            return
        except RefusedRequest as error:
            reply = error.reply
        except Exception as error:  # noqa: BLE001 - one failed request must not end the server
            self._report(f"{scope['method']} {scope['path']}: {defect(error).message}")
            problem = refused(
                HTTPStatus.INTERNAL_SERVER_ERROR,
                "internal",
                "internal error",
                "the output of `kebab serve` names it",
            )
            reply = problem.reply
        if reply is not None and not started:
            await _send(sending, reply)

    async def _reply(self, scope: _Message, receive: Receive, send: Send) -> Reply | None:
        """None if the answer has been sent."""
        headers = _headers(scope["headers"], self._limits.header_bytes)
        request = Request(scope["method"], scope["path"], scope["query_string"], headers)
        self._gate.check(request.headers)
        if request.path == MCP_PATH:
            check_method(request, "POST")
        else:
            self._rest.check(request)
        body = await self._body(request, receive) if request.method == "POST" else b""
        if self._calls >= self._limits.calls:
            raise refused(
                HTTPStatus.TOO_MANY_REQUESTS,
                "too_many_calls",
                f"{self._calls} calls are waiting already",
                "ask again in a moment",
                retry_after="1",
            )
        self._calls += 1
        deadline = asyncio.timeout(self._limits.call_s)
        try:
            async with deadline:
                if request.path == MCP_PATH:
                    await self._mcp.asgi_app(scope, _replay(body, receive), send)
                    return None
                return await self._rest.reply(
                    Request(request.method, request.path, request.query, request.headers, body)
                )
        except TimeoutError:
            if not deadline.expired():
                raise
            raise refused(
                HTTPStatus.GATEWAY_TIMEOUT,
                "timeout",
                f"no answer within {self._limits.call_s:g} seconds",
                "ask again, or for less",
            ) from None
        finally:
            self._calls -= 1

    async def _body(self, request: Request, receive: Receive) -> bytes:
        kind, most = request.headers.get("content-type", ""), self._limits.body_bytes
        if kind.partition(";")[0].strip().lower() != JSON or "content-encoding" in request.headers:
            raise refused(
                HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
                "not_json",
                "the body must be application/json, and not compressed",
                "send the header `Content-Type: application/json`",
            )
        too_large = refused(
            HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "too_large", f"the body is larger than {most:,} bytes"
        )
        declared = request.headers.get("content-length", "0")
        if len(declared) > len(str(most)) or int(declared) > most:
            raise too_large
        parts: list[bytes] = []
        size, more = 0, True
        try:
            async with asyncio.timeout(self._limits.body_s):
                while more:
                    message = await receive()
                    if message["type"] != "http.request":
                        raise Gone
                    parts.append(message.get("body", b""))
                    more = message.get("more_body", False)
                    size += len(parts[-1])
                    if size > most:
                        raise too_large
        except TimeoutError:
            raise refused(
                HTTPStatus.REQUEST_TIMEOUT,
                "slow_body",
                f"the body did not arrive within {self._limits.body_s:g} seconds",
            ) from None
        return b"".join(parts)


def _headers(pairs: list[tuple[bytes, bytes]], most: int) -> dict[str, str]:
    if sum(len(name) + len(value) + 4 for name, value in pairs) > most:
        status = HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE
        raise refused(status, "too_large", f"the headers are larger than {most:,} bytes")
    found: dict[str, str] = {}
    for name, value in pairs:
        key = name.decode("latin-1")
        if key in found and key in _ONCE:
            raise refused(HTTPStatus.BAD_REQUEST, "bad_request", f"the header {key} is given twice")
        found[key] = value.decode("utf-8", "surrogateescape")
    return found


def _replay(body: bytes, receive: Receive) -> Receive:
    """The body once, then whatever follows it."""
    waiting = [{"type": "http.request", "body": body, "more_body": False}]

    async def replayed() -> _Message:
        return waiting.pop() if waiting else await receive()

    return replayed


async def _send(send: Send, reply: Reply) -> None:
    headers = [
        (b"content-type", reply.type.encode()),
        (b"content-length", str(len(reply.body)).encode()),
        *reply.headers,
    ]
    await send({"type": "http.response.start", "status": int(reply.status), "headers": headers})
    await send({"type": "http.response.body", "body": reply.body})
