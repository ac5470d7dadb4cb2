"""`kebab list`: the notes of the index, failed and skipped ones too. Looks at no file."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from typing import Any

import click

from kebab_tui.cli.context import Invocation, pass_invocation, shared_options
from kebab_tui.cli.options import chosen_format, filter_options, filters_from, format_options, page_options
from kebab_tui.cli.output import plural, say, write, write_json
from kebab_tui.cli.table import table_lines
from kebab_tui.domain.document import Document, DocumentState
from kebab_tui.domain.errors import UsageError
from kebab_tui.domain.query import SearchFilters
from kebab_tui.domain.text import glob_problem
from kebab_tui.workspace import Workspace

STATES: tuple[DocumentState, ...] = ("ok", "failed", "skipped")
_COLUMNS = ("path", "state", "type", "tags", "passages", "reason")


@click.command()
@click.argument("globs", nargs=-1, metavar="[PATH-GLOB…]")
@click.option("--state", "states", multiple=True, type=click.Choice(STATES), help="In this state.")
@page_options("-n", "--limit", otherwise="all without it")
@filter_options
@format_options("human", "json", "jsonl")
@shared_options
@pass_invocation
def command(
    invocation: Invocation, /, globs: tuple[str, ...], states: tuple[DocumentState, ...], **given: Any
) -> int:
    """List the notes of the index and their state.

    PATH-GLOB: * stays within a folder, ** does not; without a wildcard it is a part of
    the path. In a pipe: path, state, type, tags, passages and reason, between tabs.
    """
    form = chosen_format(given)
    with closing(Workspace(invocation.settings, invocation.data_dir)) as workspace:
        filters = _below(globs, filters_from(given, workspace))
        limit = -1 if given["limit"] is None else given["limit"]
        found, total = workspace.documents(filters, states, limit, given["offset"])
    _write(found, total, form)
    return 0 if found else 1


def _below(globs: tuple[str, ...], filters: SearchFilters) -> SearchFilters:
    for pattern in globs:
        if problem := glob_problem(pattern):
            raise UsageError(f"{pattern!r} is no pattern: {problem}", "PATH-GLOB reads notes/** or *.md")
    return replace(filters, paths=(*filters.paths, *globs))


def _write(found: list[Document], total: int, form: str) -> None:
    if form == "human":
        for line in table_lines(_COLUMNS, map(_row, found)):
            write(line)
        say(f"{len(found):,} of {plural(total, 'note')}")
        return
    from kebab_tui.wire.encode import document, listing

    encoded = map(document, found)
    for value in encoded if form == "jsonl" else [listing("document", encoded, total)]:
        write_json(value)


def _row(document: Document) -> tuple[str, ...]:
    tags = ",".join(document.tags)
    return (document.path, document.state, document.type, tags, str(document.chunks), document.reason)
