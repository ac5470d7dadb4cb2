"""The one line that says how the answer came about, and what is wrong.

`12 of 4,031 passages · 38 ms · hybrid · live`, then notices. Facts have priorities: what
does not fit goes, the least important first, and a shorter one may take its room. What is
said in passing stands before the facts until the next thing is said, or for some seconds;
an error stands before that; both go at `hush`. Everything is cleaned here, whoever says it.
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

from kebab_tui.tui.widgets.segments import DOT, clean, cut

if TYPE_CHECKING:
    from rich.style import Style

    from kebab_tui.domain.hit import Notice
    from kebab_tui.domain.query import SearchMode
    from kebab_tui.indexing.status import LiveState
    from kebab_tui.indexing.watcher import WatchKind


Tone = Literal["fact", "strong", "said", "warning", "error"]
TONES: tuple[Tone, ...] = get_args(Tone)
_SAID = 95
_LEAST_CUT = 12
"""A sentence shorter than this says nothing any more."""


@dataclass(frozen=True, slots=True)
class Fact:
    """One piece of the line. The highest priority stays longest; `cut` may lose its end before it goes."""

    text: str
    priority: int
    tone: Tone = "fact"
    cut: bool = False


@dataclass(frozen=True, slots=True)
class StatusContent:
    """What there is to say of an answer and of the index it came from."""

    hits: int | None = None
    """None where nothing was asked; `total` are notes then, else passages."""
    total: int = 0
    milliseconds: float | None = None
    mode: SearchMode = "hybrid"
    raw: bool = False
    complete: bool = True
    index: str = ""
    """The state of the index in a word: live, polling, read-only, 3 pending."""
    progress: str = ""
    """What runs behind the screen, in counts."""
    changed: str = ""
    """The note that changed last, and how soon that was seen."""
    trouble: str = ""
    """Why the index is not kept in step."""
    marked: int = 0
    failed: int = 0
    """Files that could not be read."""
    searching: bool = False
    """The answer takes long enough to be waited for."""
    notices: tuple[Notice, ...] = ()


def facts(status: StatusContent) -> Iterator[Fact]:
    """The pieces of the line, in their order."""
    if status.searching:
        yield Fact("searching", 92, "strong")
    if status.hits is not None:
        yield Fact(_counted(status), 90, "strong")
        if status.milliseconds is not None:
            yield Fact(_duration(status.milliseconds), 20)
    elif status.total:
        yield Fact(f"{status.total:,} {'note' if status.total == 1 else 'notes'}", 50)
    yield Fact("RAW" if status.raw else status.mode, 40)
    if status.marked:
        yield Fact(f"{status.marked:,} marked", 80, "strong")
    if status.index:
        yield Fact(clean(status.index), 30, cut=True)
    if status.changed:
        yield Fact(clean(status.changed), 15)
    if status.progress:
        yield Fact(clean(status.progress), 60, cut=True)
    if status.trouble:
        yield Fact(clean(f"warning: {status.trouble}"), 85, "warning", cut=True)
    if status.failed:
        yield Fact(_failed(status.failed), 65, "warning", cut=True)
    for notice in status.notices:
        yield said(notice, 70 if notice.level == "warning" else 10)


def said(notice: Notice, priority: int) -> Fact:
    """A notice as a piece; a warning says so in a word too."""
    warning = notice.level == "warning"
    text = clean(f"warning: {notice.text}" if warning else notice.text)
    return Fact(text, priority, "warning" if warning else "said", cut=True)


def fitted(pieces: Sequence[Fact], width: int) -> list[Fact]:
    """The pieces that fit beside each other, in their order; one of them may be cut."""
    gap = cell_len(DOT) + 2
    kept: dict[int, Fact] = {}
    room = width
    for place in sorted(range(len(pieces)), key=lambda place: -pieces[place].priority):
        piece, left = pieces[place], room - gap * bool(kept)
        wanted = cell_len(piece.text)
        if wanted > left and (not kept or (piece.cut and left >= _LEAST_CUT)):
            piece = Fact(cut(piece.text, left), piece.priority, piece.tone)
            wanted = cell_len(piece.text)
        if 0 < wanted <= left:
            kept[place] = piece
            room = left - wanted
    return [kept[place] for place in sorted(kept)]


def _counted(status: StatusContent) -> str:
    found = f"{status.hits:,} of {_passages(status.total)}" if status.total else "nothing found"
    return found if status.complete else f"{found} so far"


def _passages(count: int) -> str:
    return f"{count:,} passage" if count == 1 else f"{count:,} passages"


def _failed(count: int) -> str:
    return f"warning: {count:,} {'file' if count == 1 else 'files'} could not be read"


def _duration(milliseconds: float) -> str:
    return f"{milliseconds / 1000:.1f} s" if milliseconds >= 1000 else f"{milliseconds:.0f} ms"


class StatusLine(Widget):
    COMPONENT_CLASSES: ClassVar[set[str]] = {f"status-line--{tone}" for tone in TONES}

    DEFAULT_CSS = """
    StatusLine {
        height: 1;
        & > .status-line--fact { color: $text-muted; }
        & > .status-line--strong { text-style: bold; }
        & > .status-line--said { color: $text-primary; }
        & > .status-line--warning { color: $text-warning; text-style: bold; }
        & > .status-line--error { color: $text-error; text-style: bold reverse; }
    }
    """

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002  as Textual's widgets have it
        super().__init__(id=id)
        self._status = StatusContent()
        self._said: Fact | None = None
        self._error: Fact | None = None

    @property
    def status(self) -> StatusContent:
        return self._status

    def show(self, status: StatusContent) -> None:
        """Replace the facts; what was said and what failed stays."""
        if status != self._status:
            self._status = status
            self.refresh()

    def say(self, notice: Notice, seconds: float | None = None) -> None:
        """Say something in passing, or for some seconds."""
        self._said = spoken = said(notice, _SAID)
        self.refresh()
        if seconds is not None:
            self.set_timer(seconds, partial(self._unsay, spoken))

    def take_back(self, notice: Notice) -> None:
        """It holds no more; nothing where something else has been said since."""
        self._unsay(said(notice, _SAID))

    def _unsay(self, spoken: Fact) -> None:
        if self._said == spoken:
            self._said = None
            self.refresh()

    def fail(self, message: str, hint: str = "") -> None:
        """Say what went wrong and what can be done."""
        ending = f" {DOT} {hint}" if hint else ""
        self._error = Fact(clean(f"error: {message}{ending}"), 100, "error", cut=True)
        self.refresh()

    def hush(self) -> None:
        """Take back what was said and what failed."""
        if self._said or self._error:
            self._said = self._error = None
            self.refresh()

    def render_line(self, y: int) -> Strip:
        width = self.content_size.width
        if y or not width:
            return Strip.blank(width, self.rich_style)
        spoken = [piece for piece in (self._error, self._said) if piece is not None]
        segments: list[Segment] = []
        for piece in fitted([*spoken, *facts(self._status)], width):
            if segments:
                segments.append(Segment(f" {DOT} ", self._style("fact")))
            segments.append(Segment(piece.text, self._style(piece.tone)))
        return Strip(segments).adjust_cell_length(width, self.rich_style)

    def _style(self, tone: Tone) -> Style:
        return self.get_visual_style(f"status-line--{tone}").rich_style


# What the status line says of whoever keeps the index in step. Pure words for plain facts.
#
# How well the folders are watched is one word, with the reason where it is not `live`; then
# what waits, who does it where that is another process, and the last note that changed.

_WORST_FIRST: tuple[WatchKind, ...] = ("paused", "partial", "polling", "live")


@dataclass(frozen=True, slots=True)
class LiveWords:
    """Pieces for the status line, each empty where there is nothing to say."""

    index: str = ""
    """How the folders are watched, and what waits."""
    progress: str = ""
    """What is being done."""
    trouble: str = ""
    """Why the index, or a folder in it, is not kept in step."""
    failed: int = 0


def live_words(live: LiveState | None, own_pid: int) -> LiveWords:
    """The words for a state, None where nobody watches; `own_pid` is the process of this screen."""
    if live is None:
        return LiveWords("not watching")
    pieces = [_watching(live)]
    if live.pending:
        pieces.append(f"{live.pending:,} pending")
    if live.pid != own_pid:
        pieces.append(f"indexed by pid {live.pid}")
    return LiveWords(", ".join(filter(None, pieces)), _progress(live), _trouble(live), live.failed)


def changed_words(path: str, seconds: float | None) -> str:
    """The note that was committed last, and how long after saving it stood on the screen."""
    name = os.path.basename(path)
    return name if seconds is None else f"{name} {seconds:.2f} s"


def _watching(live: LiveState) -> str:
    kinds = {folder.kind: folder.reason for folder in live.folders}
    worst = next((kind for kind in _WORST_FIRST if kind in kinds), None)
    if worst is None:
        return ""
    # Why a folder is paused is a warning of its own.
    return f"{worst} ({kinds[worst]})" if worst in ("partial", "polling") and kinds[worst] else worst


def _trouble(live: LiveState) -> str:
    if live.error is not None:
        return f"{live.error.message}; searching goes on"
    paused = (folder for folder in live.folders if folder.kind == "paused")
    return next((f"{os.path.basename(folder.root)}: {folder.reason}" for folder in paused), "")


def _progress(live: LiveState) -> str:
    phase = live.phase
    if live.given_way_to:
        return f"{live.given_way_to} writes"
    if phase.kind == "reading" and phase.total:
        return f"reading {phase.done:,} of {phase.total:,}"
    if phase.kind == "embedding" and phase.total:
        return f"vectors {phase.done:,} of {phase.total:,}, {phase.rate:,.0f}/s{_left(phase.seconds_left)}"
    return ""


def _left(seconds: float | None) -> str:
    if seconds is None:
        return ""
    if seconds < 90:
        return f", {seconds:.0f} s left"
    minutes = seconds / 60
    return f", {minutes:.0f} min left" if minutes < 90 else f", {minutes / 60:.1f} h left"
