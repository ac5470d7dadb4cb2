"""`kebab search`: asks the workspace and writes the answer in one of six formats.

Exit code 0 when something was found, 1 when nothing was. Imports no printer of a format
that was not asked for: this is the verb whose start-up time is felt.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from typing import Any, TypeVar

import click

from kebab_tui.cli.context import Invocation, pass_invocation, shared_options
from kebab_tui.cli.options import (
    chosen_format,
    filter_options,
    format_options,
    page_options,
    raw_score,
    share,
)
from kebab_tui.cli.output import field, plural, say, write, write_json
from kebab_tui.cli.search_answer import FORMATS, Answer, narrate, write_answer
from kebab_tui.cli.search_request import query_from, threshold_notices
from kebab_tui.domain.errors import StoreDamagedError, UsageError
from kebab_tui.domain.query import SEARCH_MODES, SearchQuery
from kebab_tui.workspace import Workspace

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
def command(invocation: Invocation, /, query: tuple[str, ...], **given: Any) -> int:
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


def _answered(workspace: Workspace, asked: SearchQuery, *, explain: bool) -> Answer:
    explained = _mended(workspace, lambda: workspace.explain(asked)) if explain else None
    response = explained.response if explained else _mended(workspace, lambda: workspace.search(asked))
    notices = threshold_notices(asked, response, workspace.settings.search)
    return Answer(replace(response, notices=(*notices, *response.notices)), explained)


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
