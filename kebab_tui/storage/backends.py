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
    from collections.abc import Callable

    from kebab_tui.search.ports import FieldWeights
    from kebab_tui.storage.ports import Index

LOCAL = "sqlite"
_PASSWORD = re.compile(r"://[^/@]*:[^/]*@|[?&][^=&]*passw[^=&]*=")


class Backend(NamedTuple):
    """Where `open_index` finds the factory, called with (url, data folder, field weights)."""

    module: str
    factory: str
    example: str
    help: str


BACKENDS: dict[str, Backend] = {
    LOCAL: Backend(
        "kebab_tui.storage.sqlite.sqlite_index",
        "SqliteIndex",
        "FOLDER",
        "SQLite in a folder of this machine; the default is the data folder",
    ),
}
"""Scheme of the URL -> backend."""


def open_index(url: str, folder: str, weights: FieldWeights) -> Index:
    """The index at `url`, or in `folder` if the URL is empty; raises ConfigError. Reads nothing yet."""
    scheme, _, rest = url.partition(":") if url else (LOCAL, "", "//")
    if not rest.startswith("//"):
        raise ConfigError(
            f"the index {scheme}:… is neither a URL nor a folder",
            f"write {scheme}://… for a URL, or ./{scheme}:… for a new folder",
        )
    if _PASSWORD.search(url):
        raise ConfigError(
            f"the URL of the index contains a password ({scheme}://…)",
            "remove it; keep the password in a file that only the database client reads, such as ~/.pgpass",
        )
    backend = BACKENDS.get(scheme)
    if backend is None:
        known = ", ".join(f"{name} ({backend.example})" for name, backend in BACKENDS.items())
        raise ConfigError(f"no backend for an index at {scheme}://", f"known backends: {known}")
    factory = getattr(import_module(backend.module), backend.factory)
    return cast("Callable[[str, str, FieldWeights], Index]", factory)(url, folder, weights)
