"""What is asked of a search, and what would be a good answer to it.

An item is whatever a set of questions judges: a document of a BEIR corpus, an
expectation of a golden file. Knows no file format and asks nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from kebab_tui.domain.text import is_hangul

QueryLanguage = Literal["ko", "en", "mixed"]
QUERY_LANGUAGES: tuple[QueryLanguage, ...] = ("ko", "en", "mixed")
SetKind = Literal["golden", "beir"]


@dataclass(frozen=True, slots=True)
class Question:
    """`relevant`: item -> grade, all above 0; at least one."""

    id: str
    text: str
    lang: QueryLanguage
    relevant: Mapping[str, int]
    probe: str = ""
    """What it exercises, where its author said so."""


def query_language(text: str) -> QueryLanguage:
    """Korean by a fair share of Hangul, mixed by a little of it, else English."""
    if is_hangul(text):
        return "ko"
    return "mixed" if any("\uac00" <= character <= "\ud7a3" for character in text) else "en"
