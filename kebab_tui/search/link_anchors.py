"""The headings and blocks of a note that a link can name, with their lines, from its indexed passages."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence

from kebab_tui.domain.citation import SourceSpan
from kebab_tui.domain.document import Block, Chunk
from kebab_tui.domain.facets import fold
from kebab_tui.formats.markdown import scan_markdown
from kebab_tui.formats.registry import format_of

_WORDS = re.compile(r"[^\W_]+")
_NOT_IN_SLUG = re.compile(r"[^\w\- ]")
_ITEM = re.compile(r"[ \t>]*(?:[-+*]|\d{1,9}[.)])[ \t]")
_BLOCK = re.compile(r"(?:^|[ \t])\^([\w-]+)[ \t]*$")


class Outline:
    def __init__(self, lines: Sequence[str]) -> None:
        self._lines = lines
        self._headings = [block for block in scan_markdown(lines) if block.kind == "heading"]
        self._blocks = {
            fold(found[1]): at for at, line in enumerate(lines, 1) if (found := _BLOCK.search(line))
        }
        slugs = Counter[str]()
        self._slugs: dict[str, int] = {}
        for place, heading in enumerate(self._headings):
            slug = _NOT_IN_SLUG.sub("", fold(heading.text)).strip().replace(" ", "-")
            again = f"-{slugs[slug]}" if slugs[slug] else ""
            slugs[slug] += 1
            self._slugs.setdefault(slug + again, place)

    @classmethod
    def of(cls, path: str, chunks: Iterable[Chunk]) -> Outline | None:
        """That of an indexed note; None if its format has no headings that links can name."""
        kind = format_of(path)
        if kind is None or kind.id != "markdown":
            return None
        lines: list[str] = []
        for chunk in chunks:
            text = chunk.text.split("\n")
            start = chunk.span.first - 1
            lines += [""] * (start + len(text) - len(lines))
            for at, line in enumerate(text, start):
                lines[at] += line  # a long line is cut into several passages
        return cls(lines)

    def find(self, anchor: str) -> SourceSpan | None:
        """The lines of `^block`, of `heading`, or of the last of `heading#below`."""
        if anchor.startswith("^"):
            at = self._blocks.get(fold(anchor[1:].strip()))
            return None if at is None else self._block(at)
        first, *below = [part for part in anchor.split("#") if part.strip()] or [""]
        place = self._heading(first, 0, len(self._headings))
        if place is None and not below:
            place = self._slugs.get(fold(first.strip()))
        for part in below:
            if place is None:
                break
            place = self._heading(part, place + 1, self._end(place))
        return None if place is None else self._section(place)

    def _heading(self, text: str, first: int, end: int) -> int | None:
        wanted = _words(text)
        for place in range(first, end):
            if _words(self._headings[place].text) == wanted:
                return place
        return None

    def _end(self, place: int) -> int:
        """The first heading that is not below one."""
        level = self._headings[place].level
        for other in range(place + 1, len(self._headings)):
            if self._headings[other].level <= level:
                return other
        return len(self._headings)

    def _section(self, place: int) -> SourceSpan:
        heading: Block = self._headings[place]
        end = self._end(place)
        last = self._headings[end].first - 1 if end < len(self._headings) else len(self._lines)
        while last > heading.last and not self._lines[last - 1].strip():
            last -= 1
        return SourceSpan(heading.first, last)

    def _block(self, at: int) -> SourceSpan:
        """The item or paragraph that ends with the name; a name on a line of its own names what is above."""
        last = at
        if not _BLOCK.sub("", self._lines[at - 1]).strip():
            while last > 1 and not _BLOCK.sub("", self._lines[last - 1]).strip():
                last -= 1
        first = last
        while first > 1 and self._lines[first - 2].strip() and not _ITEM.match(self._lines[first - 1]):
            first -= 1
        return SourceSpan(first, max(first, last))


def _words(text: str) -> list[str]:
    return _WORDS.findall(fold(text))
