"""Two indexers follow a folder that changes all the time, and every citation is compared with its file.

python -m tests.torture.churn [SECONDS] [SEED] [--notes N]

A hit that is not stale says: the file that has this stamp holds this text at these lines. So the
verifier takes the stamp that the search saw, reads the file, and compares what it read with the hit.
Afterwards the index must equal one that is made anew from the same folder, vectors included.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from dataclasses import dataclass, field, fields
from subprocess import Popen

from kebab_tui.domain.citation import SourceSpan
from kebab_tui.domain.document import Fingerprint, fingerprint_of
from kebab_tui.domain.errors import UnsuitableFileError
from kebab_tui.domain.hit import SearchHit
from kebab_tui.domain.query import SearchMode, SearchQuery
from kebab_tui.formats.decode import decode
from kebab_tui.search.ports import FileState, FoundChunk
from kebab_tui.storage.sqlite.catalogue import StoreCatalogue
from kebab_tui.workspace import Workspace
from tests.torture import meaning
from tests.torture.aftermath import differences
from tests.torture.churner import Churner
from tests.torture.company import ended, indexer, keeps, settled, until
from tests.torture.edits import WORDS
from tests.torture.models import REAL, write_models
from tests.torture.scenes import index
from tests.torture.victim import SETTINGS

_PATIENCE_S = 600.0
_HITS = 15
_CLOCKS_APART_NS = 100_000_000
"""A file may be stamped with a time that is this much earlier or later than ours."""
_LAST_WORD = "quokkaquokka"


@dataclass(slots=True)
class Tally:
    """What came of comparing hits with files; `unequal` alone is wrong."""

    queries: int = 0
    hits: int = 0
    equal: int = 0
    """The lines of the file are the text of the hit."""
    stale: int = 0
    """Reported as changed or gone since it was indexed."""
    changed: int = 0
    """The file was changed, moved or removed between the search and the reading."""
    torn: int = 0
    """It was changed while it was read, or read in the instant of its change."""
    located: int = 0
    """Stale hits whose text was found again, at the lines where the file has it."""
    unequal: list[str] = field(default_factory=list)

    def take(self, other: Tally) -> None:
        for part in fields(self):
            setattr(self, part.name, getattr(self, part.name) + getattr(other, part.name))


@dataclass(slots=True)
class Churned:
    """All figures of one run."""

    notes: int = 0
    operations: int = 0
    tally: Tally = field(default_factory=Tally)
    complaints: list[str] = field(default_factory=list)
    """Differences from a fresh index, and indexers that did not do as they should."""
    compared: dict[str, int] = field(default_factory=dict)
    """How many rows of each kind the fresh index has."""
    rss_mb: list[tuple[int, int]] = field(default_factory=list)
    """Of each indexer at the start and at the end; empty where the system does not tell."""

    def lines(self) -> Iterator[str]:
        found = self.tally
        yield f"{self.notes:,} notes, {self.operations:,} operations, {found.queries:,} queries"
        yield (
            f"{found.hits:,} hits: {found.equal:,} equal, {found.stale:,} stale ({found.located:,} located), "
            f"{found.changed:,} changed since, {found.torn:,} torn, {len(found.unequal):,} unequal"
        )
        rows = ", ".join(f"{count:,} {kind}" for kind, count in self.compared.items())
        yield f"compared with a fresh index: {rows}; {len(self.complaints):,} differences"
        yield from (f"indexer: {start} MB at the start, {end} MB at the end" for start, end in self.rss_mb)
        yield from found.unequal
        yield from self.complaints


@dataclass(frozen=True, slots=True)
class Plan:
    """`operations` ends the churn, or `seconds`, whichever comes first. `pause_s` is the mean."""

    notes: int
    seed: int
    model: str
    operations: int = sys.maxsize
    seconds: float = float("inf")
    verifiers: int = 1
    pause_s: float = 0.03


def churn(plan: Plan, place: str) -> Churned:
    """Everything below the folder `place`: notes, index and the fresh index."""
    notes, data = os.path.join(place, "notes"), os.path.join(place, "data")
    churner = Churner(notes, plan.seed)
    churner.fill(plan.notes)
    if plan.model != REAL:
        write_models(data)
    index(notes, data, plan.model)
    done = Churned(plan.notes)
    with ExitStack() as stack, closing(Workspace(SETTINGS, data)) as workspace:
        first = stack.enter_context(indexer(data, notes))
        until(lambda: keeps(workspace, first), "an indexer at work", _PATIENCE_S)
        second = stack.enter_context(indexer(data, notes))
        done.complaints += settled(data, first, _PATIENCE_S)
        before = [_rss_mb(process) for process in (first, second)]
        _change_and_verify(plan, data, churner, done)
        _wait_for_the_last_change(workspace, notes)
        done.complaints += settled(data, first, _PATIENCE_S)
        after = [_rss_mb(process) for process in (first, second)]
        done.rss_mb = [pair for pair in zip(before, after, strict=True) if all(pair)]
        for process in (second, first):
            done.complaints += ended(process)
        done.complaints += meaning.left_behind(workspace)
        done.complaints += _compare(workspace, notes, os.path.join(place, "fresh"), plan.model, done.compared)
    return done


def _change_and_verify(plan: Plan, data: str, churner: Churner, done: Churned) -> None:
    over = threading.Event()
    with ThreadPoolExecutor(plan.verifiers) as pool:
        try:
            tallies = [pool.submit(verify, data, plan.seed + turn, over) for turn in range(plan.verifiers)]
            _change(plan, churner)
        finally:
            over.set()
        for tally in tallies:
            done.tally.take(tally.result())
    done.operations = churner.operations


def _change(plan: Plan, churner: Churner) -> None:
    dice = random.Random(plan.seed)
    end = time.monotonic() + plan.seconds
    while churner.operations < plan.operations and time.monotonic() < end:
        churner.change()
        if dice.random() < 0.7:  # else two at once
            time.sleep(dice.random() * 2 * plan.pause_s)


def _wait_for_the_last_change(workspace: Workspace, notes: str) -> None:
    """Events come in order, and a note that is missing goes after one that went before it.

    So once a last note was found and is found no more, all changes before it are in the index.
    """
    query, path = SearchQuery(_LAST_WORD, mode="lexical"), os.path.join(notes, "the last note.md")
    with open(path, "w", encoding="utf-8") as handle:
        handle.write(f"# {_LAST_WORD}\n")
    until(lambda: workspace.search(query).hits, "the last note in the index", _PATIENCE_S)
    os.remove(path)
    until(lambda: not workspace.search(query).hits, "the last note gone from the index", _PATIENCE_S)


def _rss_mb(process: Popen[bytes]) -> int:
    try:
        with open(f"/proc/{process.pid}/status", encoding="ascii") as handle:
            return next(int(line.split()[1]) // 1024 for line in handle if line.startswith("VmRSS"))
    except OSError:
        return 0


# Comparing hits with files


def verify(data: str, seed: int, over: threading.Event) -> Tally:
    """Search and compare until it is over."""
    dice = random.Random(seed)
    with closing(Workspace(SETTINGS, data)) as workspace:
        verifier = _Verifier(workspace)
        while True:
            verifier.ask(_query(dice))
            if over.is_set():
                return verifier.tally


def _query(dice: random.Random) -> SearchQuery:
    words = dice.sample(WORDS, dice.randint(1, 2))
    text = dice.choice(("{}", '"{}"', "{}", "path:notes {}", "tag:port {}")).format(" ".join(words))
    mode: SearchMode = dice.choice(("lexical", "lexical", "hybrid", "vector"))
    return SearchQuery(text, mode=mode, k=_HITS)


class _Verifier:
    def __init__(self, workspace: Workspace) -> None:
        self.tally = Tally()
        self._workspace = workspace
        self._seen: dict[bytes, Fingerprint] = {}
        """The stamps under which files were indexed, as the last search saw them."""
        engine = workspace._parts.engine
        self._probe = engine._probe
        engine._probe = self._remember

    def _remember(self, found: FoundChunk) -> FileState:
        self._seen[found.document.raw_path] = found.document.fingerprint
        return self._probe(found)

    def ask(self, query: SearchQuery) -> None:
        began_ns = time.time_ns()
        for hit in self._workspace.search(query).hits:
            self.tally.hits += 1
            if hit.stale:
                self.tally.stale += 1
                self._verify_located(hit)
            else:
                self._verify(hit, began_ns)
        self.tally.queries += 1

    def _verify(self, hit: SearchHit, began_ns: int) -> None:
        tally, stamp = self.tally, self._seen[hit.raw_path]
        lines, before, after = _read(hit)
        cited = _cited(lines, hit.citation.span)
        if before == stamp and cited == hit.text:
            tally.equal += 1
        elif before != stamp:
            if before and _is_being_truncated(before, stamp):
                tally.torn += 1
            elif before and _should_have_been_seen(stamp, before, began_ns):
                seen = f"indexed as {stamp}, found as {before}"
                tally.unequal.append(f"{hit.citation} had changed before the search: {seen}")
            else:
                tally.changed += 1
        elif before != after or self._was_torn(hit, stamp):
            tally.torn += 1
        else:
            tally.unequal.append(f"{hit.citation} is {cited!r}, not {hit.text!r}")

    def _was_torn(self, hit: SearchHit, stamp: Fingerprint) -> bool:
        """Whether the next reading differs: a file's content and its stamp do not change in one instant."""
        lines, before, after = _read(hit)
        return (before, after) != (stamp, stamp) or _cited(lines, hit.citation.span) == hit.text

    def _verify_located(self, hit: SearchHit) -> None:
        """Where the text is said to stand in the present file, there it stands."""
        _, before, _ = _read(hit)
        located = self._workspace.locate(hit)
        lines, _, after = _read(hit)
        if located.state not in ("same", "moved") or before is None:
            return
        if _cited(lines, located.span) == hit.text:
            self.tally.located += 1
        elif before != after:
            self.tally.torn += 1
        else:
            said = f"{hit.citation.path}:{located.span.lines}"
            self.tally.unequal.append(f"{hit.citation} is not {located.state} at {said}")


def _read(hit: SearchHit) -> tuple[Sequence[str], Fingerprint | None, Fingerprint | None]:
    """The lines of a file, and its stamps before and after; None where it is not there."""
    path = os.path.join(os.fsencode(hit.root), hit.raw_path)
    before = _stamp(path)
    try:
        with open(path, "rb") as handle:
            lines: Sequence[str] = decode(handle.read()).lines
    except (OSError, UnsuitableFileError):
        lines = ()
    return lines, before, _stamp(path)


def _stamp(path: bytes) -> Fingerprint | None:
    try:
        return fingerprint_of(os.lstat(path))
    except OSError:
        return None


def _cited(lines: Sequence[str], span: SourceSpan) -> str:
    return "\n".join(lines[span.first - 1 : span.last])


def _is_being_truncated(present: Fingerprint, indexed: Fingerprint) -> bool:
    """ext4 shows the new size of a file for a while before it shows the time of that change."""
    return (present.inode, present.ctime_ns) == (indexed.inode, indexed.ctime_ns)


def _should_have_been_seen(indexed: Fingerprint, present: Fingerprint, began_ns: int) -> bool:
    """Whether the same file was changed before the search: it should have been reported as stale.

    Another file may have come from elsewhere, together with its folder: its times tell nothing.
    """
    return indexed.inode == present.inode and present.ctime_ns < began_ns - _CLOCKS_APART_NS


# Comparing the index with a fresh one

_VECTORS = (
    "SELECT d.path, c.ordinal, c.embed_hash, c.hangul, c.page, e.vector "
    "FROM chunks c JOIN documents d USING (doc_id) "
    "LEFT JOIN embeddings e ON e.text_hash = c.embed_hash AND e.model = '{}' ORDER BY d.raw_path, c.ordinal"
)


def _compare(
    workspace: Workspace, notes: str, scratch: str, model: str, compared: dict[str, int]
) -> Iterator[str]:
    if model != REAL:
        write_models(scratch)
    index(notes, scratch, model)
    with closing(Workspace(SETTINGS, scratch)) as fresh:
        yield from differences(workspace, fresh)
        fingerprint = fresh._parts.semantics.card().fingerprint
        ours, theirs = (_rows(one, _VECTORS.format(fingerprint)) for one in (workspace, fresh))
        if odd := {*ours} ^ {*theirs}:
            yield f"{len(odd)} rows have another vector than in a fresh index: {odd.pop()[:3]}"
        if missing := sum(row[-1] is None for row in theirs):
            yield f"the fresh index lacks {missing} vectors"
        for kind in ("documents", "facets", "chunks"):
            compared[kind] = len(_rows(fresh, f"SELECT 1 FROM {kind}"))
        compared["vectors"] = len({row[2] for row in theirs})


def _rows(workspace: Workspace, statement: str) -> list[tuple[object, ...]]:
    with workspace._parts.index.reader.catalogue() as catalogue:
        assert isinstance(catalogue, StoreCatalogue)
        return list(catalogue._connection.execute(statement))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m tests.torture.churn", description=__doc__)
    parser.add_argument("seconds", type=float, nargs="?", default=75.0)
    parser.add_argument("seed", type=int, nargs="?", default=1)
    parser.add_argument("--notes", type=int, default=2000)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="kebab-churn-") as folder:
        found = churn(Plan(given.notes, given.seed, REAL, seconds=given.seconds, verifiers=2), folder)
    print(*found.lines(), sep="\n")
    sys.exit(bool(found.tally.unequal or found.complaints))
