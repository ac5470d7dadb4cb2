"""One line of an ignore file, understood as git understands it.

A pattern is translated to a regular expression for a name or for a path relative to
the folder of the ignore file; a folder is written with a slash at its end. A pattern
that git would never match (a bracket left open, a backslash at the end) is no
pattern. Unlike git, `?` and brackets stand for one character, not for one byte, and names
are compared in NFC. Only the entry itself is matched, never what lies below it: whoever walks
down leaves out an ignored folder as a whole. Stars are matched without going back
over the name again and again, so no pattern can make the walk hang. A line of more than
4,096 characters is no pattern: no path is as long.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

_CLASSES = {
    "alnum": "a-zA-Z0-9",
    "alpha": "a-zA-Z",
    "blank": r" \t",
    "cntrl": r"\x00-\x1f\x7f",
    "digit": "0-9",
    "graph": r"\x21-\x7e",
    "lower": "a-z",
    "print": r"\x20-\x7e",
    "punct": r"!-/:-@\[-`{-~",
    "space": r" \t\n\r\f\v",
    "upper": "A-Z",
    "xdigit": "0-9a-fA-F",
}
_BRACKET = re.compile(r"(?s)\[(?P<not>[!^]?)(?P<body>\]?(?:\\.|\[:[a-z]*:\]|[^\]\\])*+)\]")
_MEMBER = re.compile(r"(?s)\[:(?P<name>[a-z]*):\]|(?P<low>\\.|.)(?:-(?P<high>\\.|[^\]]))?")
_PIECE = re.compile(rf"(?s)(?P<glob>[*?]|{_BRACKET.pattern[4:]})|(?P<slash>/)|\\?(?P<plain>.)")
_GLOB = re.compile(r"[*?\[\\]")
_LONGEST = 4096
_NOTHING = "(?!)"
_ANY_FOLDERS = "(?:[^/]+/)*?"


@dataclass(frozen=True, slots=True)
class Pattern:
    """`regex` is matched in full against a name, or a path when `by_path`.

    `literal` stands in every text that it matches; if `exact`, it is all of that text but the
    slash behind a folder.
    """

    regex: str
    by_path: bool
    negated: bool
    only_folders: bool
    literal: str
    exact: bool


def parse_pattern(line: str) -> Pattern | None:
    """Understand one line; None for a blank line, a comment or what can never match."""
    if len(line) > _LONGEST:
        return None
    text = unicodedata.normalize("NFC", _without_trailing_spaces(line))
    if not text or text.startswith("#"):
        return None
    negated = text.startswith("!")
    text = text.removeprefix("!")
    only_folders = text.endswith("/")
    text = text.removesuffix("/")
    by_path = "/" in text
    text = text.removeprefix("/")
    if not text:
        return None
    end = "/" if only_folders else "/?"
    if _GLOB.search(text) is None:
        return Pattern(re.escape(text) + end, by_path, negated, only_folders, text, exact=True)
    body = _path_regex(text) if by_path else _segment_regex(text)
    if body is None:
        return None
    return Pattern(body + end, by_path, negated, only_folders, _longest_literal(text), exact=False)


def _longest_literal(text: str) -> str:
    """The longest run of characters within one name that stand for themselves."""
    runs = [""]
    for piece in _PIECE.finditer(text):
        if piece["plain"]:
            runs[-1] += piece["plain"]
        else:
            runs.append("")
    return max(runs, key=len)


def _without_trailing_spaces(line: str) -> str:
    bare = line.rstrip(" ")
    backslashes = len(bare) - len(bare.rstrip("\\"))
    return bare + " " if len(bare) < len(line) and backslashes % 2 else bare


def _path_regex(text: str) -> str | None:
    """Join the groups of segments between `**`; each takes its first fit, only the last may move on."""
    groups: list[list[str]] = [[]]
    *folders, name = text.split("/")
    for folder in folders:
        if folder == "**":
            groups.append([])
            continue
        regex = _segment_regex(folder)
        if regex is None:
            return None
        groups[-1].append(regex + "/")
    final = "[^/]+(?:/[^/]+)*" if name == "**" else _segment_regex(name)
    if final is None:
        return None
    groups[-1].append(final)
    first, *others = ("".join(group) for group in groups)
    if not others:
        return first
    middle = "".join(f"(?>{_ANY_FOLDERS}{group})" for group in others[:-1])
    return f"{first}{middle}{_ANY_FOLDERS}{others[-1]}"


def _segment_regex(segment: str) -> str | None:
    """Translate one name; each run between two stars takes its first fit and keeps it."""
    runs = _runs(segment)
    if runs is None:
        return None
    first, *others = runs
    if not others:
        return first
    if not any(runs):
        return "[^/]+"
    middle = "".join(f"(?>[^/]*?{run})" for run in others[:-1])
    return f"{first}{middle}[^/]*{others[-1]}"


def _runs(segment: str) -> list[str] | None:
    """The regular expressions between the stars of a name."""
    runs = [""]
    at = 0
    while at < len(segment):
        sign = segment[at]
        if sign == "*":
            if runs[-1] or len(runs) == 1:
                runs.append("")
            at += 1
        elif sign == "[":
            bracket = _BRACKET.match(segment, at)
            if bracket is None:
                return None
            runs[-1] += _bracket_regex(bracket)
            at = bracket.end()
        elif sign == "\\":
            if at + 1 == len(segment):
                return None
            runs[-1] += re.escape(segment[at + 1])
            at += 2
        else:
            runs[-1] += "[^/]" if sign == "?" else re.escape(sign)
            at += 1
    return runs


def _bracket_regex(bracket: re.Match[str]) -> str:
    members = "".join(_member_regex(member) for member in _MEMBER.finditer(bracket["body"]))
    if bracket["not"]:
        return f"[^/{members}]"
    return f"(?!/)[{members}]" if members else _NOTHING


def _member_regex(member: re.Match[str]) -> str:
    """One letter, range or class of a bracket; a range that runs backwards holds nothing."""
    if member["low"] is None:
        return _CLASSES.get(member["name"], "")
    low = member["low"][-1]
    if member["high"] is None:
        return re.escape(low)
    high = member["high"][-1]
    return f"{re.escape(low)}-{re.escape(high)}" if low <= high else ""
