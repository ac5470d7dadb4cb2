"""What grows with the number of passages: words, common words, filters by path, the latest notes, counts.

    python -m tests.benchmarks.bench_scale DATA_FOLDER [--by-words] [--queries N]

DATA_FOLDER: an index, best of a million passages with vectors; it is only read. The goals are for a million.
Wall time says how busy the machine is, too, so the processor time of the process stands beside it.
`--by-words`: no search by meaning, for an index without vectors.
"""

from __future__ import annotations

import argparse
import random
import re
import time
from collections.abc import Callable, Sequence
from functools import partial

from kebab_tui.domain.query import SearchMode, SearchQuery
from kebab_tui.settings.settings import Settings
from kebab_tui.storage.sqlite.catalogue import StoreCatalogue
from kebab_tui.storage.sqlite.reader import StoreReader
from kebab_tui.storage.sqlite.snapshot import AnswerCache
from kebab_tui.workspace import Workspace
from tests.benchmarks.measuring import Figure, machine, median, percentile, report

_COMMON = 40
_FILTERS = 5
_WORD = re.compile(r"[^\W\d_]{2,}")
_WIDE = 0.2

Times = list[tuple[float, float]]
"""Milliseconds by the clock and of the processor."""


def timed(action: Callable[[], object]) -> tuple[float, float]:
    wall, spent = time.perf_counter(), time.process_time()
    action()
    return 1000 * (time.perf_counter() - wall), 1000 * (time.process_time() - spent)


def spread(name: str, times: Times, p50: float | None = None, p95: float | None = None) -> list[Figure]:
    walls, spent = zip(*times, strict=True)
    return [
        Figure(f"{name}, p50", median(walls), "ms", p50),
        Figure("  by processor time", median(spent), "ms", p50),
        Figure(f"{name}, p95", percentile(walls, 0.95), "ms", p95),
        Figure("  by processor time", percentile(spent, 0.95), "ms", p95),
    ]


def rows(workspace: Workspace, statement: str) -> list[str]:
    with workspace._parts.index.reader.catalogue() as catalogue:
        assert isinstance(catalogue, StoreCatalogue)
        return [row[0] for row in catalogue._connection.execute(statement)]


def questions(workspace: Workspace, count: int) -> list[str]:
    """One to five neighbouring words of titles and headings."""
    dice = random.Random(11)
    last = int(rows(workspace, "SELECT max(id) FROM chunks")[0])
    ids = ", ".join(str(dice.randrange(1, last)) for _ in range(4 * count))
    found: list[str] = []
    for place, heading in enumerate(rows(workspace, f"SELECT heading_path FROM chunks WHERE id IN ({ids})")):
        words, wanted = _WORD.findall(heading), place % 5 + 1
        if len(words) >= wanted:
            start = dice.randrange(len(words) - wanted + 1)
            found.append(" ".join(words[start : start + wanted]))
    return list(dict.fromkeys(found))[:count]


def path_filters(workspace: Workspace) -> tuple[list[str], list[str]]:
    """Narrow and wide ones: parts of paths, folders and globs."""
    paths = rows(workspace, "SELECT path FROM documents ORDER BY doc_id LIMIT 2000")
    dice = random.Random(12)
    narrow, wide = list[str](), list[str]()
    while len(narrow) < _FILTERS or len(wide) < _FILTERS:
        folders = dice.choice(paths).split("/")[:-1]
        if not folders or not all(map(str.isascii, folders)) or " " in "".join(folders):
            continue
        deep = dice.randrange(len(folders)) + 1
        written = ("/".join(folders[:deep]) + "/", folders[deep - 1], f"**/{folders[deep - 1]}/*")
        glob = dice.choice(written)
        share = sum(f"/{folders[deep - 1]}/" in f"/{path}" for path in paths) / len(paths)
        kind = wide if share > _WIDE else narrow
        if len(kind) < _FILTERS and glob not in kind:
            kind.append(glob)
    return narrow, wide


def forget(workspace: Workspace) -> None:
    """As after a commit."""
    reader = workspace._parts.index.reader
    assert isinstance(reader, StoreReader)
    for cache in vars(reader._local).values():
        if isinstance(cache, AnswerCache):
            cache._revision = -2


def measure(workspace: Workspace, count: int, *, by_words: bool) -> None:
    search = workspace.search
    for mode in _modes(by_words):
        search(SearchQuery("a first question", mode))
    asked = questions(workspace, count)

    def each(texts: Sequence[str], mode: SearchMode, *, first: bool = False, anew: bool = False) -> Times:
        found = []
        for text in texts:
            if anew:
                forget(workspace)
            query = SearchQuery(text, mode, typing=first)
            found.append(timed(partial(search, query, first_answer=first)))
        return found

    figures = spread("words, first answer", each(asked, "lexical", first=True))
    figures += spread("words", each(asked, "lexical"), 9, 40)
    if not by_words:
        figures += spread("hybrid", each(asked, "hybrid"), 22, 90)
    report(f"{len(asked)} queries of 1 to 5 words", figures)
    common = rows(workspace, f"SELECT word FROM words ORDER BY seen DESC LIMIT {_COMMON}")
    figures = spread("first answer", each(common, "lexical", first=True))
    for mode in _modes(by_words):
        times = each(common, mode, anew=True)
        figures += [Figure(f"{mode}: {common[0]}", times[0][0], "ms", 150)]
        figures += [Figure("  by processor time", times[0][1], "ms", 150), *spread(mode, times)]
    report(f"the {_COMMON} commonest words", figures)
    for kind, globs in zip(("narrow", "wide"), path_filters(workspace), strict=True):
        filtered = [f"path:{glob} {text}" for glob, text in zip(globs, asked[::7], strict=False)]
        most = 25 if kind == "narrow" else None
        times = each(filtered, "lexical", first=True, anew=True)
        figures = spread("first answer with a new filter", times, most, most)
        times = Times()
        for text in filtered:
            forget(workspace)
            search(SearchQuery(text, "lexical"))
            times += each([f"{text} a"], "lexical", first=True)
        figures += spread("first answer with the same filter", times)
        for mode in _modes(by_words):
            figures += spread(f"{mode} with a new filter", each(filtered, mode, anew=True))
        report(f"{kind} filters by path", figures)
    calls: list[tuple[str, Callable[[], object], float | None]] = [
        ("latest 50 notes", lambda: workspace.recent(50), 80),
        ("sources, counted", workspace.sources, None),
        ("completions", workspace.completions, None),
    ]
    figures = []
    for name, call, goal in calls:
        times = []
        for _ in range(5):
            forget(workspace)
            times.append(timed(call))
        figures += spread(f"{name}, after a commit", times, goal)[:2]
    figures += spread("latest 50 notes, again", [timed(lambda: workspace.recent(50)) for _ in range(5)])[:2]
    report("single calls", figures)


def _modes(by_words: bool) -> tuple[SearchMode, ...]:
    return ("lexical",) if by_words else ("lexical", "hybrid")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder")
    parser.add_argument("--by-words", action="store_true")
    parser.add_argument("--queries", type=int, default=200)
    given = parser.parse_args()
    print(machine())
    workspace = Workspace(Settings(), given.folder)
    passages = rows(workspace, "SELECT count(*) FROM chunks")[0]
    print(f"{int(passages):,} passages")
    measure(workspace, given.queries, by_words=given.by_words)
    workspace.close()
    print(machine())


if __name__ == "__main__":
    main()
