"""Leader election: one process indexes; the others wait to take over.

The leader takes the writer's lock and keeps it. It yields the lock to any other process that wants to
write, and then takes it back. A follower watches and writes nothing until the leader ends or dies.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence

from kebab_tui.domain.document import Source
from kebab_tui.domain.errors import (
    TEMPORARY,
    NotIndexedError,
    SourceError,
    StoreBusyError,
    StoreDamagedError,
    StoreError,
    StoreReadOnlyError,
)
from kebab_tui.indexing.callbacks import WatchCallbacks
from kebab_tui.indexing.session import Session, data_folder_removed, open_session, read_error, relation
from kebab_tui.indexing.status import LiveState, WatchSummary, read_live, will_resume
from kebab_tui.indexing.worker import IndexWorker, WorkerConfig
from kebab_tui.storage.ports import Rescan

_RESUME_S = 0.05
"""Interval at which a leader that yielded the lock tries to take it back."""
_FOLLOW_S = 0.5
_RETRY_S = 5.0
_RECHECK_TIMEOUT_S = 30.0


class IndexDaemon:
    """Runs once."""

    def __init__(self, config: WorkerConfig, callbacks: WatchCallbacks) -> None:
        self._config = config
        self._index = config.index
        self._callbacks = callbacks
        self._worker = IndexWorker(config, callbacks)
        self._status = self._worker.status
        self._requests = config.index.requests()
        self._lease = config.index.lease("write")
        self._leading = False
        """Whether this process is the leader, also while it yields the lock."""
        self._is_done = False
        """Whether the work that was to be done once is done, or left to another process."""
        self._followed: int | None = 0
        """Pid of the last reported leader."""

    def run(self, folders: Sequence[str]) -> WatchSummary:
        """Index the sources, and the folders named here, until asked to stop."""
        try:
            self._add_sources(folders)
            while not self._callbacks.stopping() and not self._is_done:
                self._lead()
        finally:
            self._worker.close()
        return self._status.summary()

    def _add_sources(self, folders: Sequence[str]) -> None:
        """Make new folders sources; the leader yields the lock meanwhile."""
        known: list[Source] = []
        with (
            contextlib.suppress(NotIndexedError, StoreDamagedError),
            self._index.reader.catalogue() as catalogue,
        ):
            known = catalogue.sources()
        related = [relation(folder, known) for folder in folders]
        if all(found is not None and found[0] != "around" for found in related):
            return
        with contextlib.ExitStack() as stack:
            with self._requests.wanting():
                session = self._become_writer(stack, insist=True)
            if session is not None:
                session.declare(self._config.declared)
                for folder in folders:
                    session.check(folder)  # all of them before the first becomes a source
                for folder in folders:
                    session.source_for(folder)

    def _lead(self) -> None:
        """One write session, from taking the lock to yielding it."""
        try:
            with contextlib.ExitStack() as stack:
                session = self._become_writer(stack)
                if session is None:
                    return
                self._leading = True
                session.declare(self._config.declared)
                self._status.clear_error(*(kind.code for kind in TEMPORARY))
                self._worker.serve(session)
                self._is_done = self._worker.is_done
                if self._is_done or self._callbacks.stopping():
                    self._worker.finish()
                else:
                    self._status.yielded_to("another process")  # before the lock is free
        except StoreDamagedError:
            self._index.reader.close()
            if self._index.known_sources() is None:  # nothing left to rebuild the index from
                raise data_folder_removed(self._index) from None
            with contextlib.suppress(StoreBusyError):
                if self._index.recheck(self._config.command, _RECHECK_TIMEOUT_S, lambda _: None):
                    self._report_damage()
                else:
                    self._report_and_wait(read_error(self._index))
        except NotIndexedError:
            raise data_folder_removed(self._index) from None
        except TEMPORARY as error:
            self._report_and_wait(error)

    def _become_writer(self, stack: contextlib.ExitStack, *, insist: bool = False) -> Session | None:
        """A session as soon as the lock is free; None if asked to stop before.

        Processes that wait to write come first, then the leader that yielded to them, then followers;
        `insist` skips that order. Work to be done once is left to a process that watches: that one asks
        for the lock as soon as it finds such work.
        """
        with contextlib.ExitStack() as request:
            while not self._callbacks.stopping():
                if not insist and (other := self._other_indexer()) is not None:
                    if self._config.once and not other.once:
                        self._requests.ask(Rescan(retry=True))
                        self._is_done = True
                        return None
                    if other.once and not self._config.once and not self._leading:
                        request.enter_context(self._requests.wanting())
                        insist = True
                waited = self._leading or self._followed != 0
                if waited and not os.path.isdir(self._index.folder):
                    raise data_folder_removed(self._index)
                try:
                    if insist or (
                        not self._requests.wanted() and (self._leading or not will_resume(self._index))
                    ):
                        session = stack.enter_context(
                            open_session(
                                self._index, self._config.command, 0, lambda _: None, saw_crash=waited
                            )
                        )
                        if session.healed:
                            self._report_damage()
                        if session.unrestored:
                            self._status.report_error(
                                SourceError(session.unrestored, "see `kebab source list`")
                            )
                        return session
                except StoreBusyError:
                    pass
                except TEMPORARY as error:
                    self._report_and_wait(error)
                    continue
                self._report_writer()
                self._worker.wait(_RESUME_S if insist or self._leading else _FOLLOW_S)
        return None

    def _other_indexer(self) -> LiveState | None:
        live = read_live(self._index)
        return None if live is None or live.pid == os.getpid() else live

    def _report_writer(self) -> None:
        """Report the process that owns the lock. A leader may find that another one took over."""
        holder = self._lease.holder()
        if self._config.once and not self._leading:
            if self._other_indexer() is None:
                self._status.yielded_to(str(holder or "another process"))
            return
        if self._leading:
            other = self._other_indexer()
            if other is not None and holder is not None and other.pid == holder.pid:
                self._leading = False
                self._worker.suspend()
        if self._leading:
            self._status.yielded_to(str(holder or "another process"))
        elif (pid := holder.pid if holder else None) != self._followed:
            self._followed = pid
            self._callbacks.following(holder)

    def _report_and_wait(self, error: StoreError) -> None:
        if isinstance(error, StoreReadOnlyError) and not self._leading:
            raise error
        self._status.report_error(error)
        self._worker.wait(_RETRY_S)

    def _report_damage(self) -> None:
        self._status.report_error(
            StoreDamagedError(
                "the index was damaged; your notes are being indexed again",
                "search results are incomplete until then; the damaged index was set aside",
            )
        )
