"""The commands that show notes: `list`, `inspect` and `open`.

`list` reads the index only. `inspect` also compares the note with its file. `open` finds the cited lines in
the present file and starts the editor there.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import sys
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from kebab_tui.cli.command import command, option
from kebab_tui.cli.edge import Invocation, pass_invocation, shared_options
from kebab_tui.cli.options import (
    FILTERS,
    chosen_format,
    filter_options,
    filters_from,
    format_options,
    page_options,
)
from kebab_tui.cli.output import (
    Style,
    detect,
    field,
    notify,
    page_label,
    plural,
    table_lines,
    write,
    write_json,
)
from kebab_tui.domain.document import DocumentState
from kebab_tui.domain.errors import NotFoundError, UsageError
from kebab_tui.domain.facets import FACETS, values_of
from kebab_tui.domain.pages import page_count
from kebab_tui.domain.text import glob_problem, sanitize
from kebab_tui.editor import (
    Editor,
    EditorError,
    NoWindowError,
    Viewer,
    choose,
    choose_viewer,
    line_hint,
    open_note,
)

if TYPE_CHECKING:
    from kebab_tui.indexing.lookup import Inspection

STATES: tuple[DocumentState, ...] = ("ok", "failed", "skipped")
_LISTED = tuple(kind for kind in FACETS.values() if kind.listed)
_COLUMNS = ("path", "state", "type", *(kind.plural for kind in _LISTED), "passages", "reason")
_FILE_STATES = {
    "same": "unchanged since it was indexed",
    "changed": "changed since it was indexed; run `kebab ingest` to update the index",
    "gone": "no longer there; run `kebab ingest` to remove it from the index",
}
_ESCAPED = re.compile(r"[\\']")


@command(
    examples=(
        ("kebab list 'projects/**'", "the notes below a folder"),
        ("kebab list --state failed", "the notes that could not be read"),
    )
)
@click.argument("globs", nargs=-1, metavar="[PATH-GLOB…]")
@filter_options
@option(
    "--state",
    "states",
    multiple=True,
    type=click.Choice(STATES),
    metavar="STATE",
    group=FILTERS,
    help=f"Only this state: {', '.join(STATES)}.",
)
@page_options(default="all")
@format_options("human", "json", "jsonl")
@shared_options
@pass_invocation
def list_command(
    invocation: Invocation, /, globs: tuple[str, ...], states: tuple[DocumentState, ...], **given: Any
) -> int:
    """List the indexed notes and their state.

    PATH-GLOB: * matches within one folder, ** across folders; without a wildcard it is a part of
    the path. In a pipe: path, state, type, tags, passages and reason (or: private), between tabs.
    """
    form = chosen_format(given)
    with closing(invocation.open_index()) as workspace:
        filters = filters_from(given, workspace)
        for pattern in globs:
            if problem := glob_problem(pattern):
                raise UsageError(f"invalid pattern {pattern!r}: {problem}", "for example: notes/** or *.md")
        filters = replace(filters, paths=(*filters.paths, *globs))
        limit = -1 if given["limit"] is None else given["limit"]
        found, total = workspace.documents(filters, states, limit, given["offset"])
        places = {one.source_id: f"{one.root}/" for one in workspace.sources()} if form != "human" else {}
        if filters.versions and places:
            places |= {one.version_id: f"{one.label}:{one.prefix}" for one in workspace.stored_versions()}
    if form == "human":
        rows = (
            (
                note.path,
                note.state,
                note.type,
                *(",".join(values_of(note.facets, kind.id)) for kind in _LISTED),
                str(note.chunks),
                "; ".join(filter(None, (note.reason, "private" if note.is_private else ""))),
            )
            for note in found
        )
        for line in table_lines(_COLUMNS, rows):
            write(line)
        notify(f"{len(found):,} of {plural(total, 'note')}")
    else:
        from kebab_tui.wire.encode import document, listing

        encoded = (document(note, places[note.source] + os.fsdecode(note.raw_path)) for note in found)
        for value in encoded if form == "jsonl" else [listing("document", encoded, total)]:
            write_json(value)
    return 0 if found else 1


@command(examples=(("kebab inspect plan.md --full", "a note with its passages"),))
@click.argument("target", metavar="PATH|NAME|CHUNK_ID|CITATION")
@option("--full", is_flag=True, help="Print the text of the passages, too.")
@option("--json", "as_json", is_flag=True, help="Print an inspection.v1 object.")
@shared_options
@pass_invocation
def inspect_command(invocation: Invocation, target: str, full: bool, as_json: bool) -> None:
    """Show all details of one note or passage.

    PATH is relative to its source, absolute, or only the end of a path. NAME is a file name, an
    alias or a title. For a file that is not indexed, shows why.
    """
    with closing(invocation.open_index()) as workspace:
        found = workspace.inspect(target)
    if as_json:
        from kebab_tui.wire.reports import inspection

        write_json(inspection(found))
        return
    style = Style(detect(sys.stdout, os.environ))
    document = found.document
    write(style.strong(field(document.title)))
    write(f"path: {field(document.path)}")
    if found.version is None:
        write(f"source: {field(document.source)} ({field(found.root)})")
    else:
        write(f"version: {field(found.version.version_id)} ({field(found.version.place)})")
    write(f"file: {_FILE_STATES[found.file_state]}")
    write(f"state: {document.state}" + (f": {field(document.reason)}" if document.reason else ""))
    language = workspace.code_language(document)
    shown = f"{document.type} ({language})" if language else document.type
    write(f"type: {shown}, {document.lang}, {document.trust.label}")
    for kind in FACETS.values():
        if values := values_of(document.facets, kind.id):
            write(f"{kind.plural}: {field(', '.join(values))}")
    for kind_id, count in document.counts:
        write(f"{FACETS[kind_id].plural}: {count:,}")
    if document.dated:
        write(f"dated: {document.dated} ({document.dated_by})")
    if document.flags:
        write(f"flags: {', '.join(flag.replace('_', ' ') for flag in document.flags)}")
    write(f"size: {plural(document.fingerprint.size, 'byte')}")
    write(f"doc id: {document.doc_id}")
    if pages := page_count(document.facets):
        write(f"page count: {pages:,}{_without_text(found, pages)}")
    write(f"passages: {document.chunks}")
    file = os.path.join(os.fsencode(found.root), document.raw_path)
    for chunk in found.chunks:
        cited = found.cite(chunk.span)
        write("")
        write(f"citation: {style.file_link(style.citation(cited), file)}{page_label(cited)}")
        write(f"heading: {field(chunk.heading_path)}".rstrip())
        write(f"chunk id: {chunk.chunk_id} ({chunk.kind}, {plural(len(chunk.text), 'character')})")
        if full:
            for line in sanitize(chunk.text).split("\n"):
                write(f"│ {line}")


def _without_text(found: Inspection, pages: int) -> str:
    if "pages_without_text" not in found.document.flags or found.cited is not None:
        return ""
    return f", {pages - len({chunk.span.page for chunk in found.chunks}):,} without text"


@command(
    examples=(
        ("kebab open plan.md:L12-L34", "at the present place of these lines"),
        ("kebab open 'weekly plan'", "a note by its name"),
    )
)
@click.argument("target", metavar="CITATION|CHUNK_ID|PATH|NAME")
@option("--print", "print_only", is_flag=True, help="Print the command instead, quoted for a shell.")
@shared_options
@pass_invocation
def open_command(invocation: Invocation, target: str, print_only: bool) -> None:
    """Open the lines of a citation, or a note by name, in your editor; a page in your viewer.

    Finds the lines in the present file, and reports if they moved or changed. The editor: the
    setting `command` in [editor], else KEBAB_EDITOR, VISUAL or EDITOR, else nvim, vim, nano or
    vi. The viewer: the setting `pdf` in [viewer], else the first installed one of zathura,
    evince, okular and others. Over ssh and without a display, prints the citation of a page
    instead.
    """
    with closing(invocation.open_index()) as workspace:
        place = workspace.locate_citation(target)
    located = place.located
    if located.state == "gone":
        raise NotFoundError(
            f"{place.path} is no longer there", "run `kebab ingest` to remove it from the index"
        )
    present = field(str(replace(place.citation, span=located.span, section="", label="")))
    if place.is_copy:
        notify(f"read-only: {present} of {field(place.citation.version)}")
    program: Editor | Viewer
    if (page := located.span.page) is not None:
        try:
            program = choose_viewer(invocation.settings.viewer, "pdf", os.environ, shutil.which)
        except NoWindowError as error:
            notify(f"{error.message}; {error.hint}")
            write(present)
            return
        launch = program.at(place.path, page)
    else:
        program = choose(invocation.settings.editor, os.environ, shutil.which)
        launch = program.at(place.path, located.span.first, read_only=place.is_copy)
    if located.state == "moved":
        notify(f"moved {located.shift:+}: now {present}")
    elif located.state == "changed":
        notify(f"changed since it was indexed; most similar: {present}")
    if print_only:
        write(" ".join(map(_shell_quoted, launch.argv)))
        return
    outcome = open_note(launch, place.path)
    if outcome.interrupted:
        raise KeyboardInterrupt
    if not outcome.ok:
        noun = "editor" if page is None else "viewer"
        raise EditorError(outcome.message, f"this {noun} comes from {program.named_by}")
    if hint := line_hint(launch):
        notify(field(hint))


def _shell_quoted(word: str) -> str:
    """The word for a shell, without control characters: they become escapes in `$'…'`."""
    if word.isprintable():
        return shlex.quote(word)
    letters = (
        _ESCAPED.sub(r"\\\g<0>", letter)
        if letter.isprintable()
        else "".join(f"\\x{byte:02x}" for byte in os.fsencode(letter))
        for letter in word
    )
    return f"$'{''.join(letters)}'"
