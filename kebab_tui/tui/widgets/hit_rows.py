"""A hit as two lines of pieces: what stands where at a given width, and in which role.

First line: the citation (cut in its middle: the file's name and the lines stay), title ›
headings, and on the right the change of rank, the bar and the score. Second line: one
line of the passage with its matches, and on the right the badges. Every line is exactly
as many cells wide as asked. Pure; knows roles, not colours, and nothing of a widget.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

from rich.cells import cell_len

from kebab_tui.domain import hit as known
from kebab_tui.domain.document import HEADING_SEPARATOR
from kebab_tui.tui.hit_diff import Novelty
from kebab_tui.tui.widgets.segments import (
    CHECK,
    CURSOR,
    DOT,
    ELLIPSIS,
    STEP,
    blocks,
    border,
    clean,
    cut,
    cut_path,
    moved,
    take,
)

if TYPE_CHECKING:
    from kebab_tui.domain.citation import Located
    from kebab_tui.domain.hit import Highlight, SearchHit


Role = Literal[
    "cursor", "mark", "path", "name", "lines", "title", "heading",
    "text", "match", "badge", "warning", "bar", "score",
]  # fmt: skip
ROLES: tuple[Role, ...] = get_args(Role)
Piece = tuple[str, Role]
Line = tuple[Piece, ...]

FULL = 64
"""Parts of a full bar: eighths of the eight cells of the widest one."""
_WARNINGS = ("gone", "stale")
_FRESH: dict[Novelty | None, str] = {None: " ", "new": "+", "changed": "~"}
_LEAST_SHOWN = 0.005
_SCORE_FROM, _BAR_FROM, _WIDE_BAR_FROM, _WIDE_GUTTER_FROM = 28, 44, 80, 40
_LEAST_TITLE = 6


@dataclass(frozen=True, slots=True)
class HitStyle:
    """All that a hit's two lines depend on beside the hit."""

    width: int
    share: int = FULL
    cursor: bool = False
    marked: bool = False
    korean: bool | None = None
    """Whether the question is Korean; None where the languages are not compared."""
    located: Located | None = None
    change: int = 0
    """Ranks that a what-if moves the hit, up positive."""
    source: str = ""
    """The folder's name, clean and short, where the path alone does not tell the note."""
    fresh: Novelty | None = None
    """How the hit differs from what the same question found a moment ago."""


def share(score: float, best: float) -> int:
    """A score against the best one, in parts of a full bar; a score that is not nothing shows."""
    if not (score > 0 and best > 0):
        return 0
    return max(1, round(FULL * min(score / best, 1.0)))


def hit_lines(hit: SearchHit, look: HitStyle) -> tuple[Line, Line]:
    """The two lines of a hit."""
    figures = tuple(_figures(hit, look))
    named = tuple(_named(hit, _room(look, figures)))
    noted = tuple(_noted(hit, look))
    passage = tuple(_passage(hit, _room(look, noted)))
    first = (*_gutter(look, CHECK), *named)
    second = (*_gutter(look, ""), *passage)
    return _line(first, figures, look.width), _line(second, noted, look.width)


def badges(hit: SearchHit, look: HitStyle) -> list[Piece]:
    """What a reader should know before trusting the hit; where its passage is now, if that was looked up."""
    found: list[Piece] = [
        (badge, "warning" if badge in _WARNINGS else "badge") for badge in known.badges(hit, look.korean)
    ]
    if look.located is not None and not hit.gone:
        found = [piece for piece in found if piece[0] != "stale"]
        if place := _place(look.located):  # what was looked up counts more than the file's date
            found.insert(0, (place, "warning"))
    if look.source:
        found.insert(sum(role == "warning" for _, role in found), (f"in {look.source}", "badge"))
    return found


def shown_score(score: float) -> str:
    """Four cells; a score too small for them is not shown as nothing."""
    return "<.01" if 0 < score < _LEAST_SHOWN else f"{score:.2f}"


def bar(parts: int, cells: int) -> str:
    """`parts` of a full bar as that many cells."""
    return blocks(-(-parts * cells * 8 // FULL)).ljust(cells)


def _place(located: Located) -> str:
    """Whether the citation still holds."""
    if located.state == "moved":
        return f"moved {located.shift:+d}"
    return "" if located.state == "same" else located.state


def _gutter_width(look: HitStyle) -> int:
    return 3 if look.width >= _WIDE_GUTTER_FROM else 2


def _room(look: HitStyle, right: Line) -> int:
    """Cells between the gutter and what stands on the right."""
    return max(0, look.width - _gutter_width(look) - _width(right))


def _gutter(look: HitStyle, mark: str) -> Iterator[Piece]:
    """The first line says whether the hit is marked, the second whether it is fresh."""
    yield (CURSOR if look.cursor else " "), "cursor"
    sign = (mark if look.marked else " ") if mark else _FRESH[look.fresh]
    yield sign.ljust(_gutter_width(look) - 1), "mark"


def _figures(hit: SearchHit, look: HitStyle) -> Iterator[Piece]:
    # What is only listed has no score, and that of a further match does not compare with those above.
    if look.width < _SCORE_FROM or not hit.score or hit.further:
        return
    if look.change:
        yield f" {moved(look.change)}", "score"
    if look.width >= _BAR_FROM:
        cells = 8 if look.width >= _WIDE_BAR_FROM else 5
        yield f" {bar(look.share, cells)}", "bar"
    yield f" {shown_score(hit.score):>4}", "score"


def _named(hit: SearchHit, room: int) -> Iterator[Piece]:
    title, heading = _titles(hit)
    path, lines = _cited(hit)
    wanted = cell_len(title) + cell_len(heading) + 2
    most = max(room - wanted, room * 3 // 5) if room >= 40 else room
    path = cut_path(path, max(most - cell_len(lines), 0))
    folder, slash, name = path.rpartition("/")
    yield folder + slash, "path"
    yield name, "name"
    yield lines, "lines"
    left = room - cell_len(path) - cell_len(lines) - 2
    if left >= _LEAST_TITLE:
        shown = cut(title, left)
        yield f"  {shown}", "title"
        yield cut(heading, left - cell_len(shown)), "heading"


def _cited(hit: SearchHit) -> tuple[str, str]:
    """The citation in two: the path, and the lines or the page in it."""
    return clean(hit.citation.path), clean(str(hit.citation)[len(hit.citation.path) :])


def _titles(hit: SearchHit) -> tuple[str, str]:
    """The title and the headings under it; a heading that repeats the title is not said twice."""
    steps = hit.heading_path.split(HEADING_SEPARATOR) if hit.heading_path else []
    if steps and steps[0] == hit.title:
        steps = steps[1:]
    return clean(hit.title), "".join(f" {STEP} {clean(step)}" for step in steps)


def _noted(hit: SearchHit, look: HitStyle) -> Iterator[Piece]:
    """The badges that fit into half of the line, how it was found at its end."""
    room, kept = look.width // 2, []
    for text, role in badges(hit, look):
        if cell_len(text) + 3 > room:
            continue
        room -= cell_len(text) + 3
        kept.append((text, role))
    for place, (text, role) in enumerate(reversed(kept)):
        yield (f" {DOT} " if place else "  "), "badge"
        yield text, role


def _passage(hit: SearchHit, room: int) -> Iterator[Piece]:
    text = clean(hit.snippet)
    start, end = _window(text, hit.highlights, room)
    if start:
        yield ELLIPSIS, "text"
    at = start
    for first, last in hit.highlights:
        first, last = max(border(text, first), at), min(border(text, last), end)
        if first < last:
            yield text[at:first], "text"
            yield text[first:last], "match"
            at = last
    yield text[at:end], "text"
    if end < len(text):
        yield ELLIPSIS, "text"


def _window(text: str, highlights: tuple[Highlight, ...], room: int) -> tuple[int, int]:
    """The stretch that fits, ellipses counted, with the first match in it."""
    start = 0
    if cell_len(text) <= room:
        return 0, len(text)
    if highlights:
        first, last = (border(text, place) for place in highlights[0])
        if cell_len(text[:last]) >= room:
            lead = max(0, min(room // 3, room - 2 - cell_len(text[first:last])))
            start = len(take(text, cell_len(text[:first]) - lead))
    shown = room - (start > 0)
    rest = text[start:]
    if cell_len(rest) > shown:
        rest = take(rest, shown - 1)
    return start, start + len(rest)


def _line(left: Line, right: Line, width: int) -> Line:
    """Exactly `width` cells: the left as far as there is room, blanks, the right."""
    ending = _width(right)
    if ending > width:
        right, ending = (), 0
    kept: list[Piece] = []
    room = width - ending
    for text, role in left:
        shown = text if cell_len(text) <= room else take(text, room)
        room -= cell_len(shown)
        if shown:
            kept.append((shown, role))
    return (*kept, (" " * room, "text"), *right) if room else (*kept, *right)


def _width(line: Line) -> int:
    return sum(cell_len(text) for text, _ in line)
