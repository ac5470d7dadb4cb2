"""The verbs `source` and `init`: folders of notes, and the starter configuration file.

`source` changes no file in a folder of notes; `init` overwrites no file.
"""

from __future__ import annotations

import os
import re
from contextlib import closing
from typing import Any

import click

from kebab_tui.cli.edge import Invocation, pass_invocation, shared_flag, shared_options
from kebab_tui.cli.options import TRUST_LABELS, chosen_format, format_options
from kebab_tui.cli.output import confirmed, field, notify, plural, table_lines, write, write_json
from kebab_tui.cli.progress import print_notice, print_waiting
from kebab_tui.domain.document import Source, Trust
from kebab_tui.domain.errors import ConfigError, NotFoundError, UsageError
from kebab_tui.domain.ids import SourceId
from kebab_tui.workspace import Callbacks, Workspace

_NAME = re.compile(r"\w[\w.-]{0,63}")
_COLUMNS = ("id", "state", "notes", "passages", "title", "folder")
_NEXT = """\
next:
  kebab ingest ~/notes         index a folder of notes
  kebab search "a few words"   find passages and their exact lines
"""
_NAME_ANOTHER = "name another file: kebab init --path FILE"


@click.group()
@shared_options
def source_command() -> None:
    """Add, list or remove folders of notes."""


def _name(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    if value is not None and not _NAME.fullmatch(value):
        raise click.BadParameter(
            f"invalid name {value!r}; expected at most 64 letters, digits, '-', '_' and '.'"
        )
    return value


def _weight(ctx: click.Context, param: click.Parameter, value: float) -> float:
    if not 0 <= value <= 100:  # NaN fails here too
        raise click.BadParameter("expected a weight from 0 to 100")
    return value


@source_command.command()
@click.argument("folder", type=click.Path())
@click.option("--id", "source_id", callback=_name, metavar="NAME", help="Its name for in: and --in.")
@click.option("--title", metavar="TEXT", help="The displayed name; default: the folder's name.")
@click.option("--description", default="", metavar="TEXT", help="A description.")
@click.option("--include", multiple=True, metavar="GLOB", help="Only files that match, as in .gitignore.")
@click.option("--exclude", multiple=True, metavar="GLOB", help="No files that match, as in .gitignore.")
@click.option("--trust", type=click.Choice(TRUST_LABELS), default="primary", help="Its trust level.")
@click.option("--rule", "rules", multiple=True, metavar="TEXT", help="A remark added to every quotation.")
@click.option("--version-label", default="", metavar="TEXT", help="The edition of its contents.")
@click.option(
    "--weight",
    type=float,
    default=1.0,
    callback=_weight,
    help="Stored with the source; the ranking does not use it.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the new source as a source.v1 object.")
@shared_options
@pass_invocation
def add(invocation: Invocation, /, folder: str, as_json: bool, **given: Any) -> None:
    """Make FOLDER a source. `kebab ingest` then indexes its notes."""
    from kebab_tui.settings.load import absolute

    if not folder:
        raise UsageError("the folder has an empty name", "is a variable of your shell not set?")
    root = absolute(folder)
    with closing(Workspace(invocation.settings, invocation.data_dir)) as workspace:
        new = Source(
            source_id=SourceId(given["source_id"] or workspace.new_source_id(root)),
            title=given["title"] or os.path.basename(root) or root,
            root=root,
            description=given["description"],
            include=given["include"],
            exclude=given["exclude"],
            trust=Trust.parse(given["trust"]) or Trust.PRIMARY,
            rules=given["rules"],
            version_label=given["version_label"],
            weight=given["weight"],
        )
        added = workspace.add_source(new, Callbacks(waiting=print_waiting, notice=print_notice))
    if as_json:
        from kebab_tui.wire.encode import source

        write_json(source(added))
    else:
        write(f"{field(added.source_id)}\t{field(added.root)}")
        notify("added; `kebab ingest` indexes its notes")


@source_command.command("list")
@format_options("human", "txt", "json")
@shared_options
@pass_invocation
def list_(invocation: Invocation, /, **given: Any) -> None:
    """List the folders, with their numbers of indexed notes and passages."""
    form = chosen_format(given)
    with closing(Workspace(invocation.settings, invocation.data_dir)) as workspace:
        sources = workspace.sources()
    if form == "json":
        from kebab_tui.wire.encode import listing, source

        write_json(listing("source", map(source, sources), len(sources)))
        return
    if form == "txt":
        for number, found in enumerate(sources, 1):
            if number > 1:
                write("")
            write(f"{number}. {field(found.title)}")
            write(f"   Source ID: {field(found.source_id)}")
            write(f"   Description: {field(found.description) or 'No description'}")
            write(f"   Passages: {found.chunks} | Notes: {found.documents} | Trust: {found.trust.label}")
            write(f"   Version: {field(found.version_label) or 'no label'}")
            write(f"   Folder: {field(found.root)}")
    else:
        rows = (
            (found.source_id, found.state, str(found.documents), str(found.chunks), found.title, found.root)
            for found in sources
        )
        for line in table_lines(_COLUMNS, rows):
            write(line)
    if not sources:
        notify("no folders yet; `kebab ingest FOLDER` adds and indexes one")


@source_command.command()
@click.argument("source_id", metavar="ID")
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@shared_options
@pass_invocation
def remove(invocation: Invocation, source_id: str, yes: bool) -> int:
    """Remove the source ID and its notes from the index. No file is changed."""
    with closing(Workspace(invocation.settings, invocation.data_dir)) as workspace:
        sources = workspace.sources()
        source = next((known for known in sources if known.source_id == source_id), None)
        if source is None:
            names = ", ".join(known.source_id for known in sources) or "none"
            raise NotFoundError(f"there is no source named {source_id!r}", f"the sources are: {names}")
        notes = f"{plural(source.documents, 'note')} ({plural(source.chunks, 'passage')})"
        question = f"remove {notes} of {field(source.source_id)} from the index; no file is changed"
        if not confirmed(question, yes=yes):
            notify("nothing was removed")
            return 1
        workspace.remove_source(source.source_id, Callbacks(waiting=print_waiting, notice=print_notice))
    notify(f"removed: {notes}; no file in {field(source.root)} was changed")
    return 0


@click.command()
@click.option("--path", type=click.Path(), metavar="FILE", help="Write this file instead of the default one.")
@shared_options
@click.pass_context
def init_command(ctx: click.Context, path: str | None) -> None:
    """Write a configuration file with every setting and its default, commented out.

    Prints the file's path. An existing file is not changed.
    """
    from kebab_tui.settings.load import absolute, config_path
    from kebab_tui.settings.starter import starter_text

    target = absolute(path) if path else config_path(os.environ, shared_flag(ctx, "config"))
    text = starter_text()
    outcome = "written; every setting is commented out"
    try:
        os.makedirs(os.path.dirname(target), exist_ok=True)
        with open(target, "x", encoding="utf-8") as file:
            try:
                file.write(text)
                file.flush()
            except OSError:
                os.unlink(target)  # the next run would take half a file for an existing one
                raise
    except FileExistsError:
        if not os.path.isfile(target):
            raise ConfigError(f"cannot write {target}: it is not a regular file", _NAME_ANOTHER) from None
        outcome = "exists already; not changed"
    except OSError as error:
        raise ConfigError(f"cannot write {target}: {error.strerror}", _NAME_ANOTHER) from None
    click.echo(target)
    click.echo(outcome, err=True)
    click.echo(_NEXT, err=True, nl=False)
