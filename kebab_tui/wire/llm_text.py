"""The text formats of the specification for language models: a list of libraries, and passages as context.

Pure: command line and server share it. No text from a file can imitate the format: titles and rules are on
one line, and a passage with a line of the format, or with an open fence, is in a longer fence.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from kebab_tui.domain.document import Source
from kebab_tui.domain.hit import SearchHit
from kebab_tui.domain.ids import ChunkId
from kebab_tui.domain.text import one_line, sanitize
from kebab_tui.formats.registry import format_of
from kebab_tui.search.libraries import FoundLibrary

NO_LIBRARIES = "No libraries found matching your search."
_SEPARATOR = "\n\n---\n\n"
_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})(.*)$", re.MULTILINE)
_OWN_LINE = re.compile(
    r"(?:\A|\n[ \t]*\n) {0,3}(?:-[ \t]*){3,}(?:\n|\Z)|^ {0,3}#+[ \t]+Library Rules"
    r"|(?::L\d+(?:-L\d+)?|#p(?:ara)?=[\d-]+)(?: \(in |[ \t]*$)",
    re.MULTILINE | re.IGNORECASE,
)
"""A separator, the heading of the rules, or a citation. Dashes right below a line of text underline it."""
_LANGUAGE = re.compile(r"[ \t{.]*([\w+#-]+)")
_MARKUP = re.compile(r"([\\`*_\[\]<|])")


def library_list(found: Sequence[FoundLibrary]) -> str:
    """A numbered list, five lines for each."""
    return "\n\n".join(_library(number, one) for number, one in enumerate(found, 1)) or NO_LIBRARIES


def _library(number: int, found: FoundLibrary) -> str:
    source = found.source
    return "\n".join(
        (
            f"{number}. {one_line(source.title)}",
            f"   Library ID: {one_line(source.source_id)}",
            f"   Description: {one_line(source.description) or 'No description'}",
            f"   Snippets: {source.chunks} | Trust Score: {found.source_score:.1f}/10",
            f"   Available Versions: {one_line(source.version_label) or 'default branch'}",
        )
    )


def passages(
    hits: Sequence[SearchHit], sources: Iterable[Source], *, texts: Mapping[ChunkId, str] | None = None
) -> str:
    """The rules of the sources that have hits, then each passage below its title, headings and citation.

    `texts`: shown instead of the whole passages.
    """
    found = {hit.source for hit in hits}
    several = len(found) > 1
    rules = list(_rules([source for source in sources if source.source_id in found], several=several))
    blocks = ["\n".join(("## Library Rules", *rules))] if rules else []
    for hit in hits:
        text = sanitize((texts or {}).get(hit.chunk_id, hit.text))
        cited = one_line(str(hit.citation)) + (f" (in {one_line(hit.source)})" if several else "")
        lines = (
            f"### {one_line(hit.title)}",
            f"*{escaped(hit.heading_path)}*" if hit.heading_path else "",
            cited if cited[0].isalnum() or cited[0] in "./" else f"\\{cited}",
            _content(hit, text),
        )
        blocks.append("\n".join(filter(None, lines)))
    return _SEPARATOR.join(blocks)


def escaped(text: str) -> str:
    """One line without Markdown markup."""
    return _MARKUP.sub(r"\\\1", one_line(text))


def _rules(sources: Sequence[Source], *, several: bool) -> Iterator[str]:
    """Bullets; with hits of several sources, each group below its source."""
    for source in sources:
        if several and source.rules:
            yield f"\n{escaped(source.title)} ({one_line(source.source_id)}):"
        yield from (f"- {one_line(rule)}" for rule in source.rules)


def _content(hit: SearchHit, text: str) -> str:
    """The text as it is if it is prose or has closed fences of its own, else in a fence."""
    has_fences, is_open = _fences(text)
    is_plain = has_fences or hit.kind == "info"
    if is_plain and not is_open and not _OWN_LINE.search(text):
        return text
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall("`+", text)), default=0))
    return f"{fence}{_language(hit, text)}\n{text}\n{fence}"


def _fences(text: str) -> tuple[bool, bool]:
    """Whether the text has fences, and whether the last one is open."""
    open_fence = ""
    seen = False
    for mark, rest in _FENCE.findall(text):
        if not open_fence:
            open_fence, seen = mark, True
        elif mark.startswith(open_fence) and not rest.strip():
            open_fence = ""
    return seen, bool(open_fence)


def _language(hit: SearchHit, text: str) -> str:
    """The language of the first fence in a passage of code, else by the extension of the file."""
    known = format_of(hit.path)
    kind = known.id if known else ""
    if hit.kind == "info":
        return "markdown" if kind == "markdown" else ""
    stated = fence[2] if (fence := _FENCE.search(text)) else ""
    by_file = "" if kind in ("markdown", "note") else os.path.splitext(hit.path)[1]
    named = _LANGUAGE.match(stated) or _LANGUAGE.match(by_file)
    return named[1] if named else ""
