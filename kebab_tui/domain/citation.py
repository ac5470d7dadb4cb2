"""Positions in a file and their written form.

Lines are 1-based and inclusive. There are two spellings: `path:L12-L34` for people and
`path#L12-L34` for links. A page of a paged document is `path#p=23`. A path may contain
`:` or `#`; only a well-formed ending is read as the span. In a version it is `v1.2:path:L3-L9`: what stands
before the lines is what `git show` takes.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, NamedTuple

_LINES = re.compile(r"(?s)\A(?P<path>.+)[:#]L?(?P<first>[1-9]\d{0,8})(?:-L?(?P<last>[1-9]\d{0,8}))?\Z")
_PAGE = re.compile(r"(?s)\A(?P<path>.+)#p=(?P<page>[1-9]\d{0,8})\Z")


@dataclass(frozen=True, slots=True)
class SourceSpan:
    """Lines `first..last` of a text; with `page`, of the text of that page. A page is cited as a whole."""

    first: int
    last: int
    page: int | None = None

    def __post_init__(self) -> None:
        if not 1 <= self.first <= self.last:
            raise ValueError(f"not a span of lines: {self.first}-{self.last}")

    @property
    def lines(self) -> str:
        return f"L{self.first}" if self.first == self.last else f"L{self.first}-L{self.last}"


class TextPosition(NamedTuple):
    """A place in a text, for the cursor of an editor; both count from 1, columns in characters."""

    line: int
    column: int = 1


@dataclass(frozen=True, slots=True)
class Citation:
    """A path with an exact span; prints as `path:L12-L34`."""

    path: str
    span: SourceSpan
    section: str = ""
    label: str = ""
    """How the document labels the page, where that is not its number; shown, never cited."""
    version: str = ""
    """The label of a version; its path is then that in the repository."""

    def __str__(self) -> str:
        if self.span.page is not None:
            return self.uri
        return f"{self.file}:{self.span.lines}"

    @property
    def file(self) -> str:
        """The path; of a version, as `git show` takes it."""
        return f"{self.version}:{self.path}" if self.version else self.path

    @property
    def uri(self) -> str:
        if self.span.page is not None:
            return f"{self.file}#p={self.span.page}"
        return f"{self.file}#{self.span.lines}"


def parse_citation(text: str) -> Citation | None:
    """Read either spelling; None if `text` names no span."""
    if page := _PAGE.match(text):
        return Citation(page["path"], SourceSpan(1, 1, page=int(page["page"])))
    if lines := _LINES.match(text):
        first = int(lines["first"])
        last = int(lines["last"] or first)
        if first <= last:
            return Citation(lines["path"], SourceSpan(first, last))
    return None


LocatedState = Literal["same", "moved", "changed", "gone"]


@dataclass(frozen=True, slots=True)
class Located:
    """The present position of an indexed chunk in its file.

    `same`: at the indexed lines. `moved`: the same text, `shift` lines further down (negative: up).
    `changed`: other text; `span` is the most similar part or, failing that, the indexed lines that
    the file still has. `gone`: no such file; `span` is the indexed one. In a document with pages,
    `shift` counts pages, and text that stays on its page is the same.
    """

    span: SourceSpan
    state: LocatedState
    shift: int = 0
