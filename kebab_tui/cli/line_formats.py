"""Three output formats of `kebab search`: lines as ripgrep, quickfix lines for editors, Markdown quotations.

`path:line:text`: the line that matches best. `path:line:col:text`: also the byte column of its first match,
1-based. A path that an editor could not parse is left out, and counted on stderr; so is a page, which no
editor can open. Quotations hold exactly the cited lines, each with a prefix.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from kebab_tui.cli.output import Style, field, notify, plural, shown_path, write, write_null
from kebab_tui.domain.hit import SearchHit
from kebab_tui.domain.links import PROBLEMS, NoteLink, SimilarNote
from kebab_tui.domain.text import sanitize
from kebab_tui.workspace import Workspace

if TYPE_CHECKING:
    from kebab_tui.search.matching_line import MatchingLine

_AMBIGUOUS = re.compile(r'[\n"]|:\d+:|\$[\w{]|(?:^|[ ,])~', re.ASCII)
"""Ends the line or the name, or vim replaces it by a variable or a home folder."""
_MISREAD = re.compile(r'[^"]"[^"]+"\D*\d+: ')
"""Matches the first entry of vim's 'errorformat', which would read another file name from it."""


def line_of(hit: SearchHit, match: MatchingLine, query: str, style: Style, *, null: bool) -> str:
    """`path:line:text` as ripgrep prints it; of a page `path#p=3:text`.

    `null`: a null character ends the path, which is then exact; else its control characters are made visible.
    """
    page = hit.citation.span.page
    path, text = shown_path(hit.location), field(match.text.strip())
    valid = path.encode("utf-8", "replace").decode()  # invalid UTF-8 is written unchanged
    if not null and (style.terminal.tty or field(valid) != valid):
        path = field(valid)
    place = style.line(str(match.position.line) if page is None else f"p={page}")
    if null:
        start = f"{style.path(path)}\0{place}"
    else:
        start = style.path(path) + (":" if page is None else "#") + place
        if not hit.version:
            line = match.position.line if page is None else 0
            start = style.file_link(start, os.fsencode(hit.location), line)
    if style.terminal.colour:
        text = style.matches(text, Workspace.marks(text, query))
    return f"{start}:{text}"


def write_paths(found: Mapping[str, str], style: Style, *, null: bool) -> None:
    """Write one path a line, on a terminal with a name beside it; `found`: location -> name."""
    left_out = 0
    for location, name in found.items():
        path = shown_path(location)
        valid = path.encode("utf-8", "replace").decode()  # invalid UTF-8 is written unchanged
        if null:
            write_null(path)
        elif style.terminal.tty:
            shown = style.file_link(style.path(field(valid)), os.fsencode(location))
            write(f"{shown}  {style.dim(field(name))}" if name else shown)
        elif field(valid) != valid:
            left_out += 1
        else:
            write(path)
    if left_out:
        notify(f"left out {plural(left_out, 'note')}: control characters in the path; use --null")


def write_quickfix(hits: Sequence[tuple[SearchHit, MatchingLine]], *, terminal: bool) -> None:
    """Write one line for each hit; on a terminal, with control characters made visible."""
    with_lines = [(hit, match) for hit, match in hits if hit.citation.span.page is None]
    written = 0
    for hit, ((line, column), text) in with_lines:
        column = len(text[: column - 1].encode("utf-8", "surrogatepass")) + 1
        written += _write_place(hit.root, hit.raw_path, line, column, text, terminal=terminal)
    _notify_pages(len(hits) - len(with_lines), "hit")
    _notify_left_out(len(with_lines) - written, "hit")


def write_quickfix_links(links: Sequence[NoteLink], *, terminal: bool) -> None:
    """Write one line for each link, where it stands; what is wrong with it, else its target as written."""
    written = 0
    for one in links:
        text = f"{one.link}: {PROBLEMS[one.problem]}" if one.problem else str(one.link)
        note, link = one.note, one.link
        written += _write_place(note.root, note.raw_path, link.line, link.column, text, terminal=terminal)
    _notify_left_out(len(links) - written, "link")


def write_quickfix_similar(notes: Sequence[SimilarNote], *, terminal: bool) -> None:
    """Write the first line of the nearest passage of each note."""
    with_lines = [note for note in notes if note.citation.span.page is None]
    written = 0
    for one in with_lines:
        text = one.text.partition("\n")[0]
        raw_path, line = one.document.raw_path, one.citation.span.first
        written += _write_place(one.root, raw_path, line, 1, text, terminal=terminal)
    _notify_pages(len(notes) - len(with_lines), "note")
    _notify_left_out(len(with_lines) - written, "note")


def _write_place(root: str, raw_path: bytes, line: int, column: int, text: str, *, terminal: bool) -> bool:
    """Write one line, unless an editor would misread its path."""
    path = shown_path(os.path.join(root, os.fsdecode(raw_path)))
    valid = path.encode("utf-8", "replace").decode()  # invalid UTF-8 is written unchanged
    if _AMBIGUOUS.search(path) or sanitize(valid) != valid:
        return False
    text = field(text).strip()
    if _MISREAD.search(":" + text):
        text = text.replace('"', "'")
    write(f"{sanitize(path) if terminal else path}:{line}:{column}:{text}")
    return True


def _notify_pages(count: int, noun: str) -> None:
    if count:
        notify(f"left out {plural(count, noun)}: this format cannot express a page")


def _notify_left_out(count: int, noun: str) -> None:
    if count:
        notify(f"left out {plural(count, noun)}: the path has characters that this format cannot express")


def markdown(hits: Sequence[SearchHit]) -> Iterator[str]:
    """Block quotes, each with its citation as a link relative to the folder of the notes."""
    from urllib.parse import quote

    from kebab_tui.wire.llm_text import escaped  # only here: a pipe would pay for it at every search

    for place, hit in enumerate(hits):
        if place:
            yield ""
        yield from (f"> {line}".rstrip() for line in sanitize(hit.text).split("\n"))
        yield ">"
        span = hit.citation.uri[len(hit.citation.file) :]
        link = f"[{escaped(str(hit.citation))}]({quote(hit.raw_path)}{span})"
        heading = f" · {escaped(hit.heading_path)}" if hit.heading_path else ""
        yield f"> — {link}{heading}"
