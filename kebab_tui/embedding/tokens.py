"""Texts become the token ids of a model: the one place that uses tokenizers.

Only `encoder` imports this module, and only when a model opens. Whatever the text, an
answer comes: characters that are none (lone surrogates, NUL) are replaced first, and a
text of which nothing remains is still one token.

Where the card names a `pieces.txt`, no table of pieces is made: each text gets a tokenizer
that knows its own pieces and no others, which gives the same tokens and opens in 3 ms
instead of 105.
"""

from __future__ import annotations

import re

from tokenizers import Encoding, PreTokenizedString, Tokenizer
from tokenizers.models import WordPiece

from kebab_tui.domain.errors import ModelError
from kebab_tui.embedding.card import PIECES, TOKENIZER, ModelCard
from kebab_tui.embedding.pieces import Pieces

_NO_CHARACTER = re.compile("[\ud800-\udfff]")
_CHARACTERS_PER_TOKEN = 64
"""Longer texts are cut before they are split into tokens: no token that counts is so long on average."""
_UNKNOWN = ("[UNK]", "<unk>", "<UNK>")
_TABLE = re.compile(rb'"vocab"\s*:\s*{')
"""Where the pieces begin in a tokenizer.json; inside a text the quotes would be escaped."""
_TABLE_ENDS_IT = re.compile(rb"\d\s*}\s*}\s*}\s*\Z")


class Tokens:
    """The tokenizer of one model, cutting at the model's limit."""

    def __init__(self, card: ModelCard) -> None:
        self._card = card
        self._form = _Sparse(card) if card.pieces_sha256 else _Whole(card)
        self._longest = card.max_tokens * _CHARACTERS_PER_TOKEN
        self._unknown = {self._form.number_of(name) for name in _UNKNOWN}

    def ids(self, text: str) -> list[int]:
        return self._encoded(text).ids or [0]

    def understands(self, text: str) -> bool:
        """Whether the model knows any part of the text."""
        encoded = self._encoded(text)
        tokens = zip(encoded.ids, encoded.special_tokens_mask, strict=True)
        return any(not special and token not in self._unknown for token, special in tokens)

    def _encoded(self, text: str) -> Encoding:
        plain = _NO_CHARACTER.sub("\ufffd", text.strip()[: self._longest].replace("\0", " "))
        try:
            return self._form.tokenizer_for(plain).encode(plain)
        except Exception as error:  # noqa: BLE001 - tokenizers raises nothing narrower
            raise ModelError(f"{self._card.tokenizer} failed on a text: {str(error)[:200]}") from None


class _Whole:
    """A tokenizer with all of its pieces."""

    def __init__(self, card: ModelCard) -> None:
        self._tokenizer = _from_file(card)
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(card.max_tokens)

    def number_of(self, piece: str) -> int | None:
        return self._tokenizer.token_to_id(piece)

    def tokenizer_for(self, _text: str) -> Tokenizer:
        return self._tokenizer


class _Sparse:
    """A WordPiece tokenizer without its pieces, which stand in `pieces.txt`."""

    def __init__(self, card: ModelCard) -> None:
        self._most = card.max_tokens
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
            raise _misfit(card, f"there is no {self._unknown} among them")
        self._always = {self._unknown: unknown}

    def number_of(self, piece: str) -> int | None:
        try:
            return self._pieces.number_of(piece)
        except ValueError as error:
            raise _misfit(self._card, f"{PIECES} cannot be looked up: {error}") from None

    def tokenizer_for(self, text: str) -> Tokenizer:
        """One that knows the pieces of this text."""
        known = dict(self._always)
        for word in self._words(text)[: self._most]:  # each is at least one token
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
        made.enable_truncation(self._most)
        return made

    def _words(self, text: str) -> list[str]:
        words = PreTokenizedString(text)
        if self._normalizer:
            words.normalize(self._normalizer.normalize)
        self._pre_tokenizer.pre_tokenize(words)
        return [word for word, _, _ in words.get_splits()]


def require_the_same_pieces(card: ModelCard) -> None:
    """Refuse a `pieces.txt` that would make other tokens than `tokenizer.json` alone."""
    if not card.pieces_sha256:
        return
    _, model = _without_pieces(card)
    try:
        apart = Pieces(_read(card.pieces), model.continuing_subword_prefix).everything()
    except ValueError as error:
        raise _misfit(card, f"{PIECES} cannot be looked up: {error}") from None
    if apart != _from_file(card).get_vocab(with_added_tokens=False):
        raise _misfit(card, "its pieces are others")


def _from_file(card: ModelCard) -> Tokenizer:
    try:
        return Tokenizer.from_file(card.tokenizer)
    except Exception as error:  # noqa: BLE001 - tokenizers raises nothing narrower
        raise ModelError(f"{card.tokenizer} is not a tokenizer: {str(error)[:200]}") from None


def _without_pieces(card: ModelCard) -> tuple[Tokenizer, WordPiece]:
    """All of `tokenizer.json` but its table of pieces, which is not even parsed."""
    whole = _read(card.tokenizer)
    table = _TABLE.search(whole)
    if table is None or not _TABLE_ENDS_IT.search(whole, max(0, len(whole) - 64)):
        raise _misfit(card, f"{TOKENIZER} does not end with them")
    try:
        tokenizer = Tokenizer.from_buffer(whole[: table.end()] + b"}}}")
    except Exception as error:  # noqa: BLE001 - tokenizers raises nothing narrower
        raise ModelError(f"{card.tokenizer} is not a tokenizer: {str(error)[:200]}") from None
    if not isinstance(tokenizer.model, WordPiece):
        raise _misfit(card, f"{TOKENIZER} is no WordPiece tokenizer")
    if tokenizer.get_added_tokens_decoder():  # they got their ids from the pieces that were not there
        raise _misfit(card, f"{TOKENIZER} has added tokens")
    if tokenizer.pre_tokenizer is None:
        raise _misfit(card, f"{TOKENIZER} does not say what its words are")
    return tokenizer, tokenizer.model


def _read(path: str) -> bytes:
    try:
        with open(path, "rb", buffering=0) as file:
            return file.read()
    except OSError as error:
        raise ModelError(f"{path} cannot be read: {error.strerror}") from None


def _misfit(card: ModelCard, why: str) -> ModelError:
    return ModelError(
        f"the model {card.model_id} cannot take its pieces from {PIECES}: {why}",
        f"leave {PIECES} out of its card: {TOKENIZER} has them too",
    )
