"""The arrays that travel through this room, and what makes them sound.

FAISS checks its input with `assert`: with `python -O` a vector of another length is read
out of bounds, and a NaN is ranked at any time. So nothing reaches it unchecked. A row is
a chunk; a code is its vector in fp16, exactly as the store keeps it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import numpy.typing as npt

from kebab_tui.domain.errors import VectorError

if TYPE_CHECKING:
    from kebab_tui.domain.ids import ChunkRow
    from kebab_tui.search.ports import Vector

Rows: TypeAlias = npt.NDArray[np.int64]
Slots: TypeAlias = npt.NDArray[np.int64]
Codes: TypeAlias = npt.NDArray[np.float16]
Scores: TypeAlias = npt.NDArray[np.float32]
Mask: TypeAlias = npt.NDArray[np.bool_]

NORM_TOLERANCE = 0.01
"""How far from 1 a norm may be: rounding to fp16 moves it by a thousandth at most."""


def rows_of(rows: Sequence[ChunkRow] | Sequence[int] | Rows) -> Rows:
    """As an array; an array of int64 is taken as it is."""
    return np.asarray(rows, dtype=np.int64).reshape(-1)


def sound_query(query: Vector, dims: int) -> Vector:
    """The query itself, or an error that says what is wrong with it."""
    if not isinstance(query, np.ndarray) or query.dtype != np.float32 or query.shape != (dims,):
        shape = f"{query.dtype}{query.shape}" if isinstance(query, np.ndarray) else type(query).__name__
        raise VectorError(
            f"a query vector must be {dims} numbers of float32, not {shape}",
            "the model and the index do not belong together: run `kebab model verify`",
        )
    if not sound_vectors(query[np.newaxis])[0]:
        raise VectorError("a query vector must be finite and of length 1", "run `kebab model verify`")
    return np.ascontiguousarray(query)


def sound_vectors(vectors: npt.NDArray[np.floating]) -> Mask:
    """Which of the vectors are finite and of unit norm."""
    wide = vectors.astype(np.float32, copy=False)
    with np.errstate(all="ignore"):  # NaN and infinity are what is looked for
        squares = np.einsum("ij,ij->i", wide, wide)
        sound: Mask = np.abs(np.sqrt(squares) - 1.0) <= NORM_TOLERANCE
    return sound


def decoded(blobs: Sequence[bytes], dims: int) -> tuple[Codes, Mask]:
    """Stored vectors as a matrix, and which of the blobs they are: unsound ones are left out."""
    size = 2 * dims
    fitting = np.fromiter((len(blob) == size for blob in blobs), bool, len(blobs))
    whole = b"".join(blobs) if fitting.all() else b"".join(b for b in blobs if len(b) == size)
    codes = np.frombuffer(whole, np.float16).reshape(-1, dims)
    sound = sound_vectors(codes)
    fitting[fitting] = sound
    return codes if sound.all() else codes[sound], fitting


def exact_cosines(codes: Codes, query: Vector) -> Scores:
    """Cosines that do not depend on what else is in the matrix, nor on the processor.

    Products of fp16 and fp32 are exact in fp64, and the sum of each row is its own. A stored
    vector is rounded and may be a hair too long: nothing is nearer than the same.
    """
    products = codes.astype(np.float64)
    products *= query.astype(np.float64)  # in place: the kernel takes longer to give memory than this takes
    cosines: Scores = products.sum(axis=1).clip(-1.0, 1.0).astype(np.float32)
    return cosines
