"""What is pressed before the hits of the query are there: done when they are.

Keys can come faster than an answer: from a macro, over a slow line, or out of a quick
hand. Enter then means the hit of what was typed, and not of what stood there before. A
move waits only while the query has not even been asked: later it moves in the hits that
are seen. Who goes on typing wants nothing of it any more.
"""

from __future__ import annotations

MOVES = frozenset({"next_hit", "previous_hit", "next_page", "previous_page", "first_hit", "last_hit"})
_ACTS = frozenset({"open", "copy", "copy_text", "mark"})


class Held:
    def __init__(self) -> None:
        self._text = ""
        self._actions: list[str] = []

    def take(self, action_id: str, text: str, *, asked: bool, shown: bool) -> bool:
        """Keep an action for the hits of `text`, unless they are `shown` or it does not concern them."""
        if shown or action_id not in (_ACTS if asked and not self._holds(text) else _ACTS | MOVES):
            return False
        if not self._holds(text):
            self._text, self._actions = text, []
        self._actions.append(action_id)
        return True

    def give(self, text: str) -> list[str]:
        """What is to be done now that the hits of `text` are there, in its order."""
        actions = self._actions if self._holds(text) else []
        self._actions = []
        return actions

    def _holds(self, text: str) -> bool:
        return bool(self._actions) and self._text == text
