"""Encodes texts as vectors with one model, which is opened on first use and shared by all threads.

Encodes queries on the calling thread, and passages in parallel on a few threads of low
priority that end with the call. After a failed open the encoder keeps the error and does not
retry; create another encoder.
"""

from __future__ import annotations

import contextlib
import os
import re
import sys
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from kebab_tui.domain.errors import ModelError
from kebab_tui.embedding.card import ModelCard
from kebab_tui.embedding.integrity import require, verify
from kebab_tui.search.ports import NearestSentence

if TYPE_CHECKING:
    from kebab_tui.embedding.onnx import CancellableRun, Graph, Vector
    from kebab_tui.embedding.tokenizer import Tokens


_CACHED_QUERIES = 256
"""Users return to the same words while typing."""
_CACHED_PASSAGES = 64
"""Passages whose sentence vectors are cached."""
_MOST_SENTENCES = 64
_LOOKAHEAD = 16
"""Texts submitted ahead of the results, so that threads stay busy while the caller writes."""
_NORM_TOLERANCE = 1e-2
_POLL_S = 0.05
_NICENESS = 10
"""Measured on one core: 300 queries take 0.36 s alone, 0.81 s beside a thread that embeds passages,
and 0.43 s beside one of this priority."""

_STOP = re.compile(r"[.?!…]+[\"'”’)\]*_`]*(?=\s|\Z)|[。！？]+[\"'”’」』)）\]]*")
_ABBREVIATED = re.compile(
    r"(?:(?<!\w)(?:e\.g|i\.e|etc|vs|cf|dr|mr|mrs|ms|prof|no|fig|approx|st|[a-z])|(?:\A|\n)\s*\d{1,3})\.\Z",
    re.IGNORECASE,
)
_MARK = r"(?:[-*+•>|]|#{1,6}|\d{1,3}[.)])(?=\s)|```|~~~"
_MARKED = re.compile(rf"\s*(?:{_MARK}|\|)")
_EDGE = re.compile(rf"(?:\s|{_MARK})*")
_STOPPED = re.compile(r"[.?!…。！？:;|][\"'”’)\]*_`」』]*\s*\Z")
_WORD = re.compile(r"[^\W_]")
_WRAPPED = 40
"""A line of this length without an end mark continues on the next line."""


class Span(NamedTuple):
    """Characters `start..end` (exclusive) of a text."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class LoadedModel:
    tokens: Tokens
    graph: Graph

    def vector(self, text: str) -> Vector:
        return self.graph.vector(self.tokens.ids(text))

    def vectors(self, text: str, run: CancellableRun, beginning: Vector | None = None) -> Vector:
        """The vectors of all parts of a text; `beginning`: that of the first part, if it is known."""
        import numpy as np

        first, *rest = self.tokens.parts(text)
        known = self.graph.vector(first.ids, run) if beginning is None else beginning
        return np.stack([known, *(self.graph.vector(part.ids, run) for part in rest)])


class Encoder:
    """`threads` is the number of passages encoded in parallel; 0: as many as suit this machine."""

    def __init__(self, card: ModelCard, threads: int = 1) -> None:
        self.card = card
        self._threads = threads or suitable_threads()
        self._opening = threading.Lock()
        self._model: LoadedModel | ModelError | None = None
        self._query = lru_cache(_CACHED_QUERIES)(
            lambda text: self.open().vector(self.card.query_prefix + text)
        )
        self._sentences = lru_cache(_CACHED_PASSAGES)(self._sentence_vectors)

    def open(self) -> LoadedModel:
        """Check the files and load the model now instead of on first use."""
        with self._opening:
            if self._model is None:
                try:
                    self._model = _load_model(self.card)
                except ModelError as error:
                    self._model = error
        if isinstance(self._model, ModelError):
            raise ModelError(self._model.message, self._model.hint)
        return self._model

    def query(self, text: str) -> Vector:
        """Return the vector of a query; read-only, of unit norm."""
        return self._query(text.strip())

    def understands(self, text: str) -> bool:
        """Return whether the model knows any token of the text; most models know no emoji."""
        return self.open().tokens.understands(text)

    def passages(
        self,
        texts: Iterable[str],
        cancelled: Callable[[], bool] = lambda: False,
        beginnings: Mapping[str, bytes] = MappingProxyType({}),
    ) -> Generator[Vector, None, None]:
        """Yield the vectors of each text in order; stop within 200 ms when cancelled or closed.

        Those of a text are a matrix, row by row: of its beginning, then of each part of the rest.
        `beginnings`: stored vectors of the beginning of texts, in fp16; further numbers are ignored.
        """
        model, prefix = self.open(), self.card.passage_prefix
        run = model.graph.new_run()
        pool = ThreadPoolExecutor(self._threads, "embedding", initializer=lower_priority)
        waiting = (
            pool.submit(model.vectors, prefix + text, run, self._stored(beginnings.get(text, b"")))
            for text in texts
        )
        try:
            running = deque(islice(waiting, _LOOKAHEAD))
            while running and (vector := _await_result(running.popleft(), cancelled)) is not None:
                running.extend(islice(waiting, 1))
                yield vector
        finally:
            run.stop()
            pool.shutdown(cancel_futures=True)

    def _stored(self, blob: bytes) -> Vector | None:
        """The first vector of a blob; None if it has none or is damaged."""
        if not blob:
            return None
        import numpy as np

        vector = np.frombuffer(blob[: len(blob) & ~1], np.float16)[: self.card.dims].astype(np.float32)
        is_sound = len(vector) == self.card.dims and abs(float(np.linalg.norm(vector)) - 1) < _NORM_TOLERANCE
        return vector if is_sound else None

    def parts(self, text: str) -> list[Span]:
        """The characters of each part of a passage that has a vector."""
        before = len(self.card.passage_prefix)
        parts = self.open().tokens.parts(self.card.passage_prefix + text)
        return [Span(max(part.start - before, 0), part.end - before) for part in parts]

    def nearest_sentence(self, text: str, query_vector: Vector) -> NearestSentence | None:
        """Return the sentence of a passage with the highest cosine; None if it has no sentence."""
        cosines = [
            NearestSentence(span.start, span.end, float(vector @ query_vector))
            for span, vector in self._sentences(text)
        ]
        return max(cosines, key=lambda sentence: (sentence.cosine, -sentence.start), default=None)

    def _sentence_vectors(self, text: str) -> list[tuple[Span, Vector]]:
        model, prefix = self.open(), self.card.passage_prefix
        spans = group_sentences(sentences(text), _MOST_SENTENCES)
        return [(span, model.vector(prefix + text[span.start : span.end])) for span in spans]


def _load_model(card: ModelCard) -> LoadedModel:
    """Check the files of a model and load it; imports the engines only now.

    Two tasks run in parallel: hashing files and opening a graph release the GIL, importing and
    reading a tokenizer do not. No file is opened before it has been checked.
    """
    with ThreadPoolExecutor(1, "opening") as beside:
        problems = beside.submit(verify, card)
        from kebab_tui.embedding.onnx import Graph

        require(card, problems.result())
        graph = beside.submit(Graph, card)
        from kebab_tui.embedding.tokenizer import Tokens

        return LoadedModel(Tokens(card), graph.result())


def _await_result(future: Future[Vector], cancelled: Callable[[], bool]) -> Vector | None:
    """Return the result, or None as soon as the caller cancels."""
    while not cancelled():
        try:
            return future.result(_POLL_S)
        except TimeoutError:
            continue
    return None


def lower_priority() -> None:
    """Lower the priority of the calling thread permanently; never raise it. Linux only.

    A thread cannot restore its priority without privileges: call this only on a background thread.
    """
    if sys.platform == "linux":
        with contextlib.suppress(OSError):
            thread = threading.get_native_id()
            if os.getpriority(os.PRIO_PROCESS, thread) < _NICENESS:
                os.setpriority(os.PRIO_PROCESS, thread, _NICENESS)


def suitable_threads() -> int:
    """Half as many as there are processors, but two if there are two.

    A run of the model uses one processor well, and its threads share nothing. At low priority they give
    way to the screen; half of many processors stay cool.
    """
    processors = len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1
    return max(processors // 2, min(processors, 2))


def sentences(text: str) -> list[Span]:
    """Split a Korean or English text into sentences, in order, without overlap.

    A sentence ends at `.`, `?`, `!` or `…` before white space, at `。！？`, at a blank line, before a
    list item, heading, quote or table row, and after a short line. Offsets exclude the white space
    and list marks around a sentence; text without letters or digits is not a sentence.
    """
    found = []
    for first, last in _spans(text):
        edge = _EDGE.match(text, first, last)
        start = edge.end() if edge else first
        end = start + len(text[start:last].rstrip())
        if _WORD.search(text, start, end):
            found.append(Span(start, end))
    return found


def _spans(text: str) -> Iterator[tuple[int, int]]:
    """Yield sentences with the white space and marks around them."""
    start = end = 0
    lines = text.split("\n")
    for line, following in zip(lines, [*lines[1:], ""], strict=True):
        end = min(end + len(line) + 1, len(text))
        wrapped = len(line) >= _WRAPPED and not _STOPPED.search(line)
        if wrapped and following.strip() and not _MARKED.match(following):
            continue
        for stop in _STOP.finditer(text, start, end):
            if not _ABBREVIATED.search(text[max(start, stop.end() - 12) : stop.end()]):
                yield start, stop.end()
                start = stop.end()
        if start < end:
            yield start, end
        start = end


def group_sentences(found: list[Span], most: int) -> list[Span]:
    """Join neighbours into at most `most` groups of equal size."""
    size = -(-len(found) // most) if found else 1
    groups = (found[i : i + size] for i in range(0, len(found), size))
    return [Span(group[0].start, group[-1].end) for group in groups]
