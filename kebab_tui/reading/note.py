"""The way every kind of text note is read: decode, head, blocks, and the facts in them.

What differs between kinds is only how lines become blocks, so that is passed in. Lines
of good front matter belong to no block; a bad one stands before the body as prose.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kebab_tui.domain.checkpoint import Checkpoint
from kebab_tui.domain.document import Block, DocumentType, ParsedNote
from kebab_tui.reading.decoding import decode
from kebab_tui.reading.front_matter import FrontMatter, read_front_matter
from kebab_tui.reading.language import language_of
from kebab_tui.reading.limits import ReadLimits
from kebab_tui.reading.tags import inline_tags, merge_tags
from kebab_tui.reading.title import title_of

Scan = Callable[[Sequence[str], int, Checkpoint], tuple[Block, ...]]


def read_note(
    data: bytes, path: str, limits: ReadLimits, type_: DocumentType, scan: Scan, checkpoint: Checkpoint
) -> ParsedNote:
    """Make a note of a file's bytes; raises UnsuitableFileError for what is no text or too large."""
    limits.check(len(data))
    text = decode(data)
    lines = text.lines
    checkpoint()
    front = read_front_matter(lines)
    checkpoint()
    body = scan(lines, front.length, checkpoint)
    for_people = _read_by_people(body, lines)
    checkpoint()
    return ParsedNote(
        title=title_of(front.title, body, lines, path),
        type=front.type or type_,
        lang=front.lang or language_of(for_people),
        lines=lines,
        blocks=(*_searchable_head(front), *body),
        trust=front.trust,
        tags=merge_tags(front.tags, inline_tags(for_people, checkpoint)),
        aliases=front.aliases,
        flags=(*(("bad_front_matter",) if front.bad else ()), *text.flags),
    )


def _searchable_head(front: FrontMatter) -> tuple[Block, ...]:
    return (Block("prose", 1, front.length),) if front.bad else ()


def _read_by_people(blocks: Sequence[Block], lines: Sequence[str]) -> list[str]:
    """The lines that are neither code nor comment."""
    read: list[str] = []
    for block in blocks:
        if block.kind not in ("code", "comment"):
            read += lines[block.first - 1 : block.last]
    return read
