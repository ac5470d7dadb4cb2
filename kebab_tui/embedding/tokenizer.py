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
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import NamedTuple

from tokenizers import Encoding, PreTokenizedString, Tokenizer
from tokenizers.models import WordPiece

from kebab_tui.domain.errors import ModelError
from kebab_tui.embedding.card import PIECES, TOKENIZER, ModelCard

# The pieces of a WordPiece tokenizer, looked up in a file instead of loaded: `pieces.txt`.
#
# Its lines are `piece<tab>id`, ordered by their bytes. A query has a few words, for which no
# table of 183,000 pieces needs to be made first (50 ms). Knows into which pieces a word
# falls; which words a text has is the tokenizer's to say.

_REMEMBERED_WORDS = 8_192
_DIGITS = 9


class VocabularyPiece(NamedTuple):
    name: bytes
    number: int


class Pieces:
    """The lines of one file. `inside` begins every piece that does not begin its word."""

    def __init__(self, lines: bytes, inside: str) -> None:
        self._lines = lines
        self._inside = inside.encode()
        self.of = lru_cache(_REMEMBERED_WORDS)(self._of)

    def number_of(self, name: str) -> int | None:
        found = self._last_up_to(name.encode())
        return found.number if found and found.name == name.encode() else None

    def everything(self) -> dict[str, int]:
        """All pieces; ValueError unless they stand in their order, each once."""
        *lines, rest = self._lines.split(b"\n")
        found = [_piece(line) for line in lines]
        if rest:
            raise ValueError("its last line does not end")
        if sorted({piece.name for piece in found}) != [piece.name for piece in found]:
            raise ValueError("its lines are not in order")
        return {piece.name.decode(): piece.number for piece in found}

    def _of(self, word: str) -> Mapping[str, int]:
        """The pieces of a word with their ids, the longest first; only some when one cannot be found."""
        return {piece.name.decode(): piece.number for piece in self._cut(word.encode())}

    def _cut(self, rest: bytes) -> Iterator[VocabularyPiece]:
        begun = b""
        while rest and (piece := self._longest_begin(begun + rest)) and len(piece.name) > len(begun):
            yield piece
            rest = rest[len(piece.name) - len(begun) :]
            begun = self._inside

    def _longest_begin(self, text: bytes) -> VocabularyPiece | None:
        """The longest piece that the text begins with."""
        while text and (piece := self._last_up_to(text)):
            if text.startswith(piece.name):
                return piece
            text = text[: _shared(text, piece.name)]
        return None

    def _last_up_to(self, name: bytes) -> VocabularyPiece | None:
        """The last piece that is not behind this name."""
        lines, low, high = self._lines, 0, len(self._lines)
        found = None
        while low < high:
            start = max(low, lines.rfind(b"\n", low, (low + high) // 2) + 1)
            end = lines.find(b"\n", start) % (len(lines) + 1)  # or the end, which `everything` refuses
            if lines[start:end].partition(b"\t")[0] <= name:
                found = lines[start:end]
                low = end + 1
            else:
                high = start
        return _piece(found) if found else None


def _shared(one: bytes, other: bytes) -> int:
    """How many bytes both begin with."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((place for place, (mine, theirs) in pairs if mine != theirs), min(len(one), len(other)))


def _piece(line: bytes) -> VocabularyPiece:
    name, _, number = line.partition(b"\t")
    if not number.isdigit() or len(number) > _DIGITS:
        raise ValueError(f"no piece with its id: {line[:40]!r}")
    return VocabularyPiece(name, int(number))


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
