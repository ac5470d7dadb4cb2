"""From a note's blocks to passages: which lines are found, shown and cited together.

The rules, each local to its place in the note:

- A section (a heading and the text below it) is a passage, up to a quarter over the target.
- A larger one is cut into pieces (see `pieces`).
- Sections below `small` characters share a passage with their small neighbours, children
  and siblings of the first, up to the target. Text before the first heading never does.
  Such a passage is called by the headings the sections share and their own names.
- A heading without text goes with the section that follows; at the end of the note, with
  the last passage.
- A line longer than the cap becomes several passages that cite the same line: the only
  overlap there is. All other non-blank lines of the body are cited exactly once.

A passage is `code` when at least a quarter of its non-blank lines are: who asks for code
looks for the example in the explanation too.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence

from kebab_tui.chunking.limits import ChunkLimits, is_cut
from kebab_tui.chunking.measure import NoteText
from kebab_tui.chunking.pieces import cut_section
from kebab_tui.chunking.sections import Section, sections, shared_path
from kebab_tui.domain.chunk import ChunkKind, Passage
from kebab_tui.domain.citation import SourceSpan
from kebab_tui.domain.document import Block, ParsedNote

_DEFAULT = ChunkLimits()


def chunk(note: ParsedNote, limits: ChunkLimits = _DEFAULT) -> tuple[Passage, ...]:
    """Cut a note into passages, in the order of its lines."""
    text = NoteText(note.lines)
    found, headings = sections(note.blocks)
    passages: list[Passage] = []
    group: list[Section] = []
    for section in found:
        size = text.size(section.first, section.last)
        if section.level and text.says_little(section.first, section.last, limits.small):
            if group and not _joins(text, group, section, size, limits):
                passages.append(_together(text, group))
                group = []
            group.append(section)
            continue
        if group:
            passages.append(_together(text, group))
            group = []
        if size <= limits.whole and section.longest_code <= limits.long_code:
            passages.append(_passage(text, section.code, section.path, section.first, section.last))
        else:
            passages.extend(_cut(text, section, limits))
    if group:
        passages.append(_together(text, group))
    if headings:
        _append_headings(passages, text, headings, note.blocks, limits)
    return tuple(passages)


def _joins(
    text: NoteText, group: Sequence[Section], section: Section, size: int, limits: ChunkLimits
) -> bool:
    """Whether a small section goes with the small ones before it."""
    if section.level < group[0].level:
        return False
    together = text.size(group[0].first, section.last)
    if together > limits.target:
        return False
    return together - size < limits.enough or not is_cut(text.lines[section.first - 1])


def _together(text: NoteText, group: Sequence[Section]) -> Passage:
    if len(group) == 1:
        alone = group[0]
        return _passage(text, alone.code, alone.path, alone.first, alone.last)
    code = [block for section in group for block in section.code]
    return _passage(text, code, shared_path(group), group[0].first, group[-1].last)


def _passage(text: NoteText, code: Sequence[Block], path: str, first: int, last: int) -> Passage:
    kind = _kind(text, code, first, last) if code else "info"
    return Passage(kind, path, text.cut(first, last), SourceSpan(first, last))


def _kind(text: NoteText, code: Sequence[Block], first: int, last: int) -> ChunkKind:
    written = 0
    for block in code:
        if block.first > last:
            break
        if block.last >= first:
            written += text.written(max(first, block.first), min(last, block.last))
    return "code" if written and written * 4 >= text.written(first, last) else "info"


def _cut(text: NoteText, section: Section, limits: ChunkLimits) -> Iterator[Passage]:
    path, code = section.path, deque(section.code)
    for first, last in cut_section(text, section, limits):
        while code and code[0].last < first:
            code.popleft()
        if text.size(first, last) <= limits.cap:
            yield _passage(text, code, path, first, last)
        else:
            kind, span = _kind(text, code, first, last), SourceSpan(first, last)
            for part in _parts(text.cut(first, last), limits.cap):
                yield Passage(kind, path, part, span)


def _parts(line: str, cap: int) -> Iterator[str]:
    """Cut a line that is larger than the cap, at a space near the end of each part if there is one."""
    begin = 0
    while begin < len(line):
        end = begin + cap
        if end < len(line):
            space = line.rfind(" ", begin + cap * 3 // 4, end)
            end = space + 1 if space >= 0 else end
        part = line[begin:end]
        if not part.isspace():
            yield part
        begin = end


def _append_headings(
    passages: list[Passage],
    text: NoteText,
    headings: Section,
    blocks: Sequence[Block],
    limits: ChunkLimits,
) -> None:
    """Headings that no text follows go with the last passage, or stand alone where that has no room."""
    last = headings.last
    if passages:
        path, first = passages[-1].heading_path, passages[-1].span.first
        if text.size(first, last) <= limits.cap:
            code = [block for block in blocks if block.kind == "code" and block.last >= first]
            passages[-1] = _passage(text, code, path, first, last)
            return
    headings.trail = headings.top
    if text.size(headings.first, last) <= limits.cap:
        passages.append(_passage(text, (), headings.path, headings.first, last))
    else:
        headings.blocks = [Block("prose", headings.first, last)]
        passages.extend(_cut(text, headings, limits))
