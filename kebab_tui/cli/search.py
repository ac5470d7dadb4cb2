"""`kebab search`: runs a search and prints the hits in one of six formats.

Exit code 0 with hits, 1 without. Imports only the printer of the requested format, because the start-up time
of this verb is felt.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from kebab_tui.cli.edge import Invocation, pass_invocation, shared_options
from kebab_tui.cli.options import (
    Given,
    chosen_format,
    filter_options,
    filters_from,
    format_options,
    page_options,
    raw_score,
    share,
)
from kebab_tui.cli.output import Style, detect, field, notify, plural, write, write_json
from kebab_tui.domain.errors import UsageError
from kebab_tui.domain.hit import SearchResponse
from kebab_tui.domain.query import SEARCH_MODES, SearchMode, SearchQuery
from kebab_tui.workspace import Workspace

if TYPE_CHECKING:
    from kebab_tui.search.explanation import ExplainedResponse

FORMATS = ("human", "json", "jsonl", "vimgrep", "markdown", "context")
DASH_HINT = "to search for words that begin with a dash, write: kebab search -- -word"


@dataclass(frozen=True, slots=True)
class SearchOutput:
    """`explained`: the explanations of the hits, in their order, with `--explain`."""

    response: SearchResponse
    explained: ExplainedResponse | None


class _SearchCommand(click.Command):
    """Adds a hint to errors about unknown options: the user may have meant a word of the query."""

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


def _renamed_flag(ctx: click.Context, param: click.Parameter, value: bool | None) -> bool | None:
    if value is not None and not ctx.resilient_parsing:
        new = "--rerank" if value else "--no-rerank"
        notify(f"warning: {new.replace('rerank', 'second-look')} was renamed; use {new}")
    return value


@click.command(cls=_SearchCommand)
@click.argument("query", nargs=-1, metavar="[QUERY…]")
@click.option("--mode", type=click.Choice(SEARCH_MODES), help="Search by words, by meaning, or by both.")
@click.option("--fts-only", is_flag=True, help="Same as --mode lexical.")
@click.option("--vec-only", is_flag=True, help="Same as --mode vector.")
@page_options("--k", "--top", "-n", "--limit", most=1000, otherwise="default: search.default_k")
@filter_options
@click.option(
    "--min-score", type=float, callback=share, metavar="S", help="Only hits with this score or more."
)
@click.option(
    "--threshold",
    type=float,
    callback=raw_score,
    metavar="R",
    help="Only hits whose sum of reciprocal ranks is R or more, such as 0.02.",
)
@click.option(
    "--rerank/--no-rerank",
    default=None,
    help="Rerank the best fused hits by their own scores, or keep the order of the fusion.",
)
@click.option("--second-look/--no-second-look", default=None, hidden=True, callback=_renamed_flag)
@click.option("--strict", is_flag=True, help="Only passages with all the words.")
@click.option("--exact", is_flag=True, help="Search every word as typed; correct no typos.")
@click.option("--full", is_flag=True, help="Print whole passages instead of excerpts.")
@click.option("--explain", is_flag=True, help="Show how every score was computed.")
@click.option(
    "--why-not",
    metavar="PATH|NAME|CITATION",
    help="Explain why this note or passage is not among the hits, or not higher.",
)
@format_options(*FORMATS)
@shared_options
@pass_invocation
def search_command(invocation: Invocation, /, query: tuple[str, ...], **given: Any) -> int:
    """Find passages and cite their exact lines.

    All words of QUERY are wanted; "a phrase", -word, word* and filters such as tag:ops,
    path:notes/**, lang:ko or after:2026-01 work inside it. A filter without a valid value
    is an error; in double quotes it is text.
    """
    form = chosen_format(given)
    with closing(invocation.open_index()) as workspace:
        asked = _query(query, given, workspace)
        if given["why_not"] is not None:
            return _write_why_not(workspace, asked, given["why_not"], form)
        explained = workspace.explain(asked) if given["explain"] else None
        answer = SearchOutput(explained.response if explained else workspace.search(asked), explained)
        _write(answer, form, workspace, full=given["full"])
    if form != "json":
        _write_summary(answer.response, footer=form != "jsonl")
    return 0 if answer.response.hits else 1


def _query(words: tuple[str, ...], given: Given, workspace: Workspace) -> SearchQuery:
    filters = filters_from(given, workspace)
    if not words and not filters.active:
        raise UsageError("there is nothing to search for", "`kebab search WORDS`, or a filter such as --tag")
    wanted: dict[str, SearchMode] = {}
    if given["fts_only"]:
        wanted["--fts-only"] = "lexical"
    if given["vec_only"]:
        wanted["--vec-only"] = "vector"
    if given["mode"]:
        wanted[f"--mode {given['mode']}"] = given["mode"]
    if len(set(wanted.values())) > 1:
        raise UsageError(f"{' and '.join(wanted)} exclude each other", "leave one of them out")
    return SearchQuery(
        text=" ".join(words),
        mode=next(iter(wanted.values()), workspace.settings.search.mode),
        k=given["limit"] or workspace.settings.search.default_k,
        offset=given["offset"],
        filters=filters,
        strict=given["strict"],
        exact=given["exact"],
        min_score=given["min_score"],
        threshold=given["threshold"],
        rerank=given["second_look"] if given["rerank"] is None else given["rerank"],
    )


def _write(answer: SearchOutput, form: str, workspace: Workspace, *, full: bool) -> None:
    """Write the hits to stdout; imports only the printer of the format."""
    hits = answer.response.hits
    lines: Iterable[str] = ()
    match form:
        case "json" | "jsonl":
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
        case "vimgrep":
            from kebab_tui.cli.line_formats import write_quickfix

            write_quickfix(hits, os.getcwd(), terminal=sys.stdout is not None and sys.stdout.isatty())
        case "markdown":
            from kebab_tui.cli.line_formats import markdown

            lines = markdown(hits)
        case "context":
            from kebab_tui.wire.llm_text import passages

            lines = [passages(hits, workspace.sources())] if hits else []
        case _:
            from kebab_tui.cli.search_output import answer_lines

            lines = answer_lines(answer, Style(detect(sys.stdout, os.environ)), full=full)
    for line in lines:
        write(line)


def _write_summary(response: SearchResponse, *, footer: bool) -> None:
    """Write notices to stderr and, as a footer, the number of hits and the time."""
    for notice in response.notices:
        notify(field(notice.text))
    if changed := sum(hit.stale for hit in response.hits):
        notify(
            f"{plural(changed, 'hit')} from notes that changed since they were indexed: run `kebab ingest`."
        )
    if footer:
        milliseconds = sum(stage.milliseconds for stage in response.stages)
        total = response.total_matches
        found = f"{len(response.hits)} of {plural(total, 'hit')}" if total else "nothing found"
        notify(f"{found} · {response.mode} · {milliseconds:.0f} ms")


def _write_why_not(workspace: Workspace, asked: SearchQuery, path: str, form: str) -> int:
    verdict = workspace.why_not(asked, path)
    if form in ("json", "jsonl"):
        from kebab_tui.wire.reports import why_not

        write_json(why_not(verdict))
        return 0
    from kebab_tui.cli.search_output import why_not_lines

    for line in why_not_lines(verdict):
        write(line)
    return 0
