"""The command palette: finds actions of the registry and themes by name, and runs them.

An action runs as its key does, on the screen below. A theme is shown on the whole screen while
the cursor is on it; Enter keeps it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from textual import on

from kebab_tui.domain.keyboard import is_hangul, keys_of
from kebab_tui.tui.actions import Actions, Facts, ScreenName, actions_on, available
from kebab_tui.tui.keys import shown_all
from kebab_tui.tui.screens.framed import FramedList, FramedRow, FramedScreen
from kebab_tui.tui.themes import SHORT, THEMES, apply_theme
from kebab_tui.tui.widgets.segments import Row, Segment

_MOST_RECENT = 5
_NOT_COMMON = 100
_THEME_NAME = 4
"""Cost of a theme's name."""


@dataclass(frozen=True, slots=True)
class Command:
    """An entry: an action of the registry, or a theme."""

    id: str
    label: str
    help: str
    detail: str
    """Its keys."""
    call: str = ""
    """What Textual runs."""
    in_footer: int = 0
    """Its place in the footer; 0: none."""
    theme: str = ""


def commands(actions: Actions, facts: Facts, screen: ScreenName = "Main") -> Iterator[Command]:
    """The available actions of a screen, without the palette itself."""
    for action in available(actions_on(actions, screen), facts):
        if action.id != "palette":
            keys = shown_all(action.all_keys)
            yield Command(action.id, action.label, action.help, keys, action.call, action.in_footer > 0)


def themes(current: str) -> Iterator[Command]:
    """A command for each theme; the current one first, then our own."""
    for name in sorted(THEMES, key=lambda name: SHORT.get(name, name) != current):
        full = SHORT.get(name, name)
        is_current = full == current
        yield Command(f"theme_{name}", f"Theme: {full}", "", "current" if is_current else "", theme=name)


@dataclass(frozen=True, slots=True)
class Match:
    """How well a text matches a command, less is better, and which characters of the label match."""

    cost: int
    at: frozenset[int] = frozenset()


def match_command(text: str, command: Command) -> Match | None:
    """Match every word of the text with label, id or help; None if one does not match.

    Hangul stands for the letters on the same keys.
    """
    cost, at = 0, frozenset[int]()
    for typed in text.split():
        word = (keys_of(typed) if is_hangul(typed) else typed).casefold()
        found = _match_word(word, command)
        if found is None:
            return None
        # An action before a theme whose name happens to match: the theme would be shown at once.
        cost += found.cost + (_THEME_NAME if command.theme and not "theme".startswith(word) else 0)
        at |= found.at
    if command.label.casefold() == text.strip().casefold():
        cost -= 1
    return Match(cost, at)


def _match_word(word: str, command: Command) -> Match | None:
    label, help_text = command.label.casefold(), command.help.casefold()
    starts = [at for at in range(len(label)) if at == 0 or not label[at - 1].isalnum()]
    for number, at in enumerate(starts):
        if label.startswith(word, at):
            return Match(min(number, 1), frozenset(range(at, at + len(word))))
    if any(part.startswith(word) for part in command.id.split("_")):
        return Match(2)
    if "".join(label[at] for at in starts).startswith(word):
        return Match(3, frozenset(starts[: len(word)]))
    if any(part.startswith(word) for part in help_text.split()):
        return Match(4)
    if (at := label.find(word)) >= 0:
        return Match(5, frozenset(range(at, at + len(word))))
    if word in command.id or word in help_text:
        return Match(6)
    places, at = set[int](), -1
    for character in word:
        if (at := label.find(character, at + 1)) < 0:
            return None
        places.add(at)
    return Match(7, frozenset(places))


def ranked(text: str, known: Iterable[Command], recent: Sequence[str]) -> list[tuple[Command, Match]]:
    """The commands that match, the best first; for an empty text recent ones, then common ones."""
    found = [(command, one) for command in known if (one := match_command(text, command)) is not None]
    if text.strip():
        return sorted(found, key=lambda pair: pair[1].cost)
    places = {command_id: place for place, command_id in enumerate(recent)}
    return sorted(
        found, key=lambda pair: (places.get(pair[0].id, len(places)), pair[0].in_footer or _NOT_COMMON)
    )


class Palette(FramedScreen[None]):
    DEFAULT_CSS = """
    Palette.-theme { background: transparent; }
    """
    screen_name: ClassVar[ScreenName] = "Palette"

    def __init__(
        self,
        actions: Actions,
        known: Iterable[Command],
        recent: list[str],
        keep_theme: Callable[[str], None],
    ) -> None:
        """`recent`: ids of the commands that ran last, to which the palette adds."""
        super().__init__(actions, "commands", placeholder="type a command")
        self._known = tuple(known)
        self._recent = recent
        self._keep_theme = keep_theme
        self._found: list[Command] = []
        self._theme = ""
        """The theme before any preview."""

    def on_mount(self) -> None:
        self._theme = self.app.theme

    def find(self, text: str) -> None:
        found = ranked(text, self._known, self._recent)
        self._found = [command for command, _ in found]
        rows = [
            FramedRow(_label(command, one.at), command.detail, more=command.help) for command, one in found
        ]
        self.show(text, rows, empty="no such command")

    @on(FramedList.CursorMoved)
    def _preview_theme(self) -> None:
        place = self.rows.cursor
        theme = self._found[place].theme if 0 <= place < len(self._found) else ""
        self.set_class(bool(theme), "-theme")  # the screen below is not dimmed
        apply_theme(self.app, theme or self._theme)

    def choose(self, place: int) -> None:
        command = self._found[place]
        self._recent[:] = [command.id, *(one for one in self._recent if one != command.id)][:_MOST_RECENT]
        if command.theme:
            apply_theme(self.app, command.theme)  # Enter may come before the preview
            self._keep_theme(command.theme)
            self.dismiss()
        else:
            self.action_close()
            self.app.call_next(self.app.run_action, command.call)

    def action_close(self) -> None:
        self._found = []  # nothing to preview any more
        apply_theme(self.app, self._theme)
        self.dismiss()


def _label(command: Command, matched: frozenset[int]) -> Row:
    """The label with its matching characters."""
    return tuple(
        Segment(character, "match" if place in matched else "plain")
        for place, character in enumerate(command.label)
    )
