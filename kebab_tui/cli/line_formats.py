"""`path:line:col:text`, as editors read lists of places: `vim -q <(kebab search x --format vimgrep)`.

The line is the first that matches, the column its first byte, both 1-based. A path that
an editor could not read back out of such a line is left out, and said so on stderr. Bytes
of a path that are no text leave as they are, but not to a terminal.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence

from kebab_tui.cli.output import field, say, write
from kebab_tui.domain.document import Source
from kebab_tui.domain.hit import SearchHit
from kebab_tui.domain.text import visible

_AMBIGUOUS = re.compile(r'[\n"]|:\d+:|\$[\w{]|(?:^|[ ,])~', re.ASCII)
"""Where a line ends, a name ends too early, or vim puts a variable or a home folder in its place."""
_MISREAD = re.compile(r'[^"]"[^"]+"\D*\d+: ')
"""What the first entry of vim's 'errorformat' would take for another file's name."""
_WORD = re.compile(r"\S+")


def write_quickfix(hits: Sequence[SearchHit], here: str, *, terminal: bool) -> None:
    """Write one line for each hit whose path can be written so; a terminal gets visible text only."""
    left_out = 0
    for hit in hits:
        path = shown_path(hit, here)
        if path is None:
            left_out += 1
            continue
        line, column, text = place_of(hit)
        write(f"{visible(path) if terminal else path}:{line}:{column}:{_harmless(text)}")
    if left_out:
        say(f"left out {left_out} whose path holds characters that this format cannot carry")


def shown_path(hit: SearchHit, here: str) -> str | None:
    """The path that opens the file from `here`; None when a line cannot carry it."""
    path = os.path.join(hit.root, os.fsdecode(hit.raw_path)).removeprefix(here.rstrip("/") + "/")
    text = path.encode("utf-8", "replace").decode()  # bytes that are no text are left to the editor
    return None if _AMBIGUOUS.search(path) or visible(text) != text else path


def place_of(hit: SearchHit) -> tuple[int, int, str]:
    """Line and column of the first match, and the line's text; the passage's beginning without one."""
    at = match_offset(hit)
    start = hit.text.rfind("\n", 0, at) + 1
    line = hit.text[start:].partition("\n")[0]
    column = len(hit.text[start:at].encode("utf-8", "surrogatepass")) + 1
    return hit.citation.span.first + hit.text.count("\n", 0, at), column, line


def match_offset(hit: SearchHit) -> int:
    """Where the snippet's first highlight stands in the passage: white space differs between the two."""
    if not hit.highlights:
        return 0
    start = hit.highlights[0][0]
    core = hit.snippet.strip("…")
    begin = hit.snippet.index(core)
    words = r"\s+".join(re.escape(word) for word in _WORD.findall(core))
    found = re.search(words, hit.text)
    if found is None:
        return 0
    skip = sum(not character.isspace() for character in hit.snippet[begin:start])
    return _after(hit.text, found.start(), skip)


def _after(text: str, at: int, letters: int) -> int:
    """The place of the letter that follows `letters` others, white space not counted."""
    while at < len(text) and (letters or text[at].isspace()):
        letters -= not text[at].isspace()
        at += 1
    return min(at, len(text))


def _harmless(text: str) -> str:
    shown = field(text).strip()
    return shown.replace('"', "'") if _MISREAD.search(":" + shown) else shown


# Whole passages with their citations, to paste elsewhere: as quotations, or as context for a reader.
#
# Quotes exactly the lines a citation names. Whatever a passage holds, it cannot end its
# own quotation: each line is prefixed, or stands in a fence longer than any inside it.

_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})(.*)$", re.MULTILINE)
_MARKUP = re.compile(r"([\\`*_\[\]<|])")


def markdown(hits: Sequence[SearchHit]) -> Iterator[str]:
    """Block quotes, each with its citation as a link relative to the folder of the notes."""
    from urllib.parse import quote

    for place, hit in enumerate(hits):
        if place:
            yield ""
        yield from (f"> {line}".rstrip() for line in visible(hit.text).split("\n"))
        yield ">"
        span = hit.citation.uri[len(hit.citation.path) :]
        link = f"[{_plain(str(hit.citation))}]({quote(hit.raw_path)}{span})"
        heading = f" · {_plain(hit.heading_path)}" if hit.heading_path else ""
        yield f"> — {link}{heading}"


def context(hits: Sequence[SearchHit], sources: Iterable[Source]) -> Iterator[str]:
    """The rules of the folders, then each passage below its title and place, `---` between."""
    found = {hit.source for hit in hits}
    rules = [rule for source in sources if source.source_id in found for rule in source.rules]
    if rules:
        yield "## Rules"
        yield ""
        yield from (f"- {field(rule)}" for rule in rules)
        yield ""
        yield "---"
        yield ""
    for place, hit in enumerate(hits):
        if place:
            yield from ("", "---", "")
        yield from _passage(hit)


def _passage(hit: SearchHit) -> Iterator[str]:
    yield f"### {field(hit.title)}"
    yield ""
    place = f"{hit.heading_path} — {hit.citation}" if hit.heading_path else str(hit.citation)
    yield f"*{_plain(place)}*"
    yield ""
    text = visible(hit.text)
    if hit.kind == "code" and not _is_fenced(text):
        fence = "`" * max(3, 1 + max((len(run) for run in re.findall("`+", text)), default=0))
        yield from (fence, text, fence)
    else:
        yield text


def _is_fenced(text: str) -> bool:
    """Whether the passage brings whole fences of its own."""
    open_fence = ""
    seen = False
    for mark, rest in _FENCE.findall(text):
        if not open_fence:
            open_fence, seen = mark, True
        elif mark.startswith(open_fence) and not rest.strip():
            open_fence = ""
    return seen and not open_fence


def _plain(text: str) -> str:
    """Text that Markdown shows as it is."""
    return _MARKUP.sub(r"\\\1", field(text))
