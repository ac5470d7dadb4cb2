"""`kebab source`: the folders of notes. Never touches a file in any of them."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing
from typing import Any, TextIO

import click

from kebab_tui.cli.edge import Invocation, pass_invocation, shared_flag, shared_options
from kebab_tui.cli.options import TRUST_LABELS, chosen_format, format_options
from kebab_tui.cli.output import field, plural, say, table_lines, write, write_json
from kebab_tui.cli.progress import tell_notice, tell_waiting
from kebab_tui.domain.document import Source, Trust
from kebab_tui.domain.errors import ConfigError, NotFoundError, UsageError
from kebab_tui.domain.ids import SourceId
from kebab_tui.workspace import Callbacks, Workspace

_NAME = re.compile(r"\w[\w.-]{0,63}")
_COLUMNS = ("id", "state", "notes", "passages", "title", "folder")


@click.group()
@shared_options
def source_command() -> None:
    """Add, list or remove folders of notes."""


def _name(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    if value is not None and not _NAME.fullmatch(value):
        raise click.BadParameter(f"{value!r}: letters, digits, '-', '_' and '.' make a name, 64 at most")
    return value


def _weight(ctx: click.Context, param: click.Parameter, value: float) -> float:
    if not 0 <= value <= 100:  # NaN fails here too
        raise click.BadParameter("a weight lies between 0 and 100")
    return value


@source_command.command()
@click.argument("folder", type=click.Path())
@click.option("--id", "source_id", callback=_name, metavar="NAME", help="Its name for in: and --in.")
@click.option("--title", metavar="TEXT", help="The name shown; else the folder's.")
@click.option("--description", default="", metavar="TEXT", help="What it holds.")
@click.option("--include", multiple=True, metavar="GLOB", help="Only files like this, as in .gitignore.")
@click.option("--exclude", multiple=True, metavar="GLOB", help="No files like this, as in .gitignore.")
@click.option("--trust", type=click.Choice(TRUST_LABELS), default="primary", help="How far it is trusted.")
@click.option("--rule", "rules", multiple=True, metavar="TEXT", help="Handed on with what is quoted from it.")
@click.option("--version-label", default="", metavar="TEXT", help="Which edition the folder holds.")
@click.option("--weight", type=float, default=1.0, callback=_weight, help="Among the sources.")
@click.option("--json", "as_json", is_flag=True, help="The new source as a source.v1 object.")
@shared_options
@pass_invocation
def add(invocation: Invocation, /, folder: str, as_json: bool, **given: Any) -> None:
    """Make FOLDER a source. `kebab ingest` reads its notes."""
    from kebab_tui.settings.load import absolute

    if not folder:
        raise UsageError("the folder has an empty name", "is a variable of your shell not set?")
    root = absolute(folder)
    with closing(Workspace(invocation.settings, invocation.data_dir)) as workspace:
        source_id = SourceId(given["source_id"] or workspace.new_source_id(root))
        title = given["title"] or os.path.basename(root) or root
        added = workspace.add_source(
            _source(source_id, title, root, given), Callbacks(waiting=tell_waiting, notice=tell_notice)
        )
    if as_json:
        from kebab_tui.wire.encode import source

        write_json(source(added))
    else:
        write(f"{field(added.source_id)}\t{field(added.root)}")
        say("added; `kebab ingest` reads its notes")


def _source(source_id: SourceId, title: str, root: str, given: dict[str, Any]) -> Source:
    return Source(
        source_id=source_id,
        title=title,
        root=root,
        description=given["description"],
        include=given["include"],
        exclude=given["exclude"],
        trust=Trust.parse(given["trust"]) or Trust.PRIMARY,
        rules=given["rules"],
        version_label=given["version_label"],
        weight=given["weight"],
    )


@source_command.command("list")
@format_options("human", "txt", "json")
@shared_options
@pass_invocation
def list_(invocation: Invocation, /, **given: Any) -> None:
    """List the folders, with how much of each is indexed."""
    form = chosen_format(given)
    with closing(Workspace(invocation.settings, invocation.data_dir)) as workspace:
        sources = workspace.sources()
    if form == "json":
        from kebab_tui.wire.encode import listing, source

        write_json(listing("source", map(source, sources), len(sources)))
        return
    for line in _described(sources) if form == "txt" else table_lines(_COLUMNS, map(_row, sources)):
        write(line)
    if not sources:
        say("no folders yet; `kebab ingest FOLDER` adds and indexes one")


def _row(source: Source) -> tuple[str, ...]:
    documents, chunks = str(source.documents), str(source.chunks)
    return (source.source_id, source.state, documents, chunks, source.title, source.root)


def _described(sources: Sequence[Source]) -> Iterator[str]:
    """A paragraph for each source."""
    for number, source in enumerate(sources, 1):
        if number > 1:
            yield ""
        yield f"{number}. {field(source.title)}"
        yield f"   Source ID: {field(source.source_id)}"
        yield f"   Description: {field(source.description) or 'No description'}"
        yield f"   Passages: {source.chunks} | Notes: {source.documents} | Trust: {source.trust.label}"
        yield f"   Version: {field(source.version_label) or 'no label'}"
        yield f"   Folder: {field(source.root)}"


@source_command.command()
@click.argument("source_id", metavar="ID")
@click.option("--yes", is_flag=True, help="Do not ask.")
@shared_options
@pass_invocation
def remove(invocation: Invocation, source_id: str, yes: bool) -> int:
    """Take the source ID and its notes out of the index. No file is touched."""
    with closing(Workspace(invocation.settings, invocation.data_dir)) as workspace:
        source = _known(source_id, workspace.sources())
        notes = f"{plural(source.documents, 'note')} ({plural(source.chunks, 'passage')})"
        if not yes and not _agreed(f"{notes} of {field(source.source_id)} leave the index"):
            say("nothing was removed")
            return 1
        workspace.remove_source(source.source_id, Callbacks(waiting=tell_waiting, notice=tell_notice))
    say(f"removed: {notes} left the index; no file in {field(source.root)} was touched")
    return 0


def _known(source_id: str, sources: Sequence[Source]) -> Source:
    for source in sources:
        if source.source_id == source_id:
            return source
    names = ", ".join(source.source_id for source in sources) or "none"
    raise NotFoundError(f"there is no source named {source_id!r}", f"the sources are: {names}")


def _agreed(what: str) -> bool:
    if not sys.stdin.isatty():
        raise UsageError(f"{what}; nobody is here to be asked", "add --yes to go ahead; no file is touched")
    return click.confirm(f"{what}; no file is touched. Go ahead?", err=True)


# `kebab init`: puts a commented configuration file in place. Never overwrites one.

NEXT = """\
next:
  kebab ingest ~/notes         index a folder of notes
  kebab search "a few words"   find passages and their exact lines
"""
NAME_ANOTHER = "name another file: kebab init --path FILE"


@click.command()
@click.option("--path", type=click.Path(), metavar="FILE", help="Write it here instead of the usual place.")
@shared_options
@click.pass_context
def init_command(ctx: click.Context, path: str | None) -> None:
    """Write a configuration file in which every setting stands with its default, commented out.

    Prints the file's path. A file that is already there is left as it is.
    """
    from kebab_tui.settings.load import absolute, config_path

    target = absolute(path) if path else config_path(os.environ, shared_flag(ctx, "config"))
    written = _write_new(target)
    click.echo(target)
    click.echo(
        "written; every setting is commented out" if written else "already there; left as it is", err=True
    )
    click.echo(NEXT, err=True, nl=False)


def _write_new(path: str) -> bool:
    """False when a file is there already."""
    from kebab_tui.settings.starter import starter_text

    text = starter_text()
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "x", encoding="utf-8") as file:
            _fill(file, text)
    except FileExistsError:
        if os.path.isfile(path):
            return False
        raise ConfigError(f"cannot write {path}: something else has that name", NAME_ANOTHER) from None
    except OSError as error:
        raise ConfigError(f"cannot write {path}: {error.strerror}", NAME_ANOTHER) from None
    return True


def _fill(file: TextIO, text: str) -> None:
    """All of the text, or no file: half a file would count as "already there" next time."""
    try:
        file.write(text)
        file.flush()
    except OSError:
        os.unlink(file.name)
        raise
