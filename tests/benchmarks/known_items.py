"""How often a note is found again by what a user would type: success@1, @3 and @10 by class.

    python -m tests.benchmarks.known_items [--half dev|last] [--mode hybrid|lexical|vector] [--misses]
                                           [--sample] [--vault FOLDER]

Needs the vault of `make corpus`, .run/vault or FOLDER. The queries (see known_item_queries.py) are generated anew
by each run and written to .run/known_items/queries.tsv. The sample vault and the vault are indexed below
.run/known_items, with vectors: two minutes the first time, then a second, in which only what has changed is read.
Each schema of the index has a folder of its own, data-N; a new one begins as an upgraded copy of the one before,
which keeps its vectors. Remove data-N if the schema changed and its number did not.

A hash of its text puts each query into one of two halves: tune with `--half dev`, measure `last` at the end.
`--misses` lists what was found instead of the right note, of the half `dev` only. `--sample` asks the sample
vault alone: in a small vault a list is sooner empty. A rank counts notes, not passages. Names that several
notes have count apart from the other queries.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

from kebab_tui.domain.query import SearchMode, SearchQuery
from kebab_tui.settings.settings import Settings
from kebab_tui.storage.sqlite.schema import SCHEMA_VERSION
from kebab_tui.workspace import Callbacks, Workspace
from tests.benchmarks.known_item_queries import WRITTEN, Generator, Half, Query, read_vault, written
from tests.benchmarks.measuring import machine, stopwatch

SAMPLE = Path("fixtures/notes")
PLACE = Path(".run/known_items")
CUTOFFS = (1, 3, 10)
GOALS = {
    "all": {1: 0.70, 3: 0.85, 10: 0.92},
    "title": {1: 0.95},
    "alias": {1: 0.95},
    "stem": {1: 0.90},
    "typo": {3: 0.80},
}
_DEPTH = 50
"""Passages per query; a note may have several of them."""
_LISTED = 3
"""Notes that `--misses` shows of each list."""


@dataclass(frozen=True, slots=True)
class Answer:
    query: Query
    found: tuple[str, ...]
    """Ids of notes, best first."""

    @property
    def rank(self) -> int | None:
        return next((rank for rank, note in enumerate(self.found, 1) if note in self.query.right), None)

    def succeeds(self, cutoff: int) -> bool:
        return self.rank is not None and self.rank <= cutoff


def main() -> int:
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    parser.add_argument("--half", choices=get_args(Half))
    parser.add_argument("--mode", choices=get_args(SearchMode), default="hybrid")
    parser.add_argument("--misses", action="store_true")
    parser.add_argument("--vault", type=Path, default=Path(".run/vault"))
    parser.add_argument("--sample", action="store_true")
    given = parser.parse_args()
    if not given.sample and not given.vault.is_dir():
        print(f"no folder {given.vault}: run make corpus, or name one with --vault", file=sys.stderr)
        return 2
    print(machine())
    vaults = [SAMPLE] if given.sample else [SAMPLE, given.vault]
    queries = [
        *Generator([note for vault in vaults for note in read_vault(vault)]).queries(),
        *written(Path(WRITTEN)),
    ]
    halves: list[Half] = ["dev"] if given.misses else [given.half] if given.half else ["dev", "last"]
    place = PLACE / "sample" if given.sample else PLACE
    with closing(_indexed(vaults, place)) as workspace:
        _write(queries, place / "queries.tsv")
        asked = [query for query in queries if query.half in halves]
        with stopwatch() as passed:
            answers = [_ask(workspace, query, given.mode) for query in asked]
        print(f"{len(asked)} queries by {given.mode} search in {passed():.1f} s")
    if given.misses:
        _print_misses(answers)
        return 0
    for half in halves:
        _print_table(f"half {half}", [answer for answer in answers if answer.query.half == half])
    if len(halves) > 1:
        _print_table("both halves", answers)
    return 0


def _indexed(vaults: Sequence[Path], place: Path) -> Workspace:
    """An index of these vaults with the vectors of all passages."""
    data = place / f"data-{SCHEMA_VERSION}"
    older = [folder for version in range(SCHEMA_VERSION) if (folder := place / f"data-{version}").exists()]
    if older and not data.exists():
        shutil.copytree(older[-1], data)
    data.mkdir(parents=True, exist_ok=True)
    workspace = Workspace(Settings(), str(data))
    with stopwatch() as passed:
        workspace.ingest([str(vault) for vault in vaults], Callbacks())
        workspace.embed(Callbacks())
    print(f"{data} indexed in {passed():.1f} s")
    return workspace


def _write(queries: Iterable[Query], path: Path) -> None:
    with path.open("w", encoding="utf-8") as file:
        for query in queries:
            ambiguous = "ambiguous" if query.ambiguous else ""
            print(query.group, query.half, ambiguous, query.text, *sorted(query.right), sep="\t", file=file)


def _ask(workspace: Workspace, query: Query, mode: SearchMode) -> Answer:
    response = workspace.search(SearchQuery(query.text, mode, k=_DEPTH))
    assert response.mode == mode, f"{query.text}: answered by {response.mode} search"
    return Answer(query, tuple(dict.fromkeys(f"{Path(hit.root).name}/{hit.path}" for hit in response.hits)))


def _print_table(title: str, answers: Sequence[Answer]) -> None:
    print(f"\n{title:<22}{'n':>5}{'@1':>8}{'@3':>8}{'@10':>8}{'empty':>8}")
    certain = [answer for answer in answers if not answer.query.ambiguous]
    for group in dict.fromkeys(answer.query.group for answer in certain):
        _print_row(group, [answer for answer in certain if answer.query.group == group])
    _print_row("all", certain)
    shared = [answer for answer in answers if answer.query.ambiguous]
    for group in dict.fromkeys(answer.query.group for answer in shared):
        _print_row(f"{group}, ambiguous", [answer for answer in shared if answer.query.group == group])
    empty = sum(not answer.found for answer in answers if answer.query.group == "typo")
    print(f"{'empty lists for one-letter slips':<51}{empty:>8}  goal 0 {'met' if not empty else 'MISSED'}")


def _print_row(name: str, answers: Sequence[Answer]) -> None:
    if not answers:
        return
    shares = {cutoff: sum(one.succeeds(cutoff) for one in answers) / len(answers) for cutoff in CUTOFFS}
    empty = sum(not answer.found for answer in answers)
    goals = "".join(
        f"  goal @{cutoff} >= {goal:.2f} {'met' if shares[cutoff] >= goal else 'MISSED'}"
        for cutoff, goal in GOALS.get(name, {}).items()
    )
    shown = "".join(f"{share:>8.3f}" for share in shares.values())
    print(f"{name:<22}{len(answers):>5}{shown}{empty:>8}{goals}")


def _print_misses(answers: Iterable[Answer]) -> None:
    """Every query whose first note is wrong, with the rank of the right one."""
    for answer in answers:
        if answer.rank != 1:
            query = answer.query
            more = f" and {len(query.right) - 1} more" if len(query.right) > 1 else ""
            print(f"\n{query.group}{', ambiguous' * query.ambiguous}: {query.text}")
            print(f"  rank {answer.rank or 'none'}: {min(query.right)}{more}")
            for note in answer.found[:_LISTED]:
                print(f"  found  {note}")


if __name__ == "__main__":
    sys.exit(main())
