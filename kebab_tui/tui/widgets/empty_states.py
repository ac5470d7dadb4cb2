"""The texts shown instead of hits, and the pane that shows them.

Each text names the key for the next step. The caller passes the keys and the counts; the
functions here only lay out rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from textual import events
from textual.geometry import Region
from textual.message import Message

from kebab_tui.domain.hit import Notice
from kebab_tui.domain.query import MODE_WORDS, SearchMode
from kebab_tui.tui.suggestions import Suggestion, first_shorter
from kebab_tui.tui.widgets.segments import (
    CURSOR,
    Role,
    Row,
    RowsView,
    Segment,
    bar,
    columns,
    cut,
    flow,
    one_line,
    paragraph,
)

TOO_SMALL = Notice("too_small", "too small: 40 x 10 at least")
EXAMPLES = (
    ('"a phrase"', "these words in this order"),
    ("-word", "notes without it"),
    ("tag:rust", "notes with a tag"),
    ("path:notes/**", "notes in a folder"),
    ("lang:ko", "notes in a language"),
    ("after:7d", "modified in the last 7 days"),
)
_DID_YOU_MEAN = "Did you mean"
_RECENT = 3
_MOST_FOLDERS = 3
_BAR = 40
_LONGEST, _LONGEST_QUERY = 48, 120

Words = Callable[[int], list[Row]]
"""Makes the rows for a width."""


class TextPane(RowsView):
    """Shows one of the texts, and below it suggestions among which the user can move."""

    @dataclass
    class SuggestionClicked(Message):
        """The user clicked on a suggestion."""

        suggestion: Suggestion

    def __init__(
        self,
        *,
        accept_key: str = "",
        drop_key: str = "",
        id: str | None = None,  # noqa: A002 - Textual's own name for it
    ) -> None:
        super().__init__(id=id)
        self._words: Words = lambda _: []
        self._keys = accept_key, drop_key
        self._suggestion_at: dict[int, int] = {}
        """The suggestion of a row."""
        self.suggestions: Sequence[Suggestion] = ()
        self.chosen: int | None = None
        """The suggestion that the user has moved to."""

    def show(self, words: Words, suggestions: Sequence[Suggestion] = ()) -> None:
        self._words = words
        if suggestions != self.suggestions:
            self.suggestions, self.chosen = suggestions, None
        self.scroll_home(animate=False)
        self.lay_out()

    def move(self, by: int) -> None:
        """Choose another suggestion; from the first one up, none."""
        chosen = (-1 if self.chosen is None else self.chosen) + by
        self.chosen = None if chosen < 0 else min(chosen, len(self.suggestions) - 1)
        self.lay_out()
        row = next((row for row, number in self._suggestion_at.items() if number == self.chosen), 0)
        self.scroll_to_region(Region(0, row, 1, 1), animate=False)

    def rows_at(self, width: int) -> list[Row]:
        rows = [*self._words(width)]
        self._suggestion_at = {}
        if not self.suggestions:
            return rows
        accept, drop = self._keys
        dropped = first_shorter(self.suggestions)
        cells = []
        for number, one in enumerate(self.suggestions):
            is_next = number == (self.chosen or 0)
            keys = [accept] * is_next + [drop] * (one is dropped)
            total = "" if one.total is None else f"{one.total:,} {'hit' if one.total == 1 else 'hits'}"
            label = {"instead": one.part, "everywhere": "search everywhere"}.get(
                one.kind, f"without {one.part}"
            )
            role: Role = "heading" if number == self.chosen else "plain"
            cells.append(
                (
                    Segment(f"{CURSOR if number == self.chosen else ' '} {' '.join(keys)}", "words"),
                    Segment(cut(one_line(label), _LONGEST), role),
                    Segment(total, "number"),
                )
            )
        for number, line in enumerate(columns(cells, right=(2,))):
            for row in flow([line], width):
                self._suggestion_at[len(rows)] = number
                rows.append(row)
        return rows

    def on_click(self, event: events.Click) -> None:
        number = self._suggestion_at.get(event.get_content_offset_capture(self).y + self.scroll_offset.y)
        if number is not None:
            event.stop()
            self.post_message(self.SuggestionClicked(self.suggestions[number]))


def first_run(width: int, folder_key: str, sample_key: str, quit_key: str, data_folder: str) -> list[Row]:
    """There is no indexed folder yet."""
    return [
        *_heading("No notes yet", width),
        *_table(
            [
                (folder_key, "choose your folder of notes"),
                (sample_key, "try it on the sample notes"),
                (quit_key, "quit"),
            ],
            width,
        ),
        (),
        *paragraph(f"Notes are only read. The index goes to {one_line(data_folder)}", width, "muted"),
    ]


def indexing(width: int, done: int, total: int, counted: int = 0) -> list[Row]:
    """The first scan is running and has no hits to show yet."""
    return [
        *_heading("Reading your notes", width),
        *_progress(done, total, width),
        *(paragraph(f"{counted:,} notes counted so far", width) if counted and not total else ()),
        *paragraph("Results will appear soon; you can type already.", width, "muted"),
    ]


def rebuilding(width: int, message: str, done: int, total: int) -> list[Row]:
    """The index was lost or damaged and is being rebuilt."""
    return [
        *_heading(message, width, "warning"),
        *paragraph("Your notes are safe; the index is being rebuilt from them.", width),
        *_progress(done, total, width),
    ]


def no_notes(
    width: int,
    rescan_key: str,
    folder_key: str,
    folders: Sequence[str],
    other_files: str,
    extensions: Sequence[str],
) -> list[Row]:
    """The folders have no notes; lists the extensions of notes, and the other files."""
    rows = _heading("No notes found", width)
    for folder in folders[:_MOST_FOLDERS]:
        rows += paragraph(f"in {one_line(folder)}", width)
    if len(folders) > _MOST_FOLDERS:
        rows += paragraph(f"and {len(folders) - _MOST_FOLDERS:,} more folders", width)
    rows += paragraph(one_line(other_files), width)
    rows += paragraph(f"Notes are files that end in {', '.join(extensions)}", width, "muted")
    return [*rows, (), *_table([(rescan_key, "rescan"), (folder_key, "search another folder")], width)]


def no_hits(
    width: int, query: str, suggestions: Sequence[Suggestion] | None, mode: SearchMode, mode_key: str
) -> list[Row]:
    """No hits; the suggestions follow. They are None until they are known."""
    rows = _heading(f"No hits for {cut(one_line(query), _LONGEST_QUERY)}", width)
    if suggestions is None:
        return rows
    rows += paragraph(f"{MODE_WORDS[mode].title()} search; {mode_key} switches the mode.", width, "muted")
    if not suggestions and len(query.split()) > 1:
        rows += paragraph("Dropping one filter or one word would not help.", width)
    rows.append(())
    if suggestions and suggestions[0].kind == "instead":
        rows += paragraph(_DID_YOU_MEAN, width, "muted")
    return rows


def start(width: int, recent: Sequence[str], recall_key: str) -> list[Row]:
    """The query is empty: recent queries, and examples of filters."""
    rows: list[Row] = []
    if recent:
        newest = list(recent)[::-1][:_RECENT]
        keys = [recall_key, *[""] * (len(newest) - 1)]
        rows += paragraph("Recent searches", width, "muted")
        rows += _table(
            [(key, cut(one_line(query), _LONGEST)) for key, query in zip(keys, newest, strict=True)], width
        )
        rows.append(())
    rows += paragraph("Filters", width, "muted")
    rows += _table(EXAMPLES, width)
    return rows


def failed(width: int, message: str, hint: str, *, corrects: bool = False) -> list[Row]:
    """The query failed, and there are no earlier hits to keep. `corrects`: valid queries follow."""
    rows = _heading(message, width, "warning")
    if corrects:
        return [*rows, *paragraph(_DID_YOU_MEAN, width, "muted")]
    return [*rows, *paragraph(one_line(hint), width, "muted"), ()]


def _heading(text: str, width: int, role: Role = "heading") -> list[Row]:
    return [*paragraph(one_line(text), width, role), ()]


def _table(lines: Sequence[tuple[str, str]], width: int) -> list[Row]:
    """Keys or examples with their meaning, side by side if they fit."""
    cells = [(Segment(f"  {key}", "words"), Segment(text)) for key, text in lines]
    return [row for line in columns(cells) for row in flow([line], width)]


def _progress(done: int, total: int, width: int) -> list[Row]:
    if not total:
        return []
    filled = bar(done / total, min(_BAR, width))
    return [(Segment(filled, "sum"), Segment(f" {done:,} of {total:,}"))]
