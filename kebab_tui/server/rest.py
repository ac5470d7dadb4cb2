"""REST: an endpoint for each tool, with the same arguments and the same answer, as JSON or as text.

Arguments are query parameters of a GET or the object of a POST; none changes anything. Errors are `error.v1`
objects. Knows HTTP, but no socket.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from typing import Any
from urllib.parse import parse_qsl

import msgspec

from kebab_tui.domain.errors import (
    Failure,
    KebabError,
    NotFoundError,
    RawQueryError,
    UsageError,
    failure_of,
)
from kebab_tui.server import answers
from kebab_tui.server.calls import Calls, failure_for_agent
from kebab_tui.server.openapi import API, openapi
from kebab_tui.server.tools import TOOLS, Tool
from kebab_tui.wire import encode

JSON = "application/json"
TEXT = "text/plain; charset=utf-8"

_READS = ("GET", "HEAD")
_FORMATS = {"json": JSON, "txt": TEXT}
_RANGES = {
    "application/json": "json",
    "application/*": "json",
    "*/*": "json",
    "text/plain": "txt",
    "text/*": "txt",
}
"""Media ranges of the header Accept."""
_MOST_PARAMETERS = 100
_RETRY_S = 30
"""For an index that cannot answer now."""


@dataclass(frozen=True, slots=True)
class Request:
    method: str
    path: str
    query: bytes
    headers: Mapping[str, str]
    body: bytes = b""


@dataclass(frozen=True, slots=True)
class Reply:
    status: int
    body: bytes
    type: str = JSON
    headers: tuple[tuple[bytes, bytes], ...] = ()


class RefusedRequest(Exception):  # noqa: N818 - an answer, not a defect
    """A request that gets an error for an answer."""

    def __init__(self, reply: Reply) -> None:
        super().__init__(reply.status)
        self.reply = reply


def refused(status: HTTPStatus, code: str, message: str, hint: str = "", **headers: str) -> RefusedRequest:
    """`headers`: with `_` for `-`."""
    return RefusedRequest(error_reply(status, Failure(code, message, hint), **headers))


def error_reply(status: HTTPStatus, failure: Failure, **headers: str) -> Reply:
    told = answers.visible(encode.error(failure.code, failure.message, failure.hint))
    named = tuple((name.replace("_", "-").encode(), value.encode()) for name, value in headers.items())
    return Reply(status, encode.dumps(told).encode(), headers=named)


def check_method(request: Request, *allowed: str) -> None:
    if request.method not in allowed:
        raise refused(
            HTTPStatus.METHOD_NOT_ALLOWED,
            "method_not_allowed",
            f"{request.path} does not answer {request.method}",
            f"use {' or '.join(allowed)}",
            allow=", ".join(allowed),
        )


class Rest:
    """The endpoints, by their paths."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls
        self._tools = {API + tool.path: tool for tool in TOOLS.values()}
        self._openapi = encode.dumps(openapi(self._tools)).encode()

    @property
    def paths(self) -> list[str]:
        return [*self._tools, f"{API}status", f"{API}openapi.json", "/openapi.json"]

    def check(self, request: Request) -> None:
        """Raise RefusedRequest for an unknown path or method, before a body is read."""
        if request.path not in self.paths:
            hint = f"the paths are: /mcp, {', '.join(self.paths)}"
            raise refused(HTTPStatus.NOT_FOUND, "no_such_path", f"nothing is at {request.path}", hint)
        check_method(request, *_READS, *(["POST"] if request.path in self._tools else []))

    async def reply(self, request: Request) -> Reply:
        """Raises RefusedRequest; other exceptions are defects."""
        try:
            if (tool := self._tools.get(request.path)) is not None:
                return await self._answer(tool, request)
            if request.path == f"{API}status":
                return Reply(HTTPStatus.OK, encode.dumps(await self._status()).encode())
        except (UsageError, RawQueryError) as error:
            raise RefusedRequest(error_reply(HTTPStatus.BAD_REQUEST, failure_for_agent(error))) from None
        except NotFoundError as error:
            raise RefusedRequest(error_reply(HTTPStatus.NOT_FOUND, failure_for_agent(error))) from None
        except Exception as error:
            if failure_of(error) is None:
                raise
            told = failure_for_agent(error)
            reply = error_reply(HTTPStatus.SERVICE_UNAVAILABLE, told, retry_after=str(_RETRY_S))
            raise RefusedRequest(reply) from error
        return Reply(HTTPStatus.OK, self._openapi)

    async def _answer(self, tool: Tool, request: Request) -> Reply:
        given = _body(request) if request.method == "POST" else {}
        for name, value in _parameters(tool, request.query):
            if name in given:
                raise UsageError(f"argument {name!r} of {tool.name} is given twice", "leave one out")
            given[name] = value
        wanted = given.pop("format", None)
        if wanted is None and "type" not in tool.arguments.__struct_encode_fields__:
            wanted = given.pop("type", None)  # as other servers of this specification call it
        if wanted is None:
            wanted = _accepted(request.headers.get("accept", "*/*"))
        elif wanted not in _FORMATS:
            raise UsageError(f"format: {wanted!r} is not a format", "the formats are json and txt")
        answer = await self._calls.run(partial(_answered, tool, given))
        body = answer.text if wanted == "txt" else encode.dumps(answer.data)
        return Reply(HTTPStatus.OK, body.encode("utf-8", "replace"), _FORMATS[wanted])

    async def _status(self) -> encode.Json:
        """Also of an index that cannot answer."""
        try:
            status = answers.status(await self._calls.run(lambda view: view.status()))
        except KebabError as error:
            status = answers.no_status(failure_for_agent(error))
        visible: encode.Json = answers.visible(status)
        return visible


def _answered(tool: Tool, given: Mapping[str, Any], view: Any) -> answers.ToolAnswer:
    return tool.answer(view, given)


def _body(request: Request) -> dict[str, Any]:
    try:
        found = msgspec.json.decode(request.body)
    except (ValueError, RecursionError):
        raise UsageError("the body is not JSON", "send an object with the arguments") from None
    if not isinstance(found, dict):
        raise UsageError("the body is not an object", "send an object with the arguments")
    return found


def _parameters(tool: Tool, query: bytes) -> Iterable[tuple[str, Any]]:
    """Each parameter once; a list of all its values for an argument that is a list."""
    try:
        pairs = parse_qsl(
            query.decode("ascii"),
            keep_blank_values=True,
            errors="strict",
            max_num_fields=_MOST_PARAMETERS,
        )
    except UnicodeDecodeError:
        raise UsageError("the query string is not UTF-8", "encode it as UTF-8, then by %XX") from None
    except ValueError:
        raise UsageError(f"there are more than {_MOST_PARAMETERS} parameters") from None
    lists: dict[str, list[str]] = {}
    properties = tool.input_schema["properties"]
    for name, value in pairs:
        known = properties.get(tool.aliases.get(name, name), {})
        if known.get("type") != "array":
            yield name, value
        elif name in lists:
            lists[name].append(value)
        else:
            lists[name] = [value]
    yield from lists.items()


def _accepted(header: str) -> str:
    """The first format of an Accept header."""
    for part in header.split(","):
        kind, *parameters = (piece.strip().lower() for piece in part.split(";"))
        if kind in _RANGES and not any(one in ("q=0", "q=0.0", "q=0.00", "q=0.000") for one in parameters):
            return _RANGES[kind]
    message = "the answer can be application/json or text/plain only"
    raise refused(HTTPStatus.NOT_ACCEPTABLE, "not_acceptable", message, "change the header Accept")
