from __future__ import annotations

import threading
import time

from hypothesis import given
from hypothesis import strategies as st

from kebab_tui.indexing.path_queue import LATEST_S, MOST_PATHS, SETTLE_S, PathBatch, PathQueue

ROOT = "/notes"


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


class Bench:
    """A queue whose time is moved by hand."""

    def __init__(self) -> None:
        self.clock = Clock()
        self.queue = PathQueue(self.clock)

    def after(self, seconds: float) -> tuple[PathBatch, ...]:
        self.clock.now += seconds
        return self.queue.take()

    def all(self) -> PathBatch:
        (batch,) = self.after(LATEST_S)
        return batch


def test_a_path_is_due_when_it_has_been_quiet_for_the_settle_time() -> None:
    bench = Bench()
    bench.queue.add(ROOT, b"a.md")
    assert bench.after(SETTLE_S - 0.01) == ()
    bench.queue.add(ROOT, b"a.md")
    assert bench.after(SETTLE_S - 0.01) == ()
    assert bench.after(0.01) == (PathBatch(ROOT, paths=(b"a.md",)),)
    assert bench.queue.pending() == 0


def test_a_path_under_constant_writing_is_due_two_seconds_after_the_first_event() -> None:
    bench = Bench()
    started = bench.clock.now
    bench.queue.add(ROOT, b"log.md")
    while not bench.after(0.01):
        bench.queue.add(ROOT, b"log.md")
    assert LATEST_S - 0.05 < bench.clock.now - started < LATEST_S + 0.05


def test_a_path_that_is_taken_starts_anew() -> None:
    bench = Bench()
    bench.queue.add(ROOT, b"a.md")
    assert bench.after(SETTLE_S)
    bench.queue.add(ROOT, b"a.md")
    assert bench.after(SETTLE_S - 0.01) == ()


def test_one_busy_note_does_not_hold_back_another() -> None:
    bench = Bench()
    bench.queue.add(ROOT, b"quiet.md")
    for _ in range(15):
        bench.queue.add(ROOT, b"busy.md")
        taken = bench.after(0.01)
    assert taken == (PathBatch(ROOT, paths=(b"quiet.md",)),)


def test_what_was_asked_for_is_due_at_once() -> None:
    bench = Bench()
    bench.queue.add(ROOT, b"edited.md", settle_s=0)
    assert bench.after(0) == (PathBatch(ROOT, paths=(b"edited.md",)),)


def test_a_missing_file_can_be_put_off_and_an_event_brings_it_back() -> None:
    bench = Bench()
    bench.queue.add(ROOT, b"gone.md", settle_s=0.45)
    assert bench.after(0.3) == ()
    bench.queue.add(ROOT, b"gone.md")
    assert bench.after(SETTLE_S) == (PathBatch(ROOT, paths=(b"gone.md",)),)


def test_both_ends_of_a_rename_come_in_one_batch() -> None:
    bench = Bench()
    bench.queue.add(ROOT, b"old.md")
    bench.clock.now += 0.000_2
    bench.queue.add(ROOT, b"new.md")
    assert bench.after(SETTLE_S - 0.000_1) == (PathBatch(ROOT, paths=(b"old.md", b"new.md")),)


def test_a_stream_of_renames_is_cut_between_two_of_them() -> None:
    bench = Bench()
    for number in range(200):
        bench.queue.add(ROOT, b"old%d.md" % number)
        bench.clock.now += 0.000_1
        bench.queue.add(ROOT, b"new%d.md" % number)
        bench.clock.now += 0.000_4
    paths: tuple[bytes, ...] = ()
    for _ in range(100):
        for batch in bench.after(0.02):
            assert len(batch.paths) % 2 == 0
            paths += batch.paths
    assert len(paths) == 400


def test_a_folder_takes_in_what_waits_at_or_below_it() -> None:
    bench = Bench()
    bench.queue.add(ROOT, b"a/b.md")
    bench.queue.add(ROOT, b"a/c/d.md")
    bench.queue.add(ROOT, b"a/c", is_dir=True)
    bench.queue.add(ROOT, b"a.md")
    bench.queue.add(ROOT, b"ab/x.md")
    bench.queue.add(ROOT, b"a")
    bench.queue.add(ROOT, b"a", is_dir=True)
    batch = bench.all()
    assert (batch.paths, batch.subtrees) == ((b"a.md", b"ab/x.md"), (b"a",))


def test_a_path_below_a_waiting_folder_keeps_it_waiting() -> None:
    bench = Bench()
    bench.queue.add(ROOT, b"a", is_dir=True)
    bench.clock.now += 0.1
    bench.queue.add(ROOT, b"a/b/c.md")
    bench.queue.add(ROOT, b"a/b", is_dir=True)
    assert bench.after(0.1) == ()
    assert bench.after(0.1) == (PathBatch(ROOT, subtrees=(b"a",)),)


def test_a_folder_that_takes_in_an_old_path_is_not_later_than_that_path() -> None:
    bench = Bench()
    bench.queue.add(ROOT, b"a/b.md")
    for _ in range(19):
        bench.clock.now += 0.1
        bench.queue.add(ROOT, b"a/b.md")
    bench.queue.add(ROOT, b"a", is_dir=True)
    assert bench.after(0.101) == (PathBatch(ROOT, subtrees=(b"a",)),)


def test_the_root_as_a_folder_is_a_reconcile() -> None:
    bench = Bench()
    bench.queue.add(ROOT, b"", is_dir=True)
    (batch,) = bench.after(0)
    assert batch.whole


def test_more_than_500_paths_become_one_reconcile() -> None:
    bench = Bench()
    for number in range(MOST_PATHS):
        bench.queue.add(ROOT, b"%d.md" % number)
    assert bench.queue.pending() == MOST_PATHS
    bench.queue.add(ROOT, b"one more.md")
    assert bench.queue.pending() == 1
    assert bench.after(SETTLE_S) == (PathBatch(ROOT, whole="many changes at once"),)


def test_a_flood_is_not_looked_at_before_it_ends_but_at_least_every_two_seconds() -> None:
    bench = Bench()
    taken = []
    started = bench.clock.now
    for number in range(50_000):  # five seconds of them
        bench.queue.add(ROOT, b"%d.md" % number)
        assert bench.queue.pending() <= MOST_PATHS
        if batches := bench.after(0.000_1):
            taken.append(bench.clock.now - started)
            assert [batch.whole for batch in batches] == ["many changes at once"]
    assert len(taken) == 2


def test_a_reconcile_is_due_at_once_and_no_event_puts_it_off() -> None:
    bench = Bench()
    bench.queue.add(ROOT, b"a.md")
    bench.queue.reconcile(ROOT, "asked for")
    bench.queue.reconcile(ROOT, "a second reason")
    bench.queue.add(ROOT, b"b.md")
    assert bench.after(0) == (PathBatch(ROOT, whole="asked for"),)
    assert bench.queue.pending() == 0


def test_roots_do_not_share_anything() -> None:
    bench = Bench()
    for number in range(MOST_PATHS + 1):
        bench.queue.add("/flood", b"%d.md" % number)
    bench.queue.add(ROOT, b"a.md")
    bench.queue.reconcile("/third", "lost")
    by_root = {batch.root: batch for batch in bench.after(LATEST_S)}
    assert by_root[ROOT].paths == (b"a.md",)
    assert by_root["/flood"].whole and by_root["/third"].whole == "lost"


def test_names_that_are_no_text_survive() -> None:
    bench = Bench()
    bench.queue.add(ROOT, b"\xff\xfe/\xed\xb3\xbf.md")
    assert bench.all().paths == (b"\xff\xfe/\xed\xb3\xbf.md",)


def test_the_earliest_entry_decides_whether_something_is_due() -> None:
    bench = Bench()
    assert not bench.queue.has_due()
    bench.queue.add(ROOT, b"a.md", settle_s=1.0)
    bench.queue.add(ROOT, b"b.md", settle_s=0.5)
    assert not bench.queue.has_due()
    bench.clock.now += 0.5
    assert bench.queue.has_due()


def test_waiting_ends_when_a_path_is_due() -> None:
    queue = PathQueue()
    started = time.monotonic()
    adding = threading.Thread(target=queue.add, args=(ROOT, b"a.md"))
    adding.start()
    assert queue.wait(10)
    assert time.monotonic() - started >= SETTLE_S
    assert queue.take() == (PathBatch(ROOT, paths=(b"a.md",)),)
    adding.join()


def test_waiting_ends_when_woken_before_or_during_it_once_each() -> None:
    queue = PathQueue()
    queue.wake()
    assert not queue.wait(10)
    waking = threading.Timer(0.02, queue.wake)
    waking.start()
    assert not queue.wait(10)
    started = time.monotonic()
    assert not queue.wait(0.03)
    assert time.monotonic() - started >= 0.03
    waking.join()


_NAMES = st.sampled_from([b"a", b"b", b"a/b", b"a/b/c", b"a/b/c.md", b"ab", b"b/a.md", b"a.md"])
_STEPS = st.one_of(
    st.tuples(st.just("add"), _NAMES, st.booleans()),
    st.tuples(st.just("reconcile"), st.just(b""), st.just(True)),
    st.tuples(st.just("take"), st.just(b""), st.just(False)),
)


def _covers(batch: PathBatch, path: bytes) -> bool:
    under = any(path == folder or path.startswith(folder + b"/") for folder in batch.subtrees)
    return bool(batch.whole) or under or path in batch.paths


@given(st.lists(st.tuples(_STEPS, st.floats(0, 1)), max_size=40))
def test_whatever_is_added_is_taken_later_once_and_within_two_seconds(
    steps: list[tuple[tuple[str, bytes, bool], float]],
) -> None:
    bench = Bench()
    waiting: dict[bytes, float] = {}

    def take(seconds: float) -> None:
        for batch in bench.after(seconds):
            named = [*batch.paths, *batch.subtrees]
            for name in named:
                others = [folder for folder in batch.subtrees if folder != name]
                assert named.count(name) == 1 and not any(name.startswith(other + b"/") for other in others)
            for path in [path for path in waiting if _covers(batch, path)]:
                del waiting[path]
        assert all(bench.clock.now - since <= LATEST_S for since in waiting.values())

    for (kind, path, is_dir), seconds in steps:
        if kind == "add":
            bench.queue.add(ROOT, path, is_dir)
            waiting.setdefault(path, bench.clock.now)
        elif kind == "reconcile":
            bench.queue.reconcile(ROOT, "why")
        take(seconds)
    take(LATEST_S)
    assert not waiting and bench.queue.pending() == 0
