"""Reads a plain text file as a note; it may carry front matter and tags as well."""

from __future__ import annotations

from kebab_tui.domain.checkpoint import UNLIMITED, Checkpoint
from kebab_tui.domain.document import ParsedNote
from kebab_tui.reading.limits import ReadLimits
from kebab_tui.reading.note import read_note
from kebab_tui.reading.plain_blocks import scan_plain


def parse(data: bytes, path: str, limits: ReadLimits, checkpoint: Checkpoint = UNLIMITED) -> ParsedNote:
    return read_note(data, path, limits, "note", scan_plain, checkpoint)
