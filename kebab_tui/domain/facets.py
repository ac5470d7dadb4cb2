"""Facets: what a document carries beside its text, such as tags and aliases.

A kind of facet is one entry of `FACETS`. The rows of the table, the filter key, its completion,
its options, the JSON field, the line of `kebab inspect` and the verdicts of `--why-not` follow from it.
Values come from front matter, by the keys that the kind names, or from the parser of a format.
"""

from __future__ import annotations

import math
import re
import time
import unicodedata
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import date
from functools import lru_cache

from kebab_tui.domain.links import host_of, link_key
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
    if text.isascii():
        return text.lower()
    return unicodedata.normalize("NFC", text).casefold()


def split_at_commas(text: str) -> list[str]:
    return text.split(",")


_DAY = re.compile(r"\s*(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})(?!\d)", re.ASCII)
_DAILY = re.compile(r"(\d{4})(?:([-_.])(\d{2})\2(\d{2})(?!\d)|(\d{2})(\d{2})\Z)", re.ASCII)
_COMPARED = re.compile(r"(?s)(?P<key>[^=<>!:]+)(?P<how>[<>]=?|=|:)(?P<value>.*)")


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
    """Longer values are left out."""
    most: int = 64
    """Values of a note; what is left out is a flag of the note."""
    many: bool = False
    """A note may state thousands, equal ones too. A `Document` has only their number."""
    compared: bool = False
    """Values are `key=value`; a filter by `key`, `key=value` or `key>value` finds them."""


def _clean_tag(text: str) -> str:
    exact = "=" * text.lstrip().startswith("=")
    bare = text.strip().removeprefix(exact).strip().lstrip("#").strip("/ ")
    return f"{exact}{bare}" if bare else ""


def _split_tags(text: str) -> list[str]:
    """Cut `a, b`, `a b` and `#a #b`."""
    parts = text.strip("[]").split("," if "," in text else None)
    return [part.strip().strip("\"'") for part in parts]


def clean_date(text: str) -> str:
    """The day of a date or a time, as 2026-03-08; nothing for a day that no calendar has."""
    found = _DAY.match(text)
    try:
        return date(int(found[1]), int(found[2]), int(found[3])).isoformat() if found else ""
    except ValueError:
        return ""


def daily_name(name: str) -> str:
    """The day that a daily note is named after: `2026-03-08`, `2026_03_08 Sunday`, `20260308`."""
    found = _DAILY.match(name)
    return clean_date(f"{found[1]}-{found[3] or found[5]}-{found[4] or found[6]}") if found else ""


def split_property(text: str) -> tuple[str, str, str]:
    """The key, the comparison and the value of a typed property; without a comparison only the key."""
    found = _COMPARED.match(text)
    if found is None:
        return "" if text.strip()[:1] in ("<", ">", "=", ":") else clean_key(text), "", ""
    return clean_key(found["key"]), found["how"].replace(":", "="), found["value"].strip()


def compare(value: str, how: str, other: str) -> bool:
    """Compare two values of a property: as numbers, as days, else as folded texts."""
    left, right = comparable(value), comparable(other)
    if type(left) is not type(right):
        return False
    if how == "=":
        return left == right
    if how[0] == ">":
        return left > right or (how == ">=" and left == right)  # type: ignore[operator]  # of one type
    return left < right or (how == "<=" and left == right)  # type: ignore[operator]


def comparable(text: str) -> float | str:
    try:
        number = float(text) if text[:1] in "+-.0123456789" and "_" not in text else math.nan
    except ValueError:
        number = math.nan
    return (clean_date(text) or fold(text)) if math.isnan(number) else number


def day_of(moment_ns: int) -> str:
    """The local day of a moment."""
    return time.strftime("%Y-%m-%d", time.localtime(moment_ns // 1_000_000_000))


@lru_cache(maxsize=1024)  # notes share keys
def clean_key(text: str) -> str:
    """The key of a property as it is stored; it has no sign of a comparison."""
    return re.sub(r"[=<>!:,\s]+", " ", text).strip().lower()


def _clean_property(text: str) -> str:
    key, how, value = split_property(text)
    return f"{key}{how}{value}" if key and (value or not how or how == "=") else ""


TAG = FacetKind(
    "tag", "tags", key="tag", nested=True, listed=True, front_matter=("tags", "tag"),
    split=_split_tags, clean=_clean_tag, longest=100, most=1_000,
)  # fmt: skip
NAME_KINDS = ("name", "alias", "title")
"""The facets by which a note is called, the strongest first."""
NAME = FacetKind("name", "names", key="name", within=NAME_KINDS, fold=name_key)
"""The name of a note, after its file: one value."""
ALIAS = FacetKind("alias", "aliases", front_matter=("aliases", "alias"), fold=name_key)
TITLE = FacetKind("title", "titles", fold=name_key)
"""The titles that a note states: in front matter and in its first H1."""
DATE = FacetKind("date", "dates", front_matter=("date", "created", "updated"), clean=clean_date)
PAGES = FacetKind("page", "pages")
"""The labels of the pages of a document (see `domain.pages`)."""
PROPERTY = FacetKind(
    "prop", "properties", key="prop", clean=_clean_property, longest=400, most=512, compared=True
)
"""Every key of front matter and every inline `key:: value`, as `key=value`."""
TASK = FacetKind("task", "tasks", key="task", clean=lambda text: text.strip().lower(), most=20_000, many=True)
"""`open` or `done`; `extra` is its text."""
TASK_STATES = ("open", "done")
LINK = FacetKind("link", "links", fold=link_key, longest=1_000, most=20_000, many=True)
"""A link to a file, as written but for the anchor, which is the `target`; `extra`: see `WrittenLink`."""
URL = FacetKind("url", "urls", fold=host_of, longest=2_000, most=20_000, many=True)
"""A link to an address; `extra` as that of a link."""
FACETS: dict[str, FacetKind] = {
    kind.id: kind for kind in (TAG, NAME, ALIAS, TITLE, DATE, PAGES, PROPERTY, TASK, LINK, URL)
}
WORD_KINDS = (ALIAS.id, TAG.id, DATE.id)
"""The facets whose values are searched as words of the title."""


def values_of(facets: Iterable[Facet], kind: str) -> tuple[str, ...]:
    """The values of one kind, in order."""
    return tuple(facet.value for facet in facets if facet.kind == kind)
