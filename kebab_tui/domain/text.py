"""Small text functions that several packages share.

`visible` is the only sanitizer: it makes text from files safe to show in a terminal. It
knows nothing of colour, width or markup. The other functions test for Hangul, suggest
names, format durations and sums, translate `path:` globs and build the text that a
model embeds.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from math import ceil, log10

from kebab_tui.domain.document import HEADING_SEPARATOR

# Hangul

HANGUL = "\u1100-\u11ff\u3131-\u318e\ua960-\ua97c\uac00-\ud7a3\ud7b0-\ud7fb\uffa0-\uffdc"
"""The inside of a regular expression's character class: syllables and letters of Hangul."""
MODERN_HANGUL = "\u3131-\u318e\uac00-\ud7a3"
"""The part of it that keyboards write. The language of a note and the encoding of a file go by these."""
KOREAN_SHARE = 0.15
"""A text is Korean if at least this share of its letters is Hangul: Korean notes quote much English."""

_HANGUL = re.compile(f"[{HANGUL}]")
_MODERN_HANGUL = re.compile(f"[{MODERN_HANGUL}]")
_CONJOINING = re.compile("[\u1100-\u11ff]")
"""Letters of decomposed syllables, as some file systems and editors write Korean."""


def has_hangul(text: str) -> bool:
    """Whether a text contains any Hangul."""
    return _HANGUL.search(text) is not None


def is_korean(text: str) -> bool:
    """Whether a text is Korean by its share of Hangul letters."""
    if text.isascii():
        return False
    if _CONJOINING.search(text):
        text = unicodedata.normalize("NFC", text)
    hangul = len(_MODERN_HANGUL.findall(text))
    return hangul > 0 and hangul >= KOREAN_SHARE * sum(map(str.isalpha, text))


# Sanitizing
#
# One character is always replaced by exactly one, so offsets into the text (highlights)
# stay valid. Newline and tab stay; joiners stay between emoji and between letters of
# scripts that use them.

LONGEST_MARK_RUN = 8
REPLACEMENT = "\ufffd"
INVISIBLE = "\u2426"
_ROW_BREAKERS = str.maketrans({"\n": "␊", "\t": "␉"})

_OBEYED = r"\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff"
_UNSEEN = (
    r"\u00ad\u061c\u115f\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb"
    r"\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e007f"
)
UNSAFE = f"[{_OBEYED}{_UNSEEN}]"
"""Regular expression class: characters that a terminal obeys or does not show."""
_JOINING = r"\u0600-\u0dff\u2190-\u2bff\ufe0f\ufffd\U0001f000-\U0001faff"
_STRAY_JOINER = rf"(?<![{_JOINING}])[\u200c\u200d]|[\u200c\u200d](?![{_JOINING}])"
# Blocks with zero-width marks; they also hold letters, so `unicodedata` checks each character of a run.
# Vowels and finals of decomposed Hangul are such marks; Latin, composed Hangul, kana and Han are not.
_MARK_BLOCKS = (
    r"\u0300-\u036f\u0483-\u0489\u0590-\u10ff\u1160-\u1cff\u1dc0-\u1dff\u20d0-\u20ff\u2cef-\u2cf1\u2d7f\u2de0-\u2dff"
    r"\u302a-\u302f\u3099\u309a\ua66f-\uabff\ud7b0-\ud7ff\ufb1e\ufe00-\ufe2f\U00010000-\U0001efff\U000e0100-\U000e01ef"
)
_SUSPECT = re.compile(f"[{_OBEYED}{_UNSEEN}\u200c\u200d{_MARK_BLOCKS}]")
"""One class, so that clean text costs one fast search (5 ns a character)."""
_REPLACED = f"(?P<one>{UNSAFE}|{_STRAY_JOINER})|[{_MARK_BLOCKS}]{{{LONGEST_MARK_RUN + 1},}}"
"""Compiled on first use; few texts need it."""


def sanitize(text: str) -> str:
    """Replace every character that a terminal would obey or hide.

    Control characters become their pictures, C1 controls and lone surrogates U+FFFD,
    direction marks and zero-width characters U+2426, the ninth and further combining marks
    in a row U+FFFD.
    """
    if _SUSPECT.search(text) is None:
        return text
    return re.sub(_REPLACED, _replacement, text)


def one_line(text: str) -> str:
    """Sanitised text on one line: for a cell of a table or a heading."""
    return sanitize(text).translate(_ROW_BREAKERS)


def _replacement(match: re.Match[str]) -> str:
    if character := match["one"]:
        code = ord(character)
        if code < 0x20:
            return chr(0x2400 + code)
        if code == 0x7F:
            return "\u2421"
        return REPLACEMENT if code < 0xA0 or 0xD800 <= code <= 0xDFFF else INVISIBLE
    shown, row = [], 0
    for character in match[0]:
        is_mark = unicodedata.category(character) in ("Mn", "Me")
        is_mark = is_mark or "\u1160" <= character <= "\u11ff" or "\ud7b0" <= character <= "\ud7ff"
        row = row + 1 if is_mark else 0
        shown.append(REPLACEMENT if row > LONGEST_MARK_RUN else character)
    return "".join(shown)


# Likeness and durations


def closest(word: str, known: Iterable[str], cutoff: float = 0.6) -> str | None:
    """The known word that resembles `word` most; None if none is similar enough."""
    from difflib import get_close_matches  # loaded for mistakes only: every command starts without it

    return next(iter(get_close_matches(word, list(known), 1, cutoff)), None)


def did_you_mean(word: str, known: Iterable[str], shape: str = "{}", cutoff: float = 0.6) -> str:
    """`did you mean …?` with the closest known word, written into `shape`; empty if there is none."""
    near = closest(word, known, cutoff)
    return "" if near is None else f"did you mean {shape.format(near)}?"


def edits(typed: str, word: str, most: int, *, unfinished: bool = False) -> int | None:
    """Edits from one word to the other, at most `most`; a swap of neighbours is one.

    `unfinished`: further letters of `word` cost nothing.
    """
    common = 0
    for a, b in zip(typed, word, strict=False):
        if a != b:
            break
        common += 1
    typed, word = typed[common:], word[common:]
    if not typed or not word:
        left = len(typed) if unfinished else len(typed) + len(word)
        return left if left <= most else None
    if most == 0:
        return None
    tries = [(typed[1:], word[1:]), (typed[1:], word), (typed, word[1:])]
    if typed[:2] == word[1::-1] and len(word) > 1:
        tries.append((typed[2:], word[2:]))
    found = [edits(a, b, most - 1, unfinished=unfinished) for a, b in tries]
    return min((1 + one for one in found if one is not None), default=None)


def duration(seconds: float) -> str:
    """A duration with the precision of an estimate: `under 1 s`, `40 s`, `12 min`, `2.5 h`."""
    if seconds < 1:
        return "under 1 s"
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


# Printed sums

_MOST_ADDED = 6


def format_sum(parts: Sequence[float], digits: int) -> tuple[list[str], str]:
    """Format numbers and their sum so that the printed numbers still add up.

    The sum has `digits`. The parts get as many more digits as it takes until they add up to it.
    """
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


def share_digits(best: float, score_digits: int) -> int:
    """Digits for a sum of shares so that sum / `best` gives the printed score.

    Shares of a fusion are hundredths, or far less with a large rrf_k.
    """
    return max(score_digits, score_digits + ceil(-log10(best))) if best > 0 else score_digits


# Globs of `path:`
#
# A glob matches a note's whole path (POSIX, NFC, relative to the source's root), ignoring
# case. `*` and `?` stay within a folder, `**` crosses folders, `[ab]` and `[!ab]` are sets.
# Without a wildcard, `path:infra` matches any part of the path, and `path:ops/runbooks`,
# with a slash, that file or everything below that folder.

_LONGEST = 400
GLOB_WILDCARD = re.compile(r"[*?\[]")
GLOB_GAP = re.compile(r"((?:(?<=/)|\A)\*\*+/|\*\*+)")
_SPECIAL = re.compile(r"[\\\[\]&|~^]")
GLOB_PIECE = re.compile(r"\*|\?|\[[!^]?\]?[^\]/]*\]|[^*?\[]+|\[")


def glob_regex(pattern: str) -> str:
    """Translate a glob into a regular expression for `re.fullmatch`.

    Every gap but the last is atomic: it closes at its first match, so the expression never
    backtracks far. That is enough because another gap or the end of the path follows.
    """
    pattern = unicodedata.normalize("NFC", pattern).removeprefix("./").lstrip("/")
    if not GLOB_WILDCARD.search(pattern):
        literal = re.escape(pattern.rstrip("/"))
        return f"(?is){literal}(?:/.*)?" if "/" in pattern else f"(?is).*{literal}.*"
    first, *rest = GLOB_GAP.split(pattern)
    gaps = [
        ("(?:[^/]*/)*?" if gap.endswith("/") else ".*?") + _without_double_stars(part)
        for gap, part in zip(rest[::2], rest[1::2], strict=True)
    ]
    return f"(?is){_without_double_stars(first)}{_atomic_but_last(gaps)}"


def _without_double_stars(piece: str) -> str:
    """Translate a part of a glob that has no `**`."""
    segments = []
    for segment in piece.split("/"):
        stretches = [""]
        for part in GLOB_PIECE.findall(segment):
            if part == "*":
                stretches.append("[^/]*?")
            elif part == "?":
                stretches[-1] += "[^/]"
            elif part[0] == "[" and len(part) > 2:
                negated = part[1] in "!^"
                inside = _SPECIAL.sub(r"\\\g<0>", part[1 + negated : -1]).replace("--", r"-\-")
                stretches[-1] += f"(?!/)[{'^' if negated else ''}{inside}]"
            else:
                stretches[-1] += re.escape(part)
        segments.append(stretches[0] + _atomic_but_last(stretches[1:]))
    return "/".join(segments)


def _atomic_but_last(gaps: Sequence[str]) -> str:
    return "".join([*(f"(?>{gap})" for gap in gaps[:-1]), *gaps[-1:]])


def glob_problem(pattern: str) -> str | None:
    """The error in a glob; None if it is valid."""
    if len(pattern) > _LONGEST:
        return f"longer than {_LONGEST} characters"
    if ".." in pattern.split("/"):
        return "'..' leads out of the folder"
    if "[" in GLOB_PIECE.findall(pattern):
        return "'[' is never closed"
    try:
        re.compile(glob_regex(pattern))
    except re.error as error:
        return f"invalid character set ({error.msg})"
    return None


# The text that a model embeds

RECIPE_VERSION = 2
"""Raise it when `embedded_text` changes: all vectors are then made again."""


PARTS_VERSION = 1
"""Raise it when long texts are read in other parts: the model then reads these texts again."""


def embedded_text(titles: str, heading_path: str, text: str) -> str:
    """What the model reads of a chunk: the first line of its titles, the headings above it, its text."""
    title = titles.partition("\n")[0]
    if f"{heading_path}{HEADING_SEPARATOR}".startswith(f"{title}{HEADING_SEPARATOR}"):
        return f"{heading_path}\n{text}"
    return f"{HEADING_SEPARATOR.join(filter(None, (title, heading_path)))}\n{text}"


def embedded_hash(titles: str, heading_path: str, text: str) -> bytes:
    """16 bytes that name a vector by its text: a renamed or restored note needs no new embedding."""
    from _blake2 import blake2b  # hashlib would also load OpenSSL, 2 ms of a search

    whole = embedded_text(titles, heading_path, text)
    return blake2b(whole.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def display_path(path: str) -> str:
    """A path for display: NFC, with a replacement character for each byte that is not UTF-8."""
    return storable(unicodedata.normalize("NFC", path))


def storable(text: str) -> str:
    """Text that any store can hold: replaces lone surrogates, which UTF-8 cannot encode."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace").decode("utf-8")
    return text
