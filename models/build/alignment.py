"""First training step: one static vector for each embedding row, in the space of MiniLM's sentence vectors.

A text is the weighted sum of its rows. Korean and English texts are drawn to the teacher's vector of the English one,
away from the other texts of the batch. The table is no encoder to ship: it tells which English pieces a Hangul piece
is near, which is where the second step starts.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from models.build.corpus import Corpus, Rows, counts
from models.build.minilm import Floats
from models.build.narration import say
from models.build.vocabulary import Vocabulary

ENGLISH_LENGTH = 0.3  # of MiniLM's centred input embeddings, from which English rows start
HANGUL_NOISE = 0.005
SOFTPLUS_AT_ONE = math.log(math.e - 1)


@dataclass(frozen=True, slots=True)
class Schedule:
    """How long and how fast to learn."""

    epochs: int = 8
    batch: int = 384
    shortest: int = 2  # tokens of a Korean text
    row_rate: float = 5e-4
    weight_rate: float = 1e-2
    projection_rate: float = 2e-3
    sharpness: float = 20.0  # cosines are multiplied by it before the softmax
    cosine_share: float = 2.0
    across_share: float = 0.5  # Korean against English directly
    rarity: float = 1e-4  # SIF's a: a row that makes up this share of all tokens starts with half the weight


class StaticEncoder:
    """Rows, a weight for each, and a projection of what Kiwi knows of Hangul rows."""

    def __init__(self, vocabulary: Vocabulary, words: Floats, start_weights: Floats) -> None:
        count, width = vocabulary.row_count, words.shape[1]
        self.english = vocabulary.english
        self.morphemes = torch.from_numpy(vocabulary.morphemes)
        knowledge = self.morphemes.shape[1]
        self.projection = torch.nn.Linear(knowledge, width, bias=False)
        torch.nn.init.normal_(self.projection.weight, std=knowledge**-0.5)
        centred = torch.from_numpy(words - words.mean(axis=0))
        self.rows = torch.nn.EmbeddingBag(count, width, mode="sum", sparse=True)
        self.weights = torch.nn.Embedding(count, 1, sparse=True)
        with torch.no_grad():
            self.rows.weight[: self.english] = functional.normalize(centred, dim=1, eps=1e-6) * ENGLISH_LENGTH
            self.rows.weight[self.english :].normal_(std=HANGUL_NOISE)
            self.weights.weight[:, 0] = torch.from_numpy(np.log(np.expm1(start_weights)) - SOFTPLUS_AT_ONE)

    def __call__(self, texts: Sequence[Rows]) -> Tensor:
        lengths = torch.tensor([len(text) for text in texts])
        flat = torch.tensor([row for text in texts for row in text])
        starts = lengths.cumsum(0) - lengths
        weights = self._positive(self.weights(flat).squeeze(1))
        learned = self.rows(flat, starts, per_sample_weights=weights)
        hangul = flat >= self.english
        owner = torch.repeat_interleave(torch.arange(len(texts)), lengths)[hangul]
        known = self.morphemes[flat[hangul] - self.english] * weights[hangul].unsqueeze(1)
        gathered = torch.zeros(len(texts), self.morphemes.shape[1]).index_add_(0, owner, known)
        return functional.normalize(learned + self.projection(gathered), dim=1, eps=1e-6)

    def table(self) -> Floats:
        """The finished vector of each row."""
        with torch.no_grad():
            rows = self.rows.weight.clone()
            rows[self.english :] += self.projection(self.morphemes)
            table: Floats = (rows * self._positive(self.weights.weight)).numpy()
        return table

    @staticmethod
    def _positive(weights: Tensor) -> Tensor:
        return functional.softplus(weights + SOFTPLUS_AT_ONE)


def align(corpus: Corpus, vocabulary: Vocabulary, words: Floats, schedule: Schedule | None = None) -> Floats:
    """Learn the table of static vectors."""
    plan = schedule or Schedule()
    torch.manual_seed(0)
    network = StaticEncoder(vocabulary, words, start_weights(corpus, vocabulary.row_count, plan.rarity))
    optimisers: list[tuple[torch.optim.Optimizer, float]] = [
        (torch.optim.Adam([network.projection.weight], lr=plan.projection_rate), plan.projection_rate),
        (torch.optim.SparseAdam([network.rows.weight], lr=plan.row_rate), plan.row_rate),
        (torch.optim.SparseAdam([network.weights.weight], lr=plan.weight_rate), plan.weight_rate),
    ]
    usable = [i for i, text in enumerate(corpus.korean) if len(text) >= plan.shortest and corpus.english[i]]
    teacher = torch.from_numpy(corpus.teacher.astype(np.float32))
    per_epoch = len(usable) // plan.batch
    for epoch in range(plan.epochs):
        order = np.random.default_rng(epoch).permutation(usable)[: per_epoch * plan.batch]
        total = 0.0
        for step, batch in enumerate(order.reshape(per_epoch, plan.batch).tolist()):
            rate = max(0.05, 1 - (epoch * per_epoch + step) / (plan.epochs * per_epoch))
            for optimiser, full in optimisers:
                optimiser.param_groups[0]["lr"] = full * rate
            total += _learn(network, [optimiser for optimiser, _ in optimisers], corpus, teacher, batch, plan)
        say(f"  alignment, epoch {epoch + 1} of {plan.epochs}: loss {total / per_epoch:.3f}")
    return network.table()


def _learn(
    network: StaticEncoder,
    optimisers: Sequence[torch.optim.Optimizer],
    corpus: Corpus,
    teacher: Tensor,
    batch: Sequence[int],
    plan: Schedule,
) -> float:
    wanted, labels = teacher[batch], torch.arange(len(batch))
    korean = network([corpus.korean[index] for index in batch])
    english = network([corpus.english[index] for index in batch])
    loss = plan.across_share * functional.cross_entropy(korean @ english.T * plan.sharpness, labels)
    for found in (korean, english):
        loss = loss + functional.cross_entropy(found @ wanted.T * plan.sharpness, labels)
        loss = loss + plan.cosine_share * (1 - (found * wanted).sum(1)).mean()
    for optimiser in optimisers:
        optimiser.zero_grad()
    loss.backward()
    for optimiser in optimisers:
        optimiser.step()
    return float(loss.item())


def start_weights(corpus: Corpus, row_count: int, rarity: float) -> Floats:
    """SIF: the more common a row, the less it says."""
    occurrences = counts(corpus.korean, row_count) + counts(corpus.english, row_count)
    share = occurrences / occurrences.sum()
    weights: Floats = np.clip(rarity / (rarity + share), 0.05, 1).astype(np.float32)
    return weights
