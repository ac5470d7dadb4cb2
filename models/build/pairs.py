"""Korean and English strings side by side: gathered, cleaned, without repeats, and joined into passages.

A pair counts for the first source that has it. Passages are made of neighbours in one source, so that the model also
sees texts of a note's length, not only of a button's.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from models.build.cleaning import clean, is_pair

PASSAGE_WORDS = (20, 80)  # English words; each passage draws its own length


@dataclass(frozen=True, slots=True)
class Pair:
    """One string or passage in both languages."""

    source: str
    english: str
    korean: str


def gather(source: str, strings: Iterable[tuple[str, str]], seen: set[tuple[str, str]]) -> Iterator[Pair]:
    """The usable pairs of one source that `seen` does not hold yet; `seen` grows."""
    for raw_english, raw_korean in strings:
        english, korean = clean(raw_english), clean(raw_korean)
        key = (english.lower(), korean)
        if key not in seen and is_pair(english, korean):
            seen.add(key)
            yield Pair(source, english, korean)


def passages(pairs: Sequence[Pair], seed: int = 0) -> list[Pair]:
    """Neighbouring pairs of one source joined into texts of several sentences."""
    draw = random.Random(seed)
    joined: list[Pair] = []
    start = 0
    while start < len(pairs):
        wanted, words, end = draw.randint(*PASSAGE_WORDS), 0, start
        while end < len(pairs) and pairs[end].source == pairs[start].source and words < wanted:
            words += len(pairs[end].english.split())
            end += 1
        if end - start > 1:
            joined.append(_join(pairs[start:end]))
        start = end
    return joined


def _join(pairs: Sequence[Pair]) -> Pair:
    return Pair(
        pairs[0].source,
        ". ".join(pair.english.rstrip(".") for pair in pairs),
        ". ".join(pair.korean.rstrip(".") for pair in pairs),
    )
