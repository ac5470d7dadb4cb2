"""A note open in the preview: its lines, what is cited of it, its colours and its matches.

Knows which lines are cited and how truly, and what every line shows; knows no widget.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kebab_tui.tui.preview.matches import LONG_LINE, Find, Marks, MatchSpan
from kebab_tui.tui.preview.painting import CHANGED, Line, Span, state_of
from kebab_tui.tui.preview.source_lines import FileIdentity, SourceLines, WholeText
from kebab_tui.tui.preview.syntax import Syntax
from kebab_tui.tui.widgets.segments import CITED, NEAR

if TYPE_CHECKING:
    from kebab_tui.domain.citation import Located
    from kebab_tui.domain.hit import SearchHit
    from kebab_tui.tui.preview.syntax import Lexers


@dataclass(frozen=True, slots=True)
class TargetLines:
    """The lines to show: `first..last`, marked as cited or as near; none are where `sure` is None."""

    first: int
    last: int
    sure: bool | None
    state: str

    def sign(self, number: int) -> str:
        if self.sure is None or not self.first <= number <= self.last:
            return " "
        return CITED if self.sure else NEAR


def aim(hit: SearchHit, located: Located | None, lines: SourceLines) -> TargetLines:
    """Where the passage stands, checked against the lines themselves: the file may have changed just now."""
    span = located.span if located else hit.citation.span
    if span.page is not None:
        return TargetLines(1, max(lines.count, 1), True, f"page {span.page}")
    state = state_of(hit, located)
    first, last = min(span.first, max(lines.count, 1)), min(span.last, max(lines.count, 1))
    if located is not None and located.state == "gone":
        return TargetLines(first, last, None, state)
    sure = state != CHANGED and (last == span.last and _stands_there(hit.text, lines, first, last))
    return TargetLines(first, last, sure, state if sure else CHANGED)


def _stands_there(text: str, lines: SourceLines, first: int, last: int) -> bool:
    """Whether the passage is what these lines say; a text that was not decoded by the index cannot tell."""
    return not isinstance(lines, WholeText) or text in "\n".join(lines.slice(first, last))


class Note:
    """One file's lines with what is to be shown in them."""

    def __init__(self, identity: FileIdentity | None, name: str, lines: SourceLines) -> None:
        self.identity = identity
        self.lines = lines
        self._syntax = Syntax(name, lines)
        self._marks: Marks | None = None

    def seek(self, find: Find) -> None:
        """Mark what `find` finds from now on."""
        self._marks = Marks(self.lines, find)

    def text(self, number: int) -> str:
        found = self.lines.slice(number, number)
        return found[0] if found else ""

    def line(
        self, number: int, mark: str, columns: range, current: MatchSpan | None, lexers: Lexers | None
    ) -> Line:
        """`lexers`: those that colour it; None where there are no colours."""
        text = self.text(number)
        spans: list[Span] = [] if lexers is None else list(self._syntax.of(number, lexers))
        for start, end in self._marks.of(number, text, columns.start, columns.stop) if self._marks else ():
            is_current = current == (number, start)
            spans.append((start, end, "current" if is_current else "match"))
        return Line(number, text, tuple(spans), mark)

    def hunt(self, place: MatchSpan, forward: bool) -> Iterator[MatchSpan | None]:
        return self._marks.hunt(place, forward) if self._marks else iter(())

    def whole(self, most: int) -> Sequence[str] | None:
        """All lines, where they are no more than so many characters together."""
        if not isinstance(self.lines, WholeText) or sum(map(len, self.lines.lines)) > most:
            return None
        return self.lines.lines

    def passage_column(self, number: int, passage: str) -> int:
        """Where in a very long line the passage begins; 0 in any other."""
        text = self.text(number)
        return max(text.find(passage.partition("\n")[0]), 0) if len(text) > LONG_LINE else 0
