"""Waits for the announcement of a new copy, in a thread with a connection of its own."""

from __future__ import annotations

import contextlib
import threading

import psycopg

from kebab_tui.storage.postgres.address import Parameters
from kebab_tui.storage.postgres.cluster import connect
from kebab_tui.storage.postgres.schema import CHANNEL

_TIMEOUT_S = 10.0
_RETRY_S = 5.0


class Listener:
    """Starts at once; without a server it tries again, and the reader polls meanwhile."""

    def __init__(self, parameters: Parameters) -> None:
        self._parameters = parameters
        self._heard = threading.Event()
        threading.Thread(target=self._run, name="kebab-listen", daemon=True).start()

    def notified(self) -> bool:
        """Whether a copy was announced since the last call."""
        heard = self._heard.is_set()
        self._heard.clear()
        return heard

    def _run(self) -> None:
        pause = threading.Event()
        while True:
            with contextlib.suppress(psycopg.Error), connect(self._parameters, _TIMEOUT_S) as connection:
                connection.execute(f"LISTEN {CHANNEL}".encode())
                self._heard.set()  # one may have been announced meanwhile
                for _ in connection.notifies():
                    self._heard.set()
            pause.wait(_RETRY_S)
