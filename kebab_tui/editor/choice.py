"""Which editor is meant: the settings, then KEBAB_EDITOR, VISUAL, EDITOR, then what is installed.

An editor that was named is taken at its word: one that is missing is an error with the
name of who named it, never a reason to open another. Words are split as a shell would
split them, but no shell ever sees them: no variable, glob or operator in them works.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kebab_tui.editor.errors import EditorError
from kebab_tui.editor.launch import Kind, Launch, is_template, launch, launch_template, unknown_placeholder

if TYPE_CHECKING:
    from kebab_tui.settings.settings import EditorSettings

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
