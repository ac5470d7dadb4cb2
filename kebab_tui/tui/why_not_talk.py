"""The talk with the prompt that asks why a note is not among the hits: paths to offer, then an answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual import on

from kebab_tui.domain.query import SearchMode
from kebab_tui.tui.composition import Composition
from kebab_tui.tui.messages import Judged, PathsFound
from kebab_tui.tui.questions import query_of
from kebab_tui.tui.why_not_prompt import WhyNotPrompt

if TYPE_CHECKING:
    from kebab_tui.tui.asking import Asker


class WhyNotTalk(Composition):
    """Whoever shows the prompt asks through `asker`, about what stands in the box."""

    asker: Asker
    mode: SearchMode

    @on(WhyNotPrompt.Typed)
    def _paths_wanted(self, message: WhyNotPrompt.Typed) -> None:
        self.asker.find_paths(message.part)

    @on(PathsFound)
    def _paths_found(self, message: PathsFound) -> None:
        if isinstance(self.screen, WhyNotPrompt):
            self.screen.offer(message.part, message.paths)

    @on(WhyNotPrompt.Asked)
    def _why_not(self, message: WhyNotPrompt.Asked) -> None:
        self.asker.judge(query_of(self.box.value, self.mode), message.path)

    @on(Judged)
    def _judged(self, message: Judged) -> None:
        if not isinstance(self.screen, WhyNotPrompt):
            return
        if message.why is not None:
            self.screen.answer(message.path, message.why)
        else:
            self.screen.fail(message.path, message.error, message.hint)
