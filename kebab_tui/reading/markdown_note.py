"""Reads a Markdown file as a note."""

from __future__ import annotations

from kebab_tui.domain.checkpoint import UNLIMITED, Checkpoint
from kebab_tui.domain.document import ParsedNote
from kebab_tui.reading.limits import ReadLimits
from kebab_tui.reading.markdown_blocks import scan_markdown
from kebab_tui.reading.note import read_note


def parse(data: bytes, path: str, limits: ReadLimits, checkpoint: Checkpoint = UNLIMITED) -> ParsedNote:
    return read_note(data, path, limits, "markdown", scan_markdown, checkpoint)
