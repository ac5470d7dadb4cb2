"""What went wrong and is tried again: soon at first, then with longer and longer pauses.

A folder that cannot be read or is not there stays in the index as it was; nobody tells
when it is readable again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Iterator
from typing import Generic, TypeVar

FIRST_S, LONGEST_S = 1.0, 30.0

Key = TypeVar("Key", bound=Hashable)


class Retries(Generic[Key]):
    """Times at which things are due again; forgetting one is having succeeded."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._next: dict[Key, tuple[float, float]] = {}

    def failed(self, key: Key) -> None:
        """A failure before its time, for other reasons, does not put off the next try."""
        now = self._clock()
        when, pause = self._next.get(key, (0.0, FIRST_S / 2))
        if when <= now:
            pause = min(2 * pause, LONGEST_S)
            self._next[key] = now + pause, pause

    def succeeded(self, key: Key) -> None:
        self._next.pop(key, None)

    def due(self) -> list[Key]:
        """What is to be tried now; it has to be said how each went."""
        now = self._clock()
        return [key for key, (when, _) in self._next.items() if when <= now]

    def __iter__(self) -> Iterator[Key]:
        return iter(tuple(self._next))

    def stuck(self) -> list[Key]:
        """What went wrong again when it was tried again."""
        return [key for key, (_, pause) in self._next.items() if pause > FIRST_S]

    def holds(self, key: Key) -> bool:
        """Whether something is set aside and not yet due."""
        return key in self._next and self._next[key][0] > self._clock()

    def all_now(self) -> None:
        """Somebody says that it is worth trying."""
        self._next = dict.fromkeys(self._next, (0.0, FIRST_S / 2))
