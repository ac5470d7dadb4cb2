"""The filters that can be typed: their keys, and what their values mean.

A value that makes no sense leaves no trace in the filters and one notice that names it.
Whether a tag, a source or a path exists is for the store to say.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TypeVar

from kebab_tui.domain.document import CHUNK_KINDS, DOCUMENT_TYPES, LANGUAGES, Trust
from kebab_tui.domain.hit import Notice
from kebab_tui.domain.ids import SourceId
from kebab_tui.domain.query import SearchFilters
from kebab_tui.domain.text import glob_problem

# Dates as they are typed in a filter: `2026`, `2026-01`, `2026-01-31`, `7d`, `2w`, `today`.
#
# A date stands for its first instant in the clock's own time zone (the machine's, when
# the clock names none).

_DATE = re.compile(r"([0-9]{4})(?:-([0-9]{1,2})(?:-([0-9]{1,2}))?)?")
_AGO = re.compile(r"([0-9]{1,5})([dw])")
_DAYS = {"d": 1, "w": 7}


def instant(text: str, now: datetime) -> int | None:
    """Read a date as nanoseconds since the epoch; None when it is none."""
    try:
        moment = _moment(text.strip().lower(), now)
        return None if moment is None else int(moment.timestamp()) * 1_000_000_000
    except (ValueError, OverflowError, OSError):
        return None


def _moment(text: str, now: datetime) -> datetime | None:
    midnight = now.replace(hour=0, minute=0, second=0, microsecond=0)
    if text in {"today", "yesterday"}:
        return midnight - timedelta(days=text == "yesterday")
    if ago := _AGO.fullmatch(text):
        return now - timedelta(days=int(ago[1]) * _DAYS[ago[2]])
    if date := _DATE.fullmatch(text):
        return datetime(int(date[1]), int(date[2] or 1), int(date[3] or 1), tzinfo=now.tzinfo)
    return None


T = TypeVar("T", bound=str)

_DATES = "a date reads 2026, 2026-01, 2026-01-31, 7d, 2w, today or yesterday"
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
    """A value that its key does not know; the message is for the user."""


def nearest(key: str) -> str | None:
    """Name the key that a mistyped one was probably meant to be."""
    key = key.lower()
    if key in _MEANT:
        return _MEANT[key]
    for known in FILTER_KEYS:
        if sorted(known) == sorted(key):
            return known
    from difflib import get_close_matches  # seldom needed

    return next(iter(get_close_matches(key, FILTER_KEYS, n=1, cutoff=0.8)), None)


def interpret(typed: TypedFilter, now: datetime) -> SearchFilters | Notice:
    """Say what one typed filter means, or what is wrong with it."""
    values = tuple(unicodedata.normalize("NFC", value) for value in typed.values)
    try:
        if typed.negated:
            return _excluded(typed.key, values)
        return _READERS[typed.key](values, now)
    except _BadValue as problem:
        return Notice("bad_filter", str(problem), "warning")


def _excluded(key: str, values: tuple[str, ...]) -> SearchFilters:
    if key == "tag":
        return SearchFilters(tags_none=_tag_names(values))
    if key == "path":
        return SearchFilters(paths_none=_globs(values))
    raise _BadValue(f"-{key}: is left out: only tag: and path: can be excluded.")


def _tags(values: tuple[str, ...], _now: datetime) -> SearchFilters:
    names = _tag_names(values)
    return SearchFilters(tags_any=names) if len(names) > 1 else SearchFilters(tags_all=names)


def _tag_names(values: Sequence[str]) -> tuple[str, ...]:
    return tuple(name for value in values if (name := value.lstrip("#").strip()))


def _paths(values: tuple[str, ...], _now: datetime) -> SearchFilters:
    return SearchFilters(paths=_globs(values))


def _globs(values: tuple[str, ...]) -> tuple[str, ...]:
    for value in values:
        if problem := glob_problem(value):
            raise _BadValue(f"path:{value} is left out: {problem}.")
    return values


def _types(values: tuple[str, ...], _now: datetime) -> SearchFilters:
    for value in values:
        if value.lower() in CHUNK_KINDS and value.lower() not in DOCUMENT_TYPES:
            raise _BadValue(f"type:{value} is left out: info and code are kinds; write kind:{value}.")
    return SearchFilters(types=_chosen("type", values, DOCUMENT_TYPES))


def _kinds(values: tuple[str, ...], _now: datetime) -> SearchFilters:
    for value in values:
        if value.lower() in DOCUMENT_TYPES and value.lower() not in CHUNK_KINDS:
            raise _BadValue(f"kind:{value} is left out: it is a type; write type:{value}.")
    return SearchFilters(kinds=_chosen("kind", values, CHUNK_KINDS))


def _langs(values: tuple[str, ...], _now: datetime) -> SearchFilters:
    return SearchFilters(langs=_chosen("lang", values, LANGUAGES))


def _chosen(key: str, values: tuple[str, ...], known: tuple[T, ...]) -> tuple[T, ...]:
    by_name: dict[str, T] = {name: name for name in known}
    for value in values:
        if value.lower() not in by_name:
            raise _BadValue(f"{key}:{value} is left out: {key} is one of {', '.join(known)}.")
    return tuple(by_name[value.lower()] for value in values)


def _sources(values: tuple[str, ...], _now: datetime) -> SearchFilters:
    return SearchFilters(sources=tuple(SourceId(value) for value in values))


def _trust(values: tuple[str, ...], _now: datetime) -> SearchFilters:
    known = ", ".join(level.label for level in Trust)
    lowest = SearchFilters()
    for value in values:
        level = Trust.parse(value.lstrip(">="))
        if level is None:
            raise _BadValue(f"trust:{value} is left out: trust is one of {known}.")
        lowest = replace(lowest, trust_min=level)
    return lowest


def _after(values: tuple[str, ...], now: datetime) -> SearchFilters:
    return SearchFilters(after_ns=max(_instants("after", values, now)))


def _before(values: tuple[str, ...], now: datetime) -> SearchFilters:
    return SearchFilters(before_ns=min(_instants("before", values, now)))


def _instants(key: str, values: tuple[str, ...], now: datetime) -> list[int]:
    found = []
    for value in values:
        moment = instant(value, now)
        if moment is None:
            raise _BadValue(f"{key}:{value} is left out: {_DATES}.")
        found.append(moment)
    return found


def _titles(values: tuple[str, ...], _now: datetime) -> SearchFilters:
    return SearchFilters(titles=values)


def _headings(values: tuple[str, ...], _now: datetime) -> SearchFilters:
    return SearchFilters(headings=values)


_READERS: dict[str, Callable[[tuple[str, ...], datetime], SearchFilters]] = {
    "tag": _tags,
    "path": _paths,
    "type": _types,
    "kind": _kinds,
    "lang": _langs,
    "in": _sources,
    "trust": _trust,
    "after": _after,
    "before": _before,
    "title": _titles,
    "heading": _headings,
}
FILTER_KEYS = tuple(_READERS)


# What can be typed after the keys of the query box, for completing it.
#
# Values stand in the order in which they are worth offering: what stands first is offered
# first. Holds at most 20,000 values a key, so that looking through them takes about a
# millisecond. Completes nothing itself.

MOST = 20_000
_DATE_EXAMPLES = ("7d", "30d", "today", "yesterday")
_FIXED: dict[str, tuple[str, ...]] = {
    "type": DOCUMENT_TYPES,
    "kind": CHUNK_KINDS,
    "lang": LANGUAGES,
    "trust": tuple(level.label for level in Trust),
    "after": _DATE_EXAMPLES,
    "before": _DATE_EXAMPLES,
}


@dataclass(frozen=True, slots=True)
class Completions:
    """Every key of a filter with the values that are known for it."""

    values: Mapping[str, tuple[str, ...]]


def completions_of(tags: Iterable[str], sources: Iterable[str], paths: Iterable[str]) -> Completions:
    """The values of an index beside those that are always the same."""
    found = {"tag": tuple(tags), "in": tuple(sources), "path": _folders_first(paths)}
    known = _FIXED | found
    return Completions({key: known.get(key, ())[:MOST] for key in FILTER_KEYS})


def _folders_first(paths: Iterable[str]) -> tuple[str, ...]:
    """The folders, those with most notes first, then the notes."""
    notes = tuple(paths)
    held: Counter[str] = Counter()
    for folder, count in Counter(path.rpartition("/")[0] for path in notes).items():
        parts = folder.split("/") if folder else []
        for depth in range(len(parts)):
            held["/".join(parts[: depth + 1]) + "/"] += count
    return (*sorted(held, key=lambda folder: (-held[folder], folder)), *notes)
