"""An immutable set of vectors that FAISS can search. The only module that imports faiss.

A segment is filled once and never changes, so any number of threads search it without a lock. Its
slots are sorted by row. A long passage has several slots, one for each part that the model reads.
Each code then is `0.65 * part + 0.35 * whole`, where `whole` is the sum of the parts, brought to
length 1. So the cosine of the row is the greatest product of the query and a slot: FAISS ranks by it.

A segment of up to 2,048 vectors is scanned with NumPy and never loads FAISS, which shortens a cold
start noticeably. A larger one is scanned exactly (SQfp16); on request it gets a coarse index (RaBitQ
fast scan), whose best slots are refined on the same fp16 codes. No IDMap: it would hold a replaced
row twice under one id.

FAISS checks its input with `assert`: with `python -O` it reads a vector of another length out of
bounds, and it ranks a NaN anywhere. So this module validates all vectors first.
"""

from __future__ import annotations

import itertools
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
_K_FACTOR = 10
_COARSE_MOST = 500
_COARSE_SHARE = 20
"""The coarse index fetches at most so many slots, and at most one in twenty: more is as slow as a scan."""
_ROUNDING = 1e-5
"""More than the error of FAISS's fp32 sums."""
_BLOCK = 8_192
_SPARSE = 16
_TRAINING = 65_536


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
    cosines: Scores = products.sum(axis=1).clip(-1.0, 1.0).astype(np.float32)
    return cosines


class SlotMask:
    """The slots of a segment that a search may return."""

    def __init__(self, mask: Mask) -> None:
        self.mask = mask
        self.count = int(np.count_nonzero(mask))
        self.share = self.count / max(1, len(mask))

    @cached_property
    def parameters(self) -> faiss.SearchParameters:
        import faiss

        bits = np.packbits(self.mask, bitorder="little")
        # The stubs know only the C++ constructors; the Python ones keep their arguments alive.
        selector = faiss.IDSelectorBitmap(bits)  # type: ignore[call-arg,arg-type]
        return faiss.SearchParameters(sel=selector)  # type: ignore[call-arg]


class FaissSegment:
    """FAISS reads the memory of `codes`: fill it before other threads see the segment."""

    __slots__ = ("_coarse", "_firsts", "_flat", "_refined", "codes", "dims", "rows")

    def __init__(self, rows: Rows, dims: int) -> None:
        self.rows = rows
        self.dims = dims
        self._firsts: Mask | None = None
        self._flat: faiss.IndexScalarQuantizer | None = None
        few = len(rows) <= _FEW
        self.codes: Codes = np.empty((len(rows), dims), np.float16) if few else self._faiss_codes(len(rows))
        self._coarse: faiss.IndexRaBitQFastScan | None = None
        self._refined: faiss.IndexRefine | None = None

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def is_coarse(self) -> bool:
        return self._coarse is not None

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

    def candidates(self, query: Vector, count: int, allowed: SlotMask | None) -> Slots:
        """Slots that include the best of the `count` best allowed rows, and all that tie with the last."""
        total = len(self) if allowed is None else allowed.count
        fetch = total if self._flat is None else count + _SLACK
        has_parts = self._flat is not None and self.row_count < len(self)
        if has_parts:
            # A second scan would cost more than to fetch too many. The parts of a passage are near together.
            usual = count * len(self) // self.row_count + _SLACK
            fetch = max(usual, min(2 * usual, _COARSE_MOST)) if self.is_coarse else 2 * usual
        while fetch < total:
            scores, slots = self._search(query, fetch, allowed)
            if len(slots) > count:
                if has_parts:
                    rows, firsts, places = np.unique(self.rows[slots], return_index=True, return_inverse=True)
                    if len(rows) >= count:
                        worst = scores[np.partition(firsts, count - 1)[count - 1]] - _ROUNDING
                        if scores[-1] < worst:
                            is_best = scores >= scores[firsts][places] - _ROUNDING
                            found: Slots = slots[is_best & (scores >= worst)]
                            return found
                elif scores[-1] < scores[count - 1] - _ROUNDING:
                    return slots
            fetch *= 2 if has_parts else 4
        return np.arange(total) if allowed is None else np.flatnonzero(allowed.mask)

    def make_coarse(self, stopped: Callable[[], bool]) -> bool:
        """Build the coarse index from the codes; False if stopped."""
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
        """The coarse index as plain arrays, centre and codes; empty if there is none."""
        if self._coarse is None:
            return b""
        import faiss

        centre = faiss.vector_to_array(self._coarse.center)
        codes = faiss.AlignedTable_to_array(self._coarse.codes)
        return b"".join((_packed_by(faiss.__version__), centre.tobytes(), codes.tobytes()))

    def load_coarse(self, data: bytes) -> None:
        """Restore the result of `coarse_bytes`; ValueError for other data.

        FAISS parses nothing: this checks the sizes, and any bytes are valid codes.
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
        if not (np.abs(centre) <= 1).all():  # the norm of its vectors is 1; also False for NaN
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

    def _faiss_codes(self, count: int) -> Codes:
        import faiss

        codes: Codes = np.empty((count, self.dims), np.float16)
        quantizer = faiss.ScalarQuantizer.QT_fp16
        self._flat = faiss.IndexScalarQuantizer(self.dims, quantizer, faiss.METRIC_INNER_PRODUCT)
        # FAISS reads NumPy's memory, which comes in large pages that are not zeroed. The segment owns it.
        start = faiss.swig_ptr(codes.reshape(-1).view(np.uint8))
        no_owner = self._flat.codes.owner  # type: ignore[attr-defined]  # newer than the stubs, as is the next
        view = faiss.MaybeOwnedVectorUInt8.create_view(start, codes.nbytes, no_owner)  # type: ignore[attr-defined]
        self._flat.codes = view
        self._flat.ntotal = count
        return codes

    @property
    def _exact(self) -> faiss.Index:
        assert self._flat is not None, "FAISS never scans a segment of a few vectors"
        return self._flat

    def _adopt(self, coarse: faiss.IndexRaBitQFastScan) -> None:
        import faiss

        if self._flat is None:
            self.codes, few = self._faiss_codes(len(self)), self.codes
            self.codes[:] = few
        self._coarse = coarse
        self._refined = faiss.IndexRefine(coarse, self._exact)
        self._refined.k_factor = _K_FACTOR

    def _search(self, query: Vector, fetch: int, allowed: SlotMask | None) -> tuple[Scores, Slots]:
        if allowed is None:
            return self._scan(query, fetch)
        enough = min(len(self), int(fetch / allowed.share * 1.25) + _SLACK)
        if allowed.share >= _DENSE or self._serves_coarsely(enough):
            scores, slots = self._scan(query, enough)
            passed = allowed.mask[slots]
            if np.count_nonzero(passed) >= fetch:  # then these are the best allowed ones
                return scores[passed][:fetch], slots[passed][:fetch]
        return self._query(self._exact, query, fetch, allowed)

    def _serves_coarsely(self, fetch: int) -> bool:
        return self.is_coarse and fetch <= min(_COARSE_MOST, len(self) // _COARSE_SHARE)

    def _scan(self, query: Vector, fetch: int) -> tuple[Scores, Slots]:
        if self._refined is not None and self._serves_coarsely(fetch):
            return self._query(self._refined, query, fetch, None)
        return self._query(self._exact, query, fetch, None)

    def _query(
        self, index: faiss.Index, query: Vector, fetch: int, allowed: SlotMask | None
    ) -> tuple[Scores, Slots]:
        import faiss

        # The setting is per thread; with several threads one query is 3x slower.
        faiss.omp_set_num_threads(1)
        parameters = None if allowed is None else allowed.parameters
        scores, slots = index.search(query[np.newaxis], fetch, params=parameters)
        found = slots[0] >= 0
        return scores[0][found], slots[0][found]


def _packed_by(version: str) -> bytes:
    """A mark of the FAISS version: another version may not be able to unpack the codes."""
    return version.encode("ascii").ljust(16)[:16]
