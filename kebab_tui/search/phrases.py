"""The smallest things that can be looked for: FTS5 phrases, each with its own evidence.

A phrase is made of folded words alone, so nothing that was typed reaches FTS5 as
syntax. It can be used as a MATCH string by itself, and it knows how its matches look
in a text, for whoever marks them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from kebab_tui.domain.tokens import gram_phrase, marked_token, plain_words, stem

LONGEST = 32
"""Words or syllables of one phrase; what goes beyond is not looked at."""

PhraseKind = Literal["words", "grams", "marked"]


@dataclass(frozen=True, slots=True)
class Phrase:
    """`parts` are stems of neighbouring words, stretches of text for `grams`, or the one
    lower-case name for `marked`. `prefix`: the last word is only a beginning."""

    match: str
    label: str
    kind: PhraseKind
    parts: tuple[str, ...]
    prefix: bool = False


def words_phrase(text: str, prefix: bool = False) -> Phrase:
    """Neighbouring words; `text` holds at least one."""
    words = plain_words(text)[:LONGEST]
    joined = " ".join(words)
    label = f"{joined}*" if prefix else joined
    return Phrase(_quoted(joined, prefix), label, "words", tuple(map(stem, words)), prefix)


def grams_phrase(runs: Sequence[str]) -> Phrase:
    """Neighbouring CJK words, the first to its end, the last from anywhere inside it."""
    shown = tuple(run[:LONGEST] for run in runs[:LONGEST])
    *others, last = shown
    spelled = [pair for run in others for pair in (*_pairs(run), run[-1])]
    spelled += gram_phrase(last)
    return _grams(spelled[:LONGEST], shown, prefix=len(last) == 1)


def spaced_phrase(run: str, at: int) -> Phrase:
    """A compound written as two words."""
    return grams_phrase((run[:at], run[at:]))


def glued_phrase(word: str, syllable: str) -> Phrase:
    """One syllable behind a word of another script: 3월, A형."""
    return _grams([word, syllable], (word + syllable,), prefix=True)


def marked_phrase(name: str) -> Phrase:
    """A name with its marks: C++."""
    return Phrase(f"grams : {_quoted(marked_token(name))}", name.lower(), "marked", (name.lower(),))


def _grams(spelled: Sequence[str], runs: tuple[str, ...], prefix: bool) -> Phrase:
    return Phrase(f"grams : {_quoted(' '.join(spelled), prefix)}", " ".join(runs), "grams", runs)


def _pairs(run: str) -> tuple[str, ...]:
    return gram_phrase(run) if len(run) > 1 else ()


def _quoted(words: str, prefix: bool = False) -> str:
    return f'"{words}" *' if prefix else f'"{words}"'
