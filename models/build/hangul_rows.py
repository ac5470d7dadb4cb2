"""Second training step: input embeddings for Hangul, under MiniLM's frozen body.

Each Hangul row starts as the mean of the English input embeddings it is nearest to in the aligned table; then the rows
learn, through the body, to put a Korean text where the teacher puts its English. The body and the English rows never
change, so English vectors stay MiniLM's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from models.build.body import FrozenBody
from models.build.corpus import Corpus, Rows, counts
from models.build.minilm import Floats, MiniLM
from models.build.narration import say
from models.build.vocabulary import END, START, Vocabulary

FIRST_WORD = 1000  # ids below are MiniLM's special, unused and single-letter tokens
NEIGHBOURS = 8
NEIGHBOUR_SHARPNESS = 12.5
COMMON_ENGLISH = 3  # occurrences from which an English piece is a trustworthy neighbour
RARE_HANGUL = 5  # occurrences below which a row gets noise, so that rare words do not all look alike
NOISE = 0.4  # of a row's length


@dataclass(frozen=True, slots=True)
class Schedule:
    """How long and how fast to learn."""

    steps: int = 1000
    batch: int = 96
    shortest: int = 5  # tokens, [CLS] and [SEP] counted
    longest: int = 48
    texts: int = 120_000
    row_rate: float = 2e-3
    projection_rate: float = 1e-3
    warm_up: int = 50  # steps
    sharpness: float = 20.0
    cosine_share: float = 2.0
    same: float = 0.9  # teacher cosine from which two texts of a batch are not pushed apart


def learn(
    corpus: Corpus, vocabulary: Vocabulary, minilm: MiniLM, aligned: Floats, schedule: Schedule | None = None
) -> Floats:
    """Input embeddings of every row, English first and unchanged."""
    plan = schedule or Schedule()
    torch.manual_seed(0)
    texts = framed(corpus, vocabulary, plan.longest)
    network = HangulRows(vocabulary, minilm, start_rows(corpus, texts, vocabulary, minilm.words, aligned))
    rows = torch.optim.SparseAdam([network.learned.weight], lr=plan.row_rate)
    projection = torch.optim.Adam([network.projection.weight], lr=plan.projection_rate)
    teacher = torch.from_numpy(corpus.teacher.astype(np.float32))
    total = 0.0
    for step, batch in enumerate(batches(texts, plan)):
        rate = max(0.05, 1 - step / plan.steps) * min(1.0, (step + 1) / plan.warm_up)
        rows.param_groups[0]["lr"] = plan.row_rate * rate
        projection.param_groups[0]["lr"] = plan.projection_rate * rate
        loss = _loss(network([texts[index] for index in batch]), teacher[batch], plan)
        rows.zero_grad()
        projection.zero_grad()
        loss.backward()
        rows.step()
        projection.step()
        total += float(loss.item())
        if step % 100 == 99:
            say(f"  Hangul rows, step {step + 1} of {plan.steps}: loss {total / 100:.3f}")
            total = 0.0
    return network.table()


class HangulRows:
    """A start that stays, a projection of Kiwi's vectors and a correction for each row, under the frozen body."""

    def __init__(self, vocabulary: Vocabulary, minilm: MiniLM, start: Floats) -> None:
        self.english = vocabulary.english
        self.words = torch.from_numpy(minilm.words)
        self.start = torch.from_numpy(start)
        self.morphemes = torch.from_numpy(vocabulary.morphemes)
        self.body = FrozenBody(minilm)
        width = start.shape[1]
        self.projection = torch.nn.Linear(self.morphemes.shape[1], width, bias=False)
        self.learned = torch.nn.Embedding(len(start), width, sparse=True)
        torch.nn.init.zeros_(self.projection.weight)
        torch.nn.init.zeros_(self.learned.weight)

    def __call__(self, texts: Sequence[Rows]) -> Tensor:
        width = max(map(len, texts))
        rows = torch.tensor([[*text, *[0] * (width - len(text))] for text in texts])
        mask = torch.tensor([[1.0] * len(text) + [0.0] * (width - len(text)) for text in texts])
        hangul = rows >= self.english
        distinct, place = (rows[hangul] - self.english).unique(return_inverse=True)
        embedded = self.words[rows.clamp(max=self.english - 1)]
        embedded[hangul] = self._hangul(distinct)[place]
        vectors: Tensor = self.body(embedded, mask)
        return vectors

    def table(self) -> Floats:
        """The input embedding of every row."""
        with torch.no_grad():
            hangul = self._hangul(torch.arange(len(self.start)))
            table: Floats = torch.cat([self.words, hangul]).numpy()
        return table

    def _hangul(self, rows: Tensor) -> Tensor:
        vectors: Tensor = self.start[rows] + self.projection(self.morphemes[rows]) + self.learned(rows)
        return vectors


def _loss(found: Tensor, wanted: Tensor, plan: Schedule) -> Tensor:
    same = (wanted @ wanted.T > plan.same) & ~torch.eye(len(wanted), dtype=torch.bool)
    scores = (found @ wanted.T * plan.sharpness).masked_fill(same, -1e4)
    return (
        functional.cross_entropy(scores, torch.arange(len(wanted)))
        + plan.cosine_share * (1 - (found * wanted).sum(1)).mean()
    )


def framed(corpus: Corpus, vocabulary: Vocabulary, longest: int) -> list[Rows]:
    """Korean texts as the body sees them, cut to `longest` tokens."""
    first, last = vocabulary.ids[START], vocabulary.ids[END]
    return [[first, *text[: longest - 2], last] for text in corpus.korean]


def batches(texts: Sequence[Rows], plan: Schedule) -> list[list[int]]:
    """Indices of texts of like length, in random order, one batch for each step."""
    draw = np.random.default_rng(0)
    fitting = [index for index, text in enumerate(texts) if plan.shortest <= len(text) <= plan.longest]
    chosen = draw.permutation(fitting)[: plan.texts].tolist()
    tie = draw.random(len(texts))
    chosen.sort(key=lambda index: (len(texts[index]) // 3, tie[index]))
    full = [
        chosen[start : start + plan.batch] for start in range(0, len(chosen) - plan.batch + 1, plan.batch)
    ]
    if not full:
        raise ValueError("too few texts for a batch")
    rounds = -(-plan.steps // len(full))
    order = np.concatenate([draw.permutation(len(full)) for _ in range(rounds)])[: plan.steps]
    return [full[index] for index in order.tolist()]


def start_rows(
    corpus: Corpus, texts: Sequence[Rows], vocabulary: Vocabulary, words: Floats, aligned: Floats
) -> Floats:
    """Where each Hangul row starts: among the English pieces nearest to it, at their usual length."""
    used = counts(corpus.english, vocabulary.row_count)
    tokens = list(vocabulary.ids)[: vocabulary.english]
    neighbours = [
        index
        for index in range(FIRST_WORD, vocabulary.english)
        if used[index] >= COMMON_ENGLISH and tokens[index].removeprefix("##").isalpha()
    ]
    near = functional.normalize(torch.from_numpy(aligned[neighbours]), dim=1)
    hangul = functional.normalize(torch.from_numpy(aligned[vocabulary.english :]), dim=1)
    inputs = torch.from_numpy(words[neighbours])
    parts = []
    for part in hangul.split(4096):
        cosine, index = (part @ near.T).topk(NEIGHBOURS, dim=1)
        shares = functional.softmax(cosine * NEIGHBOUR_SHARPNESS, dim=1)
        parts.append((shares.unsqueeze(2) * inputs[index]).sum(1))
    usual = inputs.norm(dim=1).mean()
    start = functional.normalize(torch.cat(parts), dim=1, eps=1e-6) * usual
    noise = functional.normalize(torch.randn(start.shape, generator=torch.Generator().manual_seed(3)), dim=1)
    rare = torch.from_numpy(counts(texts, vocabulary.row_count)[vocabulary.english :] < RARE_HANGUL)
    rows: Floats = (start + rare.unsqueeze(1) * noise * usual * NOISE).numpy()
    return rows
