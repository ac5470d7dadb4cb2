"""From a key to its echo in the query line, searching and not, and while an index is built.

Two screens stand at once on the same 100,000 passages; one never searches. The same words
are typed into both in turn, at the pace of a quick typist.
"""

from __future__ import annotations

import os
import random
import re
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from kebab_tui.indexing.status import read_live
from tests.benchmarks.measuring import Figure, percentile
from tests.benchmarks.screen.process import rss_mb
from tests.benchmarks.screen.terminal import SCREEN, Terminal, shows, uncoloured
from tests.benchmarks.screen.vaults import INDEXER
from tests.vault import index_in

_NO_SEARCH = (SCREEN[0], "-m", "tests.benchmarks.screen.no_search")
_QUERY_ROW = re.compile(rb"\x1b\[2;\d+H(?:[^\x1b]|\x1b\[2;\d+H)*")
"""What is painted into the second row, where the box is on a screen of 120x36."""
_PLACE = re.compile(rb"\x1b\[2;\d+H")
_CLEAR = "\x15"
_PACE_S = (0.11, 0.21)
_REST_S = 0.4
_PATIENCE_S = 120.0
_IMPERCEPTIBLE_MS = 0.3
"""So much more meets a goal, whatever the ratio."""
_WORD = re.compile(r"[a-zA-Z가-힣]{3,}")


@dataclass(frozen=True, slots=True)
class Echoes:
    """Milliseconds from key to echo."""

    searching: list[float]
    silent: list[float]


def measure(data: str, growing: str, notes: str, environ: Mapping[str, str], queries: int) -> list[Figure]:
    words = list(queries_of(notes, 2 * queries))
    argument = ("--data-dir", data)
    with (
        Terminal((*SCREEN, *argument), environ) as searching,
        Terminal((*_NO_SEARCH, *argument), environ) as silent,
    ):
        for screen in (searching, silent):
            screen.wait_for(shows("commands"))
            screen.settle(2.0)
        quiet = typed(searching, silent, words[:queries])
        with _Building(data, growing, environ) as building:
            end = time.perf_counter() + _PATIENCE_S
            while not building.is_running and time.perf_counter() < end:
                searching.listen(0.1)
            busy = typed(searching, silent, words[queries:])
            was_building = building.is_running
        held = rss_mb(searching.process.pid)
    return [
        *_compared("", quiet, (1.10, 1.15)),
        *_compared("an index being built: ", busy, (None, 1.5)),
        Figure(
            "an index being built: p95 / p95 when quiet, not searching",
            percentile(busy.searching, 0.95) / percentile(quiet.silent, 0.95),
            "x",
        ),
        *([] if was_building else [Figure("the building ended before the typing", 1, "!")]),
        Figure("memory of the screen after that", held, "MB", 300),
    ]


def _compared(when: str, echoes: Echoes, goals: tuple[float | None, float | None]) -> list[Figure]:
    ours, bare = echoes.searching, echoes.silent
    figures = []
    for name, share, goal in (("p50", 0.5, goals[0]), ("p95", 0.95, goals[1])):
        mine, reference = percentile(ours, share), percentile(bare, share)
        most = None if goal is None else max(goal, round(1 + _IMPERCEPTIBLE_MS / reference, 3))
        figures += [
            Figure(f"{when}echo without search, {name}", reference, "ms"),
            Figure(f"{when}echo while searching / that, {name}", mine / reference, "x", most),
        ]
    return figures


def typed(searching: Terminal, silent: Terminal, queries: Sequence[str]) -> Echoes:
    echoes = Echoes([], [])
    for number, query in enumerate(queries):
        turns = [(searching, echoes.searching), (silent, echoes.silent)]
        for screen, found in turns if number % 2 else reversed(turns):
            found += _type(screen, query, random.Random(number))
    return echoes


def _type(screen: Terminal, query: str, dice: random.Random) -> list[float]:
    """Type a query, wait until all is painted, and take it back."""
    pressed: list[tuple[float, int]] = []
    for key in query:
        since = len(screen.pieces)
        pressed.append((screen.press(key), since))
        screen.listen_until(pressed[-1][0] + dice.uniform(*_PACE_S))
    taken = [
        1000 * (screen.wait_for(_echo(query[: place + 1]), since) - at)
        for place, (at, since) in enumerate(pressed)
    ]
    screen.settle(_REST_S)
    screen.press(_CLEAR)
    screen.settle(_REST_S)
    return taken


def _echo(value: str) -> Callable[[bytes], bool]:
    wanted = value.rstrip().encode()
    return lambda data: any(wanted in _PLACE.sub(b"", row) for row in _QUERY_ROW.findall(uncoloured(data)))


class _Building:
    """Another process brings a folder of notes into the index meanwhile: one that watches for a screen."""

    def __init__(self, data: str, growing: str, environ: Mapping[str, str]) -> None:
        self._index = index_in(data)
        self._process = subprocess.Popen(
            [*INDEXER, data, "", growing],
            env=dict(environ),
            stdout=subprocess.DEVNULL,
            start_new_session=True,  # as the screen starts it
        )

    def __enter__(self) -> _Building:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.wait()

    @property
    def is_running(self) -> bool:
        """Whether notes are read or embedded, not only looked for."""
        live = read_live(self._index)
        return live is not None and live.phase.total > 0


def queries_of(notes: str, count: int) -> Iterator[str]:
    """Two or three words that stand beside each other in some note."""
    dice = random.Random(5)
    paths = sorted(os.path.join(folder, name) for folder, _, names in os.walk(notes) for name in names)
    while count:
        with open(dice.choice(paths), encoding="utf-8", errors="replace") as note:
            words = [word for word in _WORD.findall(note.read()) if len(word) < 12]
        if len(words) > 3:
            count -= 1
            start = dice.randrange(len(words) - 3)
            yield " ".join(words[start : start + dice.choice((2, 3))]).lower()
