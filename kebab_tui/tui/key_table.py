"""The README's table of keys, written from the registry."""

from __future__ import annotations

from collections.abc import Iterator

from kebab_tui.tui.actions import ACTIONS, SECTIONS, Action
from kebab_tui.tui.key_names import shown

BEGIN, END = "<!-- keys -->", "<!-- /keys -->"


def key_table() -> str:
    """A Markdown table: the action, its keys in the query box, its keys in the lists."""
    return "\n".join(_lines())


def with_key_table(text: str) -> str:
    """A document with the table between its markers; without markers it stays as it is."""
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    return f"{before}{begin}\n{key_table()}\n{end}{after}" if end else text


def _lines() -> Iterator[str]:
    yield "| | in the query box | in the lists | `[keys]` |"
    yield "|---|---|---|---|"
    for section in SECTIONS:
        yield f"| **{section}** | | | |"
        for action in ACTIONS:
            if action.section == section:
                yield _line(action)


def _line(action: Action) -> str:
    return (
        f"| {action.help} | {_cell(action.keys('query'))} | {_cell(action.keys('lists'))} | `{action.id}` |"
    )


def _cell(keys: tuple[str, ...]) -> str:
    # A bar inside a code span would still end the cell of a table.
    return " ".join(f"`{shown(key)}`".replace("|", r"\|") for key in keys)
