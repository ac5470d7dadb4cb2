"""The texts for the state of the indexing process."""

from __future__ import annotations

import pytest

from kebab_tui.domain.document import OtherFiles
from kebab_tui.domain.ids import SourceId
from kebab_tui.indexing.status import FolderState, LiveState, Phase, Trouble
from kebab_tui.indexing.watcher import WatchKind
from kebab_tui.tui.widgets.status_line import LiveWords, changed_words, live_words

OWN, OTHER = 100, 4711


def folder(kind: WatchKind = "live", reason: str = "") -> FolderState:
    return FolderState(SourceId("notes"), "/notes", kind, reason, 3)


LIMIT = "the limit of watched folders is reached"
LIVE, PARTIAL, POLLING = folder(), folder("partial", LIMIT), folder("polling", "a network mount")
PAUSED = folder("paused", "the folder is gone")


@pytest.mark.parametrize(
    ("folders", "word"),
    [
        ((), ""),
        ((LIVE,), "live"),
        ((LIVE, LIVE), "live"),
        ((LIVE, POLLING), "polling (a network mount)"),
        ((folder("polling"),), "polling"),
        ((POLLING, PARTIAL, LIVE), f"partial ({LIMIT})"),
        ((folder("live", "never said"),), "live"),
    ],
)
def test_the_worst_watched_folder_gives_the_word_and_its_reason(
    folders: tuple[FolderState, ...], word: str
) -> None:
    roots = tuple(folder.root for folder in folders)
    assert live_words(LiveState(OWN, folders), OWN) == LiveWords(word, folders=roots)


def test_other_files_are_named_if_there_are_any() -> None:
    assert live_words(LiveState(OWN), OWN).other_files == ""
    state = LiveState(OWN, other_files=OtherFiles(5, (("pdf", 3), ("docx", 2))))
    assert live_words(state, OWN).other_files == "5 other files not read: pdf 3, docx 2"


@pytest.mark.parametrize(
    ("state", "words"),
    [
        (LiveState(OTHER, (LIVE,)), f"live, indexed by pid {OTHER}"),
        (LiveState(OTHER), f"indexed by pid {OTHER}"),
        (LiveState(OWN, once=True), "not watching"),
    ],
)
def test_who_watches_follows_the_word(state: LiveState, words: str) -> None:
    assert live_words(state, OWN).index == words


def test_the_indexing_process_of_another_screen_is_named() -> None:
    assert live_words(LiveState(OTHER, (LIVE,)), 0).index == f"live, indexed by pid {OTHER}"


def test_the_end_of_watching_is_shown() -> None:
    assert live_words(None, OWN) == LiveWords("not watching")


@pytest.mark.parametrize(
    ("phase", "words"),
    [
        (Phase(), ""),
        (Phase("reading"), ""),
        (Phase("reading", 312, 4031), "reading 312 of 4,031"),
        (Phase("reading", 0, 10), "reading 0 of 10"),
        (Phase("reading", 0, 9), ""),
        (Phase("embedding"), ""),
        (Phase("embedding", 81, 2200, 64.4), "semantic 3 % · 64/s"),
        (Phase("embedding", 81, 2200, 64.4, 33.4), "semantic 3 % · 64/s · 33 s left"),
        (Phase("embedding", 1, 2, 1.0, 90.0), "semantic 50 % · 1/s · 90 s left"),
        (Phase("embedding", 1, 2, 1.0, 5399.0), "semantic 50 % · 1/s · 90 min left"),
        (Phase("embedding", 1, 2, 1.0, 9000.0), "semantic 50 % · 1/s · 2.5 h left"),
        (Phase("embedding", 1999, 2000, 0.4, 2.5), "semantic 99 % · 2 s left"),
    ],
)
def test_the_present_work_is_shown_in_counts(phase: Phase, words: str) -> None:
    assert live_words(LiveState(OWN, (LIVE,), phase=phase), OWN).progress == words


def test_many_files_that_wait_are_counted_until_they_are_read() -> None:
    assert live_words(LiveState(OWN, (LIVE,), pending=12_000), OWN).progress == "12,000 pending"
    assert live_words(LiveState(OWN, (LIVE,), pending=9), OWN).progress == ""
    reading = LiveState(OWN, (LIVE,), pending=20, phase=Phase("reading", 1, 20))
    assert live_words(reading, OWN).progress == "reading 1 of 20"


def test_an_upgrade_is_shown_while_notes_are_read_again() -> None:
    state = LiveState(OWN, (LIVE,), phase=Phase("reading", 3, 90), upgrading=(1240, 4800))
    assert live_words(state, OWN).progress == "upgrading: 1,240 of 4,800 notes"
    assert live_words(LiveState(OWN, (LIVE,), upgrading=(1240, 4800)), OWN).progress == ""


def test_another_writer_is_named_before_paused_work() -> None:
    state = LiveState(OWN, (LIVE,), phase=Phase("reading", 1, 9), given_way_to="pid 4711 (ingest)")
    assert live_words(state, OWN).progress == "pid 4711 (ingest) is writing"


def test_a_write_error_is_shown_and_that_search_still_works() -> None:
    full = Trouble("disk_full", "no room left on the disk", "free some space")
    assert live_words(LiveState(OWN, (LIVE,), error=full), OWN).trouble == (
        "no room left on the disk; search still works"
    )


def test_a_folder_that_is_paused_is_a_warning_with_its_name() -> None:
    words = live_words(LiveState(OWN, (PARTIAL, PAUSED, POLLING)), OWN)
    assert (words.index, words.trouble) == ("paused", "notes: the folder is gone")


def test_notes_that_could_not_be_read_are_counted() -> None:
    assert live_words(LiveState(OWN, (LIVE,), failed=2), OWN).failed == 2


@pytest.mark.parametrize(
    ("path", "seconds", "words"),
    [
        ("deep/down/a note.md", 0.314, "a note.md updated in 0.3 s"),
        ("a.md", None, ""),
        ("요리/김치찌개.md", 12.0, "김치찌개.md updated in 12.0 s"),
    ],
)
def test_the_last_change_is_shown_with_its_delay(path: str, seconds: float | None, words: str) -> None:
    assert changed_words(path, seconds) == words
