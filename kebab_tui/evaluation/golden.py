"""Reads golden files, and finds their expectations in the index.

A golden file is a YAML list with the keys `id`, `query`, `expect` and, optionally, `lang` and `probes`. An
expectation has a `note`, at most one of `heading`, `lines: [first, last]` and `page: number`, and a grade
`relevance` (or 1). Unknown, missing or invalid values are errors with file and line. A hit counts if its
cited lines overlap the expected ones: the note, the section with its subsections, the lines, or the page.
The headings of the indexed passages determine the sections; a merged passage counts for each of its headings.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeVar

from kebab_tui.domain.citation import SourceSpan
from kebab_tui.domain.document import HEADING_SEPARATOR, Chunk
from kebab_tui.domain.errors import UsageError
from kebab_tui.domain.hit import SearchHit
from kebab_tui.domain.text import did_you_mean, is_korean

if TYPE_CHECKING:
    from yaml import Node

_SYLLABLE = re.compile("[\uac00-\ud7a3]")

QueryLanguage = Literal["ko", "en", "mixed"]
QUERY_LANGUAGES: tuple[QueryLanguage, ...] = ("ko", "en", "mixed")
SetKind = Literal["golden", "beir"]
ChunksOf = Callable[[str], Sequence[Chunk]]
"""Path of a note -> its passages."""
T = TypeVar("T")

_QUERY_KEYS = ("id", "query", "lang", "probes", "expect")
_EXPECT_KEYS = ("note", "heading", "lines", "page", "relevance")
_FORM = "a golden file is a list of entries with `id`, `query` and `expect`"
_MERGED = " · "
_CUT = "…"


@dataclass(frozen=True, slots=True)
class JudgedQuery:
    """A query for one item or more; `relevant`: item -> grade above 0.

    An item is a document of a BEIR corpus or an expectation of a golden file.
    """

    id: str
    text: str
    lang: QueryLanguage
    relevant: Mapping[str, int]
    probe: str = ""
    """A label for a group of queries."""


def query_language(text: str) -> QueryLanguage:
    """Korean with a fair share of Hangul, mixed with a little of it, else English."""
    if is_korean(text):
        return "ko"
    return "mixed" if _SYLLABLE.search(text) else "en"


@dataclass(frozen=True, slots=True)
class Expectation:
    """A note or a part of it; `line`: its line in the golden file."""

    note: str
    line: int
    heading: str = ""
    lines: tuple[int, int] | None = None
    relevance: int = 1
    page: int | None = None

    def __str__(self) -> str:
        if self.lines:
            return f"{self.note} lines {self.lines[0]}-{self.lines[1]}"
        if self.page:
            return f"{self.note} page {self.page}"
        return f"{self.note} > {self.heading}" if self.heading else self.note


@dataclass(frozen=True, slots=True)
class GoldenQuery:
    id: str
    text: str
    lang: QueryLanguage
    probe: str
    expect: tuple[Expectation, ...]


def read_golden(path: str) -> tuple[GoldenQuery, ...]:
    """The queries in the order of the file; raises UsageError for an invalid file."""
    import yaml

    text = read_text(path)
    try:
        # The pure Python loader: libyaml overflows the stack on deep nesting.
        root = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise refusal(path, mark.line + 1 if mark else 1, f"not YAML: {error.problem}") from None
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise refusal(path, line, "invalid character for YAML") from None
    except RecursionError:
        raise refusal(path, 1, "nested too deeply", _FORM) from None
    if root is None:
        raise UsageError(f"{path}: no queries", _FORM)
    return _GoldenParser(path).queries(root)


def golden_digest(queries: Sequence[GoldenQuery]) -> str:
    """Identifies queries and expectations, independent of comments and layout."""
    asked = repr(
        [
            (query.id, query.text, query.lang, [(str(e), e.relevance) for e in query.expect])
            for query in queries
        ]
    )
    return hashlib.blake2b(asked.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


class _GoldenParser:
    """Converts the YAML nodes of one file."""

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
        heading, lines, page = (entries.get(key) for key in ("heading", "lines", "page"))
        parts = [part for part in (heading, lines, page) if part is not None]
        if len(parts) > 1:
            names = [key for key in ("heading", "lines", "page") if key in entries]
            raise self._refusal(
                parts[1], f"{' and '.join(names)} exclude each other", "leave all but one of them out"
            )
        return Expectation(
            note=_normal(self._text(entries["note"], "note")),
            line=_line(next(iter(parts), entries["note"])),
            heading=_either(heading, lambda given: _normal(self._text(given, "heading")), ""),
            lines=_either(lines, self._span, None),
            page=_either(page, lambda given: self._number(given, "page"), None),
            relevance=_either(entries.get("relevance"), lambda given: self._number(given, "relevance"), 1),
        )

    def _language(self, node: Node) -> QueryLanguage:
        given = self._text(node, "lang")
        for language in QUERY_LANGUAGES:
            if given == language:
                return language
        raise self._refusal(node, f"invalid lang: {given!r}", f"expected one of {', '.join(QUERY_LANGUAGES)}")

    def _span(self, node: Node) -> tuple[int, int]:
        first, *rest = (self._number(item, "lines") for item in self._items(node, "lines"))
        if len(rest) != 1 or rest[0] < first:
            raise self._refusal(
                node, "invalid lines; expected a first and a last line", "for example: lines: [12, 34]"
            )
        return first, rest[0]

    def _number(self, node: Node, key: str) -> int:
        text = self._text(node, key)
        if not (text.isascii() and text.isdecimal() and len(text) <= 9 and int(text) > 0):
            raise self._refusal(node, f"invalid {key}: {text!r}; expected an integer above 0")
        return int(text)

    def _text(self, node: Node, key: str) -> str:
        if _kind(node) != "scalar" or not node.value.strip() or node.tag.endswith(":null"):
            raise self._refusal(node, f"{key}: expected a string")
        value: str = node.value
        return value

    def _items(self, node: Node, what: str, hint: str = "") -> Sequence[Node]:
        if _kind(node) != "sequence" or not node.value:
            raise self._refusal(node, f"{what}: expected a non-empty list", hint)
        items: Sequence[Node] = node.value
        return items

    def _entries(self, node: Node, what: str, known: Sequence[str], wanted: Sequence[str]) -> dict[str, Node]:
        if _kind(node) != "mapping":
            raise self._refusal(node, f"{what}: expected `key: value`", f"its keys: {', '.join(known)}")
        entries: dict[str, Node] = {}
        for key, value in node.value:
            name = str(key.value)
            if name not in known:
                hint = did_you_mean(name, known) or f"known here: {', '.join(known)}"
                raise self._refusal(key, f"unknown key {name}", hint)
            if name in entries:
                raise self._refusal(key, f"duplicate key {name}")
            entries[name] = value
        for name in wanted:
            if name not in entries:
                raise self._refusal(node, f"{what}: missing key {name}")
        return entries

    def _refusal(self, node: Node, what: str, hint: str = "") -> UsageError:
        return refusal(self._path, _line(node), what, hint)


def _either(node: Node | None, read: Callable[[Node], T], default: T) -> T:
    return default if node is None else read(node)


def _kind(node: Node) -> str:
    return str(getattr(node, "id", ""))  # PyYAML's stubs declare it for subclasses only


def _line(node: Node) -> int:
    return int(node.start_mark.line) + 1


def _normal(text: str) -> str:
    return unicodedata.normalize("NFC", text.strip())


@dataclass(frozen=True, slots=True)
class Target:
    """An expectation in the index. `item`: its name in a ranking; without `spans` any line matches."""

    item: str
    note: str
    grade: int
    spans: tuple[SourceSpan, ...] | None

    def matches(self, hit: SearchHit) -> bool:
        if hit.path != self.note:
            return False
        cited = hit.citation.span
        return self.spans is None or any(
            span.page == cited.page and span.first <= cited.last and cited.first <= span.last
            for span in self.spans
        )


@dataclass(frozen=True, slots=True)
class PlacedQuery:
    """A golden query with its targets."""

    query: GoldenQuery
    targets: tuple[Target, ...]

    @property
    def question(self) -> JudgedQuery:
        relevant = {target.item: target.grade for target in self.targets}
        return JudgedQuery(self.query.id, self.query.text, self.query.lang, relevant, self.query.probe)

    def ranking(self, hits: Sequence[SearchHit]) -> list[str]:
        """The item of each hit: the best target not matched before, or else its citation."""
        left = sorted(self.targets, key=lambda target: -target.grade)
        ranked = []
        for hit in hits:
            target = next((target for target in left if target.matches(hit)), None)
            if target is not None:
                left.remove(target)
            ranked.append(target.item if target else str(hit.citation))
        return ranked


def placed(
    file: str, queries: Sequence[GoldenQuery], notes: Collection[str], chunks_of: ChunksOf
) -> list[PlacedQuery]:
    """Find every expectation in the index; a missing one is an error with its line in `file`."""
    return [
        PlacedQuery(query, tuple(_place(file, expected, notes, chunks_of) for expected in query.expect))
        for query in queries
    ]


def _place(file: str, expected: Expectation, notes: Collection[str], chunks_of: ChunksOf) -> Target:
    if expected.note not in notes:
        hint = did_you_mean(expected.note, notes) or "paths are relative to the folder that was indexed"
        raise refusal(file, expected.line, f"note: {expected.note} is not in the index", hint)
    spans: tuple[SourceSpan, ...] | None = None
    if expected.heading:
        chunks = chunks_of(expected.note)
        spans = tuple(c.span for c in chunks if _is_below(c, expected.heading))
        if not spans:
            known = dict.fromkeys(trail for chunk in chunks for trail in _trails(chunk))
            hint = did_you_mean(expected.heading, known) or f"its headings: {', '.join(known) or 'none'}"
            what = f"heading: {expected.note} has no {expected.heading!r}"
            raise refusal(file, expected.line, what, hint)
    elif expected.lines:
        chunks, (first, last) = chunks_of(expected.note), expected.lines
        if not any(c.span.first <= last and first <= c.span.last for c in chunks):
            end = max((chunk.span.last for chunk in chunks), default=0)
            what = f"lines: {expected.note} has no passage at {first}-{last}"
            raise refusal(file, expected.line, what, f"its last line of text is {end}")
        spans = (SourceSpan(first, last),)
    elif expected.page:
        spans = tuple(c.span for c in chunks_of(expected.note) if c.span.page == expected.page)
        if not spans:
            what = f"page: {expected.note} has no passage on page {expected.page}"
            raise refusal(file, expected.line, what)
    return Target(str(expected), expected.note, expected.relevance, spans)


def _is_below(chunk: Chunk, heading: str) -> bool:
    """Whether a passage belongs to a section, alone or merged with others."""
    below = heading + HEADING_SEPARATOR
    if any(trail == heading or trail.startswith(below) for trail in _trails(chunk)):
        return True
    # A long list of merged headings is cut; the text of the passage contains them all.
    parent, _, name = heading.rpartition(HEADING_SEPARATOR)
    return chunk.heading_path.endswith(_CUT) and chunk.heading_path.startswith(parent) and name in chunk.text


def _trails(chunk: Chunk) -> Iterator[str]:
    """The heading path of a passage; for a merged passage, also those of each section."""
    yield chunk.heading_path
    parent, separator, label = chunk.heading_path.rpartition(HEADING_SEPARATOR)
    first, *names = label.split(_MERGED)
    if names:
        yield from (parent + separator + name for name in (first, *names))
        # The first heading may be the parent of the others.
        yield from (parent + separator + first + HEADING_SEPARATOR + name for name in names)


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
    """The non-empty lines without line ends, numbered from 1."""
    try:
        with open(path, "rb") as file:
            for number, line in enumerate(file, 1):
                try:
                    text = line.decode("utf-8-sig" if number == 1 else "utf-8").strip("\r\n")
                except UnicodeDecodeError:
                    raise refusal(path, number, "not UTF-8 text") from None
                if text:
                    yield number, text
    except (OSError, ValueError) as error:
        raise _unreadable(path, error, hint) from None


def refusal(path: str, line: int, what: str, hint: str = "") -> UsageError:
    return UsageError(f"{path}:{line}: {what}", hint)


def _unreadable(path: str, error: OSError | ValueError, hint: str) -> UsageError:
    """A NUL in a path is a ValueError; other errors have a reason from the system."""
    reason = error.strerror if isinstance(error, OSError) and error.errno else str(error)
    return UsageError(f"cannot read {path}: {reason}", hint)
