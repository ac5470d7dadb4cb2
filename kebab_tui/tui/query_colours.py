"""Colours a query as it is typed, from the engine's own reading of it.

Each role has a component class of the query box, so that a theme decides how it looks;
roles differ in more than colour there. Refuses to read the query a second time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from rich.highlighter import Highlighter
from rich.style import Style
from rich.text import Text

if TYPE_CHECKING:
    from kebab_tui.search.lexer import QueryToken
    from kebab_tui.search.query_language import ParsedQuery

ROLES = ("phrase", "prefix", "operator", "negation", "filter_key", "filter_value", "unknown_key", "raw")
"""The roles that look different from an ordinary word."""


def component(role: str) -> str:
    """The component class of a role."""
    return f"query-box--{role.replace('_', '-')}"


def painted(tokens: Iterable[QueryToken]) -> Iterator[tuple[int, int, str]]:
    """What is to be styled: start, end and component class."""
    for token in tokens:
        if token.role in ROLES:
            yield token.start, token.end, component(token.role)


class QueryColours(Highlighter):
    """Styles the text of an input; `style` looks a component class up."""

    def __init__(self, parse: Callable[[str], ParsedQuery], style: Callable[[str], Style]) -> None:
        self._parse = parse
        self._style = style

    def highlight(self, text: Text) -> None:
        for start, end, name in painted(self._parse(text.plain).tokens):
            text.stylize(self._style(name), start, end)
