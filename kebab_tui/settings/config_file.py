"""The configuration file as text: reading it, parsing it, and saying which line a value stands in.

Knows TOML, but no setting; refuses anything that is not a small UTF-8 text.
"""

from __future__ import annotations

import re
from typing import Any

from kebab_tui.domain.errors import ConfigError

Path = tuple[str | int, ...]
"""Names and list positions that lead to a value in the file."""

_LARGEST = 1 << 20
_TOML_HINT = 'write `key = value`, text in "quotes"'


def read(path: str, named_by: str) -> str:
    """The file's text; empty when nobody named the file and it is not there."""
    try:
        with open(path, "rb") as file:
            data = file.read(_LARGEST + 1)
    except (FileNotFoundError, NotADirectoryError):
        if not named_by:
            return ""
        raise ConfigError(
            f"{named_by}: there is no file {path}", f"`kebab init --path {path}` writes one to start from"
        ) from None
    except OSError as error:
        raise ConfigError(
            f"{named_by}: ".removeprefix(": ") + f"cannot read the configuration {path}: {error.strerror}",
            "make it a file that you can read, or name another one with --config",
        ) from None
    if len(data) > _LARGEST:
        raise ConfigError(
            f"{path} is too large for a configuration file (more than 1 MB)", "name another one with --config"
        )
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ConfigError(f"{path}:{line}: not UTF-8 text", "save the file as UTF-8") from None


def parse(text: str, path: str) -> dict[str, Any]:
    """The tables of `text`; `path` is only for the refusal."""
    import tomllib

    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        place = re.search(r"\A(.*) \(at line (\d+), column (\d+)\)\Z", str(error))
        line, what = (place[2], f"{place[1]} (column {place[3]})") if place else ("1", str(error))
        if "end of document" in str(error):
            line = str(text.count("\n") + 1)
        raise ConfigError(f"{path}:{line}: not TOML: {what}", _TOML_HINT) from None


def line_of(text: str, path: Path) -> int:
    """The 1-based line where the statement begins that sets `path`, or the nearest thing around it.

    A statement belongs to the first piece of the file that is TOML by itself and holds
    the path, so the parser itself answers: exact for multi-line texts, arrays and tables.
    """
    import tomllib
    from bisect import bisect_left

    lines = text.split("\n")
    wanted = _steps(tomllib.loads(text), path)

    def holds(count: int) -> bool:
        for end in range(count, len(lines) + 1):
            try:
                return _steps(tomllib.loads("\n".join(lines[:end])), path) >= wanted
            except ValueError:
                continue
        return True

    return max(1, bisect_left(range(len(lines) + 1), True, key=holds))


def _steps(tree: Any, path: Path) -> int:
    """How many steps of `path` exist in the tree."""
    for count, step in enumerate(path):
        try:
            tree = tree[step]
        except (KeyError, IndexError, TypeError):
            return count
    return len(path)
