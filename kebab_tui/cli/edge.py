"""Runs a command line to its end: shared options, settings, exit codes, error messages, streams.

Verbs raise; every exception becomes one message on stderr and one exit code: 2 for an error, 130 for Ctrl+C,
141 for a closed pipe. With JSON output, the message is an `error.v1` object. No other module of the package
exits or prints errors. The settings are loaded once per run, at the first access, so that `init` and
`completion` work with a broken configuration.
"""

from __future__ import annotations

import codecs
import contextlib
import io
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import wraps
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

import click

from kebab_tui import own_files
from kebab_tui.cli.command import GENERAL, option
from kebab_tui.cli.interrupt import CtrlC
from kebab_tui.domain.errors import Failure, KebabError, StoreDamagedError, defect, failure_of

if TYPE_CHECKING:
    from kebab_tui.settings.settings import Settings
    from kebab_tui.workspace import Workspace


PROGRAM = "kebab"
COMPLETE_VARIABLE = "_KEBAB_COMPLETE"
DEBUG_VARIABLE = "KEBAB_DEBUG"
CRASH_LOG = "crash.log"
EXIT_ERROR = 2
EXIT_INTERRUPTED = 130
EXIT_PIPE_CLOSED = 141

_JSON_FORMATS = ("json", "jsonl")
_FLAGS = "kebab_tui.flags"

P = ParamSpec("P")
R = TypeVar("R")
Decorated = TypeVar("Decorated", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class Invocation:
    """One run of `kebab`; the first argument of a verb."""

    settings: Settings

    @property
    def data_dir(self) -> str:
        return self.settings.data_dir

    def open_index(self) -> Workspace:
        """The index, for a verb that reads; a damaged index is first rebuilt from the notes."""
        from kebab_tui.workspace import Workspace

        return Workspace(self.settings, self.data_dir, _rebuild)


def _rebuild(workspace: Workspace, error: StoreDamagedError) -> None:
    from kebab_tui.cli.output import field, notify, plural
    from kebab_tui.cli.progress import ingest_with_progress

    notify(f"{field(error.message)}; rebuilding it from your notes")
    report = ingest_with_progress(workspace, (), quiet=False)
    if report.cancelled:
        raise KeyboardInterrupt from None
    notify(f"rebuilt: {plural(report.count('added') + report.count('unchanged'), 'note')}")


def shared_options(command: Decorated) -> Decorated:
    """Add the options of every command, before or after its name; the later one wins."""

    def store(ctx: click.Context, param: click.Parameter, value: str | None) -> None:
        if value is not None:
            ctx.meta.setdefault(_FLAGS, {})[param.name] = value

    for name, metavar, text in (
        ("--config", "FILE", "Read this configuration file."),
        ("--data-dir", "FOLDER", "Use the index in this folder."),
        ("--index", "URL", "Use this index, a folder or a URL; `kebab --help` lists the backends."),
    ):
        command = option(
            name, type=click.Path(), metavar=metavar, expose_value=False, callback=store, group=GENERAL,
            help=text,
        )(command)  # fmt: skip
    return option(
        "--color", also=("--colour",), type=click.Choice(("auto", "always", "never")), expose_value=False,
        callback=_set_colour, group=GENERAL, help="Use colours; auto: on a terminal, unless NO_COLOR is set.",
    )(command)  # fmt: skip


def _set_colour(ctx: click.Context, param: click.Parameter, value: str | None) -> None:
    """Set the variables that every stream and library looks at."""
    if value in ("always", "never"):
        for name, when in (("CLICOLOR_FORCE", "always"), ("NO_COLOR", "never")):
            os.environ[name] = "1" if value == when else ""


def shared_flag(ctx: click.Context, name: str) -> str | None:
    """The value of `index`, `data_dir` or `config`."""
    flags: dict[str, str] = ctx.meta.get(_FLAGS, {})
    return flags.get(name)


def invocation(ctx: click.Context) -> Invocation:
    """The `Invocation` of the run; the first call loads the settings."""
    root = ctx.find_root()
    if root.obj is None:
        from kebab_tui.settings.load import load_settings

        overrides = {"data_dir": shared_flag(ctx, "data_dir"), "index.url": shared_flag(ctx, "index")}
        root.obj = Invocation(load_settings(shared_flag(ctx, "config"), os.environ, overrides))
        os.environ["KEBAB_HYPERLINKS"] = root.obj.settings.cli.hyperlinks
    ctx.obj = root.obj
    assert isinstance(root.obj, Invocation)
    return root.obj


def pass_invocation(verb: Callable[Concatenate[Invocation, P], R]) -> Callable[P, R]:
    """Pass the run's `Invocation` to the verb as its first argument."""

    @wraps(verb)
    def with_invocation(*args: P.args, **kwargs: P.kwargs) -> R:
        return verb(invocation(click.get_current_context()), *args, **kwargs)

    return with_invocation


def run(group: click.Group, argv: Sequence[str]) -> int:
    """Run one command line and return its exit code; never raises."""
    codecs.register_error("kebab.exact", exact)  # print file names as their bytes on disk, in any locale
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            narrow = codecs.lookup(stream.encoding).name == "ascii"
            stream.reconfigure(encoding="utf-8" if narrow else None, errors="kebab.exact")
    if instruction := os.environ.get(COMPLETE_VARIABLE):
        from click.shell_completion import shell_complete

        return shell_complete(group, {}, PROGRAM, COMPLETE_VARIABLE, instruction)
    try:
        with CtrlC() as ctrl_c:
            return _run(group, argv, ctrl_c)
    except BrokenPipeError:
        return EXIT_PIPE_CLOSED
    finally:
        _flush(sys.stdout)
        _flush(sys.stderr)


def _run(group: click.Group, argv: Sequence[str], ctrl_c: CtrlC) -> int:
    root: click.Context | None = None
    try:
        with group.make_context(PROGRAM, list(argv)) as root:
            code = group.invoke(root)
        if ctrl_c.pressed:  # the exception got lost, so the result may be wrong
            raise KeyboardInterrupt
        if sys.stdout is not None:
            sys.stdout.flush()  # here a full disk is still reported
        return code if isinstance(code, int) else 0
    except click.exceptions.Exit as ended:
        return ended.exit_code
    except click.exceptions.NoArgsIsHelpError as bare:
        click.echo(bare.format_message(), err=True)
        return EXIT_ERROR
    except BrokenPipeError:
        raise
    except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 - every exception is reported here
        failure = explain(KeyboardInterrupt() if ctrl_c.pressed else error) or _crash(error, root)
        if wants_json(argv):
            from kebab_tui.wire.encode import dumps
            from kebab_tui.wire.encode import error as encoded

            lines = [dumps(encoded(failure.code, failure.message, failure.hint))]
        else:
            from kebab_tui.domain.text import sanitize

            lead = "" if failure.exit_code == EXIT_INTERRUPTED else "error: "
            lines = [lead + sanitize(failure.message)]
            lines += [f"  hint: {sanitize(failure.hint)}"] if failure.hint else []
        if sys.stderr is not None:
            print(*lines, sep="\n", file=sys.stderr)
        return failure.exit_code


def explain(error: BaseException) -> Failure | None:
    """The report of an expected exception; None for an unexpected one."""
    if isinstance(error, KeyboardInterrupt | click.Abort):
        return Failure("interrupted", "interrupted", exit_code=EXIT_INTERRUPTED)
    if isinstance(error, click.UsageError):
        path = error.ctx.command_path if error.ctx else PROGRAM
        if isinstance(error, click.NoSuchOption) and error.possibilities:
            return Failure("invalid_input", error.message, f"did you mean {error.possibilities[0]}?")
        return Failure("invalid_input", error.format_message(), f"see `{path} --help`")
    if isinstance(error, click.ClickException):
        return Failure("error", error.format_message())
    return failure_of(error)


def wants_json(argv: Sequence[str]) -> bool:
    """Whether the command line asks for JSON; works without the parser, for errors of the parser."""
    words = list(argv[: argv.index("--")] if "--" in argv else argv)
    pairs = pairwise(words)
    return (
        "--json" in words
        or any(f"--format={name}" in words for name in _JSON_FORMATS)
        or any(option == "--format" and value in _JSON_FORMATS for option, value in pairs)
    )


def _crash(error: BaseException, root: click.Context | None) -> Failure:
    """Report an unexpected exception: one line for the user, the traceback to a file in the data folder."""
    import traceback

    from kebab_tui.domain.text import sanitize

    text = sanitize("".join(traceback.format_exception(error)))
    if os.environ.get(DEBUG_VARIABLE, "0") not in ("", "0") and sys.stderr is not None:
        print(text, end="", file=sys.stderr)
    hint = f"{DEBUG_VARIABLE}=1 prints the traceback"
    if root is not None:
        with contextlib.suppress(OSError, KebabError):
            folder = invocation(root).data_dir
            own_files.make_folder(folder)
            path = os.path.join(folder, CRASH_LOG)
            own_files.replace(path, text.encode("utf-8", "backslashreplace"), synced=False)
            hint = f"see the traceback in {path}"
    return replace(defect(error), hint=hint)


def exact(error: UnicodeError) -> tuple[bytes, int]:
    """Encoding error handler: surrogate-escaped bytes unchanged, other characters as escapes."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    out = bytearray()
    for character in error.object[error.start : error.end]:
        escaped = 0xDC80 <= ord(character) <= 0xDCFF
        out += bytes([ord(character) - 0xDC00]) if escaped else character.encode("ascii", "backslashreplace")
    return bytes(out), error.end


def _flush(stream: object) -> None:
    """Flush; on failure redirect to /dev/null, or the interpreter would report an error at exit."""
    if not isinstance(stream, io.TextIOWrapper):
        return
    try:
        stream.flush()
    except (OSError, ValueError):
        with contextlib.suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
