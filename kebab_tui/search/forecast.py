"""What a search is going to ask its index, for an index on servers: it then answers in one trip what would
take five.

Pure guesses from the text of the query. The search itself knows nothing of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from kebab_tui.domain.ids import ChunkRow
from kebab_tui.domain.names import name_key, typed_name_key
from kebab_tui.domain.query import SearchFilters
from kebab_tui.domain.tokens import plain_words
from kebab_tui.search import match_tree, name_leg
from kebab_tui.search.lexical import COMMON
from kebab_tui.search.limits import Limits
from kebab_tui.search.match import Gram, Match, Prefix, parse_raw, terms
from kebab_tui.search.match_tree import Expression
from kebab_tui.search.ports import Browsed, Counted, Forecast, NamedNote, Ranking
from kebab_tui.search.query_language import ParsedQuery, text_without
from kebab_tui.search.words import STOP_WORDS, grams_phrase, name_terms, whole_word, without_ending

_FILTERS = frozenset({"filter_key", "filter_value"})


def of_words(
    parsed: ParsedQuery, text: str, filters: SearchFilters, *, typing: bool, page: tuple[int, int]
) -> Forecast:
    """How frequent the words are, and which notes are called so.

    `page`: first and length, for a query without words.
    """
    if parsed.raw is not None:
        raw = parse_raw(parsed.raw)
        return Forecast(terms=terms(raw))
    wanted = [expression for make in (match_tree.strict, match_tree.relaxed) if (expression := make(parsed))]
    found = [term for one in wanted for term in one.phrases]
    found += [term for one in wanted for match in one.excluded for term in terms(match)]
    for run in {part for term in found if isinstance(term, Gram) and not term.marked for part in term.parts}:
        found += [grams_phrase((run[at : at + 2],)) for at in range(len(run) - 1)]  # a typing slip in it?
        found += [] if run == (bare := without_ending(run)) else [whole_word(bare)]
    name = text_without(_FILTERS, text, parsed)
    found += name_terms(name).values()
    prefix = match_tree.unfinished_word(parsed) if typing else None
    if prefix is not None:
        end = match_tree.open_end(parsed)
        found += [*(terms(end) if end is not None else ()), Prefix(prefix)]
    words = [word for term in found for word in plain_words(term.text) if word not in STOP_WORDS]
    browsed = []
    without = match_tree.excluded_alone(parsed)
    if without or (parsed.is_only_filters and filters.chosen):
        browsed.append(Browsed(filters, page[1], page[0], without))
    elif (tagged := name_leg.of_tag(name, filters)) is not None:
        browsed.append(Browsed(tagged, name_leg.TAGGED, 0))
    return Forecast(
        tuple(dict.fromkeys(found)),
        tuple(dict.fromkeys([*match_tree.wanted_words(parsed), *words])),
        tuple(dict.fromkeys([*match_tree.starred_words(parsed), *([prefix] if prefix else [])])),
        begun=((prefix, 1), (prefix, COMMON)) if prefix else (),
        names=tuple(dict.fromkeys(filter(None, (name_key(name), typed_name_key(name))))),
        filters=filters,
        browsed=tuple(browsed),
    )


def of_rankings(
    wanted: Sequence[Expression],
    limit: int,
    filters: SearchFilters,
    strict: Expression | None = None,
    similar: Match | None = None,
    newest: int | None = None,
    notes: Sequence[NamedNote] = (),
) -> Forecast:
    """The lists that are going to be ranked.

    `strict`: which hits have all the words will be asked, too. `similar`: what names will be searched for.
    `notes`: each will be ranked alone.
    """
    rankings = [
        Ranking(one.among(filters), limit, one.scored, None if strict is None else strict.match, newest)
        for one in wanted
    ]
    for note in notes:
        own = replace(filters, doc_ids=(note.doc,))
        rankings += [Ranking(one.among(own), 1, one.scored) for one in wanted]
    return Forecast(filters=filters, rankings=tuple(rankings), similar=similar)


def of_page(
    rows: Sequence[ChunkRow],
    counted: Sequence[Expression],
    leaving_out: Sequence[ChunkRow],
    filters: SearchFilters,
    limits: Limits,
) -> Forecast:
    """A page that is going to be shown, and lists that are going to be counted."""
    out = tuple(leaving_out)
    counts = [Counted(one.among(filters), one.scored, out, limits.worst_bm25) for one in counted]
    if limits.cut:
        counts += [Counted(one.among(filters), one.scored, out) for one in counted]
    return Forecast(passages=tuple(rows), counts=tuple(counts))
