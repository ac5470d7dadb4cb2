"""The URI of a note for programs: `kebab://SOURCE/PATH#L3-L9`, or `#p=4`; every byte of a path survives."""

from __future__ import annotations

from urllib.parse import quote, unquote_to_bytes

from kebab_tui.domain.citation import Citation, SourceSpan

SCHEME = "kebab://"


def uri_of(source: str, raw_path: bytes, span: SourceSpan | None = None) -> str:
    """The URI of a note, or of a place in it."""
    ending = "" if span is None else Citation("", span).uri
    return f"{SCHEME}{quote(source, safe='')}/{quote(raw_path)}{ending}"


def parse_uri(uri: str) -> tuple[str, str]:
    """The source, and the path or citation within it."""
    name, _, rest = uri.removeprefix(SCHEME).partition("/")
    path, _, span = rest.partition("#")
    source = unquote_to_bytes(name).decode("utf-8", "replace")
    within = unquote_to_bytes(path).decode("utf-8", "surrogateescape")
    return source, f"{within}#{span}" if span else within
