"""The quick switcher: goes to a note by its name; starts a new one.

Without a name it lists the recent notes, then the latest changed ones. The engine thread finds
the names; the rows of an earlier text stay until the new ones are there. The page opens, copies
and creates nothing: it ends with a `Choice` for the application.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar, Literal, NamedTuple

from textual import on
from textual.content import Content
from textual.widgets.input import Selection

from kebab_tui.domain.errors import Failure
from kebab_tui.domain.hit import SearchHit, ambiguous_paths
from kebab_tui.domain.names import name_key
from kebab_tui.tui.actions import Actions, ScreenName
from kebab_tui.tui.history import TypingDebounce
from kebab_tui.tui.messages import NotesFound
from kebab_tui.tui.new_note import NewNote, new_note
from kebab_tui.tui.note_hits import hit_of, path_of
from kebab_tui.tui.preview.pane import Preview
from kebab_tui.tui.recent_notes import RecentNotes
from kebab_tui.tui.screens.framed import FramedList, FramedRow, FramedScreen
from kebab_tui.tui.widgets.segments import DOT, GAP, Role, Row, Segment, sanitize_line, wrapped

if TYPE_CHECKING:
    from kebab_tui.search.find_names import FoundNote
    from kebab_tui.tui.engine_thread import EngineThread

FIRST = 50
"""Notes that are found at once."""
MOST = 800
"""Notes that are found if the user moves to the end of the list."""
_NEAR_END = 20
_TITLE = "go to note"

Verb = Literal["open", "search", "copy", "create"]


class Choice(NamedTuple):
    """What to do with a note; a new one can only be created."""

    verb: Verb
    note: SearchHit | NewNote


def note_row(note: FoundNote, *, with_source: bool) -> FramedRow:
    """The name, then what matches instead or another title; on the right the folder and maybe its source."""
    document, matched = note.document, note.matched
    folder = document.path.rpartition("/")[0]
    if with_source:
        folder = f"{document.source}/{folder}".rstrip("/")
    name: Row = (Segment(document.name),)
    if matched is not None and (matched.kind == "name" or matched.text == document.name):
        name = _marked(matched.text, matched.highlights, "plain")
    elif matched is not None:
        other = _marked(matched.text, matched.highlights, "muted")
        return FramedRow((*name, Segment(" " * GAP), *other), folder)
    is_titled_so = name_key(document.title) == name_key(document.name)
    return FramedRow(name, folder, more="" if is_titled_so else document.title)


def _marked(text: str, highlights: Sequence[tuple[int, int]], role: Role) -> Row:
    text = sanitize_line(text)

    def parts() -> Iterator[Segment]:
        at = 0
        for start, end in highlights:
            yield Segment(text[at:start], role)
            yield Segment(text[start:end], "match")
            at = end
        yield Segment(text[at:], role)

    return tuple(part for part in parts() if part.text)


class Switcher(FramedScreen[Choice | None]):
    """An input over a list of notes, with a preview of the selected one."""

    screen_name: ClassVar[ScreenName] = "Switcher"

    def __init__(
        self,
        actions: Actions,
        engine: EngineThread,
        *,
        recent: RecentNotes,
        selected: SearchHit | None,
        creates: bool,
        typed: str = "",
    ) -> None:
        """`selected`: the hit that the user comes from; `creates`: offer new notes, in its folder.

        `typed`: a name to begin with, which typing replaces.
        """
        self.preview = Preview()
        self.preview.can_focus = False
        super().__init__(actions, _TITLE, placeholder="name of a note", preview=self.preview)
        self._engine = engine
        self._recent = recent.offered(None if selected is None else selected.doc_id)
        self._last = recent.notes[:1]
        self._home: tuple[str, str] | None = None
        """The root of the source and the folder in it for new notes."""
        if selected is not None:
            self._home = selected.root, os.fsdecode(os.path.dirname(selected.raw_path))
        self._creates = creates
        self._typed = typed
        self._typing = TypingDebounce(self._show_selected)
        self._limit = FIRST
        self._verb: Verb = "open"
        """What the waiting or the next choice does."""
        self._notes: Sequence[SearchHit | NewNote | None] = ()
        """What each row stands for; None for a heading."""

    def on_mount(self) -> None:
        self._typing.start_clock(self)
        box = self.typing_box
        box.value, box.selection = self._typed, Selection(0, len(self._typed))

    def find(self, text: str) -> None:
        self._verb, self._limit = "open", FIRST
        if text:
            self._typing.key_pressed()
        self.call_after_refresh(self._request, text)  # paint the letter first

    def _request(self, text: str) -> None:
        if text == self.typing_box.value:
            home = self._last if self._home is None else None
            self._engine.find_notes(text, self._limit, self._recent, home)

    def notes_found(self, message: NotesFound) -> None:
        """Show the notes, unless others were requested since."""
        typed, found = message.typed, message.result
        if typed != self.typing_box.value or message.limit != self._limit:
            return
        if isinstance(found, Failure):
            self._notes = ()
            self.show(typed, (), empty=found.message)
            self.preview.clear("\n".join(wrapped(sanitize_line(found.hint), self.preview.columns)))
            return
        self._home = self._home or message.home
        more = f" {DOT} first {len(found):,}" if typed.strip() and len(found) >= message.limit else ""
        if self.frame.border_title != (title := f"{_TITLE}{more}"):
            self.frame.border_title = Content(title)
        before = self._selected if message.limit > FIRST else None
        hits = [hit_of(note) for note in found]
        best = found[0].matched if found else None
        new = self._new_note(typed, hits, is_named=best is not None and best.is_exact)
        rows, self._notes = self._rows(found, hits, new)
        cursor = self._notes.index(before) if before in self._notes else 0
        self.show(typed, rows, cursor, empty="no note has such a name" if typed.strip() else "no notes yet")

    def _new_note(self, typed: str, hits: Sequence[SearchHit], *, is_named: bool) -> NewNote | None:
        """The note to offer: none if a note has exactly the typed name or path."""
        if not self._creates or self._home is None or (is_named and "/" not in typed):
            return None
        new = new_note(typed, *self._home)
        return None if new is not None and new.path in map(path_of, hits) else new

    def _rows(
        self, found: Sequence[FoundNote], hits: Sequence[SearchHit], new: NewNote | None
    ) -> tuple[list[FramedRow], list[SearchHit | NewNote | None]]:
        rows: list[FramedRow] = []
        notes: list[SearchHit | NewNote | None] = []

        def heading(text: str) -> None:
            rows.append(FramedRow((Segment(text),), is_heading=True))
            notes.append(None)

        with_source = len({note.document.source for note in found}) > 1
        is_recent: bool | None = None
        for note, hit in zip(found, hits, strict=True):
            if note.matched is None and is_recent is not (hit.doc_id in self._recent):
                is_recent = hit.doc_id in self._recent
                heading("Recent" if is_recent else "Recently changed")
            rows.append(note_row(note, with_source=with_source))
            notes.append(hit)
        if new is not None:
            if not found:
                heading("No note has such a name")
            verb = new.problem or "New note"
            rows.append(FramedRow((Segment(f"{verb}: ", "muted"), Segment(new.name)), new.folder))
            notes.append(new)
        return rows, notes

    @property
    def _selected(self) -> SearchHit | NewNote | None:
        return self._notes[self.rows.cursor] if 0 <= self.rows.cursor < len(self._notes) else None

    @on(FramedList.CursorMoved)
    def _moved(self, event: FramedList.CursorMoved) -> None:
        event.stop()
        if not self._typing.is_typing:
            self._show_selected()
        count = sum(isinstance(note, SearchHit) for note in self._notes)
        if count >= self._limit and self._limit < MOST and self.rows.cursor > count - _NEAR_END:
            self._limit = min(2 * self._limit, MOST)
            self._request(self.typing_box.value)

    def _show_selected(self) -> None:
        """Show the beginning of the selected note."""
        selected = self._selected
        if selected is None:
            self.preview.clear()
        elif isinstance(selected, NewNote):
            remark = selected.problem or "The editor creates the file when you save."
            texts = [wrapped(sanitize_line(text), self.preview.columns) for text in (selected.path, remark)]
            self.preview.clear("\n\n".join(map("\n".join, texts)))
        else:
            self.preview.show(selected)

    def action_use(self, verb: Verb) -> None:
        self.catch_up()
        self._verb = verb
        self.action_choose()

    def choose(self, place: int) -> None:
        verb, self._verb = self._verb, "open"
        note = self._notes[place]
        if verb == "create":
            note = next((one for one in reversed(self._notes) if isinstance(one, NewNote)), None)
        if isinstance(note, NewNote):
            if not note.problem and verb in ("open", "create"):
                self.dismiss(Choice("create", note))
        elif note is not None:
            hits = [one for one in self._notes if isinstance(one, SearchHit)]
            if verb == "copy" and note.path in ambiguous_paths(hits):
                note = replace(note, path=path_of(note))
            self.dismiss(Choice(verb, note))

    def action_scroll_preview(self, rows: int) -> None:
        self.preview.scroll_relative(y=rows, animate=False)
