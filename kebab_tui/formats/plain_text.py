"""Splits plain text into paragraphs and underlined headings."""

from __future__ import annotations

from collections.abc import Sequence
from unicodedata import east_asian_width

from kebab_tui.domain.checkpoint import SELDOM, UNLIMITED, Checkpoint
from kebab_tui.domain.document import Block, ParsedNote
from kebab_tui.formats.note import read_note

_SLACK = 2
"""By how many columns an underline may be shorter or longer than its heading."""
_LONGEST_HEADING = 200


def parse(data: bytes, path: str, checkpoint: Checkpoint = UNLIMITED) -> ParsedNote:
    return read_note(data, path, "note", scan_plain, checkpoint)


def scan_plain(lines: Sequence[str], start: int = 0, checkpoint: Checkpoint = UNLIMITED) -> tuple[Block, ...]:
    """Split plain text into paragraphs at blank lines; `start` is the first line of the body.

    The first line of a paragraph is a heading of level 1 or 2 if it is underlined along its width
    with `===` or `---`. No other markup is recognised.
    """
    blocks = []
    first = -1
    for at in range(start, len(lines) + 1):
        if not at & SELDOM:
            checkpoint()
        if at < len(lines) and lines[at] and not lines[at].isspace():
            if first < 0:
                first = at
        elif first >= 0:
            if at - first > 1 and (level := _underlined(lines[first], lines[first + 1])):
                blocks.append(Block("heading", first + 1, first + 2, level, " ".join(lines[first].split())))
                first += 2
            if first < at:
                blocks.append(Block("prose", first + 1, at))
            first = -1
    return tuple(blocks)


def _underlined(text: str, rule: str) -> int:
    """Return the heading level of `text` if `rule` underlines it, else 0."""
    rule = rule.strip()
    if len(text) > _LONGEST_HEADING or len(rule) < 3 or rule[0] not in "=-" or rule.strip(rule[0]):
        return 0
    text = text.strip()
    wide = sum(2 if east_asian_width(letter) in "WF" else 1 for letter in text)
    fits = len(text) - _SLACK <= len(rule) <= wide + _SLACK
    if not fits or not any(letter.isalnum() for letter in text):
        return 0
    return 1 if rule[0] == "=" else 2
