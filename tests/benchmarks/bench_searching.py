"""How quickly a large index answers, follows an edit, opens, and how much memory it takes.

    python -m tests.benchmarks.bench_searching FOLDER [--real N]

FOLDER: real notes of 100,000 passages or more. The first N passages (1,000 unless told)
get vectors from the bundled model, the others noisy copies of those: embedding them all
takes half an hour and changes no latency. One process, warm cache.
"""

from __future__ import annotations

import argparse
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from kebab_tui.domain.change import SaveNote
from kebab_tui.domain.document import Source
from kebab_tui.domain.query import SearchFilters, SearchMode, SearchQuery
from kebab_tui.domain.text import embedded_text
from kebab_tui.embedding.encoder import Encoder
from kebab_tui.embedding.model_folders import BUNDLED_MODEL, ModelCatalogue
from kebab_tui.settings.settings import Settings
from kebab_tui.storage.lock import DataFolder
from kebab_tui.storage.sqlite.catalogue import StoreCatalogue
from kebab_tui.storage.sqlite.writer import StoreWriter
from kebab_tui.workspace import Workspace
from tests.benchmarks.bench_lexical_index import load_store
from tests.benchmarks.measuring import Figure, machine, median, notes_of, percentile, report, seconds
from tests.vectors.making import Floats

CHUNKS = 100_000
_QUERIES = 120
_NOISE = 0.4
_OPEN = """
import os, sys, time
from kebab_tui.domain.query import SearchQuery
from kebab_tui.settings.settings import Settings
from kebab_tui.workspace import Workspace
from tests.benchmarks.screen.process import peak_mb

start = time.perf_counter()
Workspace(Settings(), sys.argv[1]).search(SearchQuery("a first question", mode="hybrid"))
print(time.perf_counter() - start, peak_mb(os.getpid()))
"""


def give_vectors(root: str, real: int, *, whole: bool = True) -> None:
    """Store the vectors of every passage: the model's for the first ones, noisy copies for the rest.

    `whole`: of all their parts; else of their beginnings alone.
    """
    workspace = Workspace(Settings(), root)
    card = ModelCatalogue(root).find(BUNDLED_MODEL)
    reader = workspace._parts.index.reader
    with reader.vectors(card.fingerprint) as source:
        pending = source.pending(10 * CHUNKS)
    texts = [embedded_text(text.title, text.heading_path, text.text) for text in pending[:real]]
    parents = [vectors if whole else vectors[:1] for vectors in Encoder(card).passages(texts)]
    dice = np.random.default_rng(7)
    blobs = [vectors.astype(np.float16).tobytes() for vectors in parents]
    copies = dice.integers(0, len(parents), len(pending) - len(parents))
    blobs += [noisy(parents[parent], dice).astype(np.float16).tobytes() for parent in copies]
    print(f"{sum(map(len, blobs)) // (2 * card.dims):,} vectors of {len(blobs):,} passages")
    writer = StoreWriter(DataFolder(root))
    hashes = [text.text_hash for text in pending]
    writer.save_vectors(card.fingerprint, list(zip(hashes, blobs, strict=True)))
    writer.close()
    workspace._parts.semantics.save()
    workspace.close()


def noisy(parts: Floats, dice: np.random.Generator) -> Floats:
    """The vectors of another text of similar meaning."""
    noise = dice.standard_normal(parts.shape).astype(np.float32)
    copies = parts + noise * np.float32(_NOISE / np.sqrt(parts.shape[1]))
    copies /= np.linalg.norm(copies, axis=1, keepdims=True)
    return copies


def queries_from(notes: Sequence[SaveNote], words: int, dice: random.Random) -> list[str]:
    """Neighbouring words of random passages, as somebody would remember them."""
    found: list[str] = []
    while len(found) < _QUERIES:
        passages = dice.choice(notes).passages
        text = dice.choice(passages).text.split() if passages else []
        if len(text) > words + 8:
            start = dice.randrange(len(text) - words)
            found.append(" ".join(text[start : start + words]).replace("'", " "))
    return found


def latencies(ask: Callable[[SearchQuery], object], queries: Sequence[SearchQuery]) -> list[float]:
    return [1000 * seconds(partial(ask, query)) for query in queries]


def lexical(workspace: Workspace, notes: Sequence[SaveNote]) -> list[Figure]:
    dice = random.Random(1)
    few = [
        SearchQuery(text, "lexical") for words in (1, 2, 3, 4) for text in queries_from(notes, words, dice)
    ]
    typed = [
        SearchQuery(text[: dice.randint(2, 5)], "lexical", typing=True)
        for text in queries_from(notes, 1, dice)
    ]
    typed = [query for query in typed if len(query.text.strip()) >= 2]
    with workspace._parts.index.reader.catalogue() as catalogue:
        assert isinstance(catalogue, StoreCatalogue)
        top = catalogue._connection.execute("SELECT word FROM words ORDER BY seen DESC LIMIT 40").fetchall()
    common = [SearchQuery(word, "lexical") for (word,) in top]
    first = latencies(
        lambda query: workspace._parts.engine.search(query, first_answer=True), [*typed, *common]
    )
    quick = latencies(lambda query: workspace._parts.engine.search(query, first_answer=True), few)
    rare = latencies(workspace.search, few)
    full = latencies(workspace.search, common)
    selective = median(rare)
    scan = median(latencies(lambda query: _scan(notes, query.text), few[:10]))
    return [
        Figure("1-4 words, first answer, p50", median(quick), "ms"),
        Figure("1-4 words, first answer, p95", percentile(quick, 0.95), "ms", 8.0),
        Figure("1-4 words, full ranking, p50", selective, "ms"),
        Figure("1-4 words, full ranking, p95", percentile(rare, 0.95), "ms"),
        Figure("while typing, first answer, p50", median(first), "ms"),
        Figure("while typing, first answer, p95", percentile(first, 0.95), "ms", 8.0),
        Figure("full ranking of the 40 commonest words, p95", percentile(full, 0.95), "ms", 120.0),
        Figure("a plain scan of the same text / 1-4 words, p50", scan / selective, "x"),
    ]


def _scan(notes: Sequence[SaveNote], text: str) -> int:
    """What a search without an index does, in memory at that."""
    return sum(text in passage.text for note in notes for passage in note.passages)


def hybrid(workspace: Workspace, notes: Sequence[SaveNote]) -> list[Figure]:
    """Words as they stand in the text, two to four at a time; then single ones, stop words and all."""
    dice = random.Random(2)
    texts = [text for words in (2, 3, 4) for text in queries_from(notes, words, dice)]
    single = [SearchQuery(text, "hybrid") for text in queries_from(notes, 1, dice)]
    workspace.search(SearchQuery("warm up", "hybrid"))
    found = {
        mode: latencies(workspace.search, [SearchQuery(text, mode) for text in texts]) for mode in _MODES
    }
    alone = latencies(workspace.search, single)
    some = tuple(note.document.doc_id for note in notes[::100])
    narrow = SearchFilters(doc_ids=some)
    filtered = latencies(workspace.search, [SearchQuery(text, "hybrid", filters=narrow) for text in texts])
    both, words = found["hybrid"], found["lexical"]
    return [
        Figure("lexical, 2-4 words, p50", median(words), "ms"),
        Figure("hybrid, 2-4 words, p50", median(both), "ms", 9.5),
        Figure("hybrid, 2-4 words, p95", percentile(both, 0.95), "ms", 25.0),
        Figure("hybrid, any single word, p50", median(alone), "ms", 10.0),
        Figure("hybrid, any single word, p95", percentile(alone, 0.95), "ms", 40.0),
        Figure("hybrid with a 1 % filter / without, p50", median(filtered) / median(both), "x", 1.0),
    ]


_MODES: tuple[SearchMode, ...] = ("lexical", "hybrid")

HEAVY = (
    '"element" OR ("worker" AND "array")',
    "(element OR value) (array OR object) (string OR number)",
    '("the value" OR "the element") -string',
    "(the AND element) OR (a AND worker) OR (of AND array)",
    '"of the" OR (to AND array) OR (in AND worker)',
    "element* OR value* OR property*",
    "(cont* OR pod*) AND clust*",
    "css* -html* -svg*",
    '(web AND api) OR (css AND property) OR "http header"',
    "(the AND prop*) OR (array AND worker*)",
    "how do i make an element move to the next line when the window gets small",
    "파드 OR 노드 OR 클러스터",
    "쿠버네티스에서 API를 쓰려면 kubectl을 어떻게 설치하나요",
    '"쿠버네티스 클러스터" OR (파드 AND 컨테이너)',
    "파드* OR 서비스*",
    "수 있다 것이다 하는 이",
    "API서버 kube프록시 etcd클러스터",
    "컨테이너 OR container OR 이미지 OR image",
    "'element OR (worker AND array)'",
    "'(the AND value) OR (a AND element) OR prop*'",
)
"""Questions whose words are common, and stand in groups: each took long once, or might."""


def heavy(workspace: Workspace) -> list[Figure]:
    """Processor time, all threads of the process; the worse of both modes' medians of five."""
    found = []
    for text in HEAVY:
        spent = {
            mode: median([_processor_ms(workspace, SearchQuery(text, mode)) for _ in range(5)])
            for mode in _MODES
        }
        mode, worst = max(spent.items(), key=lambda one: one[1])
        found.append(Figure(f"{mode}: {text}"[:64], worst, "ms", 60.0))
    return found


def _processor_ms(workspace: Workspace, query: SearchQuery) -> float:
    workspace._parts.index.reader.close()  # it remembers the latest rankings
    workspace.search(SearchQuery("the quick brown fox", query.mode))
    start = time.process_time()
    workspace.search(query)
    return 1000 * (time.process_time() - start)


def edits(root: str, notes: Sequence[SaveNote]) -> list[Figure]:
    """One passage of one note is rewritten, again and again."""
    dice = random.Random(3)
    writer = StoreWriter(DataFolder(root))
    notes = [note for note in notes if note.passages]
    taken = []
    for number in range(300):
        note = dice.choice(notes)
        place = dice.randrange(len(note.passages))
        edited = replace(note.passages[place], text=f"{note.passages[place].text} edit {number}")
        passages = (*note.passages[:place], edited, *note.passages[place + 1 :])
        changed = replace(note, passages=passages)
        taken.append(1000 * seconds(partial(writer.apply, [changed])))
    writer.close()
    return [
        Figure("one edited note, p50", median(taken), "ms", 1.0),
        Figure("one edited note, p99", percentile(taken, 0.99), "ms", 30.0),
    ]


def opening(root: str) -> list[Figure]:
    runs = [
        subprocess.run(
            [sys.executable, "-c", _OPEN, root], capture_output=True, text=True, check=True
        ).stdout.split()
        for _ in range(5)
    ]
    return [
        Figure(
            "open and answer the first hybrid query, imports left out",
            median([float(r[0]) for r in runs]),
            "s",
            1.0,
        ),
        Figure("memory of that process at its peak", max(float(r[1]) for r in runs), "MB", 350.0),
    ]


def reconcile(folder: str) -> list[Figure]:
    """An unchanged folder is looked at again; processor time, as the file cache is warm."""
    with tempfile.TemporaryDirectory() as root:
        os.makedirs(root, exist_ok=True)
        workspace = Workspace(Settings(), root)
        from kebab_tui.workspace import Callbacks

        workspace.ingest([folder], Callbacks())
        before = resource.getrusage(resource.RUSAGE_SELF)
        elapsed = seconds(lambda: workspace.ingest([folder], Callbacks()))
        after = resource.getrusage(resource.RUSAGE_SELF)
        with workspace._parts.index.reader.catalogue() as catalogue:
            files = catalogue.figures().documents
        workspace.close()
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return [
        Figure("files", files, ""),
        Figure("unchanged folder, each file, processor", 1e6 * spent / files, "us", 22.0),
        Figure("unchanged folder, each file, wall", 1e6 * elapsed / files, "us"),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder")
    parser.add_argument("--real", type=int, default=1_000)
    given = parser.parse_args()
    print(machine())
    report("reconcile", reconcile(given.folder))
    notes = notes_of(given.folder, CHUNKS)
    with tempfile.TemporaryDirectory() as root:
        load_store(notes, root)
        StoreWriter(DataFolder(root)).save_sources([Source(notes[0].document.source, "bench", given.folder)])
        workspace = Workspace(Settings(), root)
        report(f"search by words, {CHUNKS:,} passages", lexical(workspace, notes))
        report("edits", edits(root, notes))
        give_vectors(root, given.real)
        report("search by both", hybrid(workspace, notes))
        report("heavy questions, processor time", heavy(workspace))
        workspace.close()
        report("opening", opening(root))


if __name__ == "__main__":
    main()
