"""Vectors in FAISS, written once: the only module that imports faiss.

A segment is filled by whoever makes it and never changes afterwards, so any number of
threads search it without a lock. Its slots stand in the order of their rows. Up to
150,000 vectors are scanned exactly (SQfp16); on request a larger segment gets a coarse
index beside (RaBitQ fast scan), whose best are refined on the same fp16 codes. No IDMap:
a row that was replaced would stand in it twice under one id. Never removes; never
re-orders. A segment of up to 2,048 vectors is compared with NumPy and never loads FAISS:
a cold start without its import is noticeably shorter.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import numpy.typing as npt

from kebab_tui.domain.errors import VectorError
from kebab_tui.search.ports import Vector

if TYPE_CHECKING:
    import faiss

    from kebab_tui.domain.ids import ChunkRow


# The arrays that travel through this room, and what makes them sound.
#
# FAISS checks its input with `assert`: with `python -O` a vector of another length is read
# out of bounds, and a NaN is ranked at any time. So nothing reaches it unchecked. A row is
# a chunk; a code is its vector in fp16, exactly as the store keeps it.

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


_FEW = 2_048
"""So many vectors are compared one by one in a millisecond."""
_SLACK = 16
_DENSE = 0.25
"""The share from which fetching more and dropping is faster than the selector (by 1.2x to 3x)."""
_K_FACTOR = 10
_COARSE_MOST = 500
_COARSE_SHARE = 20
"""The coarse index answers for so many at most, and at most for a twentieth: more takes as long as a scan."""
_ROUNDING = 1e-5
"""More than FAISS's fp32 sums can be wrong by."""
_BLOCK = 8_192
_SPARSE = 16
_TRAINING = 65_536


class Passing:
    """Which slots of a segment may be found."""

    def __init__(self, mask: Mask) -> None:
        self.mask = mask
        self.count = int(np.count_nonzero(mask))
        self.share = self.count / max(1, len(mask))

    @cached_property
    def parameters(self) -> faiss.SearchParameters:
        import faiss

        bits = np.packbits(self.mask, bitorder="little")
        # The stubs know only the constructors of C++; those of Python keep what they are given alive.
        selector = faiss.IDSelectorBitmap(bits)  # type: ignore[call-arg,arg-type]
        return faiss.SearchParameters(sel=selector)  # type: ignore[call-arg]


class FaissSegment:
    """FAISS searches in the memory of `codes`: fill it before the segment is shown to anyone."""

    __slots__ = ("_coarse", "_flat", "_refined", "codes", "dims", "rows")

    def __init__(self, rows: Rows, dims: int) -> None:
        self.rows = rows
        self.dims = dims
        self._flat: faiss.IndexScalarQuantizer | None = None
        self.codes: Codes = self._room(len(rows))
        self._coarse: faiss.IndexRaBitQFastScan | None = None
        self._refined: faiss.IndexRefine | None = None

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def is_coarse(self) -> bool:
        return self._coarse is not None

    def find(self, rows: Rows) -> Slots:
        """The slot of each row, -1 where there is none."""
        if not len(self.rows):
            return np.full(len(rows), -1, np.int64)
        slots = np.searchsorted(self.rows, rows)
        slots[slots == len(self.rows)] = 0
        return np.where(self.rows[slots] == rows, slots, -1)

    def holding(self, rows: Rows) -> Mask:
        """Which slots hold one of the rows."""
        if not len(self.rows):
            return np.zeros(0, bool)
        low, high = int(self.rows[0]), int(self.rows[-1])
        if high - low > _SPARSE * len(self.rows):
            mask = np.zeros(len(self.rows), bool)
            slots = self.find(rows)
            mask[slots[slots >= 0]] = True
            return mask
        # A table of all rows in between is 4x to 15x faster than searching each, or than `np.isin`.
        table = np.zeros(high - low + 1, bool)
        table[rows[(rows >= low) & (rows <= high)] - low] = True
        marked: Mask = table[self.rows - low]
        return marked

    def best(self, query: Vector, count: int, passing: Passing | None) -> Slots:
        """Slots among which are the `count` best that pass, all that tie with the last included."""
        total = len(self) if passing is None else passing.count
        fetch = total if self._flat is None else count + _SLACK
        while fetch < total:
            scores, slots = self._search(query, fetch, passing)
            if len(slots) > count and scores[-1] < scores[count - 1] - _ROUNDING:
                return slots
            fetch *= 4
        return np.arange(total) if passing is None else np.flatnonzero(passing.mask)

    def make_coarse(self, stopped: Callable[[], bool]) -> bool:
        """Build the coarse index from the codes; False when told to stop."""
        coarse = self._new_coarse()
        step = max(1, len(self) // _TRAINING)
        coarse.train(self.codes[::step].astype(np.float32))
        for begin in range(0, len(self), _BLOCK):
            if stopped():
                return False
            coarse.add(self.codes[begin : begin + _BLOCK].astype(np.float32))
        self._adopt(coarse)
        return True

    def coarse_bytes(self) -> bytes:
        """The coarse index as plain arrays, centre and codes; nothing when there is none."""
        if self._coarse is None:
            return b""
        import faiss

        centre = faiss.vector_to_array(self._coarse.center)
        codes = faiss.AlignedTable_to_array(self._coarse.codes)
        return b"".join((_packed_by(faiss.__version__), centre.tobytes(), codes.tobytes()))

    def load_coarse(self, data: bytes) -> None:
        """Take back what `coarse_bytes` gave; ValueError for anything else.

        FAISS parses nothing: the sizes are checked here, and any bytes are codes.
        """
        import faiss

        mark = _packed_by(faiss.__version__)
        if not data.startswith(mark):
            raise ValueError("the coarse index was packed by another FAISS")
        coarse = self._new_coarse()
        slots = -(-len(self) // coarse.bbs) * coarse.bbs
        size = slots * coarse.code_size  # type: ignore[attr-defined]  # newer than the stubs, as is the next
        if len(data) != len(mark) + 4 * self.dims + size:
            raise ValueError("the coarse index belongs to other vectors")
        centre = np.frombuffer(data, np.float32, self.dims, len(mark))
        if not (np.abs(centre) <= 1).all():  # of vectors of length 1; false for NaN, too
            raise ValueError("the coarse index has no centre")
        codes = np.frombuffer(data, np.uint8, offset=len(mark) + 4 * self.dims)
        faiss.copy_array_to_vector(centre, coarse.center)
        faiss.copy_array_to_AlignedTable(codes, coarse.codes)
        coarse.ntotal, coarse.is_trained = len(self), True
        coarse.ntotal2 = slots  # type: ignore[attr-defined]
        self._adopt(coarse)

    def _new_coarse(self) -> faiss.IndexRaBitQFastScan:
        import faiss

        faiss.omp_set_num_threads(1)
        return faiss.IndexRaBitQFastScan(self.dims, faiss.METRIC_INNER_PRODUCT)

    def _room(self, count: int) -> Codes:
        if count <= _FEW:
            return np.empty((count, self.dims), np.float16)
        return self._faiss_room(count)

    def _faiss_room(self, count: int) -> Codes:
        import faiss

        room: Codes = np.empty((count, self.dims), np.float16)
        quantizer = faiss.ScalarQuantizer.QT_fp16
        self._flat = faiss.IndexScalarQuantizer(self.dims, quantizer, faiss.METRIC_INNER_PRODUCT)
        # FAISS looks at NumPy's memory, which the kernel gives in large pages and nobody fills
        # with zeros first. To FAISS it has no owner: this segment keeps it.
        start = faiss.swig_ptr(room.reshape(-1).view(np.uint8))
        nobody = self._flat.codes.owner  # type: ignore[attr-defined]  # newer than the stubs, as is the next
        view = faiss.MaybeOwnedVectorUInt8.create_view(start, room.nbytes, nobody)  # type: ignore[attr-defined]
        self._flat.codes = view
        self._flat.ntotal = count
        return room

    @property
    def _all(self) -> faiss.Index:
        assert self._flat is not None, "a segment of a few vectors is never scanned by FAISS"
        return self._flat

    def _adopt(self, coarse: faiss.IndexRaBitQFastScan) -> None:
        import faiss

        if self._flat is None:
            self.codes, few = self._faiss_room(len(self)), self.codes
            self.codes[:] = few
        self._coarse = coarse
        self._refined = faiss.IndexRefine(coarse, self._all)
        self._refined.k_factor = _K_FACTOR

    def _search(self, query: Vector, fetch: int, passing: Passing | None) -> tuple[Scores, Slots]:
        if passing is None:
            return self._scan(query, fetch)
        enough = min(len(self), int(fetch / passing.share * 1.25) + _SLACK)
        if passing.share >= _DENSE or self._serves_coarsely(enough):
            scores, slots = self._scan(query, enough)
            passed = passing.mask[slots]
            if np.count_nonzero(passed) >= fetch:  # then these are the best of all that pass
                return scores[passed][:fetch], slots[passed][:fetch]
        return self._ask(self._all, query, fetch, passing)

    def _serves_coarsely(self, fetch: int) -> bool:
        return self.is_coarse and fetch <= min(_COARSE_MOST, len(self) // _COARSE_SHARE)

    def _scan(self, query: Vector, fetch: int) -> tuple[Scores, Slots]:
        if self._refined is not None and self._serves_coarsely(fetch):
            return self._ask(self._refined, query, fetch, None)
        return self._ask(self._all, query, fetch, None)

    def _ask(
        self, index: faiss.Index, query: Vector, fetch: int, passing: Passing | None
    ) -> tuple[Scores, Slots]:
        import faiss

        # Each thread has its own setting, and a team of threads makes one query 3x slower.
        faiss.omp_set_num_threads(1)
        parameters = None if passing is None else passing.parameters
        scores, slots = index.search(query[np.newaxis], fetch, params=parameters)
        found = slots[0] >= 0
        return scores[0][found], slots[0][found]


def _packed_by(version: str) -> bytes:
    """What one version of FAISS packed another need not unpack."""
    return version.encode("ascii").ljust(16)[:16]
