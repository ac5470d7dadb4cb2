"""The status line: its facts, what is dropped in narrow terminals, errors that stay."""

from __future__ import annotations

import unicodedata
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from textual.app import App, ComposeResult

from kebab_tui.domain.hit import CORRECTED, Notice
from kebab_tui.tui.widgets.status_line import Fact, StatusContent, StatusLine, facts, fitted, message_of
from tests.tui.hits import HOSTILE
from tests.tui.screen import until

_ANSWERED = StatusContent(hits=12, total=4031, index="live", changed="a.md updated in 0.3 s")
_WARNING = Notice("no_model", "No model is here.", "warning")
_REMARK = Notice("below_score", "2 of 9 hits are below the minimum score.")


def _text(status: StatusContent, width: int = 200) -> str:
    return " · ".join(fact.text for fact in fitted(list(facts(status)), width))


@pytest.mark.parametrize(
    ("status", "text"),
    [
        (_ANSWERED, "4,031 passages · live · a.md updated in 0.3 s"),
        (StatusContent(hits=1, total=1), "1 passage"),
        (StatusContent(hits=0, total=0), "nothing found"),
        (StatusContent(hits=0, total=0, complete=False), "nothing found so far"),
        (StatusContent(hits=12, total=90, complete=False), "90 passages so far"),
        (StatusContent(total=4031), "4,031 notes"),
        (
            StatusContent(total=2, other_files="1 other file not read: pdf 1", index="live"),
            "2 notes · 1 other file not read: pdf 1 · live",
        ),
        (StatusContent(hits=1, total=1, other_files="1 other file not read: pdf 1"), "1 passage"),
        (StatusContent(hits=3, total=9, marked=2, searching=True), "searching · 9 passages · 2 marked"),
        (
            StatusContent(hits=3, total=9, index="live", progress="semantic 27 % · 3/s · 17 min left"),
            "9 passages · live · semantic 27 % · 3/s · 17 min left",
        ),
    ],
)
def test_facts_are_in_a_fixed_order(status: StatusContent, text: str) -> None:
    assert _text(status) == text


def test_passages_are_not_counted_twice() -> None:
    assert [fact.text for fact in facts(_ANSWERED, counts_passages=False)] == [
        "live",
        "a.md updated in 0.3 s",
    ]
    [notes] = facts(StatusContent(total=2), counts_passages=False)
    assert notes.text == "2 notes"


@pytest.mark.parametrize(
    ("width", "text"),
    [
        (45, "4,031 passages · live · a.md updated in 0.3 s"),
        (44, "4,031 passages · live"),
        (20, "4,031 passages"),
        (13, "live"),
        (3, ""),
    ],
)
def test_the_least_important_goes_first(width: int, text: str) -> None:
    assert _text(_ANSWERED, width) == text


@pytest.mark.parametrize(
    ("status", "text"),
    [
        (_ANSWERED, ""),
        (StatusContent(notices=(_REMARK,)), _REMARK.text),
        (StatusContent(notices=(_REMARK, _WARNING)), "warning: No model is here."),
        (
            StatusContent(notices=(_WARNING, Notice(CORRECTED, "also searched: embed"))),
            "also searched: embed",
        ),
        (StatusContent(notices=(Notice("unknown_key", "unknown"), _WARNING)), "warning: No model is here."),
        (StatusContent(notices=(_REMARK,), failed=1), "warning: 1 file could not be read"),
        (StatusContent(notices=(_WARNING,), failed=2), "warning: No model is here."),
        (StatusContent(notices=(_WARNING,), trouble="the disk is full"), "warning: the disk is full"),
        (StatusContent(notices=(Notice("vectors_pending", "vectors 3 %"),)), ""),
    ],
)
def test_the_most_important_message_is_shown(status: StatusContent, text: str) -> None:
    message = message_of(status)
    assert text == (message.text if message else "")


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
        app.status.show(replace(_ANSWERED, notices=(_WARNING,)))
        assert app.line.split("   ")[0] == "4,031 passages · live · a.md updated in 0.3 s"
        assert app.line.endswith("   warning: No model is here.")
        app.status.show_message(Notice("copied", "Copied notes/a.md:L12"))
        assert app.line.endswith("   Copied notes/a.md:L12")
        app.status.show_error("The index could not be read", "run `kebab doctor`")
        app.status.show(StatusContent(hits=1, total=1, notices=(_WARNING,)))
        app.status.show_message(Notice("x", "Something else"))
        assert app.line.startswith("1 passage   ")
        assert app.line.endswith("   error: The index could not be read · run `kebab doctor`")
        app.status.clear_message()
        assert app.line.endswith("   warning: No model is here.")


@pytest.mark.parametrize(
    ("width", "line"),
    [
        (60, "4,031 passages · live" + " " * 13 + "warning: No model is here."),
        (50, "4,031 passages · live   warning: No model is here."),
        (49, "4,031 passages" + " " * 9 + "warning: No model is here."),
        (43, "4,031 passages   warning: No model is here."),
        (42, "live" + " " * 12 + "warning: No model is here."),
        (26, "warning: No model is here."),
        (20, "warning: No model i…"),
    ],
)
async def test_a_message_is_not_cut_before_the_last_fact_is_gone(width: int, line: str) -> None:
    app = _Host()
    async with app.run_test(size=(width, 5)):
        app.status.show(replace(_ANSWERED, notices=(_WARNING,)))
        assert app.status.render_line(0).text == line


async def test_a_timed_message_disappears_unless_another_replaced_it() -> None:
    app = _Host()
    async with app.run_test(size=(100, 5)) as pilot:
        app.status.show_message(Notice("news", "1 new"), 0.05)
        assert app.line.endswith("1 new")
        await until(pilot, lambda: not app.line.endswith("1 new"))
        app.status.show_message(Notice("news", "2 new"), 0.05)
        app.status.show_message(Notice("copied", "Copied a.md"))
        await pilot.pause(0.1)
        assert app.line.endswith("Copied a.md")


async def test_an_error_is_shown_at_any_width() -> None:
    app = _Host()
    async with app.run_test(size=(20, 5)):
        app.status.show(_ANSWERED)
        app.status.show_error("The index could not be read")
        assert app.line == "error: The index co…"


async def test_text_contains_no_control_characters_and_no_markup() -> None:
    app = _Host()
    async with app.run_test(size=(400, 5)):
        app.status.show(StatusContent(index=HOSTILE, progress=HOSTILE, changed=HOSTILE))
        for number in range(4):
            if number == 1:
                app.status.show(StatusContent(notices=(Notice("x", HOSTILE),)))
            elif number == 2:
                app.status.show_message(Notice("x", HOSTILE))
            elif number == 3:
                app.status.show_error(HOSTILE, HOSTILE)
            strip = app.status.render_line(0)
            assert not [c for c in strip.text if unicodedata.category(c) in ("Cc", "Cs", "Cf")]
            assert "[/nope]" in strip.text
            assert strip.cell_length == 400
