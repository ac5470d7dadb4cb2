"""From a parsed query to the expressions for FTS5.

There are two expressions: the strict one matches what the query says, the relaxed one any
of its words. Excluded terms are kept beside the match, not in it, except within one
operand of an OR. Nothing here runs a query.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from kebab_tui.domain.ids import ChunkRow
from kebab_tui.domain.query import SearchFilters
from kebab_tui.domain.tokens import plain_words
from kebab_tui.search.ports import Among
from kebab_tui.search.query_language import All, Any, Leaf, Node, Not, ParsedQuery
from kebab_tui.search.words import STOP_WORDS, Completion, Phrase, Unit, joined, last_word, unit

_SHORTEST_UNFINISHED = 2


class Expression(NamedTuple):
    """`phrases` are scored; `excluded` are MATCH strings of chunks to leave out.

    `scored` is the expression for bm25, if not `match`. FTS5 ignores words in a branch of an OR
    that does not match as a whole, so a match with such branches is scored by its phrases alone.
    """

    match: str
    phrases: tuple[Phrase, ...]
    excluded: tuple[str, ...] = ()
    scored: str | None = None

    def among(self, filters: SearchFilters, leaving_out: Sequence[ChunkRow] = ()) -> Among:
        return Among(self.match, filters, self.excluded, self.scored, leaving_out)


def strict(
    parsed: ParsedQuery,
    *,
    unfinished: Sequence[str] | None = None,
    instead: Sequence[str] | None = None,
    starred: Mapping[str, Sequence[str]] | None = None,
) -> Expression | None:
    """What the query says; None if it has nothing to search for.

    `unfinished`: the last word is a prefix; these are its completions with another stem.
    `instead`: the last word stands for any of these, and is not searched as a prefix.
    `starred`: completions for each of `starred_words`.
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
    """Any of the words, except stop words and words that are `common` in this corpus.

    Common words stay if there are no others, stop words only if there is nothing else at all.
    Excluded terms stay excluded.
    """
    completions = _completions(parsed, unfinished, instead, starred or {})
    leaves = list(_wanted(parsed.terms))
    content = [leaf for leaf in leaves if leaf in completions or not _is_among(leaf, STOP_WORDS)]
    distinctive = [leaf for leaf in content if leaf in completions or not _is_among(leaf, common)]
    units = _distinct(unit(leaf, completions.get(leaf)) for leaf in distinctive or content or leaves)
    if not units:
        return None
    return _expression(joined(units, "OR"), _is_branched(units), _plain(parsed.terms).excluded)


def unfinished_word(parsed: ParsedQuery) -> str | None:
    """The last word of a text, if the text ends in it and it is long enough to complete."""
    leaf = _last_open(parsed)
    word = last_word(leaf) if leaf else None
    return word if word and len(word) >= _SHORTEST_UNFINISHED else None


def open_end(parsed: ParsedQuery) -> str | None:
    """The MATCH string of the last word or phrase of a text, read as finished, if it may continue."""
    leaf = _last_open(parsed)
    found = unit(leaf) if leaf else None
    return found.match if found else None


def starred_words(parsed: ParsedQuery) -> tuple[str, ...]:
    """The prefixes that were typed with a star."""
    starred = (last_word(leaf) for leaf in _wanted(parsed.terms) if leaf.kind == "prefix")
    return tuple(dict.fromkeys(word for word in starred if word))


def wanted_words(parsed: ParsedQuery) -> list[str]:
    """The plain words to search for."""
    leaves = (leaf for leaf in _wanted(parsed.terms) if leaf.kind == "word")
    return [word for leaf in leaves for word in plain_words(leaf.text)]


def excluded_alone(parsed: ParsedQuery) -> tuple[str, ...]:
    """The exclusions of a query that has nothing to search for."""
    plain = _plain(parsed.terms)
    return () if plain.found else plain.excluded


def rules_out(parsed: ParsedQuery, only_strict: bool) -> bool:
    """Whether the words of a query exclude chunks that the semantic leg may find."""
    return only_strict or bool(_plain(parsed.terms).excluded)


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
    """The leaves that are not excluded, from left to right."""
    if isinstance(node, Leaf):
        yield node
    elif isinstance(node, All | Any):
        for part in node.parts:
            yield from _wanted(part)


def _is_among(leaf: Leaf, words: Collection[str]) -> bool:
    return leaf.kind == "word" and all(word in words for word in plain_words(leaf.text))


def _expression(found: Unit, branched: bool, excluded: tuple[str, ...]) -> Expression:
    if not branched:
        return Expression(found.match, found.phrases, excluded)
    phrases = {phrase.match: phrase for phrase in found.phrases}
    return Expression(found.match, tuple(phrases.values()), excluded, " OR ".join(phrases))


def _is_branched(units: Sequence[Unit]) -> bool:
    """Whether one of several alternatives has an operator; words are folded, so they are lower case."""
    return len(units) > 1 and any(" AND " in one.match or " NOT " in one.match for one in units)


def _distinct(units: Iterable[Unit | None]) -> list[Unit]:
    return list({one.match: one for one in units if one is not None}.values())


class _Built(NamedTuple):
    """The strict expression of a whole query."""

    found: Unit | None
    excluded: tuple[str, ...]
    branched: bool


def _build(terms: Node | None, completions: Mapping[Leaf, Completion]) -> _Built:
    builder = _Builder(completions)
    found, excluded = builder.build(terms)
    return _Built(found, tuple(dict.fromkeys(excluded)), builder.branched)


@lru_cache(maxsize=4)
def _plain(terms: Node | None) -> _Built:
    """The expression with every word as finished; cached, since several steps of a search need it."""
    return _build(terms, {})


class _Builder:
    """Builds the strict expression from the tree, part by part."""

    def __init__(self, completions: Mapping[Leaf, Completion], narrow: bool = False) -> None:
        self._completions = completions
        self._narrow = narrow
        self.branched = False

    def build(self, node: Node | None) -> tuple[Unit | None, list[str]]:
        """The searched and the excluded terms of a part."""
        match node:
            case Leaf():
                return unit(node, self._completions.get(node), self._narrow), []
            case All():
                built = [self.build(part) for part in node.parts]
                units = _distinct(found for found, _ in built)
                excluded = [match for _, matches in built for match in matches]
                return joined(units, "AND") if units else None, excluded
            case Any():
                units, left_over = [], []
                for found, excluded in map(self.build, node.parts):
                    if found is None:
                        left_over += excluded
                    elif excluded:
                        without = f"({found.match} NOT ({' OR '.join(excluded)}))"
                        units.append(Unit(without, found.phrases))
                    else:
                        units.append(found)
                units = _distinct(units)
                self.branched |= _is_branched(units)
                return joined(units, "OR") if units else None, left_over
            case Not():
                found, _ = _Builder({}, narrow=True).build(node.part)
                return None, [found.match] if found else []
        return None, []
