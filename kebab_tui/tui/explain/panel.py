"""The panel that says why the selected hit stands where it does, and what other settings would do.

Draws the rows of `explain_rows` line by line, makes them anew when the hit, the answer,
the width or a what-if changes, and stays where it was scrolled to while the cursor goes
from hit to hit. Asks no index: a what-if orders again what was found.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from textual.message import Message

from kebab_tui.tui.explain.breakdown import explain_rows
from kebab_tui.tui.explain.what_if import Keys, WhatIf, WhatIfResult, outcome, strip_rows
from kebab_tui.tui.widgets.segments import Row, RowsView, paragraph

if TYPE_CHECKING:
    from kebab_tui.domain.ids import ChunkRow
    from kebab_tui.search.explanation import ExplainedHit, ExplainedResponse


class ExplainPanel(RowsView, can_focus=True):
    """Give it a hit with its answer; it posts the order that a what-if makes."""

    class Changed(Message):
        """A what-if was turned: the candidates in its order, and how many places each moves up."""

        def __init__(self, order: tuple[ChunkRow, ...], changes: Mapping[ChunkRow, int]) -> None:
            super().__init__()
            self.order = order
            self.changes = changes

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

    # What it shows

    def show(self, explained: ExplainedHit | None, response: ExplainedResponse) -> None:
        """Explain a hit; without one, what the answer says of itself. A what-if outlives the
        hit, and an answer made in the same way to the same query."""
        self._reason = "" if explained is not None else "No hit is selected."
        self._explained = explained
        if response is not self._answer:
            self._take(response)
        self.lay_out()

    def clear(self, reason: str) -> None:
        """Nothing to explain, and why."""
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
        self._outcome = self._refused()
        if turned is not None:
            self._announce()

    # What if

    @property
    def can_turn(self) -> bool:
        """Whether there is a fusion to turn: an answer by words or by meaning alone has none."""
        return self._what_if is not None

    def turn_rrf_k(self, up: bool) -> None:
        if self._what_if is not None:
            self._turn(self._what_if.turn_rrf_k(up))

    def turn_vector_weight(self, up: bool) -> None:
        if self._what_if is not None:
            self._turn(self._what_if.turn_vector_weight(up))

    def turn_second_look(self) -> None:
        if self._what_if is not None:
            self._turn(self._what_if.turn_second_look())

    def reset_what_if(self) -> None:
        if self._answer is not None and self._answer.fusion is not None:
            self._turn(WhatIf.of(self._answer.fusion))

    def _turn(self, what_if: WhatIf) -> None:
        if what_if == self._what_if:
            return
        self._what_if = what_if
        self._outcome = self._refused()
        self._announce()
        self.lay_out()
        self.scroll_home(animate=False)  # the strip with the values stands on top

    def _refused(self) -> WhatIfResult | None:
        if self._what_if is None or self._answer is None:
            return None
        from kebab_tui.workspace import Workspace  # the first paint does without it

        return outcome(self._what_if, self._answer, Workspace.refuse)

    def _announce(self) -> None:
        if self._outcome is not None:
            self.post_message(self.Changed(self._outcome.order, self._outcome.changes))

    # Drawing

    def rows_at(self, width: int) -> list[Row]:
        reason = list(paragraph(self._reason, width, "muted"))
        if self._answer is None:
            return reason
        return [*self._strip_above(width), *reason, *self._explaining(self._answer, width)]

    def _strip_above(self, width: int) -> list[Row]:
        if self._answer is None or self._outcome is None:
            return []
        strip = list(strip_rows(self._answer, self._outcome, width, self._keys))
        return [*strip, ()]

    def _explaining(self, answer: ExplainedResponse, width: int) -> list[Row]:
        """The hit under the settings of the what-if, where it was fused at all."""
        explained, now = self._explained, self._outcome
        if now is None:
            return explain_rows(explained, answer, width, {})
        if explained is not None and now.answer is not answer:
            fused = {one.evidence.row: one for one in now.answer.candidates}
            explained = replace(explained, fused=fused.get(explained.hit.row))
        return explain_rows(explained, now.answer, width, now.changes)
