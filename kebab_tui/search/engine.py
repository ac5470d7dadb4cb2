"""From a query to an answer: parse, find, hydrate, show.

Everything of one answer is read from one snapshot of the corpus. A query never fails
for what it says, except a raw one that FTS5 refuses; what was not understood is a
notice in the answer.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from kebab_tui.domain.citation import Citation
from kebab_tui.domain.document import Document
from kebab_tui.domain.errors import NotIndexedError
from kebab_tui.domain.hit import Notice, RetrievalDetail, SearchHit, SearchResponse
from kebab_tui.domain.identity import ChunkRow
from kebab_tui.domain.query import SearchFilters, SearchQuery
from kebab_tui.search import explanation, lexical, why_not
from kebab_tui.search.bm25 import normalised
from kebab_tui.search.explanation import ExplainedHit, ExplainedResponse, LexicalExplanation
from kebab_tui.search.lexical import Candidate, LexicalAnswer
from kebab_tui.search.phrases import Phrase
from kebab_tui.search.ports import Corpus, FieldWeights, FileProbe, FoundChunk, Snapshot
from kebab_tui.search.query_language import ParsedQuery, merge, parse
from kebab_tui.search.snippet import snippet
from kebab_tui.search.stopwatch import Stopwatch
from kebab_tui.search.why_not import WhyNot


@dataclass(frozen=True, slots=True)
class SearchOptions:
    weights: FieldWeights = FieldWeights()
    snippet_chars: int = 220


@dataclass(frozen=True, slots=True)
class _Asked:
    """A query, understood."""

    query: SearchQuery
    parsed: ParsedQuery
    filters: SearchFilters


class SearchEngine:
    """Knows the corpus only through its ports."""

    def __init__(
        self,
        corpus: Corpus,
        probe: FileProbe,
        options: SearchOptions,
        now: Callable[[], datetime] = datetime.now,
    ) -> None:
        self._corpus = corpus
        self._probe = probe
        self._options = options
        self._now = now

    def search(self, query: SearchQuery, first_answer: bool = False) -> SearchResponse:
        """The page of hits; a first answer may be a quick preview of the full ranking."""
        asked = self._understand(query)
        with self._corpus.snapshot() as snapshot:
            return self._answer(snapshot, asked, first_answer)[0]

    def explain(self, query: SearchQuery) -> ExplainedResponse:
        asked = self._understand(query)
        with self._corpus.snapshot() as snapshot:
            response, answer = self._answer(snapshot, asked, first_answer=False)
            return ExplainedResponse(response, self._explained(snapshot, response, answer))

    def why_not(self, query: SearchQuery, document: Document) -> WhyNot:
        asked = self._understand(query)
        with self._corpus.snapshot() as snapshot:
            return why_not.judge(snapshot, asked.parsed, asked.query, asked.filters, document)

    def _understand(self, query: SearchQuery) -> _Asked:
        parsed = parse(query.text, self._now())
        return _Asked(query, parsed, merge(query.filters, parsed.filters))

    def _answer(
        self, snapshot: Snapshot, asked: _Asked, first_answer: bool
    ) -> tuple[SearchResponse, LexicalAnswer]:
        watch = Stopwatch()
        query = asked.query
        if snapshot.collection().chunks == 0:
            raise NotIndexedError(
                "nothing has been indexed yet", "run `kebab ingest FOLDER` with the folder of your notes"
            )
        if asked.parsed.terms is None and asked.parsed.raw is None and asked.filters.active:
            answer = _browsed(snapshot, asked, watch)
        else:
            answer = lexical.find(
                snapshot, asked.parsed, query, asked.filters, watch, first_answer=first_answer
            )
        hits = self._hits(snapshot, answer, watch)
        shown = query.offset + len(hits)
        response = SearchResponse(
            query=query.text,
            mode="lexical",
            hits=hits,
            total_matches=answer.total,
            next_offset=shown if hits and shown < answer.total else None,
            notices=_notices(asked.parsed, hits),
            stages=watch.stages,
            index_version=snapshot.lexical_version,
            corpus_revision=snapshot.revision,
            raw=asked.parsed.raw is not None,
            complete=answer.complete,
        )
        return response, answer

    def _hits(self, snapshot: Snapshot, answer: LexicalAnswer, watch: Stopwatch) -> tuple[SearchHit, ...]:
        with watch.stage("show") as stage:
            found = snapshot.hydrate([candidate.row for candidate in answer.candidates])
            version = snapshot.lexical_version
            hits = tuple(
                self._hit(candidate, found[candidate.row], answer, version) for candidate in answer.candidates
            )
            stage.kept = len(hits)
        return hits

    def _hit(self, candidate: Candidate, found: FoundChunk, answer: LexicalAnswer, version: str) -> SearchHit:
        chunk, document = found.chunk, found.document
        score = normalised(candidate.bm25)
        shown = snippet(chunk.text, _phrases(answer, candidate), self._options.snippet_chars)
        state = self._probe(found)
        return SearchHit(
            rank=candidate.rank,
            score=score,
            score_kind="bm25",
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
            snippet=shown.text,
            highlights=shown.highlights,
            text=chunk.text,
            citation=Citation(document.path, chunk.span, chunk.heading_path),
            retrieval=RetrievalDetail(
                method="lexical", lexical_score=score, lexical_rank=candidate.rank, fusion_score=score
            ),
            retrieval_method="fts5-bm25",
            index_version=version,
            chunker_version=found.chunker_version,
            indexed_ns=document.indexed_ns,
            relaxed=candidate.tier == "relaxed",
            stale=state != "same",
            gone=state == "gone",
        )

    def _explained(
        self, snapshot: Snapshot, response: SearchResponse, answer: LexicalAnswer
    ) -> tuple[ExplainedHit, ...]:
        tables: dict[ChunkRow, LexicalExplanation] = {}
        for relaxed in (False, True):
            rows = [hit.row for hit in response.hits if hit.relaxed == relaxed]
            phrases = answer.relaxed_phrases if relaxed else answer.phrases
            tables |= explanation.explain_lexical(snapshot, phrases, rows, self._options.weights)
        return tuple(ExplainedHit(hit, tables[hit.row] if answer.phrases else None) for hit in response.hits)


def _phrases(answer: LexicalAnswer, candidate: Candidate) -> Sequence[Phrase]:
    return answer.relaxed_phrases if candidate.tier == "relaxed" else answer.phrases


def _browsed(snapshot: Snapshot, asked: _Asked, watch: Stopwatch) -> LexicalAnswer:
    """A query of filters alone lists the notes that pass, latest change first."""
    with watch.stage("browse") as stage:
        rows, total = snapshot.browse(asked.filters, asked.query.k, asked.query.offset)
        stage.kept = total
    first = asked.query.offset + 1
    page = tuple(Candidate(ChunkRow(row), first + place, 0.0, "strict") for place, row in enumerate(rows))
    return LexicalAnswer(page, total)


def _notices(parsed: ParsedQuery, hits: Sequence[SearchHit]) -> tuple[Notice, ...]:
    notices = list(parsed.notices)
    if any(hit.relaxed for hit in hits):
        count = sum(hit.relaxed for hit in hits)
        notices.append(Notice("relaxed", f"{count} of these hits do not have all the words"))
    return tuple(notices)
