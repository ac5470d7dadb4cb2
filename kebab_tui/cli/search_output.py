"""An answer for people: four lines for each hit, and the arithmetic behind it when asked for.

The four lines are the same on a terminal and in a pipe; a terminal adds marks, links
and the space between hits. What is added to them (badges, the whole passage, the
explanation) follows behind, indented.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from kebab_tui.cli.output import Style, aligned, field
from kebab_tui.domain import hit as known
from kebab_tui.domain.hit import SearchHit, Stage, twins
from kebab_tui.domain.text import digits_of_shares, is_hangul, printed, visible
from kebab_tui.wire.encode import strongest_bm25

if TYPE_CHECKING:
    from kebab_tui.cli.search import SearchOutput
    from kebab_tui.search.explanation import (
        ExplainedHit,
        ExplainedResponse,
        LexicalExplanation,
        SemanticExplanation,
    )
    from kebab_tui.search.ranking import Fused, FusionSettings


_INDENT = "   "
_LEAST_SHOWN = 0.01
_IN_WORDS: dict[known.Badge, str] = {
    "relaxed": "relaxed: not all words",
    "further": "further keyword match",
    "gone": "gone: the file is no longer there",
    "stale": "stale: the file changed since",
}


def answer_lines(answer: SearchOutput, style: Style, *, full: bool) -> Iterator[str]:
    """Every line of the answer, without the notices."""
    shared = twins(answer.response.hits)
    for place, hit in enumerate(answer.response.hits):
        if place and style.terminal.tty:
            yield ""
        yield from hit_lines(hit, style, root=hit.root if hit.path in shared else "")
        if found := badges(hit, answer.response.read):
            yield style.dim(f"{_INDENT}({', '.join(found)})")
        if full:
            yield from (f"{_INDENT}│ {line}" for line in visible(hit.text).split("\n"))
        if answer.explained is not None:
            explained = answer.explained.hits[place]
            yield from (_INDENT + line for line in explanation_lines(explained, answer.explained))
    if answer.explained is not None:
        if answer.explained.filtered is not None:
            yield field(str(answer.explained.filtered))
        yield stages_line(answer.response.stages)


def hit_lines(hit: SearchHit, style: Style, *, root: str = "") -> Iterator[str]:
    """`root`: the folder, where the path alone does not tell the note."""
    path = os.path.join(os.fsencode(hit.root), hit.raw_path)
    citation = style.file_link(field(str(hit.citation)), path)
    score = style.strong(f"[{shown_score(hit.score)}]")
    yield f"{hit.rank}. {score} {marked(hit.snippet, hit.highlights, style)}"
    yield f"{_INDENT}doc: {field(hit.path)}" + (f"  (in {field(root)})" if root else "")
    yield f"{_INDENT}citation: {citation}"
    yield f"{_INDENT}heading: {field(hit.heading_path)}".rstrip()


def marked(snippet: str, highlights: Sequence[tuple[int, int]], style: Style) -> str:
    """The snippet on one line, with its matches painted."""
    text, at, painted = field(snippet), 0, []
    for start, end in highlights:
        painted += [text[at:start], style.match(text[start:end])]
        at = end
    return "".join([*painted, text[at:]])


def shown_score(score: float) -> str:
    """Two digits; a score too small for them is not shown as nothing."""
    return "<0.01" if 0 < score < _LEAST_SHOWN else f"{score:.2f}"


def badges(hit: SearchHit, read: str) -> list[str]:
    """How the hit was found, and what a reader should know; `read` is what a model was given of the query."""
    found = list(known.badges(hit, is_hangul(read)))
    return [_IN_WORDS.get(badge, badge) for badge in reversed(found)]


def stages_line(stages: Sequence[Stage]) -> str:
    return "stages: " + " → ".join(map(_step, stages))


def _step(stage: Stage) -> str:
    left = "" if stage.kept is None else f"{stage.kept:,} in "
    return f"{stage.name}: {left}{stage.milliseconds:.1f} ms"


# Why one hit stands where it does: the arithmetic in the order in which it was done.
#
# Both legs and their sum, the second look, the bm25 term by term, the nearest sentence.
# Every printed sum is that of the printed parts, rounded; each is true to the digits shown.

_DIGITS = 4
_MOST_QUOTED = 160
_BM25_HEADER = ("term", "title", "heading", "text", "grams", "df", "idf", "adds")
_LEGS_HEADER = ("leg", "rank", "score", "weight", "fraction", "share")


def explanation_lines(explained: ExplainedHit, among: ExplainedResponse) -> Iterator[str]:
    if explained.fused is not None and among.fusion is not None:
        yield from _fusion(explained, explained.fused, among.fusion)
        yield from _second_look(explained.fused, among.fusion, strongest_bm25(among.candidates))
        if explained.fused.kept_place:
            yield f"place {explained.fused.rank} was kept for the other language"
    if explained.lexical is not None and explained.lexical.bm25:
        yield from _bm25(explained.lexical)
    if explained.semantic is not None:
        yield from _meaning(explained.semantic)


def _fusion(explained: ExplainedHit, fused: Fused, settings: FusionSettings) -> Iterator[str]:
    detail, evidence = explained.hit.retrieval, fused.evidence
    best = (settings.lexical_weight + settings.vector_weight) / (settings.rrf_k + 1)
    shares, raw = printed((fused.lexical_part, fused.vector_part), digits_of_shares(best, _DIGITS))
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


def _second_look(fused: Fused, settings: FusionSettings, strongest: float) -> Iterator[str]:
    lexical, vector = fused.rerank_keyword, fused.rerank_semantic
    if lexical is None or vector is None:
        return
    parts, total = printed((lexical, vector), _DIGITS)
    place = f"place {fused.rerank_rank}"
    if fused.rerank_rank is None:
        place = f"below the best {settings.rerank_depth} of the fusion: place {fused.rank} by this score"
    yield f"second look {total} = words {parts[0]} + meaning {parts[1]}, {place}"
    yield f"  {_look_parts(fused, settings, strongest)}"


def _look_parts(fused: Fused, settings: FusionSettings, strongest: float) -> str:
    """Where the two parts of a second look come from."""
    evidence = fused.evidence
    assumed = fused.assumed_cosine
    near = max(evidence.cosine or assumed or 0.0, 0.0)
    cosine = f"{near:.{_DIGITS}f}" + ("" if assumed is None else " (assumed: no vector yet)")
    if evidence.other_script and near and not fused.rerank_keyword:
        factor = (fused.rerank_semantic or 0.0) / near
        return f"meaning: {factor:.3g} × cosine {cosine}; its words are in another language"
    share = settings.rerank_keyword
    own = f"{evidence.strength or 0.0:.{_DIGITS}f}"
    return (
        f"words: {share:g} × bm25 {own} of the best {strongest:.{_DIGITS}f}"
        f" · meaning: {1 - share:g} × cosine {cosine}"
    )


def _bm25(explanation: LexicalExplanation) -> Iterator[str]:
    adds, total = printed([term.contribution for term in explanation.terms], _DIGITS)
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


def _meaning(semantic: SemanticExplanation) -> Iterator[str]:
    yield f"cosine {semantic.cosine:.{_DIGITS}f}"
    if semantic.sentence:
        text = field(" ".join(semantic.sentence.split()))
        quoted = text if len(text) <= _MOST_QUOTED else text[: _MOST_QUOTED - 1] + "…"
        yield f"nearest sentence, cosine {semantic.sentence_cosine:.{_DIGITS}f}: {quoted}"
