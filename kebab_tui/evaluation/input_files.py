"""Reading what somebody else wrote: every refusal names the file, and the line where one is to blame.

Takes UTF-8 only, with or without a byte order mark. Knows no format.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from difflib import get_close_matches

from kebab_tui.domain.errors import UsageError


def read_text(path: str, hint: str = "") -> str:
    """The whole file."""
    try:
        with open(path, "rb") as file:
            data = file.read()
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise refusal(path, data.count(b"\n", 0, error.start) + 1, "not UTF-8 text") from None
    except (OSError, ValueError) as error:
        raise _unreadable(path, error, hint) from None


def numbered_lines(path: str, hint: str = "") -> Iterator[tuple[int, str]]:
    """The lines that are not blank, without their ends, numbered from 1."""
    try:
        with open(path, "rb") as file:
            for number, line in enumerate(file, 1):
                if text := _decoded(path, number, line).strip("\r\n"):
                    yield number, text
    except (OSError, ValueError) as error:
        raise _unreadable(path, error, hint) from None


def refusal(path: str, line: int, what: str, hint: str = "") -> UsageError:
    return UsageError(f"{path}:{line}: {what}", hint)


def nearest(word: str, known: Iterable[str]) -> str:
    """`did you mean …?`, where something is near."""
    near = get_close_matches(word, list(known), 1)
    return f"did you mean {near[0]}?" if near else ""


def _decoded(path: str, number: int, line: bytes) -> str:
    try:
        return line.decode("utf-8-sig" if number == 1 else "utf-8")
    except UnicodeDecodeError:
        raise refusal(path, number, "not UTF-8 text") from None


def _unreadable(path: str, error: OSError | ValueError, hint: str) -> UsageError:
    """A path with a NUL in it is a ValueError; everything else is the system's word."""
    reason = error.strerror if isinstance(error, OSError) and error.errno else str(error)
    return UsageError(f"cannot read {path}: {reason}", hint)
