"""From a glob of `path:` to an SQL condition that SQLite decides itself, by an index where it can.

The regular expression of a glob (`domain.text.glob_regex`) defines what passes. It ignores case as Unicode
has it, LIKE only that of ASCII. Hence two exceptions, which are rare: a pattern with other letters that have
a case, or with wildcards that LIKE does not know, asks Python about the notes that may pass; and a path with
one of four letters that fold to an ASCII letter is always left to Python. Runs no SQL.
"""

from __future__ import annotations

import unicodedata

from kebab_tui.domain.text import GLOB_GAP, GLOB_PIECE, GLOB_WILDCARD

ODD = "path GLOB '*[\u0130\u0131\u017f\u212a]*'"
"""Paths with a letter that folds to i, s or k: the partial index `documents_by_odd_path` has them."""
_ODD_LETTERS = frozenset("iskISK")

_Condition = tuple[str, list[str | float | bytes]]


def condition(pattern: str) -> _Condition:
    """The SQL condition on `d` that is true for exactly the notes whose path matches."""
    plain = unicodedata.normalize("NFC", pattern).removeprefix("./").lstrip("/")
    passes, values = _plain(plain) if not GLOB_WILDCARD.search(plain) else _with_wildcards(plain)
    if passes is None:
        passes, values = "d.path LIKE ? ESCAPE '\\' AND kebab_glob(?, d.path)", [*values, pattern]
    if _ODD_LETTERS.isdisjoint(plain):
        return passes, values
    odd = f"d.doc_id IN (SELECT doc_id FROM documents WHERE {ODD} AND kebab_glob(?, path))"
    return f"({passes}) OR {odd}", [*values, pattern]


def _plain(pattern: str) -> tuple[str | None, list[str | float | bytes]]:
    """A part of a path; with a slash, a file or all below a folder. Inexact: None and the pattern of LIKE."""
    name = pattern.rstrip("/")
    like = "".join(map(_like, name))
    if "/" not in pattern:
        return (None if _is_loose(name) else "d.path LIKE ? ESCAPE '\\'"), [f"%{like}%"]
    if _is_loose(name):
        return None, [f"{like}%"]
    below = "d.path >= ? COLLATE NOCASE AND d.path < ? COLLATE NOCASE"  # "0" is the character after "/"
    return f"d.path = ? COLLATE NOCASE OR ({below})", [name, f"{name}/", f"{name}0"]


def _with_wildcards(pattern: str) -> tuple[str | None, list[str | float | bytes]]:
    """The same for a pattern with wildcards.

    LIKE's `%` crosses folders. Where `*` and `?` are the only wildcards, a path with as many slashes as the
    pattern leaves none for them. `**` is `%`, and so is `**/*`, but `**/` ends at a slash.
    """
    likes, crosses, stays, exact = list[str](), False, False, not _is_loose(pattern)
    first, *rest = GLOB_GAP.split(pattern)
    for gap, part in zip(["", *rest[::2]], [first, *rest[1::2]], strict=True):
        if gap:
            likes.append("%")
            crosses = True
            if gap.endswith("/"):
                exact &= part.startswith("*")
                part = part.removeprefix("*")
        for number, segment in enumerate(part.split("/")):
            likes.append("/" * (number > 0))
            for piece in GLOB_PIECE.findall(segment):
                if piece == "*" or piece == "?":
                    stays = True
                    likes.append("%" if piece == "*" else "_")
                elif piece[0] == "[" and len(piece) > 2:
                    exact = False
                    likes.append("_")
                else:
                    likes += map(_like, piece)
    like = "".join(likes)
    if not exact or (crosses and stays):
        return None, [like]
    if crosses:
        return "d.path LIKE ? ESCAPE '\\'", [like]
    slashes = "length(d.path) - length(replace(d.path, '/', '')) = ?"
    return f"d.path LIKE ? ESCAPE '\\' AND {slashes}", [like, pattern.count("/")]


def _is_loose(text: str) -> bool:
    return any(map(_differs, text))


def _differs(letter: str) -> bool:
    """Whether LIKE and the regular expression may disagree about a letter of the pattern."""
    return letter == "\0" or (not letter.isascii() and (letter.lower() != letter or letter.upper() != letter))


def _like(letter: str) -> str:
    if _differs(letter):
        return "_"
    return f"\\{letter}" if letter in "%_\\" else letter
