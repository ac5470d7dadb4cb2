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
from dataclasses import dataclass
from itertools import islice
from typing import Literal, NamedTuple

from kebab_tui.domain.tokens import CJK, MARKED, gram_phrase, marked_token, plain_words, stem
from kebab_tui.search.query_language import Leaf

# The smallest things that can be looked for: FTS5 phrases, each with its own evidence.
#
# A phrase is made of folded words alone, so nothing that was typed reaches FTS5 as
# syntax. It can be used as a MATCH string by itself, and it knows how its matches look
# in a text, for whoever marks them.

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


# Korean endings, so that `충돌을 해결하는` also finds `충돌이` and `해결했다`.
#
# A list and not a grammar: an ending is taken off where two syllables remain. Where it
# was none (고양이) the shorter word is merely looked for as well, and ranks lower.

_PARTICLES = """
    은 는 이 가 을 를 의 에 도 로 과 와 만 나 에서 에게 에는 에도 에서는 에서도 에게는 으로 으로는 으로도 로는
    로도 로서 로써 으로서 으로써 까지 까지는 부터 부터는 처럼 보다 이나 이란 이라 이라는 라는 이라고 라고 한테
    께서 마다 조차 밖에 들 들은 들이 들을 들의 이다 입니다 이고 이며 이면 인가 인지 이랑 랑 하고
""".split()  # noqa: SIM905 - a list of a hundred quoted syllables is hard to read
_VERBS = """
    하는 하기 하기가 하기는 하고 하면 하며 하다 한다 하여 해서 해야 하지 하려면 하려고 하게 하도록 했다 했는데
    했던 합니다 했습니다 하세요 할 한 해 되는 되고 되면 되며 되다 된다 되어 돼서 되지 됐다 되었다 됩니다 된
""".split()  # noqa: SIM905 - a list of a hundred quoted syllables is hard to read
_PARTICLE_SET = frozenset(_PARTICLES)
_ENDINGS = tuple(sorted({*_PARTICLES, *_VERBS}, key=lambda ending: (-len(ending), ending)))
_SHORTEST_STEM = 2


def is_particle(run: str) -> bool:
    """Whether a run glued to another script is only grammar: 로 of `Rust로`."""
    return run in _PARTICLE_SET


def without_ending(run: str) -> str:
    """Take the longest known ending off a word that stays a word without it."""
    for ending in _ENDINGS:
        if len(run) - len(ending) >= _SHORTEST_STEM and run.endswith(ending):
            return run[: -len(ending)]
    return run


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


# Words so common that a relaxed search does better without them.

STOP_WORDS = frozenset(
    """
    a about an and any are as at be been but by can could did do does for from had has have how i if in
    into is it its me my no not of on or our should so than that the their them then there these they
    this those to us was we were what when where which who why will with would you your
    것 것을 것이 그 그것 그런 그리고 너무 더 때 또는 무엇 무엇을 및 뭐 수 어디 어떤 어떻게 언제 왜 이 이것
    이런 있나 있는 있다 저 좀 등 하는 하나 하려면
    """.split()  # noqa: SIM905 -- running text is easier to read than a list of quoted words
)
