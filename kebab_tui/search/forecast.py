"""What a search is going to ask its index, for an index on servers: it then answers in one trip what would
take five.

Pure guesses from the text of the query. The search itself knows nothing of them.
"""

from __future__ import annotations

from collections.abc import Sequence

from kebab_tui.domain.names import name_key, typed_name_key
from kebab_tui.domain.query import SearchFilters
from kebab_tui.domain.tokens import plain_words
from kebab_tui.search import match_tree
from kebab_tui.search.match import Prefix, any_of, parse_raw, terms
from kebab_tui.search.match_tree import Expression
from kebab_tui.search.ports import Forecast, Ranking
from kebab_tui.search.query_language import ParsedQuery, text_without
from kebab_tui.search.words import STOP_WORDS, name_terms

_FILTERS = frozenset({"filter_key", "filter_value"})


def of_words(parsed: ParsedQuery, text: str, filters: SearchFilters) -> Forecast:
    """How frequent the words are, and which notes are called so."""
    if parsed.raw is not None:
        raw = parse_raw(parsed.raw)
        return Forecast(terms=terms(raw))
    wanted = [expression for make in (match_tree.strict, match_tree.relaxed) if (expression := make(parsed))]
    found = [term for one in wanted for term in one.phrases]
    found += [term for one in wanted for match in one.excluded for term in terms(match)]
    name = text_without(_FILTERS, text, parsed)
    found += name_terms(name).values()
    end = match_tree.open_end(parsed)
    found += terms(end) if end is not None else ()
    prefix = match_tree.unfinished_word(parsed)
    found += [Prefix(prefix)] if prefix else []
    words = [word for term in found for word in plain_words(term.text) if word not in STOP_WORDS]
    return Forecast(
        tuple(dict.fromkeys(found)),
        tuple(dict.fromkeys([*match_tree.wanted_words(parsed), *words])),
        tuple(dict.fromkeys([*match_tree.starred_words(parsed), *([prefix] if prefix else [])])),
        tuple(dict.fromkeys(filter(None, (name_key(name), typed_name_key(name))))),
        filters,
    )


def of_rankings(
    wanted: Sequence[Expression], limit: int, filters: SearchFilters, strict: Expression | None = None
) -> Forecast:
    """The lists that are going to be ranked. `strict`: which hits have all the words will be asked, too."""
    rankings = tuple(
        Ranking(one.among(filters), limit, one.scored, None if strict is None else strict.match)
        for one in wanted
    )
    phrases = tuple(dict.fromkeys(term for one in wanted for term in one.phrases))
    similar = any_of(phrases) if phrases and strict is not None else None
    return Forecast(filters=filters, rankings=rankings, similar=similar)
