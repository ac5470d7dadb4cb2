"""Snippets: one line within the limit, cut between words."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kebab_tui.search import match_tree
from kebab_tui.search.match import Term
from kebab_tui.search.query_language import parse
from kebab_tui.search.snippet import Snippet, snippet
from tests.effort import cpu_seconds


def _phrases(text: str) -> tuple[Term, ...]:
    wanted = match_tree.strict(parse(text, datetime(2026, 1, 1, tzinfo=UTC)))
    return wanted.phrases if wanted else ()


def _marked(shown: Snippet) -> list[str]:
    return [shown.text[start:end] for start, end in shown.highlights]


_FILLER = "lorem ipsum dolor sit amet " * 20


def test_a_short_chunk_is_shown_whole_on_one_line() -> None:
    assert snippet("one\n  two\t three\n", ()) == Snippet("one two three", ())


def test_a_heading_at_the_top_is_left_to_the_heading_path() -> None:
    assert snippet("## Setup\n\nRun it.", ()).text == "Run it."
    assert snippet("Setup\n=====\n\nRun it.", ()).text == "Run it."


def test_a_heading_that_is_all_there_is_is_shown() -> None:
    assert snippet("## Setup\n", _phrases("setup")) == Snippet("Setup", ((0, 5),))


def test_without_a_match_the_beginning_is_shown() -> None:
    shown = snippet(_FILLER, (), 40)
    assert shown.text == "lorem ipsum dolor sit amet lorem ipsum…"


def test_the_window_lies_around_the_match_and_is_cut_between_words() -> None:
    shown = snippet(f"{_FILLER} the needle here {_FILLER}", _phrases("needle"), 60)
    assert _marked(shown) == ["needle"]
    assert shown.text.startswith("…")
    assert shown.text.endswith("…")
    assert shown.text.strip("…").split()[0] in {"lorem", "ipsum", "dolor", "sit", "amet"}
    assert shown.text.strip("…").split()[-1] in {"lorem", "ipsum", "dolor", "sit", "amet"}


def test_a_match_at_the_end_is_shown_to_the_end() -> None:
    shown = snippet(f"{_FILLER}needle", _phrases("needle"), 50)
    assert shown.text.startswith("…")
    assert shown.text.endswith(" needle")


def test_the_place_with_both_words_wins_over_many_of_one() -> None:
    text = f"git git git git git {_FILLER} git rebase {_FILLER}"
    assert _marked(snippet(text, _phrases("git rebase"), 80)) == ["git", "rebase"]


def test_highlights_are_found_across_a_line_break() -> None:
    assert _marked(snippet('say "git\ninstall" now', _phrases('"git install"'))) == ["git install"]


@pytest.mark.parametrize("unit", ["👩‍👩‍👧‍👦", "🇰🇷", "👍🏽", "e\u0301", "각", "❤️"])
def test_a_cut_never_takes_a_character_apart(unit: str) -> None:
    for limit in range(1, 40):
        body = snippet(unit * 60, (), limit).text.removesuffix("…")
        assert body == unit * (len(body) // len(unit))


def test_a_match_longer_than_the_window_is_cut_like_anything_else() -> None:
    shown = snippet("x " + "a" * 300 + " y", _phrases("a" * 300), 50)
    assert len(shown.text) <= 50
    assert shown.highlights


_PIECES = st.sampled_from(
    [
        "git ",
        "충돌은 ",
        "법",
        "a",
        "\n",
        "# H\n",
        "👩‍👩‍👧",
        "🇰🇷",
        "e\u0301",
        "\u0301",
        "가",
        "install ",
        "-",
        "x" * 30,
        "\u200d",
    ]
)


@given(
    st.one_of(st.text(max_size=400), st.lists(_PIECES, max_size=120).map("".join)),
    st.sampled_from(["git", "충돌 법", "inst*", '"git install"', ""]),
    st.integers(-1, 120),
)
def test_a_snippet_never_exceeds_its_limit_and_highlights_lie_inside(
    text: str, query: str, limit: int
) -> None:
    shown = snippet(text, _phrases(query), limit)
    assert len(shown.text) <= max(limit, 0)
    assert "\n" not in shown.text
    at = 0
    for start, end in shown.highlights:
        assert at <= start < end <= len(shown.text)
        at = end


@given(st.text(st.sampled_from("ab \n")), st.text(st.sampled_from("ab \n")), st.integers(30, 120))
def test_matches_are_in_the_snippet(before: str, after: str, limit: int) -> None:
    shown = snippet(f"{before * 9} needle {after * 9}", _phrases("needle"), limit)
    assert _marked(shown) == ["needle"]


@pytest.mark.parametrize(
    "text", ["git " * 25_000, "충" * 100_000, "\u0301" * 100_000, "🇰🇷" * 50_000, "a" * 100_000]
)
def test_hostile_text_takes_bounded_time(text: str) -> None:
    assert cpu_seconds(lambda: snippet(text, _phrases("git 충돌 법 installing"))) < 2


def test_a_snippet_has_no_markup_and_its_highlights_are_right() -> None:
    shown = snippet(
        "- see [the **git** book](https://git-scm.com/book)\n\n```\ngit push\n```", _phrases("git")
    )
    assert shown.text == "see the git book git push"
    assert _marked(shown) == ["git", "git"]


def test_a_cut_snippet_begins_with_the_sentence_of_its_match() -> None:
    text = f"{_FILLER}. One more, and then. Here is the needle, at last! {_FILLER}"
    assert snippet(text, _phrases("needle"), 80).text.startswith("…Here is the needle, at last! lorem")


def test_a_sentence_too_long_for_its_match_is_cut_between_words() -> None:
    shown = snippet(f"One. {_FILLER} needle {_FILLER}", _phrases("needle"), 60)
    assert _marked(shown) == ["needle"]
    assert shown.text.strip("…").split()[0] in _FILLER.split()
