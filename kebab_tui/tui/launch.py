"""`kebab-tui` from the command line to the terminal and back.

Checks that there is a terminal to paint on, sends whatever C libraries write to the log
instead of the screen, restores the terminal on SIGTERM and SIGHUP, and prints what was
picked. Imports Textual only once it is sure to be used, and no engine at all.
"""

from __future__ import annotations

import argparse
import asyncio
import codecs
import contextlib
import gc
import io
import os
import select
import signal
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Literal, NoReturn, get_args

from kebab_tui import __version__, own_files
from kebab_tui.domain.errors import KebabError

if TYPE_CHECKING:
    from kebab_tui.settings.settings import Settings
    from kebab_tui.tui.app import KebabApp


# What the interpreter does otherwise while the screen starts than while somebody types.
#
# What the start makes (modules, classes, styles) lives as long as the screen. A look at all
# of it by the garbage collector takes 30 ms, ten times as long as the echo of a key, and
# would come again and again. And while the engine is imported, changing threads often costs
# a tenth of the time to the first hits; later a key must not wait for the engine's thread.

AT_LAST_S = 15.0
"""After this time nothing is held any more, even when the engine has not come."""

_TURN_AT_START_S, _TURN_S = 0.0005, 0.0001
"""How long a thread works on while another one waits."""


def prepare_startup() -> None:
    """Collect nothing while the screen starts."""
    gc.disable()
    sys.setswitchinterval(_TURN_AT_START_S)


def tune_for_typing() -> None:
    """Collect again, but leave alone what is there by now; nothing where nothing was held."""
    if not gc.isenabled():
        gc.freeze()
        gc.enable()
        sys.setswitchinterval(_TURN_S)


# Notices that the terminal has gone away.
#
# The kernel tells the leader of the session, and nobody else. A screen that was started by
# `make`, `sudo` or a script would go on for ever without a terminal, and the library's
# reader would go round at its end of file at full speed.

_TO_LEAVE_S = 2.0
"""Who has not left by then, with nobody to look at it, is ended."""


def heed_hanging_up() -> None:
    """Send SIGHUP to this process when its terminal goes, as if it led the session."""
    with contextlib.suppress(AttributeError, OSError):  # not every system can tell
        watch = select.poll()
        watch.register(0, 0)  # that it is gone is told unasked
        threading.Thread(target=_heed, args=(watch,), name="terminal", daemon=True).start()


def _heed(watch: select.poll) -> None:
    gone = select.POLLHUP | select.POLLERR
    if any(event & gone for _, event in watch.poll()):
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGHUP)
        time.sleep(_TO_LEAVE_S)
        os._exit(128 + signal.SIGHUP)


LOG = "screen.log"
PickedAs = Literal["editor", "citation", "line"]
"""How what was picked is printed."""
_MODES = ("lexical", "vector", "hybrid")


@dataclass(frozen=True, slots=True)
class Options:
    """What was asked for on the command line."""

    folders: tuple[str, ...] = ()
    query: str = ""
    mode: str = ""
    explain: bool = False
    pick: bool = False
    pick_as: PickedAs = "editor"
    print0: bool = False
    theme: str = ""
    config: str = ""
    watch: bool = True


def main(argv: Sequence[str] | None = None) -> NoReturn:
    """Run the screen, and end the process with its exit code."""
    _end(_run(argv))


def _run(argv: Sequence[str] | None) -> int:
    given = _parser().parse_args(argv)
    try:
        _require_terminal(pick=given.pick)
        settings = _settings(given)
        _require_folders(given.folder, settings)
        _require_data_folder(settings.data_dir)
        app = _screen(given, settings)
    except KebabError as error:
        return _refuse(error)
    _send_noise_to_log(app.settings.data_dir)
    for name in ("SIGTERM", "SIGHUP"):
        signal.signal(getattr(signal, name), partial(_leave, app))
    heed_hanging_up()
    _take_any_bytes()
    app.run()
    picked = app.return_value or ()
    _hand_over(picked, print0=given.print0)
    return app.return_code or (0 if picked or not given.pick else 1)


def _take_any_bytes() -> None:
    """Half a character, as a terminal leaves it when one is taken back before the screen stands, is no end.

    Textual decodes what is typed strictly, and would end with a traceback.
    """
    with contextlib.suppress(ImportError):  # another system has another driver
        from textual.drivers import linux_driver

        lenient = partial(codecs.getincrementaldecoder("utf-8"), errors="replace")
        vars(linux_driver)["getincrementaldecoder"] = lambda _: lenient


def _screen(given: argparse.Namespace, settings: Settings) -> KebabApp:
    """The screen as it was asked for; what of that makes no sense is refused before the first paint."""
    from kebab_tui.tui.app import KebabApp

    options = Options(
        tuple(given.folder),
        given.query,
        given.mode,
        given.explain,
        given.pick,
        given.pick_as,
        given.print0,
        given.theme,
        given.config,
        watch=settings.index.watch and not given.no_watch,
    )
    return KebabApp(options, settings)


def _leave(app: KebabApp, number: int, _frame: object) -> None:
    """Asked to end from outside: let Textual give the terminal back first."""
    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:  # not painted yet, or already over
        raise SystemExit(128 + number) from None
    # A plain call would wait for the loop to wake up by itself.
    loop.call_soon_threadsafe(app.exit, (), 128 + number)


def _hand_over(picked: Sequence[str], *, print0: bool) -> None:
    """The citations as the file system spells them, which need not be text; a terminal gets them visible."""
    end = b"\0" if print0 else b"\n"
    if sys.stdout.isatty():
        from kebab_tui.tui.widgets.segments import clean

        picked, end = [clean(citation) for citation in picked], b"\n"
    with contextlib.suppress(BrokenPipeError):
        sys.stdout.buffer.write(b"".join(os.fsencode(citation) + end for citation in picked))
        sys.stdout.flush()


def _end(code: int) -> NoReturn:
    """Leave at once, with the terminal given back.

    The thread that asks the engine may be inside a library: the interpreter's own way out
    would wait for it, or take what it works with away from under it and abort. Nothing is
    lost, because another process writes the index.
    """
    for stream in (sys.stdout, sys.stderr, sys.__stderr__):
        with contextlib.suppress(OSError, ValueError, AttributeError):
            stream.flush()  # type: ignore[union-attr]
    os._exit(code)


class _Parser(argparse.ArgumentParser):
    """Shows words of the command line, which may be names that a shell put there, made visible."""

    def error(self, message: str) -> NoReturn:
        from kebab_tui.domain.text import visible

        super().error(visible(message))


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="kebab-tui", description="Search folders of notes on a full screen, with exact citations."
    )
    parser.add_argument("folder", nargs="*", help="a folder of notes; one that is new is added and indexed")
    parser.add_argument("--query", default="", metavar="Q", help="start with this query")
    parser.add_argument("--mode", default="", choices=_MODES, help="by words, by meaning, or by both")
    parser.add_argument(
        "--explain", action="store_true", help="show at once why each hit ranks where it does"
    )
    parser.add_argument("--pick", action="store_true", help="print the chosen citation and end")
    parser.add_argument(
        "--pick-as",
        default="editor",
        choices=get_args(PickedAs),
        help="what --pick prints: `+12` and FILE, a line each, for an editor, `FILE:L12-L34`, or `FILE:12`",
    )
    parser.add_argument(
        "-0",
        "--print0",
        action="store_true",
        help="with --pick, end each argument with a NUL character, for `xargs -0`; without, a path is "
        "refused if it holds a control character or, for an editor, a blank or a sign that a shell expands",
    )
    parser.add_argument("--data-dir", default="", metavar="FOLDER", help="keep the index in this folder")
    parser.add_argument("--config", default="", metavar="FILE", help="read this configuration file")
    parser.add_argument("--theme", default="", help="dark, light, ansi, or a theme of Textual")
    parser.add_argument(
        "--no-watch",
        action="store_true",
        help="look at the folders once, and at F5, instead of watching them",
    )
    parser.add_argument("--version", action="version", version=f"kebab-tui {__version__}")
    return parser


def _settings(given: argparse.Namespace) -> Settings:
    from kebab_tui.settings.load import load_settings

    return load_settings(given.config or None, os.environ, {"data_dir": given.data_dir or None})


def _require_terminal(*, pick: bool) -> None:
    """A screen needs a terminal that can be painted on; with --pick, stdout is for the citation."""
    if os.environ.get("TERM", "") in ("", "dumb"):
        raise KebabError("this terminal cannot show a screen (TERM is dumb)", "kebab search WORDS")
    if not sys.stdin.isatty() or not (sys.stderr if pick else sys.stdout).isatty():
        raise KebabError("kebab-tui needs a terminal", "in a pipe use `kebab search WORDS`")


def _require_data_folder(folder: str) -> None:
    """Without one a screen could only wait."""
    try:
        own_files.make_folder(folder)
    except OSError as error:
        raise KebabError(
            f"cannot make the data folder {folder}: {error.strerror}", "choose another with --data-dir"
        ) from None


def _require_folders(folders: Sequence[str], settings: Settings) -> None:
    """A misspelled folder is refused at once: behind a screen it would be found late and said small."""
    if missing := [folder for folder in folders if not _is_open(os.path.expanduser(folder))]:
        from kebab_tui.workspace import Workspace  # only here: the engine would delay the first paint

        with contextlib.closing(Workspace(settings, settings.data_dir)) as workspace:
            for folder in missing:
                workspace.check_folder(folder)


def _is_open(folder: str) -> bool:
    return os.path.isdir(folder) and os.access(folder, os.R_OK | os.X_OK)


def _refuse(error: KebabError) -> int:
    from kebab_tui.domain.text import visible

    print(f"error: {visible(error.message)}", file=sys.stderr)  # noqa: T201
    if error.hint:
        print(f"  hint: {visible(error.hint)}", file=sys.stderr)  # noqa: T201
    return error.exit_code


def _send_noise_to_log(data_folder: str) -> None:
    """Keep the terminal for Textual, which paints by `sys.__stderr__`; everyone else's stderr is a file."""
    try:
        terminal = os.open("/dev/tty", os.O_RDWR)
    except OSError:
        terminal = os.dup(2)
    sys.__stderr__ = io.TextIOWrapper(os.fdopen(terminal, "wb", 0), "utf-8", write_through=True)  # type: ignore[misc]
    if not sys.stdout.isatty():
        sys.__stdout__ = sys.__stderr__  # type: ignore[misc]  # whose size is the screen's
    try:
        own_files.make_folder(data_folder)
        log = own_files.create(os.path.join(data_folder, LOG))
    except OSError:
        log = os.open(os.devnull, os.O_WRONLY)
    os.dup2(log, 2)
    os.close(log)
