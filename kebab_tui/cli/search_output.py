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
        cited = field(str(hit.citation))
        if not hit.version:
            cited = style.file_link(cited, file)
        yield f"{_INDENT}citation: {cited}{page_label(hit.citation)}"
        yield f"{_INDENT}heading: {field(hit.heading_path)}".rstrip()
        if badges := list(known.badges(hit, is_korean(response.read))):
            texts = (_BADGE_TEXTS.get(badge, badge) for badge in reversed(badges))
            yield style.dim(f"{_INDENT}({', '.join(texts)})")
        if full:
            yield from (f"{_INDENT}│ {line}" for line in sanitize(hit.text).split("\n"))
        if answer.explained is not None:
            yield f"{_INDENT}date: {hit.day} ({_DAY_FROM.get(hit.day_from, hit.day_from)})"
            yield from (_INDENT + line for line in explanation_lines(answer.explained.hits[index].tree))
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
