"""The links page: what a note is related to, each a row that previews, opens and is cited like a hit.

Links, links to the note, similar notes, broken links and addresses; typing filters the rows. The
engine thread reads them in parts; after a commit the old rows stay until the new ones are there.
Following a row makes its note the one of the page. The page opens, copies and creates nothing: it
ends with a `LinkChoice`. An address is copied, never opened.
"""

from __future__ import annotations

import os
import posixpath
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import TYPE_CHECKING, ClassVar, Literal, NamedTuple, overload

from textual import on
from textual.content import Content

from kebab_tui.domain.citation import Located
from kebab_tui.domain.hit import SearchHit
from kebab_tui.domain.links import PROBLEMS, LinkedNote, NoteLink, SimilarNote
from kebab_tui.tui.actions import Actions, ScreenName
from kebab_tui.tui.history import TypingDebounce
from kebab_tui.tui.messages import LinkSection, LinksFound, LinksPart
from kebab_tui.tui.new_note import NewNote, new_note
from kebab_tui.tui.note_hits import note_hit
from kebab_tui.tui.preview.pane import Preview
from kebab_tui.tui.screens.framed import FramedList, FramedRow, FramedScreen
from kebab_tui.tui.widgets.segments import DOT, STEP, Row, Segment, one_line, sanitize_line, wrapped

if TYPE_CHECKING:
    from kebab_tui.tui.engine_thread import EngineThread

TITLES: dict[LinkSection, str] = {
    "out": "Links",
    "in": "Linked from",
    "similar": "Similar",
    "broken": "Broken",
    "external": "Addresses",
}
_LONGEST = 300
"""Characters of a text in a row."""
_PLACE = 6
"""Cells for the line of a link, or a cosine."""

Verb = Literal["open", "copy", "create"]


class LinkChoice(NamedTuple):
    """What to do with a row: `what` is a hit, a new note, or an address or a path to copy."""

    verb: Verb
    what: SearchHit | NewNote | str


class Related(NamedTuple):
    """One row. `other`: the note at the other end, or another one that the link could mean."""

    section: LinkSection
    found: NoteLink | SimilarNote
    other: LinkedNote | None
    is_alternative: bool
    key: str
    """The text that typing filters."""


def related(part: LinksPart) -> Iterator[Related]:
    """The rows of a part; a link that could mean several notes has a row for each."""
    for found in part.found:
        if isinstance(found, SimilarNote):
            note = found.document
            place = note.doc_id, note.source, found.root, note.path, note.raw_path, note.title
            yield _row(part.section, found, LinkedNote(*place), note.name)
        elif part.section == "in":
            yield _row("in", found, found.note, found.link.text)
        elif part.section == "out" and found.problem is not None:
            continue
        else:
            texts = str(found.link), found.link.text, found.file
            yield _row(part.section, found, found.place, *texts)
            for other in found.candidates[1:] if part.section == "out" else ():
                yield _row("out", found, other, is_alternative=True)


def _row(
    section: LinkSection,
    found: NoteLink | SimilarNote,
    other: LinkedNote | None,
    *texts: str,
    is_alternative: bool = False,
) -> Related:
    named = () if other is None else (other.title, other.path)
    return Related(section, found, other, is_alternative, _folded(" ".join((*named, *texts))))


def _folded(text: str) -> str:
    return unicodedata.normalize("NFC", text).casefold()


def hit_of(item: Related) -> SearchHit | None:
    """What a row previews, opens and cites; None for an address and for a file that is no note."""
    found, other = item.found, item.other
    if isinstance(found, SimilarNote):
        assert other is not None
        return note_hit(other, found.citation, found.text, document=found.document)
    if item.section in ("in", "broken"):
        return note_hit(found.note, found.citation)
    if other is None or item.section == "external":
        return None
    cites = found.span is not None and not item.is_alternative
    document = None if item.is_alternative else found.target
    return note_hit(other, found.target_citation if cites else None, document=document)


def framed(item: Related, *, with_source: bool) -> FramedRow:
    """The line of the link or the cosine, the title, the text of the link; on the right the folder."""
    found, other = item.found, item.other
    title = "" if other is None else other.title
    folder = "" if other is None else other.path.rpartition("/")[0]
    if with_source and other is not None:
        folder = f"{other.source}/{folder}".rstrip("/")
    if isinstance(found, SimilarNote):
        near = found.citation.section or found.text[:_LONGEST]
        return FramedRow(_label(f"{found.cosine:.2f}", title), folder, more=one_line(near))
    link = found.link
    written, text = str(link)[:_LONGEST], one_line(link.text[:_LONGEST])
    if item.is_alternative:
        return FramedRow(_label("or", title), folder)
    if item.section == "external":
        title, folder = written, ""
    elif item.section == "broken":
        assert found.problem is not None
        title, folder = written or text, PROBLEMS[found.problem]
    elif other is None:
        folder, _, title = found.file.rpartition("/")
    elif item.section == "out" and link.anchor:
        title = f"{title} {STEP} {link.anchor}"
    return FramedRow(_label(f"L{link.line}", title), folder, more="" if text == title else text)


def _label(place: str, title: str) -> Row:
    return Segment(f"{place:<{_PLACE}}", "muted"), Segment(title)


def new_note_of(found: NoteLink) -> NewNote | None:
    """The note that a broken link names; one with a Markdown path is relative to its note's folder."""
    path, folder = found.link.path, os.fsdecode(os.path.dirname(found.note.raw_path))
    if found.link.form not in ("wiki", "embed") and not path.startswith("/"):
        path = posixpath.normpath(posixpath.join(folder, path))
        path = path if "/" in path else f"/{path}"
        if path.startswith("../"):
            return None
    return new_note(path, found.note.root, folder)


class _Rows(Sequence[FramedRow]):
    """The rows of items, each made on access."""

    def __init__(self, items: Sequence[Related | str], make: Callable[[Related], FramedRow]) -> None:
        self._items = items
        self._make = make

    def __len__(self) -> int:
        return len(self._items)

    @overload
    def __getitem__(self, place: int, /) -> FramedRow: ...

    @overload
    def __getitem__(self, place: slice, /) -> Sequence[FramedRow]: ...

    def __getitem__(self, place: int | slice, /) -> FramedRow | Sequence[FramedRow]:
        if isinstance(place, slice):
            return _Rows(self._items[place], self._make)
        item = self._items[place]
        if isinstance(item, str):
            return FramedRow((Segment(item),), is_heading=True)
        return self._make(item)


class LinksPage(FramedScreen[LinkChoice | None]):
    """A filter over the links of a note, with a preview of the selected one."""

    screen_name: ClassVar[ScreenName] = "Links"

    def __init__(
        self,
        actions: Actions,
        engine: EngineThread,
        note: SearchHit,
        *,
        visit: Callable[[SearchHit, SearchHit], None],
        step: Callable[[int, SearchHit], SearchHit | None],
        creates: bool,
    ) -> None:
        """`visit` hears of a note that is gone to; `step` tells the note before or after.

        `creates`: offer the notes that broken links name.
        """
        self.preview = Preview()
        self.preview.can_focus = False
        super().__init__(actions, "links", placeholder="filter", preview=self.preview)
        self._engine = engine
        self.note = note
        """The hit or the note whose links are shown."""
        self._visit = visit
        self._step = step
        self._creates = creates
        self._create_key = next((key for one in actions if one.id == "links_create" for key in one.query), "")
        self._typing = TypingDebounce(self._show_selected)
        self._number = 0
        self._found: dict[LinkSection, list[Related]] = {}
        self._totals: dict[LinkSection, int] = {}
        self._remarks: dict[LinkSection, str] = {}
        self._items: Sequence[Related | str] = ()
        """What each row stands for; a text for a heading."""
        self._failure = ""
        self._verb: Verb = "open"

    def on_mount(self) -> None:
        self._typing.start_clock(self)
        self._begin(self.note)

    def on_unmount(self) -> None:
        self._engine.stop_steps()

    def _begin(self, note: SearchHit) -> None:
        """Show the links of another note."""
        self.note = note
        self._found, self._totals, self._remarks, self._items, self._failure = {}, {}, {}, (), ""
        self._asked_for = self.typing_box.value = ""
        self._has_rows = False
        folder = sanitize_line(note.path.rpartition("/")[0])
        title = f"links of {one_line(note.title or note.name)}" + (f" {DOT} {folder}" if folder else "")
        self.frame.border_title = Content(title)
        self.reload()

    def reload(self) -> None:
        """Read the links again; the present rows stay until then."""
        self._number += 1
        self._engine.find_links(self._number, self.note)

    def links_found(self, message: LinksFound) -> None:
        """Show parts of the answer, unless others were requested since."""
        if message.number != self._number:
            return
        for part in message.parts:
            if part.failure is not None and part.section == "out":
                self._found, self._totals, self._remarks = {}, {}, {}
                self._failure = f" {DOT} ".join(filter(None, (part.failure.message, part.failure.hint)))
                continue
            rows = related(part)
            if part.first:
                self._found[part.section] = [*self._found.get(part.section, ()), *rows]
            else:
                self._found[part.section] = list(rows)
                self._failure = ""
            self._totals[part.section] = part.total
            remark = "" if part.failure is None else part.failure.message
            self._remarks[part.section] = remark.replace(f" of {self.note.path}", "")
        self._list(stays=self._has_rows)

    def find(self, text: str) -> None:
        self._verb = "open"
        if text:
            self._typing.key_pressed()
        if self._found or self._failure:
            self._list()

    def _list(self, *, stays: bool = False) -> None:
        """Show the rows with all typed words; the cursor `stays` on its row."""
        text, before = self.typing_box.value, self._selected
        words = _folded(text).split()
        items: list[Related | str] = []
        for section, title in TITLES.items():
            rows = self._found.get(section, [])
            if words:
                rows = [row for row in rows if all(word in row.key for word in words)]
            remark = self._remarks.get(section, "")
            if rows or (remark and not words):
                items.append(f"{title} {DOT} {remark or self._count(section, rows, is_filtered=bool(words))}")
                items += rows
        self._items = items
        cursor = 0
        if stays and before is not None:
            same = (at for at, one in enumerate(items) if isinstance(one, Related) and _is_same(one, before))
            cursor = next(same, min(self.rows.cursor, len(items) - 1))
        sources = {row.other.source for row in chain(*self._found.values()) if row.other is not None}
        shown = _Rows(items, lambda item: framed(item, with_source=len(sources) > 1))
        empty = self._failure or ("no link has these words" if words else "no links, and none to this note")
        self.show(text, shown, cursor, empty=empty, stays=stays)

    def _count(self, section: LinkSection, rows: Sequence[Related], *, is_filtered: bool) -> str:
        shown = sum(not row.is_alternative for row in rows)
        total = self._totals.get(section, 0)
        if section == "out":
            total -= self._totals.get("broken", 0)
        return f"{shown:,} of {total:,}" if is_filtered else f"{max(total, shown):,}"

    @property
    def _selected(self) -> Related | None:
        item = self._items[self.rows.cursor] if 0 <= self.rows.cursor < len(self._items) else None
        return item if isinstance(item, Related) else None

    @on(FramedList.CursorMoved)
    def _moved(self, event: FramedList.CursorMoved) -> None:
        event.stop()
        if not self._typing.is_typing:
            self._show_selected()

    def _show_selected(self) -> None:
        """Show the lines of the selected row, or what it is."""
        item = self._selected
        if item is None:
            self.preview.clear()
            return
        hit = hit_of(item)
        if hit is not None:
            self.preview.show(hit)
            self._engine.locate(hit)
            return
        assert isinstance(item.found, NoteLink)
        what = (item.found.file, "A file that is no note. Enter copies its path.")
        if item.section == "external":
            what = (str(item.found.link), "An address. Enter copies it; nothing is opened.")
        texts = [wrapped(sanitize_line(text), self.preview.columns) for text in what]
        self.preview.clear("\n\n".join(map("\n".join, texts)))

    def located(self, hit: SearchHit, located: Located) -> None:
        """Mark the present lines of the selected row."""
        item = self._selected
        if item is not None and hit_of(item) == hit:
            self.preview.show(hit, located)

    def action_section(self, by: int) -> None:
        """Go to the first row of the next or previous part."""
        self.catch_up()
        heads = [at for at, one in enumerate(self._items) if isinstance(one, str)]
        if heads:
            own = sum(at <= self.rows.cursor for at in heads) - 1
            self.rows.move_to(heads[(own + by) % len(heads)] + 1)

    def action_follow(self) -> None:
        """Show the links of the selected note."""
        item = self._selected
        hit = None if item is None else hit_of(item)
        if item is not None and item.section == "broken":
            found = item.found
            hit = None if not isinstance(found, NoteLink) or found.place is None else note_hit(found.place)
        if hit is not None:
            self._visit(self.note, hit)
            self._begin(hit)

    def action_step(self, by: int) -> None:
        note = self._step(by, self.note)
        if note is not None:
            self._begin(note)

    def action_use(self, verb: Verb) -> None:
        self.catch_up()
        self._verb = verb
        self.action_choose()

    def choose(self, place: int) -> None:
        verb, self._verb = self._verb, "open"
        item = self._items[place]
        if isinstance(item, str):
            return
        if verb == "create":
            if self._creates and item.section == "broken" and isinstance(item.found, NoteLink):
                new = new_note_of(item.found) if item.found.problem == "no_note" else None
                if new is not None and not new.problem:
                    self.dismiss(LinkChoice("create", new))
                else:
                    reason = new.problem if new else "the link does not name a note"
                    self.preview.clear(f"No new note: {sanitize_line(reason)}")
            return
        hit = hit_of(item)
        if hit is not None:
            self.dismiss(LinkChoice(verb, hit))
        elif isinstance(item.found, NoteLink):
            found = item.found
            path = os.path.join(found.note.root, found.file) if found.file else str(found.link)
            self.dismiss(LinkChoice("copy", path))

    def action_scroll_preview(self, rows: int) -> None:
        self.preview.scroll_relative(y=rows, animate=False)


def _is_same(a: Related, b: Related) -> bool:
    """Whether two rows are of one link or similar note, before and after a commit."""
    if a.section != b.section or a.other != b.other or a.is_alternative != b.is_alternative:
        return False
    if isinstance(a.found, SimilarNote) or isinstance(b.found, SimilarNote):
        return True
    return a.found.link == b.found.link and a.found.note.doc_id == b.found.note.doc_id
