"""Asks for a note or a citation, and shows which stage of the search dropped it, or why it is not higher.

The prompt queries nothing: it posts `Typed` and `Asked`, and the application answers with
`offer`, `answer` or `fail`. An unknown path is a valid question. Enter on an answer goes to the passage.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from textual import events, on
from textual.app import ComposeResult
from textual.message import Message
from textual.screen import ModalScreen
from textual.widgets import Input

from kebab_tui.domain.hit import SearchHit
from kebab_tui.domain.names import stem_of
from kebab_tui.tui.actions import Actions, ScreenName, bind, first_key
from kebab_tui.tui.glyphs import own_text
from kebab_tui.tui.screens.framed import GUTTER, FilterLine, Frame, FramedRow, framed_row
from kebab_tui.tui.widgets.footer import footer_text
from kebab_tui.tui.widgets.segments import (
    ARROW,
    CHECK,
    CROSS,
    ELLIPSIS,
    GAP,
    Row,
    RowsView,
    Segment,
    columns,
    cut_path,
    flow,
    one_line,
    paragraph,
)

if TYPE_CHECKING:
    from kebab_tui.domain.errors import Failure
    from kebab_tui.search.headline import HitComparison
    from kebab_tui.search.why_not import WhyNot


MOST_OFFERED = 6
_WIDE = 60
"""From this width on, the passed stages are in one row."""
_LONGEST_PART = 20

_STAGES = (
    ("not indexed", "indexed"),
    ("filtered", "passes the filters"),
    ("no match", "matches the query"),
    ("below score", "scores above the minimum"),
    ("ranked", "in the results"),
)
"""Each stage that may drop a note, and the text for a note that passes it."""


class WhyNotChoice(NamedTuple):
    """Where the user wants to go: to a hit `in_list`, or to a note."""

    hit: SearchHit
    in_list: bool


def verdict_rows(why: WhyNot, width: int, *, goes: str = "") -> Iterator[Row]:
    """The stages that the note passed, the one that dropped it, and a hint; or why it is not higher.

    `goes`: what Enter does now.
    """
    passage = why.passage
    cited = why.path if passage is None else str(passage.hit.citation)
    yield (Segment(cut_path(one_line(cited), width), "heading"),)
    passed = [text for stage, text in _STAGES]
    if why.stage != "listed":
        passed = passed[: [stage for stage, _ in _STAGES].index(why.stage)]
    if passage is None or width < _WIDE:
        for text in passed:
            yield from paragraph(f"{CHECK} {text}", width)
    else:
        yield from flow([(Segment(f"{CHECK} {text}"),) for text in passed], width)
    if why.stage == "listed":
        yield from paragraph(one_line(why.detail), width, "sum", indent=GAP)
    else:
        yield from paragraph(f"{CROSS} {why.stage}: {one_line(why.detail)}", width, "warning")
    if why.advice:
        yield from paragraph(f"{ARROW} {one_line(why.advice)}", width, indent=GAP)
    if passage is None:
        if why.score is not None:
            yield from paragraph(f"score {why.score:.4f}", width, "muted", indent=GAP)
    else:
        yield ()
        yield from paragraph(one_line(passage.headline), width)
    if why.comparison is not None and why.first is not None:
        yield from paragraph(f"Why not higher? {one_line(why.comparison.text)}", width, "sum")
        yield ()
        yield from _side_by_side(why.comparison)
        yield from paragraph(f"first: {one_line(str(why.first.hit.citation))}", width, "muted")
    if goes:
        yield ()
        yield from paragraph(goes, width, "muted")


def _side_by_side(found: HitComparison) -> list[Row]:
    """A row for each part of the two scores; the one that costs most is marked."""
    losses, total = found.losses()
    digits = max([found.digits, *(len(loss.rpartition(".")[2]) for loss in losses)])
    rows = [[Segment(text, "muted") for text in ("", "this", "first", "costs", "")]]
    for part, loss in zip(found.parts, losses, strict=True):
        if part.label == "score":  # of other steps: it is the sum
            continue
        is_most = part.label == found.decides
        numbers = (f"{part.value:.{digits}f}", f"{part.other:.{digits}f}", loss)
        rows.append([
            Segment(one_line(part.label)[:_LONGEST_PART]),
            *(Segment(number, "number" if is_most else "plain") for number in numbers),
            Segment("costs most" if is_most else "", "warning"),
        ])  # fmt: skip
    score, other = (f"{number:.{found.digits}f}" for number in (found.score, found.other_score))
    rows.append([*(Segment(text, "sum") for text in ("score", score, other, total)), Segment("")])
    return columns(rows, right=(1, 2, 3))


def offer_rows(paths: Sequence[str], chosen: int | None, width: int) -> Iterator[Row]:
    """The offered paths, with the cursor on the chosen one."""
    for place, path in enumerate(paths):
        label = Segment(cut_path(one_line(path), width - GUTTER))
        yield framed_row(FramedRow((label,)), width, selected=place == chosen)


class _PromptBody(RowsView, can_focus=False):
    """Below the input: the paths that match it, or the verdict on one."""

    DEFAULT_CSS = """
    _PromptBody { height: 1fr; }
    """

    @dataclass
    class Picked(Message):
        """The user clicked an offered path."""

        path: str

    def __init__(self) -> None:
        super().__init__(id="why-not-answer")
        self.paths: tuple[str, ...] = ()
        self.chosen: int | None = None
        self.verdict: WhyNot | None = None
        self.goes = ""
        self.message = ""

    def rows_at(self, width: int) -> list[Row]:
        if self.verdict is not None:
            return list(verdict_rows(self.verdict, width, goes=self.goes))
        message = paragraph(one_line(self.message), width, "muted")
        return [*message, *offer_rows(self.paths, self.chosen, width)]

    def on_click(self, event: events.Click) -> None:
        """The offered paths are the last rows, one row each."""
        place = event.y + self.scroll_offset.y - (len(self.lines) - len(self.paths))
        if self.verdict is None and 0 <= place < len(self.paths):
            self.post_message(self.Picked(self.paths[place]))


class WhyNotPrompt(ModalScreen[WhyNotChoice]):
    """An input and its verdict; stays open for further notes until Esc, or until Enter goes to one."""

    DEFAULT_CSS = """
    WhyNotPrompt { align: center middle; }
    WhyNotPrompt > Frame { width: 90%; max-width: 100; height: 80%; max-height: 24; }
    """
    screen_name: ClassVar[ScreenName] = "Why not"

    @dataclass
    class Typed(Message):
        """The prompt needs paths that contain `part`; answer with `offer`."""

        part: str

        def can_replace(self, message: Message) -> bool:
            return isinstance(message, WhyNotPrompt.Typed)

    @dataclass
    class Asked(Message):
        """The prompt needs the verdict on `path`; answer with `answer` or `fail`."""

        path: str

    def __init__(self, actions: Actions, query: str) -> None:
        super().__init__()
        self._actions = actions
        self._query = query
        self._answer = _PromptBody()
        self._asked = ""
        self._is_waiting = False
        """The user pressed Enter before the paths arrived."""
        self._offered_for: str | None = None
        self._choice: WhyNotChoice | None = None

    def compose(self) -> ComposeResult:
        yield Frame(
            FilterLine("name or path of a note, or a citation"),
            self._answer,
            title="why isn't it here, or higher?",
            keys=footer_text(self._actions, "Why not"),
        )

    def on_mount(self) -> None:
        for node in (self, self.typing_box):
            bind(node, self._actions, "Why not", "query")
        query = one_line(self._query)
        self._show_message(own_text(f"Pick a note{f' for “{query}”' if query else ''}"))
        self.post_message(self.Typed(""))

    def offer(self, part: str, paths: Sequence[str]) -> None:
        """Show paths that contain `part`, unless the input has changed since."""
        if part == self._typed and self._answer.verdict is None:
            self._answer.paths = tuple(paths[:MOST_OFFERED])
            self._answer.chosen = 0 if paths and self._means_offered else None
            self._offered_for = part
            self._answer.lay_out()
            if self._is_waiting:
                self._is_waiting = False
                self._ask(self._chosen() or self._meant)

    def answer(self, path: str, why: WhyNot, note: SearchHit | None = None) -> None:
        """Show the verdict. `note`: where Enter goes if no passage is in the list."""
        if path != self._asked:
            return
        key, self._answer.goes = first_key(self._actions, "why_not_ask"), ""
        if why.passage is not None:
            self._choice = WhyNotChoice(why.passage.hit, in_list=True)
            self._answer.goes = f"{key}: go to rank {why.rank:,}"
        elif note is not None:
            self._choice = WhyNotChoice(note, in_list=False)
            self._answer.goes = f"{key}: show the note"
        self._answer.verdict = why
        self._answer.lay_out()

    def fail(self, path: str, failure: Failure) -> None:
        if path == self._asked:
            self._show_message(f"{failure.message}: {failure.hint}" if failure.hint else failure.message)

    @property
    def typing_box(self) -> Input:
        return self.query_one(Input)

    @property
    def _typed(self) -> str:
        return self.typing_box.value

    def _show_message(self, text: str) -> None:
        self._answer.message, self._answer.verdict, self._choice = text, None, None
        self._answer.paths, self._answer.chosen = (), None
        self._answer.lay_out()

    @on(Input.Changed)
    def _text_changed(self, event: Input.Changed) -> None:
        event.stop()
        if event.value == self._asked:
            return  # completed from the offered paths
        self._asked, self._is_waiting = "", False
        self._show_message("")
        self.post_message(self.Typed(event.value))

    @on(Input.Submitted)
    def _submitted(self, event: Input.Submitted) -> None:
        event.stop()
        if self._choice is not None and self._typed == self._asked:
            self.dismiss(self._choice)
            return
        self._is_waiting = self._offered_for != self._typed
        if not self._is_waiting:
            self._ask(self._chosen() or self._meant)

    @on(_PromptBody.Picked)
    def _path_picked(self, event: _PromptBody.Picked) -> None:
        event.stop()
        self._ask(event.path)

    def _ask(self, path: str) -> None:
        if not path:
            return
        self._asked = path
        self._fill_in(path)
        self._show_message(f"searching {ELLIPSIS}")
        self.post_message(self.Asked(path))

    async def action_ask(self) -> None:
        await self.typing_box.action_submit()  # comes after the text typed before it

    def action_move(self, step: int) -> None:
        """Move through the offered paths; above the first one, back to the input."""
        here = -1 if self._answer.chosen is None else self._answer.chosen
        place = min(max(here + step, -1), len(self._answer.paths) - 1)
        self._answer.chosen = None if place < 0 else place
        self._answer.lay_out()

    def action_complete(self) -> None:
        paths = self._answer.paths
        if paths and self._offered_for == self._typed:
            self._fill_in(self._chosen() or paths[0])

    def _fill_in(self, path: str) -> None:
        self.typing_box.value = path
        self.typing_box.cursor_position = len(path)

    def action_page(self, step: int) -> None:
        """Scroll a verdict that is longer than the screen."""
        self._answer.scroll_relative(y=step * max(self._answer.size.height - 1, 1), animate=False)

    @property
    def _means_offered(self) -> bool:
        """Whether the text is a part of a name, not a file or a citation, which may be unknown."""
        typed = self._typed.strip()
        return bool(typed) and ":" not in typed and stem_of(typed) == typed.rpartition("/")[2]

    @property
    def _meant(self) -> str:
        """The only offered path, else the text of the input."""
        paths = self._answer.paths
        return paths[0] if len(paths) == 1 else self._typed.strip()

    def _chosen(self) -> str | None:
        chosen = self._answer.chosen
        return None if chosen is None else self._answer.paths[chosen]
