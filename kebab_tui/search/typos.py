"""Typing slips: the words of a query that are searched as another word.

Only a plain word that occurs in no note is corrected, and only to a word that a note has now.
Not corrected: words that the model knows, short words, phrases, prefixes, excluded words,
identifiers, and a last word that may go on as an indexed one.

- Latin: one slip from five letters on, two from nine; a slip adds, drops, changes or swaps letters.
  In four letters one may be missing or two swapped.
- Hangul: one letter of a syllable, or two swapped syllables. An ending stays as it is.
- The keyboard's other layout: `gksrmf` for 한글, `ㅎㄱ메ㅗ` for graph.

Of several words, the one with the likelier slip wins, then the more frequent one.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from kebab_tui.domain.hit import Correction
from kebab_tui.domain.query import SearchFilters
from kebab_tui.domain.text import edits
from kebab_tui.search.lexer import QueryToken
from kebab_tui.search.match import Match, Prefix, Term, Word, any_of, terms
from kebab_tui.search.ports import Among, Forecast, Snapshot
from kebab_tui.search.query_language import MAX_WORDS, Leaf
from kebab_tui.search.words import PARTICLES, compounds, grams_phrase, unit, whole_word, without_ending

_MOST_LOOKUPS = 4
"""Unknown words looked up for one query; the others are searched as typed."""
_MOST_CHECKED = 8
"""Candidates checked in the index for one word."""
_SHORTEST, _ONE_SLIP, _TWO_SLIPS, _LONGEST = 4, 5, 9, 32
_ANY_INITIAL = 6
"""From this length on, the first letter may be another one."""
_SHORTEST_HANGUL, _LONGEST_HANGUL = 2, 12
_MOST_PLACES = 3
"""Syllables of a word that are tried."""
_ONLY_NAMES = 2
"""Words of so many syllables are corrected only to words of names: they have too many neighbours."""
_SHORT_QUERY = 2
"""The same in a query of more words, where an inflected verb would become another one."""
_INFLECTED = ("다", "요", "까", "죠", "야")
"""The same after these."""
_SHORTEST_LATIN = 3
"""Letters of a Latin word typed as Hangul."""

_NOT_GRAMS = ("heading_path", "text", "title")
"""The fields in which a Hangul word is not cut into pairs of syllables."""

KnowsWord = Callable[[str, bool], bool]
"""Whether the model has a word in its vocabulary; with True, a word that begins so."""


def correct(
    text: str,
    tokens: Sequence[QueryToken],
    snapshot: Snapshot,
    knows_word: KnowsWord,
    *,
    typing: bool,
    shareable: bool = False,
) -> tuple[str, tuple[Correction, ...]]:
    """The query with corrected words, and the words that differ.

    `shareable`: as if there were no private notes.
    """
    after_keys = {token.end for token in tokens if token.role == "unknown_key"}
    words = [token for token in tokens if token.role == "word" and token.start not in after_keys]
    speller = _Speller(snapshot, knows_word, shareable, is_short_query=len(words) <= _SHORT_QUERY)
    pieces: list[str] = []
    corrections: list[Correction] = []
    at = 0
    for token in words[:MAX_WORDS]:
        if speller.lookups == _MOST_LOOKUPS:
            break
        typed = unicodedata.normalize("NFC", text[token.start : token.end])
        before, word, particle, after = _core(typed)
        if word.isascii():
            meant = speller.latin(word, particle, unfinished=typing and token.end == len(text))
        else:
            meant = speller.hangul(word)
        if meant is not None:
            pieces += [text[at : token.start], before, meant, particle, after]
            at = token.end
            corrections.append(Correction(word, meant))
    return "".join([*pieces, text[at:]]), tuple(corrections)


def forecast(
    text: str, tokens: Sequence[QueryToken], snapshot: Snapshot, knows_word: KnowsWord, *, typing: bool
) -> Forecast | None:
    """What `correct` is going to ask for the unknown words; None if there are none."""
    speller = _Speller(snapshot, knows_word, False, is_short_query=True)
    found: list[Forecast] = []
    for token in [token for token in tokens if token.role == "word"][:MAX_WORDS]:
        _, word, particle, _ = _core(unicodedata.normalize("NFC", text[token.start : token.end]))
        if not word.isascii():
            found += speller.expected_hangul(word)
        elif speller.is_unknown(word.lower(), typing and token.end == len(text)):
            found.append(speller.expected_latin(word, particle))
    if not found:
        return None
    return Forecast(
        tuple(dict.fromkeys(term for one in found for term in one.terms)),
        tuple(dict.fromkeys(word for one in found for word in one.words)),
        alike=tuple(one for each in found for one in each.alike),
    )


def _core(typed: str) -> tuple[str, str, str, str]:
    """The marks before a plain word, the word, the particle of a Latin word, and the marks after it.

    The word is empty if it is not plain.
    """
    if typed.isascii() and typed.isalpha():
        return "", typed, "", ""
    inside = [at for at, one in enumerate(typed) if one.isalnum()]
    if not inside:
        return "", "", "", ""
    first, end = inside[0], inside[-1] + 1
    border = next((at for at in range(first, end) if not (typed[at].isascii() and typed[at].isalpha())), end)
    word, particle = typed[first:border], typed[border:end]
    if not word and all("ㄱ" <= one <= "ㅣ" or "가" <= one <= "힣" for one in particle):
        word, particle = particle, ""
    elif particle and particle not in PARTICLES:
        word = ""
    return typed[:first], word, particle, typed[end:]


class _Speller:
    """Looks words up in one snapshot. A plain class: making a dataclass would delay a search."""

    def __init__(
        self, snapshot: Snapshot, knows_word: KnowsWord, shareable: bool, *, is_short_query: bool
    ) -> None:
        self.snapshot = snapshot
        self.knows_word = knows_word
        self.filters = SearchFilters(shareable=shareable)
        self.is_short_query = is_short_query
        self.lookups = 0

    def has(self, match: Match) -> bool:
        return self.snapshot.has(match, shareable=self.filters.shareable)

    def begun(self, beginning: str) -> list[str]:
        """The most frequent word that begins so; if there are private notes, only if others have it, too."""
        words = self.snapshot.common_words(beginning, _MOST_CHECKED if self.filters.shareable else 1)
        return [word for word in words if not self.filters.shareable or self.has(Word(word))][:1]

    def is_unknown(self, word: str, unfinished: bool) -> bool:
        """Whether a Latin word is looked up."""
        if not _SHORTEST <= len(word) <= _LONGEST or self.has(Word(word)):
            return False
        return not (unfinished and self.begun(word)) and not self.knows_word(word, unfinished)

    def expected_latin(self, typed: str, particle: str) -> Forecast:
        """What `latin` is going to ask."""
        from kebab_tui.domain.keyboard import hangul_keys

        word = typed.lower()
        slips = tuple(_slips(word))
        hangul = "" if particle else hangul_keys(typed) or ""
        other = unit(Leaf(hangul, "word")) if len(hangul) > 1 else None
        layout = () if other is None else terms(other)
        alike = ((word, 2),) if len(word) >= _TWO_SLIPS else ()
        return Forecast((*layout, *map(Word, slips)), slips, alike=alike)

    def expected_hangul(self, typed: str) -> list[Forecast]:
        """What `hangul` is going to ask first."""
        from kebab_tui.domain.keyboard import keys_of, neighbours

        if not typed or len(typed) > _LONGEST or typed[1:] in PARTICLES or self._has_hangul(typed):
            return []
        found: list[Term] = [Word(keys_of(typed).lower())]
        for word in dict.fromkeys((typed, without_ending(typed))):
            if not _SHORTEST_HANGUL <= len(word) <= _LONGEST_HANGUL:
                continue
            for at in self._places(word):
                for other in neighbours(word[at]):
                    changed = word[:at] + other + word[at + 1 :]
                    found += [_pair(changed, pair) for pair in (at - 1, at) if 0 <= pair < len(word) - 1]
                    found.append(Prefix(changed, _NOT_GRAMS))
            found += [Prefix(one, _NOT_GRAMS) for one in _swapped(word)]
        return [Forecast(tuple(found))]

    def latin(self, typed: str, particle: str, *, unfinished: bool) -> str | None:
        word = typed.lower()
        if not self.is_unknown(word, unfinished):
            return None
        self.lookups += 1
        if not particle and (hangul := self._other_layout(typed)):
            return hangul
        if typed[0].islower() and not typed.islower():
            return None  # camelCase
        likely = _slips(word)
        if unfinished and (begun := self._swapped_beginning(likely)):
            return begun
        seen = self.snapshot.listed(list(likely))
        # A word that may go on is rather a longer one than a shorter one.
        ranked = sorted(seen, key=lambda one: (unfinished and len(one) < len(word), likely[one], -seen[one]))
        found = self._first_indexed(ranked)
        if found is None and len(word) >= _TWO_SLIPS:
            seen = self.snapshot.alike(word, 2)
            near = [one for one in seen if len({*word} ^ {*one}) <= 2 and edits(word, one, 2) is not None]
            # Two changed letters make other words, and few slips.
            letters = Counter(word)
            near = [one for one in near if sum(abs(letters[a] - one.count(a)) for a in {*word, *one}) <= 2]
            found = self._first_indexed(sorted(near, key=lambda one: -seen[one]))
        return found

    def _swapped_beginning(self, likely: Mapping[str, int]) -> str | None:
        """The beginning of the most frequent word, with two letters swapped: so hits come and stay."""
        begun = {}
        for one in likely:
            if likely[one] == _SWAPPED and (words := self.begun(one)):
                begun[one] = words[0]
        seen = self.snapshot.listed(list(begun.values()))
        ranked = sorted(begun, key=lambda one: -seen[begun[one]])
        return next((one for one in ranked if self.has(Word(begun[one]))), None)

    def _first_indexed(self, ranked: Sequence[str]) -> str | None:
        """The list of words may name some that no note has any more."""
        ranked = ranked[:_MOST_CHECKED]
        if self.snapshot.remote and ranked:
            self.snapshot.expect(Forecast(tuple(map(Word, ranked))))
        return next((one for one in ranked if self.has(Word(one))), None)

    def hangul(self, typed: str) -> str | None:
        if not typed or len(typed) > _LONGEST or typed[1:] in PARTICLES or self._has_hangul(typed):
            return None
        self.lookups += 1
        if word := self._other_layout(typed):
            return word
        bare = without_ending(typed)
        if (
            not all("가" <= one <= "힣" for one in typed)
            or self.knows_word(typed, False)
            or self.knows_word(bare, False)
        ):
            return None
        for word in dict.fromkeys((typed, bare)):
            if _SHORTEST_HANGUL <= len(word) <= _LONGEST_HANGUL and (meant := self._nearest_hangul(word)):
                return meant + typed[len(word) :]
        return None

    def _has_hangul(self, typed: str) -> bool:
        """Whether the notes have a word as typed, the word before its ending, or the two it is made of."""
        has, bare = self.has, without_ending(typed)
        if has(grams_phrase((typed,))):
            return True
        is_there = bare != typed and has(grams_phrase((bare,)))
        if is_there and has(whole_word(bare)):
            return True
        made_of = compounds(bare)
        return (bool(made_of) and has(any_of(tuple(made_of)))) or (is_there and self.knows_word(bare, False))

    def _other_layout(self, typed: str) -> str | None:
        from kebab_tui.domain.keyboard import hangul_keys, keys_of  # only an unknown word needs it

        if not typed.isascii():
            word = keys_of(typed).lower()
            return word if len(word) >= _SHORTEST_LATIN and self.has(Word(word)) else None
        hangul = hangul_keys(typed)
        found = unit(Leaf(hangul, "word")) if hangul and len(hangul) > 1 else None
        return hangul if found is not None and self.has(found) else None

    def _nearest_hangul(self, word: str) -> str | None:
        from kebab_tui.domain.keyboard import neighbours  # as above

        for at in self._places(word):
            changed = [word[:at] + other + word[at + 1 :] for other in neighbours(word[at])]
            beside = [pair for pair in (at - 1, at) if 0 <= pair < len(word) - 1]
            there = [one for one in changed if all(self._has_pair(one, pair) for pair in beside)]
            if found := self._best_hangul(word, there):
                return found
        return self._best_hangul(word, _swapped(word))

    def _places(self, word: str) -> list[int]:
        """The syllables that are tried, the likeliest first."""
        missing = [at for at in range(len(word) - 1) if not self._has_pair(word, at)]
        # The slip is next to every pair of syllables that no note has; likely no pair beside it is there.
        places = [at for at in range(len(word)) if all(pair in (at - 1, at) for pair in missing)]
        places.sort(
            key=lambda at: sum(0 <= pair < len(word) - 1 and pair not in missing for pair in (at - 1, at))
        )
        return places[:_MOST_PLACES]

    def _has_pair(self, word: str, at: int) -> bool:
        return self.has(_pair(word, at))

    def _best_hangul(self, word: str, found: Sequence[str]) -> str | None:
        """The most frequent of the words that may be searched instead of `word`."""
        if word == without_ending(word):
            found = [one for one in found if one == without_ending(one)]
        spelled = {one: grams_phrase((one,)) for one in found if self.has(Prefix(one, _NOT_GRAMS))}
        if self.snapshot.remote and spelled:
            self.snapshot.expect(Forecast((*spelled.values(), *map(whole_word, spelled))))
        if len(word) <= _ONLY_NAMES:
            spelled = {one: whole_word(one) for one in spelled}
        if len(word) <= _ONLY_NAMES or not self.is_short_query or word.endswith(_INFLECTED):
            # Names are in the full text, too, which is quicker to ask.
            names_with, filters = self.snapshot.names_with, self.filters
            spelled = {
                one: how for one, how in spelled.items() if self.has(how) and names_with(how, filters, 1)
            }
        counted = {one: self._count(how) for one, how in spelled.items()}
        best = max(counted, key=lambda one: (counted[one], one), default="")
        return best if best and counted[best] else None

    def _count(self, term: Term) -> int:
        if self.filters.shareable:
            return self.snapshot.count(Among(self.filters, match=term))
        return self.snapshot.frequency(term)


def _pair(word: str, at: int) -> Term:
    return grams_phrase((word[at : at + 2],))


def _swapped(word: str) -> list[str]:
    """The Hangul word with two neighbours swapped."""
    swapped = (word[:at] + word[at + 1] + word[at] + word[at + 2 :] for at in range(len(word) - 1))
    return [one for one in swapped if one != word]


# Slips in Latin words

_SWAPPED, _CHANGED, _FIRST_CHANGED = range(3)
_LETTERS = "abcdefghijklmnopqrstuvwxyz"


def _slips(word: str) -> dict[str, int]:
    """The texts that are one slip away from a word; the likelier the slip, the lower its number."""
    found: dict[str, int] = {}

    def add(other: str, likely: int) -> None:
        found[other] = min(likely, found.get(other, likely))

    for at in range(len(word) + 1):
        before, after = word[:at], word[at:]
        if len(after) > 1:
            add(before + after[1] + after[0] + after[2:], _SWAPPED)
        likely = _CHANGED if at else _FIRST_CHANGED
        shortest = _ONE_SLIP if at else _ANY_INITIAL
        others = (after[1:],) if after and len(word) >= shortest else ()
        for other in others:
            add(before + other, likely)
        for letter in _LETTERS:
            for other in (after, *others):
                add(before + letter + other, likely)
    found.pop(word, None)
    return found
