"""Who may ask: a bearer token in a file of its owner, and requests that no foreign web page sent.

A page of another site can reach a server on this machine under a name of its own (DNS rebinding), or blindly
from a form or a script. So the header Host must name this machine and the port, Origin must be absent or
the same, and browsers must not call the request cross-site. There are no CORS headers.
"""

from __future__ import annotations

import contextlib
import hmac
import os
import re
import secrets
import stat
from collections.abc import Mapping
from http import HTTPStatus

from kebab_tui import own_files
from kebab_tui.domain.errors import UsageError
from kebab_tui.server.rest import refused

LOOPBACK = ("127.0.0.1", "::1", "localhost")
TOKEN_FILE = "serve.token"  # noqa: S105 - a name

_TOKEN = re.compile(rb"[\x21-\x7e]{16,1024}")
_MOST_BYTES = 4_096
_RANDOM_BYTES = 32


class Gate:
    """Checks the headers of each request; `token` None lets every program of this machine in."""

    def __init__(self, port: int, token: bytes | None) -> None:
        names = ("127.0.0.1", "[::1]", "localhost")
        self._hosts = {f"{name}:{port}" for name in names} | ({*names} if port == 80 else set())
        self._token = token

    def check(self, headers: Mapping[str, str]) -> None:
        """Raises Refused."""
        forbidden = HTTPStatus.FORBIDDEN
        if headers.get("host", "").lower() not in self._hosts:
            raise refused(forbidden, "wrong_host", "the header Host does not name this server", self._hint())
        scheme, _, host = headers.get("origin", "http://" + headers["host"]).lower().partition("://")
        if scheme != "http" or host not in self._hosts:
            raise refused(forbidden, "wrong_origin", "web pages of other origins may not ask", self._hint())
        if headers.get("sec-fetch-site", "none") not in ("none", "same-origin"):
            raise refused(forbidden, "wrong_origin", "web pages of other sites may not ask", self._hint())
        if self._token is None:
            return
        scheme, _, token = headers.get("authorization", "").partition(" ")
        given = token.strip().encode("utf-8", "surrogateescape")
        if scheme.lower() != "bearer" or not hmac.compare_digest(given, self._token):
            message = "the token is wrong" if token else "a token is needed"
            hint = "send the header `Authorization: Bearer TOKEN`; `kebab serve` prints where TOKEN is"
            challenge = {"www_authenticate": 'Bearer realm="kebab"'}
            raise refused(HTTPStatus.UNAUTHORIZED, "unauthorized", message, hint, **challenge)

    def _hint(self) -> str:
        return f"the server is {' or '.join(sorted(self._hosts))}"


def read_token(path: str) -> bytes:
    """The token in a file, which is made if there is none; UsageError if others could have read it."""
    with contextlib.suppress(FileExistsError):
        _create(path)
    try:
        descriptor = own_files.open_regular(path)
        with open(descriptor, "rb") as file:
            status = os.fstat(descriptor)
            token = file.read(_MOST_BYTES).strip()
    except OSError as error:
        raise UsageError(f"cannot read the token in {path}: {error.strerror}", "see --token-file") from None
    if hasattr(os, "geteuid") and status.st_uid not in (os.geteuid(), 0):
        raise UsageError(
            f"the token in {path} belongs to another user", "remove the file, or see --token-file"
        )
    if os.name == "posix" and stat.S_IMODE(status.st_mode) & 0o077:
        raise UsageError(
            f"others may read or write the token in {path}",
            "remove the file for a new token, or keep the token by `chmod 600`",
        )
    if _TOKEN.fullmatch(token) is None:
        raise UsageError(
            f"{path} has no token: 16 to 1,024 letters, digits or signs without blanks",
            "remove the file for a new token",
        )
    return token


def _create(path: str) -> None:
    """Write a new token; FileExistsError if there is a file of that name, were it a link."""
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise
    except OSError as error:
        raise UsageError(f"cannot write the token to {path}: {error.strerror}", "see --token-file") from None
    with open(descriptor, "wb") as file:
        file.write(secrets.token_urlsafe(_RANDOM_BYTES).encode() + b"\n")
