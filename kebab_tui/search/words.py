"""One word or phrase of a query as a match tree.

A Latin word stays a word; one in camelCase is also searched by its parts. A CJK word is
searched in the grams by its syllables, so that particles and compounds do not hide it;
also without its ending, and as two words if it may be a compound. A word of both scripts
needs each part; a particle after a Latin word is dropped.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import islice
from typing import NamedTuple

from kebab_tui.domain.tokens import CJK, MARKED, gram_phrase, identifiers, marked_token, plain_words, stem
from kebab_tui.search.match import Gram, Match, Phrase, Prefix, Term, Word, all_of, any_of
from kebab_tui.search.query_language import Leaf

SHORTEST_UNFINISHED = 2
"""An unfinished word that is shorter is not completed; joined to others, it is left out."""
LONGEST = 32
"""Words or syllables of one phrase; the rest is ignored."""
_MOST_PARTS = 6
"""A word that changes its script more often is pasted data, not a word."""
_SHORTEST_COMPOUND, _LONGEST_COMPOUND = 4, 10
_PART = re.compile(rf"(?P<marked>{MARKED})|(?P<run>[{CJK}]+)")

# Korean endings, so that `충돌을 해결하는` also finds `충돌이` and `해결했다`. A list, not a grammar:
# an ending is removed if two syllables remain. If it was no ending (고양이), the shorter word is
# searched as well and ranks lower.
_PARTICLES = """
    은 는 이 가 을 를 의 에 도 로 과 와 만 나 에서 에게 에는 에도 에서는 에서도 에게는 으로 으로는 으로도 로는
    로도 로서 로써 으로서 으로써 까지 까지는 부터 부터는 처럼 보다 이나 이란 이라 이라는 라는 이라고 라고 한테
    께서 마다 조차 밖에 들 들은 들이 들을 들의 이다 입니다 이고 이며 이면 인가 인지 이랑 랑 하고
""".split()  # noqa: SIM905 - a list of a hundred quoted syllables is hard to read
_VERBS = """
    하는 하기 하기가 하기는 하고 하면 하며 하다 한다 하여 해서 해야 하지 하려면 하려고 하게 하도록 했다 했는데
    했던 합니다 했습니다 하세요 할 한 해 되는 되고 되면 되며 되다 된다 되어 돼서 되지 됐다 되었다 됩니다 된
""".split()  # noqa: SIM905 - a list of a hundred quoted syllables is hard to read
PARTICLES = frozenset(_PARTICLES)
_ENDINGS = tuple(sorted({*_PARTICLES, *_VERBS}, key=lambda ending: (-len(ending), ending)))
_SHORTEST_STEM = 2

STOP_WORDS = frozenset(
    """
    a about an and any are as at be been but by can could did do does for from had has have how i if in
    into is it its me my no not of on or our should so than that the their them then there these they
    this those to us was we were what when where which who why will with would you your
    것 것을 것이 그 그것 그런 그리고 너무 더 때 또는 무엇 무엇을 및 뭐 수 어디 어떤 어떻게 언제 왜 이 이것
    이런 있나 있는 있다 저 좀 등 하는 하나 하려면
    """.split()  # noqa: SIM905 -- running text is easier to read than a list of quoted words
)
"""Words so common that a relaxed search ranks better without them."""


class Completion(NamedTuple):
    """The possible completions of an unfinished word; `prefix`: also any other word that begins with it."""

    words: tuple[str, ...]
    prefix: bool = True


_Part = tuple[str, str]
"""The kind and the text of a part of a word."""


@lru_cache(maxsize=256)
def unit(leaf: Leaf, completion: Completion | None = None, narrow: bool = False) -> Match | None:
    """The tree for a leaf; None if nothing of it is indexed.

    `narrow`: a CJK word or an identifier matches only as typed, for exclusions. Cached, since a
    keystroke changes one word.
    """
    text = unicodedata.normalize("NFC", leaf.text)
    if leaf.kind == "phrase":
        return _phrase(text, prefix=completion is not None)
    parts = _glued(list(islice(_parts(text), _MOST_PARTS)))
    if leaf.kind == "prefix" and completion is None:
        completion = Completion(())
    found: list[Match] = []
    for i, (kind, value) in enumerate(parts):
        if kind == "marked":
            found.append(marked_phrase(value))
        elif kind == "glued":  # one syllable after a word of another script: 3월, A형
            found.append(Gram(f"{value[:-1]} {value[-1]}", prefix=True, parts=(value,)))
        elif kind == "run":
            bare = value if narrow else without_ending(value)
            readings = [grams_phrase((one,)) for one in dict.fromkeys((bare, value))]
            found.append(any_of((*readings, *(() if narrow else compounds(bare)))))
        elif completion is not None and i == len(parts) - 1:
            found.append(_unfinished(value, completion))
        else:
            found.append(any_of((words_phrase(value), *(() if narrow else _by_parts(value)))))
    return all_of(tuple(found)) if found else None


def last_word(leaf: Leaf) -> str | None:
    """The folded word at the end of a leaf that may continue; None after CJK or marks."""
    text = unicodedata.normalize("NFC", leaf.text)
    parts = list(_parts(text))
    return plain_words(parts[-1][1])[-1] if parts and parts[-1][0] == "words" else None


@lru_cache(maxsize=4_096)
def name_terms(text: str) -> Mapping[str, Term]:
    """The words of a name by their stems; of a CJK word without its ending, the pairs of syllables.

    Cached: each letter of a query meets the same names again.
    """
    found: dict[str, Term] = {}
    for kind, value in _parts(unicodedata.normalize("NFC", text)):
        if kind == "words":
            found |= {stem(word): Word(word) for word in plain_words(value)}
        elif kind == "marked":
            found[value.lower()] = marked_phrase(value)
        else:
            found |= {
                pair: Gram(pair, len(pair) == 1, (pair,)) for pair in gram_phrase(without_ending(value))
            }
    return found


def words_phrase(text: str, prefix: bool = False) -> Word | Phrase | Prefix:
    """Adjacent words; `text` has at least one."""
    words = plain_words(text)[:LONGEST]
    text = " ".join(words)
    if prefix:
        return Prefix(text)
    return Phrase(text) if len(words) > 1 else Word(text)


def grams_phrase(runs: Sequence[str]) -> Gram:
    """Adjacent CJK words, the first up to its end, the last from anywhere inside it."""
    shown = tuple(run[:LONGEST] for run in runs[:LONGEST])
    *others, last = shown
    spelled = [token for run in others for token in (*(gram_phrase(run) if len(run) > 1 else ()), run[-1])]
    spelled += gram_phrase(last)
    return Gram(" ".join(spelled[:LONGEST]), len(last) == 1, shown)


def whole_word(run: str) -> Gram:
    """A CJK word that does not go on."""
    return Gram(" ".join((*gram_phrase(run), run[-1])), parts=(run,))


def marked_phrase(name: str) -> Gram:
    """A name with its marks: C++."""
    return Gram(marked_token(name), parts=(name.lower(),), marked=True)


def _parts(text: str) -> Iterator[_Part]:
    """Cut a word where its script changes and around names with marks."""
    at = 0
    for match in _PART.finditer(text):
        if plain_words(text[at : match.start()]):
            yield "words", text[at : match.start()]
        yield "marked" if match["marked"] else "run", match.group()
        at = match.end()
    if plain_words(text[at:]):
        yield "words", text[at:]


def _glued(parts: Sequence[_Part]) -> list[_Part]:
    """Drop particles after a word of another script, and join other single syllables to it."""
    result: list[_Part] = []
    for kind, value in parts:
        before, text = result[-1] if result else ("", "")
        is_glued = before in {"words", "marked"} and text[-1].isalnum()
        if kind == "run" and (is_glued or before == "marked") and value in PARTICLES:
            continue
        if kind == "run" and is_glued and len(value) == 1:
            words = plain_words(text)
            value = words[-1] + value
            if len(words) == 1:
                result.pop()
            kind = "glued"
        result.append((kind, value))
    return result


def without_ending(run: str) -> str:
    """A CJK word without its longest ending, if two syllables remain."""
    endings = (e for e in _ENDINGS if run.endswith(e) and len(run) - len(e) >= _SHORTEST_STEM)
    return run.removesuffix(next(endings, ""))


def compounds(run: str) -> list[Gram]:
    """The two words that a CJK word may be made of."""
    if not _SHORTEST_COMPOUND <= len(run) <= _LONGEST_COMPOUND:
        return []
    return [grams_phrase((run[:at], run[at:])) for at in range(2, len(run) - 1)]


def _by_parts(text: str, prefix: bool = False) -> tuple[Match, ...]:
    """A word in camelCase as the adjacent parts that it has in the index; nothing for other words."""
    if len(plain_words(text)) > 1:
        return ()
    return tuple(words_phrase(" ".join(parts), prefix) for _, parts in identifiers(text))


def _unfinished(text: str, completion: Completion) -> Match:
    """A prefix also matches the word itself, so the word is only added if there is no prefix."""
    *before, last = plain_words(text)
    if before and len(last) < SHORTEST_UNFINISHED:
        return words_phrase(" ".join(before))
    known = {stem(last)}
    found = [words_phrase(text, prefix=completion.prefix or bool(before))]
    for word in completion.words:
        if len(plain_words(word)) == 1 and stem(word) not in known:
            known.add(stem(word))
            found.append(words_phrase(" ".join((*before, word))))
    return any_of((*found, *_by_parts(text, completion.prefix)))


def _phrase(text: str, prefix: bool) -> Match | None:
    if not plain_words(text):
        return None
    parts = list(_parts(text))
    runs = [value for kind, value in parts if kind == "run"]
    if runs and len(runs) == len(parts):
        return grams_phrase(runs)
    if len(parts) == 1 and parts[0][0] == "marked":
        return marked_phrase(parts[0][1])
    return words_phrase(text, prefix=prefix or bool(runs))
