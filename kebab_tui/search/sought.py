"""What a typed query looks for in a text that no search has found, such as the whole of a note.

The words are those of the relaxed question: any of them, without the words that stand in
every sentence. A last word that may be unfinished counts as a beginning. FTS5's own syntax
names nothing here: it is not ours to read.
"""

from __future__ import annotations

from datetime import datetime
from functools import lru_cache

from kebab_tui.search.expression import relaxed, unfinished_word
from kebab_tui.search.phrases import Phrase
from kebab_tui.search.query_language import parse


@lru_cache(maxsize=16)
def sought(query: str) -> tuple[Phrase, ...]:
    """The phrases to mark; a note is marked block by block, the query is read once."""
    parsed = parse(query, datetime.now())  # noqa: DTZ005 - dates are filters, which mark nothing
    unfinished = () if unfinished_word(parsed) else None
    expression = relaxed(parsed, unfinished=unfinished)
    return expression.phrases if expression else ()
