"""The engine's rules that need no index: what a query means, where its words stand, how hits re-fuse.

Pure but for the clock that says what `7d` is. Reached through `Workspace`, which offers
every one of these; what is heavy is imported by the rule that needs it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kebab_tui.domain.hit import Highlight
    from kebab_tui.search.query_language import Chip, ParsedQuery
    from kebab_tui.search.ranking import Fused, FusionSettings


def parse(text: str) -> ParsedQuery:
    """What a query means, with its tokens and the filters in force."""
    from datetime import datetime

    from kebab_tui.search.query_language import parse

    return parse(text, datetime.now())  # noqa: DTZ005 - the machine's own time zone is meant


def remove_chip(text: str, chip: Chip) -> str:
    """The text of a query without one of its filters."""
    from kebab_tui.search.query_language import remove_chip

    return remove_chip(text, chip)


def instant(date: str) -> int | None:
    """A date as it may be typed in a filter (`2026-01`, `7d`), in nanoseconds; None when it is none."""
    from datetime import datetime

    from kebab_tui.search.filter_keys import instant

    return instant(date, datetime.now())  # noqa: DTZ005 - the machine's own time zone is meant


def marks(text: str, query: str) -> tuple[Highlight, ...]:
    """Where the words of a query stand in any text, by the rules of the index."""
    from kebab_tui.search.snippet import highlight, sought

    return highlight(text, sought(query))


def decode(data: bytes) -> tuple[str, ...]:
    """A file's bytes as the lines that citations count; UnsuitableFileError for what is no text."""
    from kebab_tui.formats.decode import decode

    return decode(data).lines


def refuse(candidates: Sequence[Fused], settings: FusionSettings) -> list[Fused]:
    """What was fused once, in the order that other settings give it."""
    from kebab_tui.search.ranking import rescore

    return rescore(candidates, settings)
