"""From search filters to SQL conditions. No text of a query is ever SQL: every value is a quoted literal.

Conditions use the aliases `d` (notes) and `c` (passages).
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import NamedTuple

from kebab_tui.domain.facets import FACETS, FacetKind, comparable, day_of, fold, split_property
from kebab_tui.domain.query import SearchFilters
from kebab_tui.domain.scope import SourcePart
from kebab_tui.domain.text import glob_regex
from kebab_tui.search.ports import Script
from kebab_tui.storage.postgres.match_sql import array, literal
from kebab_tui.storage.postgres.publish import path_key
from kebab_tui.storage.sqlite.rows import MANY

_SIGNS = {"=": "=", "<": "<", "<=": "<=", ">": ">", ">=": ">="}


class Conditions(NamedTuple):
    """Conditions on notes and on passages; empty where there is none."""

    note: str
    chunk: str

    @property
    def all(self) -> str:
        return " AND ".join(filter(None, self)) or "true"


def conditions(filters: SearchFilters, script: Script | None = None) -> Conditions:
    chunk = _chunk_conditions(filters)
    if script is not None:
        chunk.append("c.hangul" if script == "hangul" else "NOT c.hangul")
    return Conditions(" AND ".join(_note_conditions(filters)), " AND ".join(chunk))


def passing(filters: SearchFilters, script: Script | None = None, columns: str = "c.row") -> str:
    """A SELECT of columns of the passages that pass."""
    found = conditions(filters, script)
    joined = " JOIN doc d ON d.doc_id = c.doc_id" if found.note or "d." in columns else ""
    return f"SELECT {columns} FROM chunk c{joined} WHERE {found.all}"


def _note_conditions(filters: SearchFilters) -> list[str]:
    found: list[str] = []
    for one in filters.facets:
        groups = [(value,) for value in one.values] if one.match == "all" else [one.values]
        found += [_with_facet(FACETS[one.kind], group, one.match == "none") for group in groups]
    columns: list[tuple[str, Sequence[str]]] = [
        ("d.type", filters.types),
        ("d.lang", filters.langs),
        ("d.source_id", filters.sources),
        ("d.source_id", filters.within),
        ("d.doc_id", filters.doc_ids),
    ]
    found += [f"{column} = ANY({array(list(values), 'text')})" for column, values in columns if values]
    if filters.scope:
        found.append(f"({' OR '.join(map(_in_part, filters.scope))})")
    if filters.without:
        found.append(f"d.source_id <> ALL({array(list(filters.without), 'text')})")
    if filters.paths:
        found.append(f"({' OR '.join(map(_glob, filters.paths))})")
    found += [f"NOT {_glob(pattern)}" for pattern in filters.paths_none]
    found += [f"strpos(d.title_folded, {literal(fold(part))}) > 0" for part in filters.titles]
    if filters.trust_min is not None:
        found.append(f"d.trust >= {int(filters.trust_min)}")
    for sign, moment in ((">=", filters.after_ns), ("<", filters.before_ns)):
        if moment is not None:
            found.append(
                f"CASE d.dated WHEN '' THEN d.mtime_ns {sign} {int(moment)} "
                f"ELSE d.dated {sign} {literal(day_of(moment))} END"
            )
    for sign, moment in ((">=", filters.modified_after_ns), ("<", filters.modified_before_ns)):
        if moment is not None:
            found.append(f"d.mtime_ns {sign} {int(moment)}")
    for link in filters.links:
        if link.docs is None:
            raise ValueError(f"{link} is not resolved")
        found.append(f"{'NOT ' * link.negated}d.doc_id = ANY({array(list(link.docs), 'text')})")
    for has in filters.has:
        some = (
            f"EXISTS (SELECT 1 FROM facet f WHERE f.doc_id = d.doc_id AND f.kind = {literal(kind)} "
            f"AND f.ordinal {'>=' if FACETS[kind].many else '<'} {MANY})"
            for kind in has.kinds
        )
        found.append(f"{'NOT ' * has.negated}({' OR '.join(some)})")
    return found  # `shareable`: what is not shareable was never copied


def _chunk_conditions(filters: SearchFilters) -> list[str]:
    found = [f"c.kind = ANY({array(list(filters.kinds), 'text')})"] if filters.kinds else []
    return found + [f"strpos(c.heading_folded, {literal(fold(part))}) > 0" for part in filters.headings]


def _in_part(part: SourcePart) -> str:
    """Notes of a source, or of one folder of it."""
    of_source = f"d.source_id = {literal(part.source)}"
    if not part.below:
        return of_source
    folder = os.fsencode(part.below)
    below, end = literal(folder + b"/"), literal(folder + b"0")  # "0" is the byte after "/"
    return f"({of_source} AND d.raw_path > {below} AND d.raw_path < {end})"


def _glob(pattern: str) -> str:
    """As `re.fullmatch` of `glob_regex`: PostgreSQL has no atomic groups, and needs none."""
    regex = glob_regex(pattern).removeprefix("(?is)").replace("(?>", "(?:")
    return f"d.path_key ~ {literal(f'^(?:{path_key(regex)})$')}"


def _with_facet(kind: FacetKind, values: Sequence[str], excluded: bool) -> str:
    folded = [kind.fold(value) for value in values]
    negated = "NOT " * excluded
    if kind.within:
        parts = " OR ".join(f"strpos(f.folded, {literal(one)}) > 0" for one in folded)
        where = f"f.kind = ANY({array(kind.within, 'text')}) AND ({parts})"
    elif kind.compared:
        where = f"({' OR '.join(_compared(kind, value) for value in values)})"
    else:
        exact = [one.removeprefix("=") for one in folded] if kind.nested else folded
        where = f"f.folded = ANY({array(exact, 'text')})"
        if kind.nested:  # "0" is the character after "/"; `=a` finds nothing below
            below = (one for one in folded if not one.startswith("="))
            where = " OR ".join(
                [
                    where,
                    *(
                        f"(f.folded >= {literal(f'{one}/')} AND f.folded < {literal(f'{one}0')})"
                        for one in below
                    ),
                ]
            )
        where = f"f.kind = {literal(kind.id)} AND ({where})"
    return f"{negated}d.doc_id IN (SELECT f.doc_id FROM facet f WHERE {where})"


def _compared(kind: FacetKind, value: str) -> str:
    """A property with a key, a value of it, or one that compares with it."""
    key, how, other = split_property(value)
    folded = kind.fold(key)
    # ">" is the character after "="
    of_key = (
        f"(f.kind = {literal(kind.id)} AND f.folded >= {literal(f'{folded}=')} AND f.folded < "
        f"{literal(f'{folded}>')}"
    )
    if not how:
        return f"{of_key})"
    wanted = comparable(other)
    column = "number" if isinstance(wanted, float) else "compared"
    return f"{of_key} AND f.{column} {_SIGNS[how]} {literal(wanted)})"
