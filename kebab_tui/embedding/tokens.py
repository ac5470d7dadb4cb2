"""Texts become the token ids of a model: the one place that uses tokenizers.

Only `encoder` imports this module, and only when a model opens. Whatever the text, an
answer comes: characters that are none (lone surrogates, NUL) are replaced first, and a
text of which nothing remains is still one token.
"""

from __future__ import annotations

import re
from dataclasses import replace

from tokenizers import Encoding, Tokenizer
from tokenizers.models import WordPiece

from kebab_tui.domain.errors import ModelError
from kebab_tui.embedding.card import TOKENIZER, VOCAB, ModelCard

_NO_CHARACTER = re.compile("[\ud800-\udfff]")
_CHARACTERS_PER_TOKEN = 64
"""Longer texts are cut before they are split into tokens: no token that counts is so long on average."""
_UNKNOWN = ("[UNK]", "<unk>", "<UNK>")
_PIECES = re.compile(rb'"vocab"\s*:\s*{')
"""Where the pieces begin in a tokenizer.json; inside a text the quotes would be escaped."""
_PIECES_END_IT = re.compile(rb"\d\s*}\s*}\s*}\s*\Z")


class Tokens:
    """The tokenizer of one model, cutting at the model's limit."""

    def __init__(self, card: ModelCard) -> None:
        self._card = card
        self._tokenizer = _opened(card)
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(card.max_tokens)
        self._longest = card.max_tokens * _CHARACTERS_PER_TOKEN
        self._unknown = {self._tokenizer.token_to_id(name) for name in _UNKNOWN}

    def ids(self, text: str) -> list[int]:
        return self._encoded(text).ids or [0]

    def understands(self, text: str) -> bool:
        """Whether the model knows any part of the text."""
        encoded = self._encoded(text)
        tokens = zip(encoded.ids, encoded.special_tokens_mask, strict=True)
        return any(not special and token not in self._unknown for token, special in tokens)

    def _encoded(self, text: str) -> Encoding:
        plain = text.strip()[: self._longest].replace("\0", " ")
        try:
            return self._tokenizer.encode(_NO_CHARACTER.sub("\ufffd", plain))
        except Exception as error:  # noqa: BLE001 - tokenizers raises nothing narrower
            raise ModelError(f"{self._card.tokenizer} failed on a text: {str(error)[:200]}") from None


def require_the_same_pieces(card: ModelCard) -> None:
    """Refuse a `vocab.txt` that would make other tokens than `tokenizer.json` alone."""
    alone = replace(card, vocab_sha256="")
    if card.vocab_sha256 and _opened(card).to_str() != _opened(alone).to_str():
        raise _misfit(card, "its pieces are others")


def _opened(card: ModelCard) -> Tokenizer:
    try:
        return _of_two_files(card) if card.vocab_sha256 else Tokenizer.from_file(card.tokenizer)
    except ModelError:
        raise
    except Exception as error:  # noqa: BLE001 - tokenizers raises nothing narrower
        files = f"{card.tokenizer} with {VOCAB}" if card.vocab_sha256 else card.tokenizer
        raise ModelError(f"{files} is not a tokenizer: {str(error)[:200]}") from None


def _of_two_files(card: ModelCard) -> Tokenizer:
    """All of `tokenizer.json` but the pieces, which `vocab.txt` has: 50 ms instead of 105 for 183,000."""
    with open(card.tokenizer, "rb") as file:
        whole = file.read()
    pieces = _PIECES.search(whole)
    if pieces is None or not _PIECES_END_IT.search(whole, len(whole) - 64):
        raise _misfit(card, f"{TOKENIZER} does not end with them")
    tokenizer = Tokenizer.from_buffer(whole[: pieces.end()] + b"}}}")
    empty = tokenizer.model
    if not isinstance(empty, WordPiece):
        raise _misfit(card, f"{TOKENIZER} is no WordPiece tokenizer")
    if tokenizer.get_added_tokens_decoder():  # they got their ids from the pieces that were not there
        raise _misfit(card, f"{TOKENIZER} has added tokens")
    tokenizer.model = WordPiece.from_file(
        card.vocab,
        unk_token=empty.unk_token,
        continuing_subword_prefix=empty.continuing_subword_prefix,
        max_input_chars_per_word=empty.max_input_chars_per_word,
    )
    return tokenizer


def _misfit(card: ModelCard, why: str) -> ModelError:
    return ModelError(
        f"the model {card.model_id} cannot take its pieces from {VOCAB}: {why}",
        f"leave {VOCAB} out of its card: {TOKENIZER} has them too",
    )
