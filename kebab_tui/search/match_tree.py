"""From a parsed query to match trees.

There are two: the strict one matches what the query says, the relaxed one any of its words. Excluded
terms are kept beside the match, not in it, except within one operand of an OR. Nothing here runs a query.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache, partial
from typing import NamedTuple

from kebab_tui.domain.query import SearchFilters
from kebab_tui.domain.tokens import plain_words
from kebab_tui.search.match import All, Any, Match, Not, Term, all_of, any_of, terms
from kebab_tui.search.ports import Among
from kebab_tui.search.query_language import And, Excluded, Leaf, LeafKind, Node, Or, ParsedQuery
from kebab_tui.search.words import SHORTEST_UNFINISHED, STOP_WORDS, Completion, last_word, unit


class Expression(NamedTuple):
    """`phrases` are scored; chunks that match any of `excluded` are left out.

    `scored`: score the terms of this tree, if not of `match`. An index may ignore words in a branch of
    an OR that does not match as a whole, so a match with such branches is scored by its phrases alone.
    """

    match: Match
    phrases: tuple[Term, ...]
    excluded: tuple[Match, ...] = ()
    scored: Match | None = None

    def among(self, filters: SearchFilters) -> Among:
        return Among(filters, None, self.match, self.excluded)


class SoughtWord(NamedTuple):
    """A word or phrase as typed, and what matches it."""

    text: str
    kind: LeafKind
    match: Match


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
    found = _found(parsed.terms, _completions(parsed, unfinished, instead, starred or {}))
    return _expression(found, exclusions(parsed.terms)) if found else None


def relaxed(
    parsed: ParsedQuery,
    *,
    unfinished: Sequence[str] | None = None,
    instead: Sequence[str] | None = None,
    starred: Mapping[str, Sequence[str]] | None = None,
    common: set[str] | frozenset[str] = frozenset(),
) -> Expression | None:
    """Any of the words, except stop words and words that are `common` in this corpus.

    Common words stay if there are no others, stop words only if there is nothing else at all.
    Excluded terms stay excluded.
    """
    completions = _completions(parsed, unfinished, instead, starred or {})
    units = _distinct(unit(leaf, completions.get(leaf)) for leaf in _telling(parsed, completions, common))
    return _expression(any_of(units), exclusions(parsed.terms)) if units else None


def sought(
    parsed: ParsedQuery,
    *,
    unfinished: Sequence[str] | None = None,
    starred: Mapping[str, Sequence[str]] | None = None,
    common: set[str] | frozenset[str] = frozenset(),
) -> tuple[SoughtWord, ...]:
    """The words and phrases of `relaxed`, each with the tree that matches it as it is or continued."""
    completions = _completions(parsed, unfinished, None, starred or {})
    found: dict[Match, SoughtWord] = {}
    for leaf in _telling(parsed, completions, common):
        if units := _distinct((unit(leaf), unit(leaf, completions.get(leaf)))):
            match = any_of(units)
            found.setdefault(match, SoughtWord(leaf.text, leaf.kind, match))
    return tuple(found.values())


def _telling(
    parsed: ParsedQuery, completions: Mapping[Leaf, Completion], common: set[str] | frozenset[str]
) -> list[Leaf]:
    """The wanted leaves without stop words and common ones, unless there are no others."""
    leaves = list(_wanted(parsed.terms))
    words = {
        leaf: plain_words(leaf.text) for leaf in leaves if leaf.kind == "word" and leaf not in completions
    }
    content = [leaf for leaf in leaves if leaf not in words or not STOP_WORDS.issuperset(words[leaf])]
    distinctive = [leaf for leaf in content if leaf not in words or not common.issuperset(words[leaf])]
    return distinctive or content or leaves


def unfinished_word(parsed: ParsedQuery) -> str | None:
    """The last word of a text, if the text ends in it and it is long enough, or joined to another."""
    leaf = _last_open(parsed)
    word = last_word(leaf) if leaf else None
    if leaf is None or word is None:
        return None
    is_joined = leaf.kind == "word" and len(plain_words(leaf.text)) > 1
    return word if is_joined or len(word) >= SHORTEST_UNFINISHED else None


def open_end(parsed: ParsedQuery) -> Match | None:
    """The last word or phrase of a text, read as finished, if it may continue."""
    leaf = _last_open(parsed)
    return unit(leaf) if leaf else None


def starred_words(parsed: ParsedQuery) -> tuple[str, ...]:
    """The prefixes that were typed with a star."""
    starred = (last_word(leaf) for leaf in _wanted(parsed.terms) if leaf.kind == "prefix")
    return tuple(dict.fromkeys(word for word in starred if word))


def wanted_words(parsed: ParsedQuery) -> list[str]:
    """The plain words to search for."""
    leaves = (leaf for leaf in _wanted(parsed.terms) if leaf.kind == "word")
    return [word for leaf in leaves for word in plain_words(leaf.text)]


def is_one_word(parsed: ParsedQuery) -> bool:
    """Whether there is a single word to search for, stop words left out; `2026-03-08` is one."""
    content = [leaf for leaf in _wanted(parsed.terms) if not STOP_WORDS.issuperset(plain_words(leaf.text))]
    return len(content) == 1 and content[0].kind != "phrase"


def excluded_alone(parsed: ParsedQuery) -> tuple[Match, ...]:
    """The exclusions of a query that has nothing to search for."""
    return () if any(_wanted(parsed.terms)) else exclusions(parsed.terms)


def _completions(
    parsed: ParsedQuery,
    unfinished: Sequence[str] | None,
    instead: Sequence[str] | None,
    starred: Mapping[str, Sequence[str]],
) -> dict[Leaf, Completion]:
    known = {
        leaf: Completion(tuple(starred.get(last_word(leaf) or "", ())))
        for leaf in _wanted(parsed.terms)
        if leaf.kind == "prefix"
    }
    leaf = _last_open(parsed)
    if leaf is not None and instead is not None:
        known[leaf] = Completion(tuple(instead), prefix=False)
    elif leaf is not None and unfinished is not None:
        known[leaf] = Completion(tuple(unfinished))
    return known


def _last_open(parsed: ParsedQuery) -> Leaf | None:
    return next((leaf for leaf in _wanted(parsed.terms) if leaf.open), None)


def _wanted(node: Node | None) -> Iterator[Leaf]:
    """The leaves that are not excluded, from left to right."""
    if isinstance(node, Leaf):
        yield node
    elif isinstance(node, And | Or):
        for part in node.parts:
            yield from _wanted(part)


def _expression(found: Match, excluded: tuple[Match, ...]) -> Expression:
    phrases = terms(found)
    if not _is_branched(found):
        return Expression(found, phrases, excluded)
    phrases = tuple({phrase: phrase for phrase in phrases}.values())
    return Expression(found, phrases, excluded, any_of(phrases))


def _is_branched(found: Match) -> bool:
    """Whether one of several alternatives is more than a leaf."""
    if isinstance(found, Any):
        return any(isinstance(part, All | Not) or _is_branched(part) for part in found.parts)
    if isinstance(found, All):
        return any(map(_is_branched, found.parts))
    return isinstance(found, Not) and _is_branched(found.part)


def _distinct(units: Iterable[Match | None]) -> tuple[Match, ...]:
    return tuple({one: one for one in units if one is not None}.values())


def _found(node: Node | None, completions: Mapping[Leaf, Completion], narrow: bool = False) -> Match | None:
    """What a part of the query searches for."""
    of = partial(_found, completions=completions, narrow=narrow)
    if isinstance(node, Leaf):
        return unit(node, completions.get(node), narrow)
    if isinstance(node, And):
        parts = _distinct(map(of, node.parts))
        return all_of(parts) if parts else None
    if isinstance(node, Or):
        alternatives = []
        for part in node.parts:
            found, excluded = of(part), exclusions(part)
            if found is not None and excluded:
                found = Not(found, any_of(excluded))
            alternatives.append(found)
        parts = _distinct(alternatives)
        return any_of(parts) if parts else None
    return None


@lru_cache(maxsize=16)
def exclusions(node: Node | None) -> tuple[Match, ...]:
    """What a part of the query excludes as a whole; cached, since several steps of a search need it."""
    found: list[Match] = []
    if isinstance(node, Excluded):
        excluded = _found(node.part, {}, narrow=True)
        found += [excluded] if excluded else []
    elif isinstance(node, And | Or):
        for part in node.parts:
            if isinstance(node, And) or not any(_wanted(part)):
                found += exclusions(part)
    return tuple(dict.fromkeys(found))
