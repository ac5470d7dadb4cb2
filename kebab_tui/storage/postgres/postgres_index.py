"""An index in PostgreSQL, one server or several; implements `storage.ports.Index` for readers.

Nothing writes to it but `publish`, which copies a local index there.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Literal

from kebab_tui.domain.errors import NotIndexedError, SqlError, StoreError, StoreReadOnlyError
from kebab_tui.search.ports import FieldWeights
from kebab_tui.storage.ports import SharedOptions
from kebab_tui.storage.postgres.address import location_of, parameters_of
from kebab_tui.storage.postgres.catalogue import PostgresCatalogue
from kebab_tui.storage.postgres.cluster import Cluster
from kebab_tui.storage.postgres.read_session import Fleet, ReadSession
from kebab_tui.storage.postgres.snapshot import PostgresSnapshot

if TYPE_CHECKING:
    from kebab_tui.domain.document import Source
    from kebab_tui.domain.ids import SourceId
    from kebab_tui.storage.ports import (
        Finding,
        Holder,
        Request,
        SqlLimits,
        SqlResult,
        Waiting,
        WriterSession,
    )
    from kebab_tui.storage.postgres.vectors import PostgresFeed, PostgresVectors

_POLL_S = 5.0
"""A new copy is looked for so often where no notification arrives: from a standby, through a pooler."""


class PostgresReader:
    """Implements `storage.ports.Reader`."""

    def __init__(self, fleet: Fleet, weights: FieldWeights) -> None:
        self._fleet = fleet
        self._weights = weights
        self._local = threading.local()

    @contextlib.contextmanager
    def session(self) -> Iterator[ReadSession]:
        """The session of this thread, or a new one."""
        current: ReadSession | None = getattr(self._local, "session", None)
        if current is not None:
            yield current
            return
        session = self._local.session = ReadSession(self._fleet)
        try:
            yield session
        finally:
            self._local.session = None
            session.close()

    @contextlib.contextmanager
    def snapshot(self) -> Iterator[PostgresSnapshot]:
        with self.session() as session:
            yield PostgresSnapshot(session, self._weights)

    @contextlib.contextmanager
    def catalogue(self) -> Iterator[PostgresCatalogue]:
        with self.session() as session:
            yield PostgresCatalogue(session)

    def roots(self) -> list[tuple[SourceId, str]]:
        with self.session() as session:
            return [(one.source_id, one.root) for one in session.sources().values()]

    @contextlib.contextmanager
    def vectors(self, model: str) -> Iterator[PostgresFeed]:
        from kebab_tui.storage.postgres.vectors import PostgresFeed  # a keyword search needs no NumPy

        with self.session() as session:
            yield PostgresFeed(session, model)

    def close(self) -> None:
        self._fleet.cluster.close()


class PostgresIndex:
    def __init__(
        self, url: str, folder: str, weights: FieldWeights, options: SharedOptions | None = None
    ) -> None:
        options = options or SharedOptions()
        parameters = parameters_of(url)
        self.folder = folder
        self.location = location_of(parameters)
        self._parameters = parameters
        self._cluster = Cluster(options.deadline_s, options.on_missing_shard)
        self._fleet = Fleet(parameters, self._cluster, dict(options.roots))
        self.reader = PostgresReader(self._fleet, weights)

    @property
    def round_trips(self) -> int:
        """So far, for tests and figures."""
        return self._cluster.exchanges

    @property
    def round_trips_beside(self) -> int:
        """Scans of vectors that were begun with another trip."""
        return self._cluster.beside

    def forget_answers(self) -> None:
        """Ask the servers again, for tests and figures."""
        self._fleet.kept.clear()

    def exists(self) -> bool:
        try:
            with self.reader.session() as session:
                return session.copy.number > 0
        except NotIndexedError:
            return False

    def size(self) -> int:
        with self.reader.session() as session:
            name = f"kebab_{session.copy.number}"
            read = session.all(
                "SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0)::bigint FROM pg_class c "
                f"JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = '{name}' AND c.relkind "
                f"= 'r'"
            )
            return sum(row[0] for row in read)

    def version(self, made_by: str) -> str:
        """That of the copy, unless its words are another program's: a reader cannot index it anew."""
        from kebab_tui.storage.sqlite import schema as local

        own = local.lexical_version(local.fts_signature(), made_by)
        with contextlib.suppress(StoreError, NotIndexedError), self.reader.session() as session:
            facts = session.copy.facts
            return facts.lexical_version if facts.signature == local.fts_signature() else own
        return own

    def known_sources(self) -> list[Source] | None:
        return None

    def change_check(self) -> Callable[[], bool]:
        from kebab_tui.storage.postgres.notifications import Listener

        listener = Listener(self._parameters)
        polled = [time.monotonic()]

        def may_have_changed() -> bool:
            if listener.notified() or time.monotonic() - polled[0] > _POLL_S:
                polled[0] = time.monotonic()
                return True
            return False

        return may_have_changed

    def sql(self, statement: str, limits: SqlLimits) -> SqlResult:
        raise SqlError("`kebab sql` reads an index on this machine", f"use psql with {self.location}")

    def check(self, chunker: str) -> Iterator[Finding]:
        from kebab_tui.storage.postgres.health import check_index

        return check_index(self._fleet, self.reader)

    def vector_index(self, model: str, dims: int, *, may_save: bool = False) -> PostgresVectors:
        from kebab_tui.storage.postgres.vectors import PostgresVectors

        return PostgresVectors(self.reader.session, model, dims)

    def lease(self, purpose: Literal["write", "embed"]) -> ReadOnlyLease:
        return ReadOnlyLease(self.location)

    def requests(self) -> NoRequests:
        return NoRequests()

    def write(
        self,
        command: str,
        timeout_s: float,
        waiting: Waiting,
        *,
        saw_crash: bool = False,
    ) -> AbstractContextManager[WriterSession]:
        raise _read_only(self.location)

    def recheck(self, command: str, timeout_s: float, waiting: Waiting) -> str:
        raise _read_only(self.location)


class ReadOnlyLease:
    """Implements `Lease`: nobody gets it."""

    def __init__(self, location: str) -> None:
        self._location = location

    def acquire(self, command: str, timeout_s: float, waiting: Waiting) -> bool:
        raise _read_only(self._location)

    def release(self) -> None:
        pass

    def is_in_place(self) -> bool:
        return False

    def holder(self) -> Holder | None:
        return None


class NoRequests:
    """Implements `Requests`: there is no writer to ask."""

    def ask(self, request: Request) -> None:
        pass

    @contextlib.contextmanager
    def wanting(self) -> Iterator[None]:
        yield

    @contextlib.contextmanager
    def undoing(self) -> Iterator[None]:
        yield

    def may_undo(self) -> bool:
        return False

    def wanted(self) -> bool:
        return False

    def look(self) -> tuple[bool, list[Request]]:
        return False, []


def _read_only(location: str) -> StoreReadOnlyError:
    return StoreReadOnlyError(
        f"the shared index {location} is read-only",
        "change the notes and index them on the machine that publishes them: `kebab index --copy-to URL`",
    )
