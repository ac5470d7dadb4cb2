"""`kebab-tui` from the command line to the terminal and back.

Checks the terminal, redirects the output of C libraries to the log, restores the terminal
on SIGTERM and SIGHUP, and prints the picked citations. Imports Textual only for a screen
that will be shown, and no engine.
"""

from __future__ import annotations

import argparse
import asyncio
import codecs
import contextlib
import io
import os
import re
import select
import signal
import sys
import threading
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, NoReturn, get_args

from kebab_tui import __version__, own_files
from kebab_tui.domain.errors import KebabError, UsageError
from kebab_tui.domain.text import sanitize

if TYPE_CHECKING:
    from textual.events import Key
    from textual.message import Message

    from kebab_tui.settings.settings import Settings
    from kebab_tui.tui.app import KebabApp

LOG = "screen.log"
_ALT_CHARACTERS = "abcdefghijklmnopqrstuvwxyz0123456789"
"""Characters with which no escape sequence of a terminal begins."""
_ESC = "\x1b"
_PASTE_START, _PASTE_END = f"{_ESC}[200~", f"{_ESC}[201~"
PickedAs = Literal["editor", "citation", "line"]
"""The output form of a pick."""
_SEE_HELP = "see `kebab-tui --help`"
_MODES = ("lexical", "vector", "hybrid")

ABORTED = 130
"""The exit code of a pick that the user aborts: that of a program ended by ctrl+c."""

_EXIT_S = 2.0
"""A screen without a terminal must exit within this time."""
_STOP_S = 0.2
"""How long a stop may take to arrive."""


@dataclass(frozen=True, slots=True)
class Options:
    """The command line."""

    folders: tuple[str, ...] = ()
    everywhere: bool = False
    """Search all folders, not only the one around the current folder."""
    query: str = ""
    mode: str = ""
    explain: bool = False
    pick: bool = False
    pick_as: PickedAs = "editor"
    print0: bool = False
    theme: str = ""
    config: str = ""
    watch: bool = True
    accepted: tuple[str, ...] = ()
    """New folders that need no question."""
    own: tuple[Options, Settings] | None = None
    """The user's own notes, while the screen shows the sample notes."""


def main(argv: Sequence[str] | None = None) -> NoReturn:
    """Run the screen, and end the process with its exit code."""
    code = _run(argv)
    # The engine's thread may be inside a library: a normal interpreter exit would wait for it,
    # or free its objects and abort. No data is lost, because another process writes the index.
    for stream in (sys.stdout, sys.stderr, sys.__stderr__):
        with contextlib.suppress(OSError, ValueError, AttributeError):
            stream.flush()  # type: ignore[union-attr]
    os._exit(code)


def _run(argv: Sequence[str] | None) -> int:
    try:
        given = build_parser().parse_args(argv)
        app = _application(given)
    except KebabError as error:
        print(f"error: {sanitize(error.message)}", file=sys.stderr)  # noqa: T201
        if error.hint:
            print(f"  hint: {sanitize(error.hint)}", file=sys.stderr)  # noqa: T201
        return error.exit_code
    _redirect_stderr(app.settings.data_dir)
    watch_terminal()
    with contextlib.suppress(ImportError):  # other systems have another driver
        from textual.drivers import linux_driver

        # Textual decodes the input strictly. A terminal may leave an incomplete character.
        lenient = partial(codecs.getincrementaldecoder("utf-8"), errors="replace")
        vars(linux_driver)["getincrementaldecoder"] = lambda _: lenient
        read_alt_keys_at_once()
        read_pastes_whole()
    app = _screens(app)
    picked = app.return_value or ()
    print_picked(picked, print0=given.print0)
    return app.return_code or (0 if picked or not given.pick else 1)


class _Parser(argparse.ArgumentParser):
    """Raises its errors, in the words of `kebab`: both programs print them alike."""

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
        given, extra = self.parse_known_args(args, namespace)
        if extra:
            from kebab_tui.domain.text import did_you_mean

            names = (name for action in self._actions for name in action.option_strings)
            typed = extra[0].partition("=")[0].lstrip("-")
            hint = did_you_mean(typed, [name[2:] for name in names if name.startswith("--")], "--{}")
            raise UsageError(f"No such option '{extra[0]}'.", hint or _SEE_HELP)
        return given

    def error(self, message: str) -> NoReturn:
        found = re.match("argument (?:-[^/ ]*/)?(?P<name>[^:]+): (?P<rest>.*)", message, re.DOTALL)
        if found is None:
            raise UsageError(f"{message[:1].upper()}{message[1:]}.", _SEE_HELP)
        if found["rest"] == "expected one argument":
            raise UsageError(f"Option '{found['name']}' requires an argument.", _SEE_HELP)
        raise UsageError(f"Invalid value for '{found['name']}': {found['rest']}", _SEE_HELP)

    def format_help(self) -> str:
        from kebab_tui.workspace import Workspace  # only here: the engine would delay the first paint

        backends = "; ".join(f"{example}: {text}" for example, text in Workspace.backends())
        self.epilog = f"Backends, for --index: {backends}."
        return super().format_help()


def _one_of(*names: str) -> dict[str, Any]:
    def check(text: str) -> str:
        if text and text not in names:
            raise argparse.ArgumentTypeError(f"'{text}' is not one of {', '.join(map(repr, names))}.")
        return text

    return {"type": check, "metavar": f"[{'|'.join(names)}]"}


def build_parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="kebab-tui",
        usage="kebab-tui [OPTIONS] [FOLDER…]",
        description="Search folders of notes on a full screen, with exact citations.",
        add_help=False,
    )
    folders = parser.add_argument_group("Folders")
    folders.add_argument(
        "folder",
        nargs="*",
        metavar="FOLDER",
        help="Search only this folder; a new one is added and indexed. Without it: the folder of notes "
        "around the current one, else all.",
    )
    folders.add_argument("--all", action="store_true", help="Search all folders of notes.")
    start = parser.add_argument_group("Start")
    start.add_argument("--query", default="", metavar="Q", help="Start with this query.")
    start.add_argument(
        "--mode", default="", **_one_of(*_MODES), help="Search by keywords, by meaning, or both."
    )
    start.add_argument("--explain", action="store_true", help="Open the explanation of the ranking.")
    start.add_argument(
        "--no-watch", action="store_true", help="Scan the folders once and at F5, instead of watching them."
    )
    pick = parser.add_argument_group("Pick")
    pick.add_argument(
        "--pick",
        action="store_true",
        help="Print the chosen citation and quit; Ctrl+C, or Esc in an empty box, quits with exit code 130.",
    )
    pick.add_argument(
        "--pick-as",
        default="editor",
        **_one_of(*get_args(PickedAs)),
        help="What --pick prints: for an editor `+12` and FILE on a line each; `FILE:L12-L34`; or `FILE:12`. "
        "Pages of PDF files only as a citation, `FILE#p=4`.",
    )
    pick.add_argument(
        "-0",
        "--print0",
        action="store_true",
        help="With --pick: end each argument with a null character, for `xargs -0`. Without it, a path with "
        "control characters is refused; for an editor also one with blanks or characters special to a shell.",
    )
    look = parser.add_argument_group("Look")
    look.add_argument("--theme", default="", help="dark, light, ansi, or a theme of Textual, for this time.")
    look.add_argument("--ascii", action="store_true", help="Draw with ASCII characters only.")
    general = parser.add_argument_group("General")
    general.add_argument("--index", default="", metavar="URL", help="Use this index, a folder or a URL.")
    general.add_argument("--data-dir", default="", metavar="FOLDER", help="Use the index in this folder.")
    general.add_argument("--config", default="", metavar="FILE", help="Read this configuration file.")
    general.add_argument(
        "-V",
        "--version",
        action="version",
        version=f"kebab-tui {__version__}",
        help="Show the version and exit.",
    )
    general.add_argument("-h", "--help", action="help", help="Show this message and exit.")
    return parser


def _application(given: argparse.Namespace) -> KebabApp:
    """The application; everything invalid is refused before the first paint."""
    if os.environ.get("TERM", "") in ("", "dumb"):
        raise KebabError("this terminal cannot show a screen (TERM is dumb)", "kebab search WORDS")
    # With --pick, stdout is for the citation.
    if not sys.stdin.isatty() or not (sys.stderr if given.pick else sys.stdout).isatty():
        raise KebabError("kebab-tui needs a terminal", "in a pipe use `kebab search WORDS`")
    from kebab_tui.settings.load import load_settings

    flags = {"data_dir": given.data_dir or None, "index.url": given.index or None}
    settings = load_settings(given.config or None, os.environ, flags)
    if given.index:  # the indexing process inherits it
        os.environ["KEBAB_INDEX"] = settings.index.url or settings.data_dir
    if settings.index.url:
        from kebab_tui.workspace import Workspace  # only here: the engine would delay the first paint

        Workspace(settings, settings.data_dir).close()  # refuses an invalid URL
        if Workspace.is_shared(settings.index.url):
            settings = _for_shared_index(settings, given.folder)
    _check_folders(given.folder, settings)
    try:
        own_files.make_folder(settings.data_dir)
    except OSError as error:
        raise KebabError(
            f"cannot create the data folder {settings.data_dir}: {error.strerror}",
            "choose another with --data-dir",
        ) from None
    if given.ascii or settings.screen.ascii:
        from kebab_tui.tui import glyphs

        glyphs.use_ascii()
    from kebab_tui.tui.app import KebabApp

    return KebabApp(options_of(given, settings), settings)


def _screens(app: KebabApp) -> KebabApp:
    """Run the screen, then others that it leads to: from the sample notes to the user's and back."""
    index = os.environ.get("KEBAB_INDEX")
    while True:
        for name in ("SIGTERM", "SIGHUP"):
            signal.signal(getattr(signal, name), partial(_exit_on_signal, app))
        app.run()
        if app.successor is None:
            return app
        from kebab_tui.tui.app import KebabApp

        options, settings = app.successor
        if options.own is not None:  # the indexing process of the samples must not open the user's index
            os.environ.pop("KEBAB_INDEX", None)
        elif index is not None:
            os.environ["KEBAB_INDEX"] = index
        app = KebabApp(options, settings)


def _for_shared_index(settings: Settings, folders: Sequence[str]) -> Settings:
    """The screen searches the servers that answer, and says so, unless it is told to fail."""
    from msgspec.structs import replace

    if folders:
        raise KebabError(
            "a shared index is read-only: it takes no folders",
            "index them on a machine of their own, and publish with `kebab index --copy-to URL`",
        )
    index = replace(settings.index, on_missing_shard=settings.index.on_missing_shard or "partial")
    return replace(settings, index=index)


def options_of(given: argparse.Namespace, settings: Settings) -> Options:
    return Options(
        tuple(given.folder),
        given.all,
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


def _check_folders(folders: Sequence[str], settings: Settings) -> None:
    """Refuse a misspelled folder at once: on the screen the error would be late and small."""
    expanded = {folder: os.path.expanduser(folder) for folder in folders}
    unreadable = [
        folder
        for folder, path in expanded.items()
        if not os.path.isdir(path) or not os.access(path, os.R_OK | os.X_OK)
    ]
    if unreadable:
        from kebab_tui.workspace import Workspace  # only here: the engine would delay the first paint

        with contextlib.closing(Workspace(settings, settings.data_dir)) as workspace:
            for folder in unreadable:
                workspace.check_folder(folder)


def _redirect_stderr(data_folder: str) -> None:
    """Keep the terminal for Textual, which paints to `sys.__stderr__`; all other output goes to the log."""
    try:
        terminal = os.open("/dev/tty", os.O_RDWR)
    except OSError:
        terminal = os.dup(2)
    sys.__stderr__ = io.TextIOWrapper(os.fdopen(terminal, "wb", 0), "utf-8", write_through=True)  # type: ignore[misc]
    if not sys.stdout.isatty():
        sys.__stdout__ = sys.__stderr__  # type: ignore[misc]  # Textual reads the screen size from it
    try:
        own_files.make_folder(data_folder)
        log = own_files.create(os.path.join(data_folder, LOG))
    except OSError:
        log = os.open(os.devnull, os.O_WRONLY)
    os.dup2(log, 2)
    os.close(log)


def _exit_on_signal(app: KebabApp, number: int, _frame: object) -> None:
    """Let Textual restore the terminal first."""
    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:  # before the first paint, or after the end
        raise SystemExit(128 + number) from None
    # A plain call would not wake the loop.
    loop.call_soon_threadsafe(app.exit, (), 128 + number)


def watch_terminal() -> None:
    """Send SIGHUP to this process when its terminal disappears.

    The kernel sends it to the session leader only. Without it, a screen started by `make`,
    `sudo` or a script would run forever, and Textual would spin at the end of its input.
    """
    with contextlib.suppress(AttributeError, OSError):  # not every system can report it
        poll = select.poll()
        poll.register(0, 0)  # errors and hang-ups are always reported

        def wait() -> None:
            if any(event & (select.POLLHUP | select.POLLERR) for _, event in poll.poll()):
                signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGHUP)
                time.sleep(_EXIT_S)
                os._exit(128 + signal.SIGHUP)

        threading.Thread(target=wait, name="terminal", daemon=True).start()


def read_alt_keys_at_once() -> None:
    """Read esc and a character as one key with alt.

    Textual waits for a longer sequence first. If another key follows quickly, as while a key is
    held, it takes the two for text: `^n`.
    """
    from textual._ansi_sequences import ANSI_SEQUENCES_KEYS
    from textual._xterm_parser import XTermParser

    read = XTermParser._sequence_to_key_events

    def with_alt(self: XTermParser, sequence: str, alt: bool = False) -> Iterable[Key]:
        is_alt = len(sequence) == 2 and sequence[0] == "\x1b" and sequence[1] in _ALT_CHARACTERS
        if is_alt and sequence not in ANSI_SEQUENCES_KEYS:
            return read(self, sequence[1], alt=True)
        return read(self, sequence, alt)

    XTermParser._sequence_to_key_events = with_alt  # type: ignore[method-assign]


class PasteFilter:
    """Removes escape characters from what a terminal pastes, and from nothing else."""

    def __init__(self) -> None:
        self._is_inside = False
        self._mark = ""
        """The part of a mark that was read last, perhaps in another piece."""

    def clean(self, data: str) -> str:
        """A piece of the input; the beginning of a mark in pasted text is kept for the next one."""
        cleaned = ""
        for character in data:
            wanted = _PASTE_END if self._is_inside else _PASTE_START
            mark = self._mark + character
            if not self._is_inside:
                cleaned += character
            elif mark == wanted or not wanted.startswith(mark):
                cleaned += mark if mark == wanted else mark.replace(_ESC, "")
            self._mark = mark if wanted.startswith(mark) else _ESC if character == _ESC else ""
            if mark == wanted:
                self._is_inside, self._mark = not self._is_inside, ""
        return cleaned


def read_pastes_whole() -> None:
    """Take no part of a pasted text for keys.

    Textual does so from an escape character on, which not every terminal removes: a text could press Enter.
    """
    from textual._xterm_parser import XTermParser

    feed = XTermParser.feed

    def clean_feed(self: XTermParser, data: str) -> Iterable[Message]:
        cleaned = vars(self).setdefault("paste_filter", PasteFilter()).clean(data)
        if cleaned or not data:  # an empty piece is the end of the input
            yield from feed(self, cleaned)

    XTermParser.feed = clean_feed  # type: ignore[method-assign]


def has_job_control() -> bool:
    """Whether a shell takes over the terminal when this program stops.

    Such a shell runs each job in a process group of its own, not in that of the session's leader.
    """
    return hasattr(signal, "SIGTSTP") and os.getpgrp() != os.getsid(0)


def stop_until_foreground() -> bool:
    """Stop the whole job, as the terminal does at ctrl+z; False if the system refuses.

    A wrapper such as `make` or `uv run` must stop too, or the shell would go on waiting for it.
    The terminal must be in the shell's state. In the background (`bg`) the job stops again.
    """
    continued: list[int] = []
    before = signal.signal(signal.SIGTSTP, signal.SIG_DFL)
    before_continued = signal.signal(signal.SIGCONT, lambda number, _: continued.append(number))
    try:
        while True:
            continued.clear()
            os.killpg(os.getpgrp(), signal.SIGTSTP)
            end = time.monotonic() + _STOP_S
            while not continued and time.monotonic() < end:
                time.sleep(0.01)
            if not continued:  # the shell is gone: the system does not stop an orphaned job
                return False
            with contextlib.suppress(OSError):  # no terminal any more
                if os.tcgetpgrp(0) != os.getpgrp():
                    continue
            return True
    finally:
        signal.signal(signal.SIGTSTP, before)
        signal.signal(signal.SIGCONT, before_continued)


def print_picked(picked: Sequence[str], *, print0: bool) -> None:
    """Print the raw bytes of the paths, which need not be text; sanitized on a terminal."""
    end = b"\0" if print0 else b"\n"
    if sys.stdout.isatty():
        from kebab_tui.tui.widgets.segments import sanitize_line

        picked, end = [sanitize_line(citation) for citation in picked], b"\n"
    with contextlib.suppress(BrokenPipeError):
        sys.stdout.buffer.write(b"".join(os.fsencode(citation) + end for citation in picked))
        sys.stdout.flush()
