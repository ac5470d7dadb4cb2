"""A list of hits that records each of its changes."""

from __future__ import annotations

from dataclasses import dataclass

from kebab_tui.domain.hit import SearchResponse
from kebab_tui.domain.ids import ChunkId
from kebab_tui.tui.hit_diff import HitDiff
from kebab_tui.tui.widgets.hits_list import HitsList


@dataclass(frozen=True)
class Change:
    """The list after a change: its size, the hit under the cursor, and what caused it."""

    rows: int
    cursor: int
    selected: ChunkId | None
    cause: str


class RecordedHits(HitsList):
    """`cause` names what happened last; the test sets it."""

    def __init__(self) -> None:
        super().__init__()
        self.cause = "start"
        self.changes: list[Change] = []

    def show(self, response: SearchResponse, keep: ChunkId | None = None, *, again: bool = False) -> HitDiff:
        news = super().show(response, keep, again=again)
        self._record()
        return news

    def append(self, response: SearchResponse) -> None:
        super().append(response)
        self._record()

    def move_to(self, index: int) -> None:
        super().move_to(index)
        self._record()

    def _record(self) -> None:
        selected = self.selected
        self.changes.append(
            Change(len(self._hits), self.cursor, selected.chunk_id if selected else None, self.cause)
        )

    def since(self, cause: str) -> list[Change]:
        """The changes with this cause, behind the state before them."""
        first = next((place for place, one in enumerate(self.changes) if one.cause == cause), None)
        if first is None:
            return []
        return self.changes[max(0, first - 1) :]
