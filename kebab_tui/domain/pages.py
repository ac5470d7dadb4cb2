"""The pages of a document: how many it has, and the labels that the document prints on them.

Citations count pages from 1. Labels are shown beside the number where they differ, such as `iv` for page 4.
Labels that count up are one facet: its value is the range, its line the first page, its target the first
label and its extra the number of pages.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from kebab_tui.domain.citation import Citation, SourceSpan
from kebab_tui.domain.document import Document
from kebab_tui.domain.facets import PAGES, Facet

MAX_RUNS = 64
_MAX_LABEL = 24
_NUMBER = re.compile(r"(.*?)(\d{1,9})")
_ROMAN = re.compile(r"(?=.)m{0,4}(?:cm|cd|d?c{0,3})(?:xc|xl|l?x{0,3})(?:ix|iv|v?i{0,3})")
_NUMERALS = (
    (1000, "m"), (900, "cm"), (500, "d"), (400, "cd"), (100, "c"), (90, "xc"), (50, "l"), (40, "xl"),
    (10, "x"), (9, "ix"), (5, "v"), (4, "iv"), (1, "i"),
)  # fmt: skip


def page_facets(labels: Sequence[str]) -> tuple[Facet, ...]:
    """The facets of a document with these labels, one for each page; an empty label is the number.

    Labels that follow no rule are dropped where there are too many.
    """
    shown = [label.strip() or str(number) for number, label in enumerate(labels, 1)]
    found = tuple(_runs(shown))
    if len(found) > MAX_RUNS or any(len(label) > _MAX_LABEL for label in shown):
        found = tuple(_runs([str(number) for number in range(1, len(labels) + 1)]))
    return found


def _runs(labels: Sequence[str]) -> Iterator[Facet]:
    first = 0
    for at in range(1, len(labels) + 1):
        if at == len(labels) or labels[at] != _advanced(labels[first], at - first):
            value = labels[first] if at - first == 1 else f"{labels[first]}-{labels[at - 1]}"
            yield Facet(PAGES.id, value, first + 1, labels[first], str(at - first))
            first = at


def label_of(facets: Iterable[Facet], page: int) -> str:
    """The label of a page; empty if it is the number of the page, or unknown."""
    for facet in facets:
        if facet.kind == PAGES.id and facet.line is not None and facet.target and facet.extra:
            skipped = page - facet.line
            if 0 <= skipped < int(facet.extra):
                label = _advanced(facet.target, skipped)
                return "" if label == str(page) else label
    return ""


def cite(document: Document, span: SourceSpan, section: str = "") -> Citation:
    """The citation of a span of a document, with the label of its page."""
    label = "" if span.page is None else label_of(document.facets, span.page)
    return Citation(document.path, span, section, label)


def page_count(facets: Iterable[Facet]) -> int:
    """The number of pages; 0 for a document without pages."""
    return sum(int(facet.extra or 0) for facet in facets if facet.kind == PAGES.id)


def _advanced(label: str, pages: int) -> str:
    """The label so many pages later."""
    if not pages:
        return label
    if number := _NUMBER.fullmatch(label):
        return f"{number[1]}{int(number[2]) + pages}"
    if _ROMAN.fullmatch(label):
        return _roman(_value_of(label) + pages)
    if label.isupper() and _ROMAN.fullmatch(label.lower()):
        return _roman(_value_of(label.lower()) + pages).upper()
    return ""


def _roman(number: int) -> str:
    letters = []
    for value, numeral in _NUMERALS:
        letters.append(numeral * (number // value))
        number %= value
    return "".join(letters)


def _value_of(numeral: str) -> int:
    value = 0
    for one, letters in _NUMERALS:
        while numeral.startswith(letters):
            value += one
            numeral = numeral[len(letters) :]
    return value
