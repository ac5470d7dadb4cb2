"""Tokenizes texts for a model. The only module that uses tokenizers.

Only `encoder` imports it, when a model opens. Never fails on a text: invalid characters (lone
surrogates, NUL) are replaced first, and an empty text becomes one token.

If the card names a `pieces.txt`, the vocabulary is not loaded: its lines are `piece<tab>id`,
sorted by bytes, and the pieces of each word are found by binary search. Each text gets a
tokenizer that knows only its own pieces. It yields the same tokens and opens in 3 ms instead
of 105 (the table alone, 183,000 pieces, takes 50 ms).
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import NamedTuple

from tokenizers import Encoding, PreTokenizedString, Tokenizer
from tokenizers.models import WordPiece

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


class Tokens:
    """The tokenizer of one model, which reads at most `max_tokens` at once."""

    def __init__(self, card: ModelCard) -> None:
        self._card = card
        self._source = _Sparse(card) if card.pieces_sha256 else _Whole(card)
        self._longest = card.max_tokens * _CHARACTERS_PER_TOKEN
        self._unknown = {self._source.number_of(name) for name in _UNKNOWN}

    def ids(self, text: str) -> list[int]:
        """The beginning of a text, as much as the model reads at once."""
        encoded = self._encoded(text)
        ids = encoded.ids or [0]
        if len(ids) <= self._card.max_tokens:
            return ids
        _, last = _body(encoded)
        return [*ids[: self._card.max_tokens - (len(ids) - last)], *ids[last:]]

    def parts(self, text: str) -> list[Part]:
        """A text as parts that the model reads at once: its beginning, then the rest.

        Each part of the rest has the tokens of the first line before its own, if there are several lines.
        """
        encoded = self._encoded(text)
        ids = encoded.ids or [0]
        if len(ids) <= self._card.max_tokens:
            return [Part(ids, 0, len(text))]
        first, last = _body(encoded)
        before, after, offsets = ids[:first], ids[last:], encoded.offsets
        skipped = len(text) - len(text.lstrip())
        head = min(max(text.find("\n", skipped) - skipped, 0), _HEAD_CHARACTERS)
        most = min(_HEAD_TOKENS, self._card.max_tokens // 4)
        headed = [*before, *(ids[at] for at in range(first, first + most) if offsets[at][1] <= head)]
        begin = first + self._card.max_tokens - len(before) - len(after)
        size = self._card.max_tokens - len(headed) - len(after)
        bounds = [*range(begin, last, size), last]
        starts = [0, *(skipped + offsets[at][0] for at in bounds[:-1]), len(text)]
        bodies = [ids[:begin], *([*headed, *ids[a:b]] for a, b in pairwise(bounds))]
        return [
            Part([*body, *after], start, end)
            for body, (start, end) in zip(bodies, pairwise(starts), strict=True)
        ]

    def understands(self, text: str) -> bool:
        """Return whether the model knows any token of the text."""
        encoded = self._encoded(text)
        tokens = zip(encoded.ids, encoded.special_tokens_mask, strict=True)
        return any(not special and token not in self._unknown for token, special in tokens)

    def _encoded(self, text: str) -> Encoding:
        plain = _SURROGATE.sub("\ufffd", text.strip()[: self._longest].replace("\0", " "))
        try:
            return self._source.tokenizer_for(plain).encode(plain)
        except Exception as error:  # noqa: BLE001 - tokenizers raises nothing narrower
            raise ModelError(f"{self._card.tokenizer} failed on a text: {str(error)[:200]}") from None


def _body(encoded: Encoding) -> tuple[int, int]:
    """The places of the first token of the text and behind its last one."""
    mask = encoded.special_tokens_mask
    return mask.index(0), len(mask) - mask[::-1].index(0)


class _Whole:
    """A tokenizer with its whole vocabulary."""

    def __init__(self, card: ModelCard) -> None:
        self._tokenizer = _from_file(card)
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()

    def number_of(self, piece: str) -> int | None:
        return self._tokenizer.token_to_id(piece)

    def tokenizer_for(self, _text: str) -> Tokenizer:
        return self._tokenizer


class _Sparse:
    """A WordPiece tokenizer whose vocabulary is in `pieces.txt`."""

    def __init__(self, card: ModelCard) -> None:
        empty, model = _without_pieces(card)
        self._normalizer, self._pre_tokenizer = empty.normalizer, empty.pre_tokenizer
        self._post_processor = empty.post_processor
        self._unknown = model.unk_token
        self._inside = model.continuing_subword_prefix
        self._longest_word = model.max_input_chars_per_word
        self._card = card
        self._pieces = Pieces(_read(card.pieces), self._inside)
        unknown = self.number_of(self._unknown)
        if unknown is None:
            raise _misfit(card, f"{PIECES} has no {self._unknown}")
        self._always = {self._unknown: unknown}

    def number_of(self, piece: str) -> int | None:
        try:
            return self._pieces.number_of(piece)
        except ValueError as error:
            raise _misfit(self._card, f"{PIECES} is invalid: {error}") from None

    def tokenizer_for(self, text: str) -> Tokenizer:
        """Return a tokenizer that knows the pieces of this text."""
        words = PreTokenizedString(text)
        if self._normalizer:
            words.normalize(self._normalizer.normalize)
        self._pre_tokenizer.pre_tokenize(words)
        known = dict(self._always)
        for word, _, _ in words.get_splits():
            if len(word) <= self._longest_word:
                known |= self._pieces.of(word)
        made = Tokenizer(
            WordPiece(
                vocab=known,
                unk_token=self._unknown,
                continuing_subword_prefix=self._inside,
                max_input_chars_per_word=self._longest_word,
            )
        )
        made.pre_tokenizer = self._pre_tokenizer
        if self._normalizer:
            made.normalizer = self._normalizer
        if self._post_processor:
            made.post_processor = self._post_processor
        return made


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
