"""The backends that can store an index, and the one function that opens an index.

A URL names its backend by the scheme; without a URL the index is in the data folder. Importing this
module imports no backend: every command loads it, and so does `--help`.
"""

from __future__ import annotations

import re
from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple, cast

from kebab_tui.domain.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import ModuleType

    from kebab_tui.search.ports import FieldWeights
    from kebab_tui.storage.ports import Index, SharedOptions

LOCAL = "sqlite"
SHARED = "postgresql"
_ALIASES = {"postgres": SHARED}
_PASSWORD = re.compile(r"://[^/@]*:[^/]*@|[?&][^=&]*passw[^=&]*=")


class Backend(NamedTuple):
    """Where `open_index` finds the factory, called with (url, data folder, field weights).

    `shared`: and with `SharedOptions`. `extra`: the extra of this package that the backend needs.
    """

    module: str
    factory: str
    example: str
    help: str
    shared: bool = False
    extra: str = ""


BACKENDS: dict[str, Backend] = {
    LOCAL: Backend(
        "kebab_tui.storage.sqlite.sqlite_index",
        "SqliteIndex",
        "FOLDER",
        "SQLite in a folder of this machine; the default is the data folder",
    ),
    SHARED: Backend(
        "kebab_tui.storage.postgres.postgres_index",
        "PostgresIndex",
        "postgresql://HOST/DATABASE",
        "PostgreSQL with pgvector, read-only; `kebab index --copy-to` publishes it",
        shared=True,
        extra="postgres",
    ),
}
"""Scheme of the URL -> backend."""


def is_shared(url: str) -> bool:
    """Whether the backend of a URL reads an index on servers, and never writes."""
    scheme = url.partition(":")[0]
    backend = BACKENDS.get(_ALIASES.get(scheme, scheme)) if url else None
    return backend is not None and backend.shared


def require_no_password(url: str) -> None:
    """Raise ConfigError for a URL with a password, without repeating it."""
    if _PASSWORD.search(url):
        raise ConfigError(
            f"the URL of the index contains a password ({url.partition(':')[0]}://…)",
            "remove it; keep the password in a service file or in ~/.pgpass, which only the database "
            "client reads, "
            "or use a client certificate",
        )


def open_index(url: str, folder: str, weights: FieldWeights, shared: SharedOptions | None = None) -> Index:
    """The index at `url`, or in `folder` if the URL is empty; raises ConfigError. Reads nothing yet."""
    scheme, _, rest = url.partition(":") if url else (LOCAL, "", "//")
    if not rest.startswith("//"):
        raise ConfigError(
            f"the index {scheme}:… is neither a URL nor a folder",
            f"write {scheme}://… for a URL, or ./{scheme}:… for a new folder",
        )
    require_no_password(url)
    backend = BACKENDS.get(_ALIASES.get(scheme, scheme))
    if backend is None:
        known = ", ".join(f"{name} ({backend.example})" for name, backend in BACKENDS.items())
        raise ConfigError(f"no backend for an index at {scheme}://", f"known backends: {known}")
    factory = getattr(_loaded(backend, backend.module), backend.factory)
    if backend.shared:
        return cast("Index", factory(url, folder, weights, shared))
    return cast("Callable[[str, str, FieldWeights], Index]", factory)(url, folder, weights)


def load_publish(urls: Sequence[str]) -> ModuleType:
    """The module that copies an index to these servers; raises ConfigError."""
    for url in urls:
        scheme = url.partition("://")[0]
        if _ALIASES.get(scheme, scheme) != SHARED:
            raise ConfigError(
                f"an index is copied to {SHARED}://…, not to {scheme}:…", "see docs/shared-index.md"
            )
        require_no_password(url)
    return _loaded(BACKENDS[SHARED], "kebab_tui.storage.postgres.publish")


def _loaded(backend: Backend, module: str) -> ModuleType:
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if not backend.extra:
            raise
        raise ConfigError(
            f"an index in {backend.example.partition('://')[0]} needs the module {error.name}",
            f"install kebab-tui[{backend.extra}]",
        ) from None
