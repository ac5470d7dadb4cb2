"""Two output formats of `kebab search`: quickfix lines for editors, and Markdown quotations.

`path:line:col:text`: the line and byte column of the first match, 1-based. A path that an editor could
not parse is left out, and counted on stderr; so is a page, which no editor can open. Quotations hold
exactly the cited lines, each with a prefix.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence

from kebab_tui.cli.output import field, notify, plural, write
from kebab_tui.domain.hit import SearchHit
from kebab_tui.domain.links import PROBLEMS, NoteLink, SimilarNote
from kebab_tui.domain.text import sanitize
from kebab_tui.wire.llm_text import escaped

_AMBIGUOUS = re.compile(r'[\n"]|:\d+:|\$[\w{]|(?:^|[ ,])~', re.ASCII)
"""Ends the line or the name, or vim replaces it by a variable or a home folder."""
_MISREAD = re.compile(r'[^"]"[^"]+"\D*\d+: ')
"""Matches the first entry of vim's 'errorformat', which would read another file name from it."""


def write_quickfix(hits: Sequence[SearchHit], here: str, *, terminal: bool) -> None:
    """Write one line for each hit; on a terminal, with control characters made visible."""
    with_lines = [hit for hit in hits if hit.citation.span.page is None]
    written = 0
    for hit in with_lines:
        at = _match_offset(hit)
        start = hit.text.rfind("\n", 0, at) + 1
        line = hit.citation.span.first + hit.text.count("\n", 0, at)
        column = len(hit.text[start:at].encode("utf-8", "surrogatepass")) + 1
        text = hit.text[start:].partition("\n")[0]
        written += _write_place(hit.root, hit.raw_path, here, line, column, text, terminal=terminal)
    _notify_pages(len(hits) - len(with_lines), "hit")
    _notify_left_out(len(with_lines) - written, "hit")


def write_quickfix_links(links: Sequence[NoteLink], here: str, *, terminal: bool) -> None:
    """Write one line for each link, where it stands; what is wrong with it, else its target as written."""
    written = 0
    for one in links:
        text = f"{one.link}: {PROBLEMS[one.problem]}" if one.problem else str(one.link)
        note, link = one.note, one.link
        written += _write_place(
            note.root, note.raw_path, here, link.line, link.column, text, terminal=terminal
        )
    _notify_left_out(len(links) - written, "link")


def write_quickfix_similar(notes: Sequence[SimilarNote], here: str, *, terminal: bool) -> None:
    """Write the first line of the nearest passage of each note."""
    with_lines = [note for note in notes if note.citation.span.page is None]
    written = 0
    for one in with_lines:
        text = one.text.partition("\n")[0]
        raw_path, line = one.document.raw_path, one.citation.span.first
        written += _write_place(one.root, raw_path, here, line, 1, text, terminal=terminal)
    _notify_pages(len(notes) - len(with_lines), "note")
    _notify_left_out(len(with_lines) - written, "note")


def _write_place(
    root: str, raw_path: bytes, here: str, line: int, column: int, text: str, *, terminal: bool
) -> bool:
    """Write one line, unless an editor would misread its path."""
    path = os.path.join(root, os.fsdecode(raw_path)).removeprefix(here.rstrip("/") + "/")
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


def _match_offset(hit: SearchHit) -> int:
    """The offset of the snippet's first highlight in the passage; the snippet has no markup."""
    if not hit.highlights:
        return 0
    start, end = hit.highlights[0]
    match = re.escape(hit.snippet[start:end]).replace(r"\ ", r"\s+")
    before = re.findall(r"\w+", hit.snippet[:start].strip("…"))[-1:]
    after = re.findall(r"\w+", hit.snippet[end:].strip("…"))[:1]
    gap = r"[\W_]{1,40}"
    beside = "".join(
        (
            *(re.escape(word) + gap for word in before),
            f"({match})",
            *(gap + re.escape(word) for word in after),
        )
    )
    found = re.search(beside, hit.text) or re.search(f"({match})", hit.text)
    return found.start(1) if found else 0


def markdown(hits: Sequence[SearchHit]) -> Iterator[str]:
    """Block quotes, each with its citation as a link relative to the folder of the notes."""
    from urllib.parse import quote

    for place, hit in enumerate(hits):
        if place:
            yield ""
        yield from (f"> {line}".rstrip() for line in sanitize(hit.text).split("\n"))
        yield ">"
        span = hit.citation.uri[len(hit.citation.file) :]
        link = f"[{escaped(str(hit.citation))}]({quote(hit.raw_path)}{span})"
        heading = f" · {escaped(hit.heading_path)}" if hit.heading_path else ""
        yield f"> — {link}{heading}"
