"""From a match tree to SQL over the table of words. No other module writes conditions on words.

A query ranks as FTS5 does, to the last digit: every phrase is a column, and its share is added from left to
right with FTS5's parentheses, in float8. A sum over rows would add in the order of the plan.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from kebab_tui.domain.errors import RawQueryError
from kebab_tui.domain.text import storable
from kebab_tui.domain.tokens import plain_words, stem
from kebab_tui.search.bm25 import K1, B, inverse_document_frequency
from kebab_tui.search.match import All, Any, Gram, Match, Not, Prefix, Raw, Term
from kebab_tui.search.ports import Collection
from kebab_tui.storage.postgres import schema

UP = "\U0010ffff"
_UNKNOWN = 1 << 62
_LETTERS = ("h", "x", "t", "g")


def literal(value: str | int | float | bool | bytes) -> str:
    """A value as SQL. Text is quoted, whatever is in it; the connection has standard strings."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return f"({value})" if value < 0 else str(value)
    if isinstance(value, float):
        return f"'{value!r}'::float8"
    if isinstance(value, bytes):
        return f"'\\x{value.hex()}'::bytea"
    return "'" + storable(value).replace("\0", "\u2400").replace("'", "''") + "'"


def array(values: Sequence[str] | Sequence[int], kind: str) -> str:
    return f"ARRAY[{', '.join(map(literal, values))}]::{kind}[]"


@dataclass(frozen=True, slots=True)
class WordTable:
    """A table of words: its columns of counts, and where the places of each field begin."""

    table: str
    fields: tuple[str, ...]
    counts: Mapping[str, str]
    bases: Mapping[str, int]
    weights: tuple[float, float, float, float]
    """Of `h`, `x`, `t` and `g`."""
    rarity: dict[TokenRun, int] = field(default_factory=dict)
    """How many rows have a phrase, as far as that is known: joins begin with the rarest."""


def passages(weights: tuple[float, float, float, float]) -> WordTable:
    return WordTable("post", schema.FIELDS, schema.COUNTS, schema.BASES, weights)


NAMES = WordTable(
    "name_post", schema.NAME_FIELDS, schema.NAME_COUNTS, schema.NAME_BASES, (1.0, 1.0, 1.0, 1.0)
)


class TokenRun(NamedTuple):
    """Adjacent tokens, the last of which may go on, in some fields or in any."""

    tokens: tuple[str, ...]
    prefix: bool
    fields: tuple[str, ...]


def leaf_of(term: Term) -> TokenRun:
    tokens = tuple(stem(word) for word in plain_words(term.text))
    if isinstance(term, Gram):
        return TokenRun(tokens, term.prefix, ("grams",))
    return TokenRun(tokens, isinstance(term, Prefix), term.columns)


def rows_of_leaf(leaf: TokenRun, index: WordTable, within: str = "") -> str:
    """A SELECT of `row`, the occurrences `h`, `x`, `t`, `g`, and `dl`. `within`: a condition on `p0.row`."""
    unknown = [
        name for name in leaf.fields if name not in index.fields and name not in ("chunk_id", "doc_id")
    ]
    if unknown:
        raise RawQueryError(
            f"invalid query: no such column: {unknown[0]}", "remove the single quotes to search for the words"
        )
    fields = [name for name in index.fields if not leaf.fields or name in leaf.fields]
    if not leaf.tokens or not fields:
        return "SELECT 0::bigint AS row, 0 AS h, 0 AS x, 0 AS t, 0 AS g, 1 AS dl WHERE false"
    *others, last = leaf.tokens
    table, more = index.table, f" AND {within}" if within else ""
    of_last = f"= {literal(last)}"
    if leaf.prefix:
        of_last = f">= {literal(last)} AND p{len(others)}.term < {literal(last + UP)}"
    kept = {index.counts[name] for name in fields}
    if not others:
        where = f"p0.term {of_last}{more}"
        if leaf.fields:
            where += f" AND ({' OR '.join(f'p0.{letter} > 0' for letter in sorted(kept))})"
        if not leaf.prefix:
            counts = ", ".join(f"p0.{one}" if one in kept else f"0 AS {one}" for one in _LETTERS)
            return f"SELECT p0.row, {counts}, p0.dl FROM {table} p0 WHERE {where}"
        counts = ", ".join(f"sum(p0.{one}) AS {one}" if one in kept else f"0 AS {one}" for one in _LETTERS)
        return f"SELECT p0.row, {counts}, min(p0.dl) AS dl FROM {table} p0 WHERE {where} GROUP BY p0.row"
    joins, wheres = [f"{table} p0"], [f"p0.term = {literal(leaf.tokens[0])}{more}"]
    for number, token in enumerate(leaf.tokens[1:], 1):
        joins.append(f"JOIN {table} p{number} ON p{number}.row = p0.row")
        wheres.append(f"p{number}.term " + (of_last if number == len(others) else f"= {literal(token)}"))
        wheres.append(f"(o + {number}) = ANY(p{number}.pos)")
    ranges = {
        index.counts[name]: f"o >= {base} AND o < {base + schema.FIELD_STEP}"
        for name, base in index.bases.items()
        if name in fields
    }
    if leaf.fields:
        wheres.append(f"({' OR '.join(f'({one})' for one in ranges.values())})")
    counts = ", ".join(
        f"count(*) FILTER (WHERE {ranges[one]}) AS {one}" if one in ranges else f"0 AS {one}"
        for one in _LETTERS
    )
    return (
        f"SELECT p0.row, {counts}, min(p0.dl) AS dl FROM {' '.join(joins)}, unnest(p0.pos) o "
        f"WHERE {' AND '.join(wheres)} GROUP BY p0.row"
    )


class Scores(NamedTuple):
    """What a score needs beside the words: the statistics, and how many chunks have each phrase."""

    collection: Collection
    frequencies: Mapping[TokenRun, int]


def matched(
    match: Match,
    index: WordTable,
    *,
    scored: Match | None = None,
    scores: Scores | None = None,
    within: str = "",
) -> str:
    """A SELECT of the rows that match, once each; with `scores`, also their raw bm25 as `s`."""
    tree = _refused(match)
    if isinstance(tree, Not) and not within and (apart := _apart(tree)):
        # Such a group may have a word that most passages have: a join begins with its rarest one.
        rest = tuple(one for one in _alternatives(tree.without) if one not in apart)
        found = matched(
            Not(tree.part, Any(rest) if len(rest) > 1 else rest[0]) if rest else tree.part,
            index, scored=scored, scores=scores,
        )  # fmt: skip
        out = " UNION ALL ".join(f"SELECT x.row FROM ({matched(one, index)}) x" for one in apart)
        return f"SELECT w.row{', w.s' if scores else ''} FROM ({found}) w WHERE w.row NOT IN ({out})"
    wanted = _leaves(tree)
    scored_tree = tree if scored is None else _refused(scored)
    parts = _scored(scored_tree, None) if scores else []
    leaves = list(dict.fromkeys([*wanted, *(leaf for leaf, _ in parts)]))
    number = {leaf: i for i, leaf in enumerate(leaves)}
    selects = [rows_of_leaf(leaf, index, within) for leaf in leaves]
    if len(leaves) == 1 and not isinstance(tree, Not):
        score = ""
        if scores:
            f = _weighted("", index)
            score = f", {_add([_share(f, 'dl', leaf, scores) for leaf, _ in parts])} AS s"
        return f"SELECT row{score} FROM ({selects[0]}) l0"
    # A join looks each word up by passage; a phrase it would look for again and again.
    are_words = all(len(leaf.tokens) == 1 and not leaf.prefix for leaf in leaves)
    is_flat = _is_flat(tree)
    if scored is None and is_flat and are_words and not within:  # of few rows, the union is quick in any plan
        score = ""
        if scores:
            by_leaf = {leaf: _weighted(f"l{i}.", index) for leaf, i in number.items()}
            score = ", " + _add([_share(by_leaf[leaf], "l0.dl", leaf, scores) for leaf, _ in parts]) + " AS s"
        first, *others = sorted(number.values(), key=lambda i: index.rarity.get(leaves[i], _UNKNOWN))
        joined = f"({selects[first]}) l{first}"
        for i in others:
            joined += f" JOIN ({selects[i]}) l{i} ON l{i}.row = l{first}.row"
        return f"SELECT l0.row{score} FROM {joined}"
    union = " UNION ALL ".join(
        f"SELECT row, {i} AS i, {_weighted('', index)} AS f, dl FROM ({select}) l{i}"
        for i, select in enumerate(selects)
    )
    score = ""
    if scores:
        shares = []
        for leaf, condition in parts:
            share = _share(f"max(f) FILTER (WHERE i = {number[leaf]})", "min(dl)", leaf, scores)
            if condition is not None:
                share = f"CASE WHEN {_holds(condition, number)} THEN {share} END"
            shares.append(f"coalesce({share}, 0)")
        score = f", {_add(shares)} AS s"
    having = "" if _is_any_of_all(tree, leaves) else f" HAVING {_holds(tree, number)}"
    return f"SELECT row{score} FROM ({union}) u GROUP BY row{having}"


def _is_flat(match: Match) -> bool:
    return isinstance(match, All) and not any(isinstance(one, Any | All | Not) for one in match.parts)


def _alternatives(match: Match) -> tuple[Match, ...]:
    return match.parts if isinstance(match, Any) else (match,)


def _apart(tree: Not) -> list[Match]:
    """The excluded groups of words that need words beside the wanted ones."""
    wanted = set(_leaves(tree.part))
    return [
        one
        for one in _alternatives(tree.without)
        if _is_flat(one)
        and not wanted.issuperset(leaves := _leaves(one))
        and all(len(leaf.tokens) == 1 and not leaf.prefix for leaf in leaves)
    ]


def leaves_of(match: Match) -> list[TokenRun]:
    """The phrases of a tree that are scored."""
    return [leaf for leaf, _ in _scored(_refused(match), None)]


def _refused(match: Match) -> Match:
    if isinstance(match, Raw):
        reason = f"has no operator {match.operator}" if match.operator else "cannot read this query"
        raise RawQueryError(
            f"an index in PostgreSQL {reason}", "remove the single quotes to search for the words"
        )
    if isinstance(match, Any | All):
        for part in match.parts:
            _refused(part)
    elif isinstance(match, Not):
        _refused(match.part)
        _refused(match.without)
    return match


def _leaves(match: Match) -> list[TokenRun]:
    """Every phrase, also the excluded ones."""
    if isinstance(match, Any | All):
        return [leaf for part in match.parts for leaf in _leaves(part)]
    if isinstance(match, Not):
        return _leaves(match.part) + _leaves(match.without)
    assert not isinstance(match, Raw)
    return [leaf_of(match)]


def _scored(match: Match, condition: Match | None) -> list[tuple[TokenRun, Match | None]]:
    """The phrases that count, from left to right; each with the branch that must match, if not all do."""
    if isinstance(match, Any):
        return [one for part in match.parts for one in _scored(part, part if _is_group(part) else condition)]
    if isinstance(match, All):
        return [one for part in match.parts for one in _scored(part, condition)]
    if isinstance(match, Not):
        return _scored(match.part, condition)
    assert not isinstance(match, Raw)
    return [(leaf_of(match), condition)]


def _is_group(match: Match) -> bool:
    return isinstance(match, All | Not)


def _holds(match: Match, number: Mapping[TokenRun, int]) -> str:
    if isinstance(match, Any | All):
        operator = " OR " if isinstance(match, Any) else " AND "
        return f"({operator.join(_holds(part, number) for part in match.parts)})"
    if isinstance(match, Not):
        return f"({_holds(match.part, number)} AND NOT {_holds(match.without, number)})"
    assert not isinstance(match, Raw)
    return f"bool_or(i = {number[leaf_of(match)]})"


def _is_any_of_all(tree: Match, leaves: Sequence[TokenRun]) -> bool:
    """Whether having one of the phrases is enough."""
    if not isinstance(tree, Any) or any(isinstance(part, Any | All | Not) for part in tree.parts):
        return False
    return {leaf_of(part) for part in tree.parts if not isinstance(part, Any | All | Not | Raw)} == set(
        leaves
    )


def _weighted(alias: str, index: WordTable) -> str:
    shares = (
        f"{alias}{one} * {weight!r}::float8" for one, weight in zip(_LETTERS, index.weights, strict=True)
    )
    return f"({' + '.join(shares)})"


def _share(f: str, dl: str, leaf: TokenRun, scores: Scores) -> str:
    """What a phrase adds to a score, as FTS5 writes it."""
    idf = inverse_document_frequency(scores.collection.chunks, scores.frequencies[leaf])
    average = scores.collection.average_length or 1.0
    norm = f"{K1!r}::float8 * ({1 - B!r}::float8 + {B!r}::float8 * {dl} / {average!r}::float8)"
    return f"{idf!r}::float8 * (({f} * {K1 + 1.0!r}::float8) / ({f} + {norm}))"


def _add(shares: Sequence[str]) -> str:
    total = shares[0]
    for share in shares[1:]:
        total = f"({total} + {share})"
    return f"(-1.0::float8 * {total})"
