"""Matches typed text against the names of notes: fuzzy, tolerant of typos, Korean included.

The store proposes candidates; `find_names` decides how well the names of each note match, and where.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum
from itertools import pairwise
from typing import NamedTuple

from kebab_tui.domain.document import Document
from kebab_tui.domain.facets import NAME_KINDS
from kebab_tui.domain.hit import Highlight
from kebab_tui.domain.query import SearchFilters
from kebab_tui.domain.text import edits
from kebab_tui.domain.versions import Version
from kebab_tui.search.name_pattern import (
    LEADS,
    LONGEST,
    SPELLING,
    NamePattern,
    allowed_edits,
    is_initials,
    letters_of,
    name_pattern,
)
from kebab_tui.search.ports import NamedNote, Snapshot

NAME_ORDER = {kind: number for number, kind in enumerate((*NAME_KINDS, "path"))}
"""What matches, the strongest first."""
_PROPOSED = 60
"""Notes that are scored exactly, at least."""
_SYLLABLES = range(0xAC00, 0xD7A4)
_ASCII_PATH = {code: " " for code in range(128) if chr(code) in "-_." or code < 33 or code == 127}
_ASCII_PATH |= {code: chr(code).lower() for code in range(65, 91)}
_ASCII_NAME = _ASCII_PATH | {ord("/"): " "}
_ASCII_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+|(?<![^\s\-_./])[^\sA-Za-z0-9\-_./]")
"""Words and the parts of camelCase."""
_WORDS = re.compile(r"[^ /]+")


class NameMatch(IntEnum):
    """How a name matches, the best first."""

    EXACT = 0
    PREFIX = 1
    WORD = 2
    """At the start of words."""
    INITIALS = 3
    """The first letters of words, or of Korean syllables."""
    INSIDE = 4
    LETTERS = 5
    """The letters in order, each run at the start of a word, or close together in one word."""
    PATH = 6
    """In the path only."""
    TYPO = 7
    SCATTERED = 8
    """The letters in order, anywhere."""


class MatchedName(NamedTuple):
    """A name of a note that matches."""

    kind: str
    """`name`, `alias`, `title` or `path`."""
    text: str
    match: NameMatch
    cost: int
    """Orders equal matches: more for gaps and half syllables."""
    highlights: tuple[Highlight, ...]

    @property
    def is_exact(self) -> bool:
        """Whether the whole name was typed."""
        return self.match == NameMatch.EXACT


@dataclass(frozen=True, slots=True)
class FoundNote:
    """A note found by its names. `matched`: the best of them; None if no name was asked for."""

    document: Document
    root: str
    matched: MatchedName | None
    version: Version | None = None

    @property
    def location(self) -> str:
        """The absolute path of its file; of a version, as `git show` takes it."""
        if self.version is not None:
            return f"{self.version.label}:{self.version.prefix}{self.document.path}"
        return os.path.join(self.root, os.fsdecode(self.document.raw_path))

    @property
    def is_near(self) -> bool:
        """Whether a name or the path has the typed text, or its letters close together."""
        return self.matched is not None and self.matched.match <= NameMatch.PATH


class _Found(NamedTuple):
    match: NameMatch
    cost: int
    at: Sequence[int]
    """The letters that match."""


class _Name:
    """A name as letters; `origin` is the character of each letter, `starts` are the starts of words."""

    def __init__(self, text: str, *, keep_slashes: bool) -> None:
        text = text[:LONGEST]
        self.syllables: set[int] = set()
        self.origin: Sequence[int] = range(len(text))
        self.letters = text.translate(_ASCII_PATH if keep_slashes else _ASCII_NAME)
        if text.isascii() and "  " not in self.letters and not self.letters.startswith(" "):
            self.starts = {part.start() for part in _ASCII_PARTS.finditer(text)}
            return
        letters: list[str] = []
        origin: list[int] = []
        self.starts = set()
        before = " "
        for at, character in enumerate(text):
            spelled = "/" if character == "/" and keep_slashes else SPELLING[ord(character)]
            spelled = " " if spelled in "/\n\0" and not keep_slashes else spelled.replace("\n", " ")
            if spelled == " " and letters[-1:] in ([" "], []):
                continue
            if spelled and spelled not in " /":
                place = len(letters)
                if not before.isalnum() or _is_hump(before, character, text[at + 1 : at + 2]):
                    self.starts.add(place)
                if ord(character) in _SYLLABLES or character in LEADS or "\u1100" <= character <= "\u1112":
                    self.syllables.add(place)
            if spelled:
                before = character if spelled not in " /" else " "
            letters += spelled
            origin += [at] * len(spelled)
        self.letters, self.origin = "".join(letters), origin

    @property
    def onsets(self) -> set[int]:
        return self.starts | self.syllables

    def places(self, word: str) -> Iterator[int]:
        """The places of the word, never from the middle of a syllable."""
        at = self.letters.find(word)
        while at >= 0:
            if at == 0 or self.origin[at] != self.origin[at - 1]:
                yield at
            at = self.letters.find(word, at + 1)

    def literal(self, word: str, first: NameMatch = NameMatch.PREFIX) -> _Found | None:
        """The best occurrence; one that ends inside a syllable costs more."""
        best: _Found | None = None
        for at in self.places(word):
            end = at + len(word)
            is_cut = end < len(self.letters) and self.origin[end] == self.origin[end - 1]
            # The first consonant of the next syllable was taken: 한 in 하늘.
            is_cut = is_cut or {end - 1, end} <= self.syllables
            match = first if at == 0 else NameMatch.WORD if at in self.starts else NameMatch.INSIDE
            found = _Found(match, int(is_cut), range(at, end))
            if best is None or found[:2] < best[:2]:
                best = found
        return best

    def initials(self, word: str) -> _Found | None:
        """Consecutive first letters of words and syllables."""
        onsets = sorted(self.onsets)
        spelled = "".join(self.letters[at] for at in onsets)
        at = spelled.find(word) if len(word) > 1 or is_initials(word) else -1
        return _Found(NameMatch.INITIALS, int(at > 0), onsets[at : at + len(word)]) if at >= 0 else None

    def subsequence(self, word: str) -> _Found | None:
        """The letters in order, with the fewest runs that start inside a word, then the fewest gaps."""
        at = -1
        for letter in word:
            at = self.letters.find(letter, at + 1)
            if at < 0:
                return None
        onsets = self.onsets
        places: dict[str, list[int]] = {letter: [] for letter in word}
        for at, letter in enumerate(self.letters):
            if letter in places:
                places[letter].append(at)
        starts = [20 if at in onsets else 100 for at in range(len(self.letters))]
        best: dict[int, tuple[int, tuple[int, ...]]] = {at: (starts[at], (at,)) for at in places[word[0]]}
        for letter in word[1:]:
            then = {}
            for at in places[letter]:
                options = [
                    (cost if last == at - 1 else cost + starts[at] + min(at - last, 20), path)
                    for last, (cost, path) in best.items()
                    if last < at
                ]
                if options:
                    cost, path = min(options)
                    then[at] = cost, (*path, at)
            best = then
        cost, path = min(best.values())
        runs = [path[0], *(b for a, b in pairwise(path) if b != a + 1)]
        is_one_word = path[0] in self.starts and not self.starts.intersection(
            range(path[0] + 1, path[-1] + 1)
        )
        is_tight = all(at in onsets for at in runs) or (is_one_word and path[-1] - path[0] < 2 * len(word))
        return _Found(NameMatch.LETTERS if is_tight else NameMatch.SCATTERED, cost, path)

    def misspelt(self, word: str) -> _Found | None:
        """The nearest word, or the nearest beginning of one."""
        most = allowed_edits(word)
        best: _Found | None = None
        for part in _WORDS.finditer(self.letters) if most else ():
            whole = edits(word, part[0], most)
            nearest = whole if whole is not None else edits(word, part[0], most, unfinished=True)
            if nearest is not None:
                found = _Found(NameMatch.TYPO, 2 * nearest + (whole is None), range(*part.span()))
                if best is None or found[:2] < best[:2]:
                    best = found
        return best

    def misspelt_phrase(self, phrase: str) -> _Found | None:
        """The nearest beginning of the rest of the name, from any word on: a wrong key between words."""
        most = allowed_edits(phrase)
        best: _Found | None = None
        for at in sorted(self.starts) if most else ():
            nearest = edits(phrase, self.letters[at:], most, unfinished=True)
            if nearest is not None and (best is None or 2 * nearest < best.cost):
                end = min(at + len(phrase), len(self.letters))
                best = _Found(NameMatch.TYPO, 2 * nearest, range(at, end))
        return best

    def word(self, word: str) -> _Found | None:
        """The best match of one word."""
        found: list[_Found | None]
        if is_initials(word):
            found = [self.initials(word), None if len(word) > 1 else self.literal(word, NameMatch.WORD)]
        else:
            found = [self.literal(word, NameMatch.WORD)]
            if found[0] is None or found[0].match is NameMatch.INSIDE:
                found.append(self.initials(word))
            if not any(found):
                found = [self.subsequence(word), self.misspelt(word)]
        return min((one for one in found if one is not None), key=lambda one: one[:2], default=None)

    def in_path(self, pattern: NamePattern) -> _Found | None:
        """Every word of the pattern in this path; the folders of a word in their order."""
        each = []
        for word in pattern.words:
            parts = [part for part in word.split("/") if part]
            places, start = list[int](), 0
            at_starts = True
            for number, part in enumerate(parts):
                found = [at for at in self.places(part) if at >= start]
                if number:
                    found = [at for at in found if "/" in self.letters[start:at]]
                if not found:
                    return None
                at = next((at for at in found if at in self.starts), found[0])
                at_starts = at_starts and at in self.starts
                start = at + len(part)
                places += range(at, start)
            each.append(_Found(NameMatch.WORD if at_starts else NameMatch.INSIDE, 0, places))
        whole = _together(each)
        if pattern.has_folders:
            return whole
        return whole._replace(match=NameMatch.PATH, cost=int(whole.match is NameMatch.INSIDE))

    def highlights(self, places: Iterable[int]) -> tuple[Highlight, ...]:
        """The characters of these letters, as ranges."""
        ranges: list[Highlight] = []
        for at in sorted({self.origin[place] for place in places}):
            if ranges and ranges[-1][1] == at:
                ranges[-1] = (ranges[-1][0], at + 1)
            else:
                ranges.append((at, at + 1))
        return tuple(ranges)


def _is_hump(before: str, character: str, after: str) -> bool:
    """Whether a word starts inside a name: getUserName, HTMLElement, note2, API회의."""
    if character.isupper():
        return not before.isupper() or (after.islower())
    if character.isdigit() or before.isdigit():
        return character.isdigit() != before.isdigit()
    return before.isascii() and not character.isascii() and not character.islower()


def find_names(
    snapshot: Snapshot, typed: str, filters: SearchFilters, limit: int
) -> list[tuple[NamedNote, MatchedName | None]]:
    """The best `limit` notes: by match, kind and length of their best name, then the latest changed."""
    pattern = name_pattern(typed)
    if not pattern.words:
        return [(note, None) for note in snapshot.find_names(pattern, filters, limit, limit)]
    proposed = snapshot.find_names(pattern, filters, max(_PROPOSED, 2 * limit), 2 * limit)
    found = [(note, name) for note in proposed if (name := best_name(pattern, note)) is not None]
    found.sort(key=lambda one: (*_name_order(one[1]), -one[0].mtime_ns, one[0].path, one[0].source))
    return [*found[:limit]]


def best_name(pattern: NamePattern, note: NamedNote) -> MatchedName | None:
    """The name of a note that matches best; None if none matches."""
    names = [match_name(pattern, kind, text) for kind, text in note.names]
    best = min((one for one in names if one is not None), key=_name_order, default=None)
    if best is not None and best.match <= NameMatch.LETTERS and not pattern.has_folders:
        return best
    by_path = match_name(pattern, "path", note.path)
    return min((one for one in (best, by_path) if one is not None), key=_name_order, default=None)


def _name_order(name: MatchedName) -> tuple[int, int, int, int]:
    return name.match, name.cost, NAME_ORDER[name.kind], len(name.text)


def match_name(pattern: NamePattern, kind: str, text: str) -> MatchedName | None:
    """How a pattern matches one name; None if it does not."""
    letters = set(letters_of(text))
    if not pattern.words or any(
        len(set(word) - letters - {"/"}) > max(1, allowed_edits(word)) for word in pattern.words
    ):
        return None
    name = _Name(text, keep_slashes=kind == "path")
    found: _Found | None = None
    if kind == "path":
        found = name.in_path(pattern)
    else:
        found = name.literal(pattern.phrase) if not is_initials(pattern.phrase) else None
        if found is not None and len(found.at) == len(name.letters.rstrip()):
            found = found._replace(match=NameMatch.EXACT)
        if (found is None or found.match > NameMatch.WORD) and not pattern.has_folders:
            each = [name.word(word) for word in pattern.words]
            if all(each):
                together = _together([one for one in each if one is not None])
                found = together if found is None else min(found, together, key=lambda one: one[:2])
        if found is None and not pattern.has_folders:
            found = name.misspelt_phrase(pattern.phrase)
    if found is None:
        return None
    return MatchedName(kind, text, found.match, found.cost, name.highlights(found.at))


def _together(each: Sequence[_Found]) -> _Found:
    at = sorted({place for one in each for place in one.at})
    return _Found(max(one.match for one in each), sum(one.cost for one in each), at)
