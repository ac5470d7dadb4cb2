"""Lexer of the query language.

Every character except white space belongs to exactly one piece. There are no errors:
text that cannot be a filter, a phrase or a parenthesis is a word.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from kebab_tui.search.filter_keys import FILTER_KEYS

PieceKind = Literal["word", "prefix", "phrase", "operator", "opening", "closing", "filter"]
Role = Literal[
    "word", "phrase", "prefix", "operator", "negation", "filter_key", "filter_value", "unknown_key", "raw"
]

_PIECE = re.compile(
    rf"""
      (?P<opening> -?\( )
    | (?P<closing> \) )
    | (?P<key> -?(?ai:{"|".join(FILTER_KEYS)}) ) : (?P<values> (?: "[^"]*(?:"|\Z) | [^\s()"] )* )
    | (?P<minus> -? ) " (?P<phrase> [^"]* ) (?P<quote> "|\Z )
    | (?P<word> [^\s()]+ )
    """,
    re.VERBOSE,
)
_VALUE = re.compile(r'"([^"]*)"?|([^,"]+)')
_OPERATORS = frozenset({"AND", "OR", "NOT"})


@dataclass(frozen=True, slots=True)
class QueryToken:
    """A range of the query's text with its role, for syntax colouring."""

    start: int
    end: int
    role: Role


@dataclass(frozen=True, slots=True)
class Piece:
    """`text` is the content without quotes, star or minus; only a filter has `key` and `values`."""

    kind: PieceKind
    start: int
    end: int
    text: str = ""
    negated: bool = False
    closed: bool = True
    key: str = ""
    values: tuple[str, ...] = ()


def pieces(text: str) -> Iterator[Piece]:
    """Cut `text` from left to right."""
    for match in _PIECE.finditer(text):
        start, end = match.span()
        if opening := match["opening"]:
            yield Piece("opening", start, end, negated=opening[0] == "-")
        elif match["closing"]:
            yield Piece("closing", start, end)
        elif key := match["key"]:
            found = (quoted or bare for quoted, bare in _VALUE.findall(match["values"]))
            values = tuple(value.strip() for value in found if value.strip())
            yield Piece(
                "filter", start, end, negated=key[0] == "-", key=key.lstrip("-").lower(), values=values
            )
        elif match["phrase"] is not None:
            closed = bool(match["quote"])
            yield Piece("phrase", start, end, match["phrase"], bool(match["minus"]), closed)
        elif (word := match["word"]) in _OPERATORS:
            yield Piece("operator", start, end, word)
        else:
            negated = len(word) > 1 and word[0] == "-" and word[1] != "-"
            bare = word[1:] if negated else word
            if bare.endswith("*"):
                yield Piece("prefix", start, end, bare.rstrip("*"), negated)
            else:
                yield Piece("word", start, end, bare, negated, closed=False)
