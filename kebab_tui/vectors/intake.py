"""From what the store says to arrays. A blob that is no sound vector is as good as none."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

import numpy as np

from kebab_tui.vectors.arrays import Codes, Rows, decoded, rows_of
from kebab_tui.vectors.contents import Contents
from kebab_tui.vectors.ports import Changes, VectorLog

_BLOCK = 4_096
_SAMPLED = 64


def everything(log: VectorLog, dims: int) -> Iterator[tuple[Rows, Codes]]:
    """All vectors of the store in blocks."""
    pairs = log.all()
    while block := list(itertools.islice(pairs, _BLOCK)):
        codes, sound = decoded([vector for _, vector in block], dims)
        yield rows_of([row for row, _ in block])[sound], codes


def news(changes: Changes, dims: int) -> tuple[Rows, Codes, Rows]:
    """Rows with their vectors, and rows that have none any more."""
    added: Sequence[int] = [each.row for each in changes.added]
    codes, sound = decoded([each.vector for each in changes.added], dims)
    rows = rows_of(added)
    return rows[sound], codes, np.concatenate([rows_of(changes.removed), rows[~sound]])


def agrees(contents: Contents, log: VectorLog) -> bool:
    """Whether samples of both sides are the same: a restored or remade store counts its revisions anew."""
    rows = contents.live_rows()
    newest = int(rows[-1]) if len(rows) else 0
    # Sets, since `np.union1d` loads `np.ma`: 5 ms of a first search.
    sampled = sorted({*rows[:: max(1, len(rows) // _SAMPLED)].tolist(), *rows[-_SAMPLED:].tolist()})
    sampled += range(newest + 1, newest + 1 + _SAMPLED)  # has the store gone on where we end?
    theirs = dict(log.vectors(sampled)) | dict(itertools.islice(log.all(), _SAMPLED))
    _, sound = decoded(list(theirs.values()), contents.dims)
    sound_ones = dict(itertools.compress(theirs.items(), sound))
    return contents.vectors(rows_of(sorted({*sampled, *theirs}))) == sound_ones
