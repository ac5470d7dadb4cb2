"""Chooses the user's editor or viewer, builds its command line for a line or a page of a file, and runs it.

The editor comes from the settings, else KEBAB_EDITOR, VISUAL or EDITOR, else from the installed programs. A
configured editor that is missing is an error; no other editor replaces it. Words are split as by a shell, but
no shell runs: variables, globs and operators have no effect.

Lines and columns are 1-based; columns count characters. The path is absolute, so that it cannot be read as an
option. An unknown program gets the file only, because a wrong line argument is worse than none; so does a
program that takes `path:line`, if the path itself could be read so. Several files are opened by one program,
each at its line where the program can; else the first one is.

A viewer opens documents with pages. It needs a window: over ssh and without a display there is none, and the
front end says so.
"""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple

from kebab_tui.domain.errors import KebabError
from kebab_tui.domain.text import sanitize

if TYPE_CHECKING:
    from kebab_tui.settings.settings import EditorSettings, ViewerSettings

Kind = Literal["terminal", "gui"]
Words = tuple[str, ...]
Find = Callable[[str], str | None]
"""Finds a program, as `shutil.which` does."""

VARIABLES = ("KEBAB_EDITOR", "VISUAL", "EDITOR")
USUAL = ("nvim", "vim", "nano", "vi")
SETTING = "[editor] command"

_FAILS_WITHIN_S = 0.1
"""Time for a GUI editor to fail: an option error comes at once, success prints nothing."""
_TERMINAL_SIGNALS = (signal.SIGINT, signal.SIGQUIT)
_PLACEHOLDER = re.compile(r"\{(path|escaped|line|column|skip|page)\}")
_KNOWN = {
    "editor": ("{path}", "{line}", "{column}", "{escaped}", "{skip}"),
    "viewer": ("{path}", "{page}"),
}
_PLAIN_PART = re.compile(r"/|\.[a-z]\w*\Z", re.IGNORECASE)
"""A part of a path after a colon that is not a line number."""
_JOE_ESCAPES = re.compile(r"[\\,]")
"""joe reads `name,start,size` as a part of a file; a backslash escapes the comma."""
_SUFFIX = re.compile(r"\.(exe|cmd|bat)\Z", re.IGNORECASE)


class FilePlace(NamedTuple):
    """A file with an absolute path, and where to begin in it."""

    path: str
    line: int = 1
    column: int = 1


class EditorError(KebabError):
    """No editor or viewer is installed, or the chosen one could not open the note."""

    code = "editor_failed"


@dataclass(frozen=True, slots=True)
class Launch:
    """A command line. `kind`: in the terminal or in a window; `at_line`: whether it has the line or page."""

    argv: Words
    kind: Kind
    at_line: bool = True
    setting: str = SETTING
    place: Literal["line", "page"] = "line"

    @property
    def program(self) -> str:
        return _basename(self.argv[0])


@dataclass(frozen=True, slots=True)
class Editor:
    """`named_by`: the setting or variable with the command. `kind` applies to a template only."""

    command: tuple[str, ...]
    named_by: str
    kind: Kind = "terminal"

    def at(self, path: str, line: int, column: int = 1, *, read_only: bool = False) -> Launch:
        """The command line for a file with an absolute path.

        `read_only`: with the program's own option for it, if it has one.
        """
        if _is_template(self.command):
            return launch_template(self.command, self.kind, path, line, column)
        return launch((*self.command, *(_read_only(self.command) if read_only else ())), path, line, column)

    def at_all(self, places: Sequence[FilePlace], *, read_only: bool = False) -> Launch:
        """One command line for several files."""
        if len(places) == 1:
            return self.at(*places[0], read_only=read_only)
        if _is_template(self.command):
            return _launch_template_all(self.command, self.kind, places)
        return launch_all((*self.command, *(_read_only(self.command) if read_only else ())), places)


def choose(settings: EditorSettings, environ: Mapping[str, str], find: Find) -> Editor:
    """The user's editor; raises EditorError if there is none or it cannot be started."""
    if settings.command.strip():
        kind: Kind = "terminal" if settings.terminal else "gui"
        return _configured(settings.command, SETTING, kind, find)
    for name in VARIABLES:
        if value := environ.get(name, "").strip():
            return _configured(value, name, "terminal", find)
    for program in USUAL:
        if find(program):
            return Editor((program,), "the installed programs")
    raise EditorError(
        f"there is no editor: none of {', '.join(USUAL)} is installed",
        f'set EDITOR, or {SETTING} = "…" in the configuration',
    )


def _configured(text: str, named_by: str, kind: Kind, find: Find) -> Editor:
    return Editor(_checked(text, named_by, "editor", find), named_by, kind)


def _checked(text: str, named_by: str, noun: Literal["editor", "viewer"], find: Find) -> Words:
    """Parse and check a command."""
    try:
        program, *words = shlex.split(text)
    except ValueError as error:
        raise EditorError(f"{named_by}: invalid command {text!r} ({error})", "close the quotes") from None
    program = os.path.expanduser(program)
    command = (program, *words)
    if not program:
        raise EditorError(f"{named_by} names no program", f"change {named_by}")
    if not find(program):
        if os.path.dirname(program) and os.path.isdir(program):
            problem, fix = "is a folder", "name a program in"
        elif os.path.dirname(program) and os.path.exists(program):
            problem, fix = "is not an executable file", f"`chmod +x {shlex.quote(program)}`, or change"
        else:
            problem, fix = "is not installed", "install it, or change"
        raise EditorError(f"the {noun} {program} (from {named_by}) {problem}", f"{fix} {named_by}")
    if _is_template(command):
        found = (one[0] for word in command for one in re.finditer(r"\{\w+\}", word))
        if unknown := next((one for one in found if one not in _KNOWN[noun]), None):
            *names, last = _KNOWN[noun]
            raise EditorError(
                f"{named_by}: unknown placeholder {unknown}", f"known: {', '.join(names)} and {last}"
            )
    return command


def line_hint(made: Launch) -> str:
    """A message for a launch without the line or the page; empty for others."""
    if made.at_line:
        return ""
    command = f"{made.program} … {{{made.place}}} {{path}}"
    return (
        f"could not pass the {made.place} number to {made.program}; "
        f'set {made.setting} = "{command}" in the configuration'
    )


class EditorFamily(NamedTuple):
    """Arguments of a family of programs; `at_column` if they differ for a column other than the first.

    `many`: how several files are opened. "each": the words with a placeholder are repeated. "reversed": the
    same, the first file last. "tour": vim's commands visit the files, which its arguments name. "script":
    kakoune's commands open them. "first": only the first file gets its line. `for_many`: words for several.
    """

    kind: Kind
    words: Words
    at_column: Words = ()
    many: Literal["each", "reversed", "tour", "script", "first"] = "each"
    for_many: Words = ()


_VIM = EditorFamily(
    "terminal", ("+{line}", "--", "{path}"), ("+{line}", "+normal! 0{skip}l", "--", "{path}"), "tour"
)
"""Moves by characters: `cursor()` counts bytes, and a Korean letter has three."""
_COLON = "{path}:{line}:{column}"
_PLUS = ("+{line}", "{path}")
_PLUS_COLON = ("+{line}:{column}", "{path}")
_FLAGS = ("--line", "{line}", "--column", "{column}", "{path}")
_JETBRAINS = "idea pycharm webstorm goland clion rider phpstorm rubymine rustrover datagrip"

_FAMILIES: tuple[tuple[str, EditorFamily], ...] = (
    ("vim nvim lvim view vimx rvim", _VIM),
    ("vi", _VIM._replace(many="first")),  # it need not be vim
    ("nano rnano", EditorFamily("terminal", ("+{line},{column}", "{path}"))),
    ("kak", EditorFamily("terminal", ("+{line}:{column}", "--", "{path}"), many="script")),
    ("micro", EditorFamily("terminal", _PLUS_COLON, for_many=("-parsecursor", "true", _COLON))),
    ("emacs", EditorFamily("terminal", _PLUS_COLON, many="reversed")),
    ("emacsclient", EditorFamily("terminal", _PLUS_COLON)),
    ("hx helix", EditorFamily("terminal", (_COLON,))),
    ("joe rjoe jmacs jstar jpico", EditorFamily("terminal", ("+{line}", "{escaped}"))),
    ("ne mg", EditorFamily("terminal", _PLUS)),
    ("jed pico nvi vile elvis zile mcedit", EditorFamily("terminal", _PLUS, many="first")),
    (
        "code code-insiders codium vscodium cursor windsurf trae antigravity",
        EditorFamily("gui", ("-r", "-g", _COLON)),
    ),
    ("zed zeditor subl sublime_text atom pulsar", EditorFamily("gui", (_COLON,))),
    (f"{_JETBRAINS} {_JETBRAINS.replace(' ', '64 ')}64", EditorFamily("gui", _FLAGS, many="first")),
    ("kate kwrite geany", EditorFamily("gui", _FLAGS, many="first")),
    ("mate rmate xed", EditorFamily("gui", ("--line", "{line}", "{path}"), many="first")),
    ("gvim mvim gview", _VIM._replace(kind="gui")),
    ("gedit", EditorFamily("gui", _PLUS_COLON, many="first")),
    ("bbedit pluma", EditorFamily("gui", _PLUS, many="first")),
    ("notepad++", EditorFamily("gui", ("-n{line}", "-c{column}", "{path}"), many="first")),
)
FAMILIES = {name: family for names, family in _FAMILIES for name in names.split()}
"""Program -> its arguments."""

_READ_ONLY = {
    name: option
    for names, option in (
        ("vi vim nvim lvim vimx rvim gvim mvim nvi vile", "-R"),
        ("nano rnano", "-v"),
        ("kak", "-ro"),
        ("micro", "-readonly=true"),
        ("joe jmacs jstar", "-rdonly"),
        ("ne", "--read-only"),
        ("pico", "-v"),
    )
    for name in names.split()
}
"""Program -> its option to change no file. Others find that the file cannot be written."""
_UNKNOWN = EditorFamily("terminal", ("{path}",))
_WINDOW_CHOSEN = {"-n", "--new-window", "-r", "--reuse-window", "-w", "--wait"}
_NOT_WAITING = {"-n", "--no-wait"}


def launch(command: Sequence[str], path: str, line: int, column: int = 1) -> Launch:
    """The command line of `command`, a program with the user's arguments, for a file, line and column."""
    family = FAMILIES.get(_basename(command[0]), _UNKNOWN)
    words = family.at_column if column > 1 and family.at_column else family.words
    if _COLON in words and not _is_plain(path):
        words = ("{path}",)  # the program could read a part of the path as the line
    words = _in_window(command, words)
    kind = _kind(command, family)
    return Launch((*command, *_filled(words, path, line, column)), kind, words != ("{path}",))


def launch_all(command: Sequence[str], places: Sequence[FilePlace]) -> Launch:
    """The command line of `command` for several files."""
    family = FAMILIES.get(_basename(command[0]), _UNKNOWN)
    kind, first = _kind(command, family), places[0]
    paths = [one for place in places for one in _filled(("{path}",), *place)]
    many = family.many
    if family.for_many and not all(_is_plain(place.path) for place in places):
        many = "first"
    match many:
        case "tour":
            return Launch((*command, *_tour(places), "--", *paths), kind)
        case "script":
            return Launch((*command, "-e", _script(places)), kind)
        case "first":
            return Launch((*command, *_filled(family.words, *first), *paths[1:]), kind)
    words = _in_window(command, family.for_many or family.words)
    own = next(at for at, word in enumerate(words) if _PLACEHOLDER.search(word))
    argv = [*command, *words[:own]]
    for place in reversed(places) if family.many == "reversed" else places:
        is_plain = _COLON not in words or _is_plain(place.path)
        argv += _filled(words[own:] if is_plain else ("{path}",), *place)
    return Launch(tuple(argv), kind, words[own:] != ("{path}",))


def _is_plain(path: str) -> bool:
    """Whether no part of a path reads as a line."""
    return all(map(_PLAIN_PART.search, path.split(":")[1:]))


def _in_window(command: Sequence[str], words: Words) -> Words:
    """Without the reuse of a window, if the user's arguments choose one."""
    return tuple(word for word in words if word != "-r") if _WINDOW_CHOSEN.intersection(command) else words


def _kind(command: Sequence[str], family: EditorFamily) -> Kind:
    is_detached = _basename(command[0]) == "emacsclient" and _NOT_WAITING.intersection(command)
    return "gui" if is_detached else family.kind


def _tour(places: Sequence[FilePlace]) -> Words:
    """Commands that visit every argument at its line, and the first one last: vim keeps the lines.

    They contain numbers only, so that no name is ever read as a command.
    """
    stops = [*enumerate(places[1:], 2), (1, places[0])]
    words = "|".join(f"silent {number}argument|silent! {place.line}" for number, place in stops)
    column = places[0].column
    return ("-c", words, *((f"+normal! 0{column - 1}l",) if column > 1 else ()))


def _script(places: Sequence[FilePlace]) -> str:
    """Kakoune's commands. Within single quotes, it reads nothing but a doubled quote."""
    commands = []
    for place in (*places[1:], places[0]):
        (path,) = _filled(("{path}",), *place)
        quoted = path.replace("'", "''")
        commands.append(f"edit -existing '{quoted}' {place.line} {place.column}")
    return "; ".join(commands)


def _read_only(command: Sequence[str]) -> Words:
    option = _READ_ONLY.get(_basename(command[0]))
    return () if option is None or option in command else (option,)


def launch_template(template: Sequence[str], kind: Kind, path: str, line: int, column: int = 1) -> Launch:
    """The command line of a command with placeholders for path, line and column."""
    words = tuple(_filled(template, path, line, column))
    return Launch(words, kind, any("{line}" in word for word in template))


def _launch_template_all(template: Sequence[str], kind: Kind, places: Sequence[FilePlace]) -> Launch:
    """The word with the path is repeated; the other words are for the first file."""
    argv: list[str] = []
    for word in template:
        repeated = places if "{path}" in word else places[:1]
        argv += [filled for place in repeated for filled in _filled((word,), *place)]
    return Launch(tuple(argv), kind, any("{line}" in word for word in template))


def _is_template(command: Sequence[str]) -> bool:
    return any("{path}" in word for word in command)


def _filled(words: Sequence[str], path: str, line: int, column: int) -> Iterator[str]:
    """In one pass: `{line}` in a path stays unchanged."""
    if not path.startswith("/"):
        raise ValueError(f"not an absolute path: {path!r}")
    values = {
        "path": path,
        "escaped": _JOE_ESCAPES.sub(r"\\\g<0>", path),
        "line": str(line),
        "column": str(column),
        "skip": str(column - 1),
    }
    return _replaced(words, values)


def _replaced(words: Sequence[str], values: Mapping[str, str]) -> Iterator[str]:
    return (_PLACEHOLDER.sub(lambda found: values.get(found[1], found[0]), word) for word in words)


_VIEWERS: tuple[tuple[str, Words], ...] = (
    ("zathura", ("-P", "{page}", "{path}")),
    ("evince papers atril xreader", ("-i", "{page}", "{path}")),
    ("okular", ("-p", "{page}", "{path}")),
    ("sioyek", ("--page", "{page}", "{path}")),
    ("qpdfview", ("{path}#{page}",)),
    ("mupdf mupdf-gl mupdf-x11 xpdf", ("{path}", "{page}")),
    ("xdg-open open", ("{path}",)),
)
VIEWERS = {name: words for names, words in _VIEWERS for name in names.split()}
"""Program -> its arguments, in the order in which an installed one is chosen. The last go to no page."""
_WINDOWS = ("win32", "darwin")


@dataclass(frozen=True, slots=True)
class Viewer:
    """`named_by`: the setting with the command, or the installed programs."""

    command: Words
    named_by: str
    setting: str

    def at(self, path: str, page: int) -> Launch:
        """The command line for a page of a document with an absolute path."""
        if not path.startswith("/"):
            raise ValueError(f"not an absolute path: {path!r}")
        words: Words = self.command
        if not _is_template(self.command):
            words = (*self.command, *VIEWERS.get(_basename(self.command[0]), ("{path}",)))
        argv = tuple(_replaced(words, {"path": path, "page": str(page)}))
        return Launch(argv, "gui", any("{page}" in word for word in words), self.setting, "page")


def choose_viewer(settings: ViewerSettings, type_: str, environ: Mapping[str, str], find: Find) -> Viewer:
    """The user's viewer for a type of documents with pages; raises EditorError if none can be started."""
    setting = f"[viewer] {type_}"
    configured: str = getattr(settings, type_, "").strip()
    command = _checked(configured, setting, "viewer", find) if configured else ()
    if reason := no_window(environ):
        raise NoWindowError(f"no viewer can be shown {reason}", "open the citation where there is a display")
    if command:
        return Viewer(command, setting, setting)
    for program in VIEWERS:
        if find(program):
            return Viewer((program,), "the installed programs", setting)
    names = ", ".join(list(VIEWERS)[:3])
    raise EditorError(
        f"there is no viewer for {type_}: install {names} or another one", f'or set {setting} = "…"'
    )


class NoWindowError(EditorError):
    """There is no display for a viewer: show or copy the citation instead."""

    code = "no_window"


def no_window(environ: Mapping[str, str]) -> str:
    """Why no window can be shown; empty if one can."""
    if environ.get("SSH_CONNECTION") or environ.get("SSH_TTY"):
        return "over ssh"
    has_display = sys.platform in _WINDOWS or environ.get("DISPLAY") or environ.get("WAYLAND_DISPLAY")
    return "" if has_display else "without a display"


def _basename(program: str) -> str:
    return _SUFFIX.sub("", program.replace("\\", "/").rpartition("/")[2]).lower()


@dataclass(frozen=True, slots=True)
class OpenResult:
    """`message`: the opened file or the error, sanitised, on one line. `interrupted`: ended by Ctrl+C."""

    ok: bool
    message: str
    interrupted: bool = False


def open_note(made: Launch, path: str, terminal: int | None = None, *, is_new: bool = False) -> OpenResult:
    """Open an existing file, or a new one; never raises: the caller may have suspended its screen.

    `terminal`: the descriptor that replaces the three standard streams.
    """
    if not is_new and not os.path.exists(path):
        return _result(f"{path} is no longer there", ok=False)
    try:
        if made.kind == "gui":
            code = _run_detached(made)
        else:
            with _terminal_signals_ignored():
                code = subprocess.run(
                    made.argv, stdin=terminal, stdout=terminal, stderr=terminal, check=False
                ).returncode
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        return _result(f"{made.program} could not be started: {reason}", ok=False)
    if not code:
        return _result(line_hint(made) or f"opened in {made.program}", ok=True)
    ending = f"ended with exit code {code}"
    if code < 0:
        ending = f"was ended by signal {-code}"
        with contextlib.suppress(ValueError):
            ending = f"was ended by {signal.Signals(-code).name}"
    return _result(f"{made.program} {ending}", ok=False, interrupted=code == -signal.SIGINT)


def _result(text: str, *, ok: bool, interrupted: bool = False) -> OpenResult:
    return OpenResult(ok, sanitize(text).replace("\n", "␊"), interrupted)


@contextlib.contextmanager
def _terminal_signals_ignored() -> Iterator[None]:
    """Leave Ctrl+C to the editor. With handlers, because the editor would inherit SIG_IGN."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = [(number, signal.signal(number, lambda *_: None)) for number in _TERMINAL_SIGNALS]
    try:
        yield
    finally:
        for number, handler in before:
            signal.signal(number, handler)


def _run_detached(made: Launch) -> int:
    """Start the program in a new session; returns 0 unless it fails at once."""
    null = subprocess.DEVNULL
    process = subprocess.Popen(made.argv, stdin=null, stdout=null, stderr=null, start_new_session=True)
    try:
        return process.wait(_FAILS_WITHIN_S)
    except subprocess.TimeoutExpired:
        # It may run for hours; a thread waits for its end, so that no zombie remains.
        threading.Thread(target=process.wait, name="editor", daemon=True).start()
        return 0
