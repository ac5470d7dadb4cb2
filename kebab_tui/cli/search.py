"""`kebab search`: asks the workspace and writes the answer in one of six formats.

Exit code 0 when something was found, 1 when nothing was. Imports no printer of a format
that was not asked for: this is the verb whose start-up time is felt.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable
from contextlib import closing
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

import click

from kebab_tui.cli.edge import Invocation, pass_invocation, shared_options
from kebab_tui.cli.options import (
    chosen_format,
    filter_options,
    filters_from,
    format_options,
    page_options,
    raw_score,
    share,
)
from kebab_tui.cli.output import field, plural, say, write, write_json
from kebab_tui.domain.errors import StoreDamagedError, UsageError
from kebab_tui.domain.hit import Notice, SearchResponse
from kebab_tui.domain.query import SEARCH_MODES, SearchMode, SearchQuery
from kebab_tui.domain.text import is_hangul
from kebab_tui.workspace import Workspace

if TYPE_CHECKING:
    from kebab_tui.cli.options import Given
    from kebab_tui.search.explanation import ExplainedResponse
    from kebab_tui.settings.settings import SearchSettings, Settings


# From the words and flags of `kebab search` to the query that the workspace is asked.


def query_from(words: tuple[str, ...], given: Given, workspace: Workspace) -> SearchQuery:
    filters = filters_from(given, workspace)
    if not words and not filters.active:
        raise UsageError("there is nothing to search for", "`kebab search WORDS`, or a filter such as --tag")
    return SearchQuery(
        text=" ".join(words),
        mode=_mode(given, workspace.settings),
        k=given["limit"] or workspace.settings.search.default_k,
        offset=given["offset"],
        filters=filters,
        strict=given["strict"],
        min_score=given["min_score"],
        threshold=given["threshold"],
        rerank=given["second_look"],
    )


def _mode(given: Given, settings: Settings) -> SearchMode:
    wanted: dict[str, SearchMode] = {}
    if given["fts_only"]:
        wanted["--fts-only"] = "lexical"
    if given["vec_only"]:
        wanted["--vec-only"] = "vector"
    if given["mode"]:
        wanted[f"--mode {given['mode']}"] = given["mode"]
    if len(set(wanted.values())) > 1:
        raise UsageError(f"{' and '.join(wanted)} exclude each other", "leave one of them out")
    return next(iter(wanted.values()), settings.search.mode)


def threshold_notices(asked: SearchQuery, answer: SearchResponse, settings: SearchSettings) -> list[Notice]:
    """Say what a hit can reach, where a `--threshold` keeps nothing or the answer is a single list."""
    if asked.threshold is None:
        return []
    lowest = settings.rrf_k + 1
    if answer.mode != "hybrid":
        reachable, most = f"first in this single list has 1/({settings.rrf_k}+1)", 1 / lowest
    else:
        weight = settings.vector_weight_hangul if is_hangul(answer.read) else settings.vector_weight
        reachable, most = (
            f"first in both lists has (1+{weight:g})/({settings.rrf_k}+1)",
            (1 + weight) / lowest,
        )
    if asked.threshold > round(most, 6):
        text = f"No hit can reach --threshold {asked.threshold:g}: the {reachable} = {most:.6f}."
        return [Notice("threshold_unreachable", text, "warning")]
    if answer.mode != "hybrid":
        return [Notice("threshold_single_list", f"Raw RRF: the {reachable} = {most:.6f}.")]
    return []


# An answer on its way out: which printer writes it, and what is said about it on stderr.

FORMATS = ("human", "json", "jsonl", "vimgrep", "markdown", "context")


@dataclass(frozen=True, slots=True)
class SearchOutput:
    """`explained` holds the figures behind the hits, in their order, when they were asked for."""

    response: SearchResponse
    explained: ExplainedResponse | None


def write_answer(answer: SearchOutput, form: str, workspace: Workspace, *, full: bool) -> None:
    """Write the hits to stdout; each printer is imported when it is needed."""
    hits = answer.response.hits
    match form:
        case "json" | "jsonl":
            _write_json(answer, form, full=full)
        case "vimgrep":
            from kebab_tui.cli.line_formats import write_quickfix

            write_quickfix(hits, os.getcwd(), terminal=sys.stdout is not None and sys.stdout.isatty())
        case "markdown":
            from kebab_tui.cli.line_formats import markdown

            _write_all(markdown(hits))
        case "context":
            from kebab_tui.cli.line_formats import context

            _write_all(context(hits, workspace.sources()))
        case _:
            from kebab_tui.cli.output import Style, detect
            from kebab_tui.cli.search_output import answer_lines

            _write_all(answer_lines(answer, Style(detect(sys.stdout, os.environ)), full=full))


def narrate(answer: SearchOutput, *, footer: bool) -> None:
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


def _write_json(answer: SearchOutput, form: str, *, full: bool) -> None:
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


T = TypeVar("T")

DASH_HINT = "words that begin with a dash stand behind two of them: kebab search -- -word"


class _SearchCommand(click.Command):
    """Knows that what looks like an option may have been meant as a word of the query."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        given = list(args)
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            raise UsageError(error.format_message(), DASH_HINT) from None
        except click.BadParameter as error:
            if any(word.startswith("-n") and word[2:].isalpha() for word in given):
                raise UsageError(error.format_message(), DASH_HINT) from None
            raise


@click.command(cls=_SearchCommand)
@click.argument("query", nargs=-1, metavar="[QUERY…]")
@click.option("--mode", type=click.Choice(SEARCH_MODES), help="By words, by meaning, or by both.")
@click.option("--fts-only", is_flag=True, help="Same as --mode lexical.")
@click.option("--vec-only", is_flag=True, help="Same as --mode vector.")
@page_options("--k", "--top", "-n", "--limit", most=1000, otherwise="search.default_k without it")
@filter_options
@click.option("--min-score", type=float, callback=share, metavar="S", help="Only hits scored so or better.")
@click.option(
    "--threshold",
    type=float,
    callback=raw_score,
    metavar="R",
    help="Only hits whose ranks by words and by meaning add up to R or more, such as 0.02.",
)
@click.option(
    "--second-look/--no-second-look",
    default=None,
    help="Order the best hits of both once more by their own scores, or leave them as fused.",
)
@click.option("--strict", is_flag=True, help="Only passages with all the words.")
@click.option("--full", is_flag=True, help="The whole passage, not only an excerpt.")
@click.option("--explain", is_flag=True, help="Show the figures behind every score.")
@click.option("--why-not", metavar="PATH", help="Say what keeps this note out of the answer.")
@format_options(*FORMATS)
@shared_options
@pass_invocation
def search_command(invocation: Invocation, /, query: tuple[str, ...], **given: Any) -> int:
    """Find passages and cite their exact lines.

    All words of QUERY are wanted; "a phrase", -word, word* and filters such as tag:ops,
    path:notes/**, lang:ko or after:2026-01 work inside it.
    """
    form = chosen_format(given)
    with closing(Workspace(invocation.settings, invocation.data_dir)) as workspace:
        asked = _mended(workspace, lambda: query_from(query, given, workspace))
        if given["why_not"] is not None:
            return _tell_why_not(workspace, asked, given["why_not"], form)
        answer = _answered(workspace, asked, explain=given["explain"])
        write_answer(answer, form, workspace, full=given["full"])
    if form != "json":
        narrate(answer, footer=form != "jsonl")
    return 0 if answer.response.hits else 1


def _answered(workspace: Workspace, asked: SearchQuery, *, explain: bool) -> SearchOutput:
    explained = _mended(workspace, lambda: workspace.explain(asked)) if explain else None
    response = explained.response if explained else _mended(workspace, lambda: workspace.search(asked))
    notices = threshold_notices(asked, response, workspace.settings.search)
    return SearchOutput(replace(response, notices=(*notices, *response.notices)), explained)


def _mended(workspace: Workspace, ask: Callable[[], T]) -> T:
    """The answer, also from a database that has to be rebuilt from the notes first."""
    try:
        return ask()
    except StoreDamagedError:
        workspace.close()  # a disk that failed to read once looks the same
    try:
        return ask()
    except StoreDamagedError as error:
        from kebab_tui.cli.progress import ingest_watched

        say(f"{field(error.message)}; rebuilding it from your notes")
        workspace.close()
        report = ingest_watched(workspace, (), quiet=False)
        if report.cancelled:
            raise KeyboardInterrupt from None
        say(f"rebuilt: {plural(report.count('added') + report.count('unchanged'), 'note')}")
        return ask()


def _tell_why_not(workspace: Workspace, asked: SearchQuery, path: str, form: str) -> int:
    verdict = _mended(workspace, lambda: workspace.why_not(asked, path))
    if form in ("json", "jsonl"):
        from kebab_tui.wire.reports import why_not

        write_json(why_not(verdict))
        return 0
    write(f"{field(verdict.path)}: {verdict.stage}")
    write(f"   {field(verdict.detail)}")
    if verdict.advice:
        write(f"   {field(verdict.advice)}")
    return 0
