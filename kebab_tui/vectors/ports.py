"""What the vector index needs of whoever keeps the vectors, as Protocols.

The keeper is the truth. Vectors travel as fp16 blobs of `2 * dims` bytes; rows are
`chunks.id`, which is never reused.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Protocol


class RowVector(Protocol):
    @property
    def row(self) -> int: ...

    @property
    def vector(self) -> bytes: ...


class Changes(Protocol):
    """What happened up to `revision`: the rows that went, then those that have a vector now."""

    @property
    def revision(self) -> int: ...

    @property
    def added(self) -> Sequence[RowVector]: ...

    @property
    def removed(self) -> Sequence[int]: ...


class VectorLog(Protocol):
    """One moment of one model's vectors."""

    def revision(self) -> int: ...

    def all(self) -> Iterator[tuple[int, bytes]]:
        """Every row that has a vector, in any order."""
        ...

    def changes_after(self, revision: int) -> Changes | None:
        """None when the log does not reach back so far, or the revision is not one of its own."""
        ...

    def vectors(self, rows: Sequence[int]) -> Mapping[int, bytes]: ...


class VectorStore(Protocol):
    def vectors(self, model: str) -> AbstractContextManager[VectorLog]: ...
