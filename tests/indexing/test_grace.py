"""Grace periods of missing files, retries and periodic scans."""

from __future__ import annotations

from kebab_tui.domain.document import Fingerprint
from kebab_tui.domain.ids import DocId, SourceId
from kebab_tui.indexing.reconcile import DeletionGracePeriod
from kebab_tui.indexing.watched_folders import EVERY_S, LONGEST_S, PeriodicRescan, Retries
from kebab_tui.storage.ports import KnownFile

NOTES = SourceId("notes")
FILE = KnownFile(DocId("d"), Fingerprint(1, 1, 1, 1), "h", "m", "ok", "", 0)


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def test_a_missing_file_expires_after_the_grace_period_and_not_before() -> None:
    clock = Clock()
    grace = DeletionGracePeriod(clock, 0.5)
    assert grace.expired(NOTES, {b"a": FILE}) == {}
    assert grace.waiting(NOTES) == (b"a",)
    assert grace.left(NOTES) == 0.5
    clock.now += 0.4
    assert grace.expired(NOTES, {b"a": FILE, b"b": FILE}) == {}
    clock.now += 0.1
    assert grace.expired(NOTES, {b"a": FILE, b"b": FILE}) == {b"a": FILE}
    assert grace.waiting(NOTES) == (b"b",)


def test_a_file_that_came_back_gets_the_whole_period_again() -> None:
    clock = Clock()
    grace = DeletionGracePeriod(clock, 0.5)
    grace.expired(NOTES, {b"a": FILE})
    clock.now += 0.4
    assert grace.expired(NOTES, {}) == {}
    assert grace.waiting(NOTES) == ()
    clock.now += 0.4
    assert grace.expired(NOTES, {b"a": FILE}) == {}


def test_each_source_has_its_own_grace_period() -> None:
    clock = Clock()
    grace = DeletionGracePeriod(clock, 0.5)
    grace.expired(NOTES, {b"a": FILE})
    clock.now += 0.6
    other = SourceId("other")
    assert grace.expired(other, {b"a": FILE}) == {}
    assert grace.left(NOTES) == 0
    grace.forget(other)
    assert grace.left(other) == 0


def test_what_fails_is_tried_again_with_longer_and_longer_pauses() -> None:
    clock = Clock()
    retries: Retries[str] = Retries(clock)
    pauses = []
    for _ in range(8):
        retries.failed("disk")
        assert retries.is_waiting("disk")
        began = clock.now
        while not retries.due():
            clock.now += 0.5
        pauses.append(clock.now - began)
    assert pauses == [1, 2, 4, 8, 16, LONGEST_S, LONGEST_S, LONGEST_S]
    retries.succeeded("disk")
    assert retries.due() == []


def test_a_requested_retry_is_due_at_once() -> None:
    clock = Clock()
    retries: Retries[str] = Retries(clock)
    for _ in range(5):
        retries.failed("disk")
        clock.now += LONGEST_S
    retries.all_now()
    assert retries.due() == ["disk"]
    assert not retries.is_waiting("disk")


def test_after_sleep_everything_is_scanned_once() -> None:
    clock, asleep = Clock(), Clock()
    rounds = PeriodicRescan(clock, asleep)
    assert rounds.due() == ""
    asleep.now += 60
    assert "asleep" in rounds.due()
    assert rounds.due() == ""
    clock.now += EVERY_S
    assert rounds.due()
    assert rounds.due() == ""


def test_a_failure_before_its_time_does_not_put_off_the_next_try() -> None:
    clock = Clock()
    retries: Retries[str] = Retries(clock)
    retries.failed("folder")
    for _ in range(9):
        clock.now += 0.1
        retries.failed("folder")
    clock.now += 0.2
    assert retries.due() == ["folder"]


def test_what_fails_again_is_stuck_until_it_succeeds() -> None:
    clock = Clock()
    retries: Retries[str] = Retries(clock)
    retries.failed("folder")
    assert retries.stuck() == []
    clock.now += 1
    retries.failed("folder")
    assert retries.stuck() == ["folder"]
    retries.succeeded("folder")
    assert retries.stuck() == []
