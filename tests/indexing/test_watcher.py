from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from kebab_tui.indexing import watcher
from kebab_tui.indexing.inotify import TreeEvents
from kebab_tui.indexing.observer import ObserverEvents
from kebab_tui.indexing.path_queue import PathQueue
from kebab_tui.indexing.watcher import FolderWatch, WatchState
from tests.effort import cpu_seconds, sizes
from tests.watched import Watched, visible_notes, watched

pytestmark = pytest.mark.slow


@pytest.fixture(params=[TreeEvents, ObserverEvents], autouse=True)
def events(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """What macOS and Windows are watched with is tried on Linux, too."""
    monkeypatch.setattr(watcher, "EVENTS", request.param)


with_inotify = pytest.mark.parametrize("events", [TreeEvents], indirect=True)
"""What watchdog's observer does less well on Linux, or does not tell."""


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    folder = tmp_path / "notes"
    (folder / "a" / "b").mkdir(parents=True)
    (folder / "a" / "b" / "old.md").write_text("old")
    return folder


@pytest.fixture
def folder(notes: Path) -> Iterator[Watched]:
    with watched(notes) as folder:
        yield folder


def nothing_else(folder: Watched, notes: Path) -> None:
    """Whatever was announced so far has been taken when this later note has."""
    (notes / "marker.md").write_text("x")
    folder.until_path(b"marker.md")
    folder.paths.remove(b"marker.md")


def heard(folder: Watched) -> int | None:
    """How many folders are; None where only their number at the start is known."""
    return folder.watch.state().directories if watcher.EVENTS is TreeEvents else None


def test_a_written_note_is_one_path(folder: Watched, notes: Path) -> None:
    (notes / "a" / "new.md").write_text("text")
    folder.until_path(b"a/new.md")
    assert (folder.paths, folder.subtrees, folder.whole) == ([b"a/new.md"], [], [])
    assert folder.watch.state() == WatchState("live", "", 3)


@pytest.mark.parametrize("change", ["append", "truncate", "touch", "chmod", "remove", "hard link"])
def test_whatever_happens_to_a_note_names_it(folder: Watched, notes: Path, change: str) -> None:
    note = notes / "a" / "b" / "old.md"
    if change == "append":
        with open(note, "a") as handle:
            handle.write("more")
            handle.flush()
            folder.until_path(b"a/b/old.md")  # also while the writer keeps it open
    elif change == "truncate":
        os.truncate(note, 1)
    elif change == "touch":
        os.utime(note, (1, 1))
    elif change == "chmod":
        note.chmod(0o600)
    elif change == "remove":
        note.unlink()
    else:
        os.link(note, notes / "a" / "b" / "linked.md")
        folder.until_path(b"a/b/linked.md")
        return
    folder.until_path(b"a/b/old.md")


def test_both_names_of_a_renamed_note_come_together(folder: Watched, notes: Path) -> None:
    os.rename(notes / "a" / "b" / "old.md", notes / "a" / "new.md")
    folder.until(lambda: folder.paths)
    assert folder.paths == [b"a/b/old.md", b"a/new.md"]


@with_inotify
def test_a_note_moved_out_does_not_hold_back_the_next_one(
    notes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Watchdog's own observer waits for the new name of what was moved; here it would wait for an hour."""
    monkeypatch.setattr("watchdog.observers.inotify_move_event_grouper.InotifyMoveEventGrouper.delay", 3600)
    with watched(notes) as folder:
        os.rename(notes / "a" / "b" / "old.md", tmp_path / "out.md")
        (notes / "next.md").write_text("x")
        folder.until_path(b"next.md")


def test_a_note_moved_in_is_heard(folder: Watched, notes: Path, tmp_path: Path) -> None:
    (tmp_path / "outside.md").write_text("x")
    os.rename(tmp_path / "outside.md", notes / "a" / "inside.md")
    folder.until_path(b"a/inside.md")


def test_a_folder_made_with_notes_in_it_is_a_subtree_and_heard_from_then_on(
    folder: Watched, notes: Path
) -> None:
    (notes / "x" / "y" / "z").mkdir(parents=True)
    (notes / "x" / "y" / "z" / "early.md").write_text("x")
    folder.until_subtree(b"x")
    assert not any(path.startswith(b"x/") for path in [*folder.paths, *folder.subtrees])
    folder.forget()
    (notes / "x" / "y" / "z" / "late.md").write_text("x")
    folder.until(lambda: folder.knows(b"x/y/z/late.md"))


def test_a_folder_moved_in_with_its_notes_is_a_subtree_and_heard(
    folder: Watched, notes: Path, tmp_path: Path
) -> None:
    (tmp_path / "tree" / "deep").mkdir(parents=True)
    os.rename(tmp_path / "tree", notes / "tree")
    folder.until_subtree(b"tree")
    folder.forget()
    (notes / "tree" / "deep" / "n.md").write_text("x")
    folder.until(lambda: folder.knows(b"tree/deep/n.md"))


@with_inotify
def test_a_folder_moved_out_is_a_subtree_and_not_heard_any_more(
    folder: Watched, notes: Path, tmp_path: Path
) -> None:
    os.rename(notes / "a", tmp_path / "away")
    folder.until_subtree(b"a")
    folder.forget()
    (tmp_path / "away" / "b" / "n.md").write_text("x")
    nothing_else(folder, notes)
    assert not folder.paths
    assert heard(folder) in (1, None)


def test_a_folder_moved_within_is_heard_under_its_new_name_only(folder: Watched, notes: Path) -> None:
    os.rename(notes / "a", notes / "c")
    folder.until(lambda: {b"a", b"c"} <= set(folder.subtrees))
    (notes / "c" / "b" / "old.md").write_text("new")
    folder.until_path(b"c/b/old.md")
    assert heard(folder) in (3, None)
    assert not any(path.startswith(b"a/") for path in folder.paths)


@with_inotify
def test_two_folders_that_change_names_are_heard_under_the_right_ones(folder: Watched, notes: Path) -> None:
    (notes / "c" / "d").mkdir(parents=True)
    os.rename(notes / "a", notes / "swap")
    os.rename(notes / "c", notes / "a")
    os.rename(notes / "swap", notes / "c")
    folder.until(lambda: {b"a", b"c"} <= set(folder.subtrees))
    (notes / "a" / "d" / "one.md").write_text("x")
    (notes / "c" / "b" / "two.md").write_text("x")
    folder.until(lambda: {b"a/d/one.md", b"c/b/two.md"} <= set(folder.paths))


@with_inotify
def test_a_folder_found_under_its_new_name_before_its_move_is_read_is_heard_there(notes: Path) -> None:
    reading, released = threading.Event(), threading.Event()

    def is_interesting(path: bytes, is_dir: bool) -> bool:
        if path == b"first.md":
            reading.set()
            released.wait(10)
        return visible_notes(path, is_dir)

    with watched(notes, is_interesting) as folder:
        (notes / "first.md").write_text("x")
        assert reading.wait(10)
        (notes / "c").mkdir()
        os.rename(notes / "a" / "b", notes / "c" / "b")
        released.set()
        folder.until(lambda: {b"c", b"a/b"} <= set(folder.subtrees))
        (notes / "c" / "b" / "n.md").write_text("x")
        folder.until_path(b"c/b/n.md")
        assert folder.watch.state().directories == 4


def test_a_removed_tree_is_a_subtree(folder: Watched, notes: Path) -> None:
    shutil.rmtree(notes / "a")
    folder.until_subtree(b"a")
    assert heard(folder) in (1, None)


def test_a_folder_made_anew_under_its_old_name_is_heard(folder: Watched, notes: Path) -> None:
    held = os.open(notes / "a" / "b", os.O_RDONLY)  # as a shell that stands in it would
    shutil.rmtree(notes / "a")
    (notes / "a" / "b").mkdir(parents=True)
    folder.until_subtree(b"a")
    (notes / "a" / "b" / "n.md").write_text("x")
    folder.until_path(b"a/b/n.md")
    os.close(held)


def test_a_note_that_becomes_a_folder_is_a_subtree(folder: Watched, notes: Path) -> None:
    (notes / "a" / "b" / "old.md").unlink()
    (notes / "a" / "b" / "old.md").mkdir()
    folder.until_subtree(b"a/b/old.md")
    assert b"a/b/old.md" not in folder.paths


@with_inotify
def test_churn_in_an_ignored_folder_is_not_even_watched(notes: Path) -> None:
    (notes / ".git" / "objects" / "00").mkdir(parents=True)
    asked: list[bytes] = []

    def is_interesting(path: bytes, is_dir: bool) -> bool:
        asked.append(path)
        return visible_notes(path, is_dir)

    with watched(notes, is_interesting) as folder:
        assert folder.watch.state().directories == 3
        for number in range(50):
            (notes / ".git" / "objects" / f"{number + 1:02x}").mkdir()
            (notes / ".git" / "objects" / "00" / f"{number}.md").write_text("x")
        os.rename(notes / ".git", notes / ".svn")
        nothing_else(folder, notes)
        assert (folder.paths, folder.subtrees) == ([], [])
        assert not any(path.startswith((b".git/", b".svn/")) for path in asked)


def test_uninteresting_files_are_not_queued(folder: Watched, notes: Path) -> None:
    for name in ("photo.jpg", ".old.md.swp", "4913"):
        (notes / "a" / name).write_text("x")
    nothing_else(folder, notes)
    assert (folder.paths, folder.subtrees) == ([], [])


def test_a_folder_behind_a_link_is_not_watched(folder: Watched, notes: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere" / "deep").mkdir(parents=True)
    os.symlink(tmp_path / "elsewhere", notes / "link")
    os.symlink(notes, notes / "a" / "loop")
    (notes / "made").mkdir()
    os.symlink(tmp_path / "elsewhere", notes / "made" / "link")
    folder.until_subtree(b"made")
    (tmp_path / "elsewhere" / "deep" / "n.md").write_text("x")
    nothing_else(folder, notes)
    assert folder.paths == []
    assert heard(folder) in (4, None)


def test_a_root_behind_a_link_is_watched(notes: Path, tmp_path: Path) -> None:
    os.symlink(notes, tmp_path / "link")
    with watched(tmp_path / "link") as folder:
        (notes / "a" / "n.md").write_text("x")
        folder.until_path(b"a/n.md")


def test_names_that_are_no_text_survive(tmp_path: Path) -> None:
    root = os.fsencode(tmp_path) + b"/\xff\xfe notes"
    os.makedirs(root + b"/\xfe")
    with watched(root) as folder:
        with open(root + b"/\xfe/\xff\n\xed.md", "w") as note:
            note.write("x")
        folder.until_path(b"\xfe/\xff\n\xed.md")
        os.mkdir(root + b"/\xfd")
        folder.until_subtree(b"\xfd")


@sizes(5_000, 50_000)
def test_thousands_of_notes_at_once_become_one_look_at_the_whole(
    folder: Watched, notes: Path, size: int
) -> None:
    place = os.fsencode(notes / "a")
    for number in range(size):
        os.close(os.open(place + b"/%d.md" % number, os.O_CREAT | os.O_WRONLY))
        assert folder.queue.pending() <= 500
    folder.until(lambda: folder.whole)


@with_inotify
def test_a_file_written_while_the_watch_is_set_is_heard_or_there_for_the_scan(notes: Path) -> None:
    for number in range(300):
        (notes / f"{number:03}" / "deep").mkdir(parents=True)
    seen: set[bytes] = set()
    writing = threading.Event()

    def write() -> None:
        for number in range(300):
            (notes / f"{number:03}" / "late" / "later").mkdir(parents=True)
            (notes / f"{number:03}" / "late" / "later" / "n.md").write_text("x")
            writing.set()

    writer = threading.Thread(target=write)
    writer.start()
    writing.wait()
    with watched(notes) as folder:
        seen |= {os.fsencode(path.relative_to(notes)) for path in notes.rglob("*.md")}
        writer.join()
        wanted = {b"%03d/late/later/n.md" % number for number in range(300)}

        folder.until(lambda: all(path in seen or folder.knows(path) for path in wanted))
        folder.forget()
        for path in wanted:
            (notes / os.fsdecode(path)).write_text("again")
        folder.until(lambda: all(map(folder.knows, wanted)))


def test_stopping_is_quick_and_nothing_is_queued_afterwards(tmp_path: Path) -> None:
    for number in range(2_000):
        (tmp_path / "notes" / f"{number}").mkdir(parents=True)
    queue = PathQueue()
    watch = FolderWatch(queue, str(tmp_path / "notes"), visible_notes)
    watch.start()
    threads = threading.active_count()
    assert cpu_seconds(watch.stop) < 2
    (tmp_path / "notes" / "7" / "n.md").write_text("x")
    assert not queue.wait(0.05) and queue.pending() == 0
    assert threading.active_count() <= threads - 2


def test_stopping_is_quick_while_the_callback_hangs(notes: Path) -> None:
    hanging, released, ended = threading.Event(), threading.Event(), threading.Event()

    def is_interesting(path: bytes, is_dir: bool) -> bool:
        if not is_dir:
            hanging.set()
            released.wait(60)
            ended.set()
        return True

    queue = PathQueue()
    watch = FolderWatch(queue, str(notes), is_interesting)
    others = set(threading.enumerate())
    watch.start()
    (notes / "n.md").write_text("x")
    assert hanging.wait(60)
    watch.stop()
    assert not ended.is_set(), "it waits for nobody"
    released.set()
    for thread in set(threading.enumerate()) - others:
        thread.join(60)
    assert queue.pending() == 0


def test_two_watches_do_not_disturb_each_other(notes: Path, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    with watched(notes) as one:
        with watched(tmp_path / "other") as other:
            (tmp_path / "other" / "n.md").write_text("x")
            other.until_path(b"n.md")
        (notes / "n.md").write_text("x")
        one.until_path(b"n.md")
        assert one.paths == [b"n.md"]


def test_renewing_watches_what_became_interesting_and_asks_for_a_reconcile(notes: Path) -> None:
    ignored = {b"a/b"}
    with watched(notes, lambda path, is_dir: path not in ignored) as folder:
        assert folder.watch.state().directories == 2
        ignored.clear()
        folder.watch.renew("the ignore rules changed")
        folder.until(lambda: folder.whole == ["the ignore rules changed"])
        (notes / "a" / "b" / "n.md").write_text("x")
        folder.until_path(b"a/b/n.md")


def test_only_the_watcher_imports_watchdog_and_it_prints_nothing() -> None:
    script = (
        "import logging, sys\n"
        "from kebab_tui.indexing.watcher import FolderWatch\n"
        "from kebab_tui.indexing.path_queue import PathQueue\n"
        "watch = FolderWatch(PathQueue(), '/', lambda path, is_dir: False)\n"
        "assert 'watchdog' not in sys.modules\n"
        "watch.start()\n"
        "assert 'watchdog' in sys.modules\n"
        "logging.getLogger('watchdog.observers.inotify_c').warning('Inotify queue overflowed')\n"
        "watch.stop()\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, timeout=60, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
