"""What can be typed after the keys of the query box, for completing it.

Values stand in the order in which they are worth offering: what stands first is offered
first. Holds at most 20,000 values a key, so that looking through them takes about a
millisecond. Completes nothing itself.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from kebab_tui.domain.document import CHUNK_KINDS, DOCUMENT_TYPES, LANGUAGES, Trust
from kebab_tui.search.filter_keys import FILTER_KEYS

MOST = 20_000
_DATES = ("7d", "30d", "today", "yesterday")
_FIXED: dict[str, tuple[str, ...]] = {
    "type": DOCUMENT_TYPES,
    "kind": CHUNK_KINDS,
    "lang": LANGUAGES,
    "trust": tuple(level.label for level in Trust),
    "after": _DATES,
    "before": _DATES,
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
