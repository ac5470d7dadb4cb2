"""Tags: `#so` in the prose, and lists of them in the front matter.

An inline tag stands at the start of a line, after a blank, a comma, `|`, `>`, `*` or an
opening parenthesis, and holds a letter. So these are no tags: a heading's own marks,
the fragment of an address or link, code between backticks, `#123`, `C#`, `&#39;`, and a
colour (three, six or eight hexadecimal digits). `#a/b` is one tag with two levels.
Tags are NFC, keep their case, and are the same when only their case differs.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence

from kebab_tui.domain.checkpoint import UNLIMITED, Checkpoint
from kebab_tui.reading.title import one_line

MAX_TAGS = 64
_MAX_LENGTH = 100
_MAX_LINE = 4_000
_NOT_PROSE = re.compile(
    r"(?<!`)(?P<ticks>`++)(?:[^`]++|(?!(?P=ticks)(?!`))`++)*+(?P=ticks)(?!`)"  # code
    r"|\[\[[^\[\]]*+\]\]"  # a link of a wiki
    r"|\]\([^()\s]*+"  # the address of a link
    r"|<[^<>]*+>"  # an element or an address
    r"|\b[a-z]{2,8}://\S++"
    r"|^ {0,3}\[[^\]]*+\]:.*"  # a link definition
)
# It begins with the one character that a search can look for fast; what stands before is asked behind it.
_TAG = re.compile(
    r"#(?:(?<![^\s,|>*]#)|(?<=[\s>*]\(#)|(?<=^\(#))(?P<tag>[\w/-]+)",
    re.MULTILINE,
)
_COLOUR = re.compile(r"(?:[0-9a-fA-F]{3}|[0-9a-fA-F]{6}|[0-9a-fA-F]{8})")
_LETTER = re.compile(r"[^\W\d_]")


def inline_tags(lines: Sequence[str], checkpoint: Checkpoint = UNLIMITED) -> tuple[str, ...]:
    """Collect the tags of prose lines, in order; of a line's first 4,000 characters only."""
    if not _TAG.search("\n".join(lines)):
        return ()
    marked = [line[:_MAX_LINE] for line in lines if "#" in line]
    return merge_tags(tag for line in marked for tag in _tags_of_line(line, checkpoint))


def tags_of_text(text: str) -> tuple[str, ...]:
    """Read `a, b`, `a b` and `#a #b`."""
    parts = text.strip("[]").split("," if "," in text else None)
    return tags_of_list(part.strip().strip("\"'") for part in parts)


def tags_of_list(items: Iterable[str]) -> tuple[str, ...]:
    return merge_tags(one_line(item).lstrip("#").strip("/ ") for item in items)


def merge_tags(*groups: Iterable[str]) -> tuple[str, ...]:
    """Join in order, each tag once whatever its case, at most `MAX_TAGS`."""
    known: dict[str, str] = {}
    for group in groups:
        for tag in group:
            normal = unicodedata.normalize("NFC", tag)
            if 0 < len(normal) <= _MAX_LENGTH:
                known.setdefault(normal.casefold(), normal)
            if len(known) == MAX_TAGS:
                return tuple(known.values())
    return tuple(known.values())


def _tags_of_line(line: str, checkpoint: Checkpoint) -> Iterable[str]:
    if not _TAG.search(line):
        return
    checkpoint()
    prose = _NOT_PROSE.sub(".", unicodedata.normalize("NFC", line))
    for match in _TAG.finditer(prose):
        tag = match["tag"].rstrip("/-").lstrip("/")
        if _LETTER.search(tag) and not _COLOUR.fullmatch(tag):
            yield tag
