"""How fast texts become vectors, by batch and by threads, and how near that is to what the processor can do.

    python -m tests.benchmarks.bench_embedding --corpus FOLDER --model FOLDER [--fp32-model FOLDER]

Everything that is compared takes turns within one run. Rates of one thread are by the
thread's own processor time, so that other work on the machine does not count; rates of
the encoder are by the clock. The bound is an 8-bit matrix product of the model's own
shape (tokens x 384 x 1536), run by the same library.
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import tokenizers
from numpy.typing import NDArray

from kebab_tui.embedding.card import ModelCard, read_card
from kebab_tui.embedding.encoder import Encoder
from kebab_tui.embedding.integrity import verify
from kebab_tui.embedding.runtime import ort
from kebab_tui.embedding.tokenizer import Tokens
from tests.benchmarks.measuring import Figure, machine, median, notes_of, percentile, report, seconds
from tests.embedding.tiny_models import model, node, tensor, value_info

BATCHES = (1, 4, 8, 16, 32)
PRODUCTS_PER_TOKEN = 6 * (4 * 384 * 384 + 2 * 384 * 1536)
"""Multiplications by weights in the six layers of the bundled model."""
_ROUNDS = 3
_WISH_S = 0.1
_COLD = """
import sys, time; start = time.perf_counter()
from kebab_tui.embedding.card import read_card
from kebab_tui.embedding.encoder import Encoder
Encoder(read_card(sys.argv[1])).query("port conflict")
print(time.perf_counter() - start)
print(*(line.split()[1] for line in open("/proc/self/status") if line.startswith(("VmHWM", "VmRSS"))))
"""
Feed = dict[str, NDArray[np.int64]]


def main() -> None:
    options = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    options.add_argument("--corpus", required=True)
    options.add_argument("--model", required=True)
    options.add_argument("--fp32-model", help="the same model in 32 bits, for the ratio")
    options.add_argument("--passages", type=int, default=200)
    given = options.parse_args()
    card = read_card(given.model)
    print(f"{machine()}, onnxruntime {ort.__version__}, tokenizers {tokenizers.__version__}")
    texts, queries = sample(given.corpus, given.passages)
    report("opening", opening(card))
    report("query", latency(card, queries, texts))
    report("one thread, by processor time", shapes(card, texts))
    report("encoder, by the clock", throughput(card, texts))
    if given.fp32_model:
        report("against 32 bits", against(card, read_card(given.fp32_model), texts))
    report("cancelling", cancelling(card))


def sample(corpus: str, count: int) -> tuple[list[str], list[str]]:
    """Passages as they are embedded, and their headings as queries, none twice."""
    passages = [passage for note in notes_of(corpus, 20 * count) for passage in note.passages]
    chosen = random.Random(1).sample(passages, min(count, len(passages)))
    texts = [f"{passage.heading_path}\n{passage.text}" for passage in chosen]
    headings = (passage.heading_path.rpartition(" > ")[2] for passage in chosen)
    return texts, [heading for heading in dict.fromkeys(headings) if heading]


def opening(card: ModelCard) -> list[Figure]:
    hashing, opening, cold, memory = [], [], [], []
    for _ in range(_ROUNDS + 2):
        hashing.append(seconds(lambda: verify(card)))
        opening.append(seconds(Encoder(card).open))
        argv = [sys.executable, "-c", _COLD, card.folder]
        answer = subprocess.run(argv, capture_output=True, check=True).stdout.split()
        cold.append(float(answer[0]))
        memory.append([float(kilobytes) / 1024 for kilobytes in answer[1:]])
    return [
        Figure("checking the files by sha256", min(hashing) * 1e3, "ms"),
        Figure("opening, engines imported, files checked", min(opening) * 1e3, "ms"),
        Figure("a new process: import, check, open, first query", min(cold) * 1e3, "ms"),
        Figure("its memory, at most", memory[0][0], "MB"),
        Figure("its memory, at the end", memory[0][1], "MB"),
    ]


def latency(card: ModelCard, queries: Sequence[str], texts: Sequence[str]) -> list[Figure]:
    """A query alone, and beside passages in the background."""
    encoder = Encoder(card, threads=os.cpu_count() or 1)
    encoder.open()
    alone = [1e3 * seconds(partial(encoder.query, query)) for query in queries]
    stop = threading.Event()
    background = threading.Thread(target=embed_all, args=(encoder, endless(texts), stop.is_set))
    background.start()
    beside = [1e3 * seconds(partial(encoder.query, f"a {query}")) for query in queries]
    stop.set()
    background.join()
    return [
        Figure("p50", median(alone), "ms"),
        Figure("p95", percentile(alone, 0.95), "ms"),
        Figure("p50 while all cores embed passages", median(beside), "ms"),
        Figure("p95 while all cores embed passages", percentile(beside, 0.95), "ms"),
    ]


def shapes(card: ModelCard, texts: Sequence[str]) -> list[Figure]:
    """Tokens a second by batch size, and each as a share of the bound."""
    tokens = Tokens(card)
    ids = sorted((tokens.ids(text) for text in texts), key=len)
    count = sum(map(len, ids))
    session = opened(card.onnx)
    product, products = int8_product(count // len(ids))
    cases = {size: list(batches(session, ids, size)) for size in BATCHES}
    rates: dict[int, float] = dict.fromkeys(BATCHES, 0.0)
    bound = 0.0
    for _ in range(_ROUNDS):
        bound = max(bound, 200 * products / cpu_seconds(lambda: [product() for _ in range(200)]))
        for size, feeds in cases.items():
            spent = cpu_seconds(partial(run_all, session, feeds))
            rates[size] = max(rates[size], count / spent)
    most = bound / PRODUCTS_PER_TOKEN
    figures = [
        Figure("texts", len(ids), ""),
        Figure("tokens per text", count / len(ids), ""),
        Figure("8-bit product of the same shape", 2 * bound / 1e9, "GOP/s"),
        Figure("bound by that product", most, "tokens/s"),
    ]
    for size, rate in rates.items():
        figures.append(Figure(f"batches of {size}", rate, "tokens/s"))
        figures.append(Figure(f"batches of {size} / bound", rate / most, "x"))
    return figures


def throughput(card: ModelCard, texts: Sequence[str]) -> list[Figure]:
    figures = []
    tokens = Tokens(card)
    count = sum(len(tokens.ids(text)) for text in texts)
    for threads in (1, 2):
        encoder = Encoder(card, threads)
        encoder.open()
        spent = min(seconds(partial(embed_all, encoder, texts)) for _ in range(_ROUNDS))
        figures.append(Figure(f"{threads} threads", len(texts) / spent, "passages/s"))
        figures.append(Figure(f"{threads} threads", count / spent, "tokens/s"))
    figures.append(
        Figure("2 threads inside the session instead, batches of 8", inside(card, texts), "tokens/s")
    )
    return [*figures, Figure("memory of the whole process", resident(), "MB")]


def inside(card: ModelCard, texts: Sequence[str]) -> float:
    """What the encoder does not do: threads of the library's own within each batch."""
    tokens = Tokens(card)
    ids = sorted((tokens.ids(text) for text in texts), key=len)
    session = opened(card.onnx, threads=2)
    feeds = list(batches(session, ids, 8))
    spent = min(seconds(partial(run_all, session, feeds)) for _ in range(_ROUNDS))
    return sum(map(len, ids)) / spent


def against(card: ModelCard, other: ModelCard, texts: Sequence[str]) -> list[Figure]:
    """Both models in turns on one thread; the goal is at least 1.5 times the rate."""
    spent: dict[str, float] = {card.folder: 0.0, other.folder: 0.0}
    feeds = {}
    for each in (card, other):
        tokens, session = Tokens(each), opened(each.onnx)
        feeds[each.folder] = session, list(batches(session, [tokens.ids(text) for text in texts], 1))
    for _ in range(_ROUNDS):
        for folder, (session, those) in feeds.items():
            spent[folder] += cpu_seconds(partial(run_all, session, those))
    return [
        Figure("time of 8 bits / time of 32 bits", spent[card.folder] / spent[other.folder], "x", 1 / 1.5)
    ]


def cancelling(card: ModelCard) -> list[Figure]:
    """From the wish to the end of the loop."""
    encoder, delays = Encoder(card, threads=2), []
    encoder.open()
    for _ in range(5):
        wished = threading.Event()
        begin = time.perf_counter()
        threading.Timer(_WISH_S, wished.set).start()
        embed_all(encoder, endless(["word " * 256]), wished.is_set)
        delays.append(1e3 * (time.perf_counter() - begin - _WISH_S))
    return [Figure("longest of 5", max(delays), "ms", 200)]


def int8_product(tokens: int) -> tuple[Callable[[], object], int]:
    """One product of that many tokens with weights of the model's widest layer, and its multiplications."""
    dice = np.random.default_rng(1)
    weights = dice.integers(-127, 127, (384, 1536)).astype(np.int8)
    graph = model(
        [node("MatMulInteger", ["tokens", "weights"], ["product"])],
        [tensor("weights", weights)],
        [value_info("tokens", "uint8", [tokens, 384])],
        [value_info("product", "int32", [tokens, 1536])],
    )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "product.onnx"
        path.write_bytes(graph)
        session = opened(str(path))
    binding = session.io_binding()
    binding.bind_cpu_input("tokens", dice.integers(0, 255, (tokens, 384)).astype(np.uint8))
    answer = ort.OrtValue.ortvalue_from_shape_and_type((tokens, 1536), np.int32)
    binding.bind_ortvalue_output("product", answer)
    return lambda: session.run_with_iobinding(binding), tokens * 384 * 1536


def opened(path: str, threads: int = 1) -> Any:
    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    return ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def batches(session: Any, ids: Sequence[Sequence[int]], size: int) -> Iterator[Feed]:
    """Padded batches of neighbours."""
    names = [item.name for item in session.get_inputs()]
    for begin in range(0, len(ids), size):
        group = ids[begin : begin + size]
        tokens = np.zeros((len(group), max(map(len, group))), np.int64)
        mask = np.zeros_like(tokens)
        for row, text in enumerate(group):
            tokens[row, : len(text)] = text
            mask[row, : len(text)] = 1
        usual = {"input_ids": tokens, "attention_mask": mask, "token_type_ids": np.zeros_like(tokens)}
        yield {name: usual[name] for name in names}


def run_all(session: Any, feeds: Sequence[Feed]) -> None:
    for feed in feeds:
        session.run(None, feed)


def embed_all(encoder: Encoder, texts: Iterable[str], cancelled: Callable[[], bool] = lambda: False) -> None:
    for _ in encoder.passages(texts, cancelled):
        pass


def endless(texts: Sequence[str]) -> Iterator[str]:
    while True:
        yield from texts


def cpu_seconds(action: Callable[[], object]) -> float:
    """Processor time of this thread alone."""
    start = time.thread_time()
    action()
    return time.thread_time() - start


def resident() -> float:
    """Memory of this process, in megabytes."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


if __name__ == "__main__":
    main()
