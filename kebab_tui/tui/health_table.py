"""Every file of the folders, grouped by its state, folded and filtered: what the health page shows.

Files are added as they come, what is wrong stands first, and a place in the table keeps
its name (`Spot`) while files come in above it. Pure: draws nothing, walks no folder.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

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


class Spot(NamedTuple):
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

    def at(self, spot: Spot) -> Heading | ListedFile:
        group = self._groups[spot.state]
        if spot.place >= 0:
            return group.shown[spot.place]
        return Heading(spot.state, len(group.shown), len(group.files), self._is_open(spot.state))

    def spot(self, y: int) -> Spot | None:
        """The row `y`, as something that stays where it is while files come in; None above the headings."""
        y -= len(self.folders)
        for state in STATES:
            height = self._height(state)
            if 0 <= y < height:
                return Spot(state, y - 1)
            y -= height
        return None

    def row_of(self, spot: Spot) -> int:
        """Where the spot is now; that of the nearest row where it is gone."""
        y = len(self.folders)
        for state in STATES:
            height = self._height(state)
            if state == spot.state:
                return min(y + spot.place + 1, y + max(height - 1, 0), max(len(self) - 1, 0))
            y += height
        raise AssertionError(spot)

    def find(self, file: ListedFile) -> Spot | None:
        """The same file in this table, perhaps in another state."""
        for state in (file.state, *STATES):
            for place, one in enumerate(self._groups[state].shown):
                if (one.path, one.source) == (file.path, file.source):
                    return Spot(state, place)
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
