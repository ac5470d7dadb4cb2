"""From what a query means to what FTS5 is asked.

Two questions can be built: the strict one wants what the query says, the relaxed one
any of its words. What a query excludes stands beside the match, not in it, except
within one side of an OR. Nothing here runs a query.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from kebab_tui.domain.tokens import plain_words
from kebab_tui.search.query_language import All, Any, Leaf, Node, Not, ParsedQuery
from kebab_tui.search.words import STOP_WORDS, Completion, Phrase, Unit, last_word, unit

_SHORTEST_UNFINISHED = 2


class Expression(NamedTuple):
    """`phrases` are what is scored; `excluded` are MATCH strings of chunks to leave out.

    `scored` is what the bm25 is of, where it is not `match`: FTS5 passes over words of a
    chunk that stand in a branch of an OR which as a whole does not match, so a match with
    such branches is scored by its phrases alone.
    """

    match: str
    phrases: tuple[Phrase, ...]
    excluded: tuple[str, ...] = ()
    scored: str | None = None


_Completions = Mapping[Leaf, Completion]


def unfinished_word(parsed: ParsedQuery) -> str | None:
    """The last word of a text that ends in it, where it is long enough to be completed."""
    leaf = _last_open(parsed)
    word = last_word(leaf) if leaf else None
    return word if word and len(word) >= _SHORTEST_UNFINISHED else None


def open_end(parsed: ParsedQuery) -> str | None:
    """The MATCH string of a text's last word or phrase, taken as finished, where it may go on."""
    leaf = _last_open(parsed)
    found = unit(leaf) if leaf else None
    return found.match if found else None


def starred_words(parsed: ParsedQuery) -> tuple[str, ...]:
    """The beginnings of words that are asked for with a star."""
    starred = (last_word(leaf) for leaf in _wanted(parsed.terms) if leaf.kind == "prefix")
    return tuple(dict.fromkeys(word for word in starred if word))


def excluded_alone(parsed: ParsedQuery) -> tuple[str, ...]:
    """What a query excludes that looks for nothing."""
    plain = _plain(parsed.terms)
    return () if plain.found else plain.excluded


def rules_out(parsed: ParsedQuery, only_strict: bool) -> bool:
    """Whether the words of a query keep chunks out, by whatever else those are found."""
    return only_strict or bool(_plain(parsed.terms).excluded)


def strict(
    parsed: ParsedQuery,
    *,
    unfinished: Sequence[str] | None = None,
    instead: Sequence[str] | None = None,
    starred: Mapping[str, Sequence[str]] | None = None,
) -> Expression | None:
    """What the query says; None when it names nothing to look for.

    `unfinished`: the last word is only a beginning; these are the words it may become
    whose stems the beginning does not reach. `instead`: it is one of these words, and
    no beginning is looked for. `starred`: such words for each of `starred_words`.
    """
    completions = _completions(parsed, unfinished, instead, starred or {})
    built = _build(parsed.terms, completions) if completions else _plain(parsed.terms)
    return _expression(built.found, built.branched, built.excluded) if built.found else None


def relaxed(
    parsed: ParsedQuery,
    *,
    unfinished: Sequence[str] | None = None,
    instead: Sequence[str] | None = None,
    starred: Mapping[str, Sequence[str]] | None = None,
    common: Collection[str] = (),
) -> Expression | None:
    """Any of the words, without those that tell little: stop words, and words `common` in this corpus.

    Common ones stay where there are no others, stop words only where there is nothing else
    at all. What the query excludes stays excluded.
    """
    completions = _completions(parsed, unfinished, instead, starred or {})
    leaves = list(_wanted(parsed.terms))
    content = [leaf for leaf in leaves if leaf in completions or not _is_among(leaf, STOP_WORDS)]
    telling = [leaf for leaf in content if leaf in completions or not _is_among(leaf, common)]
    units = _distinct(unit(leaf, completions.get(leaf)) for leaf in telling or content or leaves)
    found = _joined(units, "OR")
    return _expression(found, _is_branched(units), _plain(parsed.terms).excluded) if found else None


def _completions(
    parsed: ParsedQuery,
    unfinished: Sequence[str] | None,
    instead: Sequence[str] | None,
    starred: Mapping[str, Sequence[str]],
) -> dict[Leaf, Completion]:
    known = {
        leaf: Completion(starred.get(last_word(leaf) or "", ()))
        for leaf in _wanted(parsed.terms)
        if leaf.kind == "prefix"
    }
    leaf = _last_open(parsed)
    if leaf is not None and instead is not None:
        known[leaf] = Completion(instead, prefix=False)
    elif leaf is not None and unfinished is not None:
        known[leaf] = Completion(unfinished)
    return known


def _last_open(parsed: ParsedQuery) -> Leaf | None:
    return next((leaf for leaf in _wanted(parsed.terms) if leaf.open), None)


def _wanted(node: Node | None) -> Iterator[Leaf]:
    """The leaves that are looked for, from left to right."""
    if isinstance(node, Leaf):
        yield node
    elif isinstance(node, All | Any):
        for part in node.parts:
            yield from _wanted(part)


def wanted_words(parsed: ParsedQuery) -> list[str]:
    """The plain words that are looked for."""
    leaves = (leaf for leaf in _wanted(parsed.terms) if leaf.kind == "word")
    return [word for leaf in leaves for word in plain_words(leaf.text)]


def _is_among(leaf: Leaf, words: Collection[str]) -> bool:
    return leaf.kind == "word" and all(word in words for word in plain_words(leaf.text))


def _expression(found: Unit, branched: bool, excluded: tuple[str, ...]) -> Expression:
    if not branched:
        return Expression(found.match, found.phrases, excluded)
    phrases = {phrase.match: phrase for phrase in found.phrases}
    return Expression(found.match, tuple(phrases.values()), excluded, " OR ".join(phrases))


def _is_branched(units: Sequence[Unit]) -> bool:
    """Whether one of several alternatives wants more than one thing; words are folded, operators are not."""
    return len(units) > 1 and any(" AND " in one.match or " NOT " in one.match for one in units)


def _unique(matches: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(matches))


def _distinct(units: Iterator[Unit | None] | Sequence[Unit | None]) -> list[Unit]:
    return list({one.match: one for one in units if one is not None}.values())


class _Built(NamedTuple):
    """The strict question of a whole query."""

    found: Unit | None
    excluded: tuple[str, ...]
    branched: bool


def _build(terms: Node | None, completions: _Completions) -> _Built:
    strict = _Strict(completions)
    found, excluded = strict.node(terms)
    return _Built(found, _unique(excluded), strict.branched)


@lru_cache(maxsize=4)
def _plain(terms: Node | None) -> _Built:
    """With every word taken as finished. Several steps of a search ask for it; it is built once."""
    return _build(terms, {})


_Part = tuple[Unit | None, list[str]]
"""What a part looks for, and what it excludes."""


class _Strict:
    """Builds the strict question from the tree, part by part."""

    def __init__(self, completions: _Completions, narrow: bool = False) -> None:
        self._completions = completions
        self._narrow = narrow
        self.branched = False

    def node(self, node: Node | None) -> _Part:
        match node:
            case Leaf():
                return unit(node, self._completions.get(node), self._narrow), []
            case All():
                return self._all(node)
            case Any():
                return self._any(node)
            case Not():
                found, _ = _Strict({}, narrow=True).node(node.part)
                return None, [found.match] if found else []
        return None, []

    def _all(self, node: All) -> _Part:
        built = [self.node(part) for part in node.parts]
        units = _distinct([found for found, _ in built])
        return _joined(units, "AND"), [match for _, excluded in built for match in excluded]

    def _any(self, node: Any) -> _Part:
        units, left_over = [], []
        for part in node.parts:
            found, excluded = self.node(part)
            if found is None:
                left_over += excluded
            elif excluded:
                units.append(Unit(f"({found.match} NOT ({' OR '.join(excluded)}))", found.phrases))
            else:
                units.append(found)
        distinct = _distinct(units)
        self.branched |= _is_branched(distinct)
        return _joined(distinct, "OR"), left_over


def _joined(units: Sequence[Unit], operator: str) -> Unit | None:
    if len(units) < 2:
        return units[0] if units else None
    phrases = tuple(phrase for one in units for phrase in one.phrases)
    return Unit(f"({f' {operator} '.join(one.match for one in units)})", phrases)
