"""The commands `links` and `similar`: what a note is related to.

Exit code 0 with links or notes, 1 without. A line of `links` is the citation of the link, its target as
written, and what that leads to.
"""

from __future__ import annotations

import os
import sys
from contextlib import closing
from typing import TYPE_CHECKING, Any

import click

from kebab_tui.cli.command import command, option
from kebab_tui.cli.edge import Invocation, pass_invocation, shared_options
from kebab_tui.cli.options import chosen_format, filter_options, filters_from, format_options, page_options
from kebab_tui.cli.output import Style, detect, field, notify, plural, write, write_json
from kebab_tui.domain.errors import UsageError
from kebab_tui.domain.links import LINK_DIRECTIONS, PROBLEMS, LinkDirection, NoteLink, NoteLinks

if TYPE_CHECKING:
    from kebab_tui.domain.links import SimilarNote

_HELP = {
    "out": "Only links from the note.",
    "in": "Only links to the note.",
    "broken": "Only broken links from the note; without PATH, from all notes.",
    "external": "Only web addresses in the note; without PATH, in all notes.",
}


def _directions(command: Any) -> Any:
    for direction in reversed(LINK_DIRECTIONS):
        flag = option(f"--{direction}", f"only_{direction}", is_flag=True, help=_HELP[direction])
        command = flag(command)
    return command


@command(
    examples=(
        ("kebab links plan.md", "links from and to a note"),
        ("kebab links --broken", "every broken link"),
    )
)
@click.argument("target", required=False, metavar="[PATH|NAME]")
@_directions
@page_options(default="all")
@format_options("human", "json", "jsonl", "vimgrep")
@shared_options
@pass_invocation
def links_command(invocation: Invocation, /, target: str | None, **given: Any) -> int:
    """Show the links from and to a note, each with its line.

    Wikilinks, embeds, Markdown and reference links. A link leads to a path, else to the nearest
    note with this name, title or alias; if it is ambiguous, all candidates are shown. Without
    PATH: the broken links or web addresses of all notes.
    """
    form = chosen_format(given)
    directions = tuple(one for one in LINK_DIRECTIONS if given[f"only_{one}"])
    wanted: tuple[LinkDirection, ...] = directions or ("out", "in")
    if target is None and (not directions or "in" in directions):
        raise UsageError("no note given", "`kebab links PATH`, or --broken for the broken links of all notes")
    every: list[NoteLink] = []
    total = 0
    limit = -1 if given["limit"] is None else given["limit"]
    with closing(invocation.open_index()) as workspace:
        for direction in wanted:
            rest = -1 if limit < 0 else max(0, limit - len(every))
            found = workspace.links(target or "", direction, None, rest, max(0, given["offset"] - total))
            every += found.links
            total += found.total
    if form == "vimgrep":
        from kebab_tui.cli.line_formats import write_quickfix_links

        write_quickfix_links(every, terminal=sys.stdout is not None and sys.stdout.isatty())
    elif form == "human":
        for one in every:
            write(_link_line(one))
        notify(f"{len(every):,} of {plural(total, 'link')}" if total else "no links")
    else:
        from kebab_tui.wire.encode import link_list, note_link

        if form == "jsonl":
            for one in every:
                write_json(note_link(one))
        else:
            write_json(link_list(target or "", "+".join(wanted), NoteLinks(tuple(every), total)))
    return 0 if every else 1


def _link_line(found: NoteLink) -> str:
    style = Style(detect(sys.stdout, os.environ))
    link = found.link
    cited = found.target_citation
    leads = field(str(cited) if cited is not None else found.file)
    if found.problem is not None:
        leads = f"{leads} ({PROBLEMS[found.problem]})".strip()
    if found.candidates:
        leads += f" (or {', '.join(field(one.path) for one in found.candidates[1:])})"
    written = field(str(link)) if str(link) else field(link.text)
    place = style.file_link(
        style.citation(found.citation),
        os.path.join(os.fsencode(found.note.root), found.note.raw_path),
        link.line,
    )
    return f"{place}  {written}" + (f" → {leads}" if leads else "")


@command(
    examples=(
        ("kebab similar plan.md", "notes like this one"),
        ("kebab similar plan.md:L12-L34 --lang ko", "Korean notes like this passage"),
    )
)
@click.argument("target", metavar="PATH|NAME|CITATION")
@filter_options
@page_options(most=1000)
@format_options("human", "json", "jsonl", "vimgrep")
@shared_options
@pass_invocation
def similar_command(invocation: Invocation, /, target: str, **given: Any) -> int:
    """Find notes with a similar meaning, in any language.

    PATH: like the whole note. CITATION (PATH:L12-L34): like that passage. Each line has the
    cosine of the vectors and cites the most similar passage.
    """
    form = chosen_format(given)
    wanted = (given["limit"] or 10) + given["offset"]
    with closing(invocation.open_index()) as workspace:
        found = workspace.similar(target, wanted, filters_from(given, workspace))[given["offset"] :]
    if form == "json":
        from kebab_tui.wire.encode import similar_list

        write_json(similar_list(target, found))
    elif form == "jsonl":
        from kebab_tui.wire.encode import similar_list

        for item in similar_list(target, found)["items"]:
            write_json(item)
    elif form == "vimgrep":
        from kebab_tui.cli.line_formats import write_quickfix_similar

        write_quickfix_similar(found, terminal=sys.stdout is not None and sys.stdout.isatty())
    else:
        _write_similar(found)
    return 0 if found else 1


def _write_similar(found: list[SimilarNote]) -> None:
    style = Style(detect(sys.stdout, os.environ))
    for note in found:
        place = os.path.join(os.fsencode(note.root), note.document.raw_path)
        cited = style.file_link(style.citation(note.citation), place)
        write(f"{note.cosine:.2f}  {cited}  {style.dim(field(note.document.title))}")
    if not found:
        notify("no other note has vectors")
