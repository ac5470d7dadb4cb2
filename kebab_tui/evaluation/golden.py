"""Reads a golden file: queries with the notes, headings or lines that should be found.

A list in YAML: `id`, `query`, `expect`, and where wanted `lang` and `probes`. An
expectation names a `note`, and at most one of `heading` and `lines: [first, last]`;
`relevance` grades it (1 without). Nothing is guessed: whatever is unknown, missing or of
another kind is refused with file, line and key. Whether the notes exist is not asked here.
"""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, Literal, TypeVar

from kebab_tui.domain.document import HEADING_SEPARATOR, Chunk
from kebab_tui.domain.errors import UsageError
from kebab_tui.domain.hit import SearchHit
from kebab_tui.domain.text import is_hangul

if TYPE_CHECKING:
    from yaml import Node


# Reading what somebody else wrote: every refusal names the file, and the line where one is to blame.
#
# Takes UTF-8 only, with or without a byte order mark. Knows no format.


def read_text(path: str, hint: str = "") -> str:
    """The whole file."""
    try:
        with open(path, "rb") as file:
            data = file.read()
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise refusal(path, data.count(b"\n", 0, error.start) + 1, "not UTF-8 text") from None
    except (OSError, ValueError) as error:
        raise _unreadable(path, error, hint) from None


def numbered_lines(path: str, hint: str = "") -> Iterator[tuple[int, str]]:
    """The lines that are not blank, without their ends, numbered from 1."""
    try:
        with open(path, "rb") as file:
            for number, line in enumerate(file, 1):
                if text := _decoded(path, number, line).strip("\r\n"):
                    yield number, text
    except (OSError, ValueError) as error:
        raise _unreadable(path, error, hint) from None


def refusal(path: str, line: int, what: str, hint: str = "") -> UsageError:
    return UsageError(f"{path}:{line}: {what}", hint)


def nearest(word: str, known: Iterable[str]) -> str:
    """`did you mean …?`, where something is near."""
    near = get_close_matches(word, list(known), 1)
    return f"did you mean {near[0]}?" if near else ""


def _decoded(path: str, number: int, line: bytes) -> str:
    try:
        return line.decode("utf-8-sig" if number == 1 else "utf-8")
    except UnicodeDecodeError:
        raise refusal(path, number, "not UTF-8 text") from None


def _unreadable(path: str, error: OSError | ValueError, hint: str) -> UsageError:
    """A path with a NUL in it is a ValueError; everything else is the system's word."""
    reason = error.strerror if isinstance(error, OSError) and error.errno else str(error)
    return UsageError(f"cannot read {path}: {reason}", hint)


# What is asked of a search, and what would be a good answer to it.
#
# An item is whatever a set of questions judges: a document of a BEIR corpus, an
# expectation of a golden file. Knows no file format and asks nothing.

QueryLanguage = Literal["ko", "en", "mixed"]
QUERY_LANGUAGES: tuple[QueryLanguage, ...] = ("ko", "en", "mixed")
SetKind = Literal["golden", "beir"]


@dataclass(frozen=True, slots=True)
class JudgedQuery:
    """`relevant`: item -> grade, all above 0; at least one."""

    id: str
    text: str
    lang: QueryLanguage
    relevant: Mapping[str, int]
    probe: str = ""
    """What it exercises, where its author said so."""


def query_language(text: str) -> QueryLanguage:
    """Korean by a fair share of Hangul, mixed by a little of it, else English."""
    if is_hangul(text):
        return "ko"
    return "mixed" if any("\uac00" <= character <= "\ud7a3" for character in text) else "en"


T = TypeVar("T")

_QUERY_KEYS = ("id", "query", "lang", "probes", "expect")
_EXPECT_KEYS = ("note", "heading", "lines", "relevance")
_FORM = "a golden file is a list of `id`, `query` and `expect`"


@dataclass(frozen=True, slots=True)
class Expectation:
    """A note, or a part of it; `line` is where the file names that part."""

    note: str
    line: int
    heading: str = ""
    lines: tuple[int, int] | None = None
    relevance: int = 1

    def __str__(self) -> str:
        if self.lines:
            return f"{self.note} lines {self.lines[0]}-{self.lines[1]}"
        return f"{self.note} > {self.heading}" if self.heading else self.note


@dataclass(frozen=True, slots=True)
class GoldenQuery:
    id: str
    text: str
    lang: QueryLanguage
    probe: str
    expect: tuple[Expectation, ...]


def read_golden(path: str) -> tuple[GoldenQuery, ...]:
    """The queries in the order of the file; UsageError for anything that is not as it should be."""
    return _GoldenParser(path).queries(_root(path, read_text(path)))


def golden_digest(queries: Sequence[GoldenQuery]) -> str:
    """Stands for what is asked and expected; comments and layout of the file do not matter."""
    asked = repr(
        [
            (query.id, query.text, query.lang, [(str(e), e.relevance) for e in query.expect])
            for query in queries
        ]
    )
    return hashlib.blake2b(asked.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def _root(path: str, text: str) -> Node:
    import yaml

    try:
        # The pure loader: libyaml's overruns the stack where this one raises.
        root = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise refusal(path, mark.line + 1 if mark else 1, f"not YAML: {error.problem}") from None
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise refusal(path, line, "a character that YAML does not allow") from None
    except RecursionError:
        raise refusal(path, 1, "nested too deeply", _FORM) from None
    if root is None:
        raise UsageError(f"{path}: there is no query in it", _FORM)
    return root


class _GoldenParser:
    """Goes down the nodes of one file; each method takes the node of one thing."""

    def __init__(self, path: str) -> None:
        self._path = path

    def queries(self, root: Node) -> tuple[GoldenQuery, ...]:
        seen: dict[str, int] = {}
        queries = []
        for node in self._items(root, "the file", _FORM):
            query = self._query(node)
            if query.id in seen:
                raise self._refusal(node, f"the id {query.id!r} is taken by line {seen[query.id]}")
            seen[query.id] = _line(node)
            queries.append(query)
        return tuple(queries)

    def _query(self, node: Node) -> GoldenQuery:
        entries = self._entries(node, "a query", _QUERY_KEYS, ("id", "query", "expect"))
        text = self._text(entries["query"], "query")
        return GoldenQuery(
            id=self._text(entries["id"], "id"),
            text=text,
            lang=_either(entries.get("lang"), self._language, query_language(text)),
            probe=_either(entries.get("probes"), lambda given: self._text(given, "probes"), ""),
            expect=tuple(map(self._expectation, self._items(entries["expect"], "expect"))),
        )

    def _expectation(self, node: Node) -> Expectation:
        entries = self._entries(node, "an expectation", _EXPECT_KEYS, ("note",))
        heading, lines = entries.get("heading"), entries.get("lines")
        if heading and lines:
            raise self._refusal(lines, "heading and lines exclude each other", "leave one of them out")
        return Expectation(
            note=_normal(self._text(entries["note"], "note")),
            line=_line(heading or lines or entries["note"]),
            heading=_either(heading, lambda given: _normal(self._text(given, "heading")), ""),
            lines=_either(lines, self._span, None),
            relevance=_either(entries.get("relevance"), lambda given: self._number(given, "relevance"), 1),
        )

    def _language(self, node: Node) -> QueryLanguage:
        given = self._text(node, "lang")
        for language in QUERY_LANGUAGES:
            if given == language:
                return language
        raise self._refusal(node, f"lang: {given!r} is none", f"one of {', '.join(QUERY_LANGUAGES)}")

    def _span(self, node: Node) -> tuple[int, int]:
        first, *rest = (self._number(item, "lines") for item in self._items(node, "lines"))
        if len(rest) != 1 or rest[0] < first:
            raise self._refusal(node, "lines: not a first and a last line", "such as lines: [12, 34]")
        return first, rest[0]

    def _number(self, node: Node, key: str) -> int:
        text = self._text(node, key)
        if not (text.isascii() and text.isdecimal() and len(text) <= 9 and int(text) > 0):
            raise self._refusal(node, f"{key}: {text!r} is not a whole number above 0")
        return int(text)

    def _text(self, node: Node, key: str) -> str:
        if _kind(node) != "scalar" or not node.value.strip() or node.tag.endswith(":null"):
            raise self._refusal(node, f"{key}: a text is wanted here")
        value: str = node.value
        return value

    def _items(self, node: Node, what: str, hint: str = "") -> Sequence[Node]:
        if _kind(node) != "sequence" or not node.value:
            raise self._refusal(node, f"{what}: a list with something in it is wanted here", hint)
        items: Sequence[Node] = node.value
        return items

    def _entries(self, node: Node, what: str, known: Sequence[str], wanted: Sequence[str]) -> dict[str, Node]:
        if _kind(node) != "mapping":
            raise self._refusal(node, f"{what} is written as `key: value`", f"its keys: {', '.join(known)}")
        entries: dict[str, Node] = {}
        for key, value in node.value:
            name = str(key.value)
            if name not in known:
                hint = nearest(name, known) or f"known here: {', '.join(known)}"
                raise self._refusal(key, f"unknown key {name}", hint)
            if name in entries:
                raise self._refusal(key, f"the key {name} is there twice")
            entries[name] = value
        for name in wanted:
            if name not in entries:
                raise self._refusal(node, f"{what} without the key {name}")
        return entries

    def _refusal(self, node: Node, what: str, hint: str = "") -> UsageError:
        return refusal(self._path, _line(node), what, hint)


def _either(node: Node | None, read: Callable[[Node], T], default: T) -> T:
    return default if node is None else read(node)


def _kind(node: Node) -> str:
    return str(getattr(node, "id", ""))  # the stubs of PyYAML know it of subclasses only


def _line(node: Node) -> int:
    return int(node.start_mark.line) + 1


def _normal(text: str) -> str:
    return unicodedata.normalize("NFC", text.strip())


# Where the expectations of a golden file stand in the index, and which hits reach them.
#
# A hit counts when its cited lines overlap the lines of what is expected: of the note, of
# the section with its subsections, of the lines that are named. Sections are known by the
# headings of the index's own passages, so merged neighbours count for each of their names.

_MERGED = " · "
_CUT = "…"

Lines = tuple[int, int]
ChunksOf = Callable[[str], Sequence[Chunk]]
"""The passages of a note, by its path."""


@dataclass(frozen=True, slots=True)
class Target:
    """`item` names it in a ranking; without `spans` any line of the note will do."""

    item: str
    note: str
    grade: int
    spans: tuple[Lines, ...] | None

    def holds(self, hit: SearchHit) -> bool:
        if hit.path != self.note:
            return False
        cited = hit.citation.span
        return self.spans is None or any(
            first <= cited.last and cited.first <= last for first, last in self.spans
        )


@dataclass(frozen=True, slots=True)
class PlacedQuery:
    """A golden query whose expectations have been found."""

    query: GoldenQuery
    places: tuple[Target, ...]

    @property
    def question(self) -> JudgedQuery:
        relevant = {place.item: place.grade for place in self.places}
        return JudgedQuery(self.query.id, self.query.text, self.query.lang, relevant, self.query.probe)

    def ranking(self, hits: Sequence[SearchHit]) -> list[str]:
        """Each hit under the name of the best place it reaches first, or under its citation."""
        left = sorted(self.places, key=lambda place: -place.grade)
        ranked = []
        for hit in hits:
            place = next((place for place in left if place.holds(hit)), None)
            if place is not None:
                left.remove(place)
            ranked.append(place.item if place else str(hit.citation))
        return ranked


def placed(
    file: str, queries: Sequence[GoldenQuery], notes: Collection[str], chunks_of: ChunksOf
) -> list[PlacedQuery]:
    """Find every expectation in the index; what is not there is refused with its line in `file`."""
    return [
        PlacedQuery(query, tuple(_place(file, expected, notes, chunks_of) for expected in query.expect))
        for query in queries
    ]


def _place(file: str, expected: Expectation, notes: Collection[str], chunks_of: ChunksOf) -> Target:
    if expected.note not in notes:
        hint = nearest(expected.note, notes) or "paths are relative to the folder that was indexed"
        raise refusal(file, expected.line, f"note: {expected.note} is not in the index", hint)
    spans = None
    if expected.heading:
        spans = _section(file, expected, chunks_of(expected.note))
    elif expected.lines:
        spans = _lines(file, expected, chunks_of(expected.note), expected.lines)
    return Target(str(expected), expected.note, expected.relevance, spans)


def _section(file: str, expected: Expectation, chunks: Sequence[Chunk]) -> tuple[Lines, ...]:
    spans = tuple((c.span.first, c.span.last) for c in chunks if _is_below(c, expected.heading))
    if not spans:
        known = dict.fromkeys(trail for chunk in chunks for trail in _trails(chunk))
        hint = nearest(expected.heading, known) or f"its headings: {', '.join(known) or 'none'}"
        raise refusal(file, expected.line, f"heading: {expected.note} has no {expected.heading!r}", hint)
    return spans


def _lines(file: str, expected: Expectation, chunks: Sequence[Chunk], lines: Lines) -> tuple[Lines, ...]:
    if not any(c.span.first <= lines[1] and lines[0] <= c.span.last for c in chunks):
        last = max((chunk.span.last for chunk in chunks), default=0)
        what = f"lines: no passage of {expected.note} stands at {lines[0]}-{lines[1]}"
        raise refusal(file, expected.line, what, f"its last line of text is {last}")
    return (lines,)


def _is_below(chunk: Chunk, heading: str) -> bool:
    """Whether a passage belongs to a section, by itself or merged with neighbours."""
    below = heading + HEADING_SEPARATOR
    if any(trail == heading or trail.startswith(below) for trail in _trails(chunk)):
        return True
    # A long list of merged names is cut short; the passage itself still holds the headings.
    parent, _, name = heading.rpartition(HEADING_SEPARATOR)
    return chunk.heading_path.endswith(_CUT) and chunk.heading_path.startswith(parent) and name in chunk.text


def _trails(chunk: Chunk) -> Iterator[str]:
    """The headings of a passage; of a merged one, those of each of its sections as well."""
    yield chunk.heading_path
    parent, separator, label = chunk.heading_path.rpartition(HEADING_SEPARATOR)
    first, *names = label.split(_MERGED)
    if names:
        yield from (parent + separator + name for name in (first, *names))
        # The first may be the parent of the others: its own text was merged with them.
        yield from (parent + separator + first + HEADING_SEPARATOR + name for name in names)
