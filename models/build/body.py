"""MiniLM's body in torch, for training through it. Its own weights are constants: gradients pass, none is kept."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from models.build.minilm import MiniLM


class FrozenBody:
    """Token embeddings to unit sentence vectors."""

    def __init__(self, minilm: MiniLM) -> None:
        self._shape = minilm.shape
        self._weights = {name: torch.from_numpy(weight) for name, weight in minilm.weights.items()}
        embeddings = "embeddings.{}_embeddings.weight"
        self._positions = (
            self._weights[embeddings.format("position")] + self._weights[embeddings.format("token_type")][0]
        )

    def __call__(self, words: Tensor, mask: Tensor) -> Tensor:
        # bfloat16 halves the time and costs nothing that 8-bit weights would keep
        with torch.autocast("cpu", dtype=torch.bfloat16):
            hidden = self._norm("embeddings", words + self._positions[: words.shape[1]])
            attended = mask.bool()[:, None, None, :]
            for layer in range(self._shape.layers):
                hidden = self._layer(f"encoder.layer.{layer}", hidden, attended)
        column = mask.unsqueeze(2)
        return functional.normalize((hidden.float() * column).sum(1) / column.sum(1), dim=1)

    def _layer(self, name: str, hidden: Tensor, attended: Tensor) -> Tensor:
        batch, length, width = hidden.shape
        query, key, value = (
            self._dense(f"{name}.attention.self.{part}", hidden)
            .view(batch, length, self._shape.heads, width // self._shape.heads)
            .transpose(1, 2)
            for part in ("query", "key", "value")
        )
        context = functional.scaled_dot_product_attention(query, key, value, attn_mask=attended)
        together = context.transpose(1, 2).reshape(batch, length, width)
        hidden = self._norm(
            f"{name}.attention.output", self._dense(f"{name}.attention.output.dense", together) + hidden
        )
        wide = functional.gelu(self._dense(f"{name}.intermediate.dense", hidden))
        return self._norm(f"{name}.output", self._dense(f"{name}.output.dense", wide) + hidden)

    def _dense(self, name: str, inputs: Tensor) -> Tensor:
        return functional.linear(inputs, self._weights[f"{name}.weight"], self._weights[f"{name}.bias"])

    def _norm(self, name: str, inputs: Tensor) -> Tensor:
        scale, bias = self._weights[f"{name}.LayerNorm.weight"], self._weights[f"{name}.LayerNorm.bias"]
        return functional.layer_norm(inputs, (self._shape.width,), scale, bias, self._shape.epsilon)
