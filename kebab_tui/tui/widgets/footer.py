"""The footer: the keys that work in the focused pane.

One row, painted at once: the library's footer creates a widget per key again at every
change of bindings, which is slow. A click works like the key.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

from rich.cells import cell_len
from rich.segment import Segment
from textual.binding import Binding
from textual.events import Click
from textual.screen import Screen
from textual.strip import Strip
from textual.widget import Widget

from kebab_tui.tui.actions import Actions, ScreenName, Section, actions_on, first_key, footer_key
from kebab_tui.tui.widgets.segments import DOT

_WIDE = 98
"""From this width on, the keys are two cells apart."""
_SECTIONS: dict[str, Section] = {"hits": "Hits", "preview": "Preview", "explain": "Explain"}
"""Sections of the registry by the id of their pane."""


@dataclass(frozen=True, slots=True)
class PlacedKey:
    """A key and its cells, `end` exclusive."""

    binding: Binding
    start: int
    end: int


def key_row(bindings: Iterable[Binding], width: int) -> tuple[PlacedKey, ...]:
    """As many keys as fit side by side."""
    placed: list[PlacedKey] = []
    at, gap = 0, _gap(width)
    for binding in bindings:
        end = at + cell_len(binding.key_display or binding.key) + 1 + cell_len(binding.description)
        if end > width:
            break
        placed.append(PlacedKey(binding, at, end))
        at = end + gap
    return tuple(placed)


def _gap(width: int) -> int:
    return 2 if width >= _WIDE else 1


def offered(actions: Actions, active: Iterable[Binding], section: Section | None) -> tuple[Binding, ...]:
    """One key of each available action of the footer, the most important action first.

    `section` is that of the focused pane. A key of the normal mode of vim keys, if it works
    now, is shown instead of the others.
    """
    working: dict[str, dict[str, Binding]] = {}
    for binding in active:
        working.setdefault(binding.action, {})[binding.key_display or binding.key] = binding
    in_footer = [action for action in actions if action.in_footer and action.call in working]
    shown = [action for action in in_footer if not action.in_pane or action.section == section]
    shown.sort(key=lambda action: (not action.in_pane, action.in_footer))
    found: list[Binding] = []
    for action in shown:
        keys = working[action.call]
        found += [keys[key] for key in map(footer_key, (*action.vim, *action.all_keys)) if key in keys][:1]
    return tuple(found)


def footer_text(actions: Actions, screen: ScreenName) -> str:
    """The keys of a screen for the border of its frame."""
    ranked = (action for action in actions_on(actions, screen) if action.in_footer)
    return f" {DOT} ".join(f"{first_key(actions, action.id)} {action.label}" for action in ranked)


class KeysLine(Widget):
    ALLOW_SELECT = False  # Textual would copy the name of the widget
    COMPONENT_CLASSES: ClassVar[set[str]] = {"keys-line--key"}
    DEFAULT_CSS = """
    KeysLine {
        height: 1;
        color: $footer-description-foreground;
        background: $footer-background;
        & > .keys-line--key { color: $footer-key-foreground; text-style: bold; }
    }
    """

    def __init__(
        self,
        actions: Actions,
        *,
        id: str | None = None,  # noqa: A002 -- the library's own name for it
    ) -> None:
        super().__init__(id=id)
        self._actions = actions
        self._offered: tuple[Binding, ...] = ()

    @property
    def keys(self) -> tuple[PlacedKey, ...]:
        return key_row(self._offered, self.content_size.width)

    def on_mount(self) -> None:
        self.screen.bindings_updated_signal.subscribe(self, self._bindings_changed)

    def _bindings_changed(self, screen: Screen[object]) -> None:
        pane = screen.focused.id if screen.focused is not None else None
        working = (active.binding for active in screen.active_bindings.values())
        keys = offered(self._actions, working, _SECTIONS.get(pane or ""))
        if keys != self._offered:
            self._offered = keys
            self.refresh()

    def render_line(self, y: int) -> Strip:
        width, label = self.content_size.width, self.rich_style
        key = self.get_visual_style("keys-line--key").rich_style
        segments: list[Segment] = []
        for placed in self.keys if y == 0 else ():
            name = placed.binding.key_display or placed.binding.key
            gap = " " * _gap(width) if segments else ""
            segments += [
                Segment(gap, label),
                Segment(name, key),
                Segment(f" {placed.binding.description}", label),
            ]
        return Strip(segments).adjust_cell_length(width, label)

    def on_click(self, event: Click) -> None:
        place = event.get_content_offset(self)
        for placed in self.keys:
            if place is not None and placed.start <= place.x < placed.end:
                event.stop()
                self.app.simulate_key(placed.binding.key)
