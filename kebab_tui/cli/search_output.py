"""Prints search hits for people: four lines for each hit, and with `--explain` the arithmetic of its score.

A terminal adds colours, links and blank lines between hits, and cuts the rows of the excerpt between words.
Badges, whole passages and explanations follow, indented.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

from kebab_tui.cli.output import Style, aligned, field, page_label, rows_of
from kebab_tui.domain import hit as known
from kebab_tui.domain.hit import ambiguous_paths
from kebab_tui.domain.text import is_korean, sanitize

if TYPE_CHECKING:
    from kebab_tui.cli.search import SearchOutput
    from kebab_tui.domain.hit import SearchHit
    from kebab_tui.search.explanation import Explanation
    from kebab_tui.search.why_not import WhyNot

_INDENT = "   "
_LEAST_SHOWN = 0.01
_BADGE_TEXTS: dict[known.Badge, str] = {
    "relaxed": "partial match",
    "further": "further keyword match",
    "name": "by its name",
    "distant": "weak match: nothing nearer was found",
    "words": "keyword",
    "meaning": "semantic",
    "gone": "gone: the file is no longer there",
    "stale": "changed since it was indexed",
}

_DAY_FROM = {"modified": "time of the file", "name": "name of the note"}


def answer_lines(answer: SearchOutput, style: Style, *, full: bool) -> Iterator[str]:
    """All lines of the answer, without the notices."""
    response = answer.response
    ambiguous = ambiguous_paths(response.hits)
    for index, hit in enumerate(response.hits):
        if index and style.terminal.tty:
            yield ""
        yield from _excerpt(hit, style)
        yield f"{_INDENT}doc: {style.path(field(hit.path))}" + (
            f"  (in {field(hit.root)})" if hit.path in ambiguous else ""
        )
        cited = style.citation(hit.citation)
        if not hit.version:
            span = hit.citation.span
            cited = style.file_link(cited, os.fsencode(hit.location), 0 if span.page else span.first)
        yield f"{_INDENT}citation: {cited}{page_label(hit.citation)}"
        yield f"{_INDENT}heading: {field(hit.heading_path)}".rstrip()
        if badges := [one for one in known.badges(hit, is_korean(response.read)) if one != "both"][::-1]:
            yield style.dim(f"{_INDENT}({', '.join(_BADGE_TEXTS.get(one, one) for one in badges)})")
        if full:
            yield from (f"{_INDENT}│ {line}" for line in sanitize(hit.text).split("\n"))
        if answer.explained is not None:
            explained = answer.explained.hits[index]
            yield f"{_INDENT}why: {field(explained.headline)}"
            if explained.above is not None:
                yield f"{_INDENT}     {field(explained.above.text)}"
            yield f"{_INDENT}date: {hit.day} ({_DAY_FROM.get(hit.day_from, hit.day_from)})"
            yield from (_INDENT + line for line in explanation_lines(explained.tree))
    if answer.explained is not None:
        if answer.explained.filtered is not None:
            yield field(str(answer.explained.filtered))
        steps = []
        for stage in response.stages:
            kept = "" if stage.kept is None else f"{stage.kept:,} in "
            steps.append(f"{stage.name}: {kept}{stage.milliseconds:.1f} ms")
        yield "stages: " + " → ".join(steps)


def _excerpt(hit: SearchHit, style: Style) -> Iterator[str]:
    """The rank, the score and the snippet; on a terminal in rows that are cut between words."""
    number, snippet = f"{hit.rank}. [{shown_score(hit.score)}] ", field(hit.snippet)
    lead = f"{hit.rank}. {style.strong(number.split()[1])} "
    indent = " " * len(number)
    rows = rows_of(snippet, style.terminal.width, len(number)) if style.terminal.tty else [(0, len(snippet))]
    for start, end in rows:
        inside = ((max(a, start) - start, min(b, end) - start) for a, b in hit.highlights)
        yield lead + style.matches(snippet[start:end], [(a, b) for a, b in inside if a < b]).rstrip()
        lead = indent


def shown_score(score: float) -> str:
    """Two digits; a small score is not printed as 0.00."""
    return "<0.01" if 0 < score < _LEAST_SHOWN else f"{score:.2f}"


def explanation_lines(tree: Explanation) -> Iterator[str]:
    """The steps of a score, each with the numbers that it follows from."""
    rows = [
        ("  " * line.depth + field(line.label), line.value, field(" ".join(line.how.split())))
        for line in tree.lines()
    ]
    return aligned(rows, right=(1,))


def why_not_lines(verdict: WhyNot) -> Iterator[str]:
    """The stage that drops a note; of one in the list, what its score is beside that of the first hit."""
    yield f"{field(verdict.path)}: {verdict.stage}"
    yield f"{_INDENT}{field(verdict.detail)}"
    if verdict.advice:
        yield f"{_INDENT}{field(verdict.advice)}"
    if verdict.passage is None or verdict.first is None:
        return
    yield f"{_INDENT}citation: {field(str(verdict.passage.hit.citation))}"
    yield f"{_INDENT}why: {field(verdict.passage.headline)}"
    if (found := verdict.comparison) is None:
        return
    yield f"{_INDENT}first: {field(str(verdict.first.hit.citation))}"
    yield f"{_INDENT}why not higher: {field(found.text)}"
    rows = [("", "this", "first", "costs", "")]
    losses, total = found.losses()
    digits = len(losses[0].rpartition(".")[2]) if losses else found.digits
    for part, loss in zip(found.parts, losses, strict=True):
        if part.label == "score":  # of other steps: it is the sum
            continue
        mark = "← most" if part.label == found.decides and len(found.parts) > 1 else ""
        rows.append((field(part.label), f"{part.value:.{digits}f}", f"{part.other:.{digits}f}", loss, mark))
    rows.append(
        ("score", f"{found.score:.{found.digits}f}", f"{found.other_score:.{found.digits}f}", total, "")
    )
    yield from (_INDENT + line.rstrip() for line in aligned(rows, right=(1, 2, 3)))
