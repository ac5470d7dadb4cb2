"""Known-item queries: what a user types to find a certain note again, with the right notes.

Generated from vaults with a fixed seed, the same whenever the notes are the same; the hand-written questions
over the sample vault are in fixtures/known_items.yaml. Right are, for each class:

title       the notes with this name, alias or title; so for alias and stem. Of a path: that file
half title  the first or last words of a title, which at most three notes have in their names: these notes
rare word   all notes with a word of this beginning, at most three
typo        a slip in a word of a title: the notes with the word in a name or title; in a rare word: the notes
            that have it; in a whole title of up to four words: the notes with this title
tag         typed as `#tag`: the tagged notes; as a bare word: also the notes with it in a name or title
date        all notes with the date in the text, the name or the front matter, at most ten; dates of texts
            and names first, then those that stand in front matter only. Not the date of a timestamp
identifier  all notes with it, at most three; one of four is typed in parts (`user name` for `user_name`)
short       one or two syllables, or two to four letters, from a title: the notes with it in a name,
            title or heading

A title, alias or stem that several notes have is ambiguous.
"""

from __future__ import annotations

import random
import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from itertools import zip_longest
from pathlib import Path
from typing import Literal

import yaml

Half = Literal["dev", "last"]
"""`dev` to tune with, `last` for the last measurement."""
SEED = 14
PER_CLASS = 40
"""Half of them from each vault, as far as it has enough."""
AMBIGUOUS = 20
WRITTEN = "fixtures/known_items.yaml"

_FRONT_MATTER = re.compile(r"\A---\r?\n(.*?)\r?\n---\r?(?:\n|\Z)", re.DOTALL)
_FENCE = re.compile(r"^ {0,3}(```+|~~~+).*?^ {0,3}\1", re.DOTALL | re.MULTILINE)
_HEADING = re.compile(r"^(#{1,6}) +(.+?)[ #]*$", re.MULTILINE)
_INLINE_TAG = re.compile(r"(?:^|\s)#([^\W\d][\w/-]*)")
_DATE = re.compile(r"(?<![\w-])20\d\d-[01]\d-[0-3]\d(?![\w-])")
_WORD = re.compile(r"(?<![\w./@#-])(?:[a-z]{5,12}|[가-힣]{3,5})(?![\w/@-])")
_LETTERS = re.compile(r"[a-z]+|[가-힣]+")
_NAME_WORD = re.compile(r"[A-Za-z]+|(?<![\w)`])[가-힣]+")
"""Not the particle behind another word, as in `API를`."""
_IDENTIFIER = re.compile(r"(?<![\w\\./-])[A-Za-z][A-Za-z0-9_]{4,29}(?![A-Za-z0-9_-])")
_CODED = re.compile(r"[A-Za-z0-9]_[A-Za-z0-9]|[a-z][A-Z]|^[A-Z]+\d{3,}$")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|_+")
_ENDING = re.compile(
    "[은는을를의에로와과도만이가다고며면서지게한된할될요자나라야든들여해록올일함데니어아터걸던려임음기감운인]$"
)
"""Ends many forms of verbs and nouns with particles, which nobody types to find a note."""
_NAMED = ("title", "alias", "stem")
"""The classes that ask for one note by its name."""
_INDEX_NAMES = ("index", "_index", "readme")
_STOP_WORDS = frozenset(
    re.findall(
        r"\S+",
        "a an and api are as at be by can do for from how i if in into is it its more my no not of on one "
        "or set so than that the this to up use via was what when who why with you your "
        "수 것 더 및 안 할 한 위 등",
    )
)

# Rows of a keyboard, for slips onto the next key.
_LATIN_ROWS = ("qwertyuiop", "asdfghjkl", "zxcvbnm")
_HANGUL_ROWS = ("ㅂㅈㄷㄱㅅ", "ㅁㄴㅇㄹㅎ", "ㅋㅌㅊㅍ", "ㅛㅕㅑㅐㅔ", "ㅗㅓㅏㅣ", "ㅠㅜㅡ")
_INITIALS = "ㄱㄲㄴㄷㄸㄹㅁㅂㅃㅅㅆㅇㅈㅉㅊㅋㅌㅍㅎ"
_VOWELS = "ㅏㅐㅑㅒㅓㅔㅕㅖㅗㅘㅙㅚㅛㅜㅝㅞㅟㅠㅡㅢㅣ"
_FINALS = " ㄱㄲㄳㄴㄵㄶㄷㄹㄺㄻㄼㄽㄾㄿㅀㅁㅂㅄㅅㅆㅇㅈㅊㅋㅌㅍㅎ"
_SYLLABLE = 0xAC00


@dataclass(frozen=True, slots=True)
class Note:
    """A note as its file shows it; read without the program, so that its changes do not move the queries."""

    id: str
    """Source and path: `notes/infra/dns.txt`."""
    name: str
    titles: tuple[str, ...]
    """The front-matter title and the first H1."""
    aliases: tuple[str, ...]
    tags: frozenset[str]
    headings: tuple[str, ...]
    dates: frozenset[str]
    """Of the text and the name."""
    date: str
    """Of the front matter, or empty."""
    text: str

    @property
    def source(self) -> str:
        return self.id.partition("/")[0]

    @property
    def names(self) -> tuple[str, ...]:
        return (self.name, *self.aliases, *self.titles)


@dataclass(frozen=True, slots=True)
class Query:
    group: str
    text: str
    right: frozenset[str]
    """Ids of notes."""
    ambiguous: bool = False

    @property
    def half(self) -> Half:
        return half_of(self.text)


def half_of(name: str) -> Half:
    """The half of a question, by a hash of its text or id."""
    return "last" if blake2b(name.encode()).digest()[0] & 1 else "dev"


def name_key(text: str) -> str:
    """NFC, case-folded, runs of blanks, `-`, `_` and `.` as one blank."""
    return re.sub(r"[\s._-]+", " ", unicodedata.normalize("NFC", text).casefold()).strip()


def read_vault(root: Path) -> list[Note]:
    """All notes of a folder; its name is the name of the source."""
    files = sorted(path for path in root.rglob("*") if path.suffix in (".md", ".txt") and path.is_file())
    return [_read(root, path) for path in files]


def _read(root: Path, path: Path) -> Note:
    text = unicodedata.normalize("NFC", path.read_text("utf-8", "replace"))
    found = _FRONT_MATTER.match(text)
    fields = _fields(found[1]) if found else {}
    prose = _FENCE.sub("", text[found.end() :] if found else text)
    headings = [(len(marks), title) for marks, title in _HEADING.findall(prose)]
    first = next((title for level, title in headings if level == 1), None)
    tags = [*_strings(fields.get("tags")), *_INLINE_TAG.findall(prose)]
    stem = unicodedata.normalize("NFC", path.stem)
    name = unicodedata.normalize("NFC", path.parent.name) if stem.casefold() in _INDEX_NAMES else stem
    return Note(
        id=unicodedata.normalize("NFC", f"{root.name}/{path.relative_to(root).as_posix()}"),
        name=name,
        titles=tuple(dict.fromkeys([*_strings(fields.get("title"), ""), *([first] if first else [])])),
        aliases=tuple(alias for alias in _strings(fields.get("aliases")) if not alias.startswith("/")),
        tags=frozenset(tag.casefold() for tag in tags),
        headings=tuple(title for _, title in headings),
        dates=frozenset([*_DATE.findall(text[found.end() :] if found else text), *_DATE.findall(stem)]),
        date=next(iter(_DATE.findall(str(fields.get("date")))), ""),
        text=text,
    )


def _fields(front_matter: str) -> Mapping[str, object]:
    try:
        fields = yaml.safe_load(front_matter)
    except yaml.YAMLError:
        return {}
    return fields if isinstance(fields, dict) else {}


def _strings(value: object, separator: str = ",") -> list[str]:
    if isinstance(value, str):
        parts = value.split(separator) if separator else [value]
    else:
        parts = [str(part) for part in value] if isinstance(value, list) else []
    return [stripped for part in parts if (stripped := part.strip())]


class Generator:
    """Known-item queries over some vaults."""

    def __init__(self, notes: Sequence[Note]) -> None:
        self._notes = notes
        self._sources = list(dict.fromkeys(note.source for note in notes))
        self._ids = [note.id for note in notes]
        self._named: dict[str, set[str]] = defaultdict(set)
        for note in notes:
            for name in note.names:
                self._named[name_key(name)].add(note.id)

    def queries(self, per_class: int = PER_CLASS, ambiguous: int = AMBIGUOUS) -> list[Query]:
        """The unambiguous queries of every class, and some ambiguous ones; always the same."""
        makers = {
            "title": self._titles, "half title": self._half_titles, "alias": self._aliases,
            "stem": self._stems, "rare word": self._rare, "typo": self._typos, "tag": self._tags,
            "date": self._dates, "identifier": self._identifiers, "short": self._short,
        }  # fmt: skip
        made: list[Query] = []
        for group, maker in makers.items():
            certain: list[list[Query]] = []
            shared: list[list[Query]] = []
            for source in self._sources:
                notes = [note for note in self._notes if note.source == source]
                chance = random.Random(f"{SEED} {group} {source}")
                chance.shuffle(notes)
                certain.append([])
                shared.append([])
                for text, right in maker(notes, chance):
                    if group in _NAMED and len(right) > 1:
                        shared[-1].append(Query(group, text, right, ambiguous=True))
                    elif right:
                        certain[-1].append(Query(group, text, right))
                    if len(certain[-1]) >= 2 * per_class and (
                        group not in _NAMED or len(shared[-1]) >= ambiguous
                    ):
                        break
            made += [*_in_turn(certain, per_class), *_in_turn(shared, ambiguous)]
        return made

    # Each maker yields the text of a query and the right notes, in the random order of its notes.

    def _titles(self, notes: Iterable[Note], chance: random.Random) -> Iterator[tuple[str, frozenset[str]]]:
        for note in notes:
            if note.titles:
                yield note.titles[0], self._all_named(note.titles[0])

    def _half_titles(
        self, notes: Iterable[Note], chance: random.Random
    ) -> Iterator[tuple[str, frozenset[str]]]:
        for note in notes:
            words = note.titles[0].split() if note.titles else []
            if len(words) < (3 if _is_hangul(words[-1:]) else 4):
                continue
            size = (len(words) + 1) // 2
            half = " ".join(words[:size] if chance.random() < 0.5 else words[-size:])
            right = self._all_with(f" {name_key(half)} ", self._padded_names)
            if len(right) <= 3:
                yield half, right

    def _aliases(self, notes: Iterable[Note], chance: random.Random) -> Iterator[tuple[str, frozenset[str]]]:
        for note in notes:
            for alias in note.aliases:
                yield alias, self._all_named(alias)

    def _stems(self, notes: Iterable[Note], chance: random.Random) -> Iterator[tuple[str, frozenset[str]]]:
        for note in notes:
            path = note.id.split("/")
            if len(path) < 3 and note.name == path[0]:
                continue  # the README of a source, which nobody knows by the name of the folder
            file = path[-1]
            form = chance.choice(("plain", "plain", "plain", "ending", "path", "blanks", "case", "NFD"))
            if form == "path":
                typed = "/".join(path[-2:])
                yield typed, frozenset(name for name in self._ids if f"/{name}".endswith(f"/{typed}"))
                continue
            name = {
                "plain": note.name,
                "ending": file if file.startswith(note.name) else note.name,
                "blanks": re.sub("[-_]", " ", note.name),
                "case": note.name.upper(),
                "NFD": unicodedata.normalize("NFD", note.name),
            }[form]
            yield name, self._all_named(note.name)

    def _rare(self, notes: Iterable[Note], chance: random.Random) -> Iterator[tuple[str, frozenset[str]]]:
        for note in notes:
            if word := self._rare_word(note, chance):
                yield word, frozenset(self._by_beginning[_beginning(word)])

    def _typos(self, notes: Iterable[Note], chance: random.Random) -> Iterator[tuple[str, frozenset[str]]]:
        for turn, note in enumerate(notes):
            title = note.titles[0] if note.titles else note.name
            words = [word for word in _NAME_WORD.findall(title) if _is_content(word)]
            if turn % 3 == 1 and len(title.split()) > 4:
                continue
            word = self._rare_word(note, chance) if turn % 3 == 2 else chance.choice(words or [""])
            if not word:
                continue
            slip = slipped(word, chance)
            if slip.casefold() in (self._all_hangul if _is_hangul([slip]) else self._vocabulary):
                continue  # a word
            if turn % 3 == 0:
                right = self._all_with(word.casefold(), self._padded_names)
                if len(right) <= 20:
                    yield slip, right
            elif turn % 3 == 1:
                yield title.replace(word, slip, 1), self._all_named(title)
            else:
                yield slip, frozenset(self._by_beginning[_beginning(word)])

    def _tags(self, notes: Iterable[Note], chance: random.Random) -> Iterator[tuple[str, frozenset[str]]]:
        used: set[str] = set()
        for note in notes:
            for tag in sorted(note.tags - used):
                used.add(tag)
                right = frozenset(other.id for other in self._notes if tag in other.tags)
                if chance.random() < 0.5:
                    yield f"#{tag}", right
                else:
                    yield tag, right | self._all_with(f" {name_key(tag)} ", self._padded_names)

    def _dates(self, notes: Sequence[Note], chance: random.Random) -> Iterator[tuple[str, frozenset[str]]]:
        shown = [date for note in notes for date in sorted(note.dates)]
        for date in dict.fromkeys([*shown, *(note.date for note in notes if note.date)]):
            right = frozenset(note.id for note in self._notes if date in note.dates or date == note.date)
            if len(right) <= 10:
                yield date, right

    def _identifiers(
        self, notes: Iterable[Note], chance: random.Random
    ) -> Iterator[tuple[str, frozenset[str]]]:
        for turn, note in enumerate(notes):
            mine = {word for word in _IDENTIFIER.findall(note.text) if _CODED.search(word)}
            rare = sorted(word for word in mine if len(self._by_identifier[word.casefold()]) <= 3)
            if not rare:
                continue
            word = chance.choice(rare)
            right = frozenset(self._by_identifier[word.casefold()])
            parts = [part for part in _HUMP.split(word) if part]
            if turn % 4 == 3 and len(parts) > 1 and min(map(len, parts)) >= 3:
                typed = " ".join(parts).casefold()
                yield typed, right | self._all_with(f" {typed} ", self._parted_texts)
            else:
                yield word, right

    def _short(self, notes: Iterable[Note], chance: random.Random) -> Iterator[tuple[str, frozenset[str]]]:
        used: set[str] = set()
        for note in notes:
            title = note.titles[0] if note.titles else note.name
            words = [
                word
                for word in _NAME_WORD.findall(title)
                if word.casefold() not in _STOP_WORDS | used
                and (
                    len(word) <= 2 and not _ENDING.search(word) if _is_hangul([word]) else 2 <= len(word) <= 4
                )
            ]
            if words:
                word = chance.choice([word for word in words if len(word) == 1] or words)
                used.add(word.casefold())
                key = word.casefold() if _is_hangul([word]) else f" {word.casefold()} "
                yield word, self._all_with(key, self._padded_headings)

    def _all_named(self, name: str) -> frozenset[str]:
        return frozenset(self._named[name_key(name)])

    def _all_with(self, part: str, texts: Sequence[str]) -> frozenset[str]:
        return frozenset(name for name, text in zip(self._ids, texts, strict=True) if part in text)

    @cached_property
    def _padded_names(self) -> list[str]:
        """The names of each note, every one between blanks."""
        return [" \n ".join(["", *map(name_key, note.names), ""]) for note in self._notes]

    @cached_property
    def _padded_headings(self) -> list[str]:
        split = [(*note.names, *note.headings) for note in self._notes]
        return [f" {' '.join(_words_of(' / '.join(names)))} " for names in split]

    @cached_property
    def _parted_texts(self) -> list[str]:
        """The words of each note, with identifiers in their parts."""
        return [" ".join(["", *_words_of(_HUMP.sub(" ", note.text)), ""]) for note in self._notes]

    @cached_property
    def _by_identifier(self) -> Mapping[str, set[str]]:
        found: dict[str, set[str]] = defaultdict(set)
        for note in self._notes:
            for word in set(re.findall(r"[a-z0-9_]+", note.text.casefold())):
                found[word].add(note.id)
        return found

    @cached_property
    def _by_beginning(self) -> Mapping[str, set[str]]:
        found: dict[str, set[str]] = defaultdict(set)
        for note in self._notes:
            for word in set(_words_of(note.text)):
                found[_beginning(word)].add(note.id)
        return found

    @cached_property
    def _vocabulary(self) -> frozenset[str]:
        return frozenset(word for note in self._notes for word in set(_words_of(note.text)))

    @cached_property
    def _all_hangul(self) -> str:
        return "\n".join(note.text for note in self._notes if _is_hangul([note.text]))

    def _rare_word(self, note: Note, chance: random.Random) -> str:
        words = sorted(set(_WORD.findall(note.text)))
        chance.shuffle(words)
        return next(filter(self._is_rare, words), "")

    def _is_rare(self, word: str) -> bool:
        if not 1 <= len(self._by_beginning[_beginning(word)]) <= 3:
            return False
        return not _is_hangul([word]) or not (_ENDING.search(word) or self._all_hangul.count(word) > 3)


def slipped(word: str, chance: random.Random) -> str:
    """A word with one random slip: two letters swapped, one dropped, doubled or the next key.

    Of Hangul: a letter becomes that of the next key, or the last letter of a syllable is dropped.
    """
    slip = word
    while slip == word:
        at = chance.randrange(len(word))
        if _is_hangul([word]):
            slip = word[:at] + _slipped_syllable(word[at], chance) + word[at + 1 :]
            continue
        kind = chance.choice(("swap", "drop", "double", "next key"))
        if kind == "swap" and at:
            slip = word[: at - 1] + word[at] + word[at - 1] + word[at + 1 :]
        elif kind == "drop":
            slip = word[:at] + word[at + 1 :]
        elif kind == "double":
            slip = word[: at + 1] + word[at:]
        elif kind == "next key":
            key = _next_key(word[at].lower(), _LATIN_ROWS, chance)
            slip = word[:at] + (key.upper() if word[at].isupper() else key) + word[at + 1 :]
    return slip


def _slipped_syllable(syllable: str, chance: random.Random) -> str:
    code = ord(syllable) - _SYLLABLE
    letters = [_INITIALS[code // 588], _VOWELS[code % 588 // 28], _FINALS[code % 28]]
    place = chance.randrange(3)
    if place == 2 and chance.random() < 0.5:
        letters[2] = " "
    else:
        letters[place] = _next_key(letters[place], _HANGUL_ROWS, chance)
    if letters[2] not in _FINALS:
        return syllable
    initial, vowel, final = (
        row.index(one) for row, one in zip((_INITIALS, _VOWELS, _FINALS), letters, strict=True)
    )
    return chr(_SYLLABLE + initial * 588 + vowel * 28 + final)


def _next_key(letter: str, rows: Sequence[str], chance: random.Random) -> str:
    """The letter left or right of it; a letter of no row stays."""
    for row in rows:
        if letter in row:
            at = row.index(letter)
            return chance.choice([row[near] for near in (at - 1, at + 1) if 0 <= near < len(row)])
    return letter


def _is_hangul(words: Sequence[str]) -> bool:
    return any("가" <= letter <= "힣" for word in words for letter in word)


def _is_content(word: str) -> bool:
    """At least five letters; of Hangul, those of the keyboard, and no ending of a verb or a particle."""
    if _is_hangul([word]):
        return len(unicodedata.normalize("NFD", word)) >= 5 and not _ENDING.search(word)
    return len(word) >= 5


def _beginning(word: str) -> str:
    """Crude stem: what forms of a word have in common."""
    return word if _is_hangul([word]) else word[: max(5, len(word) - 3)]


def _words_of(text: str) -> list[str]:
    return _LETTERS.findall(text.casefold())


def _in_turn(lists: Sequence[Sequence[Query]], count: int) -> list[Query]:
    """The first of each list, the second of each list and so on; no text twice."""
    merged = {query.text: query for turn in zip_longest(*lists) for query in turn if query is not None}
    return list(merged.values())[:count]


def written(path: Path) -> list[Query]:
    """The hand-written questions over the sample vault."""
    entries = yaml.safe_load(path.read_text("utf-8"))
    return [
        Query("written", one["query"], frozenset(f"notes/{right['note']}" for right in one["expect"]))
        for one in entries
    ]
