"""The vectors of a shared index: implements `VectorIndex`, `FollowedVectors` and `ChangeFeed`.

A scan on the servers finds the nearest candidates, some more than asked for; their codes come back, and the
cosine is computed here by the same function as for a local index. So it has the same digits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import cache

import numpy as np

from kebab_tui.domain.ids import ChunkRow
from kebab_tui.search.ports import Among, Near, PartCosines, Vector
from kebab_tui.storage.ports import PendingCount, PendingText, VectorCount
from kebab_tui.storage.postgres.cluster import Rows, Statement
from kebab_tui.storage.postgres.filter_sql import passing
from kebab_tui.storage.postgres.match_sql import array, matched, passages
from kebab_tui.storage.postgres.read_session import STATISTICS, ReadSession
from kebab_tui.vectors.segment import Codes, exact_cosines, part_cosines, validated_query
from kebab_tui.vectors.sync import Opened

_SLACK = 16
_ROUNDING = 1e-5
"""More than the error of the server's sums."""
_HEAD = 4
"""Bytes of a halfvec before its numbers."""
_INDEX = passages((1.0, 1.0, 1.0, 1.0))


class PostgresVectors:
    def __init__(
        self, reading: Callable[[], AbstractContextManager[ReadSession]], model: str, dims: int
    ) -> None:
        self._reading = reading
        self._model = model
        self._dims = dims

    # As `FollowedVectors`

    @property
    def index(self) -> PostgresVectors:
        return self

    def open(self, *, fully: bool = False) -> Opened:
        return Opened("loaded", "")

    def catch_up(self) -> bool:
        return False  # a search uses the vectors of its snapshot's copy

    def close(self) -> str:
        return ""

    # As `VectorIndex`

    @property
    def count(self) -> int:
        with self._reading() as session:
            return _vectors(session, self._model)

    def nearest(self, query: Vector, k: int, among: Among | None = None) -> list[Near]:
        with self._reading():
            return self.begin(query, k, [among])()[0]

    def begin(self, query: Vector, k: int, among: Sequence[Among | None]) -> Callable[[], list[list[Near]]]:
        """A search that was begun before its words were known is not begun again."""
        valid = validated_query(query, self._dims)
        if k <= 0:
            return lambda: [[] for _ in among]
        with self._reading() as session:
            if not _fits(session, self._model):
                return lambda: [[] for _ in among]
            session.codes = {} if session.codes is None else session.codes
            statements = tuple(self._scan(session, valid, _fetched(k), one) for one in among)
            if statements not in session.scans:
                session.scans[statements] = cache(session.begin(statements))
            finish = session.scans[statements]

            def found() -> list[list[Near]]:
                with self._reading() as session:
                    read = finish()
                    return [
                        self._best(session, valid, k, one, rows)
                        for one, rows in zip(among, read, strict=True)
                    ]

        return found

    def _best(
        self, session: ReadSession, query: Vector, k: int, among: Among | None, found: list[Rows]
    ) -> list[Near]:
        fetched = _fetched(k)
        while True:
            rows = [row for shard in found for row in shard]
            best: dict[int, float] = {}
            if rows:
                codes = _codes([row[1] for row in rows])
                session.is_hangul |= {row[0]: row[3] for row in rows}
                session.chunk_ids |= {row[0]: row[4] for row in rows}
                for (row, *_), cosine in zip(rows, exact_cosines(codes, query).tolist(), strict=True):
                    best[row] = max(cosine, best.get(row, -2.0))
            ordered = sorted(best.items(), key=lambda one: (-one[1], one[0]))[:k]
            full = [shard for shard in found if len(shard) == fetched]
            # What was not fetched is at most as near as the last of its shard.
            reach = max((-shard[-1][2] for shard in full), default=-2.0) + _ROUNDING
            is_enough = session.copy.facts.approximate or (ordered and ordered[-1][1] > reach)
            if not full or (len(ordered) == k and is_enough):
                return [Near(ChunkRow(row), cosine) for row, cosine in ordered]
            fetched *= 2
            found = session.ask(self._scan(session, query, fetched, among))

    def _scan(self, session: ReadSession, query: Vector, limit: int, among: Among | None) -> str:
        distance = f"v.emb <#> {_literal(query, self._dims)}"
        if session.likely_copy.facts.approximate:
            session.approximate = True
        else:  # PostgreSQL rounds the query to half precision: what is left is added
            rest = query - query.astype(np.float16)
            distance = f"({distance}) + (v.emb <#> {_literal(rest, self._dims)})"
        where = []
        if among is not None and among.script is not None:
            where.append("v.hangul" if among.script == "hangul" else "NOT v.hangul")
        if among is not None and among.match is not None:
            where.append(f"v.row IN ({matched(among.match, _INDEX)})")
        if among is not None and among.filters.active:
            where.append(f"v.row IN ({passing(among.filters)})")
        where += [
            f"NOT EXISTS (SELECT 1 FROM ({matched(excluded, _INDEX)}) x WHERE x.row = v.row)"
            for excluded in (among.without if among is not None else ())
        ]
        nearest = (
            f"SELECT v.ctid, {distance} AS d FROM vec v WHERE {' AND '.join(where) or 'true'} "
            f"ORDER BY d LIMIT {int(limit)}"
        )
        return (  # codes are wide: they are read of the nearest alone
            f"SELECT v.row, v.emb, n.d, v.hangul, c.chunk_id FROM ({nearest}) n "
            "JOIN vec v ON v.ctid = n.ctid JOIN chunk c ON c.row = v.row ORDER BY n.d"
        )

    def cosines(self, query: Vector, rows: Sequence[ChunkRow]) -> Mapping[ChunkRow, float]:
        if not rows:
            return {}
        with self._reading() as session:
            if not _fits(session, self._model):
                return {}
            session.codes = {} if session.codes is None else session.codes
            session.fetch_codes(rows)
            read = [(row, code) for row in rows for code in session.codes[row]]
        found: dict[ChunkRow, float] = {}
        if read:
            cosines = exact_cosines(_codes([code for _, code in read]), validated_query(query, self._dims))
            for (row, _), cosine in zip(read, cosines.tolist(), strict=True):
                found[row] = max(cosine, found.get(row, -1.0))
        return found

    def parts(self, query: Vector, row: ChunkRow) -> PartCosines | None:
        with self._reading() as session:
            if not _fits(session, self._model):
                return None
            session.codes = {} if session.codes is None else session.codes
            session.fetch_codes([row])
            read = session.codes[row]
        return part_cosines(_codes(read), validated_query(query, self._dims)) if read else None


class PostgresFeed:
    """Implements `ChangeFeed`: nothing is pending in a copy, and nothing changes."""

    def __init__(self, session: ReadSession, model: str) -> None:
        self._session = session
        self._model = model

    def revision(self) -> int:
        return self._session.copy.facts.revision

    def all(self) -> Iterator[tuple[int, bytes]]:
        if _fits(self._session, self._model):
            self._session.expect([Statement(STATISTICS)], later=True)
            for rows in self._session.ask("SELECT row, emb FROM vec WHERE part = 0 LIMIT 1"):
                yield from ((row, _plain(emb)) for row, emb in rows)

    def change_count(self, revision: int) -> int | None:
        return 0 if revision == self.revision() else None

    def changes_after(self, revision: int) -> tuple[list[tuple[int, bytes]], list[int]] | None:
        return ([], []) if revision == self.revision() else None

    def vectors(self, rows: Sequence[int]) -> dict[int, bytes]:
        if not rows or not _fits(self._session, self._model):
            return {}
        few = array(list(rows), "bigint")
        several = f"SELECT row, vector FROM embedded WHERE row = ANY({few})"
        read = self._session.all(f"SELECT row, emb FROM vec WHERE part = 0 AND row = ANY({few})", several)
        return {row: _plain(emb) for row, emb in read} | dict(self._session.all(several))

    def pending(self, limit: int) -> list[PendingText]:
        return []

    def pending_of(self, rows: Sequence[ChunkRow]) -> list[PendingText]:
        return []

    def pending_since(self, revision: int) -> list[PendingText] | None:
        return []

    def still_pending(self, hashes: Sequence[bytes]) -> set[bytes]:
        return set()

    def pending_count(self, *, fully: bool = False) -> PendingCount:
        chunks = self._session.totals()[0]
        missing = chunks - _vectors(self._session, self._model)
        return PendingCount(missing, missing)

    def count(self) -> VectorCount:
        number = _vectors(self._session, self._model)
        return VectorCount(number, number)


def _fetched(k: int) -> int:
    """How many vectors are read for the `k` nearest passages, some of which have several."""
    return k + k // 2 + _SLACK


def _fits(session: ReadSession, model: str) -> bool:
    """Whether the vectors of the copy are of this model."""
    return session.likely_copy.facts.fingerprint == model


def _vectors(session: ReadSession, model: str) -> int:
    return session.totals()[3] if _fits(session, model) else 0


def _codes(vectors: Sequence[bytes]) -> Codes:
    """Halfvecs as they come over the wire."""
    joined = b"".join(one[_HEAD:] for one in vectors)
    return np.frombuffer(joined, ">f2").astype(np.float16).reshape(len(vectors), -1)


def _literal(vector: Vector, dims: int) -> str:
    return f"'[{','.join(map(repr, vector.tolist()))}]'::halfvec({dims})"


def _plain(vector: bytes) -> bytes:
    return np.frombuffer(vector[_HEAD:], ">f2").astype(np.float16).tobytes()
