"""A thread that reads documents with pages: a hostile one takes seconds, and search must not wait for it."""

from __future__ import annotations

import threading
from collections.abc import Callable


class PageThread:
    """Runs jobs one after the other; the thread exists while there are some."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._jobs: dict[str, Callable[[], None]] = {}
        self._is_running = False

    def run(self, name: str, job: Callable[[], None]) -> None:
        """Replaces a waiting job of the same name."""
        with self._guard:
            self._jobs.pop(name, None)
            self._jobs[name] = job
            if not self._is_running:
                self._is_running = True
                threading.Thread(target=self._work, name="pages", daemon=True).start()

    def _work(self) -> None:
        while True:
            with self._guard:
                if not self._jobs:
                    self._is_running = False
                    return
                job = self._jobs.pop(next(iter(self._jobs)))
            job()
