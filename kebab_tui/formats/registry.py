"""The one table of what is read: which file names become notes, and by which parser.

A new kind of file is one new module with a `parse` function and one line here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from unicodedata import east_asian_width

from kebab_tui.domain.checkpoint import SELDOM, UNLIMITED, Checkpoint
from kebab_tui.domain.document import Block, DocumentType, ParsedNote
from kebab_tui.formats.decode import MEGABYTE, ReadLimits
from kebab_tui.formats.markdown import scan_markdown
from kebab_tui.formats.note import read_note

# Reads a Markdown file as a note.


def parse_markdown(
    data: bytes, path: str, limits: ReadLimits, checkpoint: Checkpoint = UNLIMITED
) -> ParsedNote:
    return read_note(data, path, limits, "markdown", scan_markdown, checkpoint)


# Cuts a plain text note into paragraphs at its blank lines.
#
# The first line of a paragraph, if underlined along its width with `===` or `---` is a
# heading of level 1 or 2, as people write them in text files. Nothing else is markup here:
# a `#` or a dash begins no heading and no list.

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


# Reads a plain text file as a note; it may carry front matter and tags as well.


def parse_plain_text(
    data: bytes, path: str, limits: ReadLimits, checkpoint: Checkpoint = UNLIMITED
) -> ParsedNote:
    return read_note(data, path, limits, "note", scan_plain, checkpoint)


CPU_SECONDS_A_MEGABYTE = 1.0

Parse = Callable[[bytes, str, ReadLimits, Checkpoint], ParsedNote]
"""The bytes of a file, its path within the source, the limits, and what to call in every long loop;
raises UnreadableFileError."""


@dataclass(frozen=True, slots=True)
class FileType:
    type: DocumentType
    extensions: tuple[str, ...]
    parse: Parse
    cpu_seconds: float = 5.0
    """What reading and cutting a small file may take, in CPU time."""

    def cpu_budget(self, size: int) -> float:
        return self.cpu_seconds + size / MEGABYTE * CPU_SECONDS_A_MEGABYTE


FILE_TYPES: tuple[FileType, ...] = (
    FileType("markdown", (".md", ".markdown", ".mdown", ".mkd", ".mdx"), parse_markdown),
    FileType("note", (".txt", ".text"), parse_plain_text),
)

_BY_EXTENSION = {extension: kind for kind in FILE_TYPES for extension in kind.extensions}


def file_type_of(name: str) -> FileType | None:
    """Look a file up by the end of its name, in any case; a name that is only an ending has none."""
    dot = name.rfind(".")
    return _BY_EXTENSION.get(name[dot:].lower()) if dot > 0 else None
