"""Facets: what a document carries beside its text, such as tags and aliases.

A kind of facet is one entry of `FACETS`. The rows of the table, the filter key, its completion,
its options, the JSON field, the line of `kebab inspect` and the verdicts of `--why-not` follow from it.
Values come from front matter, by the keys that the kind names, or from the parser of a format.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from kebab_tui.domain.names import name_key


@dataclass(frozen=True, slots=True)
class Facet:
    """One value of a document; `line` is where the file states it, if the parser knows."""

    kind: str
    value: str
    line: int | None = None
    target: str | None = None
    """What the value points to."""
    extra: str | None = None


def fold(text: str) -> str:
    """Key for the comparison of names: NFC, case-folded."""
    return unicodedata.normalize("NFC", text).casefold()


def split_at_commas(text: str) -> list[str]:
    return text.split(",")


@dataclass(frozen=True, slots=True)
class FacetKind:
    """A kind of facet. Its options are `--ID`, `--PLURAL` and `--no-ID`."""

    id: str
    plural: str
    """The field in JSON, the label of `kebab inspect` and the column of `kebab list`."""
    key: str | None = None
    """The filter key; completion offers the most frequent values. None: not for filters."""
    nested: bool = False
    """A filter by `a` also finds `a/b`."""
    within: tuple[str, ...] = ()
    """A filter finds parts of the values of these kinds instead of whole values of this kind."""
    listed: bool = False
    """Whether `kebab list` has a column for it."""
    front_matter: tuple[str, ...] = ()
    """The keys of front matter that state values."""
    split: Callable[[str], Iterable[str]] = split_at_commas
    """Cuts a text of front matter that is not a list."""
    clean: Callable[[str], str] = str.strip
    """Normalises a value, in a note and in a query; an empty result is no value."""
    fold: Callable[[str], str] = fold
    """Key for the comparison of values."""
    longest: int = 8_000
    """Longer values are ignored."""


def _clean_tag(text: str) -> str:
    return text.strip().lstrip("#").strip("/ ")


def _split_tags(text: str) -> list[str]:
    """Cut `a, b`, `a b` and `#a #b`."""
    parts = text.strip("[]").split("," if "," in text else None)
    return [part.strip().strip("\"'") for part in parts]


def _clean_date(text: str) -> str:
    """The day of a date or a time, as 2026-03-08."""
    found = re.match(r"\s*(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})(?!\d)", text, re.ASCII)
    return f"{found[1]}-{int(found[2]):02}-{int(found[3]):02}" if found else ""


TAG = FacetKind(
    "tag", "tags", key="tag", nested=True, listed=True, front_matter=("tags", "tag"),
    split=_split_tags, clean=_clean_tag, longest=100,
)  # fmt: skip
NAME_KINDS = ("name", "alias", "title")
"""The facets by which a note is called, the strongest first."""
NAME = FacetKind("name", "names", key="name", within=NAME_KINDS, fold=name_key)
"""The name of a note, after its file: one value."""
ALIAS = FacetKind("alias", "aliases", front_matter=("aliases", "alias"), fold=name_key)
TITLE = FacetKind("title", "titles", fold=name_key)
"""The titles that a note states: in front matter and in its first H1."""
DATE = FacetKind("date", "dates", front_matter=("date", "created", "updated"), clean=_clean_date)
PAGES = FacetKind("page", "pages")
"""The labels of the pages of a document (see `domain.pages`)."""
FACETS: dict[str, FacetKind] = {kind.id: kind for kind in (TAG, NAME, ALIAS, TITLE, DATE, PAGES)}
WORD_KINDS = (ALIAS.id, TAG.id, DATE.id)
"""The facets whose values are searched as words of the title."""


def values_of(facets: Iterable[Facet], kind: str) -> tuple[str, ...]:
    """The values of one kind, in order."""
    return tuple(facet.value for facet in facets if facet.kind == kind)
