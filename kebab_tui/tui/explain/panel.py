"""The explain panel: why the selected hit has its rank, and what other settings would change.

Makes its rows again when the hit, the response, the width or a what-if changes, and keeps its
scroll position while the cursor moves from hit to hit. Queries no index: a what-if only orders
the present candidates again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from textual.content import Content
from textual.message import Message

from kebab_tui.domain.ids import ChunkRow
from kebab_tui.tui.explain.breakdown import explain_rows
from kebab_tui.tui.explain.what_if import (
    RRF_K_STEPS,
    Keys,
    next_step,
    places_moved,
    strip_rows,
    with_more_meaning,
)
from kebab_tui.tui.widgets.segments import Row, RowsView, paragraph

if TYPE_CHECKING:
    from kebab_tui.search.explanation import ExplainedHit, ExplainedResponse
    from kebab_tui.search.ranking import FusionSettings


class ExplainPanel(RowsView, can_focus=True):
    """Shows a hit of a response; posts how a what-if moves the hits."""

    @dataclass
    class Changed(Message):
        """A what-if setting changed; `changes` tells how many places each candidate moves up."""

        changes: Mapping[ChunkRow, int]

    def __init__(
        self,
        *,
        keys: Keys | None = None,
        id: str | None = None,  # noqa: A002 - Textual's own name for it
    ) -> None:
        super().__init__(id=id)
        self._keys = keys or Keys()
        self._base: ExplainedResponse | None = None
        """The response as searched; `_now` is the same under the what-if."""
        self._now: ExplainedResponse | None = None
        self._changes: Mapping[ChunkRow, int] = {}
        self._row: ChunkRow | None = None
        self._reason = ""
        self.on_blur()

    def on_focus(self) -> None:
        keys = self._keys
        shown = (keys.meaning, keys.rrf_k, keys.rerank, keys.reset, "what if")
        self.border_subtitle = Content(" ".join(shown))

    def on_blur(self) -> None:
        keys = self._keys
        self.border_subtitle = Content(f"{keys.pane} to here for {keys.meaning} {keys.rrf_k} {keys.rerank}")

    def show(self, explained: ExplainedHit | None, response: ExplainedResponse) -> None:
        """Explain a hit, or without one the response as a whole.

        A what-if stays for other hits, and for a response to the same query with the same settings.
        """
        self._reason = "" if explained is not None else "No hit is selected."
        self._row = None if explained is None else explained.hit.row
        base, settings = self._base, self._settings
        if response is not base:
            self._base, self._now, self._changes = response, response, {}
            if (
                base is not None
                and settings is not None
                and settings != base.fusion == response.fusion
                and base.response.query == response.response.query
            ):
                self._rescore(response, settings)
        self.lay_out()

    def clear(self, reason: str) -> None:
        """Show why there is nothing to explain."""
        self._reason, self._base, self._now, self._changes = reason, None, None, {}
        self.lay_out()

    @property
    def explained(self) -> ExplainedHit | None:
        """The hit that is explained, under the what-if."""
        hits = () if self._now is None else self._now.hits
        return next((one for one in hits if one.hit.row == self._row), None)

    @property
    def _settings(self) -> FusionSettings | None:
        return None if self._now is None else self._now.fusion

    @property
    def has_what_if(self) -> bool:
        """Whether the response was fused, so that a what-if is possible."""
        return self._settings is not None

    def step_rrf_k(self, up: bool) -> None:
        if (settings := self._settings) is not None:
            self._turn(replace(settings, rrf_k=int(next_step(RRF_K_STEPS, settings.rrf_k, up))))

    def step_meaning(self, up: bool) -> None:
        """Turn the share of meaning in the score that orders the list."""
        if (settings := self._settings) is not None:
            self._turn(with_more_meaning(settings, up))

    def toggle_rerank(self) -> None:
        if (settings := self._settings) is not None:
            self._turn(replace(settings, rerank=not settings.rerank))

    def reset_what_if(self) -> None:
        if self._base is not None and self._base.fusion is not None:
            self._turn(self._base.fusion)

    def _turn(self, settings: FusionSettings) -> None:
        if self._base is not None and settings != self._settings:
            self._rescore(self._base, settings)
            self.lay_out()
            self.scroll_home(animate=False)  # the effect is on top

    def _rescore(self, base: ExplainedResponse, settings: FusionSettings) -> None:
        from kebab_tui.workspace import Workspace  # not loaded before the first paint

        self._now = base if settings == base.fusion else Workspace.rescore(base, settings)
        self._changes = places_moved(base, self._now)
        self.post_message(self.Changed(self._changes))

    def rows_at(self, width: int) -> list[Row]:
        rows = list(paragraph(self._reason, width, "muted"))
        if self._base is None or self._now is None:
            return rows
        strip = list(strip_rows(self._base, self._now, self._changes, width, self._keys))
        explained = explain_rows(self.explained, self._now, width, self._changes, strip)
        return [*rows, (), *explained] if rows else explained
