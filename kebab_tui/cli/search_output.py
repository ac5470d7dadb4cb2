"""Prints search hits for people: four lines for each hit, and with `--explain` the arithmetic of its score.

The four lines are the same on a terminal and in a pipe; a terminal adds colours, links and blank lines
between hits. Badges, whole passages and explanations follow, indented.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

from kebab_tui.cli.output import Style, aligned, field, page_label
from kebab_tui.domain import hit as known
from kebab_tui.domain.hit import ambiguous_paths
from kebab_tui.domain.text import is_korean, sanitize

if TYPE_CHECKING:
    from kebab_tui.cli.search import SearchOutput
    from kebab_tui.search.explanation import Explanation
    from kebab_tui.search.why_not import WhyNot

_INDENT = "   "
_LEAST_SHOWN = 0.01
_BADGE_TEXTS: dict[known.Badge, str] = {
    "relaxed": "relaxed: not all words",
    "further": "further keyword match",
    "name": "by its name",
    "distant": "distant: nothing nearer was found",
    "gone": "gone: the file is no longer there",
    "stale": "stale: the file changed since",
}

_DAY_FROM = {"modified": "time of the file", "name": "name of the note"}


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
        cited = style.file_link(field(str(hit.citation)), file)
        yield f"{_INDENT}citation: {cited}{page_label(hit.citation)}"
        yield f"{_INDENT}heading: {field(hit.heading_path)}".rstrip()
        if badges := list(known.badges(hit, is_korean(response.read))):
            texts = (_BADGE_TEXTS.get(badge, badge) for badge in reversed(badges))
            yield style.dim(f"{_INDENT}({', '.join(texts)})")
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
