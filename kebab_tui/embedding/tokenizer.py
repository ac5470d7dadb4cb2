"""Tokenizes texts for a model. The only module that uses tokenizers.

Only `encoder` imports it, when a model opens. Never fails on a text: invalid characters (lone
surrogates, NUL) are replaced first, and an empty text becomes one token.

If the card names a `pieces.txt`, the vocabulary is not loaded: its lines are `piece<tab>id`,
sorted by bytes, and the pieces of each word are found by binary search. That yields the same tokens
and opens in 3 ms instead of 105 (the table alone, 183,000 pieces, takes 50 ms). Words come again and
again, so it also takes half of the time of a tokenizer with the whole vocabulary.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from tokenizers import Encoding, PreTokenizedString, Tokenizer
from tokenizers.models import WordPiece
from tokenizers.processors import PostProcessor

from kebab_tui.domain.errors import ModelError
from kebab_tui.embedding.card import PIECES, TOKENIZER, ModelCard
from kebab_tui.embedding.pieces import Pieces

_SURROGATE = re.compile("[\ud800-\udfff]")
_CHARACTERS_PER_TOKEN = 64
"""Longer texts are cut before tokenizing: on average tokens are shorter."""
_HEAD_CHARACTERS, _HEAD_TOKENS = 160, 40
"""The most of its first line that every part of a long text begins with."""
_UNKNOWN = ("[UNK]", "<unk>", "<UNK>")
_TABLE = re.compile(rb'"vocab"\s*:\s*{')
"""The start of the vocabulary in a tokenizer.json; inside a string the quotes would be escaped."""
_TABLE_ENDS_IT = re.compile(rb"\d\s*}\s*}\s*}\s*\Z")


class Part(NamedTuple):
    """Token ids that a model reads at once; characters `start..end` (exclusive) of the text."""

    ids: list[int]
    start: int
    end: int


class _Tokenized(NamedTuple):
    """The ids of a text between those that the model expects around it, and where each one begins in it."""

    before: Sequence[int]
    ids: Sequence[int]
    starts: Sequence[int]
    after: Sequence[int]


class Tokens:
    """The tokenizer of one model, which reads at most `max_tokens` at once."""

    def __init__(self, card: ModelCard) -> None:
        self._card = card
        self._source = _Sparse(card) if card.pieces_sha256 else _Whole(card)
        self._longest = card.max_tokens * _CHARACTERS_PER_TOKEN
        self._unknown = {self._source.number_of(name) for name in _UNKNOWN}

    def ids(self, text: str) -> list[int]:
        """The beginning of a text, as much as the model reads at once."""
        before, ids, _, after = self._tokenized(text)
        return [*before, *ids[: self._most(before, after)], *after] or [0]

    def parts(self, text: str) -> list[Part]:
        """A text as parts that the model reads at once: its beginning, then the rest.

        Each part of the rest has the tokens of the first line before its own, if there are several lines.
        """
        before, ids, starts, after = self._tokenized(text)
        most = self._most(before, after)
        if len(ids) <= most:
            return [Part([*before, *ids, *after] or [0], 0, len(text))]
        skipped = len(text) - len(text.lstrip())
        line = min(max(text.find("\n", skipped) - skipped, 0), _HEAD_CHARACTERS)
        head = ids[: min(bisect_left(starts, line), _HEAD_TOKENS, most // 4)]
        bounds = [*range(most, len(ids), most - len(head)), len(ids)]
        places = [0, *(skipped + starts[at] for at in bounds[:-1]), len(text)]
        bodies = [ids[:most], *([*head, *ids[first:last]] for first, last in pairwise(bounds))]
        return [
            Part([*before, *body, *after], start, end)
            for body, (start, end) in zip(bodies, pairwise(places), strict=True)
        ]

    def understands(self, text: str) -> bool:
        """Return whether the model knows any token of the text."""
        return any(token not in self._unknown for token in self._tokenized(text).ids)

    def _most(self, before: Sequence[int], after: Sequence[int]) -> int:
        return self._card.max_tokens - len(before) - len(after)

    def _tokenized(self, text: str) -> _Tokenized:
        plain = _SURROGATE.sub("\ufffd", text.strip()[: self._longest].replace("\0", " "))
        try:
            return self._source.tokenized(plain)
        except ModelError:
            raise
        except Exception as error:  # noqa: BLE001 - tokenizers raises nothing narrower
            raise ModelError(f"{self._card.tokenizer} failed on a text: {str(error)[:200]}") from None


def _apart(encoded: Encoding) -> _Tokenized:
    mask, ids = encoded.special_tokens_mask, encoded.ids
    if 0 not in mask:
        return _Tokenized(ids, [], [], [])
    first, last = mask.index(0), len(mask) - mask[::-1].index(0)
    starts = [start for start, _ in encoded.offsets[first:last]]
    return _Tokenized(ids[:first], ids[first:last], starts, ids[last:])


class _Whole:
    """A tokenizer with its whole vocabulary."""

    def __init__(self, card: ModelCard) -> None:
        self._tokenizer = _from_file(card)
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()

    def number_of(self, piece: str) -> int | None:
        return self._tokenizer.token_to_id(piece)

    def tokenized(self, text: str) -> _Tokenized:
        return _apart(self._tokenizer.encode(text))


class _Sparse:
    """A WordPiece tokenizer whose vocabulary is in `pieces.txt`."""

    def __init__(self, card: ModelCard) -> None:
        empty, model = _without_pieces(card)
        self._normalizer, self._pre_tokenizer = empty.normalizer, empty.pre_tokenizer
        self._longest_word = model.max_input_chars_per_word
        self._card = card
        self._pieces = Pieces(_read(card.pieces), model.continuing_subword_prefix)
        unknown = self.number_of(model.unk_token)
        if unknown is None:
            raise _misfit(card, f"{PIECES} has no {model.unk_token}")
        self._unknown = (unknown,)
        self._before, self._after = _around(empty.post_processor, model.unk_token, unknown)

    def number_of(self, piece: str) -> int | None:
        try:
            return self._pieces.number_of(piece)
        except ValueError as error:
            raise _misfit(self._card, f"{PIECES} is invalid: {error}") from None

    def tokenized(self, text: str) -> _Tokenized:
        words = PreTokenizedString(text)
        if self._normalizer:
            words.normalize(self._normalizer.normalize)
        self._pre_tokenizer.pre_tokenize(words)
        ids: list[int] = []
        starts: list[int] = []
        for word, (start, _), _ in words.get_splits("original", "char"):
            found = self._pieces.of(word) if len(word) <= self._longest_word else None
            found = found or self._unknown
            ids += found
            starts += [start] * len(found)
        return _Tokenized(self._before, ids, starts, self._after)


def _around(
    post_processor: PostProcessor | None, unknown: str, number: int
) -> tuple[Sequence[int], Sequence[int]]:
    """The ids before and after those of a text."""
    if post_processor is None:
        return (), ()
    made = Tokenizer(WordPiece(vocab={unknown: number}, unk_token=unknown))
    made.post_processor = post_processor
    before, _, _, after = _apart(made.encode("a"))
    return before, after


def require_same_pieces(card: ModelCard) -> None:
    """Raise if `pieces.txt` would yield other tokens than `tokenizer.json` alone."""
    if not card.pieces_sha256:
        return
    _, model = _without_pieces(card)
    try:
        pieces = Pieces(_read(card.pieces), model.continuing_subword_prefix).everything()
    except ValueError as error:
        raise _misfit(card, f"{PIECES} is invalid: {error}") from None
    if pieces != _from_file(card).get_vocab(with_added_tokens=False):
        raise _misfit(card, f"they differ from those of {TOKENIZER}")


def _from_file(card: ModelCard) -> Tokenizer:
    try:
        return Tokenizer.from_file(card.tokenizer)
    except Exception as error:  # noqa: BLE001 - tokenizers raises nothing narrower
        raise ModelError(f"{card.tokenizer} is not a tokenizer: {str(error)[:200]}") from None


def _without_pieces(card: ModelCard) -> tuple[Tokenizer, WordPiece]:
    """Read `tokenizer.json` without parsing its vocabulary."""
    whole = _read(card.tokenizer)
    table = _TABLE.search(whole)
    if table is None or not _TABLE_ENDS_IT.search(whole, max(0, len(whole) - 64)):
        raise _misfit(card, f"{TOKENIZER} does not end with its vocabulary")
    try:
        tokenizer = Tokenizer.from_buffer(whole[: table.end()] + b"}}}")
    except Exception as error:  # noqa: BLE001 - tokenizers raises nothing narrower
        raise ModelError(f"{card.tokenizer} is not a tokenizer: {str(error)[:200]}") from None
    if not isinstance(tokenizer.model, WordPiece):
        raise _misfit(card, f"{TOKENIZER} is not a WordPiece tokenizer")
    if tokenizer.get_added_tokens_decoder():  # their ids come from the missing vocabulary
        raise _misfit(card, f"{TOKENIZER} has added tokens")
    if tokenizer.pre_tokenizer is None:
        raise _misfit(card, f"{TOKENIZER} has no pre_tokenizer")
    return tokenizer, tokenizer.model


def _read(path: str) -> bytes:
    try:
        with open(path, "rb", buffering=0) as file:
            return file.read()
    except OSError as error:
        raise ModelError(f"{path} cannot be read: {error.strerror}") from None


def _misfit(card: ModelCard, why: str) -> ModelError:
    return ModelError(
        f"the model {card.model_id} cannot use {PIECES}: {why}",
        f"remove {PIECES} from its card: {TOKENIZER} contains the pieces too",
    )
