"""Texts become the token ids of a model: the one place that uses tokenizers.

Only `encoder` imports this module, and only when a model opens. Whatever the text, an
answer comes: characters that are none (lone surrogates, NUL) are replaced first, and a
text of which nothing remains is still one token.
"""

from __future__ import annotations

import re

from tokenizers import Encoding, Tokenizer

from kebab_tui.domain.errors import ModelError
from kebab_tui.embedding.card import ModelCard

_NO_CHARACTER = re.compile("[\ud800-\udfff]")
_CHARACTERS_PER_TOKEN = 64
"""Longer texts are cut before they are split into tokens: no token that counts is so long on average."""
_UNKNOWN = ("[UNK]", "<unk>", "<UNK>")


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


def _opened(card: ModelCard) -> Tokenizer:
    try:
        return Tokenizer.from_file(card.tokenizer)
    except Exception as error:  # noqa: BLE001 - tokenizers raises nothing narrower
        raise ModelError(f"{card.tokenizer} is not a tokenizer: {str(error)[:200]}") from None
