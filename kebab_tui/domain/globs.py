"""What `path:` means.

Patterns are matched against a note's whole path (POSIX, NFC, relative to the source's
root), in any case. `*` and `?` stay within a folder, `**` crosses folders, `[ab]` and
`[!ab]` are sets. Without a wildcard, `path:infra` is a part of the path, wherever it
stands, and `path:ops/runbooks`, with a slash, is that file or everything below that
folder. The expressions never backtrack far: every gap is closed at its first fit, which
is enough because what follows a gap begins with another one or ends the path.
"""

from __future__ import annotations

import re
import unicodedata

_LONGEST = 400
_WILDCARD = re.compile(r"[*?\[]")
_GAP = re.compile(r"((?:(?<=/)|\A)\*\*+/|\*\*+)")
_SPECIAL = re.compile(r"[\\\[\]&|~^]")
_PIECE = re.compile(r"\*|\?|\[[!^]?\]?[^\]/]*\]|[^*?\[]+|\[")


def glob_regex(pattern: str) -> str:
    """Translate a glob into a regular expression for `re.fullmatch`."""
    pattern = unicodedata.normalize("NFC", pattern).removeprefix("./").lstrip("/")
    if _WILDCARD.search(pattern):
        return f"(?is){_wild(pattern)}"
    literal = re.escape(pattern.rstrip("/"))
    if "/" in pattern:
        return f"(?is){literal}(?:/.*)?"
    return f"(?is).*{literal}.*"


def glob_problem(pattern: str) -> str | None:
    """Say what is wrong with a glob; None when it can be used."""
    if len(pattern) > _LONGEST:
        return f"it is longer than {_LONGEST} characters"
    if ".." in pattern.split("/"):
        return "'..' leads out of the source"
    if "[" in _PIECE.findall(pattern):
        return "a '[' is never closed"
    try:
        re.compile(glob_regex(pattern))
    except re.error as error:
        return f"its set of characters makes no sense ({error.msg})"
    return None


def _wild(pattern: str) -> str:
    first, *rest = _GAP.split(pattern)
    regex = _within(first)
    last = len(rest) - 2
    for i in range(0, len(rest), 2):
        gap = "(?:[^/]*/)*?" if rest[i].endswith("/") else ".*?"
        piece = gap + _within(rest[i + 1])
        regex += piece if i == last else f"(?>{piece})"
    return regex


def _within(piece: str) -> str:
    """Translate a stretch without `**`."""
    return "/".join(_segment(segment) for segment in piece.split("/"))


def _segment(segment: str) -> str:
    first, *rest = _split_stars(segment)
    regex = _fixed(first)
    for i, fixed in enumerate(rest):
        gap = "[^/]*?" + _fixed(fixed)
        regex += gap if i == len(rest) - 1 else f"(?>{gap})"
    return regex


def _split_stars(segment: str) -> list[str]:
    """Split at the stars that do not stand inside a set."""
    parts = [""]
    for part in _PIECE.findall(segment):
        if part == "*":
            parts.append("")
        else:
            parts[-1] += part
    return parts


def _fixed(text: str) -> str:
    """Translate a stretch without `*`: every part matches one character or itself."""
    return "".join(_one(part) for part in _PIECE.findall(text))


def _one(part: str) -> str:
    if part == "?":
        return "[^/]"
    if part[0] == "[" and len(part) > 2:
        negated = part[1] in "!^"
        inside = _SPECIAL.sub(r"\\\g<0>", part[1 + negated : -1]).replace("--", r"-\-")
        return f"(?!/)[{'^' if negated else ''}{inside}]"
    return re.escape(part)
