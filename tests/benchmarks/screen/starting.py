"""From the start of the process to what it paints: the screen beside a minimal application.

The programs take turns, round after round; the first round compiles and is not counted.
A screen stands when its last part does: the footer, in both.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from tests.benchmarks.measuring import Figure, median
from tests.benchmarks.screen.minimal import READY
from tests.benchmarks.screen.terminal import ALL_HITS, FIRST_HITS, SCREEN, Terminal, shows

_MINIMAL = (sys.executable, "-m", "tests.benchmarks.screen.minimal")
_FOOTER = "commands"
Painted = Callable[[bytes], bool]


@dataclass(frozen=True, slots=True)
class Start:
    """A program and, in their order, the moments to take the time of."""

    argv: Sequence[str]
    moments: Mapping[str, Painted]
    environ: Mapping[str, str] = field(default_factory=dict)


def _minimal() -> Start:
    return Start(_MINIMAL, {"first": shows(READY), "stands": shows("Copy")})


def _screen(data: str, query: str) -> Start:
    moments = {
        "first": shows(query or "a phrase"),
        "stands": shows(_FOOTER),
        **({"lexical": FIRST_HITS, "hybrid": ALL_HITS} if query else {}),
    }
    return Start((*SCREEN, "--data-dir", data, *(["--query", query] if query else [])), moments)


def _peers(home: str) -> dict[str, Start]:
    """Other programs, where the PATH has them, and a word that each has painted last."""
    lines = os.path.join(home, "lines.txt")
    with open(lines, "w", encoding="utf-8") as file:
        file.writelines(f"notes/folder/note-{number:04}.md:{number}\n" for number in range(2_000))
    known = {
        "posting": Start(("posting",), {"stands": shows("Send")}),
        "harlequin": Start(("harlequin",), {"stands": shows("Query Editor")}),
        "fzf": Start(("fzf",), {"stands": shows("2000/2000")}, {"FZF_DEFAULT_COMMAND": f"cat {lines}"}),
    }
    return {
        name: Start((path, *start.argv[1:]), start.moments, start.environ)
        for name, start in known.items()
        if (path := shutil.which(name)) is not None
    }


def measure(
    small: tuple[str, str], large: tuple[str, str], environ: Mapping[str, str], rounds: int
) -> list[Figure]:
    """`small` and `large` are data folders, each with a query."""
    starts = {
        "minimal": _minimal(),
        "screen": _screen(small[0], ""),
        "asked": _screen(*small),
        "large": _screen(*large),
        **(peers := _peers(environ["HOME"])),
    }
    taken: dict[str, dict[str, list[float]]] = {name: {} for name in starts}
    for number in range(rounds + 1):
        for name, start in starts.items():
            for moment, seconds in _run(start, environ).items():
                if number:
                    taken[name].setdefault(moment, []).append(seconds)
    return _figures(taken, list(peers))


def _run(start: Start, environ: Mapping[str, str]) -> dict[str, float]:
    with Terminal(start.argv, {**environ, **start.environ}) as terminal:
        found = terminal.wait_for_each(start.moments)
        return {name: at - terminal.started for name, at in found.items()}


def _figures(taken: Mapping[str, Mapping[str, list[float]]], peers: Sequence[str]) -> list[Figure]:
    middle = {
        (name, moment): median(seconds) for name, found in taken.items() for moment, seconds in found.items()
    }
    base = middle["minimal", "stands"]

    def ratio(name: str, moment: str) -> float:
        return middle[name, moment] / base

    return [
        Figure("a minimal Textual application stands", 1000 * base, "ms"),
        Figure("its first frame", 1000 * middle["minimal", "first"], "ms"),
        Figure("the screen stands / that stands", ratio("screen", "stands"), "x", 1.15),
        Figure(
            "its first frame / the first frame of that",
            middle["screen", "first"] / middle["minimal", "first"],
            "x",
        ),
        Figure("hits of --query by words, sample notes", ratio("asked", "lexical"), "x", 1.3),
        Figure("hits of --query by both, sample notes", ratio("asked", "hybrid"), "x", 2.5),
        Figure("hits of --query by words, 100,000 passages", ratio("large", "lexical"), "x", 1.3),
        Figure("hits of --query by both, 100,000 passages", ratio("large", "hybrid"), "x", 2.5),
        *(Figure(f"{name} stands", ratio(name, "stands"), "x") for name in peers),
    ]
