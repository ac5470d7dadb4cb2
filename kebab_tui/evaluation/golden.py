"""Reads a golden file: queries with the notes, headings or lines that should be found.

A list in YAML: `id`, `query`, `expect`, and where wanted `lang` and `probes`. An
expectation names a `note`, and at most one of `heading` and `lines: [first, last]`;
`relevance` grades it (1 without). Nothing is guessed: whatever is unknown, missing or of
another kind is refused with file, line and key. Whether the notes exist is not asked here.
"""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from kebab_tui.domain.errors import UsageError
from kebab_tui.evaluation.input_files import nearest, read_text, refusal
from kebab_tui.evaluation.questions import QUERY_LANGUAGES, QueryLanguage, query_language

if TYPE_CHECKING:
    from yaml import Node

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
    return _Reader(path).queries(_root(path, read_text(path)))


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


class _Reader:
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
