"""What the screen says where there are no hits to show, or none was asked for. Pure rows of text.

Each state names the next key. What is named comes from whoever asks: the keys from the
registry, the counts from the engine. The widget that shows the rows is here as well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from kebab_tui.domain.hit import Notice
from kebab_tui.tui.engine_thread import RelaxedQuery
from kebab_tui.tui.widgets.segments import (
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

EXAMPLES = (
    ('"a phrase"', "these words in this order"),
    ("-word", "notes without it"),
    ("tag:rust", "notes with a tag"),
    ("path:notes/**", "notes in a folder"),
    ("lang:ko", "notes in a language"),
    ("after:7d", "notes of the last days"),
)
_RECENT = 3
_BAR = 40
_LONGEST, _LONGEST_ASKED = 48, 120

Words = Callable[[int], list[Row]]
"""Makes the rows for a width."""


def first_run(width: int, sample_key: str, quit_key: str, data_folder: str) -> list[Row]:
    """No folder is known yet: what to do, and the one key that needs nothing."""
    return [
        *_heading("Nothing is indexed yet", width),
        *_table(
            [
                (sample_key, "look around in the sample notes that come with kebab"),
                ("kebab-tui FOLDER", "search the notes in a folder of yours"),
                (quit_key, "leave"),
            ],
            width,
        ),
        (),
        *paragraph(f"Notes are only read. The index goes to {one_line(data_folder)}", width, "muted"),
    ]


def indexing(width: int, done: int, total: int) -> list[Row]:
    """The first folder is being read, and there is nothing to show of it yet."""
    counted = [_bar_row(done, total, width)] if total else []
    return [
        *_heading("Reading your notes", width),
        *counted,
        *paragraph("Hits appear as soon as there are some; you can type already.", width, "muted"),
    ]


def healing(width: int, message: str, done: int, total: int) -> list[Row]:
    """The index was lost or damaged, and is being made anew."""
    counted = [_bar_row(done, total, width)] if total else []
    return [
        *_heading(message, width, "warning"),
        *paragraph("Your notes are safe: they are being read again now.", width),
        *counted,
    ]


def nothing_there(width: int, rescan_key: str) -> list[Row]:
    """The folders hold no notes."""
    return [
        *_heading("There are no notes here yet", width),
        *_table([(rescan_key, "looks again")], width),
    ]


def nothing_found(
    width: int, query: str, costs: Sequence[RelaxedQuery] | None, drop_key: str, mode_key: str
) -> list[Row]:
    """What keeps hits away, and the key that drops it. `costs` is None until they are known."""
    rows = _heading(f"No hits for {cut(one_line(query), _LONGEST_ASKED)}", width)
    if costs is None:
        return rows
    if costs:
        rows += _costs(costs, drop_key, width)
    elif len(query.split()) > 1:
        rows += paragraph("Leaving out one filter or one word would not help.", width)
    rows.append(())
    rows += _table([(mode_key, "search by words only, by meaning, by both")], width)
    return rows


def start(width: int, recent: Sequence[str], recall_key: str) -> list[Row]:
    """Nothing is typed yet: what was asked before, and what can be."""
    rows: list[Row] = []
    if recent:
        newest = list(recent)[::-1][:_RECENT]
        keys = [recall_key, *[""] * (len(newest) - 1)]
        rows += _subheading("Asked before", width)
        rows += _table(
            [(key, cut(one_line(query), _LONGEST)) for key, query in zip(keys, newest, strict=True)], width
        )
        rows.append(())
    rows += _subheading("Narrow it down", width)
    rows += _table(EXAMPLES, width)
    return rows


def refused(width: int, message: str, hint: str) -> list[Row]:
    """The question could not be answered, and no earlier hits are there to stay."""
    rows = _heading(message, width, "warning")
    return [*rows, *paragraph(one_line(hint), width, "muted")]


TOO_SMALL = Notice("too_small", "too small: 40 x 10 at least")


class WordsPane(RowsView):
    """Shows one of the states; takes no keys."""

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's own name for it
        super().__init__(id=id)
        self._words: Words = lambda _: []

    def show(self, words: Words) -> None:
        self._words = words
        self.scroll_home(animate=False)
        self.lay_out()

    def rows_at(self, width: int) -> list[Row]:
        return self._words(width)


def _heading(text: str, width: int, role: str = "heading") -> list[Row]:
    return [*paragraph(one_line(text), width, "warning" if role == "warning" else "heading"), ()]


def _subheading(text: str, width: int) -> Iterator[Row]:
    return paragraph(text, width, "muted")


def _table(lines: Sequence[tuple[str, str]], width: int) -> list[Row]:
    """Keys or examples with what they do; below one another where they do not fit side by side."""
    cells = [(Segment(f"  {key}", "words"), Segment(text)) for key, text in lines]
    rows = columns(cells)
    return [row for line in rows for row in flow([line], width)]


def _costs(costs: Sequence[RelaxedQuery], drop_key: str, width: int) -> list[Row]:
    keys = [drop_key, *[""] * (len(costs) - 1)]
    cells = [
        (
            Segment(f"  {key}", "words"),
            Segment(f"without {cut(one_line(cost.label), _LONGEST)}"),
            Segment(f"{cost.total:,} {'hit' if cost.total == 1 else 'hits'}", "number"),
        )
        for key, cost in zip(keys, costs, strict=True)
    ]
    return [row for line in columns(cells, right=(2,)) for row in flow([line], width)]


def _bar_row(done: int, total: int, width: int) -> Row:
    filled = bar(done / total, min(_BAR, width))
    return (Segment(filled, "sum"), Segment(f" {done:,} of {total:,}"))
