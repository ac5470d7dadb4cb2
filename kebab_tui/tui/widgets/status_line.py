"""The status line: how the results came about, what the index does, what failed.

`12 of 4,031 passages · 38 ms · hybrid · live`, then notices. Facts have priorities: if the
line is too narrow, the least important ones are left out. A passing message precedes the
facts until the next one or for some seconds; an error precedes both. `hush` removes them.
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
from kebab_tui.domain.query import SearchMode
from kebab_tui.domain.text import duration
from kebab_tui.tui.widgets.segments import DOT, cut, sanitize_line

if TYPE_CHECKING:
    from kebab_tui.indexing.status import LiveState
    from kebab_tui.indexing.watcher import WatchKind


Tone = Literal["fact", "strong", "notice", "warning", "error"]
TONES: tuple[Tone, ...] = get_args(Tone)
_PASSING = 95
_NOTICE_PRIORITIES = {"unfinished_filter": 88, CORRECTED: 75, "unknown_key": 45}
"""Notices about the query come before figures."""
_WORST_FIRST: tuple[WatchKind, ...] = ("paused", "partial", "polling", "live")
_LEAST_CUT = 12
"""Cells; a shorter rest of a message is useless."""


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
    milliseconds: float | None = None
    mode: SearchMode = "hybrid"
    raw: bool = False
    complete: bool = True
    index: str = ""
    """The state of the index in a word: live, polling, read-only, 3 pending."""
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


def facts(status: StatusContent) -> Iterator[Fact]:
    """The pieces of the line, from left to right."""
    if status.searching:
        yield Fact("searching", 92, "strong")
    if status.hits is not None:
        found = "nothing found"
        if status.total:
            found = f"{status.hits:,} of {status.total:,} {'passage' if status.total == 1 else 'passages'}"
        yield Fact(found if status.complete else f"{found} so far", 90, "strong")
        if (duration := status.milliseconds) is not None:
            shown = f"{duration / 1000:.1f} s" if duration >= 1000 else f"{duration:.0f} ms"
            yield Fact(shown, 20)
    elif status.total:
        yield Fact(f"{status.total:,} {'note' if status.total == 1 else 'notes'}", 50)
    if status.hits is None and status.other_files:
        yield Fact(sanitize_line(status.other_files), 25, cut=True)
    yield Fact("RAW" if status.raw else status.mode, 40)
    if status.marked:
        yield Fact(f"{status.marked:,} marked", 80, "strong")
    if status.index:
        yield Fact(sanitize_line(status.index), 30, cut=True)
    if status.changed:
        yield Fact(sanitize_line(status.changed), 15)
    if status.progress:
        yield Fact(sanitize_line(status.progress), 60, cut=True)
    if status.trouble:
        yield Fact(sanitize_line(f"warning: {status.trouble}"), 85, "warning", cut=True)
    if status.failed:
        files = "file" if status.failed == 1 else "files"
        yield Fact(f"warning: {status.failed:,} {files} could not be read", 65, "warning", cut=True)
    for notice in status.notices:
        priority = _NOTICE_PRIORITIES.get(notice.code, 70 if notice.level == "warning" else 10)
        yield _notice(notice, priority)


def _notice(notice: Notice, priority: int) -> Fact:
    """A notice as a piece; a warning does not rely on its colour alone."""
    warning = notice.level == "warning"
    text = sanitize_line(f"warning: {notice.text}" if warning else notice.text)
    return Fact(text, priority, "warning" if warning else "notice", cut=True)


def fitted(pieces: Sequence[Fact], width: int) -> list[Fact]:
    """The pieces that fit side by side, in their order; one of them may be cut."""
    gap = cell_len(DOT) + 2
    kept: dict[int, Fact] = {}
    free = width
    for place in sorted(range(len(pieces)), key=lambda place: -pieces[place].priority):
        piece, left = pieces[place], free - gap * bool(kept)
        wanted = cell_len(piece.text)
        if wanted > left and (not kept or (piece.cut and left >= _LEAST_CUT)):
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
    """How the folders are watched, and how many files wait."""
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
    if live.pending:
        pieces.append(f"{live.pending:,} pending")
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
    """The note that was committed last, and how long after saving the screen showed it."""
    name = os.path.basename(path)
    return name if seconds is None else f"{name} {seconds:.2f} s"


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
        return f"{live.given_way_to} writes"
    if phase.kind == "reading" and live.upgrading is not None:
        done, total = live.upgrading
        return f"upgrading: {done:,} of {total:,} notes"
    if phase.kind == "reading" and phase.total:
        return f"reading {phase.done:,} of {phase.total:,}"
    if phase.kind == "embedding" and phase.total:
        left = "" if phase.seconds_left is None else f", {duration(phase.seconds_left)} left"
        return f"vectors {phase.done:,} of {phase.total:,}, {phase.rate:,.0f}/s{left}"
    return ""


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
        self._passing: Fact | None = None
        self._error: Fact | None = None

    def show(self, status: StatusContent) -> None:
        """Replace the facts; the passing message and the error stay."""
        if status != self.status:
            self.status = status
            self.refresh()

    def show_message(self, notice: Notice, seconds: float | None = None) -> None:
        """Show a passing message, for some seconds if given."""
        self._passing = _notice(notice, _PASSING)
        self.refresh()
        if seconds is not None:
            self.set_timer(seconds, partial(self.remove_message, notice))

    def remove_message(self, notice: Notice) -> None:
        """Remove a passing message, unless another one has replaced it."""
        if self._passing == _notice(notice, _PASSING):
            self._passing = None
            self.refresh()

    def show_error(self, message: str, hint: str = "") -> None:
        """Show an error and its hint."""
        ending = f" {DOT} {hint}" if hint else ""
        self._error = Fact(sanitize_line(f"error: {message}{ending}"), 100, "error", cut=True)
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
        pieces = [piece for piece in (self._error, self._passing) if piece is not None]
        segments: list[Segment] = []
        for piece in fitted([*pieces, *facts(self.status)], width):
            if segments:
                segments.append(Segment(f" {DOT} ", self.get_visual_style("status-line--fact").rich_style))
            style = self.get_visual_style(f"status-line--{piece.tone}").rich_style
            segments.append(Segment(piece.text, style))
        return Strip(segments).adjust_cell_length(width, self.rich_style)
