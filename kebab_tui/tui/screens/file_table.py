"""The table of the health page: folders with their versions, files grouped by state; its rows and its list.

Files are added as they arrive, problems first; a `SelectableRow` names a place that stays
valid while files arrive above it. Each row is made on access, so that a table of a hundred
thousand files is fast. The list has no key bindings: the page calls its methods.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Literal, NamedTuple, TypeAlias

from rich.cells import cell_len
from textual import events
from textual.message import Message
from textual.strip import Strip

from kebab_tui.domain.document import Source, SourceUse
from kebab_tui.domain.versions import Version
from kebab_tui.tui.screens.framed import highlighted
from kebab_tui.tui.widgets.segments import (
    CURSOR,
    DOT,
    DOWN,
    ELLIPSIS,
    GAP,
    RIGHT,
    Role,
    Row,
    Rows,
    RowsView,
    Segment,
    cut,
    cut_path,
    one_line,
    paragraph,
    sanitize_line,
)

if TYPE_CHECKING:
    from kebab_tui.indexing.lookup import ListedFile, StateOfFile
    from kebab_tui.indexing.status import LiveState
    from kebab_tui.indexing.watcher import WatchKind


STATES: tuple[StateOfFile, ...] = ("failed", "skipped", "pending", "ignored", "ok")
WRONG: tuple[StateOfFile, ...] = STATES[:3]
"""The states that need attention."""

_NAMES: dict[StateOfFile, str] = {
    "failed": "Failed",
    "skipped": "Skipped",
    "pending": "Waiting",
    "ignored": "Not indexed",
    "ok": "Indexed",
}
_MEANINGS: dict[StateOfFile, str] = {
    "failed": "could not be read",
    "skipped": "too large, encrypted or without text",
    "pending": "waiting to be read",
    "ignored": "excluded or unsupported",
    "ok": "searchable",
}
_ROLES: dict[StateOfFile, Role] = {"failed": "warning", "skipped": "warning", "pending": "number"}
_WATCHED, _NOT_WATCHED = "watched", "not watched"
_KINDS: dict[WatchKind, str] = {
    "live": _WATCHED,
    "partial": "partly watched",
    "polling": "polled",
    "paused": "missing",
}
_CONDITIONS = {
    "new": "not indexed yet",
    "indexed": _NOT_WATCHED,
    "paused": "paused",
    "missing": "missing",
}
_LONGEST_NAME, _LONGEST_STATE = 24, 36
_MOST_OPEN = 5
"""More versions than these are folded until the user unfolds them: the files stay in view."""
_LEAST_ROOT = 12
_GUTTER = 2
_SHORT = 12
_LEAST_REASON = 12


@dataclass(frozen=True, slots=True)
class Heading:
    """The heading of the files of one state; `shown` of its `total` pass the filter."""

    state: StateOfFile
    shown: int
    total: int
    is_open: bool


@dataclass(frozen=True, slots=True)
class Folder:
    """A source, how it is watched in a word or two, and the reason."""

    name: str
    root: str
    state: str
    reason: str = ""
    notes: int = 0
    passages: int = 0
    score: float | None = None
    """How established it is, from 0 to 10; None before it is indexed."""
    use: SourceUse = "watched"
    versions: tuple[Version, ...] = ()

    @property
    def is_ok(self) -> bool:
        return self.state in (_WATCHED, _NOT_WATCHED, "paused", "removed")


class SelectableRow(NamedTuple):
    """A folder or version, a heading (`place` -1) or a file below it, independent of the rows above."""

    state: StateOfFile | Literal["folder"]
    place: int = -1


Entry: TypeAlias = "Heading | Folder | Version | ListedFile"


def folders_of(
    sources: Iterable[Source],
    live: LiveState | None,
    removed: Iterable[Source] = (),
    score: Callable[[Source], float] | None = None,
    versions: Sequence[Version] = (),
) -> tuple[Folder, ...]:
    """How each source is watched; without a watcher, its state in the index. Removed sources are last."""
    watched = {folder.source: folder for folder in live.folders} if live is not None else {}
    folders = []
    for source in sources:
        state, reason = _CONDITIONS[source.condition], ""
        if source.use == "watched" and (watch := watched.get(source.source_id)) is not None:
            number = watch.directories
            count = f"{number:,} {'folder' if number == 1 else 'folders'}" if number else ""
            state, reason = _KINDS[watch.kind], watch.reason or count
        rated = score(source) if score is not None and source.state == "indexed" else None
        own = tuple(one for one in versions if one.source == source.source_id)
        facts = source.documents, source.chunks, rated, source.use, own
        folders.append(Folder(source.source_id, source.root, state, reason, *facts))
    gone = (Folder(one.source_id, one.root, "removed", use="removed") for one in removed)
    return (*folders, *gone)


@dataclass(slots=True)
class _Group:
    """The files of one state, the text to filter each by, and those that pass the filter."""

    files: list[ListedFile] = field(default_factory=list)
    haystacks: list[str] = field(default_factory=list)
    shown: list[ListedFile] = field(default_factory=list)


class HealthTable:
    def __init__(self) -> None:
        self._folders: tuple[Folder, ...] = ()
        self._top: tuple[Folder | Version, ...] = ()
        self._toggled: frozenset[str] = frozenset()
        """The folders whose versions the user has folded or unfolded."""
        self._groups: dict[StateOfFile, _Group] = {state: _Group() for state in STATES}
        self._open: frozenset[StateOfFile] = frozenset(state for state in STATES if state != "ok")
        self._words: tuple[str, ...] = ()

    @property
    def folders(self) -> tuple[Folder, ...]:
        return self._folders

    @folders.setter
    def folders(self, folders: tuple[Folder, ...]) -> None:
        self._folders = folders
        top: list[Folder | Version] = []
        for folder in folders:
            top.append(folder)
            if self.shows_versions(folder):
                top.extend(folder.versions)
        self._top = tuple(top)

    @property
    def top_height(self) -> int:
        """The number of rows above the files."""
        return len(self._top)

    def shows_versions(self, folder: Folder) -> bool:
        is_open = len(folder.versions) <= _MOST_OPEN
        return bool(folder.versions) and is_open != (folder.name in self._toggled)

    def folder_of(self, version: Version) -> Folder:
        return next(one for one in self.folders if one.name == version.source)

    def fold_versions(self, folder: Folder) -> None:
        """Fold or unfold the versions of a folder."""
        self._toggled ^= {folder.name}
        self.folders = self.folders

    def add(self, files: Iterable[ListedFile]) -> None:
        for file in files:
            group = self._groups[file.state]
            haystack = f"{file.state} {file.source}: {file.path} {reason_of(file)}".casefold()
            group.files.append(file)
            group.haystacks.append(haystack)
            if all(word in haystack for word in self._words):
                group.shown.append(file)

    def filter(self, text: str) -> None:
        """Show only files whose state, path or reason contain every word, ignoring case."""
        words = tuple(text.casefold().split())
        if words == self._words:
            return
        self._words = words
        for group in self._groups.values():
            places: Iterable[int] = range(len(group.files))  # a tuple per file would trigger the GC
            for word in words:
                places = [place for place in places if word in group.haystacks[place]]
            group.shown = [group.files[place] for place in places]

    def fold(self, state: StateOfFile) -> None:
        """Fold or unfold a group; a filter unfolds all of them."""
        self._open ^= {state}

    def copy_view(self, other: HealthTable) -> None:
        """Copy the folds and the filter of another table."""
        self._open = other._open
        self._toggled = other._toggled
        self.folders = self.folders
        self.filter(" ".join(other._words))

    def count(self, state: StateOfFile) -> int:
        return len(self._groups[state].files)

    @property
    def total(self) -> int:
        return sum(len(group.files) for group in self._groups.values())

    @property
    def is_filtered(self) -> bool:
        return bool(self._words)

    def __len__(self) -> int:
        return len(self._top) + sum(map(self._height, STATES))

    def entry(self, y: int) -> Entry | None:
        spot = self.spot(y)
        return None if spot is None else self.at(spot)

    def at(self, spot: SelectableRow) -> Entry:
        if spot.state == "folder":
            return self._top[spot.place]
        group = self._groups[spot.state]
        if spot.place >= 0:
            return group.shown[spot.place]
        return Heading(spot.state, len(group.shown), len(group.files), self._is_open(spot.state))

    def spot(self, y: int) -> SelectableRow | None:
        """The row `y` as a stable place."""
        if 0 <= y < len(self._top):
            return SelectableRow("folder", y)
        y -= len(self._top)
        for state in STATES:
            height = self._height(state)
            if 0 <= y < height:
                return SelectableRow(state, y - 1)
            y -= height
        return None

    def row_of(self, spot: SelectableRow) -> int:
        """The present row of a place; the nearest row if it does not exist any more."""
        y = len(self._top)
        if spot.state == "folder":
            return max(min(spot.place, y - 1), 0)
        for state in STATES:
            height = self._height(state)
            if state == spot.state:
                return min(y + spot.place + 1, y + max(height - 1, 0), max(len(self) - 1, 0))
            y += height
        raise AssertionError(spot)

    def find(self, file: ListedFile | Folder | Version) -> SelectableRow | None:
        """The place of the same folder, version or file in this table, maybe in another state."""
        if isinstance(file, Folder | Version):
            places = (place for place, one in enumerate(self._top) if _name(one) == _name(file))
            return next((SelectableRow("folder", place) for place in places), None)
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


def _name(entry: Folder | Version) -> str:
    return entry.name if isinstance(entry, Folder) else entry.version_id


def reason_of(file: ListedFile) -> str:
    return f"{file.reason} {file.rule_at}: {file.rule}" if file.rule_at else file.reason


@dataclass(frozen=True, slots=True)
class HealthRows:
    """The rows of a table in `width` cells, each made on access."""

    table: HealthTable
    width: int
    cursor: int | None = None

    def __len__(self) -> int:
        only_folders = len(self.table) == self.table.top_height
        return len(self.table) + only_folders  # the last row reports that there are no files

    def __getitem__(self, y: int, /) -> Row:
        entry = self.table.entry(y)
        if entry is None:
            text = "no files match the filter" if self.table.is_filtered else "no files yet"
            return (Segment(cut(text, self.width), "muted"),)
        mark = CURSOR if y == self.cursor else " "
        gutter = Segment(mark.ljust(_GUTTER), "heading")
        space = self.width - _GUTTER
        if isinstance(entry, Folder):
            return (gutter, *_folder_row(entry, space, self.table))
        if isinstance(entry, Version):
            return (gutter, *_version_row(entry, space, self.table.folder_of(entry).versions))
        if isinstance(entry, Heading):
            return (gutter, *_heading_row(entry, space))
        name = entry.path or "."
        if len(self.table.folders) > 1:
            name = f"{entry.source}: {name}"
        return (gutter, *_file_row(entry, name, space))


def detail_rows(entry: Entry | None, width: int, height: int) -> Sequence[Row]:
    """Details of the selected entry, in at most `height` rows."""
    if entry is None:
        return ()
    if isinstance(entry, Heading):
        return [(Segment(cut(f"{entry.shown:,} {_MEANINGS[entry.state]}", width), "muted"),)][:height]
    if isinstance(entry, Folder):
        facts = [entry.root, _state(entry)]
        if entry.use != "removed":
            facts.append(f"{entry.notes:,} notes, {entry.passages:,} passages")
        return list(paragraph(one_line(f" {DOT} ".join(facts)), width, "muted"))[:height]
    if isinstance(entry, Version):
        return _version_detail(entry, width)[:height]
    path = (Segment(cut_path(sanitize_line(entry.location), width), "heading"),)
    reason = reason_of(entry)
    if not reason.startswith(entry.state):
        reason = f"{entry.state}: {reason}".removesuffix(": ")
    return [path, *paragraph(one_line(reason), width)][:height]


def summary_row(table: HealthTable, is_scanning: bool, message: str, width: int) -> Row:
    """The line above the files: the message, the scan, the problems, else the number of folders."""
    wrong = [f"{table.count(state):,} {state}" for state in WRONG if table.count(state)]
    facts = [message, f"scanning {ELLIPSIS}" if is_scanning else "", *wrong]
    if not any(facts):
        facts = [f"{len(table.folders):,} {'folder' if len(table.folders) == 1 else 'folders'}"]
    role: Role = "warning" if table.count("failed") else "muted"
    text = f"  {DOT}  ".join(one_line(fact) for fact in facts if fact)
    return (Segment(cut(text, width), role),)


def _state(folder: Folder) -> str:
    return f"{folder.state}: {folder.reason}" if folder.reason else folder.state


def _version_detail(version: Version, width: int) -> list[Row]:
    """Its place and what was read of it; then what has become of it, and the command for that."""
    name = f"{version.version_id} of {version.place}"
    if version.prefix:
        name += f", {version.prefix}"
    facts = [f"{version.notes:,} notes, {version.passages:,} passages"]
    if version.commit:
        facts.append(f"{version.ref or 'commit'} at {version.commit[:_SHORT]}")
    facts.append(version.remark)
    if version.health == "moved":
        facts.append(f"`kebab source version refresh {version.source} {version.label}` reads it again")
    text = f" {DOT} ".join(fact for fact in facts if fact)
    first = (Segment(cut(sanitize_line(name), width), "heading"),)
    return [first, *paragraph(one_line(text), width, "muted" if version.health == "ok" else "warning")]


def _version_row(version: Version, width: int, among: Sequence[Version]) -> Row:
    """Label and notes in the columns of the versions of its folder; its state, else its commit or folder."""
    first, notes = (
        max(cell_len(text) for text in texts) for texts in zip(*map(_version_cells, among), strict=True)
    )
    label, count = _version_cells(version)
    start = " " * (2 * _GUTTER) + label + " " * (first - cell_len(label) + GAP)
    start = cut(start, width)
    row = [Segment(start)]
    left = width - cell_len(start)
    if left > notes:
        row.append(Segment(" " * (notes - cell_len(count)) + count, "number"))
        left -= notes
    if left >= GAP + _LEAST_REASON:
        text = version.remark or version.commit[:_SHORT] or version.place
        role: Role = "muted" if version.health == "ok" else "warning"
        row.append(Segment(" " * GAP + cut(one_line(text), left - GAP), role))
    return tuple(row)


def _version_cells(version: Version) -> tuple[str, str]:
    return cut(sanitize_line(version.label), _LONGEST_NAME), _counted(version.notes, "note")


def _counted(number: int, name: str) -> str:
    return f"{number:,} {name if number == 1 else name + 's'}"


def _folder_row(folder: Folder, width: int, table: HealthTable) -> Row:
    """Its cells in the columns of all folders; the path if there is space for it."""
    cells = [(cut(text, width), role) for text, role in _folder_cells(folder, table)]
    columns = zip(*(_folder_cells(one, table) for one in table.folders), strict=True)
    widths = [max(cell_len(text) for text, _ in column) for column in columns]
    row: list[Segment] = []
    left = width
    for place, ((text, role), wanted) in enumerate(zip(cells, widths, strict=True)):
        if not wanted or left <= GAP * bool(row):
            continue
        if row:
            row.append(Segment(" " * GAP))
            left -= GAP
        text = cut(text, left)
        padding = " " * (min(wanted, left) - cell_len(text))
        left -= cell_len(text) + len(padding)
        row.append(Segment(padding + text if place in (1, 3, 4) else text + padding, role))
    if left >= GAP + _LEAST_ROOT:
        row.append(Segment(" " * GAP + cut_path(sanitize_line(folder.root), left - GAP), "muted"))
    return tuple(row)


def _folder_cells(folder: Folder, table: HealthTable) -> list[tuple[str, Role]]:
    """Name, notes, state, score and versions."""
    name = cut(sanitize_line(folder.name), _LONGEST_NAME)
    if folder.versions:
        name = f"{DOWN if table.shows_versions(folder) else RIGHT} {name}"
    elif any(one.versions for one in table.folders):
        name = f"  {name}"
    is_ok = all(version.health == "ok" for version in folder.versions)
    versions = _counted(len(folder.versions), "version") if folder.versions else ""
    return [
        (name, "heading"),
        ("" if folder.use == "removed" else _counted(folder.notes, "note"), "number"),
        (cut(one_line(_state(folder)), _LONGEST_STATE), "muted" if folder.is_ok else "warning"),
        ("" if folder.score is None else f"score {folder.score:.1f}", "muted"),
        (versions, "muted" if is_ok else "warning"),
    ]


def _heading_row(heading: Heading, width: int) -> Row:
    count = f"{heading.shown:,}"
    if heading.shown < heading.total:
        count += f" of {heading.total:,}"
    text = f"{DOWN if heading.is_open else RIGHT} {_NAMES[heading.state]} ({count})"
    return (
        Segment(cut(text, width), "heading"),
        Segment(cut(f": {_MEANINGS[heading.state]}", max(width - cell_len(text), 0)), "muted"),
    )


def _file_row(file: ListedFile, name: str, width: int) -> Row:
    """The path, and beside it the reason if it fits; a short path leaves it more space."""
    width -= _GUTTER
    reason = one_line(reason_of(file))
    most = width if not reason or width < 4 * _LEAST_REASON else width - max(2 * width // 5, _LEAST_REASON)
    path = cut_path(sanitize_line(name), max(most, 1))
    left = width - max(cell_len(path), min(most, width // 3)) - GAP
    row = (Segment(" " * _GUTTER), Segment(path))
    if not reason or left < _LEAST_REASON:
        return row
    padding = " " * (width - left - cell_len(path))
    return (*row, Segment(padding), Segment(cut(reason, left), _ROLES.get(file.state, "muted")))


class FileList(RowsView, can_focus=True, inherit_bindings=False):
    """Shows a table with a cursor; new files above the selected one do not move it on the screen.

    Does not inherit the library's keys: they would scroll without the cursor.
    """

    DEFAULT_CSS = """
    FileList {
        height: 1fr; scrollbar-size-vertical: 1;
        & > .file-list--row { background: $primary 12%; }
        &:ansi > .file-list--row { background: $block-cursor-blurred-background; text-style: bold; }
    }
    """
    COMPONENT_CLASSES: ClassVar[set[str]] = {"file-list--row"}

    class RowSelected(Message):
        """The cursor or the table has changed."""

    def __init__(self) -> None:
        super().__init__(id="files")
        self.table = HealthTable()
        self._spot: SelectableRow | None = None
        """None: the first row, until the user moves the cursor."""

    @property
    def cursor(self) -> int:
        return self.table.top_height if self._spot is None else self.table.row_of(self._spot)

    @property
    def selected(self) -> Entry | None:
        return self.table.entry(self.cursor)

    def rows_at(self, width: int) -> Rows:
        return HealthRows(self.table, width, self.cursor)

    def add(self, files: Iterable[ListedFile]) -> None:
        """Add files; the selected row keeps its line of the screen."""
        before = self.cursor
        self.table.add(files)
        self._redraw(before)

    def show(self, table: HealthTable) -> None:
        """Replace the table; the cursor stays on the same file."""
        before, selected = self.cursor, self.selected
        table.copy_view(self.table)
        if self._spot is not None and not isinstance(selected, Heading | None):
            self._spot = table.find(selected) or self._spot
        self.table = table
        self._redraw(before)

    def show_folders(self, folders: tuple[Folder, ...]) -> None:
        """Replace the folders; the cursor stays on its folder, version or file."""
        before, selected = self.cursor, self.selected
        self.table.folders = folders
        if isinstance(selected, Folder | Version) and self._spot is not None:
            self._spot = self.table.find(selected) or self._spot
        self._redraw(before)

    def filter(self, text: str) -> None:
        self.table.filter(text)
        self._spot = None
        self.lay_out()
        self.scroll_home(animate=False)
        self.post_message(self.RowSelected())

    def fold(self) -> None:
        """Fold or unfold the group of the selected row, or the versions; the cursor goes to its heading."""
        spot, selected = self.table.spot(self.cursor), self.selected
        if isinstance(selected, Folder | Version):
            folder = selected if isinstance(selected, Folder) else self.table.folder_of(selected)
            if folder.versions:
                self.table.fold_versions(folder)
                self._spot = self.table.find(folder)
                self._redraw(self.cursor)
        elif spot is not None and spot.state != "folder" and not self.table.is_filtered:
            self.table.fold(spot.state)
            self._spot = SelectableRow(spot.state)
            self._redraw(self.cursor)

    def move_to(self, row: int) -> None:
        spot = self.table.spot(min(max(row, 0), len(self.table) - 1))
        if spot is not None:
            self._spot = spot
            self._redraw(self.cursor)

    def on_click(self, event: events.Click) -> None:
        self.move_to(event.y + self.scroll_offset.y)

    def render_line(self, y: int) -> Strip:
        strip = super().render_line(y)
        if y + self.scroll_offset.y == self.cursor and self.table.spot(self.cursor) is not None:
            return highlighted(strip, self.get_component_rich_style("file-list--row"))
        return strip

    def _redraw(self, before: int) -> None:
        """Draw again: the cursor stays on its line of the screen, or at least in view."""
        offset = self.scroll_offset.y
        self.lay_out()
        height = self.scrollable_content_region.height
        if self._spot is not None and height:
            wanted = offset + self.cursor - before
            wanted = min(max(wanted, self.cursor - height + 1), self.cursor)
            if wanted != offset:
                self.scroll_to(y=wanted, animate=False, force=True, immediate=True)
        self.post_message(self.RowSelected())
