"""The line of filter chips: what is in force, each with a way to take it out.

`chip_row` is the pure layout. The widget posts `Removed`, and never edits the query.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from rich.cells import cell_len
from textual import events
from textual.content import Content
from textual.message import Message
from textual.widget import Widget

from kebab_tui.tui.text import clean, cut

if TYPE_CHECKING:
    from kebab_tui.search.query_language import Chip

_CROSS = "×"
_GAP = 1
_LONGEST = 32


@dataclass(frozen=True, slots=True)
class PlacedChip:
    """A chip with the cells it takes, `end` exclusive."""

    chip: Chip
    label: str
    start: int
    end: int


def chip_row(chips: Sequence[Chip], width: int) -> tuple[tuple[PlacedChip, ...], int]:
    """The chips that fit into a row, and how many do not."""
    placed: list[PlacedChip] = []
    at = 0
    for number, chip in enumerate(chips):
        label = f" {cut(clean(chip.label), _LONGEST)} {_CROSS} "
        left = len(chips) - number - 1
        room = width - (_GAP + len(f"+{left}") if left else 0)
        if at + cell_len(label) > room:
            return tuple(placed), len(chips) - number
        placed.append(PlacedChip(chip, label, at, at + cell_len(label)))
        at = placed[-1].end + _GAP
    return tuple(placed), 0


class ChipsLine(Widget):
    """One row of chips; takes no room when no filter is in force."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"chips-line--chip"}
    DEFAULT_CSS = """
    ChipsLine { height: 1; display: none; }
    ChipsLine.-in-force { display: block; }
    ChipsLine > .chips-line--chip { background: $surface; color: $foreground; text-style: bold; }
    """

    class Removed(Message):
        """The user wants the query without this filter."""

        def __init__(self, chip: Chip) -> None:
            super().__init__()
            self.chip = chip

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 -- the library's own name for it
        super().__init__(id=id)
        self._chips: tuple[Chip, ...] = ()

    def show(self, chips: Sequence[Chip]) -> None:
        """Show the filters that are in force now."""
        if self._chips != (chips := tuple(chips)):
            self._chips = chips
            self.set_class(bool(chips), "-in-force")
            self.refresh()

    def drop_last(self) -> None:
        """Ask for the query without its last filter; nothing when there is none."""
        if self._chips:
            self.post_message(self.Removed(self._chips[-1]))

    def render(self) -> Content:
        placed, left = chip_row(self._chips, self.size.width)
        style = self.get_visual_style("chips-line--chip")
        parts = [part for chip in placed for part in (Content.styled(chip.label, style), Content(" " * _GAP))]
        return Content("").join([*parts, Content(f"+{left}" if left else "")])

    def on_click(self, event: events.Click) -> None:
        for placed in chip_row(self._chips, self.size.width)[0]:
            if placed.start <= event.x < placed.end:
                event.stop()
                self.post_message(self.Removed(placed.chip))
