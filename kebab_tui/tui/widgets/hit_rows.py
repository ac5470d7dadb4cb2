"""Lays out a hit as two lines of text pieces with roles.

First line: citation (cut in its middle: the file name and the lines stay), title and
headings; on the right the change of rank, the bar and the score. Second line: one line of
the passage with its matches; on the right the badges. Each line is exactly as wide as
requested. Pure: knows roles, but no colours and no widget.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, get_args

from rich.cells import cell_len

from kebab_tui.domain import hit as known
from kebab_tui.domain.citation import Located
from kebab_tui.domain.document import HEADING_SEPARATOR
from kebab_tui.domain.hit import SearchHit
from kebab_tui.tui.hit_diff import Novelty
from kebab_tui.tui.widgets.segments import (
    CHECK,
    CURSOR,
    DOT,
    ELLIPSIS,
    STEP,
    blocks,
    border,
    cut,
    cut_path,
    moved,
    sanitize_line,
    take,
)

Role = Literal[
    "cursor", "mark", "path", "name", "lines", "title", "heading",
    "text", "match", "badge", "warning", "bar", "score",
]  # fmt: skip
ROLES: tuple[Role, ...] = get_args(Role)
Piece = tuple[str, Role]
Line = tuple[Piece, ...]

FULL = 64
"""Steps of a full bar: eighths of the eight cells of the widest one."""
_WARNINGS = ("gone", "stale")
_FRESH: dict[Novelty | None, str] = {None: " ", "new": "+", "changed": "~"}
_LEAST_SHOWN = 0.005
_SCORE_FROM, _BAR_FROM, _WIDE_BAR_FROM, _WIDE_GUTTER_FROM = 28, 44, 80, 40
_LEAST_TITLE = 6


@dataclass(frozen=True, slots=True)
class HitStyle:
    """Everything besides the hit itself that its two lines depend on."""

    width: int
    share: int = FULL
    cursor: bool = False
    marked: bool = False
    korean: bool | None = None
    """Whether the query is Korean; None if the languages are not compared."""
    located: Located | None = None
    change: int = 0
    """Ranks that a what-if moves the hit, up positive."""
    source: str = ""
    """The folder's name, clean and short, if several folders have this path."""
    fresh: Novelty | None = None
    """How the hit differs from the previous results of the same query."""


def share(score: float, best: float) -> int:
    """A score relative to the best one, in steps of a full bar; a positive score is always visible."""
    if not (score > 0 and best > 0):
        return 0
    return max(1, round(FULL * min(score / best, 1.0)))


def hit_lines(hit: SearchHit, style: HitStyle) -> tuple[Line, Line]:
    gutter = 3 if style.width >= _WIDE_GUTTER_FROM else 2
    cursor: Piece = (CURSOR if style.cursor else " ", "cursor")
    mark = CHECK if style.marked else " "
    figures: Line = ()
    # A listed hit has no score, and not every score compares with those of other hits.
    if style.width >= _SCORE_FROM and hit.score and hit.has_comparable_score:
        figures = ((f" {shown_score(hit.score):>4}", "score"),)
        if style.width >= _BAR_FROM:
            cells = 8 if style.width >= _WIDE_BAR_FROM else 5
            figures = ((f" {bar(style.share, cells)}", "bar"), *figures)
        if style.change:
            figures = ((f" {moved(style.change)}", "score"), *figures)
    # The badges that fit into one half of the line, in reverse order of weight.
    left = style.width // 2
    noted: Line = ()
    for text, role in badges(hit, style):
        if cell_len(text) + 3 <= left:
            left -= cell_len(text) + 3
            noted = ((text, role), (f" {DOT} ", "badge"), *noted) if noted else ((text, role),)
    if noted:
        noted = (("  ", "badge"), *noted)
    named = _named(hit, max(0, style.width - gutter - _width(figures)))
    passage = _passage(hit, max(0, style.width - gutter - _width(noted)))
    first: Line = (cursor, (mark.ljust(gutter - 1), "mark"), *named)
    second: Line = (cursor, (_FRESH[style.fresh].ljust(gutter - 1), "mark"), *passage)
    return _line(first, figures, style.width), _line(second, noted, style.width)


def badges(hit: SearchHit, style: HitStyle) -> list[Piece]:
    """Facts that limit how far to trust the hit, and where its passage is now if that was looked up."""
    found: list[Piece] = [
        (badge, "warning" if badge in _WARNINGS else "badge") for badge in known.badges(hit, style.korean)
    ]
    if style.located is not None and not hit.gone:  # the look-up is newer than the file's date
        found = [piece for piece in found if piece[0] != "stale"]
        if style.located.state == "moved":
            found.insert(0, (f"moved {style.located.shift:+d}", "warning"))
        elif style.located.state != "same":
            found.insert(0, (style.located.state, "warning"))
    if style.source:
        found.insert(sum(role == "warning" for _, role in found), (f"in {style.source}", "badge"))
    return found


def shown_score(score: float) -> str:
    """Four cells; a score too small for them is shown as a bound, not as zero."""
    return "<.01" if 0 < score < _LEAST_SHOWN else f"{score:.2f}"


def bar(steps: int, cells: int) -> str:
    """`steps` of a full bar, drawn in that many cells."""
    return blocks(-(-steps * cells * 8 // FULL)).ljust(cells)


def _named(hit: SearchHit, width: int) -> Iterator[Piece]:
    """The citation, and beside it the title with its headings as far as they fit."""
    steps = hit.heading_path.split(HEADING_SEPARATOR) if hit.heading_path else []
    if steps and steps[0] == hit.title:
        steps = steps[1:]
    title, heading = sanitize_line(hit.title), "".join(f" {STEP} {sanitize_line(step)}" for step in steps)
    lines = sanitize_line(str(hit.citation)[len(hit.citation.path) :])
    wanted = cell_len(title) + cell_len(heading) + 2
    most = max(width - wanted, width * 3 // 5) if width >= 40 else width
    path = cut_path(sanitize_line(hit.citation.path), max(most - cell_len(lines), 0))
    folder, slash, name = path.rpartition("/")
    yield folder + slash, "path"
    yield name, "name"
    yield lines, "lines"
    left = width - cell_len(path) - cell_len(lines) - 2
    if left >= _LEAST_TITLE:
        shown = cut(title, left)
        yield f"  {shown}", "title"
        yield cut(heading, left - cell_len(shown)), "heading"


def _passage(hit: SearchHit, width: int) -> Iterator[Piece]:
    """The part of the snippet that fits, ellipses counted, with the first match in it."""
    text = sanitize_line(hit.snippet)
    start, end = 0, len(text)
    if cell_len(text) > width:
        if hit.highlights:
            first, last = (border(text, place) for place in hit.highlights[0])
            if cell_len(text[:last]) >= width:
                lead = max(0, min(width // 3, width - 2 - cell_len(text[first:last])))
                start = len(take(text, cell_len(text[:first]) - lead))
        shown = width - (start > 0)
        if cell_len(text[start:]) > shown:
            end = start + len(take(text[start:], shown - 1))
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


def _line(left: Line, right: Line, width: int) -> Line:
    """Exactly `width` cells: as much of `left` as fits, spaces, `right`."""
    ending = _width(right)
    if ending > width:
        right, ending = (), 0
    kept: list[Piece] = []
    free = width - ending
    for text, role in left:
        shown = text if cell_len(text) <= free else take(text, free)
        free -= cell_len(shown)
        if shown:
            kept.append((shown, role))
    return (*kept, (" " * free, "text"), *right) if free else (*kept, *right)


def _width(line: Line) -> int:
    return sum(cell_len(text) for text, _ in line)
