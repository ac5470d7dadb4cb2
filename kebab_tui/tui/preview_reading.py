"""Reading a note for the preview, at once or in a thread, and saying why it cannot be shown.

`read_at_once` never reads more than a moment's worth; `read_in_thread` counts a large
file's lines up to the cited ones, hands it over, and counts on to its end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from kebab_tui.tui.preview_note import Note
from kebab_tui.tui.preview_source import (
    AT_ONCE_BYTES,
    WHOLE_BYTES,
    Decode,
    InBlocks,
    LargeText,
    OpenFile,
    whole_text,
)

_LINES_BELOW = 1000
"""How far below the cited lines the count has to be before they are shown."""


def read_at_once(file: OpenFile, name: str, decode: Decode) -> Note | None:
    """The note, where reading it takes no time to speak of; raises KebabError for what is no text."""
    return _whole(file, name, decode) if file.size <= AT_ONCE_BYTES else None


def read_in_thread(
    file: OpenFile, name: str, decode: Decode, line: int, cancelled: Callable[[], bool]
) -> Iterator[Note]:
    """The note once `line` can be shown, and again when all lines are counted; raises KebabError."""
    if file.size <= WHOLE_BYTES:
        yield _whole(file, name, decode)
        return
    text = LargeText(file)
    note = Note(file.identity, name, InBlocks(text))
    shown = False
    while not text.counted_whole and not cancelled():
        text.count_on()
        if not shown and text.count > line + _LINES_BELOW:
            shown = True
            yield note
    yield note


def _whole(file: OpenFile, name: str, decode: Decode) -> Note:
    return Note(file.identity, name, whole_text(file, decode))
