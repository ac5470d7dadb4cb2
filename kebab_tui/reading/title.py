"""What a note is called: its front matter, first H1, first H2, first line of prose, file name.

A title is one line of at most 120 characters, NFC, without control characters, and can
always be stored as UTF-8. Of headings of a level and of lines of prose,
the first 1,000 are looked at.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from itertools import islice

from kebab_tui.domain.document import Block
from kebab_tui.reading.markdown_inline import plain_text

MAX_LENGTH = 120
_LONGEST_LINE = 8_000
"""What is behind is not read: NFC takes quadratic time for a long run of combining marks."""
_LOOKED_AT = 1_000
_UNPRINTABLE = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]+")
_LINE_MARKS = re.compile(r"[\s>]*+(?:(?:[-+*]|\d{1,9}[.)])[ \t]++)?(?:\[[ xX]\][ \t]++)?")
_WORD = re.compile(r"\w")


def one_line(text: str) -> str:
    """Make a name of a text: no control characters, single spaces, NFC; of its first 8,000 characters."""
    bare = _UNPRINTABLE.sub(" ", text[:_LONGEST_LINE])
    return " ".join(unicodedata.normalize("NFC", bare).split())


def title_of(front: str, blocks: Sequence[Block], lines: Sequence[str], path: str) -> str:
    """Take the first source that has anything to say."""
    candidates = _candidates(front, blocks, lines)
    title = next((title for text in candidates if (title := _shortened(text))), "")
    return title or _shortened(_file_name(path)) or "untitled"


def _candidates(front: str, blocks: Sequence[Block], lines: Sequence[str]) -> Iterator[str]:
    yield front
    for level in (1, 2):
        headings = (block.text for block in blocks if block.kind == "heading" and block.level == level)
        yield from islice(headings, _LOOKED_AT)
    prose = (block for block in blocks if block.kind == "prose")
    written = (line for block in prose for line in lines[block.first - 1 : block.last])
    yield from map(_bare, islice(written, _LOOKED_AT))


def _bare(line: str) -> str:
    """A line without what makes it a list item, a quote or emphasis; nothing if no word is left."""
    start = _LINE_MARKS.match(line)
    text = plain_text(line[start.end() if start else 0 :])
    return text if _WORD.search(text) else ""


def _shortened(text: str) -> str:
    line = one_line(text[: 8 * MAX_LENGTH])
    return line if len(line) <= MAX_LENGTH else line[: MAX_LENGTH - 1].rstrip() + "…"


def _file_name(path: str) -> str:
    """The last name without its ending; bytes that are no text become replacement characters."""
    name = path.rsplit("/", 1)[-1]
    stem = name[: name.rfind(".")] if name.rfind(".") > 0 else name
    return stem.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
