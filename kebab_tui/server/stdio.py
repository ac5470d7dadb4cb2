"""Transport over stdin and stdout: one JSON-RPC message a line.

Take the `Wire` before importing anything that might print: from then on file descriptor 1 is stderr, so
that no stray output breaks the protocol. Unlike the transport of the SDK, this one answers lines that are
not messages, limits their length, and finishes the running calls when the client closes its end.
"""

from __future__ import annotations

import json
import os
import sys
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, BinaryIO

from kebab_tui.domain.errors import UsageError

if TYPE_CHECKING:
    from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
    from mcp.shared.message import SessionMessage

LONGEST_LINE = 4 << 20
LAST_CALLS_S = 5.0
"""For the running calls, once the client has closed its end."""
_MOST_CALLS = 256
"""At a time; further lines are read when some are answered."""
_PARSE_ERROR, _INVALID_REQUEST = -32700, -32600


@dataclass(frozen=True, slots=True)
class Wire:
    """The two ends of the client."""

    reading: BinaryIO
    writing: BinaryIO

    @classmethod
    def take(cls) -> Wire:
        """Take stdin and stdout for the protocol alone."""
        if sys.stdin is None or sys.stdout is None:
            raise UsageError("stdin and stdout must be open", "an MCP client starts this command")
        sys.stdout.flush()
        reading, writing = os.dup(0), os.dup(1)
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        os.close(nothing)
        os.dup2(2, 1)
        return cls(os.fdopen(reading, "rb"), os.fdopen(writing, "wb", buffering=0))


class Closed(Exception):  # noqa: N818 - not an error
    """The client has gone."""


class Connection:
    """Reads and writes messages for `Server.run`."""

    def __init__(self, wire: Wire) -> None:
        import anyio

        self._wire = wire
        self._running: Counter[str] = Counter()
        """Requests without an answer, by their ids."""
        self._answered = anyio.Event()

    @asynccontextmanager
    async def streams(
        self,
    ) -> AsyncIterator[tuple[MemoryObjectReceiveStream[Any], MemoryObjectSendStream[SessionMessage]]]:
        """What arrives, and where answers go."""
        import anyio

        arriving, arrived = anyio.create_memory_object_stream[Any](0)
        leaving, left = anyio.create_memory_object_stream["SessionMessage"](16)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._read, arriving, leaving.clone())
            tasks.start_soon(self._write, left)
            yield arrived, leaving
            tasks.cancel_scope.cancel()

    async def _read(
        self, arriving: MemoryObjectSendStream[Any], leaving: MemoryObjectSendStream[SessionMessage]
    ) -> None:
        import anyio
        from mcp.shared.message import SessionMessage
        from mcp_types import JSONRPCNotification, JSONRPCRequest, jsonrpc_message_adapter

        async with arriving, leaving:
            while line := await anyio.to_thread.run_sync(self._next_line, abandon_on_cancel=True):
                if not line.strip():
                    continue
                try:
                    message = jsonrpc_message_adapter.validate_json(line, by_name=False)
                except ValueError:
                    await leaving.send(SessionMessage(_refusal(line)))
                    continue
                if isinstance(message, JSONRPCRequest):
                    self._running[_key(message.id)] += 1
                elif isinstance(message, JSONRPCNotification):
                    if "id" in json.loads(line):  # an id that is neither text nor a whole number
                        await leaving.send(SessionMessage(_refusal(line)))
                        continue
                    if message.method == "notifications/cancelled":  # gets no answer
                        self._running.pop(_key((message.params or {}).get("requestId")), None)
                await arriving.send(SessionMessage(message))
                while self._running.total() >= _MOST_CALLS:
                    await self._answered.wait()
            with anyio.move_on_after(LAST_CALLS_S):
                while self._running.total():
                    await self._answered.wait()

    async def _write(self, left: MemoryObjectReceiveStream[SessionMessage]) -> None:
        import anyio
        from mcp_types import JSONRPCError, JSONRPCResponse

        async with left:
            async for session_message in left:
                message = session_message.message
                text = message.model_dump_json(by_alias=True, exclude_unset=True)
                data = text.encode("utf-8", "replace") + b"\n"
                try:
                    await anyio.to_thread.run_sync(self._send, data, abandon_on_cancel=True)
                except OSError as error:
                    raise Closed from error
                if isinstance(message, JSONRPCResponse | JSONRPCError) and message.id is not None:
                    key = _key(message.id)
                    if self._running[key] > 0:
                        self._running[key] -= 1
                    self._answered.set()
                    self._answered = anyio.Event()

    def _next_line(self) -> bytes:
        """The next line; of a line that is too long only the beginning. Empty at the end."""
        try:
            line = self._wire.reading.readline(LONGEST_LINE + 1)
            if len(line) > LONGEST_LINE:
                rest = line
                while rest and not rest.endswith(b"\n"):
                    rest = self._wire.reading.readline(LONGEST_LINE)
        except OSError:
            return b""
        return line

    def _send(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            view = view[self._wire.writing.write(view) :]


def _key(request: object) -> str:
    return json.dumps(request)


def _refusal(line: bytes) -> Any:
    """The answer to a line that is no message."""
    from mcp_types import ErrorData, JSONRPCError

    if len(line) > LONGEST_LINE:
        code, message = _INVALID_REQUEST, f"the message is longer than {LONGEST_LINE:,} bytes"
        return JSONRPCError(jsonrpc="2.0", id=None, error=ErrorData(code=code, message=message))
    request = None
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        code, message = _PARSE_ERROR, "the line is not JSON"
    else:
        code, message = _INVALID_REQUEST, "not a JSON-RPC 2.0 message"
        if isinstance(found, dict) and type(found.get("id")) in (str, int):
            request = found["id"]
    return JSONRPCError(jsonrpc="2.0", id=request, error=ErrorData(code=code, message=message))
