"""Completes the end of a query: a filter's key, or the value after it.

What is offered extends the text as it stands and changes no character of it: a value
with a space is offered only where a quote is open or nothing is typed yet. Finds the
place by the engine's tokens; knows no grammar of its own beyond the commas of a value. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kebab_tui.search.filter_keys import Completions
    from kebab_tui.search.lexer import QueryToken

_LAST_VALUE = re.compile(r'(?:(?:"[^"]*"|[^,"]*),)*(?P<quote>"?)(?P<typed>[^",]*)')
_NEEDS_QUOTES = re.compile(r'[\s,"()]')
_NEGATABLE = ("tag", "path")
_SHORTEST_KEY = 2


def complete(text: str, tokens: Sequence[QueryToken], known: Completions) -> str | None:
    """The text with its end completed; None when there is nothing to offer."""
    if not tokens or tokens[-1].end != len(text):
        return None
    last = tokens[-1]
    if last.role == "filter_key":
        return _value(text, text[last.start :], "", known)
    if last.role == "filter_value" and len(tokens) > 1:
        key = tokens[-2]
        return _value(text, text[key.start : key.end], text[last.start :], known)
    if last.role in ("word", "negation"):
        return _key(text, text[last.start :], known)
    return None


def _key(text: str, typed: str, known: Completions) -> str | None:
    """A key is offered for its beginning only: whole, `before` and `type` are ordinary words."""
    begun = typed.removeprefix("-").lower()
    keys = _NEGATABLE if typed.startswith("-") else tuple(known.values)
    if len(begun) < _SHORTEST_KEY:
        return None
    found = next((key for key in keys if key.startswith(begun) and key != begun), None)
    return None if found is None else f"{text}{found[len(begun) :]}:"


def _value(text: str, key: str, written: str, known: Completions) -> str | None:
    last = _LAST_VALUE.fullmatch(written)
    values = known.values.get(key.strip("-:").lower(), ())
    if last is None:
        return None
    typed, is_quoted = last["typed"], bool(last["quote"])
    taken = {value.strip('"').lower() for value in written[: last.start("typed")].split(",")}
    for value in values:
        if value.lower() not in taken and _begins(value, typed) and len(value) > len(typed):
            rest = _rest(value, typed, is_quoted)
            if rest is not None:
                return text + rest
    return None


def _begins(value: str, typed: str) -> bool:
    return value[: len(typed)].lower() == typed.lower()


def _rest(value: str, typed: str, is_quoted: bool) -> str | None:
    """What is still to be written of a value; None when it cannot be continued from what is typed."""
    rest = value[len(typed) :]
    if is_quoted:
        return None if '"' in value else f'{rest}"'
    if not _NEEDS_QUOTES.search(value):
        return rest
    return f'"{value}"' if not typed and '"' not in value else None
