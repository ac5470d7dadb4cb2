"""A file format for tests: every line of a file is a heading `= Title`, or prose."""

from __future__ import annotations

from kebab_tui.domain.checkpoint import Checkpoint
from kebab_tui.domain.document import Block, ParsedNote
from kebab_tui.formats.decode import decode

read: list[str] = []
"""The paths of the files that were parsed."""


def parse(data: bytes, path: str, checkpoint: Checkpoint) -> ParsedNote:
    read.append(path)
    lines = decode(data).lines
    blocks = []
    for number, line in enumerate(lines, 1):
        checkpoint()
        if line.startswith("= "):
            blocks.append(Block("heading", number, number, 1, line[2:]))
        elif line:
            blocks.append(Block("prose", number, number))
    title = next((block.text for block in blocks if block.kind == "heading"), path)
    return ParsedNote(title, "toy", "en", lines, tuple(blocks))
