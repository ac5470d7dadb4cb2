"""Cuts the text of a query into its pieces and says what each one is.

Every character that is not white space belongs to exactly one piece. Nothing is wrong
here: what cannot be a filter, a phrase or a parenthesis is a word.
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
    | (?P<key> -?(?i:{"|".join(FILTER_KEYS)}) ) : (?P<values> (?: "[^"]*(?:"|\Z) | [^\s()"] )* )
    | (?P<minus> -? ) " (?P<phrase> [^"]* ) (?P<quote> "|\Z )
    | (?P<word> [^\s()]+ )
    """,
    re.VERBOSE,
)
_VALUE = re.compile(r'"([^"]*)"?|([^,"]+)')
_OPERATORS = frozenset({"AND", "OR", "NOT"})


@dataclass(frozen=True, slots=True)
class QueryToken:
    """A stretch of the query's text, to be coloured by its role."""

    start: int
    end: int
    role: Role


@dataclass(frozen=True, slots=True)
class Piece:
    """`text` is the bare content; `values` and `key` belong to a filter."""

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
        yield _piece(match)


def _piece(match: re.Match[str]) -> Piece:
    start, end = match.span()
    if opening := match["opening"]:
        return Piece("opening", start, end, negated=opening[0] == "-")
    if match["closing"]:
        return Piece("closing", start, end)
    if key := match["key"]:
        return Piece(
            "filter", start, end, negated=key[0] == "-", key=key.lstrip("-").lower(), values=_values(match)
        )
    if match["phrase"] is not None:
        closed = bool(match["quote"])
        return Piece("phrase", start, end, match["phrase"], bool(match["minus"]), closed)
    return _word(match["word"], start, end)


def _values(match: re.Match[str]) -> tuple[str, ...]:
    found = (quoted or bare for quoted, bare in _VALUE.findall(match["values"]))
    return tuple(value.strip() for value in found if value.strip())


def _word(word: str, start: int, end: int) -> Piece:
    if word in _OPERATORS:
        return Piece("operator", start, end, word)
    negated = len(word) > 1 and word[0] == "-" and word[1] != "-"
    bare = word[1:] if negated else word
    if bare.endswith("*"):
        return Piece("prefix", start, end, bare.rstrip("*"), negated)
    return Piece("word", start, end, bare, negated, closed=False)
