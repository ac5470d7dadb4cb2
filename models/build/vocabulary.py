"""The joint vocabulary: MiniLM's tokens with their ids unchanged, then Hangul pieces.

Every form Kiwi knows and every syllable is a token twice, at a word's start and inside one (`##`). Tokens are many,
embedding rows fewer: a form of two or more syllables shares one row between its two tokens, and a syllable that neither
Kiwi nor everyday writing (KS X 1001) knows has the row of `[UNK]`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
INSIDE = "##"
UNKNOWN, START, END = "[UNK]", "[CLS]", "[SEP]"
SYLLABLES = range(0xAC00, 0xD7A4)


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """Tokens by id, and the embedding row of each."""

    ids: Mapping[str, int]
    english: int
    """How many tokens are MiniLM's; each of them is its own row."""
    rows: NDArray[np.int32]
    """The row of each token id; rows from `english` on are Hangul's."""
    morphemes: Floats
    """What Kiwi knows of each Hangul row; zeros where it knows nothing."""

    @property
    def row_count(self) -> int:
        return self.english + len(self.morphemes)


def build(english: Sequence[str], forms: Mapping[str, Floats]) -> Vocabulary:
    """Lay the Hangul pieces after the English tokens."""
    ids = {token: index for index, token in enumerate(english)}
    pieces = [*forms, *(chr(code) for code in SYLLABLES)]
    hangul = [token for piece in pieces for token in (piece, INSIDE + piece)]
    for token in hangul:
        ids.setdefault(token, len(ids))
    rows = np.arange(len(ids), dtype=np.int32)
    nothing = np.zeros_like(next(iter(forms.values())))
    vectors: list[Floats] = []
    for token, index in list(ids.items())[len(english) :]:
        form = token.removeprefix(INSIDE)
        if form != token and len(form) > 1:
            rows[index] = rows[ids[form]]
        elif form not in forms and not is_everyday(form):
            rows[index] = ids[UNKNOWN]
        else:
            rows[index] = len(english) + len(vectors)
            vectors.append(forms.get(form, nothing))
    return Vocabulary(ids, len(english), rows, np.array(vectors, np.float32))


def is_everyday(syllable: str) -> bool:
    """Whether a syllable is one of the 2,350 of KS X 1001."""
    try:
        return len(syllable.encode("euc-kr")) == 2
    except UnicodeEncodeError:
        return False


def tokenizer_json(vocabulary: Vocabulary) -> str:
    """The tokenizer, for the `tokenizers` library: accents stripped from Latin without taking Hangul apart."""
    from tokenizers import (
        Tokenizer,
        models,
        normalizers,
        pre_tokenizers,
        processors,
    )  # the tests of rows need it not

    tokenizer = Tokenizer(
        models.WordPiece(dict(vocabulary.ids), unk_token=UNKNOWN, max_input_chars_per_word=100)
    )
    tokenizer.normalizer = normalizers.Sequence(
        [
            normalizers.NFD(),
            normalizers.StripAccents(),
            normalizers.NFC(),
            normalizers.BertNormalizer(
                clean_text=True, handle_chinese_chars=True, strip_accents=False, lowercase=True
            ),
        ]
    )
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    special = [(token, vocabulary.ids[token]) for token in (START, END)]
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{START} $A {END}", special_tokens=special
    )
    return json.dumps(json.loads(tokenizer.to_str()), ensure_ascii=False, separators=(",", ":"))


def piece_lines(tokenizer: str) -> str:
    """`pieces.txt`: the pieces of a tokenizer with their ids, ordered by their bytes, to be looked up.

    Refuses an id that two pieces have, and a piece that would not read back: empty, or with white space.
    """
    ids: dict[str, int] = json.loads(tokenizer)["model"]["vocab"]
    if len(set(ids.values())) < len(ids):
        raise ValueError("two pieces have the same id")
    for piece in ids:
        if piece.split() != [piece]:
            raise ValueError(f"the piece {piece!r} is not a line of its own")
    return "".join(f"{piece}\t{ids[piece]}\n" for piece in sorted(ids, key=str.encode))
