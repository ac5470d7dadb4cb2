"""Every number of an explanation can be computed from its parts."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from kebab_tui.domain.ids import ChunkRow
from kebab_tui.domain.query import SearchFilters, SearchMode, SearchQuery
from kebab_tui.search import match_tree
from kebab_tui.search.explanation import Explanation, explain_lexical, with_fusion
from kebab_tui.search.match_tree import Expression
from kebab_tui.search.ports import FieldWeights
from kebab_tui.search.query_language import parse
from kebab_tui.search.ranking import Evidence, FusionSettings, fuse
from kebab_tui.storage.lock import DataFolder
from kebab_tui.storage.sqlite.reader import StoreReader
from kebab_tui.storage.sqlite.writer import StoreWriter
from kebab_tui.workspace import Workspace
from tests.explanations import assert_follows, assert_lines_add_up
from tests.meaning import Chosen
from tests.notes import a_note, a_source

NOW = datetime(2026, 1, 1, tzinfo=UTC)
TEXTS = [
    "git branch and git merge",
    "branch without the other",
    "merge of branches in git and svn",
    "충돌은 포트에서 난다",
    "포트 충돌 해결",
    "데이터베이스 백업을 한다",
    "데이터베이스백업",
    "rust로 쓴 C++ 코드",
    "install the package",
    "installation of packages",
    "3월 회의 git",
    "svn only",
    "merge only",
    "branch svn",
    "node.js 18 and node",
    "docker compose",
    "svn merge 충돌",
    "git",
    "포트",
    "the of and a",
]
QUERIES = [
    "git",
    "git branch",
    '"git branch"',
    "inst*",
    "instal",
    "충돌",
    "포트 충돌",
    "데이터베이스백업",
    "git OR svn",
    "git (branch OR svn)",
    "(git branch) OR svn",
    "(git svn) OR (branch merge) OR 충돌",
    "git -svn",
    "(merge -git) OR branch",
    "((git OR branch) merge) OR 포트",
    "Rust로 C++",
    "rust코드 OR git",
    "node.js 충돌",
    "(branch (merge -svn)) OR (git 3월)",
    "데이터베이스백업 OR (git merge)",
    "git git",
    "(git merge) OR (git svn)",
]


@pytest.fixture(scope="module")
def indexed() -> Iterator[StoreReader]:
    with tempfile.TemporaryDirectory() as root:
        folder = DataFolder(root)
        writer, reader = StoreWriter(folder), StoreReader(folder, FieldWeights())
        writer.save_sources([a_source()])
        writer.apply([a_note(f"{n}.md", text, title=f"Note {n}") for n, text in enumerate(TEXTS)])
        yield reader
        reader.close()
        writer.close()


def assert_adds_up(reader: StoreReader, wanted: Expression | None) -> None:
    if wanted is None:
        return
    with reader.snapshot() as snapshot:
        found = snapshot.rank(wanted.among(SearchFilters()), 100, scored=wanted.scored)
        assert len(found) == snapshot.count(wanted.among(SearchFilters()))
        tables = explain_lexical(snapshot, wanted.phrases, [one.row for one in found], FieldWeights())
        for one in found:
            assert -tables[one.row].value == pytest.approx(one.bm25, abs=1e-6), (wanted.match, one.row)


@pytest.mark.parametrize("text", QUERIES)
def test_the_table_of_a_query_adds_up_to_the_index_own_bm25(indexed: StoreReader, text: str) -> None:
    parsed = parse(text, NOW)
    starred = {word: ["installation"] for word in match_tree.starred_words(parsed)}
    assert_adds_up(indexed, match_tree.strict(parsed, starred=starred))
    assert_adds_up(indexed, match_tree.relaxed(parsed, starred=starred))
    assert_adds_up(indexed, match_tree.strict(parsed, unfinished=["installation"]))
    assert_adds_up(indexed, match_tree.relaxed(parsed, unfinished=["merge"]))


WORDS = st.sampled_from(
    [
        "git",
        "branch",
        "merge",
        "svn",
        "충돌",
        "포트를",
        "데이터베이스백업",
        "inst*",
        '"git merge"',
        "rust로",
        "3월",
    ]
)
EXPRESSIONS = st.recursive(
    WORDS,
    lambda parts: st.one_of(
        st.lists(parts, min_size=2, max_size=3).map(lambda some: f"({' '.join(some)})"),
        st.lists(parts, min_size=2, max_size=3).map(lambda some: f"({' OR '.join(some)})"),
        st.tuples(parts, WORDS).map(lambda two: f"({two[0]} -{two[1]})"),
    ),
    max_leaves=8,
)


@given(EXPRESSIONS)
@example("((git svn) OR branch)")
def test_the_table_of_any_expression_adds_up(indexed: StoreReader, text: str) -> None:
    parsed = parse(text, NOW)
    assert_adds_up(indexed, match_tree.strict(parsed))
    assert_adds_up(indexed, match_tree.relaxed(parsed))


def test_words_of_a_branch_that_does_not_match_count_all_the_same(indexed: StoreReader) -> None:
    """FTS5 passes over them: `branch svn` has svn, but the branch `git svn` is not in it."""
    wanted = match_tree.strict(parse("(git svn) OR branch", NOW))
    assert wanted is not None
    assert wanted.scored is not None
    with indexed.snapshot() as snapshot:
        scored = snapshot.rank(wanted.among(SearchFilters()), 100, scored=wanted.scored)
        by_text = {
            chunk.chunk.text: score.bm25
            for score in scored
            for chunk in snapshot.hydrate([score.row]).values()
        }
    assert by_text["branch svn"] < by_text["branch without the other"]


# The tree of a hit

SEARCHES: list[dict[str, Any]] = [
    {"text": text, "mode": mode, "rerank": rerank}
    for text in (
        "port conflict",
        "포트 충돌 해결",
        "(git merge) OR docker",
        "git branch -merge",
        "how do I undo a commit",
        '"포트 충돌"',
        "dock*",
        "docker tag:network",
        "tag:docker",
        "'port AND conflict'",
    )
    for mode, rerank in (("lexical", None), ("vector", None), ("hybrid", True), ("hybrid", False))
    if (text[0], mode) != ("'", "vector")
]


@pytest.mark.parametrize("query", SEARCHES, ids=lambda query: " ".join(map(str, query.values())))
def test_every_value_follows_from_its_children_and_the_root_is_the_score(
    embedded_sample: Workspace, query: dict[str, Any]
) -> None:
    explained = embedded_sample.explain(SearchQuery(**query, k=40))
    assert explained.hits
    for one in explained.hits:
        assert_follows(one.tree)
        assert_lines_add_up(list(one.tree.lines()))
        assert one.tree.label == "score"
        assert one.tree.value == pytest.approx(one.hit.score, abs=1e-6)
        steps = {step.label: step.value for step in one.tree.children}
        detail = one.hit.retrieval
        expected = {
            "words": detail.lexical_score,
            "meaning": detail.vector_score,
            "fused": None if one.fused is None else detail.fusion_score,
            "rerank": detail.rerank_score,
        }
        for label, score in expected.items():
            if score is not None:
                assert steps[label] == pytest.approx(score, abs=1e-6)


def test_the_numbers_of_a_fusion_are_those_that_ranked_the_hit(embedded_sample: Workspace) -> None:
    for rerank in (True, False):
        explained = embedded_sample.explain(SearchQuery("port conflict", k=40, rerank=rerank))
        for one in explained.hits:
            fused, raw = one.fused, one.tree.at("fused", "rrf_raw")
            assert fused is not None
            assert (raw.value, one.tree.at("fused").value) == (fused.rrf_raw, fused.fusion_score)
            assert [part.value for part in raw.children] == [fused.lexical_part, fused.vector_part]
            if rerank:
                parts = [part.value for part in one.tree.at("rerank", "rerank_raw").children]
                expected = [fused.rerank_keyword, fused.rerank_semantic, fused.rerank_name]
                assert parts == pytest.approx(expected, abs=1e-12)
                assert one.tree.at("rerank").value == fused.rerank_score
                assert one.tree.value == one.hit.score == fused.score


EVIDENCE = st.tuples(
    st.none() | st.tuples(st.integers(1, 400), st.just(0.0) | st.floats(1e-6, 40.0)),
    st.none() | st.tuples(st.integers(1, 400), st.floats(-1.0, 1.0)),
    st.none() | st.floats(-1.0, 1.0),
    st.booleans(),
    st.just((0.0, 0, 0)) | st.tuples(st.floats(0.01, 1.0), st.integers(0, 2), st.integers(0, 2)),
)


def evidence(found: tuple[Any, Any, float | None, bool, tuple[float, int, int]], row: int) -> Evidence:
    (rank, strength), (near, cosine) = found[0] or (None, None), found[1] or (None, found[2])
    other = near is not None and found[3]
    name, exact, half = found[4]
    return Evidence(ChunkRow(row), rank, strength, near, cosine, other, False, "", name, exact, half)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    st.lists(EVIDENCE, min_size=1, max_size=8),
    st.builds(
        FusionSettings,
        rrf_k=st.integers(1, 10_000),
        vector_weight=st.sampled_from([0.0, 0.1, 0.35, 1.0, 10.0]),
        rerank=st.booleans(),
        rerank_depth=st.integers(1, 8),
        rerank_keyword=st.sampled_from([0.3, 0.6]),
    ),
)
def test_every_value_follows_whatever_was_found(
    embedded_sample: Workspace, found: list[Any], fusion: FusionSettings
) -> None:
    base = embedded_sample.explain(SearchQuery("port conflict", k=1))
    row = base.hits[0].hit.row
    candidates = fuse([evidence(one, row - place) for place, one in enumerate(found)], fusion)
    (one,) = with_fusion(base, candidates, fusion).hits
    assert one.fused is not None
    assert_follows(one.tree)
    assert_lines_add_up(list(one.tree.lines()))
    assert one.tree.value == pytest.approx(one.fused.score, abs=1e-12)
    assert one.tree.at("fused").value == pytest.approx(one.fused.fusion_score)


def test_a_what_if_gives_the_tree_that_a_search_would(embedded_sample: Workspace) -> None:
    base = embedded_sample.explain(SearchQuery("port conflict", k=10))
    asked = embedded_sample.explain(SearchQuery("port conflict", k=10, rerank=False))
    assert base.fusion is not None
    without = Workspace.rescore(base, replace(base.fusion, rerank=False))
    trees = {one.hit.row: one.tree for one in asked.hits}
    for one in without.hits:
        assert one.tree == trees.get(one.hit.row, one.tree)
    assert Workspace.rescore(without, base.fusion) == base


def test_each_mode_has_the_steps_of_its_search(embedded_sample: Workspace) -> None:
    def steps(**query: Any) -> list[str]:
        first = embedded_sample.explain(SearchQuery("docker", **query)).hits[0]
        return [step.label for step in first.tree.children]

    assert steps(mode="lexical") == ["name", "words"]
    assert steps(mode="vector") == ["meaning", "sentence"]
    assert steps(mode="hybrid") == ["name", "rerank", "fused", "words", "meaning", "sentence"]
    assert steps(mode="hybrid", rerank=False) == ["fused", "words", "meaning", "sentence"]


def test_the_bm25_of_a_hit_is_that_of_the_index(embedded_sample: Workspace) -> None:
    for one in embedded_sample.explain(SearchQuery("port conflict", k=40)).hits:
        assert one.fused is not None
        by_words = one.fused.evidence.strength
        assert (by_words is None) == all(step.label != "words" for step in one.tree.children)
        if by_words is not None:
            assert one.tree.at("words", "bm25").value == pytest.approx(by_words, abs=1e-6)


def test_a_word_that_a_partial_match_lacks_is_named(embedded_sample: Workspace) -> None:
    explained = embedded_sample.explain(SearchQuery("docker sourdough", mode="lexical", k=1))
    lines = {line.label: line for line in explained.hits[0].tree.lines()}
    absent, found = sorted((lines["docker"], lines["sourdough"]), key=lambda line: line.share)
    assert found.share == 1
    assert (absent.value, absent.how) == ("0.0000", "not in this passage")


def test_a_long_note_is_printed_on_one_line_and_cut() -> None:
    sentence = Explanation(0.5, "sentence", note=f"nearest: a table\n{'without full stops ' * 20}")
    (line,) = sentence.lines()
    assert line.how.startswith("nearest: a table without full stops")
    assert line.how.endswith("…")
    assert len(line.how) == 200


def test_what_decides_a_place_beside_the_numbers_is_noted(embedded_sample: Workspace) -> None:
    base = embedded_sample.explain(SearchQuery("port conflict", k=1))
    row = base.hits[0].hit.row

    def notes(mine: Evidence, *others: Evidence, depth: int = 75) -> dict[str, str]:
        fusion = FusionSettings(rerank_depth=depth)
        found = fuse([mine._replace(row=row), *others], fusion)
        tree = with_fusion(base, found, fusion).hits[0].tree
        parts = {f"by {one.label}": one for one in tree.at("rerank", "rerank_raw").children}
        noted = {"score": tree, "fused": tree.at("fused"), "rerank": tree.at("rerank"), **parts}
        return {label: node.note for label, node in noted.items() if node.note}

    some = ChunkRow(-1)
    strong = Evidence(some, lexical_rank=9, strength=9.0, vector_rank=9, cosine=0.9)
    weak = Evidence(some, lexical_rank=1, strength=1.0, vector_rank=1, cosine=0.5)
    nameless = {"by name": "no similar name"}
    assert notes(strong, weak) == {"fused": "place 2", "rerank": "place 1", **nameless}
    assert notes(strong._replace(vector_rank=None), weak, depth=1) == {
        "fused": "place 2",
        "rerank": "below the best 1 of the fusion: place 2 by this score",
        **nameless,
    }
    unread = Evidence(some, lexical_rank=1, strength=5.0)
    assert notes(unread)["by meaning"] == "assumed from its words: not embedded yet"
    assert notes(Evidence(some, vector_rank=1, cosine=0.5))["by words"] == "none of the words"
    rivals = [
        Evidence(ChunkRow(-place), lexical_rank=place, strength=20.0 - place, vector_rank=place, cosine=0.9)
        for place in range(2, 9)
    ]
    other = notes(Evidence(some, vector_rank=1, cosine=0.4, other_script=True), *rivals)
    assert other["score"] == "place 4 was kept for the other language"
    assert other["by words"] == "in another language"


@pytest.mark.parametrize("mode", ["vector", "hybrid"])
def test_the_nearest_sentence_is_one_of_the_passage(embedded_sample: Workspace, mode: SearchMode) -> None:
    query = SearchQuery("how do I undo the last commit?", mode=mode)
    for one in embedded_sample.explain(query).hits:
        assert one.sentence is not None
        text = one.hit.text[one.sentence.start : one.sentence.end]
        assert text.strip()
        assert one.tree.at("sentence").note == f"nearest: {text}"
        assert -1 <= one.sentence.cosine == one.tree.at("sentence").value <= 1


def test_a_hit_by_meaning_alone_has_no_words_and_one_without_a_vector_no_meaning(tmp_path: Path) -> None:
    chosen = Chosen(tmp_path)
    chosen.add("a.md", {"alpha": None, "other": 0.8})
    steps = {one.hit.text: [step.label for step in one.tree.children] for one in chosen.explain("alpha").hits}
    assert steps == {"other": ["rerank", "fused", "meaning"], "alpha": ["rerank", "fused", "words"]}
    chosen.close()


def test_the_nearest_part_of_a_long_passage_is_told_with_its_lines(tmp_path: Path) -> None:
    chosen = Chosen(tmp_path)
    lines = ["first line", "second line", "third line", "fourth line"]
    chosen.add_parts("long.md", "\n".join(lines), [0.2, 0.1, 0.8, 0.3])
    chosen.add("short.md", {"one line": 0.7})
    for query in ({"mode": "vector"}, {"mode": "hybrid"}, {"mode": "hybrid", "rerank": False}):
        explained = chosen.explain("question", **query)
        one = next(one for one in explained.hits if one.hit.path == "long.md")
        assert_follows(one.tree)
        assert_lines_add_up(list(one.tree.lines()))
        meaning = one.tree.at("meaning")
        part, whole = meaning.at("cosine", "nearest part"), meaning.at("cosine", "whole passage")
        assert part.value == pytest.approx(0.8, abs=2e-3)
        first = one.hit.citation.span.first
        assert meaning.note == f"nearest part: line {first + 2} (0.80), whole passage {whole.value:.2f}"
        assert meaning.value == pytest.approx(0.65 * part.value + 0.35 * whole.value, rel=1e-12)
        assert meaning.value == pytest.approx(one.hit.retrieval.vector_score, rel=1e-9)
        short = next(one for one in explained.hits if one.hit.path == "short.md")
        assert short.tree.at("meaning", "cosine").children == ()
    chosen.close()


def test_an_explained_page_is_the_page(embedded_sample: Workspace) -> None:
    query = SearchQuery("포트 충돌", k=5, offset=3)
    explained = embedded_sample.explain(query)
    assert explained.response.hits == embedded_sample.search(query).hits
    assert [hit.hit for hit in explained.hits] == list(explained.response.hits)


def test_the_filters_say_how_many_notes_they_leave_out(tmp_path: Path) -> None:
    chosen = Chosen(tmp_path)
    chosen.add("a.md", {"alpha one": 0.9, "alpha two": 0.8}, tags=("x",))
    chosen.add("b.md", {"alpha three": 0.7}, tags=("x", "y"))
    chosen.add("c/c.md", {"alpha four": 0.6})
    found = chosen.explain("alpha tag:x path:*.md -tag:y before:2020-01-01").filtered
    assert found is not None
    assert (found.notes, found.passing) == (3, 1)
    assert found.dropped == (("tag:x", 1), ("-tag:y", 1), ("path:*.md", 1), ("before:2020-01-01", 0))
    assert str(found) == (
        "filters: 1 of 3 notes pass (tag:x leaves out 1, -tag:y leaves out 1, path:*.md leaves out 1, "
        "before:2020-01-01 leaves out 0)"
    )
    assert chosen.explain("alpha").filtered is None
    chosen.close()
