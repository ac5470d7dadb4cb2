"""The search engine: from a query to a response, through retrieval and hydration.

Everything in one response is read from one snapshot of the corpus. No query text causes
an error, except an invalid raw query and a filter without a valid value; ignored parts of a query
and unavailable means become notices in the response.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING

from kebab_tui.domain.document import Document
from kebab_tui.domain.errors import ModelError
from kebab_tui.domain.facets import day_of
from kebab_tui.domain.hit import (
    CORRECTED,
    Correction,
    Notice,
    RetrievalDetail,
    SearchHit,
    SearchResponse,
    partial_matches,
)
from kebab_tui.domain.ids import ChunkRow
from kebab_tui.domain.interruption import uninterruptible
from kebab_tui.domain.pages import cite
from kebab_tui.domain.query import SearchFilters, SearchQuery
from kebab_tui.search import lexical, match_tree, name_leg
from kebab_tui.search.answer import Answer, Ranked, Search
from kebab_tui.search.filter_keys import check_sources, nearest_key
from kebab_tui.search.limits import HybridOptions, Limits, threshold_notices
from kebab_tui.search.links import resolved
from kebab_tui.search.match import Match
from kebab_tui.search.ports import Corpus, FieldWeights, FileProbe, SemanticsSource, Snapshot
from kebab_tui.search.query_language import merge, parse
from kebab_tui.search.snippet import snippet
from kebab_tui.search.typos import KnowsWord, correct

if TYPE_CHECKING:
    from kebab_tui.search.explanation import ExplainedResponse
    from kebab_tui.search.why_not import WhyNot

_DEEP = 300
"""How far down a purely semantic list `why_not` looks for a note."""
_METHODS = {"lexical": "fts5-bm25", "vector": "cosine", "hybrid": "rrf"}
_EMPTY_INDEX = Notice(
    "no_passages", "The index is empty: run `kebab ingest FOLDER` with the folder of your notes.", "warning"
)
_STALE = Notice(
    "index_stale",
    "The index was built by another version or with other settings: run `kebab ingest` to update it.",
    "warning",
)


@dataclass(frozen=True, slots=True)
class SearchOptions:
    weights: FieldWeights = field(default_factory=FieldWeights)
    snippet_chars: int = 220
    hybrid: HybridOptions = field(default_factory=HybridOptions)
    current: frozenset[str] = frozenset()
    """The lexical versions that are not stale; empty: any."""


class SearchEngine:
    """Knows the corpus and the model only through its ports."""

    def __init__(
        self,
        corpus: Corpus,
        probe: FileProbe,
        options: SearchOptions,
        semantics: SemanticsSource,
        now: Callable[[], datetime] = datetime.now,
        knows_word: KnowsWord = lambda *_: False,
        of_versions: Callable[[Sequence[SearchHit], SearchFilters], tuple[SearchHit, ...]] | None = None,
    ) -> None:
        """`knows_word`: whether the model has a word, or one that begins so; loads no model.

        `of_versions`: names the versions of the hits, in an index of versions.
        """
        self._corpus = corpus
        self._probe = probe
        self._options = options
        self._semantics = semantics
        self._now = now
        self._knows_word = knows_word
        self._of_versions = of_versions

    def search(self, query: SearchQuery, first_answer: bool = False) -> SearchResponse:
        """A page of hits; a first answer may be a quick keyword preview of the full ranking."""
        with self._begun(replace(query, mode="lexical") if first_answer else query) as search:
            return self._respond(search, self._find(search, first_answer))

    def recent(self, count: int, offset: int, filters: SearchFilters) -> SearchResponse:
        """The first chunk of each of the latest changed notes."""
        with self._begun(SearchQuery("", "lexical", k=count, offset=offset, filters=filters)) as search:
            return self._respond(search, _browsed(search))

    def explain(self, query: SearchQuery) -> ExplainedResponse:
        """The same page, with the numbers behind every hit."""
        from kebab_tui.search import explanation

        with self._begun(query) as search:
            answer = self._find(search)
            return explanation.explain(search, self._respond(search, answer), answer, self._options.weights)

    def count_by_source(self, query: SearchQuery) -> Mapping[str, int]:
        """How many passages of each source have all the words, or else any of them; one count for all."""
        if not query.text.strip():
            return {}
        with self._begun(query) as search:
            return lexical.count_by_source(search)

    def why_not(
        self, query: SearchQuery, document: Document, rows: Sequence[ChunkRow] | None = None
    ) -> WhyNot:
        """The reason that keeps an indexed note out of the response, or its rank and why it is not higher.

        `rows`: judge only these passages of the note.
        """
        from kebab_tui.search import why_not

        with self._begun(query) as search:
            own = search.snapshot.chunk_rows(document.doc_id) if rows is None else rows
            judged = why_not.Judged(document, own, "note" if rows is None else "passage")
            verdict = why_not.judge(search, judged)
            is_list = search.parsed.is_only_filters or bool(match_tree.excluded_alone(search.parsed))
            is_judged = not is_list and not name_leg.exact(search)
            if verdict.stage == "filtered":
                return verdict
            is_found = search.semantics is not None or not is_judged
            if is_found:
                k = max(_DEEP, query.k) if query.mode == "vector" else search.snapshot.collection().chunks
                whole = self._unlimited(search, k)
                answer = self._find(whole)
                is_found = answer.mode != "lexical" or not is_judged
                if is_found:
                    verdict = why_not.in_list(search, answer, judged, verdict)
            if verdict.row is None or verdict.rank is None:
                return verdict
            if not is_found:
                whole = self._unlimited(search, verdict.rank)
                answer = lexical.find(whole)
            return self._beside_first(whole, answer, verdict)

    def _unlimited(self, search: Search, k: int) -> Search:
        """The search for the first `k` hits, whatever their scores."""
        query = replace(search.query, k=k, offset=0, min_score=None, threshold=None)
        return replace(search, query=query, limits=Limits.of(query, self._options.hybrid.rrf_k))

    def _beside_first(self, search: Search, answer: Answer, verdict: WhyNot) -> WhyNot:
        """The verdict with the judged passage and the first hit, compared."""
        from kebab_tui.search import explanation

        pair = [one for one in answer.page if one.row == verdict.row][:1]
        if pair and pair[0] is not answer.page[0]:
            pair.insert(0, answer.page[0])
        answer = replace(answer, page=tuple(pair))
        both = explanation.explain(search, self._respond(search, answer), answer, self._options.weights)
        if len(both.hits) < len(pair) or not pair:
            return verdict  # not hydrated: the index has just changed
        first, mine = both.hits[0], both.hits[-1]
        comparison = None
        if mine is not first and mine.tree.children:
            comparison = explanation.compared(mine, first, both)
        return replace(verdict, passage=mine, first=first, comparison=comparison)

    @contextmanager
    def _begun(self, query: SearchQuery) -> Iterator[Search]:
        """Parse a query and open a snapshot for it."""
        now = self._now()
        parsed = parse(query.text, now, typing=query.typing)
        if parsed.error is not None:
            raise parsed.error
        filters = merge(query.filters, parsed.filters) if query.filters.active else parsed.filters
        semantics = None
        if query.mode != "lexical":
            with uninterruptible():  # vectors that are read serve the next query, too
                semantics = self._semantics()
        notices: tuple[Notice, ...] = ()
        if isinstance(semantics, Notice):
            if query.mode == "vector":
                raise ModelError(semantics.text.removesuffix("."), "--mode lexical searches by keyword")
            notices, semantics = (_by_words(semantics),), None
            query = replace(query, mode="lexical")
        if query.rerank is None:
            query = replace(query, rerank=self._options.hybrid.rerank)
        limits = Limits.of(query, self._options.hybrid.rrf_k)
        with self._corpus.snapshot() as snapshot:
            if filters.shareable and not snapshot.has_private():
                filters = replace(filters, shareable=False)
            if removed := snapshot.removed_sources():
                filters = replace(filters, without=removed)
            if filters.version_ids:  # they are of these sources already
                filters = replace(filters, sources=(), versions=())
            elif parsed.filters.sources and (known := filters.within or snapshot.sources()):
                check_sources(parsed.filters.sources, known, begun=query.text if query.typing else "")
            typed, typing = query.text, query.typing
            filters = resolved(snapshot, filters, begun=typed if typing else "")
            search = Search(snapshot, query, parsed, filters, limits, semantics, notices, typed=typed)
            if snapshot.remote:
                _expect(search)
                if not query.exact:
                    _expect_slips(search, self._knows_word)
            corrections: tuple[Correction, ...] = ()
            if not query.exact:
                text, corrections = correct(
                    typed, parsed.tokens, snapshot, self._knows_word,
                    typing=typing, shareable=filters.shareable,
                )  # fmt: skip
                if corrections:
                    query, parsed = replace(query, text=text), parse(text, now, typing=typing)
                    words = ", ".join(f"{one.searched} (for {one.typed})" for one in corrections)
                    notices = (*notices, Notice(CORRECTED, f"also searched: {words}"))
                    search = Search(
                        snapshot, query, parsed, filters, limits, semantics, notices,
                        typed=typed, corrections=corrections,
                    )  # fmt: skip
                    if snapshot.remote:
                        _expect(search, later=True)
            yield search

    def respelled(self, text: str) -> list[tuple[str, str]]:
        """The corrected parts of a query, each with the query that has them.

        A search corrects fewer: it leaves unknown keys, and words that the model knows.
        """
        parsed = parse(text, self._now())
        found = [
            (f"{key}:", f"{text[: token.start]}{key}:{text[token.end :]}")
            for token in parsed.tokens
            if token.role == "unknown_key" and (key := nearest_key(text[token.start : token.end - 1]))
        ]
        with self._corpus.snapshot() as snapshot:
            corrected, words = correct(text, parsed.tokens, snapshot, lambda *_: False, typing=False)
        if words:
            found.append((" ".join(one.searched for one in words), corrected))
        return found

    def _find(self, search: Search, first_answer: bool = False) -> Answer:
        query, parsed = search.query, search.parsed
        if search.snapshot.collection().chunks == 0:
            return Answer(query.mode, notices=(_EMPTY_INDEX,))
        begun = parsed.is_only_filters and query.typing and parsed.is_only_begun
        without = () if query.mode == "vector" else match_tree.excluded_alone(parsed)
        if begun or without or (parsed.is_only_filters and search.filters.chosen):
            return _browsed(search, without)
        if search.semantics is None:
            return lexical.find(search, first_answer=first_answer)

        from kebab_tui.search import hybrid, semantic

        encoded = semantic.encode(search, search.semantics)
        if isinstance(encoded, Notice):
            if query.mode == "vector":
                return Answer("vector", notices=(encoded,))
            answer = lexical.find(search)
            return replace(answer, notices=(_by_words(encoded), *answer.notices))
        if query.mode == "vector":
            return semantic.find(search, encoded)
        return hybrid.find(search, encoded, self._options.hybrid)

    def _respond(self, search: Search, answer: Answer) -> SearchResponse:
        query, snapshot = search.query, search.snapshot
        version = lexical_version = snapshot.lexical_version
        if answer.encoded is not None:
            vectors = answer.encoded.semantics.version
            version = vectors if answer.mode == "vector" else f"hybrid:{version}+{vectors}"
        with search.watch.stage("show") as stage:
            hits = hydrate(snapshot, answer, self._probe, self._options.snippet_chars, version)
            if self._of_versions is not None:
                hits = self._of_versions(hits, search.filters)
            stage.kept = len(hits)
        read = "" if answer.encoded is None else answer.encoded.text
        notices = [
            *search.parsed.notices, *search.notices, *answer.notices, *partial_matches(hits),
            *snapshot.notices,
        ]  # fmt: skip
        if query.threshold is not None:
            notices[:0] = threshold_notices(query.threshold, query, answer.mode, read, self._options.hybrid)
        if self._options.current and lexical_version not in self._options.current:
            notices.append(_STALE)
        share = 0
        if answer.encoded is not None:
            chunks, vectors_there = snapshot.collection().chunks, answer.encoded.semantics.index.count
            share = 100 if vectors_there >= chunks else int(100 * vectors_there / chunks)
            if share < 100:
                rest = "not found yet" if answer.mode == "vector" else "found by keyword only"
                text = f"Semantic search {share} % ready; other passages are {rest}."
                notices.append(Notice("vectors_pending", text))
        end = query.offset + len(hits)
        return SearchResponse(
            query=search.typed,
            mode=answer.mode,
            hits=hits,
            total_matches=answer.total,
            next_offset=end if hits and end < answer.total else None,
            notices=tuple(notices),
            stages=tuple(search.watch.stages.values()),
            index_version=version,
            corpus_revision=snapshot.revision,
            raw=search.parsed.raw is not None,
            complete=answer.complete,
            read=read,
            corrections=search.corrections,
            corrected=query.text if search.corrections else "",
            vector_share=share,
        )


def _expect(search: Search, *, later: bool = False) -> None:
    """Ask for what the words of a query need, and begin to search the vectors."""
    from kebab_tui.search import forecast

    query, semantics = search.query, search.semantics
    page = query.offset, query.k
    words = forecast.of_words(search.parsed, query.text, search.filters, typing=query.typing, page=page)
    search.snapshot.expect(replace(words, by_meaning=semantics is not None), later=later)
    if semantics is not None:
        from kebab_tui.search import hybrid, semantic

        encoded = semantic.encode(search, semantics)
        if not isinstance(encoded, Notice):
            (semantic if query.mode == "vector" else hybrid).begin(search, encoded)


def _expect_slips(search: Search, knows_word: KnowsWord) -> None:
    """Ask for the words that may be meant by those that no note has, in one trip."""
    from kebab_tui.search import typos

    slips = typos.forecast(
        search.typed, search.parsed.tokens, search.snapshot, knows_word, typing=search.query.typing
    )
    if slips is not None:
        search.snapshot.expect(slips)


def _by_words(notice: Notice) -> Notice:
    return replace(notice, text=f"{notice.text} Keyword results only.")


def _browsed(search: Search, without: Sequence[Match] = ()) -> Answer:
    """The notes that a query without search words does not exclude, latest change first."""
    query = search.query
    with search.watch.stage("browse") as stage:
        rows, total = search.snapshot.browse(search.filters, query.k, query.offset, without=without)
        stage.kept = total
    listed = enumerate(rows, query.offset + 1)
    page = tuple(Ranked(row, rank, 0.0, "bm25", RetrievalDetail("lexical")) for rank, row in listed)
    return Answer("lexical", page, total)


def hydrate(
    snapshot: Snapshot, answer: Answer, probe: FileProbe, snippet_chars: int, version: str
) -> tuple[SearchHit, ...]:
    """The hits for the chunks of a page that still exist: text, snippet, citation, state of the file."""
    found = snapshot.hydrate([ranked.row for ranked in answer.page])
    hits = []
    for ranked in answer.page:
        if ranked.row not in found:
            continue
        chunk, document = found[ranked.row].chunk, found[ranked.row].document
        excerpt = snippet(chunk.text, ranked.phrases, snippet_chars, is_code=document.type == "code")
        state = probe(found[ranked.row])
        hits.append(
            SearchHit(
                rank=ranked.rank,
                score=ranked.score,
                score_kind=ranked.score_kind,
                row=chunk.row,
                chunk_id=chunk.chunk_id,
                doc_id=document.doc_id,
                source=document.source,
                root=found[ranked.row].root,
                path=document.path,
                raw_path=document.raw_path,
                name=document.name,
                title=document.title,
                type=document.type,
                lang=document.lang,
                kind=chunk.kind,
                heading_path=chunk.heading_path,
                snippet=excerpt.text,
                highlights=excerpt.highlights,
                text=chunk.text,
                citation=cite(document, chunk.span, chunk.heading_path),
                retrieval=ranked.detail,
                retrieval_method=_METHODS[answer.mode],
                index_version=version,
                chunker_version=found[ranked.row].chunker_version,
                indexed_ns=document.indexed_ns,
                day=document.dated or day_of(document.fingerprint.mtime_ns),
                day_from=document.dated_by or "modified",
                source_title=found[ranked.row].source_title,
                trust=document.trust,
                embedding_model=None if answer.encoded is None else answer.encoded.semantics.model,
                relaxed=ranked.relaxed,
                further=ranked.further,
                distant=ranked.distant,
                stale=state != "same",
                gone=state == "gone",
            )
        )
    return tuple(hits)
