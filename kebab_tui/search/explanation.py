"""Explanations of hits: one tree of numbers, in which each number follows from those below it.

Built only from the index; the front ends print the tree and add no numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import chain
from operator import mul
from typing import NamedTuple

from kebab_tui.domain.hit import SearchHit, SearchResponse
from kebab_tui.domain.ids import ChunkRow
from kebab_tui.domain.text import format_sum, share_digits
from kebab_tui.search import lexical
from kebab_tui.search.answer import Answer, EncodedQuery, Search
from kebab_tui.search.bm25 import K1, inverse_document_frequency, length_norm, normalised, term_weight
from kebab_tui.search.headline import (
    Compared,
    FoundWord,
    HitComparison,
    HitFacts,
    compare,
    found_words,
    headline,
)
from kebab_tui.search.match import Term
from kebab_tui.search.ports import (
    BEST_PART,
    FieldCounts,
    FieldWeights,
    Forecast,
    NearestSentence,
    Snapshot,
)
from kebab_tui.search.ranking import Fused, FusionSettings
from kebab_tui.search.why_not import Filtered, count_filtered


class _Rule(NamedTuple):
    """How a value follows from those of the children `{0}`, `{1}`; the text beside it, and in another's."""

    value: Callable[..., float]
    how: str = ""
    part: str = "{number}"


_PARTS = f"{BEST_PART:g} × {{0}} + {1 - BEST_PART:g} × {{1}}"
_RULES: Mapping[str, _Rule] = {
    "given": _Rule(lambda: 0.0),
    "first": _Rule(lambda first, *_: first),
    "sum": _Rule(lambda *parts: sum(parts)),
    "product": _Rule(mul, "{0} × {1}", "{how}"),
    "quotient": _Rule(lambda part, whole: part / whole if whole else 0.0, "{0}/{1}", "{how}"),
    "at least 0": _Rule(lambda number: max(number, 0.0), "cosine {0}", "cosine {number}"),
    "parts": _Rule(lambda best, whole: BEST_PART * best + (1 - BEST_PART) * whole, _PARTS, "{how}"),
    "weighted sum": _Rule(lambda *pairs: sum(map(mul, pairs[::2], pairs[1::2])), part="{how}"),
    "reciprocal rank": _Rule(lambda rrf_k, rank, weight: weight / (rrf_k + rank), "{2}/({0}+{1})"),
    "saturation": _Rule(lambda bm25: normalised(-bm25), "{0}/(1+{0})"),
    "bm25 term": _Rule(term_weight, "tf {1}, idf {0}"),
    "idf": _Rule(inverse_document_frequency, "in {1} of {0} passages", "{number} {how}"),
    "length norm": _Rule(length_norm, "{0} tokens, {1} on average"),
}
_DIGITS = 4
_LONGEST_NOTE = 200
_NO_COUNTS = FieldCounts(0, 0, 0, 0)


class PrintedLine(NamedTuple):
    """One printed line of a tree; `share` is of the sum that it is a part of, else 0."""

    depth: int
    label: str
    value: str
    how: str
    share: float


class Explanation(NamedTuple):
    """A number and its computation. Labels do not change, except those of terms; `note` is for people.

    A tuple and not a dataclass: a page of hits has thousands.
    """

    value: float
    label: str
    formula: str = "given"
    children: tuple[Explanation, ...] = ()
    note: str = ""

    @classmethod
    def of(cls, label: str, formula: str, *parts: Explanation, note: str = "", **given: float) -> Explanation:
        """A node whose children are the given numbers, then the parts."""
        children = (*[cls(value, name) for name, value in given.items()], *parts)
        return cls(_RULES[formula].value(*[one.value for one in children]), label, formula, children, note)

    def at(self, *labels: str) -> Explanation:
        """The node below this one with these labels on the way."""
        node = self
        for label in labels:
            node = next(child for child in node.children if child.label == label)
        return node

    def lines(
        self, depth: int = 0, digits: int = _DIGITS, value: str = "", share: float = 0
    ) -> Iterator[PrintedLine]:
        """Print it: steps and parts of sums are lines of their own, other numbers are in `how`.

        Each printed number follows from the printed numbers it is made of.
        """
        value = value or f"{self.value:.{digits}f}"
        note = " ".join(self.note.split())
        if len(note) > _LONGEST_NOTE:
            note = f"{note[: _LONGEST_NOTE - 1]}…"
        how = ", ".join(filter(None, (self._how(digits), note)))
        yield PrintedLine(depth, self.label, value, how, share)
        digits = self._digits(digits)
        if self.formula == "sum":
            printed, _ = format_sum([child.value for child in self.children], digits)
            for child, number in zip(self.children, printed, strict=True):
                yield from child.lines(depth + 1, digits, number, child.value / (self.value or 1))
        elif self.formula in ("first", "quotient", "saturation"):
            for child in self.children:
                if child.children or self.formula == "first":
                    yield from child.lines(depth + (self.formula != "first"), digits)

    def _digits(self, digits: int) -> int:
        """The digits of its children: more for those of a quotient of small numbers."""
        return share_digits(self.children[1].value, digits) if self.formula == "quotient" else digits

    def _how(self, digits: int) -> str:
        digits = self._digits(digits)
        parts = [child._part(digits) for child in self.children]
        if self.formula == "weighted sum":
            pairs = zip(self.children[::2], parts[::2], parts[1::2], strict=True)
            return " + ".join(f"{part} {one.label} × {weight}" for one, part, weight in pairs if one.value)
        if self.formula == "bm25 term" and not self.value:
            return "not in this passage"
        if self.formula == "sum" and self.children[0].formula == "bm25 term":
            norm = self.children[0].children[2]
            return f"idf × tf × {K1 + 1:g}/(tf+{norm._part(digits)}), {norm._how(digits)}"
        return _RULES[self.formula].how.format(*parts)

    def _part(self, digits: int) -> str:
        """It as a part of another computation."""
        number = f"{self.value:.{digits}f}"
        if self.formula == "given":
            number = f"{self.value:.12g}" if round(self.value, 2) == self.value else number
            return f"bm25 {number}" if self.label == "bm25" else number
        if self.formula == "sum" and not any(child.children for child in self.children):
            return f"({'+'.join(child._part(digits) for child in self.children)})"
        text = _RULES[self.formula].part
        return text.format(number=number, how=self._how(digits) if "{how}" in text else "")


_NAMED = Explanation(1.0, "name", note="the query is a name of the note")


@dataclass(frozen=True, slots=True)
class ExplainedHit:
    """`sentence`: the one nearest to the query. `fused`: None if its response has no fusion.

    `headline`: why it has its place, in a sentence. `above`: it beside the hit before it in the list; None of
    the first, and where the hit before is unknown.
    """

    hit: SearchHit
    tree: Explanation
    sentence: NearestSentence | None
    fused: Fused | None = None
    words: tuple[FoundWord, ...] = ()
    headline: str = ""
    above: HitComparison | None = None


@dataclass(frozen=True, slots=True)
class ExplainedResponse:
    """`candidates` are all fused candidates, in order."""

    response: SearchResponse
    hits: tuple[ExplainedHit, ...]
    candidates: tuple[Fused, ...]
    fusion: FusionSettings | None
    filtered: Filtered | None = None
    """None without filters."""

    @property
    def strongest_bm25(self) -> float:
        """The best bm25 of all candidates, as a positive number; 0 if no word was found."""
        return max((one.evidence.strength or 0.0 for one in self.candidates), default=0.0)


def explain(
    search: Search, response: SearchResponse, answer: Answer, weights: FieldWeights
) -> ExplainedResponse:
    """Explain every hit of a page."""
    snapshot = search.snapshot
    matching = [one for one in answer.page if one.phrases and one.detail.lexical_rank is not None]
    bm25: dict[ChunkRow, Explanation] = {}
    groups = {  # the phrases of partial matches are others
        phrases: [one.row for one in matching if one.phrases == phrases]
        for phrases in {one.phrases for one in matching}
    }
    if snapshot.remote:
        found = tuple((term, tuple(rows)) for phrases, rows in groups.items() for term in phrases)
        snapshot.expect(Forecast(occurrences=found), later=True)
    filtered = count_filtered(search)
    for phrases, rows in groups.items():
        bm25 |= explain_lexical(snapshot, phrases, rows, weights)
    cosines = {one.evidence.row: one.evidence.cosine for one in answer.fused}
    read = {} if answer.encoded is None else snapshot.embedded_texts([hit.row for hit in response.hits])
    sought = lexical.sought_words(search) if bm25 else ()
    words = {one.row: found_words(sought, one.phrases, bm25[one.row]) for one in matching}
    hits = []
    for hit in response.hits:
        steps, sentence = [], None
        if hit.row in bm25:
            steps.append(Explanation.of("words", "saturation", bm25[hit.row]))
        elif hit.retrieval.lexical_score is not None:
            note = "ranked by FTS5 itself, which names no terms"
            steps.append(Explanation(hit.retrieval.lexical_score, "words", note=note))
        cosine = cosines.get(hit.row, hit.retrieval.vector_score)
        if answer.encoded is not None and cosine is not None:
            steps.append(_meaning(answer.encoded, hit, read.get(hit.row, ""), cosine))
            sentence = answer.encoded.semantics.encoder.nearest_sentence(hit.text, answer.encoded.vector)
            sentence = sentence or NearestSentence(0, 0, 0.0)
            if sentence.end:
                note = f"nearest: {hit.text[sentence.start : sentence.end]}"
                steps.append(Explanation(sentence.cosine, "sentence", note=note))
        if hit.score_kind == "name":
            steps.insert(0, _NAMED)
        tree = Explanation.of("score", "first", *steps) if steps else Explanation(hit.score, "score")
        hits.append(ExplainedHit(hit, tree, sentence, words=words.get(hit.row, ())))
    # A what-if without reranking needs the chunk ids, which order equal scores.
    ids = snapshot.chunk_ids([one.evidence.row for one in answer.fused])
    candidates = tuple(
        replace(one, evidence=one.evidence._replace(chunk_id=ids.get(one.evidence.row, "")))
        for one in answer.fused
    )
    explained = ExplainedResponse(response, tuple(hits), candidates, None, filtered)
    if answer.fusion is None:
        return _with_sentences(explained)
    return with_fusion(explained, candidates, answer.fusion)


def _meaning(encoded: EncodedQuery, hit: SearchHit, read: str, cosine: float) -> Explanation:
    """The cosine of a hit; of a long passage with its nearest part."""
    found = encoded.semantics.index.parts(encoded.vector, hit.row)
    if found is None or len(found.parts) == 1:
        return Explanation.of("meaning", "at least 0", cosine=cosine)
    best = max(found.parts)
    numbers = Explanation(best, "nearest part"), Explanation(found.whole, "whole passage")
    both = Explanation.of("cosine", "parts", *numbers)
    note = f"nearest part: {best:.2f}, whole passage {found.whole:.2f}"
    spans = encoded.semantics.encoder.parts(read)
    if len(spans) == len(found.parts):  # else the index has just changed
        start, end = spans[found.parts.index(best)]
        before = len(read) - len(hit.text)
        first, last = (
            min(
                hit.citation.span.first + read.count("\n", before, max(place, before)), hit.citation.span.last
            )
            for place in (start, end - 1)
        )
        lines = f"line {first}" if first == last else f"lines {first}-{last}"
        note = f"nearest part: {lines} ({best:.2f}), whole passage {found.whole:.2f}"
    return Explanation.of("meaning", "at least 0", both, note=note)


def explain_lexical(
    snapshot: Snapshot, phrases: Sequence[Term], rows: Sequence[ChunkRow], weights: FieldWeights
) -> dict[ChunkRow, Explanation]:
    """The bm25 of several chunks, as positive sums; each phrase is looked up once."""
    chunks, average = snapshot.collection()
    lengths = snapshot.lengths(rows)
    norms = {
        row: Explanation.of("norm", "length norm", length=lengths.get(row, 0), average_length=average or 1.0)
        for row in rows
    }
    names = FieldCounts._fields
    factors = [Explanation(getattr(weights, name), f"{name} weight") for name in names]

    @cache  # many passages have the same counts
    def weighted(counts: FieldCounts) -> Explanation:
        pairs = zip(map(Explanation, counts, names), factors, strict=True)
        return Explanation.of("tf", "weighted sum", *chain.from_iterable(pairs))

    terms: dict[ChunkRow, list[Explanation]] = {row: [] for row in rows}
    for phrase in phrases:
        idf = Explanation.of("idf", "idf", passages=chunks, df=snapshot.frequency(phrase))
        found = snapshot.occurrences(phrase, rows)
        for row in rows:
            tf = weighted(found.get(row, _NO_COUNTS))
            terms[row].append(Explanation.of(phrase.label, "bm25 term", idf, tf, norms[row]))
    return {row: Explanation.of("bm25", "sum", *parts) for row, parts in terms.items()}


def with_fusion(
    base: ExplainedResponse, candidates: Sequence[Fused], settings: FusionSettings
) -> ExplainedResponse:
    """The hits with the steps of this fusion instead of those they have."""
    explained = replace(base, candidates=tuple(candidates), fusion=settings)
    strongest, by_row, hits = explained.strongest_bm25, {one.evidence.row: one for one in candidates}, []
    for one in base.hits:
        steps = [step for step in one.tree.children if step.label not in ("name", "rerank", "fused")]
        fused, note = by_row.get(one.hit.row), ""
        if fused is not None:
            steps = [*_steps(fused, settings, strongest), *steps]
            if fused.kept_place or fused.name_place:
                kept = "its name" if fused.name_place else "the other language"
                note = f"place {fused.rank} was kept for {kept}"
        hits.append(replace(one, fused=fused, tree=Explanation.of("score", "first", *steps, note=note)))
    return _with_sentences(replace(explained, hits=tuple(hits)))


def compared(mine: ExplainedHit, other: ExplainedHit, among: ExplainedResponse) -> HitComparison:
    """Why a hit comes after another one."""
    return compare(_side(mine), _side(other), among.fusion)


def _side(one: ExplainedHit) -> Compared:
    return Compared(_rank(one), one.tree, one.fused, one.hit, one.words)


def _rank(one: ExplainedHit) -> int:
    """Its rank under the present settings."""
    return one.hit.rank if one.fused is None else one.fused.rank


def _with_sentences(explained: ExplainedResponse) -> ExplainedResponse:
    """Each hit with its sentence, and compared with the hit before it, which may be on another page."""
    response, settings = explained.response, explained.fusion
    sides = {_rank(one): _side(one) for one in explained.hits}
    wanted = {rank - 1 for rank in sides} - sides.keys()
    if settings is not None:
        for fused in explained.candidates:
            if fused.rank in wanted:
                tree = Explanation.of("score", "first", *_steps(fused, settings, explained.strongest_bm25))
                sides[fused.rank] = Compared(fused.rank, tree, fused)
    hits = []
    for one in explained.hits:
        rank = _rank(one)
        facts = HitFacts(one.hit, rank, one.words, response.corrections, one.fused, settings, response.raw)
        before = sides.get(rank - 1) if one.tree.children else None
        above = None if before is None else compare(sides[rank], before, settings)
        hits.append(replace(one, headline=headline(facts), above=above))
    return replace(explained, hits=tuple(hits))


def _steps(fused: Fused, settings: FusionSettings, strongest: float) -> list[Explanation]:
    """The steps of a fusion, the one that orders the list first."""
    steps = [_fusion(fused, settings)]
    if settings.rerank:
        steps.insert(0, _rerank(fused, settings, strongest))
    if fused.named:
        steps.insert(0, _NAMED)
    return steps


def _fusion(fused: Fused, settings: FusionSettings) -> Explanation:
    evidence, rrf_k = fused.evidence, settings.rrf_k

    def leg(label: str, weight: float, rank: int | None, note: str = "") -> Explanation:
        if rank is None:
            return Explanation(0.0, label, note="not in its list")
        return Explanation.of(label, "reciprocal rank", rrf_k=rrf_k, rank=rank, weight=weight, note=note)

    other = "among notes in the other language" if evidence.other_script else ""
    words = leg("words", settings.lexical_weight, evidence.lexical_rank)
    meaning = leg("meaning", settings.vector_weight, evidence.vector_rank, other)
    raw = Explanation.of("rrf_raw", "sum", words, meaning)
    both = Explanation.of("weights", "sum", words=settings.lexical_weight, meaning=settings.vector_weight)
    most = Explanation.of("maximum", "reciprocal rank", both, rrf_k=rrf_k, rank=1)
    place = f"place {fused.fusion_rank}"
    return Explanation.of("fused", "quotient", raw, most._replace(value=settings.best_raw), note=place)


def _rerank(fused: Fused, settings: FusionSettings, strongest: float) -> Explanation:
    evidence, note = fused.evidence, ""
    by_words, by_meaning = settings.rerank_keyword, 1 - settings.rerank_keyword
    near = evidence.cosine or fused.assumed_cosine or 0.0
    cosine = Explanation.of("cosine", "at least 0", cosine=near)
    if evidence.other_script and cosine.value and not fused.rerank_keyword:
        by_words, by_meaning, note = 0.0, settings.other_script_share, "in another language"
    words = Explanation(0.0, "words", note=note or "none of the words")
    if evidence.strength:
        part = Explanation.of("of the best", "quotient", bm25=evidence.strength, strongest=strongest)
        words = Explanation.of("words", "product", part, share=by_words, note=note)
    assumed = "" if fused.assumed_cosine is None else "assumed from its words: not embedded yet"
    meaning = Explanation.of("meaning", "product", cosine, share=by_meaning, note=assumed)
    name = Explanation(0.0, "name", note="no similar name")
    if evidence.name:
        name = Explanation.of("name", "product", match=evidence.name, share=settings.rerank_name)
    place = f"place {fused.rerank_rank}"
    if fused.rerank_rank is None:
        place = f"below the best {settings.rerank_depth} of the fusion: place {fused.rank} by this score"
    parts = Explanation.of("rerank_raw", "sum", words, meaning, name)
    return Explanation.of(
        "rerank", "quotient", parts, Explanation(settings.best_rerank, "shares"), note=place
    )
