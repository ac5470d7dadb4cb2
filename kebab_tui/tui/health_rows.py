"""The health page as rows: the folders, then every file below the heading of its state.

A row is made when it is looked at, so a hundred thousand files cost nothing until they
are on the screen. Pure: knows no widget. Everything that others wrote is cleaned here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.cells import cell_len

from kebab_tui.tui.health_table import WRONG, Entry, Folder, Heading, HealthTable, reason_of
from kebab_tui.tui.segments import GAP, Role, Row, Segment, Signs, one_line, paragraph
from kebab_tui.tui.text import ASCII, clean, cut, cut_path

if TYPE_CHECKING:
    from kebab_tui.indexing.lookup import ListedFile, StateOfFile

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
    signs: Signs
    cursor: int | None = None

    def __len__(self) -> int:
        only_folders = len(self.table) == len(self.table.folders)
        return len(self.table) + only_folders  # then the last row says that there is nothing below them

    def __getitem__(self, y: int, /) -> Row:
        entry = self.table.entry(y)
        if entry is None:
            said = "nothing passes the filter" if self.table.is_filtered else "no files yet"
            return (Segment(cut(said, self.width), "muted"),)
        mark = self.signs.glyphs.cursor if y == self.cursor else " "
        gutter = Segment(mark.ljust(_GUTTER), "heading")
        room = self.width - _GUTTER
        if isinstance(entry, Folder):
            return (gutter, *_folder(entry, room, self.signs))
        if isinstance(entry, Heading):
            return (gutter, *_heading(entry, room, self.signs))
        name = entry.path or "."
        if len(self.table.folders) > 1:
            name = f"{entry.source}: {name}"
        return (gutter, *_file(entry, name, room, self.signs))


def detail_rows(entry: Entry | None, width: int, height: int, signs: Signs) -> Sequence[Row]:
    """All that is known of what the cursor stands on, in `height` rows at the most."""
    if entry is None:
        return ()
    if isinstance(entry, Heading):
        return [(Segment(cut(f"{entry.shown:,} {_MEANINGS[entry.state]}", width), "muted"),)][:height]
    if isinstance(entry, Folder):
        return list(paragraph(one_line(f"{entry.root} {signs.dot} {_state(entry)}"), width, "muted"))[:height]
    path = (Segment(cut_path(clean(entry.location), width, signs.glyphs.ellipsis), "heading"),)
    reason = reason_of(entry)
    if not reason.startswith(entry.state):
        reason = f"{entry.state}: {reason}".removesuffix(": ")
    return [path, *paragraph(one_line(reason), width)][:height]


def summary_row(table: HealthTable, *, looking: bool, said: str, width: int, signs: Signs) -> Row:
    """The line above all: how many files, what is wrong, what is going on."""
    wrong = [f"{table.count(state):,} {state}" for state in WRONG if table.count(state)]
    going_on = [*([said] if said else []), *(["looking …"] if looking else [])]
    facts = [*going_on, f"{table.total:,} files", *wrong]
    role: Role = "warning" if table.count("failed") else "muted"
    text = f"  {signs.dot}  ".join(one_line(fact) for fact in facts)
    title = "health" + " " * GAP
    return (Segment(title, "heading"), Segment(cut(text, width - len(title), signs.glyphs.ellipsis), role))


def _state(folder: Folder) -> str:
    return f"{folder.state}: {folder.reason}" if folder.reason else folder.state


def _folder(folder: Folder, room: int, signs: Signs) -> Row:
    state = cut(one_line(_state(folder)), max(room // 2, 6), signs.glyphs.ellipsis)
    left = room - cell_len(state) - GAP
    name = cut(clean(folder.name), max(left, 0), signs.glyphs.ellipsis)
    left -= cell_len(name) + GAP
    root = cut_path(clean(folder.root), left, signs.glyphs.ellipsis) if left > 0 else ""
    padding = " " * max(room - cell_len(name) - GAP - cell_len(root) - cell_len(state), 0)
    return (
        Segment(name, "heading"),
        Segment(" " * GAP + root + padding, "muted"),
        Segment(state, "muted" if folder.is_well else "warning"),
    )


def _heading(heading: Heading, room: int, signs: Signs) -> Row:
    down, right = signs.glyphs.down, ">" if signs.glyphs == ASCII else "▶"
    count = f"{heading.shown:,}"
    if heading.shown < heading.total:
        count += f" of {heading.total:,}"
    text = f"{down if heading.is_open else right} {heading.state}  {count}"
    return (
        Segment(cut(text, room, signs.glyphs.ellipsis), "heading"),
        Segment(cut(f"  {_MEANINGS[heading.state]}", max(room - cell_len(text), 0)), "muted"),
    )


def _file(file: ListedFile, name: str, room: int, signs: Signs) -> Row:
    """The path, the reason beside it where there is room; a path that is short leaves it more."""
    room -= _GUTTER
    reason = one_line(reason_of(file))
    most = room if not reason or room < 4 * _LEAST_REASON else room - max(2 * room // 5, _LEAST_REASON)
    path = cut_path(clean(name), max(most, 1), signs.glyphs.ellipsis)
    left = room - max(cell_len(path), min(most, room // 3)) - GAP
    row = (Segment(" " * _GUTTER), Segment(path))
    if not reason or left < _LEAST_REASON:
        return row
    padding = " " * (room - left - cell_len(path))
    said = cut(reason, left, signs.glyphs.ellipsis)
    return (*row, Segment(padding), Segment(said, _ROLES.get(file.state, "muted")))
