"""Joins the pieces of a query into a tree.

An operator counts where it has something on both sides, otherwise it is a word; the
last one of a query is a sentence not yet finished and says nothing. Parentheses count
when they are balanced and not absurdly deep, otherwise they are spaces.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from kebab_tui.search.terms import All, Any, Leaf, LeafKind, Node, Not
from kebab_tui.search.tokens import Piece

_DEEPEST = 16


def grouped(found: Sequence[Piece], length: int) -> tuple[Node | None, frozenset[Piece]]:
    """Build the tree; also say which pieces act as operators. `length`: of the whole text."""
    if not _balanced(found):
        found = [piece for piece in found if piece.kind not in {"opening", "closing"}]
    joined = _operators(found)
    acting = frozenset(piece for piece in joined if piece.kind in {"operator", "opening", "closing"})
    return _Reader(_finished(joined), length).any(), acting


def _balanced(found: Sequence[Piece]) -> bool:
    depth = 0
    for piece in found:
        depth += (piece.kind == "opening") - (piece.kind == "closing")
        if not 0 <= depth <= _DEEPEST:
            return False
    return depth == 0


def _operators(found: Sequence[Piece]) -> list[Piece]:
    joined: list[Piece] = []
    for i, piece in enumerate(found):
        if piece.kind != "operator":
            joined.append(piece)
            continue
        before = bool(joined) and _ends(joined[-1])
        last = i + 1 == len(found)
        if _and_not(joined, piece) or (before and (last or _goes_on(found, i))):
            joined.append(piece)
        else:
            joined.append(replace(piece, kind="word"))
    return joined


def _finished(joined: Sequence[Piece]) -> Sequence[Piece]:
    return joined[:-1] if joined and joined[-1].kind == "operator" else joined


def _ends(piece: Piece) -> bool:
    return piece.kind not in {"operator", "opening"}


def _goes_on(found: Sequence[Piece], i: int) -> bool:
    """Whether something to look for follows the operator at `i`, perhaps behind AND NOT."""
    if i + 1 == len(found):
        return False
    following = found[i + 1]
    if following.kind == "operator":
        return found[i].text == "AND" and following.text == "NOT" and _goes_on(found, i + 1)
    return following.kind != "closing"


def _and_not(joined: Sequence[Piece], piece: Piece) -> bool:
    """AND was let in because this NOT follows it and is followed by something."""
    return bool(joined) and joined[-1].kind == "operator" and piece.text == "NOT"


class _Reader:
    """Reads the pieces once, from left to right; NOT binds tighter than AND, AND than OR."""

    def __init__(self, found: Sequence[Piece], length: int) -> None:
        self._found = found
        self._length = length
        self._at = 0

    def any(self) -> Node | None:
        parts = [self._all()]
        while self._takes("OR"):
            parts.append(self._all())
        kept = tuple(part for part in parts if part is not None)
        return Any(kept) if len(kept) > 1 else next(iter(kept), None)

    def _all(self) -> Node | None:
        parts: list[Node] = []
        while self._at < len(self._found) and not self._stops():
            self._takes("AND")
            negated = self._takes("NOT")
            part = self._operand()
            if part is not None:
                parts.append(Not(part) if negated else part)
        if len(parts) == 1:
            return parts[0]
        return All(tuple(parts)) if parts else None

    def _operand(self) -> Node | None:
        piece = self._found[self._at]
        self._at += 1
        part: Node | None
        if piece.kind == "opening":
            part = self.any()
            self._at += 1
        else:
            part = self._leaf(piece)
        return Not(part) if part is not None and piece.negated else part

    def _leaf(self, piece: Piece) -> Leaf:
        kinds: dict[str, LeafKind] = {"phrase": "phrase", "prefix": "prefix"}
        return Leaf(
            piece.text, kinds.get(piece.kind, "word"), open=not piece.closed and piece.end == self._length
        )

    def _stops(self) -> bool:
        piece = self._found[self._at]
        return piece.kind == "closing" or (piece.kind == "operator" and piece.text == "OR")

    def _takes(self, operator: str) -> bool:
        if self._at < len(self._found):
            piece = self._found[self._at]
            if piece.kind == "operator" and piece.text == operator:
                self._at += 1
                return True
        return False
