"""Which editor is meant: the settings, then KEBAB_EDITOR, VISUAL, EDITOR, then what is installed.

An editor that was named is taken at its word: one that is missing is an error with the
name of who named it, never a reason to open another. Words are split as a shell would
split them, but no shell ever sees them: no variable, glob or operator in them works.
"""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple

from kebab_tui.domain.errors import KebabError
from kebab_tui.domain.text import visible

if TYPE_CHECKING:
    from kebab_tui.settings.settings import EditorSettings


# The one failure of this package.


class EditorError(KebabError):
    """No editor is there, or the one that was chosen could not open the note."""

    code = "editor_failed"


# From (command, path, line, column) to what is to be run. Pure: starts nothing, looks at no disk.
#
# Arguments are a list and never pass a shell. The path is absolute, so none of its
# characters can be read as an option. Lines and columns are 1-based, columns count
# characters. A program that is not in the table gets the file only: a wrong line argument
# is worse than none. So does one that is told the line as `path:line`, when the path
# itself could be read so.

Kind = Literal["terminal", "gui"]
Words = tuple[str, ...]

_PLACEHOLDER = re.compile(r"\{(path|escaped|line|column|skip)\}")
_PLAIN_PART = re.compile(r"/|\.[a-z]\w*\Z", re.IGNORECASE)
"""What follows a colon in a path and cannot be taken for a line."""
_MARKS_OF_JOE = re.compile(r"[\\,]")
"""It reads a part of a file as `name,start,size`, and a backslash before any of that as itself."""
_SUFFIX = re.compile(r"\.(exe|cmd|bat)\Z", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Launch:
    """`kind`: whether it takes over the terminal or has a window. `at_line`: whether it is told the line."""

    argv: Words
    kind: Kind
    at_line: bool = True

    @property
    def program(self) -> str:
        return _basename(self.argv[0])


class EditorFamily(NamedTuple):
    """How a family of programs is told a place; `at_column` where it differs from the first column."""

    kind: Kind
    words: Words
    at_column: Words = ()


_VIM = EditorFamily("terminal", ("+{line}", "--", "{path}"), ("+{line}", "+normal! 0{skip}l", "--", "{path}"))
"""Column by column: `cursor()` counts bytes, and a Korean letter has three."""
_COLON = "{path}:{line}:{column}"
_PLUS = ("+{line}", "{path}")
_PLUS_COLON = ("+{line}:{column}", "{path}")
_FLAGS = ("--line", "{line}", "--column", "{column}", "{path}")
_JETBRAINS = "idea pycharm webstorm goland clion rider phpstorm rubymine rustrover datagrip"

_FAMILIES: tuple[tuple[str, EditorFamily], ...] = (
    ("vi vim nvim lvim view vimx rvim", _VIM),
    ("nano rnano", EditorFamily("terminal", ("+{line},{column}", "{path}"))),
    ("kak", EditorFamily("terminal", ("+{line}:{column}", "--", "{path}"))),
    ("micro emacs emacsclient", EditorFamily("terminal", _PLUS_COLON)),
    ("hx helix", EditorFamily("terminal", (_COLON,))),
    ("joe rjoe jmacs jstar jpico", EditorFamily("terminal", ("+{line}", "{escaped}"))),
    ("ne mg jed pico nvi vile elvis zile mcedit", EditorFamily("terminal", _PLUS)),
    (
        "code code-insiders codium vscodium cursor windsurf trae antigravity",
        EditorFamily("gui", ("-r", "-g", _COLON)),
    ),
    ("zed zeditor subl sublime_text atom pulsar", EditorFamily("gui", (_COLON,))),
    (f"{_JETBRAINS} {_JETBRAINS.replace(' ', '64 ')}64", EditorFamily("gui", _FLAGS)),
    ("kate kwrite geany", EditorFamily("gui", _FLAGS)),
    ("mate rmate xed", EditorFamily("gui", ("--line", "{line}", "{path}"))),
    ("gvim mvim gview", EditorFamily("gui", _VIM.words, _VIM.at_column)),
    ("gedit", EditorFamily("gui", _PLUS_COLON)),
    ("bbedit pluma", EditorFamily("gui", _PLUS)),
    ("notepad++", EditorFamily("gui", ("-n{line}", "-c{column}", "{path}"))),
)
MANNERS = {name: manner for names, manner in _FAMILIES for name in names.split()}
"""Program -> how it is told a place."""

_UNKNOWN = EditorFamily("terminal", ("{path}",))
_WINDOW_CHOSEN = {"-n", "--new-window", "-r", "--reuse-window", "-w", "--wait"}
_NOT_WAITING = {"-n", "--no-wait"}


def launch(command: Sequence[str], path: str, line: int, column: int = 1) -> Launch:
    """How the program `command`, with the arguments the user gave it, opens a file at a place."""
    name = _basename(command[0])
    manner = MANNERS.get(name, _UNKNOWN)
    words = manner.at_column if column > 1 and manner.at_column else manner.words
    if _reads_as_place(words, path):
        words = ("{path}",)
    if _WINDOW_CHOSEN.intersection(command):
        words = tuple(word for word in words if word != "-r")
    detached = name == "emacsclient" and _NOT_WAITING.intersection(command)
    kind: Kind = "gui" if detached else manner.kind
    return Launch((*command, *_filled(words, path, line, column)), kind, words != ("{path}",))


def launch_template(template: Sequence[str], kind: Kind, path: str, line: int, column: int = 1) -> Launch:
    """How a command that says itself where path, line and column go opens a file."""
    words = tuple(_filled(template, path, line, column))
    return Launch(words, kind, any("{line}" in word for word in template))


def unknown_placeholder(command: Sequence[str]) -> str | None:
    """What looks like a placeholder of a template and is none."""
    looks = (found[0] for word in command for found in re.finditer(r"\{\w+\}", word))
    return next((look for look in looks if not _PLACEHOLDER.fullmatch(look)), None)


def is_template(command: Sequence[str]) -> bool:
    return any("{path}" in word for word in command)


def _filled(words: Sequence[str], path: str, line: int, column: int) -> Iterator[str]:
    """In one pass: a path that holds `{line}` stays as it is."""
    if not path.startswith("/"):
        raise ValueError(f"not an absolute path: {path!r}")
    values = {
        "path": path,
        "escaped": _MARKS_OF_JOE.sub(r"\\\g<0>", path),
        "line": str(line),
        "column": str(column),
        "skip": str(column - 1),
    }
    return (_PLACEHOLDER.sub(lambda found: values[found[1]], word) for word in words)


def _reads_as_place(words: Words, path: str) -> bool:
    """Whether a program that splits `path:line` at its colons could split the path as well."""
    return _COLON in words and not all(map(_PLAIN_PART.search, path.split(":")[1:]))


def _basename(program: str) -> str:
    return _SUFFIX.sub("", program.replace("\\", "/").rpartition("/")[2]).lower()


VARIABLES = ("KEBAB_EDITOR", "VISUAL", "EDITOR")
USUAL = ("nvim", "vim", "nano", "vi")
SETTING = "[editor] command"

Find = Callable[[str], str | None]
"""Where a program is, as `shutil.which` says it."""


@dataclass(frozen=True, slots=True)
class Editor:
    """`named_by`: the setting or variable it comes from. `kind` is that of a template."""

    command: tuple[str, ...]
    named_by: str
    kind: Kind = "terminal"

    def at(self, path: str, line: int, column: int = 1) -> Launch:
        """How it opens the file at an absolute path."""
        if is_template(self.command):
            return launch_template(self.command, self.kind, path, line, column)
        return launch(self.command, path, line, column)


def choose(settings: EditorSettings, environ: Mapping[str, str], find: Find) -> Editor:
    """The editor that is meant; EditorError when there is none, or when it cannot be started."""
    if settings.command.strip():
        kind: Kind = "terminal" if settings.terminal else "gui"
        return _checked(Editor(_split(settings.command, SETTING), SETTING, kind), find)
    for name in VARIABLES:
        if value := environ.get(name, "").strip():
            return _checked(Editor(_split(value, name), name), find)
    for program in USUAL:
        if find(program):
            return Editor((program,), "what is installed")
    raise EditorError(
        f"there is no editor: none of {', '.join(USUAL)} is installed",
        f'set EDITOR, or {SETTING} = "…" in the configuration',
    )


def line_hint(made: Launch) -> str:
    """What to tell about a launch that cannot name the line; empty for one that can."""
    if made.at_line:
        return ""
    return (
        f"{made.program} was not told the line: "
        f'{SETTING} = "{made.program} … {{line}} {{path}}" in the configuration says how it is'
    )


def _split(text: str, named_by: str) -> tuple[str, ...]:
    try:
        program, *words = shlex.split(text)
    except ValueError as error:
        raise EditorError(f"{named_by}: {text!r} is no command ({error})", "close the quotes") from None
    return os.path.expanduser(program), *words


def _checked(editor: Editor, find: Find) -> Editor:
    program = editor.command[0]
    if not program:
        raise EditorError(f"{editor.named_by} names no program", f"change {editor.named_by}")
    if not find(program):
        problem, remedy = _unusable(program)
        raise EditorError(
            f"the editor {program} (from {editor.named_by}) {problem}", f"{remedy} {editor.named_by}"
        )
    if is_template(editor.command) and (unknown := unknown_placeholder(editor.command)):
        raise EditorError(
            f"{editor.named_by}: there is no {unknown}",
            "there are {path}, {line}, {column}, {escaped} and {skip}",
        )
    return editor


def _unusable(program: str) -> tuple[str, str]:
    """Why a program is not found, and the start of the hint."""
    if os.path.dirname(program) and os.path.isdir(program):
        return "is a folder", "name a program in"
    if os.path.dirname(program) and os.path.exists(program):
        return "is not an executable file", f"`chmod +x {shlex.quote(program)}`, or change"
    return "is not installed", "install it, or change"


# Runs what `launch` made: a terminal editor to its end, an editor with a window by itself.
#
# Never raises: whatever goes wrong is a message, because the caller may have lent its
# terminal away. Never uses a shell.

_FIRST_SIGNS_S = 0.1
"""How long a window may take to fail: `No such option` comes at once, success says nothing."""
_TERMINAL_SIGNALS = (signal.SIGINT, signal.SIGQUIT)


@dataclass(frozen=True, slots=True)
class OpenResult:
    """`message` is for the user: what was opened, or why not. Visible text, without a line break.

    `interrupted`: ctrl+c ended the editor.
    """

    ok: bool
    message: str
    interrupted: bool = False


def open_note(made: Launch, path: str, terminal: int | None = None) -> OpenResult:
    """Open an existing file; `terminal` is the descriptor that stands in for the three streams."""
    if not os.path.exists(path):
        return _outcome(f"{path} is no longer there", ok=False)
    try:
        code = _run(made, terminal) if made.kind == "terminal" else _detach(made)
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        return _outcome(f"{made.program} could not be started: {reason}", ok=False)
    if code:
        return _outcome(f"{made.program} {_ending(code)}", ok=False, interrupted=code == -signal.SIGINT)
    return _outcome(line_hint(made) or f"opened in {made.program}", ok=True)


def _run(made: Launch, terminal: int | None) -> int:
    with _deaf_to_the_terminal():
        return subprocess.run(
            made.argv, stdin=terminal, stdout=terminal, stderr=terminal, check=False
        ).returncode


@contextlib.contextmanager
def _deaf_to_the_terminal() -> Iterator[None]:
    """Keys that interrupt are the editor's. Handlers, not SIG_IGN: that one would be inherited."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = [(number, signal.signal(number, lambda *_: None)) for number in _TERMINAL_SIGNALS]
    try:
        yield
    finally:
        for number, handler in before:
            signal.signal(number, handler)


def _detach(made: Launch) -> int:
    """Start it in a session of its own; 0 unless it failed at once."""
    nowhere = subprocess.DEVNULL
    process = subprocess.Popen(
        made.argv, stdin=nowhere, stdout=nowhere, stderr=nowhere, start_new_session=True
    )
    try:
        return process.wait(_FIRST_SIGNS_S)
    except subprocess.TimeoutExpired:
        # It may run for hours; somebody has to take note of its end.
        threading.Thread(target=process.wait, name="editor", daemon=True).start()
        return 0


def _ending(code: int) -> str:
    if code > 0:
        return f"ended with exit code {code}"
    with contextlib.suppress(ValueError):
        return f"was ended by {signal.Signals(-code).name}"
    return f"was ended by signal {-code}"


def _outcome(text: str, *, ok: bool, interrupted: bool = False) -> OpenResult:
    return OpenResult(ok, visible(text).replace("\n", "␊"), interrupted)
