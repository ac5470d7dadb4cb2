"""`kebab list`: the notes of the index, failed and skipped ones too. Looks at no file."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from kebab_tui.cli.edge import Invocation, pass_invocation, shared_options
from kebab_tui.cli.options import chosen_format, filter_options, filters_from, format_options, page_options
from kebab_tui.cli.output import Style, detect, field, plural, say, table_lines, write, write_json
from kebab_tui.domain.citation import Citation
from kebab_tui.domain.document import Document, DocumentState
from kebab_tui.domain.errors import NotFoundError, UsageError
from kebab_tui.domain.query import SearchFilters
from kebab_tui.domain.text import glob_problem, visible
from kebab_tui.editor import EditorError, choose, line_hint, open_note
from kebab_tui.workspace import Workspace

if TYPE_CHECKING:
    from kebab_tui.domain.document import Chunk
    from kebab_tui.indexing.lookup import CitedPlace, Inspection


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
def list_command(
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


# `kebab inspect`: one note or passage as the index knows it, and whether its file still is that.

_FILE = {
    "same": "as it was indexed",
    "changed": "changed since it was indexed; `kebab ingest` reads it again",
    "gone": "no longer there; `kebab ingest` takes it out of the index",
}


@click.command()
@click.argument("target", metavar="PATH|CHUNK_ID|CITATION")
@click.option("--full", is_flag=True, help="With the text of the passages.")
@click.option("--json", "as_json", is_flag=True, help="As an inspection.v1 object.")
@shared_options
@pass_invocation
def inspect_command(invocation: Invocation, target: str, full: bool, as_json: bool) -> None:
    """Show all that is known of one note or passage.

    A path may be within its source, on the disk, or only its last parts. Of a path that
    is not indexed, says why.
    """
    with closing(Workspace(invocation.settings, invocation.data_dir)) as workspace:
        found = workspace.inspect(target)
    if as_json:
        from kebab_tui.wire.reports import inspection

        write_json(inspection(found))
        return
    for line in _lines(found, Style(detect(sys.stdout, os.environ)), full=full):
        write(line)


def _lines(found: Inspection, style: Style, *, full: bool) -> Iterator[str]:
    yield style.strong(field(found.document.title))
    for name, value in _facts(found):
        yield f"{name}: {value}"
    path = os.path.join(os.fsencode(found.root), found.document.raw_path)
    for chunk in found.chunks:
        yield from _chunk_lines(chunk, found.document, style, path, full=full)


def _facts(found: Inspection) -> Iterator[tuple[str, str]]:
    document = found.document
    yield "path", field(document.path)
    yield "source", f"{field(document.source)} ({field(found.root)})"
    yield "file", _FILE[found.file_state]
    yield "state", f"{document.state}: {field(document.reason)}" if document.reason else document.state
    yield "type", f"{document.type}, {document.lang}, {document.trust.label}"
    if document.tags:
        yield "tags", field(", ".join(document.tags))
    if document.aliases:
        yield "aliases", field(", ".join(document.aliases))
    if document.flags:
        yield "flags", ", ".join(flag.replace("_", " ") for flag in document.flags)
    yield "size", plural(document.fingerprint.size, "byte")
    yield "doc id", document.doc_id
    yield "passages", str(document.chunks)


def _chunk_lines(chunk: Chunk, document: Document, style: Style, path: bytes, *, full: bool) -> Iterator[str]:
    citation = field(str(Citation(document.path, chunk.span, chunk.heading_path)))
    yield ""
    yield f"citation: {style.file_link(citation, path)}"
    yield f"heading: {field(chunk.heading_path)}".rstrip()
    yield f"chunk id: {chunk.chunk_id} ({chunk.kind}, {plural(len(chunk.text), 'character')})"
    if full:
        yield from (f"│ {line}" for line in visible(chunk.text).split("\n"))


# `kebab open`: the cited lines in the user's editor, where they stand by now.

_ESCAPED = re.compile(r"[\\']")


@click.command()
@click.argument("target", metavar="CITATION|CHUNK_ID|PATH")
@click.option("--print", "print_only", is_flag=True, help="Print the command instead, quoted for a shell.")
@shared_options
@pass_invocation
def open_command(invocation: Invocation, target: str, print_only: bool) -> None:
    """Open the lines that a citation names in your editor.

    The lines are looked for in the file as it is now, and what became of them is said
    where they moved or changed. The editor: the setting `command` under [editor], else
    KEBAB_EDITOR, VISUAL or EDITOR, else nvim, vim, nano or vi.
    """
    with closing(Workspace(invocation.settings, invocation.data_dir)) as workspace:
        place = workspace.locate_citation(target)
    if place.located.state == "gone":
        raise NotFoundError(f"{place.path} is no longer there", "`kebab ingest` takes it out of the index")
    editor = choose(invocation.settings.editor, os.environ, shutil.which)
    made = editor.at(place.path, place.located.span.first)
    if fate := _fate(place):
        say(fate)
    if print_only:
        write(_quoted(made.argv))
        return
    outcome = open_note(made, place.path)
    if outcome.interrupted:
        raise KeyboardInterrupt
    if not outcome.ok:
        raise EditorError(outcome.message, f"this editor comes from {editor.named_by}")
    if hint := line_hint(made):
        say(field(hint))


def _fate(place: CitedPlace) -> str:
    """What became of the cited lines; empty where they are what and where they were."""
    located = place.located
    present = field(str(Citation(place.citation.path, located.span)))
    if located.state == "moved":
        return f"moved {located.shift:+}: now {present}"
    if located.state == "changed":
        return f"changed since it was indexed; most like it: {present}"
    return ""


def _quoted(argv: Sequence[str]) -> str:
    """One line that a shell reads back as these words, and in which a terminal finds nothing to obey."""
    return " ".join(shlex.quote(word) if word.isprintable() else _escaped(word) for word in argv)


def _escaped(word: str) -> str:
    shown = "".join(
        _ESCAPED.sub(r"\\\g<0>", letter) if letter.isprintable() else _bytes(letter) for letter in word
    )
    return f"$'{shown}'"


def _bytes(letter: str) -> str:
    return "".join(f"\\x{byte:02x}" for byte in os.fsencode(letter))
