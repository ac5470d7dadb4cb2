"""The theme, layout and wrapping chosen on the screen, kept in the data folder.

The command line wins over the configuration, which wins over the kept choices. The file is
replaced atomically and readable by its owner only. A damaged file counts as missing; if it
cannot be written, a choice lasts for the session.
"""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass, fields, replace
from typing import Any

import msgspec

from kebab_tui import own_files
from kebab_tui.domain.errors import UsageError
from kebab_tui.settings.settings import ScreenSettings
from kebab_tui.tui.layout import LayoutName
from kebab_tui.tui.themes import THEMES

FILE = "screen.json"
_LARGEST = 4096


@dataclass(frozen=True, slots=True)
class Choices:
    theme: str = ""
    """One of `THEMES`; empty: the default."""
    layout: LayoutName = "auto"
    wrap: bool = True
    """Whether the preview wraps long lines."""
    keeps_samples: bool = False
    """Whether the user was asked about sample notes among other notes."""


def starting_choices(folder: str, settings: ScreenSettings, theme: str = "") -> Choices:
    """The choices at the start; `theme` is that of the command line."""
    named = {"--theme": theme, "[screen] theme": settings.theme}
    for place, name in named.items():
        if name and name not in THEMES:
            raise UsageError(f"{place}: unknown theme: {name!r}", f"the themes are: {', '.join(THEMES)}")
    choices = replace(_read(folder), **_fixed(settings))
    return replace(choices, theme=theme) if theme else choices


def keep(folder: str, settings: ScreenSettings, before: Choices, after: Choices) -> list[str]:
    """Keep the changes; returns the names of those that the configuration overrides, which are not kept."""
    names = [field.name for field in fields(Choices)]
    changes = {name: getattr(after, name) for name in names if getattr(after, name) != getattr(before, name)}
    fixed = [name for name in changes if name in _fixed(settings)]
    for name in fixed:
        del changes[name]
    if changes:
        data = msgspec.json.encode(replace(_read(folder), **changes))  # another window may have kept others
        with contextlib.suppress(OSError):
            own_files.replace(os.path.join(folder, FILE), data, synced=False)
    return fixed


def _read(folder: str) -> Choices:
    try:
        kept = msgspec.convert(own_files.read_json(os.path.join(folder, FILE), _LARGEST), Choices)
    except (OSError, ValueError):
        return Choices()
    return kept if kept.theme in THEMES else replace(kept, theme="")


def _fixed(settings: ScreenSettings) -> dict[str, Any]:
    """The choices that the configuration makes."""
    chosen = {"theme": settings.theme, "layout": settings.layout, "wrap": settings.wrap}
    return {name: value == "on" if name == "wrap" else value for name, value in chosen.items() if value}
