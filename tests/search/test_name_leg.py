"""Notes found by their names: the exact ones first, similar ones by a part of the score."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from kebab_tui.domain.hit import SearchHit
from kebab_tui.domain.query import SearchFilters, SearchMode, SearchQuery
from kebab_tui.search.ranking import ONE_WORD_KEYWORD
from tests.meaning import FLOOR, Chosen, codes


@pytest.fixture
def chosen(tmp_path: Path) -> Iterator[Chosen]:
    made = Chosen(tmp_path)
    yield made
    made.close()


def a_crowd(chosen: Chosen, word: str, cosine: float = 0.9) -> None:
    """Passages that have the word and are nearer than any other note."""
    chosen.add("crowd.md", {f"{word} {word} number {n}": cosine for n in range(20)})


def lifted(chosen: Chosen, text: str, **query: object) -> list[SearchHit]:
    return [hit for hit in chosen.ask(text, **query).hits if hit.score_kind == "name"]


BOTH = pytest.mark.parametrize("mode", ["lexical", "hybrid"])


@BOTH
@pytest.mark.parametrize(
    "typed",
    [
        "port conflict", "PORT-CONFLICT", "port_conflict.md", "infra/Port conflict.md", "[[port-conflict]]",
        '"port conflict"', "busy socket", "Address in use",
    ],
)  # fmt: skip
def test_a_note_is_first_by_its_name_alias_or_title(chosen: Chosen, mode: str, typed: str) -> None:
    names = {"name": "port-conflict", "alias": "busy socket", "title": "Address in use"}
    chosen.add("infra/port-conflict.md", {"something else": 0.1}, names=names)
    a_crowd(chosen, typed.strip('[]"'))
    first, *others = chosen.ask(typed, mode=mode).hits
    assert (first.path, first.score_kind, first.score) == ("infra/port-conflict.md", "name", 1.0)
    assert not first.relaxed
    assert "name" not in {hit.score_kind for hit in others}


@pytest.mark.parametrize(
    "query",
    [{"mode": "vector"}, {"rerank": False}, {"rerank": False, "mode": "lexical"}, {"text": "'docker'"},
     {"text": "docker -compose"}, {"text": "docker notes"}, {"text": "docker tag:y"}],
)  # fmt: skip
def test_only_the_whole_query_in_a_reranked_or_keyword_list_is_a_name(
    chosen: Chosen, query: dict[str, str]
) -> None:
    chosen.add("docker.md", {"docker": 0.5}, ("x",), names={"name": "docker"})
    assert lifted(chosen, "docker tag:x")
    asked = {"text": "docker", **query}
    assert not lifted(chosen, asked.pop("text"), **asked)


@BOTH
def test_the_best_passage_of_the_note_is_listed_once_and_first(chosen: Chosen, mode: str) -> None:
    passages = {
        "an introduction": 0.1,
        "docker docker docker": 0.8,
        "more about docker in many other words": 0.3,
    }
    chosen.add("docker.md", passages, names={"name": "docker"})
    a_crowd(chosen, "docker")
    whole = chosen.ask("docker", mode=mode, k=100)
    assert whole.hits[0].text == "docker docker docker"
    assert len({hit.row for hit in whole.hits}) == len(whole.hits) == whole.total_matches
    assert [hit.rank for hit in whole.hits] == list(range(1, len(whole.hits) + 1))
    for k in (1, 2, 7):
        pages = [chosen.ask("docker", mode=mode, k=k, offset=offset) for offset in (0, k)]
        assert [hit.row for page in pages for hit in page.hits] == [hit.row for hit in whole.hits[: 2 * k]]
        assert {page.total_matches for page in pages} == {whole.total_matches}


@BOTH
def test_of_several_notes_three_come_first_the_nearest_and_latest_ahead(chosen: Chosen, mode: str) -> None:
    for path, mtime in (("a/b/docker.md", 9), ("a/docker.md", 1), ("b/docker.md", 2), ("c/docker.md", 3)):
        chosen.add(path, {f"text of {path}": 0.5}, names={"name": "docker"}, mtime_ns=mtime)
    chosen.add("tools.md", {"tools": 0.5}, names={"name": "tools", "alias": "docker"}, mtime_ns=99)
    assert [hit.path for hit in lifted(chosen, "docker", mode=mode)] == [
        "c/docker.md", "b/docker.md", "a/docker.md",
    ]  # fmt: skip
    assert lifted(chosen, "a/b/docker.md", mode=mode)[0].path == "a/b/docker.md"


@BOTH
def test_a_title_with_a_slash_is_no_path(chosen: Chosen, mode: str) -> None:
    chosen.add("pipelines.md", {"build": 0.5}, names={"name": "pipelines", "title": "CI/CD"})
    chosen.add("cd.md", {"music": 0.5}, names={"name": "cd"})
    assert [hit.path for hit in lifted(chosen, "CI/CD", mode=mode)] == ["pipelines.md"]


@BOTH
def test_a_filter_leaves_a_named_note_out(chosen: Chosen, mode: str) -> None:
    chosen.add("docker.md", {"docker": 0.5}, ("x",), names={"name": "docker"})
    chosen.add("other.md", {"docker": 0.5}, ("y",), names={"name": "other"})
    response = chosen.ask("docker tag:y", mode=mode)
    assert [hit.path for hit in response.hits] == ["other.md"]


@BOTH
def test_with_all_words_required_a_name_alone_finds_nothing(chosen: Chosen, mode: str) -> None:
    chosen.add("docker.md", {"containers": 0.9}, names={"name": "docker"})
    assert chosen.texts("docker", mode=mode) == ["containers"]
    assert chosen.texts("docker", mode=mode, strict=True) == []


@BOTH
def test_limits_count_a_named_note_as_any_other(chosen: Chosen, mode: str) -> None:
    chosen.add("docker.md", {"docker": 0.5}, names={"name": "docker"})
    a_crowd(chosen, "docker")
    hits = chosen.ask("docker", mode=mode, k=50).hits
    kept = chosen.ask("docker", mode=mode, k=50, min_score=hits[1].score)
    assert kept.hits[0].score_kind == "name"
    assert 2 <= kept.total_matches == len(kept.hits) <= len(hits)
    dropped = len(hits) - kept.total_matches
    assert dropped == 0 or f"{dropped} of {len(hits)}" in next(
        notice.text for notice in kept.notices if notice.code == "below_score"
    )


def test_the_first_answer_while_typing_has_the_named_note_first(chosen: Chosen) -> None:
    chosen.add("docker.md", {"one": 0.1, "docker": 0.2}, names={"name": "docker"})
    a_crowd(chosen, "docker")
    query = SearchQuery("docker", typing=True)
    quick, full = (chosen.engine.search(query, first_answer=first) for first in (True, False))
    assert (quick.hits[0].row, quick.hits[0].score_kind) == (full.hits[0].row, "name")
    assert len({hit.row for hit in quick.hits}) == len(quick.hits)


@BOTH
def test_why_not_counts_the_named_notes(chosen: Chosen, mode: str) -> None:
    named = chosen.add("docker.md", {"containers": 0.1}, names={"name": "docker"})
    second = chosen.add("second.md", {"docker": 0.9}, names={"name": "second"})
    for place, note in enumerate((named, second), 1):
        verdict = chosen.why_not("docker", note, mode=mode)
        assert (verdict.stage, verdict.rank) == ("listed", place)


# Similar names


def name_parts(chosen: Chosen, text: str, **query: object) -> dict[str, float]:
    found = chosen.explain(text, k=50, **query).hits
    return {one.hit.path: one.fused.evidence.name for one in found if one.fused is not None}


def test_a_similar_name_counts_in_every_passage_by_the_words_that_both_have(chosen: Chosen) -> None:
    chosen.add("backup.md", {"first": 0.5, "second": 0.4}, names={"name": "backup-strategy"})
    chosen.add("other.md", {"third": 0.5}, names={"name": "garden"})
    parts = name_parts(chosen, "backup strategies")
    assert parts == {"backup.md": pytest.approx(1.0), "other.md": 0.0}
    assert 0 < name_parts(chosen, "the backup of my photographs")["backup.md"] < 0.9
    tree = next(one.tree for one in chosen.explain("backup strategies").hits if one.hit.text == "second")
    assert tree.at("rerank", "rerank_raw", "name").value == pytest.approx(0.2)


def test_korean_names_are_compared_by_syllables_without_particles(chosen: Chosen) -> None:
    chosen.add("a.md", {"글": 0.5}, names={"name": "백업-정책"})
    chosen.add("b.md", {"다른 글": 0.5}, names={"name": "회의"})
    parts = name_parts(chosen, "백업을 정책으로")
    assert parts == {"a.md": pytest.approx(1.0), "b.md": 0.0}


def test_a_note_that_no_leg_finds_is_found_by_its_name(chosen: Chosen) -> None:
    chosen.add("backup.md", {"copies": 0.1, "tapes": None}, names={"name": "backup-strategy"})
    response = chosen.ask("strategies backup")
    assert [hit.text for hit in response.hits] == ["copies"]
    assert (response.total_matches, codes(response)) == (1, ["vectors_pending"])
    assert not response.hits[0].distant


def test_half_a_name_is_among_the_first_three(chosen: Chosen) -> None:
    chosen.add("a.md", {"copies": 0.1}, names={"name": "backup-strategy-house"})
    chosen.add("crowd.md", {f"backup strategy {n}": 0.9 for n in range(9)})
    hits = chosen.ask("backup strategy").hits
    assert [hit.path for hit in hits[:4]] == ["crowd.md", "crowd.md", "a.md", "crowd.md"]
    tree = chosen.explain("backup strategy").hits[2].tree
    assert tree.note == "place 3 was kept for its name"


def test_a_half_that_many_notes_have_keeps_no_place(chosen: Chosen) -> None:
    for n in range(4):
        chosen.add(f"{n}.md", {f"copies {n}": 0.1}, names={"name": f"backup strategy {n}"})
    chosen.add("crowd.md", {f"backup strategy {n}": 0.9 for n in range(9)})
    assert {hit.path for hit in chosen.ask("backup strategy").hits[:3]} == {"crowd.md"}


def test_an_unfinished_last_word_is_the_beginning_of_a_word_of_the_name(chosen: Chosen) -> None:
    chosen.add("a.md", {"copies": 0.1}, names={"name": "backup-strategy-house"})
    chosen.add("crowd.md", {f"backup strategy {n}": 0.9 for n in range(9)})
    assert "a.md" in {hit.path for hit in chosen.ask("backup strat", typing=True).hits[:3]}
    assert "a.md" not in {hit.path for hit in chosen.ask("backup strat").hits[:3]}


def test_an_indexed_word_is_also_the_beginning_of_a_word_of_the_name(chosen: Chosen) -> None:
    chosen.add("a.md", {"copies": 0.1}, names={"name": "priority-level"})
    chosen.add("crowd.md", {f"prior {n}": 0.9 for n in range(9)})
    assert "a.md" in {hit.path for hit in chosen.ask("prior", typing=True).hits[:3]}
    assert "a.md" not in {hit.path for hit in chosen.ask("prior").hits[:3]}


@BOTH
@pytest.mark.parametrize("first_answer", [False, True])
def test_a_page_of_notes_with_one_name_is_no_longer_than_asked(
    chosen: Chosen, mode: SearchMode, first_answer: bool
) -> None:
    for n in range(5):
        chosen.add(f"{n}/meeting.md", {f"meeting {n}": 0.5}, names={"name": "meeting"})
    for offset in range(4):
        page = chosen.engine.search(SearchQuery("meeting", mode, k=2, offset=offset), first_answer).hits
        assert [hit.rank for hit in page] == [offset + 1, offset + 2]


@BOTH
@pytest.mark.parametrize("marks", ["🎉", "*", "...", "^_^"])
def test_a_name_of_marks_is_exact_or_nothing(chosen: Chosen, marks: str, mode: str) -> None:
    chosen.add("a.md", {"copies": 0.1}, names={"name": "backup-strategy", "alias": marks})
    a_crowd(chosen, "backup")
    assert "a.md" in {hit.path for hit in chosen.ask("backup strategy").hits[:3]}
    assert [hit.path for hit in chosen.ask(marks, mode=mode).hits] == ["a.md"]


@pytest.mark.parametrize(
    ("text", "found"),
    [("#ops", True), ("#OPS", True), ("ops", False), ("#op", False), ("#", False)],
)
def test_a_typed_tag_finds_the_notes_that_have_it(chosen: Chosen, text: str, found: bool) -> None:
    chosen.add("a.md", {"copies": 0.1}, ("ops",))
    chosen.add("crowd.md", {f"{text} {n}": 0.9 for n in range(9)})
    assert ("a.md" in {hit.path for hit in chosen.ask(text).hits[:3]}) == found
    assert not chosen.ask(f"{text} tag:home").hits


# One word, and distant hits


@pytest.mark.parametrize(
    ("text", "share"),
    [("docker", ONE_WORD_KEYWORD), ("how to docker", ONE_WORD_KEYWORD), ("충돌을", ONE_WORD_KEYWORD),
     ("docker compose", 0.3), ('"docker compose"', 0.3), ("kubectl", 0.3)],
)  # fmt: skip
def test_the_words_count_more_if_one_word_was_found(chosen: Chosen, text: str, share: float) -> None:
    chosen.add("a.md", {"docker compose": 0.4, "충돌": 0.4, "far": 0.5})
    fusion = chosen.explain(text).fusion
    assert fusion is not None
    assert fusion.rerank_keyword == share


def test_a_passage_that_has_the_word_comes_before_one_that_is_nearer(chosen: Chosen) -> None:
    chosen.add("a.md", {"docker": 0.1, "containers": 0.6})
    assert chosen.texts("docker") == ["docker", "containers"]


def test_hits_below_the_floor_are_marked(chosen: Chosen) -> None:
    chosen.add("a.md", {"alpha": FLOOR - 0.01, "beta": 0.1})
    assert [hit.distant for hit in chosen.ask("qwertz").hits] == [True, True]
    chosen.add("b.md", {"gamma": FLOOR})
    assert [(hit.text, hit.distant) for hit in chosen.ask("qwertz").hits] == [("gamma", False)]


def test_a_filter_of_passages_holds_for_the_listed_passage(chosen: Chosen) -> None:
    chosen.add("docker.md", {"docker": 0.5}, names={"name": "docker"})
    filters = SearchFilters(headings=("no such heading",))
    assert chosen.ask("docker", filters=filters).hits == ()
