"""How well vectors alone find the right documents: nDCG@10 on folders in BEIR's layout.

A document is cut into chunks of about 1,200 characters at line ends and ranked by its best chunk. This is a yardstick
to compare models with one another, not the product's search.
"""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np

from models.build.minilm import Floats

CHUNK = 1200  # characters
DEPTH = 10

Judgements = Mapping[str, Mapping[str, int]]


class Encodes(Protocol):
    """Anything that turns texts into unit vectors."""

    def encode(self, texts: Sequence[str]) -> Floats: ...


@dataclass(frozen=True, slots=True)
class RetrievalSet:
    """Documents and queries by id, and the judgements of each split."""

    documents: Mapping[str, str]
    queries: Mapping[str, str]
    splits: Mapping[str, Judgements]


def load(folder: Path) -> RetrievalSet:
    """Read a folder with corpus.jsonl, queries.jsonl and qrels/*.tsv."""
    documents = {
        entry["_id"]: f"{entry.get('title', '')}\n{entry['text']}".strip()
        for entry in _lines(folder / "corpus.jsonl")
    }
    queries = {entry["_id"]: entry["text"] for entry in _lines(folder / "queries.jsonl")}
    splits = {path.stem: _judgements(path) for path in sorted((folder / "qrels").glob("*.tsv"))}
    return RetrievalSet(documents, queries, splits)


def _lines(path: Path) -> Iterator[dict[str, str]]:
    with path.open(encoding="utf-8") as file:
        for line in file:
            yield json.loads(line)


def _judgements(path: Path) -> Judgements:
    judged: dict[str, dict[str, int]] = {}
    with path.open(encoding="utf-8", newline="") as file:
        for query, document, score in list(csv.reader(file, delimiter="\t"))[1:]:
            judged.setdefault(query, {})[document] = int(score)
    return judged


def chunks(text: str, size: int = CHUNK) -> list[str]:
    """Pieces of at most `size` characters, cut after a line where there is one, else at a space."""
    pieces: list[str] = []
    rest = text.strip()
    while len(rest) > size:
        cut = max(rest.rfind("\n", size // 2, size), 0) or max(rest.rfind(" ", size // 2, size), 0) or size
        pieces.append(rest[:cut].strip())
        rest = rest[cut:].strip()
    return [piece for piece in (*pieces, rest) if piece]


def measure(encoder: Encodes, test: RetrievalSet) -> dict[str, float]:
    """nDCG@10 of each split."""
    pieces = [(name, piece) for name, text in test.documents.items() for piece in chunks(text)]
    owners = {name: index for index, name in enumerate(test.documents)}
    owner = np.array([owners[name] for name, _ in pieces])
    vectors = encoder.encode([piece for _, piece in pieces])
    queries = list(test.queries)
    cosines = encoder.encode([test.queries[query] for query in queries]) @ vectors.T
    best = np.full((len(queries), len(owners)), -np.inf, np.float32)
    for column, document in enumerate(owner):
        np.maximum(best[:, document], cosines[:, column], out=best[:, document])
    names = list(owners)
    top = np.argsort(-best, axis=1, kind="stable")[:, :DEPTH]
    rankings = {query: [names[index] for index in top[row]] for row, query in enumerate(queries)}
    return {split: mean_ndcg(rankings, judged) for split, judged in test.splits.items()}


def mean_ndcg(rankings: Mapping[str, Sequence[str]], judged: Judgements) -> float:
    """The mean over judged queries; a query without a ranking counts as 0."""
    return sum(ndcg(rankings.get(query, ()), relevant) for query, relevant in judged.items()) / max(
        len(judged), 1
    )


def ndcg(ranking: Sequence[str], relevant: Mapping[str, int]) -> float:
    """nDCG@10 with linear gains, 1 for the ideal order."""
    ideal = sorted((score for score in relevant.values() if score > 0), reverse=True)[:DEPTH]
    best = sum(gain / math.log2(place + 2) for place, gain in enumerate(ideal))
    found = sum(
        max(relevant.get(name, 0), 0) / math.log2(place + 2) for place, name in enumerate(ranking[:DEPTH])
    )
    return found / best if best else 0.0
