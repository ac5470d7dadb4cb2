"""Explanations of hits: one tree of numbers, in which each number follows from those below it.

Built only from the index; the front ends print the tree and add no numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from operator import mul
from typing import NamedTuple

from kebab_tui.domain.hit import SearchHit, SearchResponse
from kebab_tui.domain.ids import ChunkRow
from kebab_tui.domain.query import SearchFilters
from kebab_tui.domain.text import format_sum, share_digits
from kebab_tui.search.answer import Answer, Search
from kebab_tui.search.bm25 import K1, inverse_document_frequency, length_norm, normalised, term_weight
from kebab_tui.search.match import Term
from kebab_tui.search.ports import FieldCounts, FieldWeights, NearestSentence, Snapshot
from kebab_tui.search.ranking import OTHER_SCRIPT_SHARE, Fused, FusionSettings
from kebab_tui.search.why_not import single_filters

_RULES: Mapping[str, tuple[Callable[..., float], str]] = {
    "given": (lambda: 0.0, ""),
    "first": (lambda first, *_: first, ""),
    "sum": (lambda *parts: sum(parts), ""),
    "product": (lambda one, other: one * other, "{0} × {1}"),
    "quotient": (lambda part, whole: part / whole if whole else 0.0, "{0}/{1}"),
    "at least 0": (lambda number: max(number, 0.0), "cosine {0}"),
    "weighted sum": (lambda *pairs: sum(map(mul, pairs[::2], pairs[1::2])), ""),
    "reciprocal rank": (lambda rrf_k, rank, weight: weight / (rrf_k + rank), "{2}/({0}+{1})"),
    "saturation": (lambda bm25: normalised(-bm25), "{0}/(1+{0})"),
    "bm25 term": (term_weight, "tf {1}, idf {0}"),
    "idf": (inverse_document_frequency, "in {1} of {0} passages"),
    "length norm": (length_norm, "{0} tokens, {1} on average"),
}
"""All formulas: how a value follows from those of the children, and how that is printed."""
_DIGITS = 4
_NO_COUNTS = FieldCounts(0, 0, 0, 0)


class Line(NamedTuple):
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
        return cls(_RULES[formula][0](*[one.value for one in children]), label, formula, children, note)

    def at(self, *labels: str) -> Explanation:
        """The node below this one with these labels on the way."""
        node = self
        for label in labels:
            node = next(child for child in node.children if child.label == label)
        return node

    def lines(
        self, depth: int = 0, digits: int = _DIGITS, value: str = "", share: float = 0
    ) -> Iterator[Line]:
        """Print it: steps and parts of sums are lines of their own, other numbers are in `how`.

        Each printed number follows from the printed numbers it is made of.
        """
        value = value or f"{self.value:.{digits}f}"
        how = ", ".join(filter(None, (self._how(digits), self.note)))
        yield Line(depth, self.label, value, how, share)
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
        return _RULES[self.formula][1].format(*parts)

    def _part(self, digits: int) -> str:
        """It as a part of another computation."""
        number = f"{self.value:.{digits}f}"
        match self.formula:
            case "product" | "quotient" | "weighted sum":
                return self._how(digits)
            case "sum" if not any(child.children for child in self.children):
                return f"({'+'.join(child._part(digits) for child in self.children)})"
            case "idf":
                return f"{number} {self._how(digits)}"
            case "at least 0":
                return f"{self.label} {number}"
            case "given":
                number = f"{self.value:.12g}" if round(self.value, 2) == self.value else number
                return f"bm25 {number}" if self.label == "bm25" else number
        return number


@dataclass(frozen=True, slots=True)
class ExplainedHit:
    """`sentence`: the one nearest to the query. `fused`: None if its response has no fusion."""

    hit: SearchHit
    tree: Explanation
    sentence: NearestSentence | None
    fused: Fused | None


@dataclass(frozen=True, slots=True)
class Filtered:
    """The effect of the filters: all notes, those that pass, and how many each filter alone drops."""

    notes: int
    passing: int
    dropped: tuple[tuple[str, int], ...]

    def __str__(self) -> str:
        each = ", ".join(f"{name} leaves out {count:,}" for name, count in self.dropped)
        return f"filters: {self.passing:,} of {self.notes:,} notes pass ({each})"


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
    by_phrases: dict[tuple[Term, ...], list[ChunkRow]] = {}
    for ranked in answer.page:
        if ranked.detail.lexical_rank is not None and ranked.phrases:
            by_phrases.setdefault(ranked.phrases, []).append(ranked.row)
    tables: dict[ChunkRow, Explanation] = {}
    for phrases, rows in by_phrases.items():
        tables |= explain_lexical(snapshot, phrases, rows, weights)
    fused = {ranked.row: ranked.fused for ranked in answer.page}
    hits = []
    for hit in response.hits:
        one, steps, sentence = fused[hit.row], [], None
        if hit.row in tables:
            steps.append(Explanation.of("words", "saturation", tables[hit.row]))
        elif hit.retrieval.lexical_score is not None:
            note = "ranked by FTS5 itself, which names no terms"
            steps.append(Explanation(hit.retrieval.lexical_score, "words", note=note))
        cosine = hit.retrieval.vector_score if one is None else one.evidence.cosine
        if answer.encoded is not None and cosine is not None:
            steps.append(Explanation.of("meaning", "at least 0", cosine=cosine))
            nearest = answer.encoded.semantics.encoder.nearest_sentence(hit.text, answer.encoded.vector)
            sentence = nearest or NearestSentence(0, 0, 0.0)
        if sentence is not None and sentence.end:
            text = hit.text[sentence.start : sentence.end]
            steps.append(Explanation(sentence.cosine, "sentence", note=f"nearest: {text}"))
        tree = Explanation.of("score", "first", *steps) if steps else Explanation(hit.score, "score")
        hits.append(ExplainedHit(hit, tree, sentence, one))
    # A what-if without reranking needs the chunk ids, which order equal scores.
    ids = snapshot.chunk_ids([one.evidence.row for one in answer.fused])
    candidates = tuple(
        one._replace(evidence=one.evidence._replace(chunk_id=ids.get(one.evidence.row, "")))
        for one in answer.fused
    )
    effect = None
    if search.filters.active:
        notes = snapshot.browse(SearchFilters(), 0, 0)[1]
        passing = snapshot.browse(search.filters, 0, 0)[1]
        dropped = (
            (name, notes - snapshot.browse(alone, 0, 0)[1]) for name, alone in single_filters(search.filters)
        )
        effect = Filtered(notes, passing, tuple(dropped))
    explained = ExplainedResponse(response, tuple(hits), candidates, None, effect)
    return explained if answer.fusion is None else with_fusion(explained, candidates, answer.fusion)


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
    factors = [Explanation(getattr(weights, name), f"{name} weight") for name in FieldCounts._fields]
    weighted: dict[FieldCounts, Explanation] = {}
    terms: dict[ChunkRow, list[Explanation]] = {row: [] for row in rows}
    for phrase in phrases:
        idf = Explanation.of("idf", "idf", passages=chunks, df=snapshot.frequency(phrase))
        found = snapshot.occurrences(phrase, rows)
        for row in rows:
            counts = found.get(row, _NO_COUNTS)
            if counts not in weighted:  # many passages have the same counts
                pairs = zip(map(Explanation, counts, FieldCounts._fields), factors, strict=True)
                weighted[counts] = Explanation.of("tf", "weighted sum", *chain.from_iterable(pairs))
            terms[row].append(Explanation.of(phrase.label, "bm25 term", idf, weighted[counts], norms[row]))
    return {row: Explanation.of("bm25", "sum", *parts) for row, parts in terms.items()}


def with_fusion(
    base: ExplainedResponse, candidates: Sequence[Fused], settings: FusionSettings
) -> ExplainedResponse:
    """The hits with the steps of this fusion instead of those they have."""
    explained = replace(base, candidates=tuple(candidates), fusion=settings)
    strongest, by_row, hits = explained.strongest_bm25, {one.evidence.row: one for one in candidates}, []
    for one in base.hits:
        fused = by_row.get(one.hit.row)
        steps = [step for step in one.tree.children if step.label not in ("rerank", "fused")]
        note = ""
        if fused is not None:
            steps.insert(0, _fusion(fused, settings))
            if settings.rerank:
                steps.insert(0, _rerank(fused, settings, strongest))
            if fused.kept_place:
                note = f"place {fused.rank} was kept for the other language"
        hits.append(replace(one, fused=fused, tree=Explanation.of("score", "first", *steps, note=note)))
    return replace(explained, hits=tuple(hits))


def _fusion(fused: Fused, settings: FusionSettings) -> Explanation:
    evidence, rrf_k, legs = fused.evidence, settings.rrf_k, []
    other = "among notes in the other language" if evidence.other_script else ""
    for leg, weight, rank, note in (
        ("words", settings.lexical_weight, evidence.lexical_rank, ""),
        ("meaning", settings.vector_weight, evidence.vector_rank, other),
    ):
        legs.append(
            Explanation(0.0, leg, note="not in its list")
            if rank is None
            else Explanation.of(leg, "reciprocal rank", rrf_k=rrf_k, rank=rank, weight=weight, note=note)
        )
    both = Explanation.of("weights", "sum", words=settings.lexical_weight, meaning=settings.vector_weight)
    most = Explanation.of("maximum", "reciprocal rank", both, rrf_k=rrf_k, rank=1)
    raw = Explanation.of("rrf_raw", "sum", *legs)
    place = f"place {fused.fusion_rank}"
    return Explanation.of("fused", "quotient", raw, most._replace(value=settings.best_raw), note=place)


def _rerank(fused: Fused, settings: FusionSettings, strongest: float) -> Explanation:
    evidence, note = fused.evidence, ""
    by_words, by_meaning = settings.rerank_keyword, 1 - settings.rerank_keyword
    near = evidence.cosine or fused.assumed_cosine or 0.0
    cosine = Explanation.of("cosine", "at least 0", cosine=near)
    if evidence.other_script and cosine.value and not fused.rerank_keyword:
        by_words, by_meaning, note = 0.0, OTHER_SCRIPT_SHARE, "in another language"
    words = Explanation(0.0, "words", note=note or "none of the words")
    if evidence.strength:
        part = Explanation.of("of the best", "quotient", bm25=evidence.strength, strongest=strongest)
        words = Explanation.of("words", "product", part, share=by_words, note=note)
    assumed = "" if fused.assumed_cosine is None else "assumed from its words: not embedded yet"
    meaning = Explanation.of("meaning", "product", cosine, share=by_meaning, note=assumed)
    place = f"place {fused.rerank_rank}"
    if fused.rerank_rank is None:
        place = f"below the best {settings.rerank_depth} of the fusion: place {fused.rank} by this score"
    return Explanation.of("rerank", "sum", words, meaning, note=place)
