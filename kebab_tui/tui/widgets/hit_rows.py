"""Lays out a hit as two lines of text pieces with roles, and the rules between groups of hits.

First line: title and headings; on the right warnings, the folder, the change of rank and a bar.
Second line: the passage with its matches; on the right how many passages of the note are folded.
The title comes first, and goes on in the second line if it must: what does not fit beside it is
moved there if it matters, and else omitted. Each line is exactly as wide as requested. Pure:
knows roles, but no colours and no widget.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from enum import IntEnum
from typing import Literal, NamedTuple, get_args

from rich.cells import cell_len

from kebab_tui.domain import hit as known
from kebab_tui.domain.citation import Located
from kebab_tui.domain.hit import Badge, SearchHit
from kebab_tui.domain.markup import strip_inline_markup
from kebab_tui.tui.hit_diff import Novelty
from kebab_tui.tui.widgets.segments import (
    CHECK,
    CURSOR,
    ELLIPSIS,
    GAP,
    LINE,
    STEP,
    blocks,
    border,
    cut,
    cut_path,
    moved,
    sanitize_line,
    take,
    take_end,
    wrapped,
)

Role = Literal[
    "cursor", "mark", "title", "heading", "path", "text", "match", "warning", "bar", "score", "more", "rule"
]  # fmt: skip
ROLES: tuple[Role, ...] = get_args(Role)
Piece = tuple[str, Role]
Line = tuple[Piece, ...]

BAR_CELLS = 3
FULL = 8 * BAR_CELLS
"""Steps of a full bar: eighths of its cells."""
_FRESH: dict[Novelty | None, str] = {None: " ", "new": "+", "changed": "~"}
_BETWEEN: Piece = (" " * GAP, "text")
_LEAST_SHOWN = 0.005
_INDENT = 2
"""Cells before a further passage of a note."""
_WIDE_GUTTER_FROM, _BAR_FROM, _CITATION_FROM = 60, 44, 90
_LEAST_HEADING = 16
"""Cells of the headings that come before the folder."""
_LEAST_CUT = 8
"""Cells of a heading that is cut."""
_SAY_NOTHING = frozenset({"", "index", "_index", "readme", "untitled"})
"""Titles in place of which the name of the note is shown, or of its folder."""
_SENTENCE_ENDS = (". ", "? ", "! ", "。", "！", "？")


class MatchKind(IntEnum):
    """How well a note matches, the best first; hits are listed nearly in this order."""

    NAMED = 0
    FULL = 1
    PARTIAL = 2
    MEANING = 3
    FURTHER = 4

    @classmethod
    def of(cls, hit: SearchHit) -> MatchKind:
        if hit.score_kind == "name":
            return cls.NAMED
        if hit.further:
            return cls.FURTHER
        if hit.relaxed:
            return cls.PARTIAL
        found = hit.retrieval
        by_meaning = found.method == "hybrid" and found.lexical_rank is None and found.vector_rank is not None
        return cls.MEANING if by_meaning else cls.FULL


RULES: dict[MatchKind, str] = {
    MatchKind.NAMED: "name matches",
    MatchKind.FULL: "text matches",
    MatchKind.PARTIAL: "partial matches",
    MatchKind.MEANING: "by meaning only",
    MatchKind.FURTHER: "further keyword matches",
}
_WARNINGS: dict[Badge, tuple[str, MatchKind | None]] = {
    "gone": ("gone", None),
    "stale": ("changed", None),
    "relaxed": ("partial match", MatchKind.PARTIAL),
    "distant": ("weak match", None),
    "meaning": ("by meaning only", MatchKind.MEANING),
}
"""What the screen warns about, and the rule below which it goes without saying."""
_QUIET = frozenset(warning for warning, below in _WARNINGS.values() if below is not None)
"""How a hit matches; the other warnings are about its file."""


class HitStyle(NamedTuple):
    """Everything besides the hit itself that its two lines depend on.

    A tuple and not a dataclass: the list makes one for each line that it paints.
    """

    width: int
    share: int | None = None
    """Steps of the bar; None if the score does not order the list."""
    cursor: bool = False
    marked: bool = False
    below: MatchKind = MatchKind.FULL
    """The rule that the hit is below."""
    located: Located | None = None
    change: int = 0
    """Ranks that a what-if moves the hit, up positive."""
    place: str = ""
    """What tells the note from another one with its title; may be unclean."""
    folded: int = 0
    """Further passages of the note that are not shown."""
    unfolded: bool = False
    """Whether the further passages of the note are shown below this one."""
    is_further: bool = False
    """Whether it is one of those."""
    fresh: Novelty | None = None
    """How the hit differs from the previous results of the same query."""


def share(score: float, least: float, most: float) -> int:
    """A score between the least and the best of a page, in steps of a full bar; never nothing."""
    return max(1, round(FULL * min(max((score - least) / (most - least), 0.0), 1.0)))


def hit_lines(hit: SearchHit, style: HitStyle) -> tuple[Line, Line]:
    gutter = 3 if style.width >= _WIDE_GUTTER_FROM else 2
    cursor: Piece = (CURSOR if style.cursor else " ", "cursor")
    mark, fresh = CHECK if style.marked else " ", _FRESH[style.fresh]
    indent = _INDENT if style.is_further else 0
    free = max(style.width - gutter - indent, 0)
    title, heading = _names(hit)
    if style.is_further:
        title, heading = "", (heading or title).removeprefix(f" {STEP} ")
    notes, ranks, bar, more = _notes(hit, style), _ranks(style), _bar(hit, style), _more(style)
    room = free - cell_len(title)
    shown: list[Line] = []
    for part in (ranks, notes, bar):
        if part and _width(part) + GAP <= room:
            shown.append(part)
            room -= _width(part) + GAP
    where = _where(hit, style, cell_len(heading), room - GAP)
    if where:
        shown.append(where)
        room -= _width(where) + GAP
    right = [piece for part in (where, notes, ranks, bar) if part in shown for piece in (_BETWEEN, *part)]
    below = [_BETWEEN, *notes] if notes and notes not in shown else []
    while below and _width((*below, *more)) > free // 2:
        below.pop()
    heading = cut(heading, room) if room >= min(cell_len(heading), _LEAST_CUT) else ""
    title, rest = _broken(title, free - _width(right))
    left: Line = ((rest, "title"), _BETWEEN) if rest else ()
    names: Line = ((title, "title"), (heading, "heading"))
    first: Line = (cursor, (mark.ljust(gutter - 1 + indent), "mark"), *names)
    passage = _passage(hit, max(0, free - _width((*left, *below, *more))))
    second: Line = (cursor, (fresh.ljust(gutter - 1 + indent), "mark"), *left, *passage)
    return _line(first, tuple(right), style.width), _line(second, (*below, *more), style.width)


def more_cells(style: HitStyle) -> int:
    """Cells at the end of the second line; a click on them shows or folds the other passages."""
    return _width(_more(style))


def rule_line(kind: MatchKind, width: int) -> Line:
    """A thin rule that says what follows."""
    start = f" {LINE} {RULES[kind]} "
    return _line(((start, "rule"), (LINE * max(width - cell_len(start) - 1, 0), "rule")), (), width)


def warnings(hit: SearchHit, style: HitStyle) -> list[str]:
    """How the hit matches if not well, and the state of its passage if it was located."""
    found: list[str] = []
    state = style.located.state if style.located is not None and not hit.gone else None
    if state is not None and state != "same":
        found.append(state)
    for badge in known.badges(hit, None):
        warning, below = _WARNINGS.get(badge, ("", None))
        # The look-up is newer than the file's date.
        if (
            warning
            and (below is None or style.below < below)
            and not (badge == "stale" and state is not None)
        ):
            found.append(warning)
    return found


def shown_score(score: float) -> str:
    """Four cells; a score too small for them is shown as a bound, not as zero."""
    return "<.01" if 0 < score < _LEAST_SHOWN else f"{score:.2f}"


def shown_title(hit: SearchHit) -> str:
    """The title; in place of one that says nothing, the name."""
    title = hit.title.strip()
    return hit.name if title.casefold() in _SAY_NOTHING else title


def places(hits: Iterable[SearchHit]) -> dict[str, str]:
    """The shortest end of each path's folders, or else the file name, that no other of these notes has."""
    ends = {hit.path: list(_ends(hit.path)) for hit in hits}
    counts = Counter(end for of_one in ends.values() for end in of_one)
    return {path: next((end for end in of_one if counts[end] == 1), path) for path, of_one in ends.items()}


def _ends(path: str) -> Iterator[str]:
    folder, _, name = path.rpartition("/")
    at = len(folder)
    while at > 0:
        at = folder.rfind("/", 0, at)
        yield f"{folder[at + 1 :]}/"
    yield name


def _names(hit: SearchHit) -> tuple[str, str]:
    """The title, and the headings as they follow it."""
    plain = str if hit.type == "code" else strip_inline_markup  # `__init__` is not emphasis
    heading = "".join(f" {STEP} {plain(step)}" for step in hit.headings)
    return sanitize_line(plain(shown_title(hit))), sanitize_line(heading)


def _broken(title: str, width: int) -> tuple[str, str]:
    """A title that does not fit goes on in the second line; it is cut if it fills half of that, too."""
    if cell_len(title) <= width:
        return title, ""
    lines = wrapped(title, width) if width > 0 else []
    if len(lines) == 2 and cell_len(lines[1]) <= width // 2:
        return lines[0], lines[1]
    return cut(title, width), ""


def _notes(hit: SearchHit, style: HitStyle) -> Line:
    """What must be seen: warnings, and what tells the note from another one."""
    found = warnings(hit, style)
    pieces: list[Piece] = [(warning, "path" if warning in _QUIET else "warning") for warning in found]
    if style.place and not style.is_further:
        pieces.append((cut_path(sanitize_line(style.place), max(style.width // 3, 8)), "path"))
    return tuple(piece for at, one in enumerate(pieces) for piece in ((_BETWEEN, one) if at else (one,)))


def _ranks(style: HitStyle) -> Line:
    return ((moved(style.change), "score"),) if style.change else ()


def _bar(hit: SearchHit, style: HitStyle) -> Line:
    if style.share is None or style.width < _BAR_FROM:
        return ()
    bar: Piece = (blocks(style.share).ljust(BAR_CELLS), "bar")
    return (bar, (f" {shown_score(hit.score)}", "score")) if style.width >= _CITATION_FROM else (bar,)


def _more(style: HitStyle) -> Line:
    if style.unfolded:
        return ((" less", "more"),)
    noun = " more" if style.width >= _CITATION_FROM else ""
    return ((f" +{style.folded}{noun}", "more"),) if style.folded else ()


def _where(hit: SearchHit, style: HitStyle, heading: int, room: int) -> Line:
    """The citation in a wide pane, the lines of a further passage, else the last folder, if it fits."""
    lines = sanitize_line(str(hit.citation)[len(hit.citation.file) :])
    if style.is_further:
        return ((lines[1:], "path"),) if cell_len(lines) + min(heading, _LEAST_HEADING) <= room else ()
    path = sanitize_line(hit.citation.file if hit.version else hit.path)
    if style.width >= _CITATION_FROM:
        shown = cut_path(path, room - heading - cell_len(lines))
        if shown.endswith(path.rpartition("/")[2]):
            return ((shown + lines, "path"),)
    if hit.version:
        label = sanitize_line(hit.version)
        return ((label, "path"),) if cell_len(label) + min(heading, _LEAST_HEADING) <= room else ()
    folder = path.rpartition("/")[0].rpartition("/")[2]
    if not folder or style.place or folder.casefold() == shown_title(hit).casefold():
        return ()
    return ((f"{folder}/", "path"),) if cell_len(folder) + 1 + min(heading, _LEAST_HEADING) <= room else ()


def _passage(hit: SearchHit, width: int) -> Iterator[Piece]:
    """The part of the snippet that fits, with the first match in it; it begins with a sentence or a word."""
    text = sanitize_line(hit.snippet)
    start, end = 0, len(text)
    if cell_len(text) > width:
        if hit.highlights:
            first, last = (border(text, at) for at in hit.highlights[0])
            if cell_len(text[:last]) >= width:
                start = _start(text, first, last, width)
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


def _start(text: str, first: int, last: int, width: int) -> int:
    """Where to begin so that the match at `first` is seen, and the line is full."""
    latest = min(first, len(text) - len(take_end(text, width - 1)))
    earliest = max(0, first - len(take_end(text[:first], width - 2 - cell_len(text[first:last]))))
    sentence = max(
        text.rfind(end, earliest, latest) + len(end) if end in text else 0 for end in _SENTENCE_ENDS
    )
    if earliest <= sentence - 1 < latest:
        return sentence
    lead = max(0, min(width // 3, width - 2 - cell_len(text[first:last])))
    at = min(max(earliest, len(take(text, cell_len(text[:first]) - lead))), latest)
    if at == 0:
        return 0
    space = text.find(" ", at - 1, latest)
    if space < 0:
        space = text.rfind(" ", earliest, at)
    return space + 1 if space >= 0 else at


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


def _width(line: Iterable[Piece]) -> int:
    return sum(cell_len(text) for text, _ in line)
