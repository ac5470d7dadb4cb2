"""Filters in a query: their keys, and the meaning of their values.

An invalid value is an error that names the key, the value and what to do: a filter is never dropped.
Whether a tag, a source or a path exists is not checked here.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache
from typing import TypeVar

from kebab_tui.domain.document import CHUNK_KINDS, LANGUAGES, Trust
from kebab_tui.domain.errors import FilterError, UnfinishedFilterError
from kebab_tui.domain.facets import FACETS, NAME, TASK_STATES, FacetKind
from kebab_tui.domain.ids import SourceId
from kebab_tui.domain.query import HasFilter, LinkFilter, SearchFilters, facet_filters
from kebab_tui.domain.text import closest, glob_problem
from kebab_tui.formats.registry import document_types

T = TypeVar("T", bound=str)

_DATE = re.compile(r"([0-9]{4})(?:-([0-9]{1,2})(?:-([0-9]{1,2}))?)?")
_AGO = re.compile(r"([0-9]{1,5})([dw])")
_DAYS = {"d": 1, "w": 7}
_DAY_WORDS = ("today", "yesterday")
_DATE_ENDINGS = ("d", "1")
"""One of them completes every text that digits and dashes can still make a date."""
_NOTHING: Mapping[str, str] = {}
_TRUST_LABELS = tuple(level.label for level in Trust)
_IN_QUOTES = "put it in double quotes to search for its text"

# What other tools, or people, call a key or a value.
_MEANT_KEYS = {
    "file": "path",
    "filename": "name",
    "dir": "path",
    "directory": "path",
    "folder": "path",
    "source": "in",
    "release": "version",
    "ext": "type",
    "extension": "type",
    "filetype": "type",
    "language": "lang",
    "date": "after",
    "created": "after",
    "updated": "after",
    "newer": "after",
    "since": "after",
    "older": "before",
    "until": "before",
    "section": "heading",
    "backlinks": "links",
    "linksto": "links",
    "property": "prop",
    "properties": "prop",
}
_MEANT_VALUES = {
    "type": {"md": "markdown", "text": "note", "txt": "note"},
    "kind": {"text": "info", "prose": "info"},
    "lang": {"kr": "ko", "korean": "ko", "english": "en", "other": "und"},
    "trust": {"high": "primary", "medium": "secondary", "low": "generated"},
}
_OTHER = {"type": "kind", "kind": "type"}
_MEANT_DATES = {
    "now": "today",
    "week": "7d",
    "lastweek": "7d",
    "month": "30d",
    "lastmonth": "30d",
    "year": "365d",
    "lastyear": "365d",
}
_LEAST_LIKENESS = 0.8
"""Of a mistyped key; a value is certainly wrong, so that less will do for a suggestion."""
_SHORTEST_LIKENED = 5
"""Shorter names of other tools are too near to ordinary words: `ext` to `text`."""


@dataclass(frozen=True, slots=True)
class TypedFilter:
    """One `key:value,value` of a query."""

    key: str
    values: tuple[str, ...]
    negated: bool = False
    open: bool = False
    """The user may still be typing the last value."""

    def __str__(self) -> str:
        return f"{'-' * self.negated}{self.key}:{','.join(self.values)}"


class BadValue(Exception):  # noqa: N818 -- a signal, never an error of the program
    """A value that its key does not accept."""

    def __init__(self, value: str, problem: str, near: tuple[str, str] | None, *, begun: bool) -> None:
        """`near`: the key and the value that were probably meant. `begun`: more text can make it valid."""
        super().__init__(value)
        self.value, self.problem, self.near, self.begun = value, problem, near, begun


def interpret(typed: TypedFilter, now: datetime) -> SearchFilters:
    """The meaning of a typed filter; raises FilterError if it has none."""
    key = typed.key
    if typed.negated and key not in NEGATABLE_KEYS:
        *first, last = (f"{name}:" for name in NEGATABLE_KEYS)
        can = f"only {', '.join(first)} and {last} can be excluded"
        raise FilterError(f"invalid {typed}; {can}", f"leave out the minus, or {_IN_QUOTES}")
    if not typed.values:
        if typed.open:
            raise _unfinished(key)
        hint = f"write the value directly behind the colon; in double quotes, {key}: is text"
        raise FilterError(f"{typed} has no value; expected {expected(key)}", hint)
    values = tuple(unicodedata.normalize("NFC", value) for value in typed.values)
    try:
        found = _READERS[key](values, now)
    except BadValue as bad:
        if typed.open and bad.begun and bad.value == values[-1]:
            raise _unfinished(key) from None
        minus = "-" * typed.negated
        hint = f"correct it, or {_IN_QUOTES}"
        raise _error(bad, key, lambda key, value: f"{minus}{key}:{value}", hint) from None
    if not typed.negated:
        return found
    if kind := _FACET_KEYS.get(key):
        return SearchFilters(facet_filters(kind, "none", values))
    return found.excluding()


def check_option(key: str, value: str, spelled: Callable[[str, str], str], now: datetime) -> SearchFilters:
    """The meaning of an option that does the same as a key; `spelled` writes it as on a command line."""
    try:
        return _READERS[key]((value,), now)
    except BadValue as bad:
        raise _error(bad, key, spelled, "correct it; --help lists the options") from None


def problem_of(key: str, value: str, now: datetime) -> BadValue | None:
    """Why a key does not accept a value, if so."""
    try:
        _READERS[key]((unicodedata.normalize("NFC", value),), now)
    except BadValue as bad:
        return bad
    return None


def check_sources(named: Sequence[str], known: Sequence[str], *, begun: str = "") -> None:
    """Raise FilterError for a name that no source has; `begun`: the end of a text that is being typed."""
    for name in named:
        if name not in known:
            if begun.endswith(name) and any(one.startswith(name) for one in known):
                raise _unfinished("in")
            near = nearest(name, known)
            hint = f"did you mean in:{near}?" if near else f"the sources are: {', '.join(known)}"
            raise FilterError(f"invalid in:{name}; no folder has this name", hint)


def _unfinished(key: str) -> UnfinishedFilterError:
    return UnfinishedFilterError(f"{key}: expects {expected(key)}")


def _error(bad: BadValue, key: str, spelled: Callable[[str, str], str], hint: str) -> FilterError:
    if bad.near is not None:
        hint = f"did you mean {spelled(*bad.near)}?"
    return FilterError(f"invalid {spelled(key, bad.value)}; {bad.problem}", hint)


def expected(key: str) -> str:
    """What a value of this key looks like."""
    if known := choices(key):
        return f"one of {', '.join(known)}"
    return _SHAPES.get(key, f"a {key}")


def nearest(
    typed: str, known: Sequence[str], meant: Mapping[str, str] = _NOTHING, cutoff: float = 0.6
) -> str | None:
    """The known word that a mistyped one was probably meant to be; `meant` has other names for some."""
    typed = typed.lower()
    if typed in meant:
        return meant[typed]
    for one in known:
        if sorted(one) == sorted(typed):
            return one
    others = (name for name in meant if len(name) >= _SHORTEST_LIKENED)
    near = closest(typed, (*known, *others), cutoff)
    return None if near is None else meant.get(near, near)


@lru_cache(maxsize=1024)
def nearest_key(typed: str) -> str | None:
    """Cached: a pasted text may have many words with a colon, and every letter parses it again."""
    return nearest(typed, FILTER_KEYS, _MEANT_KEYS, _LEAST_LIKENESS)


def parse_date(text: str, now: datetime) -> int | None:
    """A typed date as nanoseconds since the epoch; None if it is not a date.

    A date means its first instant in the time zone of `now`, or of the machine if `now` has none.
    """
    text = text.strip().lower()
    midnight = now.replace(hour=0, minute=0, second=0, microsecond=0)
    try:
        if text in _DAY_WORDS:
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


_CHOSEN_FACETS = ("task",)
"""Keys of facets with values that are known."""


def _facet_reader(kind: FacetKind) -> Callable[[tuple[str, ...], datetime], SearchFilters]:
    def read(values: tuple[str, ...], _now: datetime) -> SearchFilters:
        if kind.key in _CHOSEN_FACETS:
            _chosen(kind.key, values, choices(kind.key))
        for value in values:
            if not kind.clean(value):
                raise BadValue(value, f"expected {expected(kind.key or kind.id)}", None, begun=True)
        return SearchFilters(facet_filters(kind, "any" if len(values) > 1 else "all", values))

    return read


def _globs(values: tuple[str, ...]) -> tuple[str, ...]:
    for value in values:
        if problem := glob_problem(value):
            raise BadValue(value, problem, None, begun="never closed" in problem)
    return values


def _chosen(key: str, values: tuple[str, ...], known: tuple[T, ...]) -> tuple[T, ...]:
    by_name: dict[str, T] = {name: name for name in known}
    found = []
    for value in values:
        name = value.lower()
        if key == "trust":
            name = name.lstrip(">= ")
        if name in by_name:
            found.append(by_name[name])
            continue
        near: tuple[str, str] | None = None
        if (other := _OTHER.get(key)) and name in choices(other):
            near = other, name
        elif guess := nearest(name, known, _MEANT_VALUES.get(key, _NOTHING)):
            near = key, guess
        begun = any(one.startswith(name) for one in known)
        raise BadValue(value, f"expected {expected(key)}", near, begun=begun)
    return tuple(found)


def _trust(values: tuple[str, ...], _now: datetime) -> SearchFilters:
    names = _chosen("trust", values, _TRUST_LABELS)
    return SearchFilters(trust_min=Trust.parse(names[-1]))


def _instants(key: str, values: tuple[str, ...], now: datetime) -> list[int]:
    found = []
    for value in values:
        moment = parse_date(value, now)
        if moment is None:
            text = value.lower()
            begun = any(word.startswith(text) for word in _DAY_WORDS) or any(
                parse_date(text + ending, now) is not None for ending in _DATE_ENDINGS
            )
            near = re.sub("[/.]", "-", text)
            if parse_date(near, now) is None:
                near = nearest(text, _DAY_WORDS, _MEANT_DATES) or ""
            raise BadValue(value, f"expected {expected(key)}", (key, near) if near else None, begun=begun)
        found.append(moment)
    return found


def _modified(values: tuple[str, ...], now: datetime) -> SearchFilters:
    """`DATE` and `>=DATE` mean since, `<DATE` before; of several the narrower."""
    before = tuple(value.removeprefix("<") for value in values if value.startswith("<"))
    after = tuple(value.lstrip(">=") for value in values if not value.startswith("<"))
    return SearchFilters(
        modified_after_ns=max(_instants("modified", after, now), default=None),
        modified_before_ns=min(_instants("modified", before, now), default=None),
    )


def _has(values: tuple[str, ...], _now: datetime) -> SearchFilters:
    kinds = []
    for value in values:
        name = value.lower()
        kind = next((kind for kind in FACETS.values() if name in (kind.id, kind.plural)), None)
        if kind is None or kind.plural not in choices("has"):
            near = nearest(name, choices("has"))
            begun = any(one.startswith(name) for one in choices("has"))
            raise BadValue(
                value, f"expected {expected('has')}", None if near is None else ("has", near), begun=begun
            )
        kinds.append(kind.id)
    return SearchFilters(has=(HasFilter(tuple(kinds)),))


_FACET_KEYS = {kind.key: kind for kind in FACETS.values() if kind.key is not None}
_READERS: dict[str, Callable[[tuple[str, ...], datetime], SearchFilters]] = {
    **{key: _facet_reader(kind) for key, kind in _FACET_KEYS.items()},
    "path": lambda values, _: SearchFilters(paths=_globs(values)),
    "type": lambda values, _: SearchFilters(types=_chosen("type", values, document_types())),
    "kind": lambda values, _: SearchFilters(kinds=_chosen("kind", values, CHUNK_KINDS)),
    "lang": lambda values, _: SearchFilters(langs=_chosen("lang", values, LANGUAGES)),
    "in": lambda values, _: SearchFilters(sources=tuple(map(SourceId, values))),
    "version": lambda values, _: SearchFilters(versions=values),
    "trust": _trust,
    "after": lambda values, now: SearchFilters(after_ns=max(_instants("after", values, now))),
    "before": lambda values, now: SearchFilters(before_ns=min(_instants("before", values, now))),
    "modified": _modified,
    "links": lambda values, _: SearchFilters(links=(LinkFilter("links", values),)),
    "linkedby": lambda values, _: SearchFilters(links=(LinkFilter("linkedby", values),)),
    "has": _has,
    "title": lambda values, _: SearchFilters(titles=values),
    "heading": lambda values, _: SearchFilters(headings=values),
}
FILTER_KEYS = tuple(_READERS)
NEGATABLE_KEYS = (*_FACET_KEYS, "links", "linkedby", "has", "path")

_DATES = "a date: 2026, 2026-01, 2026-01-31, 7d, 2w, today or yesterday"
_SHAPES = {
    "path": "a path such as notes/**",
    "in": "the name of a source",
    "version": "the label of a version, such as v1.2",
    "after": _DATES,
    "before": _DATES,
    "modified": f"{_DATES}; <DATE for before it",
    "links": "the name or path of a note",
    "linkedby": "the name or path of a note",
    "prop": "a key, key=value or key>value",
    "name": "a part of the name",
    "title": "a part of the title",
    "heading": "a part of a heading",
}


def choices(key: str) -> tuple[str, ...]:
    """All values of a key that has only these."""
    known: dict[str, Callable[[], tuple[str, ...]]] = {
        "type": document_types,
        "kind": lambda: CHUNK_KINDS,
        "lang": lambda: LANGUAGES,
        "trust": lambda: _TRUST_LABELS,
        "task": lambda: TASK_STATES,
        "has": lambda: tuple(kind.plural for kind in FACETS.values() if kind is not NAME),
    }
    return known[key]() if key in known else ()
