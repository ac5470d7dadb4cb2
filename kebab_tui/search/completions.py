"""What a filter in a query may become: its key, and values that the index has.

Values match by their letters, as names do: in any case, with half a Korean syllable, or with
initial consonants only. The counts are those of all notes, whatever else the query says.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from itertools import accumulate, islice

from kebab_tui.domain.facets import FACETS, NAME
from kebab_tui.domain.text import closest, sanitize
from kebab_tui.search.filter_keys import (
    FILTER_KEYS,
    NEGATABLE_KEYS,
    choices,
    expected,
    nearest_key,
    problem_of,
)
from kebab_tui.search.lexer import pieces
from kebab_tui.search.name_pattern import LEADS, is_initials, letters_of

MAX_COMPLETIONS = 20_000
"""Values of a key that are known: searching through them takes about a millisecond."""
MOST_READ = MAX_COMPLETIONS + 500
"""Values that are read for them: some are never typed."""
_MOST_OFFERED = 100
_MOST_REPLACEMENTS = 4
_SHORTEST_KEY = 2
_PART_KEYS = frozenset({"name", "path", "title", "heading", "prop"})
"""A part of a value is a value of these."""
_NAMED_KEYS = frozenset({"in", "version"})
"""Only known values are valid for these."""
_SYLLABLES_PER_LEAD = 588
_NEEDS_QUOTES = re.compile(r"[\s,()]")
_NEVER_TYPED = re.compile(r'["\n\t]')
"""A value with one of these cannot be written in a query, nor one with a character that is not shown."""
_DATES = ("7d", "30d", "365d", "today", "yesterday")
_DATE_KEYS = ("after", "before", "modified")

_KEY_MEANINGS = {
    "tag": "notes with a tag",
    "name": "notes by a part of the name",
    "path": "notes in a folder",
    "type": "notes of a type",
    "kind": "text or code",
    "lang": "notes in a language",
    "in": "notes of a source",
    "version": "notes of a version",
    "trust": "notes at least so trusted",
    "after": "dated since a date",
    "before": "dated before a date",
    "modified": "files changed since a date",
    "links": "notes that link to a note",
    "linkedby": "notes that a note links to",
    "has": "notes with any links, tasks, …",
    "prop": "notes by a property",
    "task": "notes with open or done tasks",
    "title": "notes by a part of the title",
    "heading": "passages under a heading",
}
_MEANINGS: Mapping[str, Mapping[str, str]] = {
    "kind": {"info": "text", "code": "code blocks"},
    "task": {"open": "to do", "done": "done or cancelled"},
    "lang": {"ko": "Korean", "en": "English", "und": "other languages"},
    "trust": {"secondary": "or primary", "generated": "any"},
    "after": {
        "today": "since midnight",
        "yesterday": "yesterday and today",
        "7d": "the last 7 days",
        "30d": "the last 30 days",
        "365d": "the last year",
    },
    "before": {
        "today": "until midnight",
        "yesterday": "until the day before yesterday",
        "7d": "not in the last 7 days",
        "30d": "not in the last 30 days",
        "365d": "not in the last year",
    },
}


@dataclass(frozen=True, slots=True)
class Candidate:
    """A key with its colon, or a value; `count` is the number of its notes, if known."""

    text: str
    meaning: str = ""
    count: int | None = None

    @property
    def written(self) -> str:
        """The text as it is written in a query."""
        return f'"{self.text}"' if _NEEDS_QUOTES.search(self.text) else self.text


class Completions:
    """Every filter key with its known values and their counts, the most useful first."""

    def __init__(self, values: Mapping[str, Mapping[str, int | None]]) -> None:
        self.values = values
        self._searched: dict[str, _Values] = {}

    def keys(self, begun: str, *, negated: bool = False) -> list[Candidate]:
        """The keys that begin so. Not complete ones: `before` and `type` are ordinary words."""
        begun = begun.lower()
        if len(begun) < _SHORTEST_KEY:
            return []
        known = NEGATABLE_KEYS if negated else FILTER_KEYS
        return [
            Candidate(f"{key}:", _KEY_MEANINGS.get(key, expected(key)))
            for key in known
            if key.startswith(begun) and key != begun
        ]

    def instead_of(self, unknown: str) -> list[Candidate]:
        """The key that an unknown one was probably meant to be."""
        near = nearest_key(unknown)
        return [] if near is None else [Candidate(f"{near}:", f"instead of {unknown}:")]

    def matching(self, key: str, typed: str, taken: Collection[str] = ()) -> list[Candidate]:
        """The values of a key that begin with the typed text, then those that contain it.

        A value that is written already (`taken`) is left out.
        """
        known = self.values.get(key, {})
        if key not in self._searched:
            self._searched[key] = _Values(known)
        taken = {value.casefold() for value in taken}
        found = (value for value in self._searched[key].matching(typed) if value.casefold() not in taken)
        meanings = _MEANINGS.get(key, {})
        return [Candidate(value, meanings.get(value, ""), known[value]) for value in found]

    def is_value(self, key: str, typed: str) -> bool:
        """Whether the filter is complete: for some keys any part of a value will do."""
        if key in _PART_KEYS or not self.values.get(key):
            return bool(typed)
        if problem_of(key, typed, _now()) is not None:
            return False
        return key in _DATE_KEYS or typed.casefold() in map(str.casefold, self.values[key])

    def replacements(self, text: str) -> list[str]:
        """Valid filters in place of a wrong one, the nearest first."""
        piece = next(pieces(text))
        key, minus = piece.key, "-" * piece.negated
        if piece.negated and key not in NEGATABLE_KEYS:
            return [text.removeprefix("-")]
        if not piece.values:
            return [f"{minus}{key}:{one.written}" for one in self.matching(key, "")[:_MOST_REPLACEMENTS]]
        known = self.values.get(key, {})
        for value in piece.values:
            problem = problem_of(key, value, _now())
            if problem is None and (key not in _NAMED_KEYS or value in known):
                continue
            near = closest(value, known)
            likely = [problem.near if problem is not None else None, None if near is None else (key, near)]
            instead = dict.fromkeys([*filter(None, likely), *((key, one) for one in known)])
            written = []
            for other_key, other in list(instead)[:_MOST_REPLACEMENTS]:
                values = [other if one == value else one for one in piece.values]
                values = values if other_key == key else [other]
                text = ",".join(Candidate(one).written for one in values)
                written.append(f"{minus}{other_key}:{text}")
            return written
        return []


class _Values:
    """Finds values by their letters, in one pass over all of them."""

    def __init__(self, values: Iterable[str]) -> None:
        self._all = list(values)
        self._joined = "\n".join(self._all)
        self._letters: _Lines | None = None
        self._initials: _Lines | None = None

    def matching(self, typed: str) -> Iterable[str]:
        if not typed:
            return self._all[:_MOST_OFFERED]
        sought = letters_of(typed.lstrip("#"))
        if not sought.strip():
            return []
        if len(sought) > 1 and is_initials(sought):
            if self._initials is None:
                self._initials = _Lines(unicodedata.normalize("NFC", self._joined).translate(_Initials()))
            lines = self._initials
        else:
            if self._letters is None:
                self._letters = _Lines(letters_of(self._joined))
            lines = self._letters
        found: dict[int, None] = {}
        if lines.has(sought):
            for word in (f"\n{sought}\n", f"\n{sought}", f"/{sought}", f" {sought}", sought):
                lines.find(word, found)
        return [self._all[place] for place in found]


class _Lines:
    """A text of lines in which the lines with a word are found."""

    def __init__(self, text: str) -> None:
        self._text = f"\n{text}\n"
        self._breaks = list(accumulate((len(line) + 1 for line in text.split("\n")), initial=0))

    def has(self, word: str) -> bool:
        return word in self._text

    def find(self, word: str, found: dict[int, None]) -> None:
        """Add the numbers of the lines with a word, up to the most that are offered."""
        at = self._text.find(word)
        while at >= 0 and len(found) < _MOST_OFFERED:
            found[bisect_right(self._breaks, at) - 1] = None
            at = self._text.find(word, at + 1)


class _Initials(dict[int, str]):
    """Maps a Korean syllable to its initial consonant, for `str.translate`."""

    def __missing__(self, code: int) -> str:
        lead = (code - ord("가")) // _SYLLABLES_PER_LEAD
        self[code] = LEADS[lead] if 0 <= lead < len(LEADS) else chr(code)
        return self[code]


def completions_of(
    facets: Mapping[str, Iterable[tuple[str, int]]],
    sources: Iterable[tuple[str, int]],
    paths: Iterable[str],
    counts: Mapping[str, Mapping[str, int]],
    versions: Iterable[tuple[str, int]] = (),
) -> Completions:
    """The values of an index, facets by kind, and the fixed ones; folders with most notes come first.

    `counts` are those of the fixed values, by key.
    """
    notes = tuple(paths)
    in_folder: Counter[str] = Counter()
    level = Counter(path.rpartition("/")[0] for path in notes)
    while level:
        level.pop("", None)
        in_folder.update(level)
        above: Counter[str] = Counter()
        for folder, count in level.items():
            above[folder.rpartition("/")[0]] += count
        level = above
    ordered = sorted(in_folder.items(), key=lambda one: (-one[1], one[0]))
    folders = {f"{folder}/": count for folder, count in ordered[:MOST_READ]}
    known: dict[str, Mapping[str, int | None]] = {
        key: {value: counts[key].get(value, 0) if key in counts else None for value in choices(key)}
        for key in FILTER_KEYS
    }
    known |= {
        "in": dict(sources),
        "version": dict(versions),
        "path": folders | dict.fromkeys(notes[:MOST_READ]),
    }
    known |= dict.fromkeys(_DATE_KEYS, dict.fromkeys(_DATES))
    known |= {kind.key: dict(facets.get(kind.id, ())) for kind in FACETS.values() if kind.key is not None}
    known |= dict.fromkeys(("links", "linkedby"), dict.fromkeys(known[NAME.key or ""]))
    return Completions({key: _first(values) for key, values in known.items()})


def _first(values: Mapping[str, int | None]) -> Mapping[str, int | None]:
    if len(values) > MOST_READ:
        values = dict(islice(values.items(), MOST_READ))
    if _is_never_typed(" ".join(values)):
        values = {value: count for value, count in values.items() if not _is_never_typed(value)}
    return dict(islice(values.items(), MAX_COMPLETIONS))


def _is_never_typed(value: str) -> bool:
    return _NEVER_TYPED.search(value) is not None or sanitize(value) != value


def _now() -> datetime:
    return datetime.now()  # noqa: DTZ005 - the machine's own time zone is meant
