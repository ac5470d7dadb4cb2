"""One word or phrase of a query, turned into what the index can answer.

A Latin word stays a word. A CJK word is looked for in the grams, by its syllables, so
that particles and compounds do not hide it; also without its ending, and as two words
where it may be a compound. A word of both scripts needs each part; a particle behind a
Latin word is dropped.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from kebab_tui.domain.tokens import CJK, MARKED, plain_words, stem
from kebab_tui.search.particles import is_particle, without_ending
from kebab_tui.search.phrases import (
    Phrase,
    glued_phrase,
    grams_phrase,
    marked_phrase,
    spaced_phrase,
    words_phrase,
)
from kebab_tui.search.terms import Leaf

_PART = re.compile(rf"(?P<marked>{MARKED})|(?P<run>[{CJK}]+)")
_MOST_PARTS = 6
"""A word that changes its script more often is a paste, not a word."""
_SHORTEST_COMPOUND, _LONGEST_COMPOUND = 4, 10


class Unit(NamedTuple):
    """A MATCH string and the phrases in it, in the order in which they stand there."""

    match: str
    phrases: tuple[Phrase, ...]


class Completion(NamedTuple):
    """What an unfinished word may become; `prefix`: also anything that begins with it."""

    words: Sequence[str]
    prefix: bool = True


def unit(leaf: Leaf, completion: Completion | None = None, narrow: bool = False) -> Unit | None:
    """What a leaf asks of the index; None where nothing of it is indexed.

    `narrow`: a CJK word is only what was typed, for who excludes it.
    """
    text = unicodedata.normalize("NFC", leaf.text)
    if leaf.kind == "phrase":
        return _phrase(text, prefix=completion is not None)
    parts = _joined_scripts(list(islice(_parts(text), _MOST_PARTS)))
    if leaf.kind == "prefix" and completion is None:
        completion = Completion(())
    if completion is not None and parts and parts[-1][0] == "words":
        parts[-1] = ("open", parts[-1][1])
    return _all_of([_part(part, completion or Completion(()), narrow) for part in parts])


def last_word(leaf: Leaf) -> str | None:
    """The folded word at the end of a leaf that could still grow; None behind CJK or marks."""
    text = unicodedata.normalize("NFC", leaf.text)
    parts = list(_parts(text))
    return plain_words(parts[-1][1])[-1] if parts and parts[-1][0] == "words" else None


_Part = tuple[str, str]


def _parts(text: str) -> Iterator[_Part]:
    """Cut a word where its script changes and around names with marks."""
    at = 0
    for match in _PART.finditer(text):
        yield from _other(text[at : match.start()])
        yield ("marked" if match["marked"] else "run", match.group())
        at = match.end()
    yield from _other(text[at:])


def _other(text: str) -> Iterator[_Part]:
    if plain_words(text):
        yield ("words", text)


def _joined_scripts(parts: Sequence[_Part]) -> list[_Part]:
    """Settle what stands glued behind a word of another script."""
    joined: list[_Part] = []
    for kind, value in parts:
        glued = bool(joined) and joined[-1][0] in {"words", "marked"} and joined[-1][1][-1].isalnum()
        after_marks = bool(joined) and joined[-1][0] == "marked"
        if kind == "run" and (glued or after_marks) and is_particle(value):
            continue
        if kind == "run" and glued and len(value) == 1:
            value = plain_words(joined[-1][1])[-1] + value
            if len(plain_words(joined[-1][1])) == 1:
                joined.pop()
            kind = "glued"
        joined.append((kind, value))
    return joined


def _part(part: _Part, completion: Completion, narrow: bool) -> Unit:
    kind, value = part
    if kind == "marked":
        return _alone(marked_phrase(value))
    if kind == "glued":
        return _alone(glued_phrase(value[:-1], value[-1]))
    if kind == "run":
        return _alone(grams_phrase((value,))) if narrow else _any_of(_readings(value))
    if kind == "open":
        return _unfinished(value, completion)
    return _alone(words_phrase(value))


def _readings(run: str) -> list[Phrase]:
    """The ways in which a CJK word may stand in a note."""
    bare = without_ending(run)
    readings = [grams_phrase((bare,))]
    if bare != run:
        readings.append(grams_phrase((run,)))
    if _SHORTEST_COMPOUND <= len(bare) <= _LONGEST_COMPOUND:
        readings += [spaced_phrase(bare, at) for at in range(2, len(bare) - 1)]
    return readings


def _unfinished(text: str, completion: Completion) -> Unit:
    """A beginning also finds the word itself, so the word stands beside it only where no beginning does."""
    words = plain_words(text)
    if len(words) > 1:
        return _alone(words_phrase(text, prefix=True))
    whole = words_phrase(text)
    known = {whole.parts[0]}
    found = [words_phrase(text, prefix=True)] if completion.prefix else [whole]
    for word in completion.words:
        if len(plain_words(word)) == 1 and stem(word) not in known:
            known.add(stem(word))
            found.append(words_phrase(word))
    return _any_of(found)


def _phrase(text: str, prefix: bool) -> Unit | None:
    if not plain_words(text):
        return None
    runs = [value for kind, value in _parts(text) if kind == "run"]
    if not runs:
        return _alone(_marked_or_words(text, prefix))
    if len(runs) == len(list(_parts(text))):
        return _alone(grams_phrase(runs))
    return _alone(words_phrase(text, prefix=True))


def _marked_or_words(text: str, prefix: bool) -> Phrase:
    parts = list(_parts(text))
    if len(parts) == 1 and parts[0][0] == "marked":
        return marked_phrase(parts[0][1])
    return words_phrase(text, prefix)


def _alone(phrase: Phrase) -> Unit:
    return Unit(phrase.match, (phrase,))


def _any_of(phrases: Sequence[Phrase]) -> Unit:
    if len(phrases) == 1:
        return _alone(phrases[0])
    return Unit(f"({' OR '.join(phrase.match for phrase in phrases)})", tuple(phrases))


def _all_of(units: Sequence[Unit]) -> Unit | None:
    if len(units) < 2:
        return units[0] if units else None
    phrases = tuple(phrase for one in units for phrase in one.phrases)
    return Unit(f"({' AND '.join(one.match for one in units)})", phrases)
