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
from kebab_tui.domain import hit as known
from kebab_tui.domain.hit import SearchHit, Stage, twins
from kebab_tui.domain.text import is_hangul, visible

if TYPE_CHECKING:
    from kebab_tui.cli.search_answer import Answer

_INDENT = "   "
_LEAST_SHOWN = 0.01
_IN_WORDS: dict[known.Badge, str] = {
    "relaxed": "relaxed: not all words",
    "further": "further keyword match",
    "gone": "gone: the file is no longer there",
    "stale": "stale: the file changed since",
}


def answer_lines(answer: Answer, style: Style, *, full: bool) -> Iterator[str]:
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
            from kebab_tui.cli.explanation_output import explanation_lines

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
