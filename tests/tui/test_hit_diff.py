"""What is new in an answer to the same question, and how late it is shown."""

from __future__ import annotations

import pytest

from kebab_tui.domain.citation import SourceSpan
from kebab_tui.domain.hit import SearchHit
from kebab_tui.domain.ids import DocId
from kebab_tui.indexing.status import LastChange
from kebab_tui.tui.hit_diff import HitDiff, Latency, diff_hits, successor
from tests.tui.hits import hit

_SECOND = 1_000_000_000


def of(note: str, number: int, line: int = 1) -> SearchHit:
    """A passage of a note; the number is the passage's identity."""
    return hit(number, f"{note}.md", doc_id=DocId(note), span=SourceSpan(line, line + 3))


A, B, C = of("a", 1), of("b", 2), of("c", 3)
CHANGED = of("a", 11)
SECOND = of("a", 12)


@pytest.mark.parametrize(
    ("before", "after", "fresh", "gone", "words"),
    [
        ((A, B), (A, B), {}, 0, ""),
        ((A, B), (B, A), {}, 0, ""),
        ((), (), {}, 0, ""),
        ((A,), (A, B), {B: "new"}, 0, "1 new"),
        ((A, B), (B,), {}, 1, "1 gone"),
        ((A, B), (CHANGED, B), {CHANGED: "changed"}, 0, "1 changed"),
        ((A, B), (CHANGED, SECOND, B), {CHANGED: "changed", SECOND: "new"}, 0, "1 changed, 1 new"),
        ((A, SECOND, B), (CHANGED, B), {CHANGED: "changed"}, 1, "1 changed, 1 gone"),
        ((A, B), (A, SECOND, B), {SECOND: "new"}, 0, "1 new"),
        ((A, B), (C,), {C: "new"}, 2, "1 new, 2 gone"),
    ],
)
def test_hits_are_new_changed_or_gone(
    before: tuple[SearchHit, ...],
    after: tuple[SearchHit, ...],
    fresh: dict[SearchHit, str],
    gone: int,
    words: str,
) -> None:
    found = diff_hits(before, after)
    assert found.fresh == {one.chunk_id: novelty for one, novelty in fresh.items()}
    assert found.gone == gone
    counts = sorted(str(found).split(", "))
    assert counts == sorted(words.split(", "))


def test_the_summary_lists_new_changed_and_gone() -> None:
    assert str(HitDiff({A.chunk_id: "changed", B.chunk_id: "new"}, 3)) == "1 new, 1 changed, 3 gone"


@pytest.mark.parametrize(
    ("lines", "place"),
    [((100, 8, 40), 1), ((1,), 0), ((11, 9), 0), ((), None)],
)
def test_the_nearest_passage_of_the_note_takes_the_place_of_one_that_changed(
    lines: tuple[int, ...], place: int | None
) -> None:
    hits = [of("a", 20 + number, line) for number, line in enumerate(lines)]
    assert successor(of("a", 1, 10), hits) == place


def test_a_passage_that_was_not_there_before_comes_before_those_that_stood_beside_it() -> None:
    beside, moved_down = of("a", 2, 12), of("a", 3, 40)
    assert successor(of("a", 1, 10), [beside, moved_down], {moved_down.chunk_id}) == 1


def test_a_passage_on_the_nearest_page_comes_before_the_nearest_line() -> None:
    before, same_line, same_page = (
        hit(number, "a.pdf", doc_id=DocId("a"), span=SourceSpan(line, line, page))
        for number, line, page in ((1, 10, 4), (2, 10, 5), (3, 30, 4))
    )
    assert successor(before, [same_line, same_page]) == 1


def test_a_passage_of_another_note_takes_no_ones_place() -> None:
    assert successor(of("a", 1, 10), [of("b", 2, 10)]) is None


class Clock:
    """Seconds, told as nanoseconds; stands still until it is set. `jumped`: set anew by so much."""

    def __init__(self) -> None:
        self.now = 100.0
        self.jumped = 0.0

    def __call__(self) -> int:
        return int((self.now + self.jumped) * _SECOND)

    def steady(self) -> int:
        return int(self.now * _SECOND)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def lateness(clock: Clock) -> Latency:
    return Latency(clock, clock.steady)


def saved(saved_at: float | None, committed_at: float) -> LastChange:
    at = None if saved_at is None else int(saved_at * _SECOND)
    return LastChange("a.md", "changed", at, int(committed_at * _SECOND))


def answered(lateness: Latency, clock: Clock, asked_at: float, shown_at: float) -> None:
    clock.now = asked_at
    lateness.asked()
    clock.now = shown_at
    lateness.shown()


def test_latency_is_the_time_from_saving_to_showing(lateness: Latency, clock: Clock) -> None:
    answered(lateness, clock, 110.25, 110.31)
    assert lateness.of(saved(110.0, 110.2)) == pytest.approx(0.31)


def test_a_note_saved_before_the_start_has_no_latency(lateness: Latency, clock: Clock) -> None:
    answered(lateness, clock, 110.25, 110.31)
    assert lateness.of(saved(60.0, 110.2)) is None


def test_nothing_is_claimed_before_it_is_shown(lateness: Latency, clock: Clock) -> None:
    assert lateness.of(saved(110.0, 110.2)) is None
    answered(lateness, clock, 105, 106)
    assert lateness.of(saved(110.0, 110.2)) is None


def test_an_answer_that_was_asked_for_before_the_commit_does_not_count(
    lateness: Latency, clock: Clock
) -> None:
    answered(lateness, clock, 110.1, 110.3)
    assert lateness.of(saved(110.0, 110.2)) is None, "it is painted after the commit and knows nothing of it"
    answered(lateness, clock, 110.9, 111.0)
    assert lateness.of(saved(110.0, 110.2)) == pytest.approx(1.0)


def test_the_first_showing_counts_not_the_last(lateness: Latency, clock: Clock) -> None:
    answered(lateness, clock, 110.25, 110.3)
    answered(lateness, clock, 150, 151)
    assert lateness.of(saved(110.0, 110.2)) == pytest.approx(0.3)


def test_a_question_asked_just_before_the_writer_s_look_at_the_clock_counts(
    lateness: Latency, clock: Clock
) -> None:
    answered(lateness, clock, 110.199, 110.3)
    assert lateness.of(saved(110.0, 110.2)) == pytest.approx(0.3)


@pytest.mark.parametrize(
    "change",
    [saved(None, 110.2), saved(90.0, 99.0)],
    ids=["a file that is gone was not saved", "it happened before the screen was there"],
)
def test_changes_without_a_latency(lateness: Latency, clock: Clock, change: LastChange) -> None:
    answered(lateness, clock, 120, 121)
    assert lateness.of(change) is None


_DAY = 86_400.0


@pytest.mark.parametrize("day", [-_DAY, _DAY])
def test_a_clock_change_resets_the_latency(lateness: Latency, clock: Clock, day: float) -> None:
    answered(lateness, clock, 110.1, 110.2)
    clock.jumped = day
    answered(lateness, clock, 110.6, 110.7)
    assert lateness.of(saved(110.3, 110.5 + day)) is None, "saved before the jump, committed after it"
    assert lateness.of(saved(110.0, 110.05)) is None, "both before it"
    answered(lateness, clock, 120.25, 120.31)
    assert lateness.of(saved(120.0 + day, 120.2 + day)) == pytest.approx(0.31)


def test_a_note_from_the_future_has_no_time(lateness: Latency, clock: Clock) -> None:
    answered(lateness, clock, 110.25, 110.31)
    assert lateness.of(saved(110.0 + _DAY, 110.2)) is None
