"""Asks for a folder of notes: typed, with completion, or picked from those that are likely.

Lists folders only. The page ends with a path, or with `SAMPLE` for the sample notes; the application
counts the notes, asks about a very large folder, and indexes it.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import ClassVar

from kebab_tui.tui.actions import Actions, ScreenName
from kebab_tui.tui.screens.framed import FramedRow, FramedScreen
from kebab_tui.tui.widgets.segments import Segment, sanitize_line

SAMPLE = "\0sample"
"""Stands for the sample notes; no path contains a NUL character."""
_LIKELY = ("notes", "Notes", "Documents", "wiki", "vault", "zettelkasten", "org")
_MOST_ENTRIES = 5_000
_MOST_SHOWN = 200
_MOST_VAULTS = 10
_LARGEST = 1 << 20


class FolderPrompt(FramedScreen[str | None]):
    screen_name: ClassVar[ScreenName] = "Folder"

    def __init__(
        self, actions: Actions, title: str, is_note: Callable[[str], bool], *, typed: str = "", samples: bool
    ) -> None:
        """`is_note`: whether a file of this name is a note; `samples`: offer the sample notes."""
        super().__init__(actions, title, placeholder="path of a folder of notes, such as ~/notes")
        self._is_note = is_note
        self._typed = typed
        self._samples = samples
        self._paths: Sequence[str] = ()
        """What each row stands for; empty for a message."""

    def on_mount(self) -> None:
        if self._typed:
            self.typing_box.value = self._typed
            self.typing_box.cursor_position = len(self._typed)

    def find(self, text: str) -> None:
        rows = list(self._typed_rows(text) if text.strip() else self._likely_rows())
        self._paths = [path for path, _ in rows]
        self.show(text, [row for _, row in rows])

    def _likely_rows(self) -> Iterator[tuple[str, FramedRow]]:
        for path, why in likely_folders(self._is_note):
            yield path, FramedRow((Segment(shown(path)),), why)
        if self._samples:
            yield SAMPLE, FramedRow((Segment("Sample notes"),), "try kebab on them")

    def _typed_rows(self, text: str) -> Iterator[tuple[str, FramedRow]]:
        problem, folders = completions(text)
        if problem:
            yield "", FramedRow((Segment(sanitize_line(problem), "warning"),), is_heading=True)
        for number, path in enumerate(folders):
            is_typed = number == 0 and path == expanded(text)
            yield path, FramedRow((Segment(shown(path)),), "this folder" if is_typed else "")

    def choose(self, place: int) -> None:
        if self._paths[place]:
            self.dismiss(self._paths[place])

    def action_complete(self) -> None:
        """Go on typing below the selected folder; with one typed already, below the next row."""
        self.catch_up()
        place = self.rows.cursor
        if 0 <= place < len(self._paths):
            path = self._paths[place]
            if path == expanded(self.typing_box.value) and self.typing_box.value.endswith("/"):
                path = next((one for one in self._paths[place + 1 :] if one), path)
            if path and path != SAMPLE:
                self.typing_box.value = shown(path).rstrip("/") + "/"
                self.typing_box.cursor_position = len(self.typing_box.value)


def expanded(text: str) -> str:
    """The absolute path of a typed one, without a slash at its end."""
    return os.path.abspath(os.path.expanduser(text.strip()))


def shown(path: str) -> str:
    """A path with `~` for the home folder."""
    home = os.path.expanduser("~").rstrip("/")
    return f"~{path[len(home) :]}" if home and f"{path}/".startswith(f"{home}/") else path


def completions(text: str) -> tuple[str, list[str]]:
    """Why the typed path is no folder, or empty; then it and the folders that it may become."""
    path = expanded(text)
    ends = text.strip().endswith("/") or text.strip() in ("~", ".", "..")
    problem = ""
    found = [path] if os.path.isdir(path) else []
    above, begun = (path, "") if ends else os.path.split(path)
    try:
        inner = _folders_in(above, begun)
    except FileNotFoundError:
        return f"folder not found: {shown(above)}", found
    except NotADirectoryError:
        return f"not a folder: {shown(above)}", found
    except PermissionError:
        return f"permission denied: {shown(above)}", []
    except (OSError, ValueError) as error:
        return f"cannot read {shown(above)}: {error}", found
    found += [one for one in inner if one not in found]
    if not found:
        problem = f"{'not a folder' if os.path.exists(path) else 'folder not found'}: {shown(path)}"
    return problem, found


def _folders_in(folder: str, begun: str) -> list[str]:
    """The folders whose names begin so; hidden ones only if a dot is typed."""
    with os.scandir(folder) as entries:
        names = [
            entry.name
            for entry in islice(entries, _MOST_ENTRIES)
            if entry.name.casefold().startswith(begun.casefold())
            and (begun.startswith(".") or not entry.name.startswith("."))
            and entry.is_dir()
        ]
    return [os.path.join(folder, name) for name in sorted(names, key=str.casefold)[:_MOST_SHOWN]]


def likely_folders(is_note: Callable[[str], bool]) -> Iterator[tuple[str, str]]:
    """The current folder if it has notes, Obsidian's vaults, and folders with usual names, each once."""
    home = os.path.expanduser("~")
    seen = {os.path.realpath(home)}

    def new(path: str) -> bool:
        real = os.path.realpath(path)
        is_new = real not in seen and os.path.isdir(path)
        seen.add(real)
        return is_new

    try:
        here = os.getcwd()
    except OSError:  # it was removed
        here = ""
    if here and _has_notes(here, is_note) and new(here):
        yield here, "current folder"
    for vault in obsidian_vaults(home):
        if new(vault):
            yield vault, "Obsidian vault"
    for name in _LIKELY:
        if new(os.path.join(home, name)):
            yield os.path.join(home, name), ""


def _has_notes(folder: str, is_note: Callable[[str], bool]) -> bool:
    try:
        with os.scandir(folder) as entries:
            return any(is_note(entry.name) and entry.is_file() for entry in islice(entries, _MOST_ENTRIES))
    except OSError:
        return False


def obsidian_vaults(home: str) -> list[str]:
    """The folders that Obsidian has opened, the last one first, by its own configuration."""
    config = os.environ.get("XDG_CONFIG_HOME") or os.path.join(home, ".config")
    if sys.platform == "darwin":
        config = os.path.join(home, "Library", "Application Support")
    try:
        with open(os.path.join(config, "obsidian", "obsidian.json"), "rb") as file:
            vaults = json.loads(file.read(_LARGEST))["vaults"].values()
        opened = sorted(vaults, key=lambda vault: -float(vault.get("ts", 0)))
        return [str(vault["path"]) for vault in opened[:_MOST_VAULTS] if os.path.isabs(str(vault["path"]))]
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return []
