"""All names of the index in memory, as one joined text, so that a keystroke costs a few milliseconds.

Proposes notes for a `NamePattern`, the best coarse score first; `search.find_names` scores the names.
"""

from __future__ import annotations

import re
import sqlite3
from array import array
from bisect import bisect_right
from collections.abc import Container, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import accumulate, islice, pairwise
from threading import Lock
from typing import NamedTuple

from kebab_tui.domain.text import edits
from kebab_tui.search.name_pattern import LEADS, NamePattern, allowed_edits, is_initials, letters_of

_NAMES = "SELECT id, names FROM note_names WHERE id > ? AND names <> '' ORDER BY id DESC"
_LAST = "SELECT coalesce(max(id), 0) FROM note_names"
_PATHS = (
    "SELECT n.id, d.path FROM documents d JOIN note_names n ON n.doc_id = d.doc_id WHERE n.names <> '' "
    "ORDER BY n.id DESC"
)
_MOST_CHANGED = 1_000
_BETWEEN = "\n\0\n"
_MOST = 1_500
"""Occurrences of one text that are considered, the latest notes first."""
_MOST_TRIED, _MOST_UNCLEAR = 1_000, 50
"""Notes that only have the letters of the words in order: of one word, and of all."""
_LONG = 8
"""A text of so many letters is also searched as a whole with a typo."""
_CLEAR = 6
"""A word of so many letters resembles no other by accident."""
_MOST_CORRECTIONS = 4
_INITIAL_OF = {code: LEADS[(code - 0xAC00) // 588] for code in range(0xAC00, 0xD7A4)}
_LOWER = r"[^\W\d_A-Z\u3131-\u318e]"
_NOT_INITIAL = re.compile(
    rf"(?<={_LOWER}){_LOWER}+|(?<=[A-Z])(?:{_LOWER}+|[A-Z]+(?!{_LOWER}))|(?<=\d)\d+|[^\w\n\0]+|_+"
)
"""Leaves the first letter of each word and each part of camelCase, and every Korean initial."""


class Proposal(NamedTuple):
    """A note with its coarse score: lower is better. `note`: its id; the latest notes have the highest."""

    rank: int
    length: int
    note: int

    @property
    def order(self) -> tuple[int, int, int]:
        return self.rank, self.length, -self.note


class _Records:
    """Texts of several lines each, joined. `str.find` finds an occurrence, bisection its record."""

    def __init__(self, records: Sequence[str]) -> None:
        self.text = f"\n{_BETWEEN.join(records)}\n"
        self._starts = array("q", accumulate((len(one) + len(_BETWEEN) for one in records[:-1]), initial=1))

    def at(self, place: int) -> int:
        return bisect_right(self._starts, place + 1) - 1

    def __getitem__(self, record: int) -> str:
        start = self._starts[record] - 1
        end = self.text.find("\0", start)
        return self.text[start:end] if end > 0 else self.text[start:]

    def length(self, place: int) -> int:
        """The length of the line at a place."""
        return self.text.find("\n", place + 1) - self.text.rfind("\n", 0, place + 1)

    def places(self, needle: str) -> Iterator[int]:
        at = self.text.find(needle)
        while at >= 0:
            yield at
            at = self.text.find(needle, at + 1)


class NameList:
    """The names of some notes: ids, and names, one a line; the latest notes first."""

    def __init__(self, notes: Sequence[tuple[int, str]]) -> None:
        self._notes = [(note, names.replace("/", " ").replace("\0", " ")) for note, names in notes]
        # A blank is before every word.
        spelled = (f" {letters_of(names)}" for _, names in self._notes)
        self._letters = _Records([text.replace("\n", "\n ").replace("  ", " ") for text in spelled])

    @cached_property
    def _initials(self) -> _Records:
        texts = (names if names.isascii() else names.translate(_INITIAL_OF) for _, names in self._notes)
        return _Records([_NOT_INITIAL.sub("", text).casefold() for text in texts])

    @cached_property
    def _words(self) -> str:
        """Every word, one a line."""
        return "\n" + "\n".join(set(self._letters.text.split())) + "\n"

    def __len__(self) -> int:
        return len(self._notes)

    def propose(self, pattern: NamePattern, enough: int, among: Container[int] | None) -> list[Proposal]:
        """The notes that may match. Less similar ones only if there are not `enough`."""
        if not self._notes:
            return []
        found: dict[int, Proposal] = {}

        def add(rank: int, places: Iterable[int], records: _Records = self._letters) -> None:
            for place in islice(places, _MOST):
                number = records.at(place)
                if number not in found or rank < found[number].rank:
                    note = self._notes[number][0]
                    if among is None or note in among:
                        found[number] = Proposal(rank, records.length(place), note)

        phrase, letters = pattern.phrase, self._letters
        # The longer a text, the less it occurs by accident.
        enough >>= max(0, len(phrase) - 3)
        enough = max(enough, 1)
        if len(phrase) == 1 or not is_initials(phrase):
            places = list(islice(letters.places(phrase), _MOST))
            if len(places) == _MOST:  # there are more
                add(0, letters.places(f"\n {phrase}\n"))
                add(1, letters.places(f"\n {phrase}"))
                if len(found) < enough:
                    add(2, letters.places(f" {phrase}"))
            for place in places if len(found) < enough else ():
                before, after = letters.text[place - 2 : place], letters.text[place + len(phrase)]
                is_first = before == "\n "
                rank = 0 if is_first and after == "\n" else 1 if is_first else 2 if before[1] == " " else 4
                add(rank, [place])
        if len(pattern.words) == 1 and len(found) < enough:
            add(3, self._initials.places(phrase), self._initials)
        if len(pattern.words) > 1 and not pattern.has_folders and len(found) < enough:
            rarest = max(pattern.words, key=_weight)
            records = self._initials if is_initials(rarest) else letters
            others = [word for word in pattern.words if word != rarest]
            together = (
                at for at in records.places(rarest) if all(self._has(records.at(at), word) for word in others)
            )
            add(4, together, records)
        if not pattern.has_folders and not all(map(is_initials, pattern.words)) and len(found) < enough:
            add(5, self._unclear(pattern.words))
        if not pattern.has_folders and not found and len(phrase) >= _LONG:
            most = allowed_edits(phrase)  # also between words; one piece of the text is as it should be
            bounds = [len(phrase) * number // (most + 1) for number in range(most + 2)]
            for start, end in pairwise(bounds):
                add(6, letters.places(phrase[start:end]))
        return list(found.values())

    def _has(self, record: int, word: str) -> bool:
        return (not is_initials(word) and word in self._letters[record]) or word in self._initials[record]

    def _unclear(self, words: Sequence[str]) -> Iterator[int]:
        """Records with every word, some misspelt, then those with the letters of the words in order."""
        spellings = {word: [word, *self._corrections(word)] for word in words}
        letters = {}
        for word in words:
            first, *rest = map(re.escape, word)
            letters[word] = re.compile(first + "".join(rf"[^\n{letter}]*+{letter}" for letter in rest))
        pivot = max(words, key=_weight)
        others = [word for word in words if word != pivot]

        def is_among(place: int) -> bool:
            record = self._letters.at(place)
            text = self._letters[record] if others else ""
            return all(
                any(word in text for word in spellings[other])
                or letters[other].search(text) is not None
                or self._has(record, other)
                for other in others
            )

        for spelling in spellings[pivot]:
            yield from filter(is_among, islice(self._letters.places(spelling), _MOST))
        if len(pivot) >= _CLEAR and len(spellings[pivot]) > 1:
            return  # misspelt, rather than shortened
        # The first letter begins a word: four times faster, and other matches are far from the typed word.
        expression = re.compile(f" ({letters[pivot].pattern})")
        matches = [
            (match.end() - match.start(1), match.start(1))
            for match in islice(expression.finditer(self._letters.text), _MOST)
        ]
        best = [start for _, start in sorted(matches)[:_MOST_TRIED]]
        yield from islice(filter(is_among, best), _MOST_UNCLEAR)

    def _corrections(self, word: str) -> list[str]:
        """The words nearest to a misspelt one. With k edits, one of k + 1 pieces of it is unchanged."""
        most = allowed_edits(word)
        if not most:
            return []
        text = self._words
        size, found = len(word), dict[str, int]()
        bounds = [size * number // (most + 1) for number in range(most + 2)]
        pieces = [(start, word[start:end]) for start, end in pairwise(bounds)]
        for at in bounds[1:-1]:  # a swap across two pieces changes both
            swapped = word[: at - 1] + word[at] + word[at - 1] + word[at + 1 :]
            pieces.append((0, swapped[: at + 1]))
        for offset, piece in pieces:
            at = text.find(piece)
            while at >= 0:
                start, end = text.rfind("\n", 0, at) + 1, text.find("\n", at)
                if abs(at - start - offset) <= most and end - start >= size - most:
                    known = text[start:end]
                    if known not in found:
                        off = edits(word, known, most, unfinished=True)
                        if off is not None:
                            whole = edits(word, known, most)
                            found[known] = off + most if whole is None else whole
                at = text.find(piece, end)
        nearest = sorted(found, key=lambda known: (found[known], len(known)))
        kept: list[str] = []
        for known in nearest:
            if not any(shorter in known for shorter in kept):
                kept.append(known)
        return kept[:_MOST_CORRECTIONS]


class PathList:
    """The paths of all notes: ids and paths."""

    def __init__(self, notes: Sequence[tuple[int, str]]) -> None:
        self._notes = notes
        letters = (letters_of(path).replace("\n", " ").replace("\0", " ") for _, path in notes)
        self._letters = _Records(list(letters))

    def propose(self, pattern: NamePattern, among: Container[int] | None) -> list[Proposal]:
        """Notes with every word in their path."""
        parts = sorted({part for word in pattern.words for part in word.split("/")}, key=len)
        if not parts:
            return []
        found: dict[int, Proposal] = {}
        for place in islice(self._letters.places(parts[-1]), _MOST):
            number = self._letters.at(place)
            note = self._notes[number][0]
            if (among is None or note in among) and number not in found:
                path = self._letters[number]
                if all(part in path for part in parts):
                    found[number] = Proposal(2 if pattern.has_folders else 6, len(path), note)
        return list(found.values())


class NameLists:
    """The lists of the latest revision, for all threads. A change of a few notes reads only these."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._revision = -1
        self._last = 0
        self._all = self._changed = NameList([])
        self._paths: PathList | None = None

    def propose(
        self,
        connection: sqlite3.Connection,
        revision: int,
        pattern: NamePattern,
        enough: int,
        among: Container[int] | None,
    ) -> list[Proposal]:
        """The notes that may match, best first."""
        with self._lock:
            if revision != self._revision:
                changed = connection.execute(_NAMES, (self._last,)).fetchall()
                if self._last and revision > self._revision and len(changed) <= _MOST_CHANGED:
                    self._changed = NameList(changed)
                else:
                    self._all = NameList(connection.execute(_NAMES, (0,)).fetchall())
                    self._changed = NameList([])
                    self._last = int(connection.execute(_LAST).fetchone()[0])
                self._revision, self._paths = revision, None
            found = {one.note: one for one in self._all.propose(pattern, enough, among)}
            found |= {one.note: one for one in self._changed.propose(pattern, enough, among)}
            if pattern.has_folders or len(found) < enough:
                if self._paths is None:
                    self._paths = PathList(connection.execute(_PATHS).fetchall())
                found = {one.note: one for one in self._paths.propose(pattern, among)} | found
        return sorted(found.values(), key=lambda one: one.order)

    def forget(self) -> None:
        with self._lock:
            self._revision, self._last = -1, 0


def _weight(word: str) -> tuple[bool, int]:
    """How well a word singles out a few names."""
    return not is_initials(word), len(word)
