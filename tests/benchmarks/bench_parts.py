"""The cost of reading long passages whole: embedding, against an earlier checkout, and searching.

    python -m tests.benchmarks.bench_parts FOLDER BEFORE [--texts 300] [--passages 100000]

FOLDER: real notes; BEFORE: an earlier checkout that runs with this Python. Embedding: both checkouts embed
the same texts in turns, each with its default number of threads: texts of at most 256 tokens, of which
both make one vector. Searching: an index with all parts and one with the beginnings alone answer the
same questions in turns; wall time, and processor time with the threads of the search.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

from kebab_tui.domain.change import SaveNote
from kebab_tui.domain.document import Source
from kebab_tui.domain.query import SearchQuery
from kebab_tui.domain.text import embedded_text
from kebab_tui.embedding.card import read_card
from kebab_tui.embedding.tokenizer import Tokens
from kebab_tui.settings.settings import Settings
from kebab_tui.storage.lock import DataFolder
from kebab_tui.storage.sqlite.writer import StoreWriter
from kebab_tui.workspace import Workspace
from tests.benchmarks.bench_lexical_index import load_store
from tests.benchmarks.bench_searching import give_vectors, queries_from
from tests.benchmarks.measuring import Figure, machine, median, notes_of, percentile, report
from tests.command_line import ROOT

_MODEL = str(ROOT / "models" / "kebab-ko-en")
_ROUNDS = 7
_EMBED = """
import json, sys, time
from kebab_tui.embedding.card import read_card
from kebab_tui.embedding.encoder import Encoder
from kebab_tui.settings.settings import IndexSettings
texts = json.load(open(sys.argv[1]))
encoder = Encoder(read_card(sys.argv[2]), IndexSettings().embed_threads)
list(encoder.passages(texts[:20]))
print(flush=True)
for _ in sys.stdin:
    wall, processor = time.perf_counter(), time.process_time()
    count = sum(1 for _ in encoder.passages(texts))
    print(count / (time.perf_counter() - wall), (time.process_time() - processor) / count, flush=True)
"""


def embedding(notes: Sequence[SaveNote], before: Path, count: int) -> list[Figure]:
    tokens = Tokens(read_card(_MODEL))
    texts = list(_texts(notes))
    random.Random(1).shuffle(texts)
    lengths = [len(tokens.parts(text)) for text in texts[: 10 * count]]
    short = [text for text, parts in zip(texts, lengths, strict=False) if parts == 1][:count]
    found: dict[str, list[list[float]]] = {"before": [], "now": []}
    with ExitStack() as stack:
        place = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        (place / "texts.json").write_text(json.dumps(short))
        argv = [sys.executable, "-c", _EMBED, str(place / "texts.json"), _MODEL]
        sides = {
            name: stack.enter_context(
                subprocess.Popen(
                    argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=place,
                    env=os.environ | {"PYTHONPATH": str(code)},
                )
            )
            for name, code in (("before", before.absolute()), ("now", ROOT))
        }  # fmt: skip
        for side in sides.values():
            assert side.stdout is not None
            side.stdout.readline()
        for _ in range(_ROUNDS):
            for name, side in sides.items():
                assert side.stdin is not None and side.stdout is not None
                print(file=side.stdin, flush=True)
                found[name].append([float(number) for number in side.stdout.readline().split()])
        for side in sides.values():
            assert side.stdin is not None
            side.stdin.close()
    rates = {name: median([rate for rate, _ in rounds]) for name, rounds in found.items()}
    spent = {name: median([each for _, each in rounds]) for name, rounds in found.items()}
    gains = [now[0] / old[0] for old, now in zip(found["before"], found["now"], strict=True)]
    return [
        Figure("texts, of one vector each", len(short), ""),
        Figure("vectors a text, of all texts", sum(lengths) / len(lengths), "", 1.25),
        Figure("before, texts a second", rates["before"], "/s"),
        Figure("now, texts a second", rates["now"], "/s"),
        Figure("now / before, median of the rounds (goal >= 1.25)", median(gains), "x"),
        Figure("processor time of a text, now / before", spent["now"] / spent["before"], "x"),
    ]


def _texts(notes: Sequence[SaveNote]) -> Iterator[str]:
    for note in notes:
        titles = note.titles or note.document.title
        yield from (embedded_text(titles, one.heading_path, one.text) for one in note.passages)


def searching(notes: Sequence[SaveNote], folder: str) -> list[Figure]:
    dice = random.Random(2)
    texts = [text for words in (2, 3, 4) for text in queries_from(notes, words, dice)]
    queries = [text for text in texts if ":" not in text]  # else a filter, often without a value
    wall: dict[str, list[float]] = {}
    spent: dict[str, list[float]] = {}
    with ExitStack() as stack:
        sides = {}
        for name in ("with all parts", "beginnings alone"):
            place = stack.enter_context(tempfile.TemporaryDirectory())
            load_store(notes, place)
            writer = StoreWriter(DataFolder(place))
            writer.save_sources([Source(notes[0].document.source, "bench", folder)])
            writer.close()
            give_vectors(place, 1_000, whole=name == "with all parts")
            sides[name] = Workspace(Settings(), place)
            sides[name].search(SearchQuery("warm up"))
        for text in queries:
            for name, workspace in sides.items():
                began, processor = time.perf_counter(), time.process_time()
                workspace.search(SearchQuery(text))
                spent.setdefault(name, []).append(1000 * (time.process_time() - processor))
                wall.setdefault(name, []).append(1000 * (time.perf_counter() - began))
        for workspace in sides.values():
            workspace.close()
    figures = []
    for name in wall:
        goals = (10.5, 27.0) if name == "with all parts" else (None, None)
        for share, goal in zip((0.5, 0.95), goals, strict=True):
            figures.append(Figure(f"hybrid, {name}, {share:.0%}", percentile(wall[name], share), "ms", goal))
            figures.append(Figure("  by processor time", percentile(spent[name], share), "ms"))
    return figures


def main() -> None:
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    parser.add_argument("folder")
    parser.add_argument("before", type=Path)
    parser.add_argument("--texts", type=int, default=300)
    parser.add_argument("--passages", type=int, default=100_000)
    given = parser.parse_args()
    print(machine())
    notes = notes_of(given.folder, given.passages)
    report("embedding", embedding(notes, given.before, given.texts))
    report("searching", searching(notes, given.folder))


if __name__ == "__main__":
    main()
