"""An answer on its way out: which printer writes it, and what is said about it on stderr."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kebab_tui.cli.output import field, plural, say, write, write_json
from kebab_tui.domain.hit import SearchResponse

if TYPE_CHECKING:
    from kebab_tui.search.explanation import ExplainedResponse
    from kebab_tui.workspace import Workspace

FORMATS = ("human", "json", "jsonl", "vimgrep", "markdown", "context")


@dataclass(frozen=True, slots=True)
class Answer:
    """`explained` holds the figures behind the hits, in their order, when they were asked for."""

    response: SearchResponse
    explained: ExplainedResponse | None


def write_answer(answer: Answer, form: str, workspace: Workspace, *, full: bool) -> None:
    """Write the hits to stdout; each printer is imported when it is needed."""
    hits = answer.response.hits
    match form:
        case "json" | "jsonl":
            _write_json(answer, form, full=full)
        case "vimgrep":
            from kebab_tui.cli.quickfix import write_quickfix

            write_quickfix(hits, os.getcwd(), terminal=sys.stdout is not None and sys.stdout.isatty())
        case "markdown":
            from kebab_tui.cli.quoting import markdown

            _write_all(markdown(hits))
        case "context":
            from kebab_tui.cli.quoting import context

            _write_all(context(hits, workspace.sources()))
        case _:
            from kebab_tui.cli.search_output import answer_lines
            from kebab_tui.cli.style import Style
            from kebab_tui.cli.terminal import detect

            _write_all(answer_lines(answer, Style(detect(sys.stdout, os.environ)), full=full))


def narrate(answer: Answer, *, footer: bool) -> None:
    """Say on stderr what the hits do not: notices, how many there are, how long it took."""
    response = answer.response
    for notice in response.notices:
        say(field(notice.text))
    if changed := sum(hit.stale for hit in response.hits):
        say(f"{plural(changed, 'hit')} from notes that changed since they were indexed: run `kebab ingest`.")
    if footer:
        milliseconds = sum(stage.milliseconds for stage in response.stages)
        total = response.total_matches
        found = f"{len(response.hits)} of {plural(total, 'hit')}" if total else "nothing found"
        say(f"{found} · {response.mode} · {milliseconds:.0f} ms")


def _write_json(answer: Answer, form: str, *, full: bool) -> None:
    from kebab_tui.wire.encode import search_response

    encoded = search_response(answer.response, full)
    if answer.explained is not None:
        from kebab_tui.wire.encode import explanation, filtered

        if answer.explained.filtered is not None:
            encoded["filtered"] = filtered(answer.explained.filtered)
        for hit, explained in zip(encoded["hits"], answer.explained.hits, strict=True):
            hit["explanation"] = explanation(explained, answer.explained)
    for value in encoded["hits"] if form == "jsonl" else [encoded]:
        write_json(value)


def _write_all(lines: Iterable[str]) -> None:
    for line in lines:
        write(line)
