"""Texts become vectors: one model, opened at its first use and shared by all threads.

A query is answered on the thread that asks. Passages are embedded side by side on a few
threads of low priority, each at one text of its own. No thread outlives the call that
started it. A model that could not be opened is not tried again:
make another encoder.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING

from kebab_tui.domain.errors import ModelError
from kebab_tui.embedding.card import ModelCard
from kebab_tui.embedding.integrity import require, verify
from kebab_tui.embedding.priority import step_back
from kebab_tui.embedding.sentences import Sentence, grouped, sentences

if TYPE_CHECKING:
    from kebab_tui.embedding.graph import Errand, Graph, Vector
    from kebab_tui.embedding.tokens import Tokens

_QUERIES = 256
"""Vectors of queries that are remembered: who types comes back to the same words."""
_EXPLAINED = 64
"""Passages whose sentences' vectors are remembered."""
_MOST_SENTENCES = 64
_LOOKAHEAD = 16
"""Texts under way beyond those yielded: threads stay busy while the caller writes."""
_POLL_S = 0.05


@dataclass(frozen=True, slots=True)
class NearestSentence:
    """Characters `start..end` (exclusive) of a passage, and their cosine with the query."""

    start: int
    end: int
    cosine: float


@dataclass(frozen=True, slots=True)
class _Parts:
    tokens: Tokens
    graph: Graph

    def vector(self, text: str, errand: Errand | None = None) -> Vector:
        return self.graph.vector(self.tokens.ids(text), errand)


class Encoder:
    """`threads`: how many passages are embedded side by side; a query needs none of them."""

    def __init__(self, card: ModelCard, threads: int = 1) -> None:
        self.card = card
        self._threads = max(1, threads)
        self._opening = threading.Lock()
        self._parts: _Parts | ModelError | None = None
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

    def _open(self) -> _Parts:
        with self._opening:
            if self._parts is None:
                try:
                    self._parts = _opened(self.card)
                except ModelError as error:
                    self._parts = error
        if isinstance(self._parts, ModelError):
            raise ModelError(self._parts.message, self._parts.hint)
        return self._parts


def _opened(card: ModelCard) -> _Parts:
    """Load a model whose files are the right ones; the engines are imported only now.

    Two things go on at a time: hashing files and opening a graph let go of the interpreter,
    importing and reading a tokenizer do not. Nothing is opened before it has been checked.
    """
    with ThreadPoolExecutor(1, "opening") as beside:
        problems = beside.submit(verify, card)
        from kebab_tui.embedding.graph import Graph

        require(card, problems.result())
        graph = beside.submit(Graph, card)
        from kebab_tui.embedding.tokens import Tokens

        return _Parts(Tokens(card), graph.result())


def _awaited(future: Future[Vector], cancelled: Callable[[], bool]) -> Vector | None:
    """The result, or None as soon as the caller does not want it any more."""
    while not cancelled():
        try:
            return future.result(_POLL_S)
        except TimeoutError:
            continue
    return None
