"""The match tree: which chunks a search wants, without the syntax of any storage engine.

The leaves, its terms, are what a ranking scores and an explanation lists. The index folds and stems
their text as it does a note's. `columns` names the fields to look in; empty means any.

A raw query becomes a tree too. What the tree cannot say stays text (`Raw`), which SQLite reads itself.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import TypeAlias

from kebab_tui.domain.tokens import plain_words


@dataclass(frozen=True, slots=True)
class Word:
    text: str
    columns: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class Phrase:
    """Adjacent words."""

    text: str
    columns: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class Prefix:
    """Adjacent words, the last of which may go on."""

    text: str
    columns: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        return f"{self.text}*"


@dataclass(frozen=True, slots=True)
class Gram:
    """Adjacent tokens of the field `grams`; with `prefix` the last one may go on.

    `parts` are the stretches of text that they stand for; `marked`: one name with marks, such as c++.
    """

    text: str
    prefix: bool = False
    parts: tuple[str, ...] = field(default=(), compare=False)
    marked: bool = field(default=False, compare=False)

    @property
    def label(self) -> str:
        return " ".join(self.parts)


@dataclass(frozen=True, slots=True)
class Any:
    parts: tuple[Match, ...]


@dataclass(frozen=True, slots=True)
class All:
    parts: tuple[Match, ...]


@dataclass(frozen=True, slots=True)
class Not:
    """What matches `part` and does not match `without`."""

    part: Match
    without: Match


@dataclass(frozen=True, slots=True)
class Raw:
    """FTS5 syntax, which SQLite alone reads; another engine refuses `operator` by name.

    `operator`: NEAR or a character; empty if the text is invalid, which SQLite explains.
    """

    text: str
    operator: str


Term: TypeAlias = Word | Phrase | Prefix | Gram
Match: TypeAlias = Term | Any | All | Not | Raw


def any_of(parts: tuple[Match, ...]) -> Match:
    """Any of one or more."""
    return Any(parts) if len(parts) > 1 else parts[0]


def all_of(parts: tuple[Match, ...]) -> Match:
    """All of one or more."""
    return All(parts) if len(parts) > 1 else parts[0]


def terms(match: Match) -> tuple[Term, ...]:
    """The wanted words and phrases, from left to right."""
    if isinstance(match, Any | All):
        return tuple(term for part in match.parts for term in terms(part))
    if isinstance(match, Not):
        return terms(match.part)
    return () if isinstance(match, Raw) else (match,)


def implies(match: Match, other: Match) -> bool:
    """Whether their form shows that what matches the one matches the other."""
    if match == other:
        return True
    if isinstance(match, All) and any(implies(part, other) for part in match.parts):
        return True
    return isinstance(other, Any) and any(implies(match, part) for part in other.parts)


# Raw queries

_DEEPEST = 16
_TOKEN = re.compile(
    r'[ \t\r\n]*(?:(?P<string>"(?:[^"]|"")*")|(?P<bare>[A-Za-z0-9_\x1a\x80-\U0010ffff]+)|(?P<other>.))',
    re.DOTALL,
)


class _NoTreeError(Exception):
    """The tree cannot express an operator; "" for a syntax error."""


def parse_raw(text: str) -> Match:
    """The tree of a raw query; `Raw` if the tree cannot express it or it is invalid."""
    try:
        return _RawReader(text).whole()
    except _NoTreeError as error:
        return Raw(text, str(error))


def _without(parts: tuple[Match, ...]) -> Match:
    if len(parts) > _DEEPEST:
        raise _NoTreeError("NOT")
    return reduce(Not, parts)


_LEVELS = (("OR", any_of), ("AND", all_of), ("NOT", _without))
"""The operators, from loose to tight."""


class _RawReader:
    """Recursive descent over FTS5's grammar."""

    def __init__(self, text: str) -> None:
        self._tokens: list[tuple[str, str]] = []
        """Kind and text; the kind of an operator is its text."""
        self._at = self._depth = 0
        for found in _TOKEN.finditer(text.rstrip(" \t\r\n")):
            if string := found["string"]:
                self._tokens.append(("string", string[1:-1].replace('""', '"')))
            elif bare := found["bare"]:
                self._tokens.append((bare if bare in {"AND", "OR", "NOT"} else "string", bare))
            else:
                self._tokens.append((found["other"], found["other"]))
        self._tokens.append(("end", ""))

    def whole(self) -> Match:
        found = self._joined()
        self._take("end")
        return found

    def _joined(self, level: int = 0) -> Match:
        if level == len(_LEVELS):
            return self._operand()
        operator, join = _LEVELS[level]
        found = [self._joined(level + 1)]
        while self._kind == operator:
            self._at += 1
            found.append(self._joined(level + 1))
        return join(tuple(found))

    def _operand(self) -> Match:
        """A group, or adjacent phrases, all of which are wanted."""
        columns = self._columns()
        if self._kind == "(":
            return self._group(columns)
        found = [self._phrase(columns)]
        while self._kind in {"string", "{", "-", "^"}:
            found.append(self._phrase(self._columns()))
        # FTS5 skips phrases without a word here, but nothing matches `a AND ""`.
        return all_of(tuple(one for one in found if plain_words(one.text)) or (found[0],))

    def _group(self, columns: tuple[str, ...]) -> Match:
        self._take("(")
        self._depth += 1
        if self._depth > _DEEPEST:
            raise _NoTreeError("(")
        found = self._joined()
        self._take(")")
        self._depth -= 1
        return _within(found, columns) if columns else found

    def _columns(self) -> tuple[str, ...]:
        """The names before a colon, if there are any."""
        if self._kind == "-":
            raise _NoTreeError("-")
        if self._kind == "{":
            self._at += 1
            names = [self._take("string")]
            while self._kind == "string":
                names.append(self._take("string"))
            self._take("}")
        elif self._kind == "string" and self._tokens[self._at + 1][0] == ":":
            names = [self._take("string")]
        else:
            return ()
        self._take(":")
        return tuple(names)

    def _phrase(self, columns: tuple[str, ...]) -> Word | Phrase | Prefix:
        if self._kind == "^":
            raise _NoTreeError("^")
        text = self._take("string")
        if self._kind == "(":
            raise _NoTreeError("NEAR" if text == "NEAR" else "")
        is_prefix = self._kind == "*"
        self._at += is_prefix
        if self._kind == "+":
            raise _NoTreeError("+")
        if is_prefix:
            return Prefix(text, columns)
        return Word(text, columns) if len(plain_words(text)) == 1 else Phrase(text, columns)

    @property
    def _kind(self) -> str:
        return self._tokens[self._at][0]

    def _take(self, kind: str) -> str:
        found, text = self._tokens[self._at]
        if found != kind:
            raise _NoTreeError("")
        self._at += 1
        return text


def _within(match: Match, columns: tuple[str, ...]) -> Match:
    """The same in these columns only."""
    if isinstance(match, Any | All):
        return replace(match, parts=tuple(_within(part, columns) for part in match.parts))
    if isinstance(match, Not):
        return Not(_within(match.part, columns), _within(match.without, columns))
    if not isinstance(match, Word | Phrase | Prefix) or match.columns:
        raise _NoTreeError(":")
    return replace(match, columns=columns)
