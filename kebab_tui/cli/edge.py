"""The one place where a run ends: exit codes, error messages, streams.

Verbs raise; here every exception becomes one message on stderr and one exit code:
what the verb returned, 2 for an error, 130 for ctrl+c, 141 when the reader of our
output went away. With JSON asked for, the message is an `error.v1` object. Text from
outside is made visible before it reaches the terminal. Nothing else in the package
exits or prints errors.
"""

from __future__ import annotations

import codecs
import contextlib
import errno
import io
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import wraps
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

import click

from kebab_tui import own_files
from kebab_tui.cli.progress import CtrlC
from kebab_tui.domain.errors import KebabError

if TYPE_CHECKING:
    from kebab_tui.settings.settings import Settings


# What every verb shares: the options that stand before or after it, and the settings they lead to.
#
# The settings are loaded once per run, by the first verb that asks; a verb that needs
# none (`init`, `completion`) also works when the configuration is broken.

P = ParamSpec("P")
R = TypeVar("R")
Decorated = TypeVar("Decorated", bound=Callable[..., Any])

_FLAGS = "kebab_tui.flags"


@dataclass(frozen=True, slots=True)
class Invocation:
    """One run of `kebab`: what a verb is handed."""

    settings: Settings

    @property
    def data_dir(self) -> str:
        return self.settings.data_dir


def shared_options(command: Decorated) -> Decorated:
    """Add `--data-dir` and `--config`; given both before and after a verb, the later wins."""
    for option in (
        click.option(
            "--config",
            type=click.Path(),
            metavar="FILE",
            expose_value=False,
            callback=_remember,
            help="Read this configuration file.",
        ),
        click.option(
            "--data-dir",
            type=click.Path(),
            metavar="FOLDER",
            expose_value=False,
            callback=_remember,
            help="Keep the index in this folder.",
        ),
    ):
        command = option(command)
    return command


def _remember(ctx: click.Context, param: click.Parameter, value: str | None) -> None:
    if value is not None:
        ctx.meta.setdefault(_FLAGS, {})[param.name] = value


def shared_flag(ctx: click.Context, name: str) -> str | None:
    """What was given for `data_dir` or `config`, wherever it stood."""
    flags: dict[str, str] = ctx.meta.get(_FLAGS, {})
    return flags.get(name)


def invocation(ctx: click.Context) -> Invocation:
    """The run's one `ctx.obj`, made at first sight."""
    root = ctx.find_root()
    if root.obj is None:
        import os

        from kebab_tui.settings.load import load_settings

        overrides = {"data_dir": shared_flag(ctx, "data_dir")}
        root.obj = Invocation(load_settings(shared_flag(ctx, "config"), os.environ, overrides))
    ctx.obj = root.obj
    assert isinstance(root.obj, Invocation)
    return root.obj


def pass_invocation(verb: Callable[Concatenate[Invocation, P], R]) -> Callable[P, R]:
    """Hand the verb the run's `Invocation` as its first argument."""

    @wraps(verb)
    def with_invocation(*args: P.args, **kwargs: P.kwargs) -> R:
        return verb(invocation(click.get_current_context()), *args, **kwargs)

    return with_invocation


PROGRAM = "kebab"
COMPLETE_VARIABLE = "_KEBAB_COMPLETE"
DEBUG_VARIABLE = "KEBAB_DEBUG"
CRASH_LOG = "crash.log"
EXIT_ERROR = 2
EXIT_INTERRUPTED = 130
EXIT_PIPE_CLOSED = 141

_JSON_FORMATS = ("json", "jsonl")


@dataclass(frozen=True, slots=True)
class Failure:
    """What is told of an exception."""

    code: str
    message: str
    hint: str = ""
    exit_code: int = EXIT_ERROR


def run(group: click.Group, argv: Sequence[str]) -> int:
    """Run one command line to its end; never raises, whatever the verb does."""
    _accept_any_text()
    if instruction := os.environ.get(COMPLETE_VARIABLE):
        from click.shell_completion import shell_complete

        return shell_complete(group, {}, PROGRAM, COMPLETE_VARIABLE, instruction)
    try:
        with CtrlC() as ctrl_c:
            return _run(group, argv, ctrl_c)
    except BrokenPipeError:
        return EXIT_PIPE_CLOSED
    finally:
        _settle(sys.stdout)
        _settle(sys.stderr)


def _run(group: click.Group, argv: Sequence[str], ctrl_c: CtrlC) -> int:
    root: click.Context | None = None
    try:
        with group.make_context(PROGRAM, list(argv)) as root:
            code = group.invoke(root)
        if ctrl_c.pressed:  # and lost: what the verb says may be untrue
            raise KeyboardInterrupt
        if sys.stdout is not None:
            sys.stdout.flush()  # here, where a full disk can still be told
        return code if isinstance(code, int) else 0
    except click.exceptions.Exit as ended:
        return ended.exit_code
    except click.exceptions.NoArgsIsHelpError as bare:
        click.echo(bare.format_message(), err=True)
        return EXIT_ERROR
    except BrokenPipeError:
        raise
    except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 - the edge: nothing may pass it untold
        failure = explain(KeyboardInterrupt() if ctrl_c.pressed else error) or _crash(error, root)
        _tell(failure, as_json=wants_json(argv))
        return failure.exit_code


def explain(error: BaseException) -> Failure | None:
    """What is told of an exception that was foreseen; None for one that was not."""
    if isinstance(error, KebabError):
        return Failure(error.code, error.message, error.hint, error.exit_code)
    if isinstance(error, KeyboardInterrupt | click.Abort):
        return Failure("interrupted", "interrupted", exit_code=EXIT_INTERRUPTED)
    if isinstance(error, click.UsageError):
        path = error.ctx.command_path if error.ctx else PROGRAM
        return Failure("invalid_input", error.format_message(), f"`{path} --help` shows what it takes")
    if isinstance(error, click.ClickException):
        return Failure("error", error.format_message())
    if isinstance(error, OSError) and error.errno == errno.ENOSPC:
        return Failure("disk_full", "no space left on the device", "make room and run the command again")
    return None


def wants_json(argv: Sequence[str]) -> bool:
    """Whether the command line asks for JSON; read from its words, because it may be unparsable."""
    words = list(argv[: argv.index("--")] if "--" in argv else argv)
    pairs = pairwise(words)
    return (
        "--json" in words
        or any(f"--format={name}" in words for name in _JSON_FORMATS)
        or any(option == "--format" and value in _JSON_FORMATS for option, value in pairs)
    )


def _tell(failure: Failure, *, as_json: bool) -> None:
    if sys.stderr is None:
        return
    if as_json:
        from kebab_tui.wire.encode import dumps, error

        print(dumps(error(failure.code, failure.message, failure.hint)), file=sys.stderr)
        return
    from kebab_tui.domain.text import visible

    lead = "" if failure.exit_code == EXIT_INTERRUPTED else "error: "
    print(lead + visible(failure.message), file=sys.stderr)
    if failure.hint:
        print("  hint: " + visible(failure.hint), file=sys.stderr)


def _crash(error: BaseException, root: click.Context | None) -> Failure:
    """A defect of ours: the traceback goes to a file, the user gets one line."""
    import traceback

    from kebab_tui.domain.text import visible

    text = visible("".join(traceback.format_exception(error)))
    if os.environ.get(DEBUG_VARIABLE, "0") not in ("", "0") and sys.stderr is not None:
        print(text, end="", file=sys.stderr)
    reason = str(error).partition("\n")[0][:200]
    message = f"something unforeseen happened ({type(error).__name__}: {reason})"
    path = _write_log(text, root)
    if path is None:
        return Failure("internal", message, f"{DEBUG_VARIABLE}=1 shows where")
    return Failure("internal", message, f"the details are in {path}")


def _write_log(text: str, root: click.Context | None) -> str | None:
    """Keep the traceback in the data folder, over the last one; None when that cannot be done."""
    if root is None:
        return None
    try:
        folder = invocation(root).data_dir
        own_files.make_folder(folder)
        path = os.path.join(folder, CRASH_LOG)
        own_files.replace(path, text.encode("utf-8", "backslashreplace"), synced=False)
    except (OSError, KebabError):
        return None
    return path


# --- streams -----------------------------------------------------------------------


def _accept_any_text() -> None:
    """File names leave as the bytes they have on disk, and no locale makes printing fail."""
    codecs.register_error("kebab.exact", exact)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            narrow = codecs.lookup(stream.encoding).name == "ascii"
            stream.reconfigure(encoding="utf-8" if narrow else None, errors="kebab.exact")


def exact(error: UnicodeError) -> tuple[bytes, int]:
    """Encode what a stream's encoding lacks: escaped bytes as they were, anything else spelled out."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    out = bytearray()
    for character in error.object[error.start : error.end]:
        escaped = 0xDC80 <= ord(character) <= 0xDCFF
        out += bytes([ord(character) - 0xDC00]) if escaped else character.encode("ascii", "backslashreplace")
    return bytes(out), error.end


def _settle(stream: object) -> None:
    """Flush; where that fails, send the rest nowhere: the interpreter would complain at its end."""
    if not isinstance(stream, io.TextIOWrapper):
        return
    try:
        stream.flush()
    except (OSError, ValueError):
        with contextlib.suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
