"""From (command, path, line, column) to what is to be run. Pure: starts nothing, looks at no disk.

Arguments are a list and never pass a shell. The path is absolute, so none of its
characters can be read as an option. Lines and columns are 1-based, columns count
characters. A program that is not in the table gets the file only: a wrong line argument
is worse than none. So does one that is told the line as `path:line`, when the path
itself could be read so.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

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


class Manner(NamedTuple):
    """How a family of programs is told a place; `at_column` where it differs from the first column."""

    kind: Kind
    words: Words
    at_column: Words = ()


_VIM = Manner("terminal", ("+{line}", "--", "{path}"), ("+{line}", "+normal! 0{skip}l", "--", "{path}"))
"""Column by column: `cursor()` counts bytes, and a Korean letter has three."""
_COLON = "{path}:{line}:{column}"
_PLUS = ("+{line}", "{path}")
_PLUS_COLON = ("+{line}:{column}", "{path}")
_FLAGS = ("--line", "{line}", "--column", "{column}", "{path}")
_JETBRAINS = "idea pycharm webstorm goland clion rider phpstorm rubymine rustrover datagrip"

_FAMILIES: tuple[tuple[str, Manner], ...] = (
    ("vi vim nvim lvim view vimx rvim", _VIM),
    ("nano rnano", Manner("terminal", ("+{line},{column}", "{path}"))),
    ("kak", Manner("terminal", ("+{line}:{column}", "--", "{path}"))),
    ("micro emacs emacsclient", Manner("terminal", _PLUS_COLON)),
    ("hx helix", Manner("terminal", (_COLON,))),
    ("joe rjoe jmacs jstar jpico", Manner("terminal", ("+{line}", "{escaped}"))),
    ("ne mg jed pico nvi vile elvis zile mcedit", Manner("terminal", _PLUS)),
    (
        "code code-insiders codium vscodium cursor windsurf trae antigravity",
        Manner("gui", ("-r", "-g", _COLON)),
    ),
    ("zed zeditor subl sublime_text atom pulsar", Manner("gui", (_COLON,))),
    (f"{_JETBRAINS} {_JETBRAINS.replace(' ', '64 ')}64", Manner("gui", _FLAGS)),
    ("kate kwrite geany", Manner("gui", _FLAGS)),
    ("mate rmate xed", Manner("gui", ("--line", "{line}", "{path}"))),
    ("gvim mvim gview", Manner("gui", _VIM.words, _VIM.at_column)),
    ("gedit", Manner("gui", _PLUS_COLON)),
    ("bbedit pluma", Manner("gui", _PLUS)),
    ("notepad++", Manner("gui", ("-n{line}", "-c{column}", "{path}"))),
)
MANNERS = {name: manner for names, manner in _FAMILIES for name in names.split()}
"""Program -> how it is told a place."""

_UNKNOWN = Manner("terminal", ("{path}",))
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
