"""Filters in a query: their keys, the meaning of their values, and completions for them.

An invalid value leaves no filter, only a notice that names it. Whether a tag, a source
or a path exists is not checked here.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TypeVar

from kebab_tui.domain.document import CHUNK_KINDS, LANGUAGES, Trust
from kebab_tui.domain.facets import FACETS, FacetKind
from kebab_tui.domain.hit import Notice
from kebab_tui.domain.ids import SourceId
from kebab_tui.domain.query import SearchFilters, facet_filters
from kebab_tui.domain.text import closest, glob_problem
from kebab_tui.formats.registry import document_types

T = TypeVar("T", bound=str)

MAX_COMPLETIONS = 20_000
"""Completions of a key: searching through them takes about a millisecond."""

_DATES = "write a date as 2026, 2026-01, 2026-01-31, 7d, 2w, today or yesterday"
_DATE = re.compile(r"([0-9]{4})(?:-([0-9]{1,2})(?:-([0-9]{1,2}))?)?")
_AGO = re.compile(r"([0-9]{1,5})([dw])")
_DAYS = {"d": 1, "w": 7}
_TRUST_LABELS = tuple(level.label for level in Trust)
_MEANT = {
    "file": "path",
    "dir": "path",
    "folder": "path",
    "source": "in",
    "since": "after",
    "until": "before",
    "section": "heading",
}


@dataclass(frozen=True, slots=True)
class TypedFilter:
    """One `key:value,value` of a query, with at least one value."""

    key: str
    values: tuple[str, ...]
    negated: bool = False


class _BadValue(Exception):  # noqa: N818 -- a signal inside this module, never an error of the program
    """A value that its key does not accept; the message is for the user."""


def interpret(typed: TypedFilter, now: datetime) -> SearchFilters | Notice:
    """The meaning of a typed filter, or a notice about the error in it."""
    values = tuple(unicodedata.normalize("NFC", value) for value in typed.values)
    try:
        if not typed.negated:
            return _READERS[typed.key](values, now)
        if kind := _FACET_KEYS.get(typed.key):
            return SearchFilters(facet_filters(kind, "none", values))
        if typed.key == "path":
            return SearchFilters(paths_none=_globs(values))
        *first, last = (f"{key}:" for key in NEGATABLE_KEYS)
        can = f"only {', '.join(first)} and {last} can be excluded"
        return Notice("bad_filter", f"-{typed.key}: ignored: {can}.", "warning")
    except _BadValue as problem:
        return Notice("bad_filter", str(problem), "warning")


def nearest(key: str) -> str | None:
    """The key that a mistyped one was probably meant to be."""
    key = key.lower()
    if key in _MEANT:
        return _MEANT[key]
    for known in FILTER_KEYS:
        if sorted(known) == sorted(key):
            return known
    return closest(key, FILTER_KEYS, cutoff=0.8)


def parse_date(text: str, now: datetime) -> int | None:
    """A typed date as nanoseconds since the epoch; None if it is not a date.

    A date means its first instant in the time zone of `now`, or of the machine if `now` has none.
    """
    text = text.strip().lower()
    midnight = now.replace(hour=0, minute=0, second=0, microsecond=0)
    try:
        if text in {"today", "yesterday"}:
            moment = midnight - timedelta(days=text == "yesterday")
        elif ago := _AGO.fullmatch(text):
            moment = now - timedelta(days=int(ago[1]) * _DAYS[ago[2]])
        elif date := _DATE.fullmatch(text):
            moment = datetime(int(date[1]), int(date[2] or 1), int(date[3] or 1), tzinfo=now.tzinfo)
        else:
            return None
        return int(moment.timestamp()) * 1_000_000_000
    except (ValueError, OverflowError, OSError):
        return None


def _facet_reader(kind: FacetKind) -> Callable[[tuple[str, ...], datetime], SearchFilters]:
    def read(values: tuple[str, ...], _now: datetime) -> SearchFilters:
        several = sum(bool(kind.clean(value)) for value in values) > 1
        return SearchFilters(facet_filters(kind, "any" if several else "all", values))

    return read


def _globs(values: tuple[str, ...]) -> tuple[str, ...]:
    for value in values:
        if problem := glob_problem(value):
            raise _BadValue(f"path:{value} ignored: {problem}.")
    return values


def _chosen(key: str, values: tuple[str, ...], known: tuple[T, ...]) -> tuple[T, ...]:
    by_name: dict[str, T] = {name: name for name in known}
    for value in values:
        name = value.lower()
        if name in by_name:
            continue
        if key == "type" and name in CHUNK_KINDS:
            raise _BadValue(f"type:{value} ignored: {name} is a kind; write kind:{value}.")
        if key == "kind" and name in document_types():
            raise _BadValue(f"kind:{value} ignored: {name} is a type; write type:{value}.")
        raise _BadValue(f"{key}:{value} ignored: {key} is one of {', '.join(known)}.")
    return tuple(by_name[value.lower()] for value in values)


def _trust(values: tuple[str, ...], _now: datetime) -> SearchFilters:
    names = _chosen("trust", tuple(value.lstrip(">= ") for value in values), _TRUST_LABELS)
    return SearchFilters(trust_min=Trust.parse(names[-1]))


def _instants(key: str, values: tuple[str, ...], now: datetime) -> list[int]:
    found = []
    for value in values:
        moment = parse_date(value, now)
        if moment is None:
            raise _BadValue(f"{key}:{value} ignored: {_DATES}.")
        found.append(moment)
    return found


_FACET_KEYS = {kind.key: kind for kind in FACETS.values() if kind.key is not None}
_READERS: dict[str, Callable[[tuple[str, ...], datetime], SearchFilters]] = {
    **{key: _facet_reader(kind) for key, kind in _FACET_KEYS.items()},
    "path": lambda values, _: SearchFilters(paths=_globs(values)),
    "type": lambda values, _: SearchFilters(types=_chosen("type", values, document_types())),
    "kind": lambda values, _: SearchFilters(kinds=_chosen("kind", values, CHUNK_KINDS)),
    "lang": lambda values, _: SearchFilters(langs=_chosen("lang", values, LANGUAGES)),
    "in": lambda values, _: SearchFilters(sources=tuple(map(SourceId, values))),
    "trust": _trust,
    "after": lambda values, now: SearchFilters(after_ns=max(_instants("after", values, now))),
    "before": lambda values, now: SearchFilters(before_ns=min(_instants("before", values, now))),
    "title": lambda values, _: SearchFilters(titles=values),
    "heading": lambda values, _: SearchFilters(headings=values),
}
FILTER_KEYS = tuple(_READERS)
NEGATABLE_KEYS = (*_FACET_KEYS, "path")

_DATE_EXAMPLES = ("7d", "30d", "today", "yesterday")
_FIXED: dict[str, tuple[str, ...]] = {
    "kind": CHUNK_KINDS,
    "lang": LANGUAGES,
    "trust": _TRUST_LABELS,
    "after": _DATE_EXAMPLES,
    "before": _DATE_EXAMPLES,
}


@dataclass(frozen=True, slots=True)
class Completions:
    """Every filter key with its known values, the most useful first."""

    values: Mapping[str, tuple[str, ...]]
    negatable: tuple[str, ...] = NEGATABLE_KEYS


def completions_of(
    facets: Mapping[str, Iterable[str]], sources: Iterable[str], paths: Iterable[str]
) -> Completions:
    """The values of an index, facets by kind, and the fixed ones; folders with most notes come first."""
    notes = tuple(paths)
    in_folder: Counter[str] = Counter()
    for folder, count in Counter(path.rpartition("/")[0] for path in notes).items():
        parts = folder.split("/") if folder else []
        for depth in range(len(parts)):
            in_folder["/".join(parts[: depth + 1]) + "/"] += count
    folders = sorted(in_folder, key=lambda folder: (-in_folder[folder], folder))
    known = _FIXED | {"in": tuple(sources), "path": (*folders, *notes), "type": document_types()}
    known |= {key: tuple(facets.get(kind.id, ())) for key, kind in _FACET_KEYS.items()}
    return Completions({key: known.get(key, ())[:MAX_COMPLETIONS] for key in FILTER_KEYS})
