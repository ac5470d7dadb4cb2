"""The training data as numbers: embedding rows of each text's tokens, and the vector its English side should have."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from models.build.minilm import Floats
from models.build.pairs import Pair
from models.build.vocabulary import Vocabulary

LONGEST = 400  # tokens

Rows = list[int]


@dataclass(frozen=True, slots=True)
class Corpus:
    """Three columns of one length: Korean tokens, English tokens, and the teacher's vector of the English text."""

    korean: Sequence[Rows]
    english: Sequence[Rows]
    teacher: Floats


def build(pairs: Sequence[Pair], teacher: Floats, vocabulary: Vocabulary, tokenizer: str) -> Corpus:
    """Tokenise both sides of every pair, without `[CLS]` and `[SEP]`."""
    if len(pairs) != len(teacher):
        raise ValueError(f"{len(pairs)} pairs but {len(teacher)} vectors")
    splitter = Tokenizer.from_str(tokenizer)

    def rows(texts: Iterable[str]) -> list[Rows]:
        encodings = splitter.encode_batch(list(texts), add_special_tokens=False)
        return [vocabulary.rows[encoding.ids[:LONGEST]].tolist() for encoding in encodings]

    return Corpus(rows(pair.korean for pair in pairs), rows(pair.english for pair in pairs), teacher)


def counts(texts: Iterable[Rows], row_count: int) -> NDArray[np.int64]:
    """How often each row occurs."""
    return np.bincount(np.concatenate([np.array(text, np.int64) for text in texts]), minlength=row_count)
