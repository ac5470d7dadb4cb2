"""Prints search hits for people: four lines for each hit, and with `--explain` the arithmetic of its score.

The four lines are the same on a terminal and in a pipe; a terminal adds colours, links and blank lines
between hits. Badges, whole passages and explanations follow, indented. Every printed sum is the sum of the
printed, rounded parts.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

from kebab_tui.cli.output import Style, aligned, field
from kebab_tui.domain import hit as known
from kebab_tui.domain.hit import ambiguous_paths
from kebab_tui.domain.text import format_sum, is_korean, sanitize, share_digits

if TYPE_CHECKING:
    from kebab_tui.cli.search import SearchOutput
    from kebab_tui.search.explanation import ExplainedHit, ExplainedResponse, LexicalExplanation
    from kebab_tui.search.ranking import Fused, FusionSettings

_INDENT = "   "
_LEAST_SHOWN = 0.01
_DIGITS = 4
_MOST_QUOTED = 160
_BM25_HEADER = ("term", "title", "heading", "text", "grams", "df", "idf", "adds")
_LEGS_HEADER = ("leg", "rank", "score", "weight", "fraction", "share")
_BADGE_TEXTS: dict[known.Badge, str] = {
    "relaxed": "relaxed: not all words",
    "further": "further keyword match",
    "gone": "gone: the file is no longer there",
    "stale": "stale: the file changed since",
}


def answer_lines(answer: SearchOutput, style: Style, *, full: bool) -> Iterator[str]:
    """All lines of the answer, without the notices."""
    response = answer.response
    ambiguous = ambiguous_paths(response.hits)
    for index, hit in enumerate(response.hits):
        if index and style.terminal.tty:
            yield ""
        file = os.path.join(os.fsencode(hit.root), hit.raw_path)
        score = style.strong(f"[{shown_score(hit.score)}]")
        snippet, at, painted = field(hit.snippet), 0, []
        for start, end in hit.highlights:
            painted += [snippet[at:start], style.match(snippet[start:end])]
            at = end
        yield f"{hit.rank}. {score} {''.join([*painted, snippet[at:]])}"
        yield f"{_INDENT}doc: {field(hit.path)}" + (
            f"  (in {field(hit.root)})" if hit.path in ambiguous else ""
        )
        yield f"{_INDENT}citation: {style.file_link(field(str(hit.citation)), file)}"
        yield f"{_INDENT}heading: {field(hit.heading_path)}".rstrip()
        if badges := list(known.badges(hit, is_korean(response.read))):
            texts = (_BADGE_TEXTS.get(badge, badge) for badge in reversed(badges))
            yield style.dim(f"{_INDENT}({', '.join(texts)})")
        if full:
            yield from (f"{_INDENT}│ {line}" for line in sanitize(hit.text).split("\n"))
        if answer.explained is not None:
            explained = answer.explained.hits[index]
            yield from (_INDENT + line for line in explanation_lines(explained, answer.explained))
    if answer.explained is not None:
        if answer.explained.filtered is not None:
            yield field(str(answer.explained.filtered))
        steps = []
        for stage in response.stages:
            kept = "" if stage.kept is None else f"{stage.kept:,} in "
            steps.append(f"{stage.name}: {kept}{stage.milliseconds:.1f} ms")
        yield "stages: " + " → ".join(steps)


def shown_score(score: float) -> str:
    """Two digits; a small score is not printed as 0.00."""
    return "<0.01" if 0 < score < _LEAST_SHOWN else f"{score:.2f}"


def explanation_lines(explained: ExplainedHit, among: ExplainedResponse) -> Iterator[str]:
    """The arithmetic behind one score, in the order of the computation."""
    if explained.fused is not None and among.fusion is not None:
        yield from _fusion(explained, explained.fused, among.fusion)
        yield from _rerank(explained.fused, among.fusion, among.strongest_bm25)
        if explained.fused.kept_place:
            yield f"place {explained.fused.rank} was kept for the other language"
    if explained.lexical is not None and explained.lexical.bm25:
        yield from _bm25(explained.lexical)
    semantic = explained.semantic
    if semantic is not None:
        yield f"cosine {semantic.cosine:.{_DIGITS}f}"
        if semantic.sentence:
            text = field(" ".join(semantic.sentence.split()))
            quoted = text if len(text) <= _MOST_QUOTED else text[: _MOST_QUOTED - 1] + "…"
            yield f"nearest sentence, cosine {semantic.sentence_cosine:.{_DIGITS}f}: {quoted}"


def _fusion(explained: ExplainedHit, fused: Fused, settings: FusionSettings) -> Iterator[str]:
    detail, evidence = explained.hit.retrieval, fused.evidence
    best = (settings.lexical_weight + settings.vector_weight) / (settings.rrf_k + 1)
    shares, raw = format_sum((fused.lexical_part, fused.vector_part), share_digits(best, _DIGITS))
    meaning = "meaning, other language" if evidence.other_script else "meaning"
    legs = (
        ("words", evidence.lexical_rank, detail.lexical_score, settings.lexical_weight),
        (meaning, evidence.vector_rank, detail.vector_score, settings.vector_weight),
    )
    rows = [_LEGS_HEADER]
    for (name, rank, score, weight), share in zip(legs, shares, strict=True):
        place, fraction = ("-", "not in this list")
        if rank is not None:
            place, fraction = str(rank), f"{weight:g}/({settings.rrf_k}+{rank})"
        shown = "-" if score is None else f"{score:.{_DIGITS}f}"
        rows.append((name, place, shown, f"{weight:g}", fraction, share))
    rows.append(("rrf_raw", "", "", "", "", raw))
    yield from aligned(rows, right=(1, 2, 3, 4, 5))
    weights = f"({settings.lexical_weight:g}+{settings.vector_weight:g})"
    most = f"{weights}/({settings.rrf_k}+1)"
    yield f"fused {fused.fusion_score:.{_DIGITS}f} = {raw} of at most {most}, place {fused.fusion_rank}"


def _rerank(fused: Fused, settings: FusionSettings, strongest: float) -> Iterator[str]:
    """The rerank score, its place, and the source of its two parts."""
    lexical, vector, evidence = fused.rerank_keyword, fused.rerank_semantic, fused.evidence
    if lexical is None or vector is None:
        return
    parts, total = format_sum((lexical, vector), _DIGITS)
    place = f"place {fused.rerank_rank}"
    if fused.rerank_rank is None:
        place = f"below the best {settings.rerank_depth} of the fusion: place {fused.rank} by this score"
    yield f"rerank {total} = words {parts[0]} + meaning {parts[1]}, {place}"
    near = max(evidence.cosine or fused.assumed_cosine or 0.0, 0.0)
    cosine = f"{near:.{_DIGITS}f}" + ("" if fused.assumed_cosine is None else " (assumed: no vector yet)")
    if evidence.other_script and near and not lexical:
        yield f"  meaning: {vector / near:.3g} × cosine {cosine}; its words are in another language"
        return
    share = settings.rerank_keyword
    own = f"{evidence.strength or 0.0:.{_DIGITS}f}"
    yield (
        f"  words: {share:g} × bm25 {own} of the best {strongest:.{_DIGITS}f}"
        f" · meaning: {1 - share:g} × cosine {cosine}"
    )


def _bm25(explanation: LexicalExplanation) -> Iterator[str]:
    adds, total = format_sum([term.contribution for term in explanation.terms], _DIGITS)
    weights = explanation.weights
    factors = (weights.title, weights.heading, weights.text, weights.grams)
    rows = [_BM25_HEADER, ("× weight", *(f"{factor:g}" for factor in factors), "", "", "")]
    for term, add in zip(explanation.terms, adds, strict=True):
        counts = term.counts
        numbers = (counts.title, counts.heading, counts.text, counts.grams, term.frequency)
        rows.append((field(term.label), *map(str, numbers), f"{term.idf:.{_DIGITS}f}", add))
    rows.append(("sum", "", "", "", "", "", "", total))
    yield from aligned(rows, right=range(1, len(_BM25_HEADER)))
    yield (
        f"bm25 -{total}, as a score {explanation.score:.{_DIGITS}f}"
        f" · {explanation.length} tokens, {explanation.average_length:.1f} on average"
        f" · {explanation.chunks:,} passages"
    )
