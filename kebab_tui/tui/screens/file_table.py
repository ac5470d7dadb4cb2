"""Every file of the folders, grouped by its state, folded and filtered: what the health page shows.

Files are added as they come, what is wrong stands first, and a place in the table keeps
its name (`Spot`) while files come in above it. Pure: draws nothing, walks no folder.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, NamedTuple, TypeAlias

from rich.cells import cell_len
from textual import events
from textual.message import Message
from textual.strip import Strip

from kebab_tui.tui.widgets.segments import (
    CURSOR,
    DOT,
    DOWN,
    GAP,
    RIGHT,
    Role,
    Row,
    Rows,
    RowsView,
    Segment,
    clean,
    cut,
    cut_path,
    one_line,
    paragraph,
)

if TYPE_CHECKING:
    from kebab_tui.domain.document import Source
    from kebab_tui.indexing.lookup import ListedFile, StateOfFile
    from kebab_tui.indexing.status import FolderState, LiveState


STATES: tuple[StateOfFile, ...] = ("failed", "skipped", "pending", "ignored", "ok")
WRONG: tuple[StateOfFile, ...] = STATES[:3]
"""What should not stay like that."""


@dataclass(frozen=True, slots=True)
class Heading:
    """Stands above the files of one state; `shown` of its `total` pass the filter."""

    state: StateOfFile
    shown: int
    total: int
    is_open: bool


@dataclass(frozen=True, slots=True)
class Folder:
    """A source, and whether it is followed: in one word, and more about it."""

    name: str
    root: str
    state: str
    reason: str = ""

    @property
    def is_well(self) -> bool:
        return self.state in ("live", "indexed")


class SelectableRow(NamedTuple):
    """A row that may be chosen: a heading (`place` -1) or a file below it, whatever comes above."""

    state: StateOfFile
    place: int = -1


Entry: TypeAlias = "Heading | Folder | ListedFile"


def folders_of(sources: Iterable[Source], live: LiveState | None) -> tuple[Folder, ...]:
    """How each source is followed; where nobody follows it, what the index says of it."""
    followed = {folder.source: folder for folder in live.folders} if live is not None else {}
    return tuple(_folder(source, followed.get(source.source_id)) for source in sources)


def _folder(source: Source, followed: FolderState | None) -> Folder:
    if followed is None:
        return Folder(source.source_id, source.root, source.state)
    reason = followed.reason
    if not reason and followed.directories:
        reason = f"{followed.directories:,} folders"
    return Folder(source.source_id, source.root, followed.kind, reason)


@dataclass(slots=True)
class _Group:
    """The files of one state, what can be found in each, and those that pass the filter."""

    files: list[ListedFile] = field(default_factory=list)
    haystacks: list[str] = field(default_factory=list)
    shown: list[ListedFile] = field(default_factory=list)

    def holding(self, words: Iterable[str]) -> list[ListedFile]:
        places: Iterable[int] = range(len(self.files))  # numbers: a tuple a file would wake the collector
        for word in words:
            places = [place for place in places if word in self.haystacks[place]]
        return [self.files[place] for place in places]


class HealthTable:
    def __init__(self) -> None:
        self.folders: tuple[Folder, ...] = ()
        self._groups: dict[StateOfFile, _Group] = {state: _Group() for state in STATES}
        self._open: frozenset[StateOfFile] = frozenset(state for state in STATES if state != "ok")
        self._words: tuple[str, ...] = ()

    # What it is told

    def add(self, files: Iterable[ListedFile]) -> None:
        for file in files:
            group = self._groups[file.state]
            haystack = f"{file.state} {file.source}: {file.path} {reason_of(file)}".casefold()
            group.files.append(file)
            group.haystacks.append(haystack)
            if all(word in haystack for word in self._words):
                group.shown.append(file)

    def filter(self, text: str) -> None:
        """Show only files whose state, path or reason hold every word, in any case."""
        words = tuple(text.casefold().split())
        if words == self._words:
            return
        self._words = words
        for group in self._groups.values():
            group.shown = group.holding(words)

    def fold(self, state: StateOfFile) -> None:
        """Close what is open, open what is closed. While a filter holds, everything stays open."""
        self._open ^= {state}

    def look_like(self, other: HealthTable) -> None:
        """Take over what the user has folded and typed."""
        self._open = other._open
        self.filter(" ".join(other._words))

    # What it holds

    def count(self, state: StateOfFile) -> int:
        return len(self._groups[state].files)

    @property
    def total(self) -> int:
        return sum(len(group.files) for group in self._groups.values())

    @property
    def is_filtered(self) -> bool:
        return bool(self._words)

    def __len__(self) -> int:
        return len(self.folders) + sum(map(self._height, STATES))

    def entry(self, y: int) -> Entry | None:
        """What stands on row `y`."""
        if 0 <= y < len(self.folders):
            return self.folders[y]
        spot = self.spot(y)
        return None if spot is None else self.at(spot)

    def at(self, spot: SelectableRow) -> Heading | ListedFile:
        group = self._groups[spot.state]
        if spot.place >= 0:
            return group.shown[spot.place]
        return Heading(spot.state, len(group.shown), len(group.files), self._is_open(spot.state))

    def spot(self, y: int) -> SelectableRow | None:
        """The row `y`, as something that stays where it is while files come in; None above the headings."""
        y -= len(self.folders)
        for state in STATES:
            height = self._height(state)
            if 0 <= y < height:
                return SelectableRow(state, y - 1)
            y -= height
        return None

    def row_of(self, spot: SelectableRow) -> int:
        """Where the spot is now; that of the nearest row where it is gone."""
        y = len(self.folders)
        for state in STATES:
            height = self._height(state)
            if state == spot.state:
                return min(y + spot.place + 1, y + max(height - 1, 0), max(len(self) - 1, 0))
            y += height
        raise AssertionError(spot)

    def find(self, file: ListedFile) -> SelectableRow | None:
        """The same file in this table, perhaps in another state."""
        for state in (file.state, *STATES):
            for place, one in enumerate(self._groups[state].shown):
                if (one.path, one.source) == (file.path, file.source):
                    return SelectableRow(state, place)
        return None

    def _height(self, state: StateOfFile) -> int:
        group = self._groups[state]
        if not group.shown:
            return 0
        return 1 + len(group.shown) if self._is_open(state) else 1

    def _is_open(self, state: StateOfFile) -> bool:
        return self.is_filtered or state in self._open


def reason_of(file: ListedFile) -> str:
    return f"{file.reason} {file.rule_at}: {file.rule}" if file.rule_at else file.reason


# The health page as rows: the folders, then every file below the heading of its state.
#
# A row is made when it is looked at, so a hundred thousand files cost nothing until they
# are on the screen. Pure: knows no widget. Everything that others wrote is cleaned here.

_MEANINGS: dict[StateOfFile, str] = {
    "failed": "could not be read",
    "skipped": "too large, or nothing that can be read as text",
    "pending": "wait to be read",
    "ignored": "left out by a rule, or not notes",
    "ok": "can be searched",
}
_ROLES: dict[StateOfFile, Role] = {"failed": "warning", "skipped": "warning", "pending": "number"}
_GUTTER = 2
_LEAST_REASON = 12


@dataclass(frozen=True, slots=True)
class HealthRows:
    """The rows of a table in `width` cells, made one by one; the cursor stands on row `cursor`."""

    table: HealthTable
    width: int
    cursor: int | None = None

    def __len__(self) -> int:
        only_folders = len(self.table) == len(self.table.folders)
        return len(self.table) + only_folders  # then the last row says that there is nothing below them

    def __getitem__(self, y: int, /) -> Row:
        entry = self.table.entry(y)
        if entry is None:
            said = "nothing passes the filter" if self.table.is_filtered else "no files yet"
            return (Segment(cut(said, self.width), "muted"),)
        mark = CURSOR if y == self.cursor else " "
        gutter = Segment(mark.ljust(_GUTTER), "heading")
        room = self.width - _GUTTER
        if isinstance(entry, Folder):
            return (gutter, *_folder_row(entry, room))
        if isinstance(entry, Heading):
            return (gutter, *_heading(entry, room))
        name = entry.path or "."
        if len(self.table.folders) > 1:
            name = f"{entry.source}: {name}"
        return (gutter, *_file(entry, name, room))


def detail_rows(entry: Entry | None, width: int, height: int) -> Sequence[Row]:
    """All that is known of what the cursor stands on, in `height` rows at the most."""
    if entry is None:
        return ()
    if isinstance(entry, Heading):
        return [(Segment(cut(f"{entry.shown:,} {_MEANINGS[entry.state]}", width), "muted"),)][:height]
    if isinstance(entry, Folder):
        return list(paragraph(one_line(f"{entry.root} {DOT} {_state(entry)}"), width, "muted"))[:height]
    path = (Segment(cut_path(clean(entry.location), width), "heading"),)
    reason = reason_of(entry)
    if not reason.startswith(entry.state):
        reason = f"{entry.state}: {reason}".removesuffix(": ")
    return [path, *paragraph(one_line(reason), width)][:height]


def summary_row(table: HealthTable, *, looking: bool, said: str, width: int) -> Row:
    """The line above all: how many files, what is wrong, what is going on."""
    wrong = [f"{table.count(state):,} {state}" for state in WRONG if table.count(state)]
    going_on = [*([said] if said else []), *(["looking …"] if looking else [])]
    facts = [*going_on, f"{table.total:,} files", *wrong]
    role: Role = "warning" if table.count("failed") else "muted"
    text = f"  {DOT}  ".join(one_line(fact) for fact in facts)
    title = "health" + " " * GAP
    return (Segment(title, "heading"), Segment(cut(text, width - len(title)), role))


def _state(folder: Folder) -> str:
    return f"{folder.state}: {folder.reason}" if folder.reason else folder.state


def _folder_row(folder: Folder, room: int) -> Row:
    state = cut(one_line(_state(folder)), max(room // 2, 6))
    left = room - cell_len(state) - GAP
    name = cut(clean(folder.name), max(left, 0))
    left -= cell_len(name) + GAP
    root = cut_path(clean(folder.root), left) if left > 0 else ""
    padding = " " * max(room - cell_len(name) - GAP - cell_len(root) - cell_len(state), 0)
    return (
        Segment(name, "heading"),
        Segment(" " * GAP + root + padding, "muted"),
        Segment(state, "muted" if folder.is_well else "warning"),
    )


def _heading(heading: Heading, room: int) -> Row:
    count = f"{heading.shown:,}"
    if heading.shown < heading.total:
        count += f" of {heading.total:,}"
    text = f"{DOWN if heading.is_open else RIGHT} {heading.state}  {count}"
    return (
        Segment(cut(text, room), "heading"),
        Segment(cut(f"  {_MEANINGS[heading.state]}", max(room - cell_len(text), 0)), "muted"),
    )


def _file(file: ListedFile, name: str, room: int) -> Row:
    """The path, the reason beside it where there is room; a path that is short leaves it more."""
    room -= _GUTTER
    reason = one_line(reason_of(file))
    most = room if not reason or room < 4 * _LEAST_REASON else room - max(2 * room // 5, _LEAST_REASON)
    path = cut_path(clean(name), max(most, 1))
    left = room - max(cell_len(path), min(most, room // 3)) - GAP
    row = (Segment(" " * _GUTTER), Segment(path))
    if not reason or left < _LEAST_REASON:
        return row
    padding = " " * (room - left - cell_len(path))
    said = cut(reason, left)
    return (*row, Segment(padding), Segment(said, _ROLES.get(file.state, "muted")))


# The list of the health page: a table of files, a cursor, and nothing that jumps.
#
# Files come in above the cursor while the user looks: what is chosen stays on its line of
# the screen. Brings no keys along; whoever has them calls the methods here.


class FileList(RowsView, can_focus=True, inherit_bindings=False):
    """The table, and a cursor on one of its rows. The library's own keys would scroll without it."""

    DEFAULT_CSS = """
    FileList {
        height: 1fr; scrollbar-size-vertical: 1;
        & > .file-list--row { background: $primary 12%; }
        &:ansi > .file-list--row { background: $block-cursor-blurred-background; text-style: bold; }
    }
    """
    COMPONENT_CLASSES: ClassVar[set[str]] = {"file-list--row"}

    class RowSelected(Message):
        """The cursor stands on something else."""

    def __init__(self) -> None:
        super().__init__(id="files")
        self.table = HealthTable()
        self._spot: SelectableRow | None = None
        """None: on the first row there is, until the user moves."""

    @property
    def cursor(self) -> int:
        """The row that is chosen."""
        return len(self.table.folders) if self._spot is None else self.table.row_of(self._spot)

    @property
    def selected(self) -> Entry | None:
        return self.table.entry(self.cursor)

    def rows_at(self, width: int) -> Rows:
        return HealthRows(self.table, width, self.cursor)

    def add(self, files: Iterable[ListedFile]) -> None:
        """Take in more files; what the user looks at stays where it is on the screen."""
        before = self.cursor
        self.table.add(files)
        self._settle(before)

    def show(self, table: HealthTable) -> None:
        """Another table in the place of this one; the cursor goes to the same file."""
        before, selected = self.cursor, self.selected
        table.look_like(self.table)
        if self._spot is not None and not isinstance(selected, Heading | Folder | None):
            self._spot = table.find(selected) or self._spot
        self.table = table
        self._settle(before)

    def filter(self, text: str) -> None:
        self.table.filter(text)
        self._spot = None
        self.lay_out()
        self.scroll_home(animate=False)
        self.post_message(self.RowSelected())

    def fold(self) -> None:
        """Close or open the group that the cursor is in; its heading takes the cursor."""
        spot = self.table.spot(self.cursor)
        if spot is not None and not self.table.is_filtered:
            self.table.fold(spot.state)
            self._spot = SelectableRow(spot.state)
            self._settle(self.cursor)

    def move_to(self, row: int) -> None:
        spot = self.table.spot(min(max(row, len(self.table.folders)), len(self.table) - 1))
        if spot is not None:
            self._spot = spot
            self._settle(self.cursor)

    def on_click(self, event: events.Click) -> None:
        self.move_to(event.y + self.scroll_offset.y)

    def render_line(self, y: int) -> Strip:
        strip = super().render_line(y)
        if y + self.scroll_offset.y == self.cursor and self.table.spot(self.cursor) is not None:
            return strip.apply_style(self.get_component_rich_style("file-list--row"))
        return strip

    def _settle(self, before: int) -> None:
        """Draw anew: the cursor on the line of the screen where it was, or else in sight."""
        offset = self.scroll_offset.y
        self.lay_out()
        height = self.scrollable_content_region.height
        if self._spot is not None and height:
            wanted = offset + self.cursor - before
            wanted = min(max(wanted, self.cursor - height + 1), self.cursor)
            if wanted != offset:
                self.scroll_to(y=wanted, animate=False, force=True, immediate=True)
        self.post_message(self.RowSelected())
