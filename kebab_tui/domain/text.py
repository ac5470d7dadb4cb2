"""The one sanitiser: text that somebody else wrote, made safe to show in a terminal.

Every character that a terminal would obey instead of show is replaced by one that can
be seen: control characters by their pictures, C1 controls and lone surrogates by
U+FFFD, direction marks and zero-width characters by U+2426 ("substitute"), and the
ninth and further combining marks in a row by U+FFFD. Newline and tab stay. One
character is always replaced by exactly one, so offsets into the text (highlights)
stay true. Joiners stay where they join emoji or the letters of a script that uses
them. Refuses to know about colour, width or markup.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from math import ceil, log10

from kebab_tui.domain.document import HEADING_SEPARATOR

LONGEST_MARK_RUN = 8
REPLACEMENT = "\ufffd"
INVISIBLE = "\u2426"

_OBEYED = r"\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff"
_UNSEEN = (
    r"\u00ad\u061c\u115f\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb"
    r"\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e007f"
)
UNSAFE = f"[{_OBEYED}{_UNSEEN}]"
"""The class, as a regular expression, of what a terminal obeys or does not show, wherever it stands."""
_JOINING = r"\u0600-\u0dff\u2190-\u2bff\ufe0f\ufffd\U0001f000-\U0001faff"
_STRAY_JOINER = rf"(?<![{_JOINING}])[\u200c\u200d]|[\u200c\u200d](?![{_JOINING}])"
# The blocks that hold marks without a width of their own, letters among them: `unicodedata` narrows a run
# down. Vowels and finals of decomposed Hangul are such marks; Latin, whole Hangul, kana and Han are not.
_MARK_BLOCKS = (
    r"\u0300-\u036f\u0483-\u0489\u0590-\u10ff\u1160-\u1cff\u1dc0-\u1dff\u20d0-\u20ff\u2cef-\u2cf1\u2d7f\u2de0-\u2dff"
    r"\u302a-\u302f\u3099\u309a\ua66f-\uabff\ud7b0-\ud7ff\ufb1e\ufe00-\ufe2f\U00010000-\U0001efff\U000e0100-\U000e01ef"
)
_SUSPECT = re.compile(f"[{_OBEYED}{_UNSEEN}\u200c\u200d{_MARK_BLOCKS}]")
"""One class, so that clean text costs one fast search (5 ns a character)."""
_REPLACED = f"(?P<one>{UNSAFE}|{_STRAY_JOINER})|[{_MARK_BLOCKS}]{{{LONGEST_MARK_RUN + 1},}}"
"""Compiled by the first text that needs it; few do."""


def visible(text: str) -> str:
    """The text with everything in it that is not plain text made visible."""
    if _SUSPECT.search(text) is None:
        return text
    return re.sub(_REPLACED, _shown, text)


def _shown(match: re.Match[str]) -> str:
    character = match["one"]
    return _capped(match[0]) if character is None else _picture(character)


def _picture(character: str) -> str:
    code = ord(character)
    if code < 0x20:
        return chr(0x2400 + code)
    if code == 0x7F:
        return "\u2421"
    if code < 0xA0 or 0xD800 <= code <= 0xDFFF:
        return REPLACEMENT
    return INVISIBLE


def _capped(run: str) -> str:
    """The run with all but the first marks of each row replaced."""
    shown = []
    row = 0
    for character in run:
        row = row + 1 if _is_mark(character) else 0
        shown.append(REPLACEMENT if row > LONGEST_MARK_RUN else character)
    return "".join(shown)


def _is_mark(character: str) -> bool:
    if unicodedata.category(character) in ("Mn", "Me"):
        return True
    return "\u1160" <= character <= "\u11ff" or "\ud7b0" <= character <= "\ud7ff"


# What `path:` means.
#
# Patterns are matched against a note's whole path (POSIX, NFC, relative to the source's
# root), in any case. `*` and `?` stay within a folder, `**` crosses folders, `[ab]` and
# `[!ab]` are sets. Without a wildcard, `path:infra` is a part of the path, wherever it
# stands, and `path:ops/runbooks`, with a slash, is that file or everything below that
# folder. The expressions never backtrack far: every gap is closed at its first fit, which
# is enough because what follows a gap begins with another one or ends the path.

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


# Numbers that are true to the digits shown, and still add up once they are printed.
#
# Rounding may leave a column of parts a digit off its sum. The parts then have more digits
# than the sum, as many as it takes until they add up to it.

_FEWEST = 6
_MOST_ADDED = 6


def printed(parts: Sequence[float], digits: int) -> tuple[list[str], str]:
    """The parts and their sum as texts; the sum has `digits`, and is that of the printed parts, rounded."""
    total = f"{sum(parts):.{digits}f}"
    for added in range(_MOST_ADDED + 1):
        shown = [f"{part:.{digits + added}f}" for part in parts]
        off = sum(map(_units, shown)) - _units(total) * 10**added
        if abs(off) * 2 <= 10**added:
            break
    return shown, total


def _units(number: str) -> int:
    """A printed number in units of its last digit."""
    return int(number.replace(".", ""))


def digits_of_shares(best: float, score_digits: int) -> int:
    """So many that a printed sum, divided by the `best` there could be, gives the score that is printed.

    The shares of a fusion are hundredths or, with a large rrf_k, far less.
    """
    return max(_FEWEST, score_digits + ceil(-log10(best))) if best > 0 else _FEWEST


# What a model reads of a passage, and the name under which its vector is kept.
#
# The text is the note's title, the headings that the passage stands under and the passage
# itself. Its hash names the vector: a renamed or restored note costs no embedding.

RECIPE_VERSION = 2
"""Raised when `embedded_text` changes: every vector is then made anew."""

_HANGUL_SHARE = 0.15
_HANGUL = re.compile("[\u3131-\u318e\uac00-\ud7a3]")
_CONJOINING = re.compile("[\u1100-\u11ff]")
"""Letters that make syllables together: how some file systems and editors write Korean."""


def embedded_text(title: str, heading_path: str, text: str) -> str:
    """What is given to the model."""
    if f"{heading_path}{HEADING_SEPARATOR}".startswith(f"{title}{HEADING_SEPARATOR}"):
        return f"{heading_path}\n{text}"
    return f"{HEADING_SEPARATOR.join(filter(None, (title, heading_path)))}\n{text}"


def embedded_hash(title: str, heading_path: str, text: str) -> bytes:
    """16 bytes that stand for that text."""
    from _blake2 import blake2b  # what hashlib offers; that would load OpenSSL besides, 2 ms of a search

    whole = embedded_text(title, heading_path, text)
    return blake2b(whole.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def is_hangul(text: str) -> bool:
    """Whether a text is Korean by its script: a good share of its letters are Hangul."""
    if text.isascii():
        return False
    if _CONJOINING.search(text):
        text = unicodedata.normalize("NFC", text)
    hangul = len(_HANGUL.findall(text))
    return hangul > 0 and hangul >= _HANGUL_SHARE * sum(map(str.isalpha, text))
