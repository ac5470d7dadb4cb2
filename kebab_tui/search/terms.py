"""What a query asks of the text, as a tree: words and phrases joined by all, any and not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

LeafKind = Literal["word", "phrase", "prefix"]


@dataclass(frozen=True, slots=True)
class Leaf:
    """One word, phrase or beginning of a word; `text` is without its quotes, star or minus.

    `open` says that the text may go on: nothing closes it, neither a space nor a quote.
    """

    text: str
    kind: LeafKind
    open: bool = False


@dataclass(frozen=True, slots=True)
class Not:
    part: Node


@dataclass(frozen=True, slots=True)
class All:
    parts: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Any:
    parts: tuple[Node, ...]


Node = Leaf | Not | All | Any
