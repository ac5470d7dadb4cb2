"""An answer for people: four lines for each hit, and the arithmetic behind it when asked for.

The four lines are the same on a terminal and in a pipe; a terminal adds marks, links
and the space between hits. What is added to them (badges, the whole passage, the
explanation) follows behind, indented.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from kebab_tui.cli.output import field
from kebab_tui.cli.style import Style
from kebab_tui.domain.embedded import is_hangul
from kebab_tui.domain.hit import SearchHit, Stage
from kebab_tui.domain.visible import visible

if TYPE_CHECKING:
    from kebab_tui.cli.search_answer import Answer

_INDENT = "   "
_LEAST_SHOWN = 0.01


def answer_lines(answer: Answer, style: Style, *, full: bool) -> Iterator[str]:
    """Every line of the answer, without the notices."""
    for place, hit in enumerate(answer.response.hits):
        if place and style.terminal.tty:
            yield ""
        yield from hit_lines(hit, style)
        if found := badges(hit, answer.response.read):
            yield style.dim(f"{_INDENT}({', '.join(found)})")
        if full:
            yield from (f"{_INDENT}│ {line}" for line in visible(hit.text).split("\n"))
        if answer.explained is not None:
            from kebab_tui.cli.explanation_output import explanation_lines

            explained = answer.explained.hits[place]
            yield from (_INDENT + line for line in explanation_lines(explained, answer.explained))
    if answer.explained is not None:
        yield stages_line(answer.response.stages)


def hit_lines(hit: SearchHit, style: Style) -> Iterator[str]:
    path = os.path.join(os.fsencode(hit.root), hit.raw_path)
    citation = style.file_link(field(str(hit.citation)), path)
    score = style.strong(f"[{shown_score(hit.score)}]")
    yield f"{hit.rank}. {score} {marked(hit.snippet, hit.highlights, style)}"
    yield f"{_INDENT}doc: {field(hit.path)}"
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
    found = [how] if (how := _found_by(hit)) else []
    if hit.retrieval.vector_rank is not None and is_hangul(hit.text) != is_hangul(read):
        found.append("other language")
    if hit.kind == "code":
        found.append("code")
    if hit.relaxed:
        found.append("relaxed: not all words")
    if hit.gone:
        found.append("gone: the file is no longer there")
    elif hit.stale:
        found.append("stale: the file changed since")
    return found


def _found_by(hit: SearchHit) -> str:
    """Which of two lists the hit stands in; empty where there was only one to stand in."""
    if hit.retrieval.method != "hybrid":
        return ""
    if hit.retrieval.vector_rank is None:
        return "words"
    return "meaning" if hit.retrieval.lexical_rank is None else "both"


def stages_line(stages: Sequence[Stage]) -> str:
    steps = (f"{stage.name}: {stage.kept:,} in {stage.milliseconds:.1f} ms" for stage in stages)
    return "stages: " + " → ".join(steps)
