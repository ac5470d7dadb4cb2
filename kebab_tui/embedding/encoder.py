"""Texts become vectors: one model, opened at its first use and shared by all threads.

A query is answered on the thread that asks. Passages are embedded side by side on a few
threads of low priority, each at one text of its own. No thread outlives the call that
started it. A model that could not be opened is not tried again:
make another encoder.
"""

from __future__ import annotations

import contextlib
import os
import re
import sys
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from kebab_tui.domain.errors import ModelError
from kebab_tui.embedding.card import ModelCard
from kebab_tui.embedding.integrity import require, verify
from kebab_tui.search.ports import NearestSentence

if TYPE_CHECKING:
    from kebab_tui.embedding.onnx import CancellableRun, Graph, Vector
    from kebab_tui.embedding.tokenizer import Tokens


# Where the sentences of a passage stand, in Korean and in English notes.
#
# A sentence ends at `.`, `?`, `!` or `…` before white space, at `。！？`, and where a line
# does: at a blank line, before a list item, heading, quote or table row, and after a short
# line. A long line without an end mark was wrapped and goes on. Offsets are characters,
# end exclusive, without the white space and the list marks around a sentence; what holds
# no letter or digit is none. Knows no grammar.

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
"""A line of so many characters without an end mark was wrapped, by an editor or a hand."""


class Sentence(NamedTuple):
    start: int
    end: int


def sentences(text: str) -> list[Sentence]:
    """The sentences of a text in order; none overlap."""
    found = []
    for start, end in _blocks(text):
        for first, last in _cut(text, start, end):
            trimmed = _trimmed(text, first, last)
            if _WORD.search(text, *trimmed):
                found.append(trimmed)
    return found


def grouped(found: list[Sentence], most: int) -> list[Sentence]:
    """Neighbours joined until there are at most `most`, as even as can be."""
    size = -(-len(found) // most) if found else 1
    groups = (found[i : i + size] for i in range(0, len(found), size))
    return [Sentence(group[0].start, group[-1].end) for group in groups]


def _blocks(text: str) -> Iterator[tuple[int, int]]:
    """Stretches of lines that go on into each other."""
    start = position = 0
    lines = text.split("\n")
    for line, following in zip(lines, [*lines[1:], ""], strict=True):
        position += len(line) + 1
        if not _goes_on(line, following):
            yield start, min(position, len(text))
            start = position


def _goes_on(line: str, following: str) -> bool:
    if len(line) < _WRAPPED or _STOPPED.search(line):
        return False
    return bool(following.strip()) and not _MARKED.match(following)


def _cut(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """A stretch of lines cut behind its end marks."""
    first = start
    for stop in _STOP.finditer(text, start, end):
        if not _ABBREVIATED.search(text[max(first, stop.end() - 12) : stop.end()]):
            yield first, stop.end()
            first = stop.end()
    if first < end:
        yield first, end


def _trimmed(text: str, start: int, end: int) -> Sentence:
    edge = _EDGE.match(text, start, end)
    start = edge.end() if edge else start
    return Sentence(start, start + len(text[start:end].rstrip()))


# Lets background threads step back behind the thread that serves the user.
#
# Measured on one core: 300 queries take 0.36 s alone, 0.81 s beside a thread that embeds
# passages, and 0.43 s when that thread has stepped back.

_NICENESS = 10


def step_back() -> None:
    """Lower the priority of the calling thread alone, for the rest of its life; never raise it.

    Only Linux has priorities by thread here; elsewhere nothing happens. A thread cannot
    climb back without privileges, so only a thread made for the purpose may call this.
    """
    if sys.platform == "linux":
        with contextlib.suppress(OSError):
            thread = threading.get_native_id()
            if os.getpriority(os.PRIO_PROCESS, thread) < _NICENESS:
                os.setpriority(os.PRIO_PROCESS, thread, _NICENESS)


_QUERIES = 256
"""Vectors of queries that are remembered: who types comes back to the same words."""
_EXPLAINED = 64
"""Passages whose sentences' vectors are remembered."""
_MOST_SENTENCES = 64
_LOOKAHEAD = 16
"""Texts under way beyond those yielded: threads stay busy while the caller writes."""
_POLL_S = 0.05


@dataclass(frozen=True, slots=True)
class _LoadedModel:
    tokens: Tokens
    graph: Graph

    def vector(self, text: str, errand: CancellableRun | None = None) -> Vector:
        return self.graph.vector(self.tokens.ids(text), errand)


class Encoder:
    """`threads`: how many passages are embedded side by side; a query needs none of them."""

    def __init__(self, card: ModelCard, threads: int = 1) -> None:
        self.card = card
        self._threads = max(1, threads)
        self._opening = threading.Lock()
        self._parts: _LoadedModel | ModelError | None = None
        self._query = lru_cache(_QUERIES)(self._query_vector)
        self._sentences = lru_cache(_EXPLAINED)(self._sentence_vectors)

    def open(self) -> None:
        """Check the files and load the model now instead of at the first text."""
        self._open()

    def query(self, text: str) -> Vector:
        """The vector of a query; read-only, of unit norm."""
        return self._query(text.strip())

    def understands(self, text: str) -> bool:
        """Whether the model knows any part of the text; emoji alone, say, mean nothing to most."""
        return self._open().tokens.understands(text)

    def passages(
        self, texts: Iterable[str], cancelled: Callable[[], bool] = lambda: False
    ) -> Generator[Vector, None, None]:
        """Yield the vector of each text in order; end early, within 200 ms, when cancelled or closed."""
        parts, prefix = self._open(), self.card.passage_prefix
        errand = parts.graph.errand()
        pool = ThreadPoolExecutor(self._threads, "embedding", initializer=step_back)
        waiting = (pool.submit(parts.vector, prefix + text, errand) for text in texts)
        try:
            running = deque(islice(waiting, _LOOKAHEAD))
            while running and (vector := _awaited(running.popleft(), cancelled)) is not None:
                running.extend(islice(waiting, 1))
                yield vector
        finally:
            errand.stop()
            pool.shutdown(cancel_futures=True)

    def nearest_sentence(self, text: str, query_vector: Vector) -> NearestSentence | None:
        """Which sentence of a passage comes nearest to the query; None when it has none."""
        cosines = [
            NearestSentence(span.start, span.end, float(vector @ query_vector))
            for span, vector in self._sentences(text)
        ]
        return max(cosines, key=lambda sentence: (sentence.cosine, -sentence.start), default=None)

    def _query_vector(self, text: str) -> Vector:
        return self._open().vector(self.card.query_prefix + text)

    def _sentence_vectors(self, text: str) -> list[tuple[Sentence, Vector]]:
        parts, prefix = self._open(), self.card.passage_prefix
        spans = grouped(sentences(text), _MOST_SENTENCES)
        return [(span, parts.vector(prefix + text[span.start : span.end])) for span in spans]

    def _open(self) -> _LoadedModel:
        with self._opening:
            if self._parts is None:
                try:
                    self._parts = _opened(self.card)
                except ModelError as error:
                    self._parts = error
        if isinstance(self._parts, ModelError):
            raise ModelError(self._parts.message, self._parts.hint)
        return self._parts


def _opened(card: ModelCard) -> _LoadedModel:
    """Load a model whose files are the right ones; the engines are imported only now.

    Two things go on at a time: hashing files and opening a graph let go of the interpreter,
    importing and reading a tokenizer do not. Nothing is opened before it has been checked.
    """
    with ThreadPoolExecutor(1, "opening") as beside:
        problems = beside.submit(verify, card)
        from kebab_tui.embedding.onnx import Graph

        require(card, problems.result())
        graph = beside.submit(Graph, card)
        from kebab_tui.embedding.tokenizer import Tokens

        return _LoadedModel(Tokens(card), graph.result())


def _awaited(future: Future[Vector], cancelled: Callable[[], bool]) -> Vector | None:
    """The result, or None as soon as the caller does not want it any more."""
    while not cancelled():
        try:
            return future.result(_POLL_S)
        except TimeoutError:
            continue
    return None
