"""Cuts a plain text note into paragraphs at its blank lines.

The first line of a paragraph, if underlined along its width with `===` or `---` is a
heading of level 1 or 2, as people write them in text files. Nothing else is markup here:
a `#` or a dash begins no heading and no list.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from unicodedata import east_asian_width

from kebab_tui.domain.checkpoint import SELDOM, UNLIMITED, Checkpoint
from kebab_tui.domain.document import Block

_SLACK = 2
_LONGEST_HEADING = 200


def scan_plain(lines: Sequence[str], start: int = 0, checkpoint: Checkpoint = UNLIMITED) -> tuple[Block, ...]:
    """Cut `lines[start:]` into blocks; `lines` hold no line ends."""
    paragraphs = _paragraphs(lines, start, checkpoint)
    return tuple(block for first, last in paragraphs for block in _blocks(lines, first, last))


def _paragraphs(lines: Sequence[str], start: int, checkpoint: Checkpoint) -> Iterator[tuple[int, int]]:
    begin = -1
    for at in range(start, len(lines)):
        if not at & SELDOM:
            checkpoint()
        if not lines[at] or lines[at].isspace():
            if begin >= 0:
                yield begin, at - 1
            begin = -1
        elif begin < 0:
            begin = at
    if begin >= 0:
        yield begin, len(lines) - 1


def _blocks(lines: Sequence[str], first: int, last: int) -> Iterator[Block]:
    level = _underlined(lines[first], lines[first + 1]) if first < last else 0
    if level:
        yield Block("heading", first + 1, first + 2, level, " ".join(lines[first].split()))
        first += 2
    if first <= last:
        yield Block("prose", first + 1, last + 1)


def _underlined(text: str, rule: str) -> int:
    rule = rule.strip()
    if len(text) > _LONGEST_HEADING or len(rule) < 3 or rule[0] not in "=-" or rule.strip(rule[0]):
        return 0
    text = text.strip()
    wide = sum(2 if east_asian_width(letter) in "WF" else 1 for letter in text)
    fits = len(text) - _SLACK <= len(rule) <= wide + _SLACK
    if not fits or not any(letter.isalnum() for letter in text):
        return 0
    return 1 if rule[0] == "=" else 2
