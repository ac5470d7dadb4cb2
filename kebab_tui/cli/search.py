"""`kebab search`: runs a search and prints the hits in one of seven formats, or the paths of their files.

Exit code 0 with hits, 1 without. Imports only the printer of the requested format, because the start-up time
of this verb is felt.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from contextlib import closing
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import click

from kebab_tui.cli.command import CliCommand, option
from kebab_tui.cli.edge import Invocation, pass_invocation, shared_options
from kebab_tui.cli.options import (
    OUTPUT,
    Given,
    chosen_format,
    filter_options,
    filters_from,
    format_options,
    page_options,
    raw_score,
    scope_here,
    scope_option,
    share,
    within,
)
from kebab_tui.cli.output import Style, detect, field, notify, plural, write, write_json
from kebab_tui.domain.errors import UsageError
from kebab_tui.domain.hit import SearchResponse
from kebab_tui.domain.ids import SourceId
from kebab_tui.domain.query import MODE_WORDS, SEARCH_MODES, SearchMode, SearchQuery
from kebab_tui.workspace import Workspace

if TYPE_CHECKING:
    from kebab_tui.search.explanation import ExplainedResponse

FORMATS = ("human", "lines", "json", "jsonl", "vimgrep", "markdown", "context")
DASH_HINT = "to search for a word that starts with '-', put `--` first: kebab search -- -word"
_RANKING = "Ranking"
_EXAMPLES = (
    ("kebab search port conflict", "by keywords and by meaning"),
    ("kebab search '\"exact phrase\" -draft tag:ops'", "the query language, in quotes of the shell"),
    ("kebab search --mode lexical --lang ko 포트", "only keywords, only Korean notes"),
    ("kebab search -l -0 --all todo | xargs -0 less", "the files with hits, in all sources"),
    ("vim -q <(kebab search --format vimgrep todo)", "the hits as vim's quickfix list"),
    ("kebab search todo --why-not plan.md", "why a note is not among the hits"),
)


@dataclass(frozen=True, slots=True)
class SearchOutput:
    """`explained`: the explanations of the hits, in their order, with `--explain`.

    `scope`: the source around the working folder, if only that was searched.
    """

    response: SearchResponse
    explained: ExplainedResponse | None
    scope: SourceId | None


class _SearchCommand(CliCommand):
    """Adds a hint to errors about unknown options: the user may have meant a word of the query."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        given = list(args)
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            near = f"did you mean {error.possibilities[0]}? " if error.possibilities else ""
            raise UsageError(error.message, f"{near}{DASH_HINT}") from None
        except click.BadParameter as error:
            if any(word.startswith("-n") and word[2:].isalpha() for word in given):
                raise UsageError(error.format_message(), DASH_HINT) from None
            raise


def _renamed_flag(ctx: click.Context, param: click.Parameter, value: bool | None) -> bool | None:
    if value is not None and not ctx.resilient_parsing:
        new = "--rerank" if value else "--no-rerank"
        notify(f"warning: {new.replace('rerank', 'second-look')} was renamed; use {new}")
    return value


@click.command(cls=_SearchCommand, examples=_EXAMPLES)
@click.argument("query", nargs=-1, metavar="[QUERY…]")
@scope_option
@filter_options
@option(
    "--mode",
    type=click.Choice(SEARCH_MODES),
    metavar="MODE",
    group=_RANKING,
    help="lexical: by keywords; vector: by meaning; hybrid: by both (default: the setting search.mode).",
)
@option("--fts-only", is_flag=True, hidden=True)
@option("--vec-only", is_flag=True, hidden=True)
@option("--strict", is_flag=True, group=_RANKING, help="Only passages with all the words.")
@option("--exact", is_flag=True, group=_RANKING, help="Search for every word as typed; do not correct typos.")
@option(
    "--rerank/--no-rerank",
    default=None,
    group=_RANKING,
    help="Rerank the best fused hits by their own scores, or keep the order of the fusion.",
)
@option("--second-look/--no-second-look", default=None, hidden=True, callback=_renamed_flag)
@option(
    "--min-score",
    type=float,
    callback=share,
    metavar="S",
    group=_RANKING,
    help="Only hits with at least this score, from 0 to 1.",
)
@option(
    "--threshold",
    type=float,
    callback=raw_score,
    metavar="R",
    group=_RANKING,
    help="Only hits with at least this sum of reciprocal ranks, such as 0.02.",
)
@page_options(default="the setting search.default_k, 10", most=1000, also=("--k", "--top"))
@format_options(*FORMATS)
@option("-l", "--files", is_flag=True, group=OUTPUT, help="Print only the path of each file with hits.")
@option(
    "-0",
    "--null",
    is_flag=True,
    group=OUTPUT,
    help="End each path with a null character, in lines and with --files.",
)
@option("--full", is_flag=True, group=OUTPUT, help="Print whole passages instead of excerpts.")
@option("--explain", is_flag=True, group=OUTPUT, help="Show how every score was computed.")
@option(
    "--why-not",
    metavar="PATH|NAME|CITATION",
    group=OUTPUT,
    help="Explain why this note or passage is not among the hits, or not higher.",
)
@option("-q", "--quiet", is_flag=True, group=OUTPUT, help="Print nothing; the exit code tells.")
@shared_options
@pass_invocation
def search_command(invocation: Invocation, /, query: tuple[str, ...], **given: Any) -> int:
    """Find passages and cite their exact lines.

    All words of QUERY are wanted; "a phrase", -word, word* and filters such as tag:ops,
    path:notes/**, lang:ko or after:2026-01 work inside it. In a folder of notes only its
    source is searched.

    Prints the hits with their excerpts on a terminal, else a line PATH:LINE:TEXT for each,
    with the line that matches best; the setting `piped` in [cli] and --format change that.
    Exit code: 0 with hits, 1 without, 2 after an error.
    """
    form = _format(invocation, given)
    with closing(invocation.open_index()) as workspace:
        asked = _query(query, given, workspace)
        scope = scope_here(given, workspace, asked.text)
        asked = replace(asked, filters=within(asked.filters, scope))
        if given["why_not"] is not None:
            return _write_why_not(workspace, asked, given["why_not"], form)
        explained = workspace.explain(asked) if given["explain"] else None
        answer = SearchOutput(explained.response if explained else workspace.search(asked), explained, scope)
        if not given["quiet"]:
            _write(answer, form, workspace, given)
            if form != "json":
                _write_summary(answer, footer=form != "jsonl")
    return 0 if answer.response.hits else 1


def _format(invocation: Invocation, given: Given) -> str:
    """The output format; that of a pipe has no room for explanations and whole passages."""
    is_terminal = detect(sys.stdout, os.environ).tty
    roomy = is_terminal or given["explain"] or given["full"] or given["why_not"] is not None
    form = chosen_format(given, "human" if roomy else invocation.settings.cli.piped)
    if not given["files"]:
        if given["null"] and form != "lines":
            raise UsageError("--null needs --files or --format lines", "leave it out")
        return form
    if given["form"] or given["as_json"] or given["explain"] or given["full"]:
        raise UsageError("--files prints only paths", "leave out the other options for the output")
    return "files"


def _query(words: tuple[str, ...], given: Given, workspace: Workspace) -> SearchQuery:
    filters = filters_from(given, workspace)
    if not words and not filters.active:
        raise UsageError("nothing to search for", "`kebab search WORDS`, or a filter such as --tag")
    wanted: dict[str, SearchMode] = {}
    if given["fts_only"]:
        wanted["--fts-only"] = "lexical"
    if given["vec_only"]:
        wanted["--vec-only"] = "vector"
    if given["mode"]:
        wanted[f"--mode {given['mode']}"] = given["mode"]
    if len(set(wanted.values())) > 1:
        raise UsageError(f"{' and '.join(wanted)} cannot be combined", "use one of them")
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


def _write(answer: SearchOutput, form: str, workspace: Workspace, given: Given) -> None:
    """Write the hits to stdout; imports only the printer of the format."""
    hits, full = answer.response.hits, given["full"]
    style = Style(detect(sys.stdout, os.environ))
    lines: Iterable[str] = ()
    match form:
        case "json" | "jsonl":
            from kebab_tui.wire.encode import search_response

            encoded = search_response(answer.response, full, answer.scope)
            if answer.explained is not None:
                from kebab_tui.wire.encode import explanation, filtered

                if answer.explained.filtered is not None:
                    encoded["filtered"] = filtered(answer.explained.filtered)
                for hit, explained in zip(encoded["hits"], answer.explained.hits, strict=True):
                    hit["explanation"] = explanation(explained, answer.explained)
            for value in encoded["hits"] if form == "jsonl" else [encoded]:
                write_json(value)
        case "lines" | "vimgrep":
            from kebab_tui.cli.line_formats import line_of, write_quickfix

            query = answer.response.corrected or answer.response.query
            matches = [(hit, workspace.matching_line(hit, query)) for hit in hits]
            if form == "vimgrep":
                write_quickfix(matches, terminal=style.terminal.tty)
            else:
                lines = (line_of(hit, match, query, style, null=given["null"]) for hit, match in matches)
        case "files":
            from kebab_tui.cli.line_formats import write_paths

            write_paths({hit.location: "" for hit in hits}, style, null=given["null"])
        case "markdown":
            from kebab_tui.cli.line_formats import markdown

            lines = markdown(hits)
        case "context":
            from kebab_tui.wire.llm_text import passages

            lines = [passages(hits, workspace.sources())] if hits else []
        case _:
            from kebab_tui.cli.search_output import answer_lines

            lines = answer_lines(answer, style, full=full)
    for line in lines:
        write(line)


def _write_summary(answer: SearchOutput, *, footer: bool) -> None:
    """Write notices to stderr and, as a footer, the number of hits, the scope and the time."""
    response = answer.response
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
        where = f" in {field(answer.scope)} (--all searches everything)" if answer.scope else ""
        notify(f"{found}{where} · {MODE_WORDS[response.mode]} · {milliseconds:.0f} ms")


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
