"""The explain panel: why the selected hit has its rank, and what other settings would change.

Makes the rows of `explain_rows` again when the hit, the response, the width or a what-if
changes, and keeps its scroll position while the cursor moves from hit to hit. Queries no
index: a what-if only orders the present candidates again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from textual.message import Message

from kebab_tui.domain.ids import ChunkRow
from kebab_tui.tui.explain.breakdown import explain_rows
from kebab_tui.tui.explain.what_if import Keys, WhatIf, WhatIfResult, outcome, strip_rows
from kebab_tui.tui.widgets.segments import Row, RowsView, paragraph

if TYPE_CHECKING:
    from kebab_tui.search.explanation import ExplainedHit, ExplainedResponse


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
        self._answer: ExplainedResponse | None = None
        self._explained: ExplainedHit | None = None
        self._reason = ""
        self._what_if: WhatIf | None = None
        self._outcome: WhatIfResult | None = None

    def show(self, explained: ExplainedHit | None, response: ExplainedResponse) -> None:
        """Explain a hit, or without one the response as a whole.

        A what-if stays for other hits, and for a response to the same query with the same settings.
        """
        self._reason = "" if explained is not None else "No hit is selected."
        self._explained = explained
        if response is not self._answer:
            self._take(response)
        self.lay_out()

    def clear(self, reason: str) -> None:
        """Show why there is nothing to explain."""
        self._reason, self._explained, self._answer = reason, None, None
        self._what_if = self._outcome = None
        self.lay_out()

    def _take(self, response: ExplainedResponse) -> None:
        before, self._answer = self._answer, response
        asked_anew = before is None or (before.response.query, before.fusion) != (
            response.response.query,
            response.fusion,
        )
        turned = None if asked_anew else self._what_if
        self._what_if = None if response.fusion is None else turned or WhatIf.of(response.fusion)
        self._outcome = self._rescored()
        if turned is not None:
            self._post_changed()

    @property
    def has_what_if(self) -> bool:
        """Whether the response was fused, so that a what-if is possible."""
        return self._what_if is not None

    def step_rrf_k(self, up: bool) -> None:
        if self._what_if is not None:
            self._turn(self._what_if.step_rrf_k(up))

    def step_vector_weight(self, up: bool) -> None:
        if self._what_if is not None:
            self._turn(self._what_if.step_vector_weight(up))

    def toggle_rerank(self) -> None:
        if self._what_if is not None:
            self._turn(self._what_if.toggle_rerank())

    def reset_what_if(self) -> None:
        if self._answer is not None and self._answer.fusion is not None:
            self._turn(WhatIf.of(self._answer.fusion))

    def _turn(self, what_if: WhatIf) -> None:
        if what_if == self._what_if:
            return
        self._what_if = what_if
        self._outcome = self._rescored()
        self._post_changed()
        self.lay_out()
        self.scroll_home(animate=False)  # the settings are on top

    def _rescored(self) -> WhatIfResult | None:
        if self._what_if is None or self._answer is None:
            return None
        from kebab_tui.workspace import Workspace  # not loaded before the first paint

        return outcome(self._what_if, self._answer, Workspace.rescore)

    def _post_changed(self) -> None:
        if self._outcome is not None:
            self.post_message(self.Changed(self._outcome.changes))

    def rows_at(self, width: int) -> list[Row]:
        reason = list(paragraph(self._reason, width, "muted"))
        answer, now, explained = self._answer, self._outcome, self._explained
        if answer is None:
            return reason
        if now is None:
            return [*reason, *explain_rows(explained, answer, width, {})]
        if explained is not None and now.answer is not answer:
            fused = {one.evidence.row: one for one in now.answer.candidates}
            explained = replace(explained, fused=fused.get(explained.hit.row))
        strip = strip_rows(answer, now, width, self._keys)
        return [*strip, (), *reason, *explain_rows(explained, now.answer, width, now.changes)]
