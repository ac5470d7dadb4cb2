"""The verb `source version`: versions of a folder, from its git repository or from other folders."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING

import click

from kebab_tui.cli.command import CliGroup, option
from kebab_tui.cli.edge import Invocation, pass_invocation, shared_options
from kebab_tui.cli.interrupt import Interrupt
from kebab_tui.cli.options import chosen_format, format_options
from kebab_tui.cli.output import confirmed, field, notify, plural, table_lines, write, write_json
from kebab_tui.cli.progress import print_notice, print_waiting, progress_bars
from kebab_tui.domain.errors import UsageError
from kebab_tui.domain.ids import SourceId
from kebab_tui.workspace import Callbacks, Workspace

if TYPE_CHECKING:
    from kebab_tui.indexing.report import Progress
    from kebab_tui.indexing.versions import VersionReport

EXIT_INTERRUPTED = 130
_COLUMNS = ("version", "state", "commit", "notes", "passages", "remark")
_MOST_FAILED = 5


@click.group(cls=CliGroup)
@shared_options
def version_command() -> None:
    """Add, list, refresh or remove versions of a folder, such as tags.

    A search leaves versions out, unless the query says `version:v1.2`.
    """


@version_command.command()
@click.argument("source_id", metavar="SRC")
@click.argument("refs", nargs=-1, metavar="[REF…]")
@option("--glob", default="", metavar="GLOB", help="Also the tags that match, such as 'v*'.")
@option("--last", type=click.IntRange(1), metavar="N", help="Of these only the N highest versions.")
@option("--folder", type=click.Path(), metavar="PATH", help="A folder with the version, instead of git.")
@option("--label", metavar="NAME", help="The name of the version in --folder.")
@shared_options
@pass_invocation
def add(
    invocation: Invocation,
    /,
    source_id: str,
    refs: tuple[str, ...],
    glob: str,
    last: int | None,
    folder: str | None,
    label: str | None,
) -> int:
    """Index versions of the folder SRC: tags, branches or commits of its repository.

    git reads them from the repository, without a checkout; nothing is changed in it and nothing is fetched.
    A version has the patterns, the trust and the rules of its folder. Notes that several versions have are
    stored once. Texts that the folder has, too, need no new vectors; `kebab index --embed` makes the others.

    \b
    kebab source version add notes v1.2 main
    kebab source version add notes --glob 'v*' --last 3
    kebab source version add notes --folder ~/old/notes --label 2024
    """
    if (folder is None) != (label is None):
        raise UsageError("--folder and --label belong together", "--folder PATH --label v1.2")
    if folder is not None and (refs or glob):
        raise UsageError("--folder excludes names of git", "add them one after the other")
    if folder is None and not refs and not glob:
        raise UsageError("no version is named", "name a tag or a branch, or --glob 'v*' --last 3")
    if last is not None and not glob:
        raise UsageError("--last needs --glob", "for example: --glob 'v*' --last 3")
    source = SourceId(source_id)
    with closing(Workspace(invocation.settings, invocation.data_dir)) as workspace, _callbacks() as callbacks:
        if folder is not None and label is not None:
            reports = workspace.add_version_folder(source, folder, label, callbacks)
        else:
            reports = workspace.add_versions(source, refs, glob, last or 0, callbacks)
        is_complete = _print_all(reports)
        _notify_pending(workspace)
    return 0 if is_complete else EXIT_INTERRUPTED


@version_command.command("list")
@click.argument("source_id", metavar="[SRC]", default="")
@format_options("human", "json")
@shared_options
@pass_invocation
def list_(invocation: Invocation, /, source_id: str, **given: str | bool | None) -> int:
    """List the versions, with what has become of their tags, branches and folders."""
    form = chosen_format(given)
    with closing(Workspace(invocation.settings, invocation.data_dir)) as workspace:
        if source_id:
            workspace.known_source(SourceId(source_id))
        versions = workspace.versions(source_id)
    if form == "json":
        from kebab_tui.wire.encode import version_list

        write_json(version_list(versions))
    else:
        rows = (
            (
                one.version_id,
                one.health,
                one.commit[:12] or "-",
                str(one.notes),
                str(one.passages),
                one.remark or one.place,
            )
            for one in versions
        )
        for line in table_lines(_COLUMNS, rows):
            write(line)
    if not versions:
        notify("no versions yet; `kebab source version add SRC REF` indexes one")
    return 0


@version_command.command()
@click.argument("source_id", metavar="SRC")
@click.argument("labels", nargs=-1, metavar="[VERSION…]")
@shared_options
@pass_invocation
def refresh(invocation: Invocation, /, source_id: str, labels: tuple[str, ...]) -> int:
    """Read moved tags and branches again, folders that changed, and unfinished versions.

    A version whose tag or branch is gone stays as it is, until it is removed.
    """
    with closing(Workspace(invocation.settings, invocation.data_dir)) as workspace, _callbacks() as callbacks:
        reports = workspace.refresh_versions(SourceId(source_id), labels, callbacks)
        is_complete = _print_all(reports)
        _notify_pending(workspace)
    return 0 if is_complete else EXIT_INTERRUPTED


@version_command.command()
@click.argument("source_id", metavar="SRC")
@click.argument("labels", nargs=-1, metavar="VERSION…", required=True)
@option("--yes", is_flag=True, help="Do not ask for confirmation.")
@shared_options
@pass_invocation
def remove(invocation: Invocation, /, source_id: str, labels: tuple[str, ...], yes: bool) -> int:
    """Remove versions from the index. No repository and no file is changed."""
    with closing(Workspace(invocation.settings, invocation.data_dir)) as workspace:
        found = workspace.named_versions(SourceId(source_id), labels)
        names = ", ".join(field(one.version_id) for one in found)
        if not confirmed(f"remove {names} from the index; no file is changed", yes=yes):
            notify("nothing was removed")
            return 1
        for one in found:
            workspace.remove_version(one.version_id, Callbacks(waiting=print_waiting, notice=print_notice))
    notify(f"removed: {names}; no repository was changed")
    return 0


@contextmanager
def _callbacks() -> Iterator[Callbacks]:
    with progress_bars() as show, Interrupt() as interrupt:

        def watch(progress: Progress) -> None:
            interrupt.work_began()
            show(progress.source, progress.done, progress.total or None, f"{progress.chunks:,} passages")

        yield Callbacks(
            progress=watch, cancelled=interrupt.requested, waiting=print_waiting, notice=print_notice,
            stopping=interrupt.asked,
        )  # fmt: skip


def _print_all(reports: Iterator[VersionReport | tuple[str, str]]) -> bool:
    """Print each report when it comes; whether none was cut short."""
    for report in reports:
        if isinstance(report, tuple):
            label, reason = report
            notify(f"{field(label)}: {field(reason)}")
            continue
        for line in _lines(report):
            write(line)
        if report.cancelled:
            notify("cancelled; `kebab source version refresh` goes on")
            return False
    return True


def _lines(report: VersionReport) -> Iterator[str]:
    version, was = report.version, report.was
    if was is not None and was.commit != version.commit:
        yield f"{field(version.label)} moved: {was.commit[:7]} → {version.commit[:7]}"
    at = f" at {version.commit[:12]}" if version.commit else ""
    counts = f"{plural(version.notes, 'note')}, {plural(version.passages, 'passage')}"
    read = (
        "unchanged" if report.unchanged else f"{report.read:,} read, {report.shared:,} as in other versions"
    )
    yield f"{field(version.version_id)}{at}: {counts}; {read}"
    if report.left_out:
        yield f"  links and submodules, left out: {report.left_out:,}"
    yield from (f"  not read: {field(problem)}" for problem in report.problems[:_MOST_FAILED])
    for file in report.failed[:_MOST_FAILED]:
        yield f"  {file.outcome}: {field(file.path)}: {field(file.detail)}"
    if len(report.failed) > _MOST_FAILED:
        label = field(version.label)
        more = len(report.failed) - _MOST_FAILED
        yield f"  and {more:,} more: `kebab list --version {label} --state failed --state skipped`"


def _notify_pending(workspace: Workspace) -> None:
    if pending := workspace.versions_pending():
        notify(f"{plural(pending, 'text')} of versions without a vector: `kebab index --embed` makes them")
