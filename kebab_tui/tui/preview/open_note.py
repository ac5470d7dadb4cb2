"""A note, or a page of a document, open in the preview: its lines, the cited ones, its colours and its
matches; no widget.

`read_at_once` reads only small files. `read_in_thread` counts the lines of a large file up
to the cited ones, yields the note, and counts on to its end. `page_of_hit` stands in for a page until it
is read.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from kebab_tui.domain.citation import Located
from kebab_tui.domain.document import PageText
from kebab_tui.domain.hit import SearchHit
from kebab_tui.tui.note_hits import is_whole
from kebab_tui.tui.preview.matches import LONG_LINE, Find, Marks, MatchSpan
from kebab_tui.tui.preview.painting import CHANGED, Line, Span, state_of
from kebab_tui.tui.preview.source_lines import (
    AT_ONCE_BYTES,
    WHOLE_BYTES,
    Decode,
    FileIdentity,
    InBlocks,
    LargeText,
    OpenFile,
    SourceLines,
    WholeText,
    whole_text,
)
from kebab_tui.tui.preview.syntax import MARKDOWN, Lexers, Syntax
from kebab_tui.tui.widgets.segments import CITED, NEAR

NOT_HERE = "from the index: the file is not on this machine"
_LINES_BELOW = 1000
"""Lines to count below the cited ones before they are shown."""


class Note:
    """The lines of a file, or of one `page`, with their colours and matches.

    `identity` is None if they do not come from the file, but from the index.
    """

    def __init__(
        self, identity: FileIdentity | None, name: str, lines: SourceLines, page: PageText | None = None
    ) -> None:
        self.identity = identity
        self.lines = lines
        self.page = page
        self.is_markdown = os.path.splitext(name)[1].lower() in MARKDOWN
        self._syntax = Syntax(name, lines)
        self._marks: Marks | None = None

    @property
    def is_indexed(self) -> bool:
        """Whether it stands for a file that is not on this machine; a page that is still read does not."""
        return self.identity is None and (self.page is None or self.page.count > 0)

    def has(self, hit: SearchHit) -> bool:
        """Whether the lines of a hit have its text."""
        span = hit.citation.span
        return hit.text in "\n".join(self.lines.slice(span.first, span.last))

    def mark(self, find: Find) -> None:
        """Mark the matches of `find` from now on."""
        self._marks = Marks(self.lines, find)

    def text(self, number: int) -> str:
        found = self.lines.slice(number, number)
        return found[0] if found else ""

    def line(
        self, number: int, mark: str, columns: range, current: MatchSpan | None, lexers: Lexers | None
    ) -> Line:
        """`lexers` colour the line; None without colours."""
        text = self.text(number)
        spans: list[Span] = [] if lexers is None else list(self._syntax.of(number, lexers))
        for start, end in self._marks.of(number, text, columns.start, columns.stop) if self._marks else ():
            is_current = current == (number, start)
            spans.append((start, end, "current" if is_current else "match"))
        return Line(number, text, tuple(spans), mark)

    def search(self, place: MatchSpan, forward: bool) -> Iterator[MatchSpan | None]:
        return self._marks.search(place, forward) if self._marks else iter(())

    def number_of(self, match: MatchSpan) -> str:
        return self._marks.number_of(match) if self._marks else ""

    def whole(self, most: int) -> Sequence[str] | None:
        """All lines; None if they have more than `most` characters together."""
        if not isinstance(self.lines, WholeText) or sum(map(len, self.lines.lines)) > most:
            return None
        return self.lines.lines

    def is_long(self, number: int) -> bool:
        return len(self.text(number)) > LONG_LINE

    def passage_column(self, number: int, passage: str) -> int:
        """Where the passage begins in its first line."""
        return max(self.text(number).find(passage.partition("\n")[0]), 0)


@dataclass(frozen=True, slots=True)
class TargetLines:
    """The lines to show: `first..last`, marked as cited or as near; unmarked if `sure` is None."""

    first: int
    last: int
    sure: bool | None
    state: str

    def sign(self, number: int) -> str:
        if self.sure is None or not self.first <= number <= self.last:
            return " "
        return CITED if self.sure else NEAR


def target_lines(hit: SearchHit, located: Located | None, note: Note) -> TargetLines:
    """The lines of the passage, checked against the file, which may have changed just now."""
    span, lines = (located or hit.citation).span, note.lines
    where = "" if note.page is None else page_words(note.page)
    if note.is_indexed:
        where = _joined(where, NOT_HERE)
    if is_whole(hit) or (note.page is not None and note.page.number != span.page):
        return TargetLines(1, 1, None, where)
    if note.is_indexed:
        return TargetLines(span.first, span.last, True, where)
    state = state_of(hit, located)
    first, last = min(span.first, max(lines.count, 1)), min(span.last, max(lines.count, 1))
    if located is not None and located.state == "gone":
        return TargetLines(first, last, None, _joined(where, state))
    if located is None and not hit.text:  # lines that are not yet compared
        return TargetLines(first, last, None, _joined(where, state))
    sure = state != CHANGED and last == span.last
    if sure and isinstance(lines, WholeText):  # a large file is not decoded as it was for the index
        sure = hit.text in "\n".join(lines.slice(first, last))
    return TargetLines(first, last, sure, _joined(where, state if sure else CHANGED))


def passage_of_hit(hit: SearchHit) -> Note:
    """The indexed passage at its lines of a file that is not on this machine."""
    lines = (*[""] * (hit.citation.span.first - 1), *hit.text.split("\n"))
    return Note(None, hit.path, WholeText(lines))


def note_of_index(hit: SearchHit, text: PageText) -> Note:
    """A note, or a page of it, as the index has it."""
    page = text if text.count else None
    return Note(None, "" if page else hit.path, WholeText(text.lines), page)


def page_of_hit(hit: SearchHit, page: int) -> Note:
    """The indexed passage at its place on a page whose other lines are unknown."""
    span = hit.citation.span
    is_cited = span.page == page
    lines = (*[""] * (span.first - 1), *hit.text.split("\n")) if is_cited else ()
    known = PageText(page, 0, hit.citation.label if is_cited else "", lines)
    return Note(None, "", WholeText(lines), known)


def page_words(page: PageText) -> str:
    """`page 4 (iv) of 36`."""
    label = f" ({page.label})" if page.label else ""
    if not page.count:  # it is not read yet
        return f"page {page.number:,}{label}"
    empty = "" if any(page.lines) else ", no text"
    return f"page {page.number:,}{label} of {page.count:,}{empty}"


def _joined(*words: str) -> str:
    return ", ".join(filter(None, words))


def read_at_once(file: OpenFile, name: str, decode: Decode) -> Note | None:
    """The note of a small file; raises KebabError if it is not text."""
    if file.size > AT_ONCE_BYTES:
        return None
    return Note(file.identity, name, whole_text(file, decode))


def read_in_thread(
    file: OpenFile, name: str, decode: Decode, line: int, cancelled: Callable[[], bool]
) -> Iterator[Note]:
    """The note as soon as `line` can be shown, and again when all lines are counted; raises KebabError."""
    if file.size <= WHOLE_BYTES:
        yield Note(file.identity, name, whole_text(file, decode))
        return
    text = LargeText(file)
    note = Note(file.identity, name, InBlocks(text))
    shown = False
    while not text.counted_whole and not cancelled():
        text.count_on()
        if not shown and text.count > line + _LINES_BELOW:
            shown = True
            yield note
    yield note
