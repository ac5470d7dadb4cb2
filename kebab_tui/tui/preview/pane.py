"""The preview: the file behind the selected hit, opened at the lines that are cited.

Paints line by line, and of each line only the columns in view, so neither the length of a
note nor that of a line slows a key. A large file is read in a thread; the screen goes on.
What stands there is the file as it is now, and the first row says so where it is no longer
what was indexed. Asks the engine only how bytes become lines and what a query matches.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, ClassVar, Protocol

from rich.segment import Segment
from rich.style import Style
from textual.cache import LRUCache
from textual.geometry import Size
from textual.message import Message
from textual.strip import Strip
from textual.worker import get_current_worker

from kebab_tui.domain.errors import KebabError
from kebab_tui.tui.preview import painting
from kebab_tui.tui.preview.matches import MatchSpan
from kebab_tui.tui.preview.open_note import Note, TargetLines, aim
from kebab_tui.tui.preview.painting import View, column_of, header, paint
from kebab_tui.tui.preview.rendered import LONGEST, Rendered, RenderStyles, rendered
from kebab_tui.tui.preview.source_lines import (
    AT_ONCE_BYTES,
    WHOLE_BYTES,
    Decode,
    InBlocks,
    LargeText,
    OpenFile,
    WholeText,
    identity,
    whole_text,
)
from kebab_tui.tui.preview.syntax import Lexers
from kebab_tui.tui.widgets.segments import LineView, clean

if TYPE_CHECKING:
    from textual import events

    from kebab_tui.domain.citation import Located
    from kebab_tui.domain.hit import Highlight, SearchHit


# The pane of the preview: one fixed row, and below it a note, line by line.
#
# Paints what it is given and knows where it is scrolled to; which note that is, and why, is
# not its business. Row 0 is the first below the fixed one. Scrolls without animation.

SIDEWAYS = 8
"""Columns that a key goes to the side."""


class PreviewPane(LineView):
    """Shows a note, or the same rendered, or some words in its place."""

    DEFAULT_CSS = painting.CSS
    COMPONENT_CLASSES: ClassVar[set[str]] = painting.COMPONENT_CLASSES

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self._hit: SearchHit | None = None
        self._located: Located | None = None
        self._note: Note | None = None
        self._aim = TargetLines(1, 1, None, "")
        self._remark = ""
        self._words: Sequence[str] = ()
        """What stands in the place of a note."""
        self._rendered: Rendered | None = None
        self._lexers = Lexers(partial(self.call_later, self._repaint))
        self._left = 0
        self._aimed_row: float = 0
        self._place = MatchSpan(1, -1)
        """The match that was jumped to; column -1 for none."""
        self._styles: dict[str, Style] = {}
        self._strips: LRUCache[tuple[int, int], Strip] = LRUCache(512)

    # Painting

    def render_line(self, y: int) -> Strip:
        width, base = self.columns, self._look()["text"]
        if y == 0:
            return self._header_row(width)
        row = y - 1 + self.scroll_offset.y
        if self._rendered is not None and row < len(self._rendered.strips):
            return self._rendered.strips[row]
        if self._note is not None and self._rendered is None and row < self._note.lines.count:
            return self._line(self._note, row + 1)
        words = clean(self._words[row]) if row < len(self._words) else ""
        return Strip([Segment(words, base)]).crop_extend(0, width, base)

    def _look(self) -> Mapping[str, Style]:
        if not self._styles:
            self._styles = painting.look_of(self)
        return self._styles

    def _header_row(self, width: int) -> Strip:
        if self._hit is None:
            return Strip.blank(width, self._styles["text"])
        base = self._styles["header"]
        state = ", ".join(word for word in (self._aim.state, self._remark) if word)
        parts = header(self._hit, self._located, state, width)
        segments = [Segment(text, base + self._styles[name]) for text, name in parts]
        return Strip(segments).crop_extend(0, width, base)

    def _line(self, note: Note, number: int) -> Strip:
        key = number, self.columns
        strip = self._strips.get(key)
        if strip is None:
            view = self._view(note)
            columns = range(view.left, view.left + view.columns)
            mark = self._aim.sign(number)
            lexers = None if self.app.no_color else self._lexers
            line = note.line(number, mark, columns, self._place, lexers)
            strip = self._strips[key] = paint(line, view, self._styles)
        return strip

    def _view(self, note: Note) -> View:
        return View(self._left, self.columns, len(str(note.lines.count)))

    def _repaint(self) -> None:
        self._strips.clear()
        self.refresh()

    def _measure(self) -> None:
        rows = len(self._words)
        if self._rendered is not None:
            rows = len(self._rendered.strips)
        elif self._note is not None:
            rows = self._note.lines.count
        self.virtual_size = Size(self.columns, rows + 1)

    def notify_style_update(self) -> None:
        super().notify_style_update()
        self._styles = {}
        self._strips.clear()

    # Moving about

    @property
    def columns(self) -> int:
        """How wide it is beside its scrollbar."""
        return self.scrollable_content_region.width

    @property
    def page_rows(self) -> int:
        """How many rows are in view below the fixed one."""
        return max(self.size.height - 1, 1)

    def to_row(self, row: int) -> None:
        """Put a row at the top, as far as there are enough below it."""
        self.scroll_to(y=row, animate=False, force=True)

    def scroll_by(self, rows: int) -> None:
        self.to_row(self.scroll_offset.y + rows)

    def half_page(self, direction: int) -> None:
        self.scroll_by(direction * max(self.page_rows // 2, 1))

    def page(self, direction: int) -> None:
        self.scroll_by(direction * max(self.page_rows - 1, 1))

    def to_top(self) -> None:
        self.to_row(0)

    def to_end(self) -> None:
        self.to_row(self.virtual_size.height)

    def sideways(self, columns: int) -> None:
        """Show columns further to the right, as long as a line in view goes on there, or to the left."""
        if self._note is None or self._rendered is not None:
            return
        if columns > 0 and not self._goes_on(self._note):
            return
        self._left = max(self._left + columns, 0)
        self._repaint()

    def _goes_on(self, note: Note) -> bool:
        top = self.scroll_offset.y + 1
        edge = self._left + self._view(note).columns
        return any(
            column_of(text, len(text)) > edge for text in note.lines.slice(top, top + self.page_rows - 1)
        )

    def _to_aim(self) -> None:
        row = self._aim.first - 1
        if self._rendered is not None and self._note is not None:
            row = self._rendered.row_of(row, self._note.lines.count)
        self.to_row(row - self.page_rows // 3)
        self._aimed_row = self.scroll_offset.y

    def action_scroll_up(self) -> None:
        self.scroll_by(-1)

    def action_scroll_down(self) -> None:
        self.scroll_by(1)

    def action_page_up(self) -> None:
        self.page(-1)

    def action_page_down(self) -> None:
        self.page(1)

    def action_scroll_home(self) -> None:
        self.to_top()

    def action_scroll_end(self) -> None:
        self.to_end()

    def action_scroll_left(self) -> None:
        self.sideways(-SIDEWAYS)

    def action_scroll_right(self) -> None:
        self.sideways(SIDEWAYS)


# Reading a note for the preview, at once or in a thread, and saying why it cannot be shown.
#
# `read_at_once` never reads more than a moment's worth; `read_in_thread` counts a large
# file's lines up to the cited ones, hands it over, and counts on to its end.

_LINES_BELOW = 1000
"""How far below the cited lines the count has to be before they are shown."""


def read_at_once(file: OpenFile, name: str, decode: Decode) -> Note | None:
    """The note, where reading it takes no time to speak of; raises KebabError for what is no text."""
    return _whole(file, name, decode) if file.size <= AT_ONCE_BYTES else None


def read_in_thread(
    file: OpenFile, name: str, decode: Decode, line: int, cancelled: Callable[[], bool]
) -> Iterator[Note]:
    """The note once `line` can be shown, and again when all lines are counted; raises KebabError."""
    if file.size <= WHOLE_BYTES:
        yield _whole(file, name, decode)
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


def _whole(file: OpenFile, name: str, decode: Decode) -> Note:
    return Note(file.identity, name, whole_text(file, decode))


_NOWHERE = MatchSpan(0, -1)
_TURN_S = 0.01
"""How long the search for the next match keeps a key waiting before it lets others have their turn."""


class PreviewEngine(Protocol):
    """What the preview asks of the workspace."""

    def decode(self, data: bytes) -> Sequence[str]: ...

    def marks(self, text: str, query: str) -> Sequence[Highlight]: ...


class Preview(PreviewPane, can_focus=True):
    """Shows one hit's file, scrolls and searches in it. Its keys are the application's to bind."""

    class Read(Message):
        """A thread has read a note, or the rest of it, or found that it cannot be shown."""

        def __init__(self, generation: int, read: Note | KebabError) -> None:
            super().__init__()
            self.generation = generation
            self.read = read

    class MadeMarkdown(Message):
        """A thread has rendered a note."""

        def __init__(self, note: Note, made: Rendered) -> None:
            super().__init__()
            self.note = note
            self.made = made

    def __init__(
        self,
        engine: PreviewEngine | None = None,
        *,
        id: str | None = None,  # noqa: A002 - Textual's own name for it
    ) -> None:
        super().__init__(id=id)
        self.engine = engine
        """Has to be there before the first hit is shown."""
        self._generation = 0
        self._query = ""
        self._sought = ""
        """What is marked in the note that is open."""
        self._hunt: Iterator[MatchSpan | None] = iter(())

    # What is shown

    def show(self, hit: SearchHit, located: Located | None = None, query: str = "") -> None:
        """Show the file behind a hit, the words of `query` marked; what is shown already stays put."""
        is_other = self._hit is None or hit.chunk_id != self._hit.chunk_id
        self._generation += 1
        was_remarked = bool(self._remark)
        self._hit, self._located, self._query, self._remark = hit, located, query, ""
        if is_other:
            self._rendered = None
        path = os.path.join(os.fsencode(hit.root), hit.raw_path)
        if self._note is not None and self._note.identity and self._note.identity == identity(path):
            if is_other or was_remarked or not self._stays():
                self._open(self._note, is_other)
        else:
            self._rendered = None
            self._read(path, hit, is_other)

    def reread(self, hit: SearchHit) -> None:
        """The note may have been saved: show it as it is now, where it was."""
        if self._hit is not None and self._hit.chunk_id == hit.chunk_id:
            self.show(hit, self._located if hit == self._hit else None, self._query)

    def clear(self, message: str = "") -> None:
        """Show no note, and perhaps some words instead."""
        self._generation += 1
        self._hit = self._note = None
        self._say("", message.splitlines())

    def _read(self, path: bytes, hit: SearchHit, is_other: bool) -> None:
        assert self.engine is not None
        if hit.citation.span.page is not None:
            self._open(Note(None, "", WholeText(hit.text.split("\n"))), is_other)
            return
        try:
            file = OpenFile(path)
            note = read_at_once(file, hit.path, self.engine.decode)
        except KebabError as error:
            self._refuse(error)
            return
        if note is not None:
            self._open(note, is_other)
            return
        self._say(f"reading {file.size / 1e6:,.0f} MB", ())
        line = (self._located or hit.citation).span.last
        work = partial(self._read_away, self._generation, file, hit.path, line)
        self.run_worker(work, thread=True, exclusive=True, group="preview-read")

    def _read_away(self, generation: int, file: OpenFile, name: str, line: int) -> None:
        assert self.engine is not None
        worker = get_current_worker()
        try:
            for note in read_in_thread(file, name, self.engine.decode, line, lambda: worker.is_cancelled):
                self.post_message(self.Read(generation, note))
        except KebabError as error:
            self.post_message(self.Read(generation, error))

    def on_preview_read(self, message: Preview.Read) -> None:
        if message.generation != self._generation:
            return
        if isinstance(message.read, KebabError):
            self._refuse(message.read)
        else:
            self._open(message.read, message.read is not self._note)

    def _stays(self) -> bool:
        """Whether the open note would be painted as it is: most often its passage is where it was."""
        assert self._hit is not None
        assert self._note is not None
        return self._query == self._sought and aim(self._hit, self._located, self._note.lines) == self._aim

    def _open(self, note: Note, is_other: bool) -> None:
        assert self._hit is not None
        assert self.engine is not None
        engine, query = self.engine, self._query
        if note is not self._note or query != self._sought:
            note.seek(lambda text: engine.marks(text, query))
        self._note, self._words, self._sought = note, (), query
        before, self._aim = self._aim, aim(self._hit, self._located, note.lines)
        self._hunt = iter(())
        self._measure()
        if is_other or before.first != self._aim.first:
            self._place = MatchSpan(self._aim.first, -1)
            self._left = max(note.passage_column(self._aim.first, self._hit.text) - 1, 0)
            self._to_aim()
        self._repaint()

    def _refuse(self, error: KebabError) -> None:
        """Say why the file cannot be shown, and what the index still has of it."""
        kept = self._hit.text.split("\n") if self._hit else []
        self._say(error.message, [error.hint, "", "The index still has:", "", *kept])

    def _say(self, state: str, words: Sequence[str]) -> None:
        self._remark, self._words = state, words
        self._note = self._rendered = None
        self._aim = TargetLines(1, 1, None, "")
        self._measure()
        self.to_top()
        self._repaint()

    # Moving about

    def on_resize(self, _: events.Resize) -> None:
        # A note that fits better now has been pushed down by the library.
        was_aimed = self.scroll_offset.y == min(self._aimed_row, self.max_scroll_y)
        if self._rendered is not None and self._note is not None:
            self._render_away(self._note)
        self._measure()
        if was_aimed:
            self._to_aim()
        self._repaint()

    # Matches

    def next_match(self) -> None:
        self._seek(forward=True)

    def previous_match(self) -> None:
        self._seek(forward=False)

    def _seek(self, forward: bool) -> None:
        """Search from the last match, or from the lines in view where that is out of sight."""
        if self._note is None or self._rendered is not None:
            return
        top = self.scroll_offset.y + 1
        if not top <= self._place.line < top + self.page_rows:
            self._place = MatchSpan(
                top if forward else min(top + self.page_rows, self._note.lines.count + 1), -1
            )
        self._hunt = self._note.hunt(self._place, forward)
        self._hunt_on(self._hunt)

    def _hunt_on(self, hunt: Iterator[MatchSpan | None]) -> None:
        """Search for a moment, then let the keys have their turn before going on."""
        turn_ends = monotonic() + _TURN_S
        while hunt is self._hunt:
            place = next(hunt, _NOWHERE)
            if place is not None:
                self._arrive(place)
                return
            if monotonic() > turn_ends:
                self.call_later(self._hunt_on, hunt)
                return

    def _arrive(self, place: MatchSpan) -> None:
        if place is _NOWHERE or self._note is None:
            self._remark = "no match"
        else:
            self._remark = ""
            self._place = place
            self._bring_into_view(place, self._note)
        self._repaint()

    def _bring_into_view(self, place: MatchSpan, note: Note) -> None:
        top = self.scroll_offset.y + 1
        if not top <= place.line < top + self.page_rows:
            self.to_row(place.line - 1 - self.page_rows // 3)
        columns = self._view(note).columns
        column = column_of(note.text(place.line), place.column)
        if not self._left < column + 1 < self._left + columns - SIDEWAYS:
            self._left = max(column - columns // 3, 0) if column >= columns - SIDEWAYS else 0

    # Rendered Markdown

    def toggle_rendered(self) -> None:
        """Show the note as rendered Markdown, or its lines again."""
        if self._rendered is not None:
            self._show_rendered(None)
        elif self._note is not None:
            self._render_away(self._note)

    def _render_away(self, note: Note) -> None:
        lines = note.whole(LONGEST)
        if lines is None:
            self._remark = "too long to render"
            self.refresh()
            return
        mark = self._aim.sign(self._aim.first)
        first, last = (1, 0) if self._aim.sure is None else (self._aim.first, self._aim.last)
        look = RenderStyles(self.columns, mark, self.app.current_theme.dark, self._look())
        work = partial(self._make, note, partial(rendered, lines, first, last, look))
        self.run_worker(work, thread=True, exclusive=True, group="preview-markdown")

    def _make(self, note: Note, make: Callable[[Callable[[], bool]], Rendered | None]) -> None:
        worker = get_current_worker()
        made = make(lambda: worker.is_cancelled)
        if made is not None:
            self.post_message(self.MadeMarkdown(note, made))

    def on_preview_made_markdown(self, message: Preview.MadeMarkdown) -> None:
        if message.note is self._note and message.made.width == self.columns:
            self._show_rendered(message.made)

    def _show_rendered(self, made: Rendered | None) -> None:
        self._rendered = made
        self._measure()
        self._to_aim()
        self._repaint()
