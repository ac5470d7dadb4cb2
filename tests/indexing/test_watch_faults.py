"""Faults of the system, the disk or the user; the watch recovers from each."""

from __future__ import annotations

import gc
import os
import re
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from watchdog.observers.inotify import InotifyWatchGroup

from kebab_tui.files import root
from kebab_tui.indexing import watcher
from kebab_tui.indexing.inotify import TreeEvents
from kebab_tui.indexing.observer import ObserverEvents
from tests.disks import small_disk
from tests.watched import visible_notes, watched

pytestmark = pytest.mark.slow

_REPOSITORY = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def events(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watcher, "EVENTS", getattr(request, "param", TreeEvents))


with_observer = pytest.mark.parametrize("events", [ObserverEvents], indirect=True)
with_both = pytest.mark.parametrize("events", [TreeEvents, ObserverEvents], indirect=True)


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    folder = tmp_path / "notes"
    (folder / "a").mkdir(parents=True)
    (folder / "a" / "old.md").write_text("old")
    return folder


def test_after_a_full_queue_all_is_reconciled_and_heard_again(
    notes: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    reading, released = threading.Event(), threading.Event()

    def is_interesting(path: bytes, is_dir: bool) -> bool:
        if not is_dir:
            reading.set()
            released.wait(30)
        return visible_notes(path, is_dir)

    with watched(notes, is_interesting) as folder:
        (notes / "first.md").write_text("x")
        assert reading.wait(10)
        for number in range(9_000):  # at least two events each, the system keeps 16,384
            os.close(os.open(notes / "a" / f"{number}.md", os.O_CREAT | os.O_WRONLY))
        (notes / "unheard" / "deep").mkdir(parents=True)
        (notes / "a" / "old.md").unlink()
        released.set()
        folder.until(lambda: "too many changes at once for the system" in folder.whole)
        (notes / "unheard" / "deep" / "n.md").write_text("x")
        folder.until_path(b"unheard/deep/n.md")
        assert folder.watch.state().kind == "live"
        assert folder.watch.state().directories == 4
    assert capfd.readouterr() == ("", "")


@with_both
def test_a_root_that_is_removed_pauses_the_watch_until_it_is_back(notes: Path) -> None:
    with watched(notes) as folder:
        shutil.rmtree(notes)
        state = folder.until_state("paused")
        assert (state.reason, state.directories) == (
            "the folder cannot be read: No such file or directory",
            0,
        )
        assert not folder.watch.is_there()
        folder.forget()
        (notes / "b").mkdir(parents=True)
        folder.until(lambda: folder.whole)
        assert folder.whole == ["the folder is back"]
        assert folder.watch.state().kind == "live" and folder.watch.is_there()
        (notes / "b" / "n.md").write_text("x")
        folder.until_path(b"b/n.md")


@with_both
def test_a_root_that_is_not_there_yet_is_waited_for(tmp_path: Path) -> None:
    with watched(tmp_path / "notes") as folder:
        assert folder.watch.state().kind == "paused"
        assert not folder.watch.is_there()
        (tmp_path / "notes").mkdir()
        folder.until(lambda: folder.whole)
        (tmp_path / "notes" / "n.md").write_text("x")
        folder.until_path(b"n.md")


@with_both
def test_another_folder_in_the_place_of_the_root_is_watched_in_its_turn(notes: Path, tmp_path: Path) -> None:
    (tmp_path / "other" / "c").mkdir(parents=True)
    with watched(notes) as folder:
        os.rename(notes, tmp_path / "away")
        os.rename(tmp_path / "other", notes)
        folder.until(lambda: folder.whole)
        (tmp_path / "away" / "a" / "n.md").write_text("x")
        (notes / "c" / "n.md").write_text("x")
        folder.until_path(b"c/n.md")
        assert b"a/n.md" not in folder.paths


@with_both
def test_a_root_that_becomes_a_file_pauses_the_watch(notes: Path) -> None:
    with watched(notes) as folder:
        shutil.rmtree(notes)
        notes.write_text("x")
        folder.until(lambda: folder.watch.state().reason == "the folder cannot be read: Not a directory")
        assert folder.watch.state().kind == "paused"


@with_both
@pytest.mark.parametrize("below", ["", "deep/notes"])
def test_an_unmounted_disk_pauses_the_watch_and_its_empty_folder_is_not_believed(
    tmp_path: Path, below: str
) -> None:
    disk = tmp_path / "disk"
    mount = ["mount", "-t", "tmpfs", "kebab-test", str(disk)]
    root = disk / below
    with small_disk(disk, 4):
        root.mkdir(parents=True, exist_ok=True)
        with watched(root) as folder:
            subprocess.run(["umount", str(disk)], check=True)
            assert not folder.watch.is_there()  # before anybody has noticed
            root.mkdir(parents=True, exist_ok=True)
            reason = folder.until_state("paused").reason
            assert not folder.watch.is_there()
            folder.forget()
            subprocess.run(mount, check=True)
            root.mkdir(parents=True, exist_ok=True)
            folder.until(lambda: folder.whole)
            assert folder.watch.state().kind == "live"
            (root / "n.md").write_text("x")
            folder.until_path(b"n.md")
    assert reason in (
        "the disk that the folder is on is not mounted",
        "the folder cannot be read: No such file or directory",
    )


@with_both
def test_a_disk_mounted_over_the_root_is_watched_in_its_turn(notes: Path) -> None:
    with watched(notes) as folder:
        mount = ["mount", "-t", "tmpfs", "kebab-test", str(notes)]
        if subprocess.run(mount, capture_output=True, check=False).returncode:
            pytest.skip("mounting is not allowed here")
        try:
            folder.until(lambda: folder.whole)
            (notes / "n.md").write_text("x")
            folder.until_path(b"n.md")
        finally:
            subprocess.run(["umount", "-l", str(notes)], check=True)


@with_both
def test_a_disk_mounted_within_the_root_is_watched_too(notes: Path) -> None:
    with watched(notes) as folder:
        with small_disk(notes / "disk", 4) as disk:
            folder.until(lambda: folder.whole)
            (disk / "n.md").write_text("x")
            folder.until_path(b"disk/n.md")
            folder.forget()
        folder.until(lambda: folder.whole)
        assert folder.watch.state().kind == "live"


def test_a_disk_that_others_write_to_is_heard_and_looked_at(
    notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(root, "_REMOTE", re.compile(".*"))
    with watched(notes) as folder:
        state = folder.watch.state()
        assert state.kind == "polling" and state.directories == 2
        assert re.fullmatch(r"\w+ does not announce changes by other computers", state.reason)
        (notes / "a" / "n.md").write_text("x")
        folder.until_path(b"a/n.md")


@with_both
@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_watch_that_breaks_is_set_anew(notes: Path) -> None:
    broken = [True]

    def is_interesting(path: bytes, is_dir: bool) -> bool:
        if not is_dir and broken.pop():
            raise RuntimeError("once")
        broken.append(False)
        return True

    with watched(notes, is_interesting) as folder:
        broken[:] = [True]
        (notes / "a" / "n.md").write_text("x")
        folder.until(lambda: folder.whole == ["the watch had ended"])
        (notes / "a" / "n.md").write_text("again")
        folder.until_path(b"a/n.md")


@with_observer
@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_an_observer_whose_inner_thread_dies_is_set_anew(
    notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise KeyError("as watchdog 7.1 does when folders change names in a circle")

    with watched(notes) as folder:
        with monkeypatch.context() as patched:
            patched.setattr(InotifyWatchGroup, "on_event", fail)
            (notes / "a" / "n.md").write_text("x")
            folder.until(lambda: folder.whole)
        assert folder.whole == ["the watch had ended"]
        (notes / "a" / "n.md").write_text("again")
        folder.until_path(b"a/n.md")


@with_observer
def test_an_observer_that_lost_events_is_set_anew(notes: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with watched(notes) as folder:
        for group in (group for group in gc.get_objects() if isinstance(group, InotifyWatchGroup)):
            group.on_queue_overflow()  # watchdog itself writes a line to its log, and no event
        folder.until(lambda: "too many changes at once for the system" in folder.whole)
        (notes / "a" / "n.md").write_text("x")
        folder.until_path(b"a/n.md")
    assert capfd.readouterr() == ("", "")


_IN_A_SMALL_SYSTEM = """
import os, sys
from pathlib import Path
from kebab_tui.indexing.watcher import WatchIntervals as Pace
from tests.watched import watched

def limit(name, number):
    Path(f"/proc/sys/user/max_inotify_{name}").write_text(str(number))

notes = Path(sys.argv[1])
"""


def _in_a_small_system(notes: Path, script: str) -> list[str]:
    """Run where the limits of inotify are our own to set; gives the lines printed."""
    argv = ["unshare", "--user", "--map-root-user", sys.executable, "-c", _IN_A_SMALL_SYSTEM + script]
    if subprocess.run([*argv[:3], "true"], capture_output=True, check=False).returncode:
        pytest.skip("user namespaces are not allowed here")
    done = subprocess.run(
        [*argv, str(notes)], cwd=_REPOSITORY, capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stderr[-2000:]) == (0, "")
    return done.stdout.splitlines()


def test_above_the_systems_limit_the_rest_is_looked_at_until_the_limit_is_raised(notes: Path) -> None:
    for number in range(20):
        for inner in range(10):
            (notes / f"{number:02}" / f"{inner}").mkdir(parents=True)
    before, seen, after = _in_a_small_system(
        notes,
        """
limit("watches", 50)
with watched(notes) as folder:
    print(folder.watch.state())
    for number in range(20):
        (notes / f"{number:02}" / "9" / "n.md").write_text("x")
    folder.until(lambda: len(set(folder.paths)) == 20)
    print(len(folder.paths))
    (notes / "new").mkdir()
    (notes / "new" / "n.md").write_text("x")
    folder.until(lambda: folder.knows(b"new/n.md"))
    limit("watches", 1000)
    print(folder.until_state("live"))
    folder.forget()
    (notes / "00" / "9" / "n.md").write_text("again")
    (notes / "19" / "9" / "n.md").write_text("again")
    folder.until(lambda: folder.knows(b"00/9/n.md") and folder.knows(b"19/9/n.md"))
""",
    )
    assert before.startswith("WatchState(kind='partial'") and before.endswith("directories=50)")
    assert re.search(r"fs.inotify.max_user_watches\); the other 1\d\d are polled", before)
    assert seen == "20"
    assert after == "WatchState(kind='live', reason='', directories=223)"


def test_a_folder_made_above_the_limit_makes_the_watch_partial(notes: Path) -> None:
    said = _in_a_small_system(
        notes,
        """
limit("watches", 2)
with watched(notes, pace=Pace(beat=0.3, poll=0.05)) as folder:
    print(folder.watch.state().kind)
    (notes / "new").mkdir()
    (notes / "new" / "n.md").write_text("x")
    folder.until_subtree(b"new")
    folder.forget()
    (notes / "new" / "later.md").write_text("before anybody looks there")
    folder.until(lambda: folder.knows(b"new/later.md"))
    print(folder.until_state("partial").kind)
""",
    )
    assert said == ["live", "partial"]


@pytest.mark.parametrize(
    ("limit", "reason"), [("instances", "max_user_instances"), ("watches", "max_user_watches")]
)
def test_without_events_all_is_looked_at_until_there_are_some(notes: Path, limit: str, reason: str) -> None:
    state, *paths, after = _in_a_small_system(
        notes,
        f"""
limit("{limit}", 0)
with watched(notes) as folder:
    print(folder.watch.state())
    (notes / "a" / "n.md").write_text("x")
    (notes / ".hidden.md").write_text("x")
    os.symlink(notes, notes / "loop")
    folder.until_path(b"a/n.md")
    (notes / "a" / "old.md").unlink()
    folder.until_path(b"a/old.md")
    print(*folder.paths, sep="\\n")
    limit("{limit}", 1000)
    folder.until(lambda: folder.whole)
    print(folder.until_state("live"))
""",
    )
    assert state.startswith("WatchState(kind='polling'") and reason in state
    assert paths == ["b'a/n.md'", "b'a/old.md'"]
    assert after == "WatchState(kind='live', reason='', directories=2)"


_AS_NOBODY = """
import os, sys
from pathlib import Path
from tests.watched import watched
import watchdog.observers.inotify_c  # while this program may still be read

if os.geteuid() == 0:
    os.setgid(65534); os.setuid(65534)
notes = Path(sys.argv[1])
with watched(notes) as folder:
    print(folder.watch.state())
    os.chmod(notes / "open", 0)
    folder.until_subtree(b"open")
    folder.forget()
    for name in ("open", "shut"):
        os.chmod(notes / name, 0o700)
        folder.until_subtree(name.encode())
        (notes / name / "n.md").write_text("x")
        folder.until_path(name.encode() + b"/n.md")
    os.chmod(notes, 0)
    print(folder.until_state("paused").reason)
    os.chmod(notes, 0o700)
    folder.until(lambda: "the folder is back" in folder.whole)
    (notes / "open" / "n.md").write_text("x")
    folder.until_path(b"open/n.md")
"""


def test_a_folder_that_may_be_read_again_is_heard_again() -> None:
    # Not below the folder for tests: that one is for its owner only.
    place = Path(subprocess.check_output(["mktemp", "-d", "/var/tmp/kebab-XXXXXX"], text=True).strip())
    try:
        for folder in (place / "open", place / "shut"):
            folder.mkdir()
        (place / "shut").chmod(0)
        if os.geteuid() == 0:
            for folder in (place, place / "open", place / "shut"):
                os.chown(folder, 65534, 65534)
        argv = [sys.executable, "-c", _AS_NOBODY, str(place)]
        done = subprocess.run(argv, cwd=_REPOSITORY, capture_output=True, text=True, timeout=60, check=False)
        assert (done.returncode, done.stderr[-2000:]) == (0, "")
        assert done.stdout.splitlines() == [
            "WatchState(kind='live', reason='', directories=2)",
            "the folder cannot be read: Permission denied",
        ]
    finally:
        (place / "shut").chmod(0o700)
        shutil.rmtree(place)
