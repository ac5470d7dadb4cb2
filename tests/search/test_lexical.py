"""Keyword search: all the words first, then any; pages and limits are cut from one fixed order."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kebab_tui.domain.errors import RawQueryError
from kebab_tui.domain.query import FacetFilter, SearchFilters, SearchQuery
from kebab_tui.workspace import Workspace
from tests.meaning import Chosen, codes


@pytest.fixture
def chosen(tmp_path: Path) -> Iterator[Chosen]:
    made = Chosen(tmp_path)
    yield made
    made.close()


def words(chosen: Chosen, text: str, **query: object) -> list[str]:
    return chosen.texts(text, mode="lexical", **query)


def test_all_the_words_rank_above_one_frequent_word(chosen: Chosen) -> None:
    chosen.add(
        "a.md", {"git git git git": 0, "git " + "filler " * 200 + "install": 0, "install": 0, "none": 0}
    )
    response = chosen.ask("install git", mode="lexical")
    assert [hit.relaxed for hit in response.hits] == [False, True, True]
    assert response.hits[0].text.startswith("git filler")
    assert response.total_matches == 3
    assert codes(response) == ["relaxed"]
    assert response.notices[0].text == "2 partial matches."
    few = chosen.ask("install git", mode="lexical", k=2)
    assert few.notices[0].text == "1 partial match."


def test_a_strict_search_is_not_filled_up(chosen: Chosen) -> None:
    chosen.add("a.md", {"git install": 0, "git": 0})
    assert words(chosen, "git install", strict=True) == ["git install"]


def test_equal_scores_go_by_chunk_id(chosen: Chosen) -> None:
    for name in "abcdef":
        chosen.add(f"{name}.md", {"same words": 0})
    ids = [hit.chunk_id for hit in chosen.ask("same words", mode="lexical").hits]
    assert ids == sorted(ids)


# An unfinished last word


def scored(chosen: Chosen, text: str, **query: object) -> list[tuple[str, float]]:
    return [(hit.text, hit.score) for hit in chosen.ask(text, mode="lexical", **query).hits]


def test_an_indexed_word_ranks_as_finished_before_as_a_prefix(chosen: Chosen) -> None:
    chosen.add("a.md", {"git merge": 0, "git merge once more": 0, "git mergetool git": 0, "git alone": 0})
    finished, typed = scored(chosen, "git merge"), scored(chosen, "git merge", typing=True)
    assert [text for text, _ in typed] == [
        "git merge",
        "git merge once more",
        "git mergetool git",
        "git alone",
    ]
    assert [one for one in typed if one[0] != "git mergetool git"] == [
        one for one in finished if one[0] != "git mergetool git"
    ]
    assert chosen.ask("git merge", mode="lexical", typing=True).total_matches == 4


def test_a_word_that_is_not_indexed_is_a_prefix(chosen: Chosen) -> None:
    chosen.add("a.md", {"git mergetool": 0, "git": 0})
    response = chosen.ask("git mer", mode="lexical", typing=True)
    assert [(hit.text, hit.relaxed) for hit in response.hits] == [("git mergetool", False), ("git", True)]


@pytest.mark.parametrize("typed", ["debug applicatio", "debug-applicatio", "debug_applicatio"])
def test_the_last_of_joined_words_is_completed_though_its_stem_is_shorter(chosen: Chosen, typed: str) -> None:
    chosen.add("a.md", {"debug-application": 0, "debug": 0})
    first = chosen.ask(typed, mode="lexical", typing=True).hits[0]
    assert (first.text, first.relaxed) == ("debug-application", False)


def test_the_first_letter_of_the_last_of_joined_words_loses_no_hit(chosen: Chosen) -> None:
    chosen.add("a.md", {"debug-application": 0, "debug": 0})
    assert words(chosen, "debug-", typing=True) == words(chosen, "debug-a", typing=True)
    assert words(chosen, "debug-a") == []


def test_each_tier_is_explained_by_the_form_it_is_scored_by(chosen: Chosen) -> None:
    chosen.add("a.md", {"git merge": 0, "git mergetool": 0, "git alone": 0})
    explained = chosen.explain("git merge", mode="lexical", typing=True)
    labels = [[term.label for term in hit.tree.at("words", "bm25").children] for hit in explained.hits]
    assert labels == [["git", "merge"], ["git", "merge*"], ["git", "merge"]]


# Pages


def test_stop_words_count_only_without_other_words_in_an_or_search(
    chosen: Chosen,
) -> None:
    chosen.add("a.md", {"the of": 0, "install the package": 0, "unrelated": 0})
    assert words(chosen, "the of")[0] == "the of"
    assert words(chosen, "install of missing") == ["install the package"]


@settings(max_examples=40, deadline=None)
@given(
    st.sampled_from(
        ["git 브랜치", "포트 충돌", "how do I undo", "docker -compose", "(git merge) OR 포트", "'git'"]
    ),
    st.integers(1, 40),
    st.integers(0, 60),
    st.none() | st.floats(0, 0.99),
)
def test_pages_fit_together_down_to_any_least_score(
    sample: Workspace, text: str, k: int, offset: int, least: float | None
) -> None:
    def page(k: int, offset: int) -> list[tuple[int, int]]:
        query = SearchQuery(text, mode="lexical", k=k, offset=offset, min_score=least)
        return [(hit.rank, hit.row) for hit in sample.search(query).hits]

    both = page(k, offset) + page(k, offset + k)
    assert both == page(2 * k, offset)
    assert [rank for rank, _ in both] == list(range(offset + 1, offset + 1 + len(both)))


@pytest.mark.parametrize("text", ["백업 docker", "git"])
@pytest.mark.parametrize("least", [None, 0.5])
def test_following_next_offset_visits_every_hit_once(
    sample: Workspace, text: str, least: float | None
) -> None:
    offset: int | None = 0
    rows: list[int] = []
    while offset is not None:
        query = SearchQuery(text, mode="lexical", k=3, offset=offset, min_score=least)
        response = sample.search(query)
        rows += [hit.row for hit in response.hits]
        offset = response.next_offset
    assert len(rows) == len(set(rows)) == response.total_matches


@pytest.mark.parametrize("typing", [False, True])
def test_the_number_of_matches_does_not_depend_on_the_page(chosen: Chosen, typing: bool) -> None:
    chosen.add("a.md", {f"alpha beta {n}": 0 for n in range(30)} | {f"alpha {n}": 0 for n in range(40)})
    chosen.add("b.md", {f"alpha betamax {n}": 0 for n in range(20)})
    for k in (1, 29, 30, 31, 50, 89, 90, 91):
        response = chosen.ask("alpha beta", mode="lexical", k=k, typing=typing)
        assert response.total_matches == 90
        assert response.next_offset == (k if k < 90 else None)


@pytest.mark.parametrize("query", ["backup disk", "tag:none OR disk", '(alpha beta) OR "disk full"'])
def test_a_printed_score_is_a_limit_that_keeps_its_hit(sample: Workspace, query: str) -> None:
    for hit in sample.search(SearchQuery(query, mode="lexical", k=30)).hits:
        least = round(hit.score, 6)
        kept = sample.search(SearchQuery(query, mode="lexical", k=hit.rank, min_score=least)).hits
        assert kept[-1].row == hit.row


def test_a_minimum_score_is_inclusive_and_reports_the_dropped_hits(chosen: Chosen) -> None:
    chosen.add("a.md", {"git git": 0, "git and more words here": 0, "filler": 0, "filler two": 0})
    scores = [hit.score for hit in chosen.ask("git", mode="lexical").hits]
    assert scores[0] > scores[1]
    response = chosen.ask("git", mode="lexical", min_score=scores[0])
    assert ([hit.score for hit in response.hits], response.total_matches) == (scores[:1], 1)
    assert "1 of 2 hits" in next(notice.text for notice in response.notices if notice.code == "below_score")
    assert "below_score" not in codes(chosen.ask("git", mode="lexical", min_score=scores[1]))


def test_a_least_score_lets_any_word_fill_the_page(chosen: Chosen) -> None:
    """Of those with all words the weak ones go; one with a single word may still be strong enough."""
    chosen.add(
        "a.md", {"alpha " + "filler " * 300 + "beta": 0, "alpha alpha": 0} | {f"x {n}": 0 for n in range(30)}
    )
    hits = chosen.ask("alpha beta", mode="lexical").hits
    assert hits[0].score < hits[1].score
    kept = chosen.ask("alpha beta", mode="lexical", min_score=hits[1].score)
    assert [(hit.rank, hit.text) for hit in kept.hits] == [(1, "alpha alpha")]


def test_a_first_answer_ranks_the_newest_and_is_incomplete(
    chosen: Chosen, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kebab_tui.search.lexical.FIRST_ANSWER", 3)
    chosen.add("a.md", {f"alpha {n}": 0.9 for n in range(8)})
    first = chosen.engine.search(SearchQuery("alpha"), first_answer=True)
    assert {hit.text for hit in first.hits} == {"alpha 5", "alpha 6", "alpha 7"}
    assert not first.complete
    assert chosen.ask("alpha", mode="lexical").complete


def test_a_raw_query_is_the_index_own_language(chosen: Chosen) -> None:
    chosen.add("a.md", {"alpha beta": 0, "beta gamma": 0})
    response = chosen.ask("'alpha NOT gamma'", mode="lexical")
    assert ([hit.text for hit in response.hits], response.raw) == (["alpha beta"], True)
    with pytest.raises(RawQueryError):
        chosen.ask("'alpha AND'", mode="lexical")


@pytest.mark.parametrize("text", ["", "   ", "''", "-alpha", "!!"])
def test_a_query_without_search_words_finds_nothing(chosen: Chosen, text: str) -> None:
    chosen.add("a.md", {"alpha": 0})
    response = chosen.ask(text, mode="lexical")
    assert (response.hits, response.total_matches) == ((), 0)


def test_filters_alone_list_notes_and_not_chunks(chosen: Chosen) -> None:
    chosen.add("a.md", {"one": 0, "two": 0}, tags=("x",))
    chosen.add("b.md", {"three": 0})
    assert words(chosen, "tag:x") == ["one"]
    assert words(chosen, "", filters=SearchFilters((FacetFilter("tag", "none", ("x",)),))) == ["three"]
