"""The status line: facts on the left, one message on the right.

`31 passages · live · semantic 27 % · 3/s · 17 min left`, then the message. Facts have
priorities: in a narrow terminal the least important ones are left out. The message gets its
place first: an error, else a passing message, else the most important warning or notice.
All text is cleaned here.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, ClassVar, Literal, get_args

from rich.cells import cell_len
from rich.segment import Segment
from textual.strip import Strip
from textual.widget import Widget

from kebab_tui.domain.hit import CORRECTED, Notice
from kebab_tui.domain.text import duration
from kebab_tui.tui.glyphs import own_text
from kebab_tui.tui.widgets.segments import DOT, cut, sanitize_line

if TYPE_CHECKING:
    from kebab_tui.indexing.status import LiveState
    from kebab_tui.indexing.watcher import WatchKind


Tone = Literal["fact", "strong", "notice", "warning", "error"]
TONES: tuple[Tone, ...] = get_args(Tone)
_NOTICE_ORDER = ("unfinished_filter", "shards_missing", CORRECTED, "warning", "unknown_key")
"""Codes and levels of notices, the most important first."""
_SHOWN_ELSEWHERE = frozenset({"no_vectors", "vectors_pending", "relaxed"})
"""Codes of notices that the query's border and the list of hits show."""
_WORST_FIRST: tuple[WatchKind, ...] = ("paused", "partial", "polling", "live")
_LEAST_CUT = 12
"""Cells; a shorter rest of a fact is useless."""
_FEW_FILES = 10
"""So few files are read in an instant."""
_GAP = 3
"""Cells between the facts and the message."""


@dataclass(frozen=True, slots=True)
class Fact:
    """One piece of the line. The highest priority stays longest; with `cut`, its end may be cut off."""

    text: str
    priority: int
    tone: Tone = "fact"
    cut: bool = False


@dataclass(frozen=True, slots=True)
class StatusContent:
    """The facts about a response and its index."""

    hits: int | None = None
    """None without a query; then `total` counts notes, else passages."""
    total: int = 0
    complete: bool = True
    index: str = ""
    """The state of the index in a word: live, polling, read-only."""
    progress: str = ""
    """Background work, in counts."""
    changed: str = ""
    """The note that changed last, and how soon the screen showed it."""
    trouble: str = ""
    """Why the index is not up to date."""
    marked: int = 0
    failed: int = 0
    """Files that could not be read."""
    other_files: str = ""
    """The files that are not read; shown without a query."""
    searching: bool = False
    """The search is slow."""
    notices: tuple[Notice, ...] = ()


def facts(status: StatusContent, *, counts_passages: bool = True) -> Iterator[Fact]:
    """The facts, from left to right."""
    if status.searching:
        yield Fact("searching", 92, "strong")
    if status.hits is None:
        if status.total:
            yield Fact(f"{status.total:,} {'note' if status.total == 1 else 'notes'}", 50)
    elif counts_passages:
        yield Fact(passages(status.total, complete=status.complete), 90, "strong")
    if status.marked:
        yield Fact(f"{status.marked:,} marked", 80, "strong")
    if status.hits is None and status.other_files:
        yield Fact(sanitize_line(status.other_files), 25, cut=True)
    if status.index:
        yield Fact(sanitize_line(status.index), 30, cut=True)
    if status.changed:
        yield Fact(sanitize_line(status.changed), 15)
    if status.progress:
        yield Fact(sanitize_line(status.progress), 60, cut=True)


def passages(total: int, *, complete: bool = True) -> str:
    """The number of passages found; more may follow an incomplete response."""
    found = f"{total:,} {'passage' if total == 1 else 'passages'}" if total else "nothing found"
    return found if complete else f"{found} so far"


def message_of(status: StatusContent) -> Fact | None:
    """The most important warning or notice."""
    if status.trouble:
        return _message(status.trouble, "warning")
    notices = [notice for notice in status.notices if notice.code not in _SHOWN_ELSEWHERE]
    if status.failed:
        files = "file" if status.failed == 1 else "files"
        notices.append(Notice("failed", f"{status.failed:,} {files} could not be read", "warning"))
    first = min(notices, key=_order, default=None)
    return None if first is None else _message(first.text, first.level)


def _order(notice: Notice) -> int:
    names = [notice.code, notice.level]
    return next((_NOTICE_ORDER.index(name) for name in names if name in _NOTICE_ORDER), len(_NOTICE_ORDER))


def _message(text: str, level: str) -> Fact:
    """A message; a warning and an error do not rely on their colour alone."""
    tones: dict[str, Tone] = {"warning": "warning", "error": "error"}
    tone = tones.get(level, "notice")
    shown = own_text(sanitize_line(text))
    return Fact(shown if tone == "notice" else f"{tone}: {shown}", 100, tone)


def fitted(pieces: Sequence[Fact], width: int) -> list[Fact]:
    """The pieces that fit side by side, in their order; one of them may be cut."""
    gap = cell_len(DOT) + 2
    kept: dict[int, Fact] = {}
    free = width
    for place in sorted(range(len(pieces)), key=lambda place: -pieces[place].priority):
        piece, left = pieces[place], free - gap * bool(kept)
        wanted = cell_len(piece.text)
        if wanted > left >= _LEAST_CUT and piece.cut:
            piece = Fact(cut(piece.text, left), piece.priority, piece.tone)
            wanted = cell_len(piece.text)
        if 0 < wanted <= left:
            kept[place] = piece
            free = left - wanted
    return [kept[place] for place in sorted(kept)]


@dataclass(frozen=True, slots=True)
class LiveWords:
    """Texts for the status line; an empty one is not shown."""

    index: str = ""
    """How the folders are watched, and by which process if not by ours."""
    progress: str = ""
    """The present work."""
    trouble: str = ""
    """Why the index, or a folder in it, is not up to date."""
    failed: int = 0
    other_files: str = ""
    folders: tuple[str, ...] = ()


def live_words(live: LiveState | None, own_pid: int) -> LiveWords:
    """The texts for a state; None if no process watches. `own_pid` is the process of this screen."""
    if live is None:
        return LiveWords("not watching")
    pieces = [_watching(live)]
    if live.pid != own_pid:
        pieces.append(f"indexed by pid {live.pid}")
    trouble = next(
        (
            f"{os.path.basename(folder.root)}: {folder.reason}"
            for folder in live.folders
            if folder.kind == "paused"
        ),
        "",
    )
    if live.error is not None:
        trouble = f"{live.error.message}; search still works"
    return LiveWords(
        ", ".join(filter(None, pieces)),
        _progress(live),
        trouble,
        live.failed,
        str(live.other_files) if live.other_files.count else "",
        tuple(folder.root for folder in live.folders),
    )


def changed_words(path: str, seconds: float | None) -> str:
    """The note that was committed last, and how long after saving the screen showed it, if that is known."""
    return "" if seconds is None else f"{os.path.basename(path)} updated in {seconds:.1f} s"


def _watching(live: LiveState) -> str:
    """The worst kind of watching among the folders, with its reason unless that is a warning."""
    kinds = {folder.kind: folder.reason for folder in live.folders}
    worst = next((kind for kind in _WORST_FIRST if kind in kinds), None)
    if worst is None:
        return "not watching" if live.once else ""
    return f"{worst} ({kinds[worst]})" if worst in ("partial", "polling") and kinds[worst] else worst


def _progress(live: LiveState) -> str:
    phase = live.phase
    if live.given_way_to:
        return f"{live.given_way_to} is writing"
    if phase.kind == "reading" and live.upgrading is not None:
        done, total = live.upgrading
        return f"upgrading: {done:,} of {total:,} notes"
    if phase.kind == "reading" and phase.total >= _FEW_FILES:
        return f"reading {phase.done:,} of {phase.total:,}"
    if phase.kind == "embedding" and phase.total:
        pieces = [f"semantic {100 * phase.done // phase.total} %"]
        if phase.rate >= 0.5:  # less would read 0/s
            pieces.append(f"{phase.rate:,.0f}/s")
        if phase.seconds_left is not None:
            pieces.append(f"{duration(phase.seconds_left)} left")
        return f" {DOT} ".join(pieces)
    return f"{live.pending:,} pending" if live.pending >= _FEW_FILES else ""


class StatusLine(Widget):
    ALLOW_SELECT = False  # Textual would copy the name of the widget
    COMPONENT_CLASSES: ClassVar[set[str]] = {f"status-line--{tone}" for tone in TONES}

    DEFAULT_CSS = """
    StatusLine {
        height: 1;
        & > .status-line--fact { color: $text-muted; }
        & > .status-line--strong { text-style: bold; }
        & > .status-line--notice { color: $text-primary; }
        & > .status-line--warning { color: $text-warning; text-style: bold; }
        & > .status-line--error { color: $text-error; text-style: bold reverse; }
    }
    """

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002  as Textual's widgets have it
        super().__init__(id=id)
        self.status = StatusContent()
        self._passing: Notice | None = None
        self._error: Fact | None = None
        self._counts_passages = True

    def show(self, status: StatusContent) -> None:
        """Replace the facts; the passing message and the error stay."""
        if status != self.status:
            self.status = status
            self.refresh()

    def count_passages(self, counts: bool) -> None:
        """Whether to count the passages, because the border of the hits does not."""
        if counts != self._counts_passages:
            self._counts_passages = counts
            self.refresh()

    def show_message(self, notice: Notice, seconds: float | None = None) -> None:
        """Show a passing message, for some seconds if given."""
        self._passing = notice
        self.refresh()
        if seconds is not None:
            self.set_timer(seconds, partial(self.remove_message, notice))

    def remove_message(self, notice: Notice) -> None:
        """Remove a passing message, unless another one has replaced it."""
        if self._passing == notice:
            self._passing = None
            self.refresh()

    def show_error(self, message: str, hint: str = "") -> None:
        """Show an error and its hint."""
        ending = f" {DOT} {hint}" if hint else ""
        self._error = _message(f"{message}{ending}", "error")
        self.refresh()

    def clear_message(self) -> None:
        """Remove the passing message and the error."""
        if self._passing or self._error:
            self._passing = self._error = None
            self.refresh()

    def render_line(self, y: int) -> Strip:
        width = self.content_size.width
        if y or not width:
            return Strip.blank(width, self.rich_style)
        message = self.message
        ending = "" if message is None else cut(message.text, width)
        segments: list[Segment] = []
        fact_style = self.get_visual_style("status-line--fact").rich_style
        known = facts(self.status, counts_passages=self._counts_passages)
        for piece in fitted([*known], width - (cell_len(ending) + _GAP if ending else 0)):
            if segments:
                segments.append(Segment(f" {DOT} ", fact_style))
            segments.append(
                Segment(piece.text, self.get_visual_style(f"status-line--{piece.tone}").rich_style)
            )
        if message is None:
            return Strip(segments).adjust_cell_length(width, self.rich_style)
        left = Strip(segments).adjust_cell_length(width - cell_len(ending), self.rich_style)
        style = self.get_visual_style(f"status-line--{message.tone}").rich_style
        return Strip([*left, Segment(ending, style)])

    @property
    def message(self) -> Fact | None:
        """The one message of the line."""
        if self._error is not None:
            return self._error
        return (
            message_of(self.status)
            if self._passing is None
            else _message(self._passing.text, self._passing.level)
        )
