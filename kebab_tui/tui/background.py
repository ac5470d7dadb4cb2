"""Runs the indexing processes and passes on what they tell. Never waits for them.

One that keeps the index in step as long as the screen is there, where that is wanted; it is
begun again when somebody kills it. And runs that do one thing, one at a time: what is asked
for meanwhile is done by a run right after. Leaving the screen asks them to end and does
not look back: they stop at a file boundary, and one that is killed loses nothing.
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


_BEGIN_AGAIN_S, _LONGEST_PAUSE_S = 1.0, 60.0
"""The pause before a keeper is begun again; twice as long each time while none gets to work."""
_KEEP = ("--watch",)


class BackgroundIndexing:
    """Started by the screen, told to stop by the screen."""

    def __init__(self, data_folder: str, config: str, post: Callable[[Message], object]) -> None:
        self._data_folder = data_folder
        self._config = config
        self._post = post
        self._lock = threading.Lock()  # held while the processes are looked at or replaced
        self._process: subprocess.Popen[str] | None = None
        self._keeper: subprocess.Popen[str] | None = None
        self._undeclared: tuple[str, ...] = ()
        """Folders that the keeper has been given and may not have in the index yet."""
        self._pause_s = _BEGIN_AGAIN_S
        self._again: tuple[str, ...] | None = None
        self._closing = threading.Event()

    @property
    def keeper_pid(self) -> int:
        """The process that keeps the index in step for this screen, or waits to; 0: there is none."""
        keeper = self._keeper
        return keeper.pid if keeper is not None else 0

    def keep(self, folders: Sequence[str]) -> None:
        """Keep all sources in step from now on, these folders among them."""
        with self._lock:
            if self._keeper is None and not self._closing.is_set():
                self._undeclared = tuple(folders)
                self._keeper = self._launch((*_KEEP, self._data_folder, self._config, *folders), self._kept)

    def start(self, folders: Sequence[str]) -> None:
        """Bring the folders up to date once; none named is all of them."""
        with self._lock:
            if self._process is not None:
                self._again = tuple(folders)
            elif not self._closing.is_set():
                self._process = self._launch((self._data_folder, self._config, *folders), self._done)

    def close(self) -> None:
        with self._lock:
            self._closing.set()
            for process in (self._process, self._keeper):
                if process is not None:
                    with contextlib.suppress(OSError):
                        process.terminate()

    def _launch(
        self, arguments: Sequence[str], ended: Callable[[subprocess.Popen[str], bool], None]
    ) -> subprocess.Popen[str]:
        """`ended` is told of the process and whether it said that beginning again is of no use."""
        process = subprocess.Popen(
            [sys.executable, "-m", "kebab_tui.tui.indexer", *arguments],
            stdin=subprocess.PIPE,  # its end is ours, also when we are killed
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            start_new_session=True,  # ctrl+c in the terminal is the screen's affair
        )
        threading.Thread(target=self._listen, args=(process, ended), name="indexing", daemon=True).start()
        return process

    def _listen(
        self, process: subprocess.Popen[str], ended: Callable[[subprocess.Popen[str], bool], None]
    ) -> None:
        assert process.stdout is not None
        failed, final = 0, False
        with process:
            for facts in _told(process.stdout):
                failed = facts.get("failed", failed)
                final = facts.get("state") in _LAST_WORDS and facts.get("code") != _READ_ONLY
                if facts.get("state") in _LIVE_SAYS_MORE:
                    self._undeclared, self._pause_s = (), _BEGIN_AGAIN_S
                elif not self._closing.is_set():
                    self._post(_progress(facts, failed))
        ended(process, final)

    def _done(self, _process: subprocess.Popen[str], _final: bool) -> None:
        with self._lock:
            self._process = None
            again, self._again = self._again, None
        if again is not None:
            self.start(again)

    def _kept(self, _process: subprocess.Popen[str], final: bool) -> None:
        """Begin again what was killed, or what could not write to the data folder."""
        with self._lock:
            self._keeper = None
        pause, self._pause_s = self._pause_s, min(2 * self._pause_s, _LONGEST_PAUSE_S)
        if not final and not self._closing.wait(pause):
            self.keep(self._undeclared)


_LAST_WORDS = ("done", "error")
_READ_ONLY = "readonly"
"""The code of an error that goes away by itself when the data folder can be written again."""
_LIVE_SAYS_MORE = ("keeping", "following")


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
        case {"state": "error" | "trouble", "message": message, "code": code, "hint": hint}:
            ending = f" ({hint})" if hint else ""
            return IndexingProgress(f"not indexed: {message}{ending}", running=False, code=code)
    return IndexingProgress("", running=facts.get("state") != "done", failed=failed)
