"""An immutable set of vectors that FAISS can search. The only module that imports faiss.

A segment is filled once and never changes, so any number of threads search it without a lock. Its
slots are sorted by row. A long passage has several slots, one for each part that the model reads.
Each code then is `0.65 * part + 0.35 * whole`, where `whole` is the sum of the parts, brought to
length 1. So the cosine of the row is the greatest product of the query and a slot: FAISS ranks by it.

A segment of up to 2,048 vectors is scanned with NumPy and never loads FAISS, which shortens a cold
start noticeably. A larger one is scanned exactly (SQfp16); on request it gets a coarse index (RaBitQ),
whose best slots are refined on the same fp16 codes. How many are refined does not depend on how many are
asked for, so that the pages of a list fit. RaBitQ's fast scan would take three quarters of the time, but
it knows no filters, and it cannot search memory that is mapped from a file. No IDMap: it would hold a
replaced row twice under one id.

FAISS checks its input with `assert`: with `python -O` it reads a vector of another length out of
bounds, and it ranks a NaN anywhere. So this module validates all vectors first.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import numpy.typing as npt

from kebab_tui.domain.errors import VectorError
from kebab_tui.domain.ids import ChunkRow
from kebab_tui.search.ports import BEST_PART, PartCosines, Vector

if TYPE_CHECKING:
    import faiss  # slow to import: small indexes never need it


Rows: TypeAlias = npt.NDArray[np.int64]
Slots: TypeAlias = npt.NDArray[np.int64]
Codes: TypeAlias = npt.NDArray[np.float16]
Scores: TypeAlias = npt.NDArray[np.float32]
Mask: TypeAlias = npt.NDArray[np.bool_]
Packed: TypeAlias = npt.NDArray[np.uint8]
"""A row is a chunk; a slot is the index of one of its vectors; a code is such a vector in fp16."""

_NORM_TOLERANCE = 0.01
"""Allowed distance of a norm from 1; rounding to fp16 moves it by a thousandth at most."""
_SHORTEST_CODE = 2 * BEST_PART - 1
"""The norm of the code of a part that is opposite to its whole."""
_FEW = 2_048
"""A NumPy scan of so many vectors takes a millisecond."""
_SLACK = 16
_DENSE = 0.25
"""From this share on, fetching more and filtering is 1.2x to 3x faster than the selector."""
_POOL = 4_096
"""The best slots by the coarse index, all of which are refined."""
_COARSE_SHARE = 1 / 16
"""A filter that passes less is faster without the coarse index."""
_SURE = 4
"""The best of them, one part in so many, are the nearest of all."""
_QUERY_BITS = 4
"""Of each number of a query that the coarse index compares; 8 take longer and find no more."""
_ROUNDING = 1e-5
"""More than the error of FAISS's fp32 sums."""
_BLOCK = 8_192
_SPARSE = 16
_TRAINING = 65_536
_MARK_BYTES = 16


def rows_of(rows: Sequence[ChunkRow] | Sequence[int] | Rows) -> Rows:
    """As an int64 array; does not copy one."""
    return np.asarray(rows, dtype=np.int64).reshape(-1)


def validated_query(query: Vector, dims: int) -> Vector:
    """The query as a contiguous array; VectorError if it is invalid."""
    if not isinstance(query, np.ndarray) or query.dtype != np.float32 or query.shape != (dims,):
        shape = f"{query.dtype}{query.shape}" if isinstance(query, np.ndarray) else type(query).__name__
        raise VectorError(
            f"a query vector must be {dims} numbers of float32, not {shape}",
            "the model does not fit the index: run `kebab model verify`",
        )
    if not are_valid(query[np.newaxis])[0]:
        raise VectorError("a query vector must be finite and of length 1", "run `kebab model verify`")
    return np.ascontiguousarray(query)


def are_valid(vectors: npt.NDArray[np.floating], shortest: float = 1.0) -> Mask:
    """Mask of the finite vectors of unit norm, or of a norm from `shortest` to 1."""
    wide = vectors.astype(np.float32, copy=False)
    with np.errstate(all="ignore"):  # NaN and infinity are expected
        squares = np.einsum("ij,ij->i", wide, wide)
        norms = np.sqrt(squares)
        valid: Mask = (norms >= shortest - _NORM_TOLERANCE) & (norms <= 1 + _NORM_TOLERANCE)
    return valid


def are_codes(codes: npt.NDArray[np.floating]) -> Mask:
    """Mask of the vectors that can be codes: those of the parts of a long passage are shorter than 1."""
    return are_valid(codes, _SHORTEST_CODE)


def decoded(rows: Rows, blobs: Sequence[bytes], dims: int) -> tuple[Rows, Codes, Rows]:
    """The codes of all parts with their rows, and the rows whose blob is not valid."""
    size = 2 * dims
    counts = np.fromiter(
        (0 if len(blob) % size else len(blob) // size for blob in blobs), np.int64, len(blobs)
    )
    whole = b"".join(blobs) if counts.all() else b"".join(itertools.compress(blobs, counts))
    vectors = np.frombuffer(whole, np.float16).reshape(-1, dims)
    fitting = counts > 0
    valid = are_valid(vectors)
    if not valid.all():  # a text with one bad part has none
        starts = np.cumsum(counts[fitting]) - counts[fitting]
        fitting[fitting] = np.logical_and.reduceat(valid, starts)
        vectors = vectors[np.repeat(fitting, counts)]
    counts = counts[fitting]
    return np.repeat(rows[fitting], counts), mixed(vectors, counts), rows[~fitting]


def mixed(vectors: Codes, counts: Slots) -> Codes:
    """The codes of the vectors of several texts, each of so many parts in a row."""
    several = counts > 1
    if not several.any():
        return vectors
    codes, places, sizes = vectors.copy(), np.repeat(several, counts), counts[several]
    parts = vectors[places].astype(np.float32)
    sums = np.add.reduceat(parts, np.cumsum(sizes) - sizes)
    lengths = np.linalg.norm(sums, axis=1, keepdims=True)
    sums /= np.maximum(lengths, _NORM_TOLERANCE)
    codes[places] = BEST_PART * parts + (1 - BEST_PART) * np.repeat(sums, sizes, axis=0)
    return codes


def part_cosines(codes: Codes, query: Vector) -> PartCosines:
    """What the cosine of a row with these codes is made of."""
    products = exact_cosines(codes, query).astype(np.float64)
    if len(codes) == 1:
        return PartCosines((float(products[0]),), float(products[0]))
    # The sum of the codes has the direction of the sum of the parts.
    length = np.linalg.norm(codes.astype(np.float64).sum(axis=0))
    whole = products.sum() / max(length, _NORM_TOLERANCE)
    parts = (products - (1 - BEST_PART) * whole) / BEST_PART
    return PartCosines(tuple(parts.tolist()), float(whole))


def exact_cosines(codes: Codes, query: Vector) -> Scores:
    """Cosines that depend neither on the other rows of the matrix nor on the processor.

    Products of fp16 and fp32 are exact in fp64, and each row is summed separately. The norm of a
    rounded vector may exceed 1 slightly, so cosines are clipped.
    """
    products = codes.astype(np.float64)
    products *= query.astype(np.float64)  # in place: allocating memory would take longer
    sums = products.sum(axis=1)
    cosines: Scores = np.fmin(np.fmax(sums, -1.0), 1.0).astype(np.float32)  # unlike `clip`, without NaN
    return cosines


class SlotMask:
    """The slots of a segment that a search may return."""

    def __init__(self, mask: Mask) -> None:
        self.mask = mask
        self.count = int(np.count_nonzero(mask))
        self.share = self.count / max(1, len(mask))

    @cached_property
    def selector(self) -> faiss.IDSelector:
        import faiss

        bits = np.packbits(self.mask, bitorder="little")
        # The stubs know only the C++ constructors; the Python ones keep their arguments alive.
        return faiss.IDSelectorBitmap(bits)  # type: ignore[call-arg,arg-type]


class FaissSegment:
    """FAISS reads the memory of `codes`: fill it before other threads see the segment.

    `codes` may be mapped from a file. FAISS's own structures are made at the first search.
    """

    __slots__ = ("_coarse", "_firsts", "_flat", "_making", "_packed", "_refined", "codes", "dims", "rows")

    def __init__(self, rows: Rows, dims: int, codes: Codes | None = None) -> None:
        self.rows = rows
        self.dims = dims
        self.codes: Codes = np.empty((len(rows), dims), np.float16) if codes is None else codes
        self._firsts: Mask | None = None
        self._flat: faiss.IndexScalarQuantizer | None = None
        self._packed: Packed | None = None
        """The coarse index as it is stored."""
        self._coarse: faiss.IndexRaBitQ | None = None
        self._refined: faiss.IndexRefine | None = None
        self._making = threading.Lock()

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def is_coarse(self) -> bool:
        return self._coarse is not None or self._packed is not None

    @property
    def private_slots(self) -> int:
        """The number of slots in memory of this process alone."""
        return len(self) if self.codes.flags.writeable else 0

    @property
    def firsts(self) -> Mask:
        """Mask of the first slot of each row."""
        if self._firsts is None:
            firsts = np.ones(len(self.rows), bool)
            firsts[1:] = self.rows[1:] != self.rows[:-1]
            self._firsts = firsts
        return self._firsts

    @property
    def row_count(self) -> int:
        return int(np.count_nonzero(self.firsts))

    def slots_of(self, rows: Rows) -> Slots:
        """All slots of the rows that it has, in their order."""
        begins, ends = np.searchsorted(self.rows, rows), np.searchsorted(self.rows, rows, "right")
        counts = ends - begins
        slots: Slots = np.arange(counts.sum()) + np.repeat(begins - np.cumsum(counts) + counts, counts)
        return slots

    def mask_of(self, rows: Rows) -> Mask:
        """Mask of the slots of these rows."""
        if not len(self.rows):
            return np.zeros(0, bool)
        low, high = int(self.rows[0]), int(self.rows[-1])
        if high - low > _SPARSE * len(self.rows):
            mask = np.zeros(len(self.rows), bool)
            mask[self.slots_of(rows)] = True
            return mask
        # A table of all rows in the range is 4x to 15x faster than a search for each, or than `np.isin`.
        table = np.zeros(high - low + 1, bool)
        table[rows[(rows >= low) & (rows <= high)] - low] = True
        marked: Mask = table[self.rows - low]
        return marked

    def best(self, query: Vector, count: int, allowed: SlotMask | None) -> Slots:
        """Slots that include the best of the `count` best allowed rows, and all that tie with the last.

        The coarse index may miss rows, but the same ones whatever `count` is.
        """
        total = len(self) if allowed is None else allowed.count
        if not self.is_coarse or total <= max(2 * _POOL, _COARSE_SHARE * len(self)):
            return self._exactly(query, count, allowed)[1]
        scores, slots = self._refined_pool(query, allowed)
        sure = len(slots) // _SURE
        while sure and scores[sure - 1] - scores[sure] <= _ROUNDING:
            sure -= 1  # a tie stays together
        best = self._prefix(scores[:sure], slots[:sure], count)
        if best is not None:
            return best[1]
        # Behind what is sure, the exact order continues, without the better slots that the pool missed.
        bound = (scores[sure - 1] + scores[sure]) / 2 if sure else np.inf
        missed = _SLACK
        while True:
            exact, further = self._exactly(query, count + missed, allowed)
            behind = exact < bound
            lost = np.unique(self.rows[further[~behind & ~np.isin(further, slots[:sure])]])
            if (len(lost) <= missed and behind.any()) or len(exact) == total:
                behind &= ~np.isin(self.rows[further], lost)
                return np.concatenate([slots[:sure], further[behind]])
            missed = max(len(lost), 2 * missed)

    def _exactly(self, query: Vector, count: int, allowed: SlotMask | None) -> tuple[Scores, Slots]:
        """As `best`, of all rows."""
        total = len(self) if allowed is None else allowed.count
        fetch = total if len(self) <= _FEW else count + _SLACK
        if fetch < total and self.row_count < len(self):
            # A second scan would cost more than to fetch too many. The parts of a passage are near together.
            fetch = 2 * (count * len(self) // self.row_count + _SLACK)
        while fetch < total:
            found = self._prefix(*self._scan(query, fetch, allowed), count)
            if found is not None:
                return found
            fetch *= 4
        slots = np.arange(total) if allowed is None else np.flatnonzero(allowed.mask)
        return exact_cosines(self.codes[slots], query), slots

    def _prefix(self, scores: Scores, slots: Slots, count: int) -> tuple[Scores, Slots] | None:
        """Of the best slots, those that `best` has to return; None if they may not be all of them."""
        if len(slots) <= count:
            return None
        if self.row_count == len(self):
            return (scores, slots) if scores[-1] < scores[count - 1] - _ROUNDING else None
        rows, firsts, places = np.unique(self.rows[slots], return_index=True, return_inverse=True)
        if len(rows) < count:
            return None
        worst = scores[np.partition(firsts, count - 1)[count - 1]] - _ROUNDING
        if scores[-1] >= worst:
            return None
        is_best = (scores >= scores[firsts][places] - _ROUNDING) & (scores >= worst)
        return scores[is_best], slots[is_best]

    def make_coarse(self, stopped: Callable[[], bool]) -> bool:
        """Build the coarse index from the codes; False if stopped."""
        coarse = self._new_coarse()
        step = max(1, len(self) // _TRAINING)
        coarse.train(self.codes[::step].astype(np.float32))
        for begin in range(0, len(self), _BLOCK):
            if stopped():
                return False
            coarse.add(self.codes[begin : begin + _BLOCK].astype(np.float32))
        self._coarse = coarse
        return True

    def coarse_bytes(self) -> Packed:
        """The coarse index as plain arrays, centre and codes; empty if there is none."""
        if self._packed is not None:
            return self._packed
        if self._coarse is None:
            return np.empty(0, np.uint8)
        import faiss

        centre = faiss.vector_to_array(self._coarse.center)
        codes = faiss.vector_to_array(self._coarse.codes)  # type: ignore[attr-defined]  # newer than the stubs
        mark = np.frombuffer(_packed_by(faiss.__version__), np.uint8)
        return np.concatenate([mark, centre.view(np.uint8), codes])

    def load_coarse(self, packed: Packed) -> None:
        """Restore the result of `coarse_bytes`; ValueError for other data.

        FAISS parses nothing: this checks the sizes, and any bytes are valid codes.
        """
        import faiss

        mark = _packed_by(faiss.__version__)
        if packed[: len(mark)].tobytes() != mark:
            raise ValueError("the coarse index was packed by another FAISS")
        size = self._new_coarse().code_size  # type: ignore[attr-defined]  # as above
        if len(packed) != len(mark) + 4 * self.dims + len(self) * size:
            raise ValueError("the coarse index belongs to other vectors")
        if not (np.abs(self._centre(packed)) <= 1).all():  # the norm of its vectors is 1; also False for NaN
            raise ValueError("the coarse index has no centre")
        self._packed = packed

    def _centre(self, packed: Packed) -> npt.NDArray[np.float32]:
        return np.frombuffer(packed, np.float32, self.dims, _MARK_BYTES)

    def _unpacked(self, packed: Packed) -> faiss.IndexRaBitQ:
        import faiss

        coarse = self._new_coarse()
        faiss.copy_array_to_vector(self._centre(packed), coarse.center)
        _let_read(coarse, packed[_MARK_BYTES + 4 * self.dims :], len(self))
        coarse.is_trained = True
        return coarse

    def _new_coarse(self) -> faiss.IndexRaBitQ:
        import faiss

        faiss.omp_set_num_threads(1)
        return faiss.IndexRaBitQ(self.dims, faiss.METRIC_INNER_PRODUCT)

    @property
    def _exact(self) -> faiss.IndexScalarQuantizer:
        with self._making:
            if self._flat is None:
                import faiss

                quantizer = faiss.ScalarQuantizer.QT_fp16
                flat = faiss.IndexScalarQuantizer(self.dims, quantizer, faiss.METRIC_INNER_PRODUCT)
                _let_read(flat, self.codes.reshape(-1).view(np.uint8), len(self))
                self._flat = flat
            return self._flat

    @property
    def _refining(self) -> faiss.IndexRefine:
        exact = self._exact
        with self._making:
            if self._refined is None:
                import faiss

                if self._packed is not None:
                    self._coarse = self._unpacked(self._packed)
                assert self._coarse is not None, "there is a coarse index"
                self._refined = faiss.IndexRefine(self._coarse, exact)
            return self._refined

    def _refined_pool(self, query: Vector, allowed: SlotMask | None) -> tuple[Scores, Slots]:
        import faiss

        selector = None if allowed is None else allowed.selector
        coarse = faiss.RaBitQSearchParameters(qb=_QUERY_BITS, sel=selector)  # type: ignore[call-arg]  # as above
        return self._query(
            self._refining, query, _POOL,
            faiss.IndexRefineSearchParameters(k_factor=1.0, base_index_params=coarse),  # type: ignore[call-arg]
        )  # fmt: skip

    def _scan(self, query: Vector, fetch: int, allowed: SlotMask | None) -> tuple[Scores, Slots]:
        if allowed is None:
            return self._query(self._exact, query, fetch, None)
        if allowed.share >= _DENSE:
            enough = min(len(self), int(fetch / allowed.share * 1.25) + _SLACK)
            scores, slots = self._query(self._exact, query, enough, None)
            passed = allowed.mask[slots]
            if np.count_nonzero(passed) >= fetch:  # then these are the best allowed ones
                return scores[passed][:fetch], slots[passed][:fetch]
        import faiss

        parameters = faiss.SearchParameters(sel=allowed.selector)  # type: ignore[call-arg]
        return self._query(self._exact, query, fetch, parameters)

    def _query(
        self, index: faiss.Index, query: Vector, fetch: int, parameters: faiss.SearchParameters | None
    ) -> tuple[Scores, Slots]:
        import faiss

        # The setting is per thread; with several threads one query is 3x slower.
        faiss.omp_set_num_threads(1)
        scores, slots = index.search(query[np.newaxis], fetch, params=parameters)
        found = slots[0] >= 0
        return scores[0][found], slots[0][found]


def _let_read(index: faiss.IndexScalarQuantizer | faiss.IndexRaBitQ, codes: Packed, count: int) -> None:
    """Let FAISS read NumPy's memory, or that of a mapped file. The segment owns it."""
    import faiss

    no_owner = index.codes.owner  # type: ignore[union-attr]  # newer than the stubs, as are the next two
    view = faiss.MaybeOwnedVectorUInt8.create_view(faiss.swig_ptr(codes), codes.nbytes, no_owner)  # type: ignore[attr-defined]
    index.codes = view  # type: ignore[union-attr]
    index.ntotal = count


def _packed_by(version: str) -> bytes:
    """A mark of the FAISS version: another version may not be able to unpack the codes."""
    return version.encode("ascii").ljust(_MARK_BYTES)[:_MARK_BYTES]
