"""Runs the indexing process and passes on what it tells. Never waits for it.

One run at a time; what is asked for meanwhile is done by a run right after. Leaving the
screen asks the process to end and does not look back: it stops at a file boundary, and a
run that is killed loses nothing.
"""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from typing import IO, TYPE_CHECKING, Any

from kebab_tui.tui.messages import IndexingProgress

if TYPE_CHECKING:
    from textual.message import Message


class BackgroundIndexing:
    """Started by the screen, told to stop by the screen."""

    def __init__(self, data_folder: str, config: str, post: Callable[[Message], object]) -> None:
        self._data_folder = data_folder
        self._config = config
        self._post = post
        self._lock = threading.Lock()  # held while the process is looked at or replaced
        self._process: subprocess.Popen[str] | None = None
        self._again: tuple[str, ...] | None = None
        self._closing = False

    def start(self, folders: Sequence[str]) -> None:
        """Bring the folders up to date; none named is all of them."""
        with self._lock:
            if self._process is not None:
                self._again = tuple(folders)
            else:
                self._launch(tuple(folders))

    def close(self) -> None:
        with self._lock:
            self._closing = True
            if self._process is not None:
                with contextlib.suppress(OSError):
                    self._process.terminate()

    def _launch(self, folders: tuple[str, ...]) -> None:
        argv = [sys.executable, "-m", "kebab_tui.tui.indexer", self._data_folder, self._config, *folders]
        self._process = subprocess.Popen(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            start_new_session=True,  # ctrl+c in the terminal is the screen's affair
        )
        threading.Thread(target=self._listen, args=(self._process,), name="indexing", daemon=True).start()

    def _listen(self, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None
        failed = 0
        with process:
            for facts in _told(process.stdout):
                failed = facts.get("failed", failed)
                if not self._closing:
                    self._post(_progress(facts, failed))
        with self._lock:
            self._process = None
            again, self._again = self._again, None
            if again is not None and not self._closing:
                self._launch(again)


def _told(lines: IO[str]) -> list[dict[str, Any]] | Any:
    for line in lines:
        with contextlib.suppress(ValueError):
            yield json.loads(line)


def _progress(facts: dict[str, Any], failed: int) -> IndexingProgress:
    match facts:
        case {"state": "reading", "done": done, "total": total}:
            text = f"reading {done:,} of {total:,}"
            return IndexingProgress(text, running=True, done=done, total=total, failed=failed)
        case {"state": "embedding", "done": done, "total": total, "rate": rate} if total:
            text = f"vectors {done:,} of {total:,}, {rate:,.0f}/s"
            return IndexingProgress(text, running=True, failed=failed)
        case {"state": "waiting", "holder": holder}:
            return IndexingProgress(f"waiting for {holder}", running=True)
        case {"state": "error", "message": message, "code": code}:
            return IndexingProgress(f"not indexed: {message}", running=False, code=code)
    return IndexingProgress("", running=facts.get("state") != "done", failed=failed)
