"""The texts shown instead of hits, and the pane that shows them; the sample notes of a first run.

Each text names the key for the next step. The caller passes the keys and the counts; the
functions here only lay out rows.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Sequence

import kebab_tui
from kebab_tui.domain.hit import Notice
from kebab_tui.tui.engine_thread import RelaxedQuery
from kebab_tui.tui.widgets.segments import (
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

SAMPLE_FOLDER = "sample-notes"
TOO_SMALL = Notice("too_small", "too small: 40 x 10 at least")
EXAMPLES = (
    ('"a phrase"', "these words in this order"),
    ("-word", "notes without it"),
    ("tag:rust", "notes with a tag"),
    ("path:notes/**", "notes in a folder"),
    ("lang:ko", "notes in a language"),
    ("after:7d", "modified in the last 7 days"),
)
_RECENT = 3
_MOST_FOLDERS = 3
_BAR = 40
_LONGEST, _LONGEST_QUERY = 48, 120

Words = Callable[[int], list[Row]]
"""Makes the rows for a width."""


class TextPane(RowsView):
    """Shows one of the texts; takes no keys."""

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's own name for it
        super().__init__(id=id)
        self._words: Words = lambda _: []

    def show(self, words: Words) -> None:
        self._words = words
        self.scroll_home(animate=False)
        self.lay_out()

    def rows_at(self, width: int) -> list[Row]:
        return self._words(width)


def first_run(width: int, sample_key: str, quit_key: str, data_folder: str) -> list[Row]:
    """There is no indexed folder yet."""
    return [
        *_heading("No notes yet", width),
        *_table(
            [
                (sample_key, "try it on the sample notes"),
                ("kebab-tui FOLDER", "search your own folder"),
                (quit_key, "quit"),
            ],
            width,
        ),
        (),
        *paragraph(f"Notes are only read. The index goes to {one_line(data_folder)}", width, "muted"),
    ]


def indexing(width: int, done: int, total: int) -> list[Row]:
    """The first scan is running and has no hits to show yet."""
    return [
        *_heading("Reading your notes", width),
        *_progress(done, total, width),
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
    width: int, rescan_key: str, folders: Sequence[str], other_files: str, extensions: Sequence[str]
) -> list[Row]:
    """The folders have no notes; lists the extensions of notes, and the other files."""
    rows = _heading("No notes found", width)
    for folder in folders[:_MOST_FOLDERS]:
        rows += paragraph(f"in {one_line(folder)}", width)
    if len(folders) > _MOST_FOLDERS:
        rows += paragraph(f"and {len(folders) - _MOST_FOLDERS:,} more folders", width)
    rows += paragraph(one_line(other_files), width)
    rows += paragraph(f"Notes are files that end in {', '.join(extensions)}", width, "muted")
    return [*rows, (), *_table([(rescan_key, "rescan")], width)]


def no_hits(
    width: int, query: str, costs: Sequence[RelaxedQuery] | None, drop_key: str, mode_key: str
) -> list[Row]:
    """No hits: which filter or word excludes them, and the key that drops it.

    `costs` is None until they are known.
    """
    rows = _heading(f"No hits for {cut(one_line(query), _LONGEST_QUERY)}", width)
    if costs is None:
        return rows
    if costs:
        keys = [drop_key, *[""] * (len(costs) - 1)]
        cells = [
            (
                Segment(f"  {key}", "words"),
                Segment(f"without {cut(one_line(cost.label), _LONGEST)}"),
                Segment(f"{cost.total:,} {'hit' if cost.total == 1 else 'hits'}", "number"),
            )
            for key, cost in zip(keys, costs, strict=True)
        ]
        rows += [row for line in columns(cells, right=(2,)) for row in flow([line], width)]
    elif len(query.split()) > 1:
        rows += paragraph("Dropping one filter or one word would not help.", width)
    rows.append(())
    rows += _table([(mode_key, "search by words, by meaning, or by both")], width)
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


def failed(width: int, message: str, hint: str, drops: tuple[str, str] | None = None) -> list[Row]:
    """The query failed, and there are no earlier hits to keep. `drops`: a key, and the filter it removes."""
    rows = [*_heading(message, width, "warning"), *paragraph(one_line(hint), width, "muted")]
    if drops is not None:
        key, label = drops
        rows += [(), *_table([(key, f"without {cut(one_line(label), _LONGEST)}")], width)]
    return rows


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


def sample_folder(data_folder: str) -> str | None:
    """Copy the sample notes into the data folder, once; None if the installation lacks them."""
    target = os.path.join(data_folder, SAMPLE_FOLDER)
    if os.path.isdir(target):
        return target
    package = kebab_tui.__path__[0]
    for source in (os.path.join(package, "_sample"), os.path.join(package, "..", "fixtures", "notes")):
        if os.path.isdir(source):
            scratch = target + ".new"
            if os.path.islink(scratch):
                os.unlink(scratch)
            shutil.copytree(source, scratch, dirs_exist_ok=True)
            os.replace(scratch, target)
            return target
    return None
