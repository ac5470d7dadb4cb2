"""Keeps an index in step with its folders for as long as it runs; one of several at a time.

The first keeper takes the writer's lock and keeps it. It gives way to any other process
that wants to write, and takes the lock again when that has ended. Every other keeper
follows: it watches nothing and writes nothing until the first one has ended or died.
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
from kebab_tui.indexing.report import WatchCallbacks
from kebab_tui.indexing.session import Session, look_again, open_session, relation, taken_away
from kebab_tui.indexing.status import WatchSummary, expected_back, read_live
from kebab_tui.indexing.worker import IndexWorker, WorkerConfig
from kebab_tui.storage.lock import Holder, WriterLock
from kebab_tui.storage.requests import RequestFolder
from kebab_tui.storage.sqlite.connection import read_error

_BACK_S = 0.05
"""How often one who has given way looks whether the lock is free."""
_FOLLOW_S = 0.5
_FULL_S = 5.0
_HEALING_S = 30.0


class IndexDaemon:
    """Made for one run."""

    def __init__(self, charge: WorkerConfig, callbacks: WatchCallbacks) -> None:
        self._charge = charge
        self._callbacks = callbacks
        self._duty = IndexWorker(charge, callbacks)
        self._requests = RequestFolder(charge.folder.root)
        self._lock = WriterLock(charge.folder.lock)
        self._in_charge = False
        """Whether this is the keeper that the others wait for, also while it has given way."""
        self._told: int | None = 0

    def run(self, folders: Sequence[str]) -> WatchSummary:
        """Keep the sources in step, and the folders named here, until asked to stop."""
        try:
            self._declare(folders)
            while not self._callbacks.stopping():
                self._keep_once()
        finally:
            self._duty.end()
        return self._duty.board.summary()

    def _declare(self, folders: Sequence[str]) -> None:
        """Make sources of folders that are none; whoever keeps watch gives way for that moment."""
        if not self._are_news(folders):
            return
        with contextlib.ExitStack() as stack:
            with self._requests.wanting():
                session = self._become_writer(stack, asking=True)
            if session is not None:
                session.declare(self._charge.declared)
                for folder in folders:
                    session.check(folder)  # all of them before the first becomes a source
                for folder in folders:
                    session.source_for(folder)

    def _are_news(self, folders: Sequence[str]) -> bool:
        known = self._known_sources()
        related = [relation(folder, known) for folder in folders]
        return any(found is None or found[0] == "around" for found in related)

    def _known_sources(self) -> list[Source]:
        try:
            with self._charge.reader.catalogue() as catalogue:
                return catalogue.sources()
        except (NotIndexedError, StoreDamagedError):
            return []

    def _keep_once(self) -> None:
        """One time as the writer, from the lock to the moment of giving way."""
        try:
            with contextlib.ExitStack() as stack:
                session = self._become_writer(stack)
                if session is not None:
                    self._in_charge = True
                    self._serve(session)
        except StoreDamagedError:
            self._charge.reader.close()
            if not os.path.exists(self._charge.folder.sources):  # nobody would know what to read anew
                raise taken_away(self._charge.folder) from None
            with contextlib.suppress(StoreBusyError):
                folder = self._charge.folder
                if look_again(folder, _HEALING_S, self._charge.command, lambda _: None):
                    self._tell_of_damage()
                else:
                    self._sit_out(read_error(folder.database))
        except NotIndexedError:
            raise taken_away(self._charge.folder) from None
        except TEMPORARY as error:
            self._sit_out(error)

    def _serve(self, session: Session) -> None:
        session.declare(self._charge.declared)
        self._duty.board.went_well(*(kind.code for kind in TEMPORARY))
        self._duty.serve(session)
        if self._callbacks.stopping():
            self._duty.finish()
        else:
            self._duty.board.gave_way("another process")  # said before the lock is free

    def _tell_of_damage(self) -> None:
        self._duty.board.trouble(
            StoreDamagedError(
                "the index was damaged, and is read anew from your notes",
                "searches find more and more of them; the damaged one was set aside",
            )
        )

    def _become_writer(self, stack: contextlib.ExitStack, *, asking: bool = False) -> Session | None:
        """A session once nobody else writes; None when asked to stop before."""
        while not self._callbacks.stopping():
            if self._has_waited() and not os.path.isdir(self._charge.folder.root):
                raise taken_away(self._charge.folder)
            try:
                if asking or self._may_try():
                    session = stack.enter_context(self._session())
                    if session.healed:
                        self._tell_of_damage()
                    if session.unrestored:
                        self._duty.board.trouble(SourceError(session.unrestored, "see `kebab source list`"))
                    return session
            except StoreBusyError:
                pass
            except TEMPORARY as error:
                self._sit_out(error)
                continue
            self._attend()
            self._duty.wait(_BACK_S if asking or self._in_charge else _FOLLOW_S)
        return None

    def _sit_out(self, error: StoreError) -> None:
        if isinstance(error, StoreReadOnlyError) and not self._in_charge:
            raise error
        self._duty.board.trouble(error)
        self._duty.wait(_FULL_S)

    def _session(self) -> contextlib.AbstractContextManager[Session]:
        charge = self._charge
        return open_session(
            charge.folder,
            charge.reader,
            charge.command,
            0,
            lambda _: None,
            charge.bulk_chunks,
            self._lock,
            saw_the_end=self._has_waited(),
        )

    def _has_waited(self) -> bool:
        """Whether this process saw others write before it."""
        return self._in_charge or self._told != 0

    def _may_try(self) -> bool:
        """Whoever waits to write comes first, then the keeper that has given way."""
        return not self._requests.wanted() and (self._in_charge or not expected_back(self._charge.folder))

    def _attend(self) -> None:
        """Look who writes, and say so."""
        holder = self._lock.holder()
        if self._in_charge:
            self._mind_successor(holder)
        if self._in_charge:
            self._duty.board.gave_way(str(holder or "another process"))
        elif (pid := holder.pid if holder else None) != self._told:
            self._told = pid
            self._callbacks.following(holder)

    def _mind_successor(self, holder: Holder | None) -> None:
        """Another keeper has taken over: it was thought that this one had died."""
        live = read_live(self._charge.folder)
        if live is not None and holder is not None and live.pid == holder.pid != os.getpid():
            self._in_charge = False
            self._duty.let_go()
