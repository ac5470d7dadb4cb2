"""The text formats of the specification for language models: a list of libraries, and passages as context.

Pure: command line and server share it. No text from a file can imitate the format: titles and rules are on
one line, and a passage with a line of the format, or with an open fence, is in a longer fence.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from kebab_tui.domain.citation import Citation
from kebab_tui.domain.document import Source
from kebab_tui.domain.hit import SearchHit
from kebab_tui.domain.ids import ChunkId
from kebab_tui.domain.text import one_line, sanitize
from kebab_tui.formats.code_languages import code_language
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


def library_list(found: Sequence[FoundLibrary], versions: Mapping[str, Sequence[str]] | None = None) -> str:
    """A numbered list, five lines for each; `versions`: the labels of each source."""
    known = versions or {}
    listed = (
        _library(number, one, known.get(one.source.source_id, ())) for number, one in enumerate(found, 1)
    )
    return "\n\n".join(listed) or NO_LIBRARIES


def _library(number: int, found: FoundLibrary, versions: Sequence[str]) -> str:
    source = found.source
    labels = ", ".join(map(one_line, filter(None, (source.version_label, *versions))))
    return "\n".join(
        (
            f"{number}. {one_line(source.title)}",
            f"   Library ID: {one_line(source.source_id)}",
            f"   Description: {one_line(source.description) or 'No description'}",
            f"   Snippets: {source.chunks} | Trust Score: {found.source_score:.1f}/10",
            f"   Available Versions: {labels or 'default branch'}",
        )
    )


def passages(
    hits: Sequence[SearchHit], sources: Iterable[Source], facts: Mapping[ChunkId, str] | None = None
) -> str:
    """The rules of the sources that have hits, then each passage below its title, headings and citation.

    `facts`: what stands behind each citation instead of the source; prose is then fenced, too.
    """
    found = {hit.source for hit in hits}
    several = len(found) > 1
    rules = list(_rules([source for source in sources if source.source_id in found], several=several))
    blocks = ["\n".join(("## Library Rules", *rules))] if rules else []
    for hit in hits:
        remark = f"in {one_line(hit.source)}" if several else ""
        if facts is not None:
            remark = facts[hit.chunk_id]
        lines = (
            f"### {one_line(hit.title)}",
            f"*{escaped(hit.heading_path)}*" if hit.heading_path else "",
            cited(hit.citation) + (f" ({remark})" if remark else ""),
            _content(hit, all_fenced=facts is not None),
        )
        blocks.append("\n".join(filter(None, lines)))
    return _SEPARATOR.join(blocks)


def cited(citation: Citation) -> str:
    """A citation that does not begin with markup."""
    shown = one_line(str(citation))
    return shown if shown[0].isalnum() or shown[0] in "./" else f"\\{shown}"


def escaped(text: str) -> str:
    """One line without Markdown markup."""
    return _MARKUP.sub(r"\\\1", one_line(text))


def _rules(sources: Sequence[Source], *, several: bool) -> Iterator[str]:
    """Bullets; with hits of several sources, each group below its source."""
    for source in sources:
        if several and source.rules:
            yield f"\n{escaped(source.title)} ({one_line(source.source_id)}):"
        yield from (f"- {one_line(rule)}" for rule in source.rules if rule.strip())


def fenced(text: str, language: str = "") -> str:
    """Text in a fence that no fence inside can close; invisible characters are made visible."""
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall("`+", text)), default=0))
    return f"{fence}{language}\n{sanitize(text)}\n{fence}"


def _content(hit: SearchHit, *, all_fenced: bool) -> str:
    """The text as it is if it is prose or a note with closed fences of its own, else in a fence."""
    text = sanitize(hit.text)
    has_fences, is_open = _fences(text)
    is_plain = (hit.kind == "info" or (has_fences and hit.type != "code")) and not all_fenced
    if is_plain and not is_open and not _OWN_LINE.search(text):
        return text
    return fenced(text, _language(hit, text))


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
    """The language of a file of code, else of the first fence in a passage, else by the file's extension."""
    if of_code := code_language(hit.path, hit.type):
        return of_code
    known = format_of(hit.path)
    kind = known.id if known else ""
    if hit.kind == "info":
        return "markdown" if kind == "markdown" else ""
    stated = fence[2] if (fence := _FENCE.search(text)) else ""
    by_file = "" if kind in ("markdown", "note") else os.path.splitext(hit.path)[1]
    named = _LANGUAGE.match(stated) or _LANGUAGE.match(by_file)
    return named[1] if named else ""
