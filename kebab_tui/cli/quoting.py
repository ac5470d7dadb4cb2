"""Whole passages with their citations, to paste elsewhere: as quotations, or as context for a reader.

Quotes exactly the lines a citation names. Whatever a passage holds, it cannot end its
own quotation: each line is prefixed, or stands in a fence longer than any inside it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from kebab_tui.cli.output import field
from kebab_tui.domain.document import Source
from kebab_tui.domain.hit import SearchHit
from kebab_tui.domain.text import visible

_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})(.*)$", re.MULTILINE)
_MARKUP = re.compile(r"([\\`*_\[\]<|])")


def markdown(hits: Sequence[SearchHit]) -> Iterator[str]:
    """Block quotes, each with its citation as a link relative to the folder of the notes."""
    from urllib.parse import quote

    for place, hit in enumerate(hits):
        if place:
            yield ""
        yield from (f"> {line}".rstrip() for line in visible(hit.text).split("\n"))
        yield ">"
        span = hit.citation.uri[len(hit.citation.path) :]
        link = f"[{_plain(str(hit.citation))}]({quote(hit.raw_path)}{span})"
        heading = f" · {_plain(hit.heading_path)}" if hit.heading_path else ""
        yield f"> — {link}{heading}"


def context(hits: Sequence[SearchHit], sources: Iterable[Source]) -> Iterator[str]:
    """The rules of the folders, then each passage below its title and place, `---` between."""
    found = {hit.source for hit in hits}
    rules = [rule for source in sources if source.source_id in found for rule in source.rules]
    if rules:
        yield "## Rules"
        yield ""
        yield from (f"- {field(rule)}" for rule in rules)
        yield ""
        yield "---"
        yield ""
    for place, hit in enumerate(hits):
        if place:
            yield from ("", "---", "")
        yield from _passage(hit)


def _passage(hit: SearchHit) -> Iterator[str]:
    yield f"### {field(hit.title)}"
    yield ""
    place = f"{hit.heading_path} — {hit.citation}" if hit.heading_path else str(hit.citation)
    yield f"*{_plain(place)}*"
    yield ""
    text = visible(hit.text)
    if hit.kind == "code" and not _is_fenced(text):
        fence = "`" * max(3, 1 + max((len(run) for run in re.findall("`+", text)), default=0))
        yield from (fence, text, fence)
    else:
        yield text


def _is_fenced(text: str) -> bool:
    """Whether the passage brings whole fences of its own."""
    open_fence = ""
    seen = False
    for mark, rest in _FENCE.findall(text):
        if not open_fence:
            open_fence, seen = mark, True
        elif mark.startswith(open_fence) and not rest.strip():
            open_fence = ""
    return seen and not open_fence


def _plain(text: str) -> str:
    """Text that Markdown shows as it is."""
    return _MARKUP.sub(r"\\\1", field(text))
