"""From a query to an answer: understand, find, show.

Everything of one answer is read from one snapshot of the corpus. A query never fails
for what it says, except a raw one that FTS5 refuses; what was not understood, and what
could not be used, is a notice in the answer.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING

from kebab_tui.domain.citation import Citation
from kebab_tui.domain.document import Document
from kebab_tui.domain.errors import ModelError
from kebab_tui.domain.hit import Notice, RetrievalDetail, SearchHit, SearchResponse, relaxed
from kebab_tui.domain.query import SearchFilters, SearchMode, SearchQuery
from kebab_tui.search import lexical, match_tree
from kebab_tui.search.answer import Answer, Ranked, Stopwatch
from kebab_tui.search.limits import HybridOptions, Limits
from kebab_tui.search.ports import (
    Corpus,
    FieldWeights,
    FileProbe,
    FoundChunk,
    Semantics,
    SemanticsSource,
    Snapshot,
)
from kebab_tui.search.query_language import ParsedQuery, merge, parse
from kebab_tui.search.snippet import snippet

if TYPE_CHECKING:
    from kebab_tui.search.explanation import ExplainedResponse
    from kebab_tui.search.semantic import Scripts
    from kebab_tui.search.why_not import WhyNot


# From ranked rows to the hits that are shown: text, excerpt, citation, state of the file.

_METHODS = {"lexical": "fts5-bm25", "vector": "cosine", "hybrid": "rrf"}


def hydrate(
    snapshot: Snapshot, answer: Answer, probe: FileProbe, snippet_chars: int, version: str
) -> tuple[SearchHit, ...]:
    """Every chunk of the page that still exists."""
    found = snapshot.hydrate([ranked.row for ranked in answer.page])
    return tuple(
        _hit(ranked, found[ranked.row], answer, probe, snippet_chars, version)
        for ranked in answer.page
        if ranked.row in found
    )


def _hit(
    ranked: Ranked, found: FoundChunk, answer: Answer, probe: FileProbe, snippet_chars: int, version: str
) -> SearchHit:
    chunk, document = found.chunk, found.document
    excerpt = snippet(chunk.text, ranked.phrases, snippet_chars)
    state = probe(found)
    return SearchHit(
        rank=ranked.rank,
        score=ranked.score,
        score_kind=ranked.score_kind,
        row=chunk.row,
        chunk_id=chunk.chunk_id,
        doc_id=document.doc_id,
        source=document.source,
        root=found.root,
        path=document.path,
        raw_path=document.raw_path,
        title=document.title,
        type=document.type,
        lang=document.lang,
        kind=chunk.kind,
        heading_path=chunk.heading_path,
        snippet=excerpt.text,
        highlights=excerpt.highlights,
        text=chunk.text,
        citation=Citation(document.path, chunk.span, chunk.heading_path),
        retrieval=ranked.detail,
        retrieval_method=_METHODS[answer.mode],
        index_version=version,
        chunker_version=found.chunker_version,
        indexed_ns=document.indexed_ns,
        source_title=found.source_title,
        embedding_model=None if answer.asked is None else answer.asked.semantics.model,
        relaxed=ranked.relaxed,
        further=ranked.further,
        stale=state != "same",
        gone=state == "gone",
    )


@dataclass(frozen=True, slots=True)
class SearchOptions:
    weights: FieldWeights = field(default_factory=FieldWeights)
    snippet_chars: int = 220
    hybrid: HybridOptions = field(default_factory=HybridOptions)
    current: frozenset[str] = frozenset()
    """The lexical versions that are not stale; empty: any."""


@dataclass(frozen=True, slots=True)
class _PreparedQuery:
    """A query with all its filters, and the means there are to answer it."""

    query: SearchQuery
    parsed: ParsedQuery
    filters: SearchFilters
    semantics: Semantics | None
    notices: tuple[Notice, ...] = ()


class SearchEngine:
    """Knows the corpus and the model only through its ports."""

    def __init__(
        self,
        corpus: Corpus,
        probe: FileProbe,
        options: SearchOptions,
        semantics: SemanticsSource,
        now: Callable[[], datetime] = datetime.now,
    ) -> None:
        self._corpus = corpus
        self._probe = probe
        self._options = options
        self._semantics = semantics
        self._now = now
        self._scripts: Scripts | None = None

    def search(self, query: SearchQuery, first_answer: bool = False) -> SearchResponse:
        """The page of hits; a first answer may be a quick preview of the full ranking, by words alone."""
        understood = self._understand(replace(query, mode="lexical") if first_answer else query)
        watch = Stopwatch()
        with self._corpus.snapshot() as snapshot:
            answer = self._find(snapshot, understood, watch, first_answer)
            return self._respond(snapshot, understood, answer, watch)

    def recent(self, count: int, offset: int = 0) -> SearchResponse:
        """The first passage of the notes that changed last."""
        query = SearchQuery("", "lexical", k=count, offset=offset)
        watch = Stopwatch()
        with self._corpus.snapshot() as snapshot:
            answer = _browsed(snapshot, query, SearchFilters(), watch)
            understood = _PreparedQuery(query, parse("", self._now()), SearchFilters(), None)
            return self._respond(snapshot, understood, answer, watch)

    def explain(self, query: SearchQuery) -> ExplainedResponse:
        """The same page, with the figures behind every hit."""
        from kebab_tui.search import explanation

        understood = self._understand(query)
        watch = Stopwatch()
        with self._corpus.snapshot() as snapshot:
            answer = self._find(snapshot, understood, watch, first_answer=False)
            response = self._respond(snapshot, understood, answer, watch)
            explained = explanation.explain(snapshot, response, answer, self._options.weights)
            return replace(explained, filtered=explanation.filtered(snapshot, understood.filters))

    def why_not(self, query: SearchQuery, document: Document) -> WhyNot:
        """What keeps an indexed note out of the answer, or where in it the note stands."""
        from kebab_tui.search import why_not

        understood = self._understand(query)
        with self._corpus.snapshot() as snapshot:
            limits = self._limits(query)
            verdict = why_not.judge(
                snapshot, understood.parsed, understood.query, limits, understood.filters, document
            )
            is_list = _is_list(understood.parsed)
            by_words = understood.semantics is None and not is_list
            if verdict.stage == "filtered" or by_words:
                return verdict
            by_meaning = query.mode == "vector"
            k = max(_DEEP, query.k) if by_meaning else snapshot.collection().chunks
            whole = replace(understood.query, k=k, offset=0, min_score=None, threshold=None)
            answer = self._find(snapshot, replace(understood, query=whole), Stopwatch(), first_answer=False)
            if answer.mode == "lexical" and not is_list:
                return verdict
            return why_not.in_list(snapshot, answer, query, limits, document, verdict)

    def _understand(self, query: SearchQuery) -> _PreparedQuery:
        parsed = parse(query.text, self._now())
        filters = merge(query.filters, parsed.filters)
        if query.mode == "lexical":
            return _PreparedQuery(query, parsed, filters, None)
        semantics = self._semantics()
        if isinstance(semantics, Semantics):
            return _PreparedQuery(query, parsed, filters, semantics)
        if query.mode == "vector":
            raise ModelError(semantics.text.removesuffix("."), "search by words with --mode lexical")
        return _PreparedQuery(replace(query, mode="lexical"), parsed, filters, None, (_by_words(semantics),))

    def _find(
        self, snapshot: Snapshot, understood: _PreparedQuery, watch: Stopwatch, first_answer: bool
    ) -> Answer:
        query, parsed, filters = understood.query, understood.parsed, understood.filters
        if snapshot.collection().chunks == 0:
            return Answer(query.mode, notices=(_NO_PASSAGES,))
        begun = parsed.is_only_filters and query.typing and parsed.is_only_begun
        without = () if query.mode == "vector" else match_tree.excluded_alone(parsed)
        if begun or without or (parsed.is_only_filters and filters.active):
            return _browsed(snapshot, query, filters, watch, without)
        if understood.semantics is not None:
            return self._find_by_meaning(snapshot, understood, understood.semantics, watch)
        return lexical.find(
            snapshot, parsed, query, filters, self._limits(query), watch, first_answer=first_answer
        )

    def _limits(self, query: SearchQuery) -> Limits:
        return Limits.of(query, self._options.hybrid.rrf_k)

    def _find_by_meaning(
        self, snapshot: Snapshot, understood: _PreparedQuery, semantics: Semantics, watch: Stopwatch
    ) -> Answer:
        from kebab_tui.search import hybrid, semantic

        query, parsed, filters = understood.query, understood.parsed, understood.filters
        asked = semantic.ask(semantics, query.text, parsed, watch)
        if isinstance(asked, Notice) and query.mode == "vector":
            return Answer("vector", notices=(asked,))
        limits = self._limits(query)
        if isinstance(asked, Notice):
            answer = lexical.find(snapshot, parsed, query, filters, limits, watch)
            return replace(answer, notices=(_by_words(asked), *answer.notices))
        if query.mode == "vector":
            return semantic.find(snapshot, asked, parsed, query, filters, limits, watch)
        if self._scripts is None:
            self._scripts = semantic.Scripts()
        return hybrid.find(
            snapshot, asked, parsed, query, filters, self._options.hybrid, limits, self._scripts, watch
        )

    def _respond(
        self, snapshot: Snapshot, understood: _PreparedQuery, answer: Answer, watch: Stopwatch
    ) -> SearchResponse:
        query = understood.query
        version = _version(snapshot, answer)
        with watch.stage("show") as stage:
            found = hydrate(snapshot, answer, self._probe, self._options.snippet_chars, version)
            stage.kept = len(found)
        end = query.offset + len(found)
        said = [*understood.parsed.notices, *understood.notices, *answer.notices, *relaxed(found)]
        if self._options.current and snapshot.lexical_version not in self._options.current:
            said.append(_STALE)
        if answer.asked is not None:
            said += _pending(snapshot, answer.asked.semantics, answer.mode)
        return SearchResponse(
            query=query.text,
            mode=answer.mode,
            hits=found,
            total_matches=answer.total,
            next_offset=end if found and end < answer.total else None,
            notices=tuple(said),
            stages=watch.stages,
            index_version=version,
            corpus_revision=snapshot.revision,
            raw=understood.parsed.raw is not None,
            complete=answer.complete,
            read="" if answer.asked is None else answer.asked.text,
        )


_NO_PASSAGES = Notice(
    "no_passages",
    "The index holds no passages: run `kebab ingest FOLDER` with the folder of your notes.",
    "warning",
)

_DEEP = 300
"""How far down a list by meaning alone a note is looked for."""


def _by_words(notice: Notice) -> Notice:
    return replace(notice, text=f"{notice.text} Searched by words only.")


_STALE = Notice(
    "index_stale",
    "The index was made by another version or with other settings: `kebab ingest` brings it up to date.",
    "warning",
)


def _is_list(parsed: ParsedQuery) -> bool:
    """Whether nothing is looked for: only what is not wanted is left out."""
    return parsed.is_only_filters or bool(match_tree.excluded_alone(parsed))


def _browsed(
    snapshot: Snapshot,
    query: SearchQuery,
    filters: SearchFilters,
    watch: Stopwatch,
    without: Sequence[str] = (),
) -> Answer:
    """A query that looks for nothing lists the notes that it does not rule out, latest change first."""
    with watch.stage("browse") as stage:
        rows, total = snapshot.browse(filters, query.k, query.offset, without=without)
        stage.kept = total
    listed = enumerate(rows, query.offset + 1)
    page = tuple(Ranked(row, rank, 0.0, "bm25", RetrievalDetail("lexical")) for rank, row in listed)
    return Answer("lexical", page, total)


def _version(snapshot: Snapshot, answer: Answer) -> str:
    if answer.asked is None:
        return snapshot.lexical_version
    vectors = answer.asked.semantics.version
    return vectors if answer.mode == "vector" else f"hybrid:{snapshot.lexical_version}+{vectors}"


def _pending(snapshot: Snapshot, semantics: Semantics, mode: SearchMode) -> list[Notice]:
    """How far the vectors are, while they are not all there."""
    chunks, vectors = snapshot.collection().chunks, semantics.index.count
    if vectors >= chunks:
        return []
    share = int(100 * vectors / chunks)
    rest = "is not found by meaning yet" if mode == "vector" else "is found by words only"
    return [Notice("vectors_pending", f"vectors {share} %: the rest {rest}.")]
