"""Pygments' lexers, loaded by threads: one takes up to 40 ms, and no key waits for that.

Until a lexer is there its text has no colours; whoever asked is told when it is. Names are
looked up in Pygments' own table and nowhere else: its search by name asks all installed
packages for plugins, again for every fence in a language that nobody knows.
"""

from __future__ import annotations

import importlib
import re
import threading
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pygments.lexer import Lexer  # type: ignore[import-untyped]
    from pygments.token import _TokenType  # type: ignore[import-untyped]

MARKDOWN = frozenset({".md", ".markdown", ".mdown", ".mkd", ".mdx"})
_PLAIN = frozenset({"", ".txt", ".text"})
_FENCE = (
    r"^(?P<opening>[ \t]*(?:[-*+>] )?(?P<mark>```|~~~)[`~]*[ \t]*(?P<name>[\w+#.-]*)[^`\n]*\n)"
    r"(?P<code>[\s\S]*?)"
    r"(?P<closing>^[ \t]*(?P=mark)[`~]*[ \t]*(?:\n|\Z)|\Z)"
)
_ready: dict[str, type[Lexer]] = {}
"""Those that are loaded, by what they were asked for; shared, as they never change."""


class Lexers:
    """Those of one preview. `arrived` is called, by a thread, when one more is there.

    Without it nobody waits for later: they are loaded when they are asked for.
    """

    def __init__(self, arrived: Callable[[], object] | None = None) -> None:
        self._arrived = arrived
        self._wanted: set[str] = set()
        self._made: dict[str, Lexer] = {}
        self.version = 0
        """Moves when one more is there: what was coloured before may lack it."""

    def of_file(self, ending: str) -> Lexer | None:
        """The lexer for an ending such as `.md`; None where there is none, or none yet."""
        if ending in _PLAIN:
            return None
        return self.named("markdown" if ending in MARKDOWN else f"*{ending}")

    def named(self, name: str) -> Lexer | None:
        """The lexer of a language, or of a pattern of file names such as `*.py`."""
        name = "markdown" if name == "md" else name  # Pygments' own looks for plugins
        if name not in _ready and name not in self._wanted:
            self._wanted.add(name)
            if self._arrived is None:
                _load(name)
            elif not _is_unknown(name):
                threading.Thread(target=self._fetch, args=(name,), name="colours", daemon=True).start()
        if name not in self._made and name in _ready:
            options = {"fenced": self.named} if name == "markdown" else {}
            self._made[name] = _ready[name](**options)
        return self._made.get(name)

    def _fetch(self, name: str) -> None:
        assert self._arrived is not None
        if _load(name):
            self.version += 1
            self._arrived()


def _load(name: str) -> bool:
    if name == "markdown":
        found = _markdown()
    elif (place := _table().get(name)) is not None:
        found = getattr(importlib.import_module(place[0]), place[1])
    else:
        return False
    found()  # the first of its kind puts its patterns together
    _ready[name] = found
    return True


def _is_unknown(name: str) -> bool:
    """Whether that can be told at once."""
    return name != "markdown" and _table.cache_info().currsize > 0 and name not in _table()


@lru_cache(maxsize=1)
def _table() -> dict[str, tuple[str, str]]:
    """Module and class of each lexer, by its names and by the patterns of its files."""
    from pygments.lexers import LEXERS  # type: ignore[import-untyped]

    found: dict[str, tuple[str, str]] = {}
    for class_name, (module, _, names, patterns, _) in LEXERS.items():
        for name in (*names, *patterns):
            found.setdefault(name, (module, class_name))
    return found


@lru_cache(maxsize=1)
def _markdown() -> type[Lexer]:
    """Markdown whose fences are coloured by the lexers that are there."""
    from pygments.lexer import inherit
    from pygments.lexers.markup import MarkdownLexer  # type: ignore[import-untyped]
    from pygments.token import String

    def fence(lexer: Any, match: re.Match[str]) -> Iterator[tuple[int, _TokenType, str]]:
        yield match.start("opening"), String.Backtick, match["opening"]
        inner = lexer.fenced(match["name"].lower()) if match["name"] else None
        if inner is None:
            yield match.start("code"), String, match["code"]
        else:
            for start, token, value in inner.get_tokens_unprocessed(match["code"]):
                yield match.start("code") + start, token, value
        yield match.start("closing"), String.Backtick, match["closing"]

    class Fenced(MarkdownLexer):  # type: ignore[misc]
        tokens = {"root": [(_FENCE, fence), inherit]}  # noqa: RUF012

        def __init__(self, fenced: Callable[[str], Lexer | None] = lambda _: None, **options: Any) -> None:
            super().__init__(**options)
            self.fenced = fenced

    return Fenced
