"""The table of keys, generated from the registry of actions."""

from __future__ import annotations

from kebab_tui.tui.actions import ACTIONS, SECTIONS, Actions
from kebab_tui.tui.keys import shown

BEGIN, END = "<!-- keys -->", "<!-- /keys -->"


def key_table(actions: Actions = ACTIONS) -> str:
    """A Markdown table: each action with its keys, and those of the normal mode of vim keys."""
    lines = ["| | keys | vim | `[keys]` |", "|---|---|---|---|"]
    for section in SECTIONS:
        lines.append(f"| **{section}** | | | |")
        for action in actions:
            if action.section == section:
                keys = _cell((*action.everywhere, *action.query, *action.lists, *action.panel))
                lines.append(f"| {action.help} | {keys} | {_cell(action.vim)} | `{action.id}` |")
    return "\n".join(lines)


def with_key_table(text: str) -> str:
    """A document with the table between its markers; unchanged without markers."""
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    return f"{before}{begin}\n{key_table()}\n{end}{after}" if end else text


def _cell(keys: tuple[str, ...]) -> str:
    # A bar ends the cell even inside a code span.
    return " ".join(f"`{shown(key)}`".replace("|", r"\|") for key in keys)
