"""The commands `source` and `init`: folders of notes, and the starter configuration file.

`source` changes no file in a folder of notes; `init` overwrites no file.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from typing import Any

import click

from kebab_tui.cli.command import CliGroup, command, option
from kebab_tui.cli.edge import Invocation, pass_invocation, shared_flag, shared_options
from kebab_tui.cli.folder_size import YES_HELP, confirmed_size
from kebab_tui.cli.options import TRUST_LABELS, Given, chosen_format, format_options
from kebab_tui.cli.output import confirmed, field, notify, plural, table_lines, write, write_json
from kebab_tui.cli.progress import print_notice, print_waiting
from kebab_tui.cli.source_version import version_command
from kebab_tui.domain.document import MOST_STARS, Source, SourceUse, Trust
from kebab_tui.domain.errors import ConfigError, NotFoundError, UsageError
from kebab_tui.domain.ids import SourceId
from kebab_tui.workspace import Callbacks, Workspace

_NAME = re.compile(r"\w[\w.-]{0,63}")
_COLUMNS = ("id", "state", "notes", "passages", "title", "folder", "score", "versions")
_FOUND_COLUMNS = ("id", "score", "source score", "hits", "passages", "title", "folder")
_SHOWN_VERSIONS = 3
_NEXT = """\
next:
  kebab ingest ~/notes         index a folder of notes
  kebab search "a few words"   find passages and their exact lines
"""
_NAME_ANOTHER = "name another file: kebab init --path FILE"


@click.group(cls=CliGroup)
@shared_options
def source_command() -> None:
    """Add, search, list, edit, pause or remove folders of notes."""


def _name(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    if value is not None and not _NAME.fullmatch(value):
        raise click.BadParameter(
            f"invalid name {value!r}; expected at most 64 letters, digits, '-', '_' and '.'"
        )
    return value


def _weight(ctx: click.Context, param: click.Parameter, value: float | None) -> float:
    if value is None:
        return 1.0
    if not 0 <= value <= 100:  # NaN fails here too
        raise click.BadParameter("expected a weight from 0 to 100")
    if not ctx.resilient_parsing:
        notify("warning: --weight has no effect; --stars counts in `kebab source search`")
    return value


_STARS = click.IntRange(0, MOST_STARS)
_CODE_HELP = "Index its source code, too, function by function (default: the setting reading.code)."
_TRUST_HELP = "Trust level: primary (that of a new source), secondary or generated."
_STARS_HELP = "Number of stars, such as those of a project; counts in `kebab source search`."


source_command.add_command(version_command, "version")


@source_command.command()
@click.argument("folder", type=click.Path())
@option("--id", "source_id", callback=_name, metavar="NAME", help="Short name for in: and --in.")
@option("--title", metavar="TEXT", help="Displayed name (default: the folder's name).")
@option("--description", default="", metavar="TEXT", help="Description.")
@option("--include", multiple=True, metavar="GLOB", help="Index only files that match, as in .gitignore.")
@option("--exclude", multiple=True, metavar="GLOB", help="Skip files that match, as in .gitignore.")
@option(
    "--trust",
    type=click.Choice(TRUST_LABELS),
    default="primary",
    metavar="LEVEL",
    help="Trust level: primary (default), secondary, generated.",
)
@option("--rule", "rules", multiple=True, metavar="TEXT", help="Remark to add to every quotation.")
@option("--version-label", default="", metavar="TEXT", help="Version of its contents.")
@option("--code", is_flag=True, help=_CODE_HELP)
@option("--stars", type=_STARS, default=0, metavar="N", help=_STARS_HELP)
@option("--weight", type=float, hidden=True, callback=_weight)
@option("--json", "as_json", is_flag=True, help="Print the new source as a source.v1 object.")
@option("--yes", is_flag=True, help=YES_HELP)
@shared_options
@pass_invocation
def add(invocation: Invocation, /, folder: str, as_json: bool, yes: bool, **given: Any) -> int:
    """Add FOLDER as a source. `kebab ingest` then indexes its notes."""
    from kebab_tui.settings.load import absolute

    if not folder:
        raise UsageError("the folder has an empty name", "is a shell variable unset?")
    root = absolute(folder)
    with closing(Workspace(invocation.settings, invocation.data_dir)) as workspace:
        if not confirmed_size(workspace, root, yes=yes):
            notify("nothing was added")
            return 1
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
            stars=given["stars"],
            code=given["code"],
        )
        added = workspace.add_source(new, Callbacks(waiting=print_waiting, notice=print_notice))
        _write_source(added, as_json=as_json)
    if not as_json:
        notify("added; run `kebab ingest` to index its notes")
    return 0


def _write_source(source: Source, *, as_json: bool) -> None:
    if as_json:
        from kebab_tui.wire.encode import source as encoded

        write_json(encoded(source, Workspace.source_score(source)))
    else:
        write(f"{field(source.source_id)}\t{field(source.root)}")


@source_command.command()
@click.argument("name")
@click.argument("query", nargs=-1, metavar="[QUERY…]")
@option(
    "-n", "--limit", type=click.IntRange(1), default=10, metavar="N", help="Number of results (default: 10)."
)
@format_options("human", "txt", "json")
@shared_options
@pass_invocation
def search(invocation: Invocation, /, name: str, query: tuple[str, ...], limit: int, **given: Any) -> int:
    """Find indexed folders by name or content.

    Lists the folders whose title, id or description contains NAME, or whose passages match QUERY (without
    QUERY: all words of NAME). NAME "" lists every folder.

    \b
    Its score is the sum of:
      100      NAME is the title
       50      the title begins with NAME
       20      the description or the id contains NAME
      0-10     one point per 100 passages
      0-10     the source score: stars, passages, a git remote, indexed, described
      0-20     number of matching passages, relative to the best folder
    """
    form, asked = chosen_format(given), " ".join(query)
    with closing(Workspace(invocation.settings, invocation.data_dir)) as workspace:
        found = workspace.find_libraries(name, asked, limit)
        ids = [str(one.source.source_id) for one in found]
        versions = {one: [v.label for v in workspace.stored_versions(one)] for one in ids}
    if form == "json":
        from kebab_tui.wire.encode import found_libraries

        write_json(found_libraries(name, asked, found, versions))
    elif form == "txt":
        from kebab_tui.wire.llm_text import library_list

        write(library_list(found, versions))
    else:
        rows = (
            (
                one.source.source_id,
                f"{one.score:.2f}",
                f"{one.source_score:.1f}",
                str(one.content_hits),
                str(one.source.chunks),
                one.source.title,
                one.source.root,
            )
            for one in found
        )
        for line in table_lines(_FOUND_COLUMNS, rows):
            write(line)
        if not found:
            notify("no folder matches by name or content; see `kebab source list`")
    return 0 if found else 1


@source_command.command("list")
@format_options("human", "txt", "json")
@shared_options
@pass_invocation
def list_(invocation: Invocation, /, **given: Any) -> None:
    """List the folders: indexed notes and passages, a score from 0 to 10, versions."""
    form = chosen_format(given)
    with closing(Workspace(invocation.settings, invocation.data_dir)) as workspace:
        sources = workspace.sources()
        labels = {
            one.source_id: [v.label for v in workspace.stored_versions(one.source_id)] for one in sources
        }
    if form == "json":
        from kebab_tui.wire.encode import listing, source

        items = (source(one, Workspace.source_score(one), labels[one.source_id]) for one in sources)
        write_json(listing("source", items, len(sources)))
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
            if labels[found.source_id]:
                write(f"   Versions: {field(', '.join(labels[found.source_id]))}")
            write(f"   Folder: {field(found.root)}{' (paused)' if found.use == 'paused' else ''}")
    else:
        rows = (
            (
                found.source_id,
                found.condition,
                str(found.documents),
                str(found.chunks),
                found.title,
                found.root,
                f"{Workspace.source_score(found):.1f}" if found.state == "indexed" else "-",
                _shortened(labels[found.source_id]),
            )
            for found in sources
        )
        for line in table_lines(_COLUMNS, rows):
            write(line)
    if not sources:
        notify("no folders yet; run `kebab ingest FOLDER`")


def _shortened(labels: Sequence[str]) -> str:
    """The last labels, and how many more there are."""
    more = len(labels) - _SHOWN_VERSIONS
    return " ".join([*labels[-_SHOWN_VERSIONS:], *([f"+{more}"] if more > 0 else [])]) or "-"


@source_command.command()
@click.argument("source_id", metavar="ID")
@option("--title", metavar="TEXT", help="Displayed name; empty: the folder's name.")
@option("--description", metavar="TEXT", help="Description.")
@option("--include", multiple=True, metavar="GLOB", help="Index only files that match.")
@option("--no-include", is_flag=True, help="Remove these patterns.")
@option("--exclude", multiple=True, metavar="GLOB", help="Skip files that match.")
@option("--no-exclude", is_flag=True, help="Remove these patterns.")
@option(
    "--trust",
    type=click.Choice(TRUST_LABELS),
    metavar="LEVEL",
    help="Trust level: primary, secondary, generated.",
)
@option(
    "--rule",
    "rules",
    multiple=True,
    metavar="TEXT",
    help="Remark to add to every quotation; replaces all others.",
)
@option("--add-rule", "more_rules", multiple=True, metavar="TEXT", help="One more remark; keeps the others.")
@option("--no-rules", is_flag=True, help="Remove all remarks.")
@option("--version-label", metavar="TEXT", help="Version of its contents.")
@option("--code/--no-code", default=None, help="Index its source code, too, or not.")
@option("--stars", type=_STARS, metavar="N", help=_STARS_HELP)
@option("--json", "as_json", is_flag=True, help="Print the changed source as a source.v1 object.")
@shared_options
@pass_invocation
def edit(invocation: Invocation, /, source_id: str, as_json: bool, **given: Any) -> None:
    """Change the details of source ID.

    A repeated option replaces its whole list. New patterns and --code apply from the next `kebab ingest`,
    everything else at once. Edit a source of the configuration file there.
    """
    for name, flag in (("include", "no_include"), ("exclude", "no_exclude"), ("rules", "no_rules")):
        if given[name] and given[flag]:
            names = f"--{name.removesuffix('s')} and --{flag.replace('_', '-')}"
            raise UsageError(f"{names} cannot be combined", "use one of them")
    if given["code"] is None and not any(given[name] not in (None, False, ()) for name in given):
        raise UsageError("nothing to change", "see `kebab source edit --help`")
    callbacks = Callbacks(waiting=print_waiting, notice=print_notice)
    with closing(Workspace(invocation.settings, invocation.data_dir)) as workspace:
        before = _known(workspace, source_id)
        after = workspace.edit_source(before.source_id, lambda source: _edited(source, given), callbacks)
        _write_source(after, as_json=as_json)
    if (after.include, after.exclude, after.code) != (before.include, before.exclude, before.code):
        notify("run `kebab ingest` to apply the patterns and --code")


def _edited(source: Source, given: Given) -> Source:
    changes: dict[str, Any] = {
        name: given[name]
        for name in ("title", "description", "version_label", "code", "stars")
        if given[name] is not None
    }
    if "title" in changes:
        changes["title"] = changes["title"] or os.path.basename(source.root) or source.root
    if given["trust"]:
        changes["trust"] = Trust.parse(given["trust"])
    for name in ("include", "exclude"):
        if given[name] or given[f"no_{name}"]:
            changes[name] = given[name]
    rules = given["rules"] if given["rules"] or given["no_rules"] else source.rules
    return replace(source, rules=(*rules, *given["more_rules"]), **changes)


def _known(workspace: Workspace, source_id: str) -> Source:
    sources = workspace.sources()
    for source in sources:
        if source.source_id == source_id:
            return source
    names = ", ".join(source.source_id for source in sources) or "none"
    raise NotFoundError(f"there is no source named {source_id!r}", f"the sources are: {names}")


@source_command.command()
@click.argument("source_id", metavar="ID")
@option("--yes", is_flag=True, help="Do not ask for confirmation.")
@shared_options
@pass_invocation
def remove(invocation: Invocation, source_id: str, yes: bool) -> int:
    """Remove source ID and its notes from the index. No file is changed."""
    with closing(Workspace(invocation.settings, invocation.data_dir)) as workspace:
        source = _known(workspace, source_id)
        notes = f"{plural(source.documents, 'note')} ({plural(source.chunks, 'passage')})"
        question = f"remove {notes} of {field(source.source_id)} from the index; no file is changed"
        if not confirmed(question, yes=yes):
            notify("nothing was removed")
            return 1
        workspace.remove_source(source.source_id, Callbacks(waiting=print_waiting, notice=print_notice))
    notify(f"removed: {notes}; no file in {field(source.root)} was changed")
    return 0


@source_command.command()
@click.argument("source_id", metavar="ID")
@shared_options
@pass_invocation
def pause(invocation: Invocation, source_id: str) -> None:
    """Stop watching and reading the folder of the source ID. Its indexed notes are still found."""
    _set_use(invocation, source_id, "paused")
    notify(f"paused: {field(source_id)}; `kebab source resume {field(source_id)}` reads it again")


@source_command.command()
@click.argument("source_id", metavar="ID")
@shared_options
@pass_invocation
def resume(invocation: Invocation, source_id: str) -> None:
    """Watch and read the folder of the source ID again."""
    _set_use(invocation, source_id, "watched")
    notify(f"resumed: {field(source_id)}; `kebab ingest` reads what changed meanwhile")


def _set_use(invocation: Invocation, source_id: str, use: SourceUse) -> None:
    callbacks = Callbacks(waiting=print_waiting, notice=print_notice)
    with closing(Workspace(invocation.settings, invocation.data_dir)) as workspace:
        workspace.set_source_use(_known(workspace, source_id).source_id, use, callbacks)


@command(examples=(("kebab init", "write the file, and print its path"),))
@option("--path", type=click.Path(), metavar="FILE", help="Write this file instead of the default one.")
@shared_options
@click.pass_context
def init_command(ctx: click.Context, path: str | None) -> None:
    """Write a configuration file with every setting and its default, commented out.

    Prints the path of the file. Never changes an existing file.
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
