"""Vector search against IndexFlatIP in the same run, and what the index costs besides.

    python -m tests.benchmarks.bench_vectors [--vectors N] [--from EMBEDDINGS.npy] [--dims 384]

Without real embeddings, vectors lie in random clusters; with fewer of them than asked
for, the rest are theirs with noise (cosine to the parent about 0.89). One thread.
"""

from __future__ import annotations

import argparse
import itertools
import os
import resource
import tempfile
from collections.abc import Callable, Iterable, Iterator
from functools import partial

import faiss
import numpy as np

from kebab_tui.search.ports import Vector
from kebab_tui.vectors.faiss_index import FaissIndex, VectorSnapshot, snapshot_of, stored_vectors
from kebab_tui.vectors.file import Saved, read, write
from kebab_tui.vectors.segment import Codes
from kebab_tui.vectors.sync import EXACT_UP_TO
from tests.benchmarks.measuring import Figure, machine, median, report, seconds
from tests.vectors.making import MODEL, DictLog, DictStore, Floats, clustered, normal, only, resolved

K, QUERIES, ROUNDS, BLOCK = 10, 100, 5, 50_000
NOISE = 0.51
FILTERS = (0.001, 0.01, 0.1, 0.5)


def vectors_like(real: Floats, count: int) -> Iterator[Floats]:
    """The real ones, then noisy copies of them, in blocks."""
    dice = np.random.default_rng(7)
    yield real[:count]
    for begin in range(len(real), count, BLOCK):
        parents = real[dice.integers(0, len(real), min(BLOCK, count - begin))]
        noise = dice.standard_normal(parents.shape).astype(np.float32)
        yield normal(parents + normal(noise) * np.float32(NOISE))


def made_of(blocks: Iterable[Floats], dims: int) -> tuple[faiss.IndexFlatIP, Codes]:
    """The reference over the vectors as they are, and what the store would keep of them."""
    flat, kept = faiss.IndexFlatIP(dims), []
    for block in blocks:
        flat.add(block)
        kept.append(block.astype(np.float16))
    return flat, np.concatenate(kept)


def peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def resident_mb() -> float:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


def searches(index: FaissIndex, flat: faiss.IndexFlatIP, queries: Floats) -> list[Figure]:
    """Both sides take turns query by query, and of each query the best round counts: machines are noisy."""
    ours, theirs = np.empty((ROUNDS, len(queries))), np.empty((ROUNDS, len(queries)))
    for turn, (number, query) in itertools.product(range(ROUNDS), enumerate(queries)):
        faiss.omp_set_num_threads(1)
        theirs[turn, number] = seconds(partial(flat.search, query[np.newaxis], K))
        ours[turn, number] = seconds(partial(index.nearest, query, K))
    right = 0
    for query, expected in zip(queries, flat.search(queries, K)[1].tolist(), strict=True):
        right += len({each.row - 1 for each in index.nearest(query, K)} & set(expected))
    ratio = median(ours.min(axis=0).tolist()) / median(theirs.min(axis=0).tolist())
    coarse = index.snapshot.base.is_coarse
    return [
        Figure("IndexFlatIP, p50 of the best rounds", median(theirs.min(axis=0).tolist()) * 1e3, "ms"),
        Figure("index, p50 of the best rounds", median(ours.min(axis=0).tolist()) * 1e3, "ms"),
        Figure("index / IndexFlatIP", ratio, "x", 0.1 if coarse else 0.5),
        Figure("index / IndexFlatIP, p50 of all rounds", float(np.median(ours) / np.median(theirs)), "x"),
        Figure(f"1 - recall@{K}", 1 - right / (len(queries) * K), "", 0.05 if coarse else 0.0005),
    ]


def timed(action: Callable[[Vector], object], queries: Floats) -> float:
    return median([seconds(partial(action, query)) for query in queries]) * 1e3


def filtered(index: FaissIndex, count: int, queries: Floats) -> list[Figure]:
    dice = np.random.default_rng(3)
    figures = [Figure("no filter, p50", timed(partial(index.nearest, k=K), queries), "ms")]
    for share in FILTERS:
        rows = np.flatnonzero(dice.random(count) < share).astype(np.int64) + 1
        first = median([seconds(partial(index.snapshot.allowing, rows)) for _ in range(20)]) * 1e3
        spent = timed(partial(index.nearest, k=K, among=only(rows)), queries)
        figures.append(Figure(f"filter keeping {share:.1%}, p50", spent, "ms"))
        figures.append(Figure(f"filter keeping {share:.1%}, making the bitmap", first, "ms"))
    return figures


def threads(index: FaissIndex, queries: Floats) -> list[Figure]:
    flat = index.snapshot.base._exact
    figures = []
    for count in (1, 2):
        faiss.omp_set_num_threads(count)
        spent = timed(lambda query: flat.search(query[np.newaxis], K), queries)
        figures.append(Figure(f"bare SQfp16 with {count} OpenMP threads, p50", spent, "ms"))
    return figures


def upkeep(contents: VectorSnapshot, codes: Codes, exact_up_to: int) -> list[Figure]:
    """Changes, the file, and making everything anew."""
    index = FaissIndex(contents, exact_up_to, resolved)
    one = codes[:1].astype(np.float32)
    adding = [seconds(partial(index.change, [len(codes) + n], one, [])) for n in range(1, 201)]
    removing = [seconds(partial(index.change, [], one[:0], [n])) for n in range(1, 201)]
    changed = index.snapshot
    ordering = seconds(lambda: changed.compacted(exact_up_to, lambda: False))
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "vectors")
        saving = seconds(lambda: write(path, MODEL, Saved(changed, 1)))
        loading = median([seconds(lambda: read(path, MODEL, contents.base.dims)) for _ in range(5)])
        size = os.path.getsize(path)
    return [
        Figure("add 1, p50", median(adding) * 1e3, "ms"),
        Figure("remove 1, p50", median(removing) * 1e3, "ms"),
        Figure("putting in order (background)", ordering, "s"),
        Figure("save with fsync", saving, "s"),
        Figure("load with sha256", loading, "s"),
        Figure("file", size / 1e6, "MB"),
    ]


def rebuild(codes: Codes, exact_up_to: int) -> list[Figure]:
    """From blobs in memory: what SQLite takes to hand them over comes on top."""
    store = DictStore(dict(enumerate([code.tobytes() for code in codes], 1)))
    log = DictLog(store)
    taken = min(
        seconds(lambda: snapshot_of(stored_vectors(log, codes.shape[1]), codes.shape[1], exact_up_to))
        for _ in range(3)
    )
    goal = 0.26 if len(codes) <= exact_up_to else None  # the coarse index takes as long again
    return [Figure("rebuild from blobs, per 100,000", taken * 1e5 / len(codes), "s", goal)]


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    options.add_argument("--vectors", type=int, default=100_000)
    options.add_argument("--from", dest="real", help="real embeddings, fp32, .npy")
    options.add_argument("--dims", type=int, default=384)
    given = options.parse_args()
    real = np.load(given.real).astype(np.float32) if given.real else clustered(BLOCK, 1, given.dims, 5_000)
    asked = np.s_[:: len(real) // QUERIES]
    queries, real = real[asked][:QUERIES], np.delete(real, asked, 0)
    flat, codes = made_of(vectors_like(real, given.vectors), real.shape[1])
    before = resident_mb()
    contents = snapshot_of([(np.arange(1, len(codes) + 1), codes)], codes.shape[1], EXACT_UP_TO)
    index = FaissIndex(contents, EXACT_UP_TO, resolved)
    held = Figure("memory of the index", resident_mb() - before, "MB")
    print(machine())
    print(f"faiss {faiss.__version__}, numpy {np.__version__}, {given.real or 'random clusters'}, k={K}")
    title = f"{len(codes):,} vectors of {codes.shape[1]} dims"
    report(title, [*searches(index, flat, queries), held])
    report("filters", filtered(index, len(codes), queries))
    report("threads", threads(index, queries))
    report("upkeep", [*upkeep(contents, codes, EXACT_UP_TO), *rebuild(codes, EXACT_UP_TO)])
    print(f"  peak memory of this process {peak_mb():.0f} MB")


if __name__ == "__main__":
    main()
