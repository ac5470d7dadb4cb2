"""Texts to vectors with a finished encoder, as the product would do it: batches of like length, no prefixes."""

from __future__ import annotations

import os
from collections.abc import Sequence

import numpy as np
from tokenizers import Tokenizer

from models.build.minilm import Floats

BATCH_TOKENS = 2048
BATCH_TEXTS = 64


class Encoder:
    """One ONNX session and its tokenizer."""

    def __init__(self, model: bytes, tokenizer: str, max_tokens: int = 256, threads: int = 1) -> None:
        os.environ["ORT_DISABLE_TELEMETRY"] = "1"  # it reports home otherwise, from its start on
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
        self._session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        self._tokenizer = Tokenizer.from_str(tokenizer)
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(max_tokens)

    def encode(self, texts: Sequence[str]) -> Floats:
        """One row for each text."""
        ids = [encoding.ids for encoding in self._tokenizer.encode_batch(list(texts))]
        order = sorted(range(len(ids)), key=lambda index: len(ids[index]))
        vectors: list[Floats] = []
        start = 0
        while start < len(order):
            # The batch is sorted, so its last text decides its width.
            size = max(1, min(BATCH_TEXTS, BATCH_TOKENS // len(ids[order[start]])))
            batch = order[start : start + size]
            vectors.append(self._run([ids[index] for index in batch]))
            start += size
        found = np.concatenate(vectors)
        placed = np.empty_like(found)
        placed[order] = found
        return placed

    def _run(self, batch: Sequence[Sequence[int]]) -> Floats:
        width = max(map(len, batch))
        ids, mask = np.zeros((len(batch), width), np.int64), np.zeros((len(batch), width), np.int64)
        for row, tokens in enumerate(batch):
            ids[row, : len(tokens)], mask[row, : len(tokens)] = tokens, 1
        result: Floats = self._session.run(None, {"input_ids": ids, "attention_mask": mask})[0]
        return result
