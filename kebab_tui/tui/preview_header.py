"""The first row of the preview: which lines of which note these are, and whether they are still true.

Pure. The state is the last thing to be cut: nobody may read a wrong line without a word.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.cells import cell_len

from kebab_tui.domain.citation import Citation
from kebab_tui.tui.text import UNICODE, Glyphs, clean, cut, cut_path, take

if TYPE_CHECKING:
    from kebab_tui.domain.citation import Located
    from kebab_tui.domain.hit import SearchHit

CHANGED = "changed since it was indexed"
_LEAST_TITLE = 8
_GAP = "  "

Part = tuple[str, str]
"""A text and the name of its style."""


def state_of(hit: SearchHit, located: Located | None) -> str:
    """What to say of a passage whose file can be read; nothing where it is as it was."""
    if located is None:
        return CHANGED if hit.stale or hit.gone else ""
    match located.state:
        case "moved":
            return f"moved {located.shift:+d}"
        case "changed":
            return CHANGED
        case "gone":
            return "passage gone"
    return ""


def header(
    hit: SearchHit, located: Located | None, state: str, width: int, glyphs: Glyphs = UNICODE
) -> list[Part]:
    """The parts of the row, `width` cells together."""
    if cell_len(state) > width // 2:
        state = state.replace(CHANGED, "changed")
    shown_state = take(clean(state), width)
    room = width - cell_len(shown_state) - (len(_GAP) if shown_state else 0)
    path = cut_path(clean(_citation(hit, located)), max(room, 0), glyphs.ellipsis)
    left = room - cell_len(path) - len(_GAP)
    title = cut(clean(_title(hit, glyphs)), left, glyphs.ellipsis) if left >= _LEAST_TITLE else ""
    before = [(path, "path"), (f"{_GAP}{title}" if title else "", "title")]
    padding = width - cell_len(path) - cell_len(before[1][0]) - cell_len(shown_state)
    return [*before, (" " * padding, "title"), (shown_state, "state")]


def _citation(hit: SearchHit, located: Located | None) -> str:
    return str(Citation(hit.path, located.span) if located else hit.citation)


def _title(hit: SearchHit, glyphs: Glyphs) -> str:
    headings = [part for part in hit.heading_path.split(" > ") if part and part != hit.title]
    return f" {glyphs.step} ".join([hit.title, *headings])
