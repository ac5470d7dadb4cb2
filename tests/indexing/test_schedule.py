"""What the indexing process does next, on a clock driven by hand."""

from __future__ import annotations

from kebab_tui.indexing.path_queue import SETTLE_S, PathBatch, PathQueue
from kebab_tui.indexing.schedule import (
    DISK,
    EMBED_AGAIN_S,
    FIRST_S,
    LONGEST_S,
    QUIET_S,
    SAVE_AFTER_S,
    SAVES_APART_S,
    SCAN_EVERY_S,
    SCAN_SHARE,
    UNLOAD_AFTER_S,
    Schedule,
)

ROOT, OTHER = "/notes", "/other"
WHOLE = PathBatch(ROOT, whole="periodic scan")


class Bench:
    """A schedule and its clocks."""

    def __init__(self, embeds: bool = False) -> None:
        self.now, self.asleep = 100.0, 0.0
        self.queue = PathQueue(lambda: self.now)
        self.schedule = Schedule(self.queue, embeds, lambda: self.asleep)

    def scans(self) -> list[tuple[str, str]]:
        """The roots that are scanned now as a whole, and why."""
        self.schedule.queue_scans([ROOT, OTHER])
        return [(batch.root, batch.whole) for batch in self.queue.take()]

    def embed(self, made: int = 1) -> None:
        assert self.schedule.next() == "embed"
        self.schedule.embedding_began()
        self.schedule.embedding_ended(made)


# The order of the work


def test_settled_paths_come_before_embedding_and_embedding_before_idle_work() -> None:
    bench = Bench(embeds=True)
    bench.queue.add(ROOT, b"a.md")
    assert bench.schedule.next() == "embed", "while the path settles"
    bench.now += SETTLE_S
    assert bench.schedule.next() == "index"
    bench.queue.take()
    assert bench.schedule.next() == "embed"
    bench.embed()
    assert bench.schedule.next() == "wait"


def test_nothing_is_embedded_without_vectors() -> None:
    bench = Bench()
    bench.schedule.want_embedding()
    assert bench.schedule.next() == "wait"


def test_idle_work_starts_after_a_time_without_changes() -> None:
    bench = Bench()
    bench.now += QUIET_S
    assert bench.schedule.next() == "tidy"
    bench.schedule.scanned(WHOLE, [], False)
    assert bench.schedule.next() == "wait"
    bench.now += QUIET_S
    assert bench.schedule.next() == "tidy"


def test_after_a_failed_write_everything_pauses_until_the_retry() -> None:
    bench = Bench(embeds=True)
    bench.queue.reconcile(ROOT, "first scan")
    bench.schedule.failed(DISK)
    bench.schedule.queue_scans([ROOT])
    assert bench.schedule.next() == "pause"
    bench.now += FIRST_S
    bench.schedule.queue_scans([ROOT])
    assert bench.schedule.next() == "index"
    bench.schedule.failed(DISK)
    bench.now += FIRST_S
    assert bench.schedule.next() == "pause", "twice as long"
    bench.schedule.scanned(WHOLE, [], False)
    assert bench.schedule.next() == "index"


def test_a_check_is_due_once_in_its_interval() -> None:
    bench = Bench()
    assert bench.schedule.is_time("requests", 0.1)
    assert not bench.schedule.is_time("requests", 0.1)
    assert bench.schedule.is_time("data folder", 1.0), "each has its own"
    bench.now += 0.5
    assert bench.schedule.is_time("requests", 0.1)
    assert not bench.schedule.is_time("data folder", 1.0)


# Embedding


def test_what_is_left_is_embedded_next() -> None:
    bench = Bench(embeds=True)
    bench.schedule.embedding_began()
    bench.schedule.embedding_ended(3, is_complete=False)
    assert bench.schedule.next() == "embed"


def test_after_an_error_the_texts_wait_for_the_next_change() -> None:
    bench = Bench(embeds=True)
    bench.schedule.embedding_began()
    bench.schedule.embedding_ended()
    assert bench.schedule.next() == "wait"
    bench.schedule.want_embedding()
    assert bench.schedule.next() == "embed"


def test_vectors_are_saved_when_idle_and_not_often() -> None:
    bench = Bench(embeds=True)
    bench.embed()
    assert bench.schedule.next() == "wait"
    bench.now += SAVE_AFTER_S
    assert bench.schedule.next() == "save_vectors"
    bench.schedule.saving_vectors()
    assert bench.schedule.next() != "save_vectors", "it failed, and is tried again later"
    bench.now += SAVES_APART_S
    assert bench.schedule.next() == "save_vectors"
    bench.schedule.saving_vectors()
    bench.schedule.unsaved = False
    bench.now += SAVES_APART_S
    assert bench.schedule.next() == "unload_model"


def test_an_idle_model_is_unloaded_once() -> None:
    bench = Bench(embeds=True)
    bench.embed(made=0)
    bench.now += UNLOAD_AFTER_S
    assert bench.schedule.next() == "unload_model"
    bench.schedule.unloaded()
    assert bench.schedule.next() == "tidy"


def test_while_another_process_embeds_this_one_asks_now_and_then_and_unloads_its_model() -> None:
    bench = Bench(embeds=True)
    done = []
    for _ in range(40):
        task = bench.schedule.next()
        done.append(task)
        if task == "embed":
            bench.schedule.embedding_began()
            bench.schedule.embed_later()
            assert bench.schedule.next() != "embed", "not at once"
        elif task == "unload_model":
            bench.schedule.unloaded()
        bench.now += EMBED_AGAIN_S / 2
    assert done.count("embed") == 20
    for _ in range(40):
        done.append(bench.schedule.next())
        bench.now += EMBED_AGAIN_S / 2
        if done[-1] == "embed":
            bench.schedule.embedding_began()
            bench.schedule.embed_later()
    assert "unload_model" in done


# Periodic scans, and scans after sleep


def test_everything_is_scanned_periodically() -> None:
    bench = Bench()
    assert bench.scans() == []
    bench.now += SCAN_EVERY_S
    assert bench.scans() == [(ROOT, "periodic scan"), (OTHER, "periodic scan")]
    assert bench.scans() == []


def test_after_sleep_everything_is_scanned_once() -> None:
    bench = Bench()
    bench.asleep += 60
    assert bench.scans() == [(ROOT, "the computer was asleep"), (OTHER, "the computer was asleep")]
    assert bench.scans() == []
    bench.now += SCAN_EVERY_S
    assert bench.scans() == [(ROOT, "periodic scan"), (OTHER, "periodic scan")]


# Retries


def test_what_fails_is_tried_again_with_longer_and_longer_pauses() -> None:
    bench = Bench()
    pauses = []
    for _ in range(8):
        bench.schedule.failed((ROOT, b""))
        began = bench.now
        while not bench.scans():
            bench.now += 0.5
        pauses.append(bench.now - began)
    assert pauses == [1, 2, 4, 8, 16, LONGEST_S, LONGEST_S, LONGEST_S]


def test_a_failure_before_its_time_does_not_put_off_the_next_try() -> None:
    bench = Bench()
    bench.schedule.failed((ROOT, b""))
    for _ in range(9):
        bench.now += 0.1
        bench.schedule.failed((ROOT, b""))
    bench.now += 0.2
    assert bench.scans() == [(ROOT, "retry")]


def test_a_requested_retry_is_due_at_once() -> None:
    bench = Bench()
    for _ in range(5):
        bench.schedule.failed((ROOT, b"a"))
        bench.schedule.failed(DISK)
        bench.now += LONGEST_S
    bench.schedule.failed(DISK)
    bench.schedule.retry_now()
    bench.schedule.queue_scans([ROOT])
    assert bench.queue.take() == (PathBatch(ROOT, subtrees=(b"a",)),)
    assert bench.schedule.next() != "pause"


def test_what_fails_again_is_unreadable_until_it_succeeds() -> None:
    bench = Bench()
    bench.schedule.scanned(WHOLE, [b"a"], False)
    assert bench.schedule.unreadable(ROOT) == []
    bench.now += FIRST_S
    bench.schedule.scanned(WHOLE, [b"a"], False)
    assert (bench.schedule.unreadable(ROOT), bench.schedule.unreadable(OTHER)) == ([b"a"], [])
    bench.schedule.scanned(WHOLE, [], False)
    assert bench.schedule.unreadable(ROOT) == []


def retried(bench: Bench) -> list[bytes]:
    """The places of the root whose retry is due some time later."""
    bench.now += LONGEST_S
    bench.schedule.queue_scans([ROOT])
    return [path for batch in bench.queue.take() for path in (batch.subtrees or (b"",))]


def test_unreadable_paths_are_retried_until_they_are_readable() -> None:
    bench = Bench()
    bench.schedule.scanned(WHOLE, [b"a", b"b"], False)
    bench.schedule.scanned(PathBatch(ROOT, paths=(b"c.md",), subtrees=(b"a",)), [b"c.md"], False)
    assert retried(bench) == [b"b", b"c.md"]
    bench.schedule.scanned(WHOLE, [], False)
    assert retried(bench) == [], "a scan of the whole is a scan of each"


def test_a_rejected_root_is_retried_and_one_that_is_no_source_any_more_is_not() -> None:
    bench = Bench()
    bench.schedule.scanned(WHOLE, [], True)
    assert retried(bench) == [b""]
    bench.schedule.queue_scans([OTHER])
    assert retried(bench) == []


def test_an_unreadable_ignore_file_is_not_retried() -> None:
    bench = Bench()
    bench.schedule.scanned(WHOLE, [b"a/.gitignore"], False)
    assert retried(bench) == []


def test_thousands_of_unreadable_files_are_a_few_folders() -> None:
    bench = Bench()
    bench.schedule.scanned(WHOLE, [b"%d/%d.md" % (n % 3, n) for n in range(10_000)], False)
    assert sorted(retried(bench)) == [b"0", b"1", b"2"]
    bench.schedule.scanned(WHOLE, [b"%d/a.md" % n for n in range(10_000)], False)
    assert retried(bench) == [b""]


def test_scans_that_take_long_come_less_often() -> None:
    bench = Bench()
    bench.schedule.scan_took("/notes", SCAN_EVERY_S / SCAN_SHARE / 2)
    bench.schedule.scan_took("/work", SCAN_EVERY_S / SCAN_SHARE)
    bench.now += SCAN_EVERY_S
    bench.schedule.queue_scans(["/notes", "/work"])
    assert bench.queue.pending() == 0
    bench.now += SCAN_EVERY_S / 2
    bench.schedule.queue_scans(["/notes", "/work"])
    assert bench.queue.pending() == 2
