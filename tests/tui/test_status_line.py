"""The status line: its facts, what is dropped in narrow terminals, errors that stay."""

from __future__ import annotations

import unicodedata
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from textual.app import App, ComposeResult

from kebab_tui.domain.hit import Notice
from kebab_tui.tui.widgets.status_line import Fact, StatusContent, StatusLine, facts, fitted
from tests.tui.hits import HOSTILE
from tests.tui.screen import until

_ANSWERED = StatusContent(hits=12, total=4031, milliseconds=38.2, index="live")


def _text(status: StatusContent, width: int = 200) -> str:
    return " · ".join(fact.text for fact in fitted(list(facts(status)), width))


@pytest.mark.parametrize(
    ("status", "text"),
    [
        (_ANSWERED, "12 of 4,031 passages · 38 ms · hybrid · live"),
        (StatusContent(hits=1, total=1, milliseconds=1234), "1 of 1 passage · 1.2 s · hybrid"),
        (StatusContent(hits=0, total=0, milliseconds=3), "nothing found · 3 ms · hybrid"),
        (StatusContent(hits=12, total=90, complete=False), "12 of 90 passages so far · hybrid"),
        (StatusContent(hits=2, total=2, raw=True, mode="lexical"), "2 of 2 passages · RAW"),
        (StatusContent(total=4031, mode="vector"), "4,031 notes · vector"),
        (
            StatusContent(total=2, other_files="1 other file not read: pdf 1"),
            "2 notes · 1 other file not read: pdf 1 · hybrid",
        ),
        (
            StatusContent(hits=1, total=1, other_files="1 other file not read: pdf 1"),
            "1 of 1 passage · hybrid",
        ),
        (StatusContent(hits=3, total=9, marked=2), "3 of 9 passages · hybrid · 2 marked"),
        (StatusContent(progress="indexing 312 of 4,031"), "hybrid · indexing 312 of 4,031"),
        (
            StatusContent(hits=3, total=9, index="live, 3 pending", changed="a.md 0.31 s"),
            "3 of 9 passages · hybrid · live, 3 pending · a.md 0.31 s",
        ),
        (
            StatusContent(hits=3, total=9, index="live", trouble="the disk is full", failed=1),
            "3 of 9 passages · hybrid · live · warning: the disk is full · warning: 1 file could not be read",
        ),
        (
            StatusContent(
                hits=3, total=9, notices=(Notice("x", "No model.", "warning"), Notice("y", "Relaxed."))
            ),
            "3 of 9 passages · hybrid · warning: No model. · Relaxed.",
        ),
    ],
)
def test_a_response_is_summarised_in_one_line(status: StatusContent, text: str) -> None:
    assert _text(status) == text


@pytest.mark.parametrize(
    ("width", "text"),
    [
        (44, "12 of 4,031 passages · 38 ms · hybrid · live"),
        (43, "12 of 4,031 passages · hybrid · live"),
        (35, "12 of 4,031 passages · hybrid"),
        (28, "12 of 4,031 passages · live"),
        (26, "12 of 4,031 passages"),
        (10, "12 of 4,0…"),
    ],
)
def test_the_least_important_goes_first(width: int, text: str) -> None:
    assert _text(_ANSWERED, width) == text


def test_why_the_index_is_not_kept_stays_longer_than_what_changed_and_how_it_is_watched() -> None:
    status = StatusContent(
        hits=3, total=9, index="live", changed="a.md 0.31 s", trouble="no room left on the disk"
    )
    assert _text(status, 45) == "3 of 9 passages · warning: no room left on t…"
    assert _text(replace(status, trouble=""), 35) == "3 of 9 passages · hybrid · live"


def test_a_warning_outlives_the_time_and_loses_its_end_before_it_goes() -> None:
    status = StatusContent(
        hits=3, total=9, milliseconds=5, notices=(Notice("m", "No model is here.", "warning"),)
    )
    assert _text(status, 36) == "3 of 9 passages · warning: No model…"
    assert _text(status, 24) == "3 of 9 passages · hybrid"


_FACTS = st.lists(
    st.builds(Fact, st.text("ab 설계👍", max_size=30), st.integers(0, 9), cut=st.booleans()), max_size=7
)


@given(_FACTS, st.integers(0, 60))
def test_the_line_is_never_wider_than_the_screen(pieces: list[Fact], width: int) -> None:
    shown = fitted(pieces, width)
    assert cell_len(" · ".join(fact.text for fact in shown)) <= width


@given(_FACTS, st.integers(60, 90))
def test_what_stays_keeps_its_order(pieces: list[Fact], width: int) -> None:
    shown = [fact.text for fact in fitted(pieces, width)]
    whole = iter(fact.text for fact in pieces)
    assert all(any(text.rstrip("…") == there[: len(text.rstrip("…"))] for there in whole) for text in shown)


class _Host(App[None]):
    def compose(self) -> ComposeResult:
        yield StatusLine()

    @property
    def status(self) -> StatusLine:
        return self.query_one(StatusLine)

    @property
    def line(self) -> str:
        return self.status.render_line(0).text.rstrip()


async def test_an_error_stays_until_it_is_taken_back() -> None:
    app = _Host()
    async with app.run_test(size=(100, 5)):
        app.status.show(_ANSWERED)
        app.status.show_message(Notice("copied", "Copied notes/a.md:L12"))
        assert app.line.startswith("Copied notes/a.md:L12 · 12 of 4,031 passages")
        app.status.show_error("The index could not be read", "run `kebab doctor`")
        app.status.show(StatusContent(hits=1, total=1))
        app.status.show_message(Notice("x", "Something else"))
        assert app.line.startswith(
            "error: The index could not be read · run `kebab doctor` · Something else · 1 of"
        )
        app.status.clear_message()
        assert app.line == "1 of 1 passage · hybrid"


async def test_a_timed_message_disappears_unless_another_replaced_it() -> None:
    app = _Host()
    async with app.run_test(size=(100, 5)) as pilot:
        app.status.show_message(Notice("news", "1 new"), 0.05)
        assert app.line.startswith("1 new")
        await until(pilot, lambda: not app.line.startswith("1 new"))
        app.status.show_message(Notice("news", "2 new"), 0.05)
        app.status.show_message(Notice("copied", "Copied a.md"))
        await pilot.pause(0.1)
        assert app.line.startswith("Copied a.md")


async def test_an_error_is_shown_at_any_width() -> None:
    app = _Host()
    async with app.run_test(size=(20, 5)):
        app.status.show(_ANSWERED)
        app.status.show_error("The index could not be read")
        assert app.line == "error: The index co…"


async def test_text_contains_no_control_characters_and_no_markup() -> None:
    app = _Host()
    async with app.run_test(size=(400, 5)):
        app.status.show_error(HOSTILE, HOSTILE)
        app.status.show_message(Notice("x", HOSTILE))
        app.status.show(
            StatusContent(
                index=HOSTILE,
                progress=HOSTILE,
                changed=HOSTILE,
                trouble=HOSTILE,
                notices=(Notice("x", HOSTILE),),
            )
        )
        strip = app.status.render_line(0)
        assert not [c for c in strip.text if unicodedata.category(c) in ("Cc", "Cs", "Cf")]
        assert "[/nope]" in strip.text
        assert strip.cell_length == 400
