"""Grace periods of missing files."""

from __future__ import annotations

from kebab_tui.domain.document import Fingerprint
from kebab_tui.domain.ids import DocId, SourceId
from kebab_tui.indexing.reconcile import DeletionGracePeriod
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
