"""How large the numbers inside an encoder get: it is run in float32 on texts of both languages, and watched."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

import numpy as np
from tokenizers import Tokenizer

from models.build.minilm import Floats
from models.build.pairs import Pair

PASSAGES = 400  # of each language


def sample(pairs: Sequence[Pair]) -> list[str]:
    """Passages in both languages, the same ones for the same pairs. Passages are the longest texts, at the end."""
    chosen = random.Random(1).sample(pairs[-len(pairs) // 10 :], min(PASSAGES, len(pairs) // 10))
    return [text for pair in chosen for text in (pair.english, pair.korean)]


def ranges(
    model: bytes, tokenizer: str, watched: Sequence[str], texts: Sequence[str], threads: int
) -> Mapping[str, Floats]:
    """The largest magnitude of each channel of each watched output."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    splitter = Tokenizer.from_str(tokenizer)
    splitter.enable_truncation(256)
    largest: dict[str, Floats] = {}
    for text in texts:
        ids = np.array([splitter.encode(text).ids], np.int64)
        found: Sequence[Floats] = session.run(list(watched), {"input_ids": ids, "attention_mask": np.ones_like(ids)})
        for name, values in zip(watched, found, strict=True):
            magnitude = np.abs(values[0]).max(axis=0)
            largest[name] = np.maximum(largest.get(name, magnitude), magnitude)
    return largest
