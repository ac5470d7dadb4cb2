"""The texts shown without hits, at any width."""

from __future__ import annotations

from functools import partial

import pytest

from kebab_tui.tui.suggestions import Suggestion
from kebab_tui.tui.widgets import empty_states
from kebab_tui.tui.widgets.segments import Row, row_text, row_width
from tests.tui.hits import HOSTILE

SUGGESTIONS = (
    Suggestion("instead", "rust", "rust tag:요리", 2),
    Suggestion("without filter", f"tag:{HOSTILE}", "rust", 9),
    Suggestion("without word", "rust", "tag:요리", 1),
)


def _pane() -> empty_states.TextPane:
    pane = empty_states.TextPane(accept_key="tab", drop_key="F8")
    pane.suggestions = SUGGESTIONS
    return pane


def _with_suggestions(width: int) -> list[Row]:
    return _pane().rows_at(width)


NO_HITS = partial(empty_states.no_hits, mode="lexical", mode_key="ctrl+t")
EVERY: dict[str, empty_states.Words] = {
    "first_run": partial(
        empty_states.first_run, folder_key="alt+o", sample_key="F7", quit_key="ctrl+q", data_folder=HOSTILE
    ),
    "indexing": partial(empty_states.indexing, done=312, total=4031),
    "indexing_begun": partial(empty_states.indexing, done=0, total=0),
    "healing": partial(empty_states.rebuilding, message=HOSTILE, done=1, total=2),
    "nothing_there": partial(
        empty_states.no_notes,
        rescan_key="F5",
        folder_key="alt+o",
        folders=["/home/me/notes", HOSTILE] * 3,
        other_files="3 other files not read: pdf 3",
        extensions=(".md", ".txt"),
    ),
    "nothing_found": partial(NO_HITS, query=f"rust {HOSTILE}", suggestions=SUGGESTIONS),
    "nothing_helps": partial(NO_HITS, query="a b", suggestions=()),
    "suggested": _with_suggestions,
    "start": partial(empty_states.start, recent=["설계", HOSTILE] * 5, recall_key="↑"),
    "start_afresh": partial(empty_states.start, recent=[], recall_key="↑"),
    "refused": partial(empty_states.failed, message=HOSTILE, hint="try again"),
}


def text(words: empty_states.Words, width: int = 80) -> str:
    return "\n".join(map(row_text, words(width)))


@pytest.mark.parametrize("name", EVERY)
@pytest.mark.parametrize("width", [16, 40, 80, 400])
def test_rows_fit_the_pane_and_contain_no_control_characters(name: str, width: int) -> None:
    for row in EVERY[name](width):
        assert row_width(row) <= width
        assert all(ord(char) >= 32 and not 0x7F <= ord(char) < 0xA0 for char in row_text(row))


def test_folders_without_notes_are_named_with_what_else_they_hold() -> None:
    lines = [line.strip() for line in text(EVERY["nothing_there"], 200).splitlines()]
    assert "in /home/me/notes" in lines
    assert "and 3 more folders" in lines
    assert "3 other files not read: pdf 3" in lines
    assert "Notes are files that end in .md, .txt" in lines


def test_the_first_suggestion_has_the_key_to_accept_and_the_first_shorter_one_the_key_to_drop() -> None:
    lines = [line.split() for line in text(_with_suggestions).splitlines()]
    assert ["tab", "rust", "2", "hits"] in lines
    assert next(line for line in lines if "F8" in line)[:2] == ["F8", "without"]
    assert ["without", "rust", "1", "hit"] in lines


def test_the_chosen_suggestion_is_marked_and_has_the_key() -> None:
    pane = _pane()
    pane.chosen = 2
    lines = [row_text(row) for row in pane.rows_at(80)]
    assert [line.split() for line in lines if "tab" in line] == [["▌", "tab", "without", "rust", "1", "hit"]]


def test_a_query_of_one_part_gets_no_hint_to_drop_parts() -> None:
    words = partial(NO_HITS, query="xyzzy", suggestions=())
    assert "would not help" not in text(words)
    assert "would not help" in text(EVERY["nothing_helps"])


def test_the_newest_query_comes_first_beside_its_key() -> None:
    words = partial(empty_states.start, recent=["old", "new"], recall_key="↑")
    lines = [line.split() for line in text(words).splitlines()]
    assert lines.index(["↑", "new"]) < lines.index(["old"])


def test_the_bar_grows_with_what_is_done() -> None:
    shares = [text(partial(empty_states.indexing, done=done, total=100)).count("█") for done in (0, 50, 100)]
    assert shares == sorted(set(shares))
