"""What may stand in the query box, and where its words begin. Pure.

The text is one line, free of anything that a terminal would obey, and at most 5,000
characters: more than the engine reads, so that it is the engine who says what it left
out.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from kebab_tui.domain.text import visible

if TYPE_CHECKING:
    from kebab_tui.search.lexer import QueryToken

LONGEST = 5_000
_MOST_READ = 4 * LONGEST
"""What is looked at of a pasted text: enough to fill the box when most of it is white space."""
_LINE_BREAKERS = str.maketrans("\t\n", "  ")
_SPACES = re.compile(r"\s+")
_WORD = re.compile(r"\S+\s*\Z")


def speakable(text: str) -> str:
    """The text with a space for every character that is not plain text; as long as before, or cut."""
    text = text[:LONGEST].translate(_LINE_BREAKERS)
    shown = visible(text)
    if shown == text:
        return text
    return "".join(char if char == safe else " " for char, safe in zip(text, shown, strict=True))


def flattened(text: str, room: int) -> str:
    """A pasted text as one line of at most `room` characters."""
    return _SPACES.sub(" ", text[:_MOST_READ].strip("\r\n"))[: max(room, 0)]


def word_start(text: str, tokens: Sequence[QueryToken]) -> int:
    """Where the last word of `text` begins; a filter's key and value are one word.

    `tokens` are those of the text without the spaces at its end.
    """
    end = len(text.rstrip())
    if tokens and tokens[-1].end == end and tokens[-1].role in ("filter_key", "filter_value"):
        return next(token.start for token in reversed(tokens) if token.role == "filter_key")
    last = _WORD.search(text)
    return last.start() if last else 0
