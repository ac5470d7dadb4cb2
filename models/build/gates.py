"""What a built model must keep before it may be shipped, measured and printed; the decision is only pass or fail.

Figures of retrieval are those of the model this recipe first made, by this package's own yardstick (`retrieval.py`).
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from models.build import retrieval
from models.build.encoder import Encoder
from models.build.pairs import Pair

ENGLISH_SAMPLE = 1000
ENGLISH_COSINE = 0.99
TRANSLATIONS = (
    ("포트 충돌 해결 방법", "how to fix a port conflict", 0.75),
    ("데이터베이스 백업", "database backup", 0.90),
)
RETRIEVAL = {
    ("k8s-ko-en", "test"): 0.5903,
    ("k8s-ko-en", "same"): 0.6135,
    ("cranfield", "test"): 0.5074,
}
RETRIEVAL_SLACK = 0.01


@dataclass(frozen=True, slots=True)
class Gate:
    """One measured figure and the least it may be."""

    name: str
    measured: float
    least: float

    @property
    def kept(self) -> bool:
        return self.measured >= self.least  # False for NaN

    def __str__(self) -> str:
        return (
            f"{'ok  ' if self.kept else 'MISS'}  {self.measured:.4f} (at least {self.least:.4f})  {self.name}"
        )


def english_sample(pairs: Sequence[Pair]) -> list[str]:
    """English texts of all lengths, the same ones for the same pairs."""
    return random.Random(0).sample([pair.english for pair in pairs], min(ENGLISH_SAMPLE, len(pairs)))


def measure(built: Encoder, teacher: Encoder, english: Sequence[str], beir: Path | None) -> Iterator[Gate]:
    """Each gate as soon as it is measured; `teacher` is MiniLM in float32."""
    cosines = (built.encode(english) * teacher.encode(english)).sum(axis=1)
    yield Gate(
        f"cosine to MiniLM, mean of {len(english)} English texts", float(np.mean(cosines)), ENGLISH_COSINE
    )
    for korean, translation, least in TRANSLATIONS:
        first, second = built.encode([korean, translation])
        yield Gate(f"cosine of {korean!r} and {translation!r}", float(first @ second), least)
    if beir is not None:
        yield from _retrieval(built, beir)


def _retrieval(built: Encoder, beir: Path) -> Iterator[Gate]:
    for name in dict.fromkeys(name for name, _ in RETRIEVAL):
        found = retrieval.measure(built, retrieval.load(beir / name))
        for split in (split for known, split in RETRIEVAL if known == name):
            least = RETRIEVAL[name, split] - RETRIEVAL_SLACK
            yield Gate(f"nDCG@10 by vector, {name}, {split} judgements", found[split], least)
