"""The URI of a note for programs: `kebab://SOURCE/PATH#L3-L9`, or `#p=4`; every byte of a path survives.

In a version: `kebab://SOURCE/PATH?version=v1.2#L3-L9`.
"""

from __future__ import annotations

from typing import NamedTuple
from urllib.parse import quote, unquote_to_bytes

from kebab_tui.domain.citation import Citation, SourceSpan

SCHEME = "kebab://"


class NoteUri(NamedTuple):
    """`within`: the path in the source, or a citation. `version`: empty for a present note."""

    source: str
    within: str
    version: str = ""


def uri_of(source: str, raw_path: bytes, span: SourceSpan | None = None, version: str = "") -> str:
    """The URI of a note, or of a place in it."""
    query = f"?version={quote(version, safe='')}" if version else ""
    ending = "" if span is None else Citation("", span).uri
    return f"{SCHEME}{quote(source, safe='')}/{quote(raw_path)}{query}{ending}"


def parse_uri(uri: str) -> NoteUri:
    """The source, and the path or citation within it."""
    name, _, rest = uri.removeprefix(SCHEME).partition("/")
    path, _, span = rest.partition("#")
    path, _, query = path.partition("?")
    version = unquote_to_bytes(query.removeprefix("version=")).decode("utf-8", "replace")
    source = unquote_to_bytes(name).decode("utf-8", "replace")
    within = unquote_to_bytes(path).decode("utf-8", "surrogateescape")
    return NoteUri(source, f"{within}#{span}" if span else within, version)
