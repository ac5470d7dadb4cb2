"""`kebab inspect`: one note or passage as the index knows it, and whether its file still is that."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import closing
from typing import TYPE_CHECKING

import click

from kebab_tui.cli.context import Invocation, pass_invocation, shared_options
from kebab_tui.cli.output import field, plural, write, write_json
from kebab_tui.cli.style import Style
from kebab_tui.cli.terminal import detect
from kebab_tui.domain.citation import Citation
from kebab_tui.domain.text import visible
from kebab_tui.workspace import Workspace

if TYPE_CHECKING:
    from kebab_tui.domain.document import Chunk, Document
    from kebab_tui.indexing.lookup import Inspection

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
def command(invocation: Invocation, target: str, full: bool, as_json: bool) -> None:
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
