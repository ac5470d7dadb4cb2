"""Every number of an explanation can be computed from its parts."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kebab_tui.domain.query import SearchFilters, SearchMode, SearchQuery
from kebab_tui.search import match_tree
from kebab_tui.search.explanation import ExplainedHit, LexicalExplanation, explain_lexical
from kebab_tui.search.match_tree import Expression
from kebab_tui.search.ports import FieldWeights
from kebab_tui.search.query_language import parse
from kebab_tui.storage.lock import DataFolder
from kebab_tui.storage.sqlite.reader import StoreReader
from kebab_tui.storage.sqlite.writer import Writer
from kebab_tui.workspace import Workspace
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
        writer, reader = Writer(folder), StoreReader(folder, FieldWeights())
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
            assert tables[one.row].bm25 == pytest.approx(one.bm25, abs=1e-6), (wanted.match, one.row)


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


# The whole of an explanation


def assert_lexical_adds_up(lexical: LexicalExplanation) -> None:
    assert lexical.bm25 == pytest.approx(-sum(term.contribution for term in lexical.terms), abs=1e-9)
    assert lexical.score == pytest.approx(-lexical.bm25 / (1 + abs(lexical.bm25)))
    norm = 1.2 * (1 - 0.75 + 0.75 * lexical.length / lexical.average_length)
    assert lexical.length_norm == pytest.approx(norm)
    for term in lexical.terms:
        counts, weights = term.counts, lexical.weights
        weighted = (
            counts.heading * weights.heading + counts.text * weights.text
            + counts.title * weights.title + counts.grams * weights.grams
        )  # fmt: skip
        idf = math.log((lexical.chunks - term.frequency + 0.5) / (term.frequency + 0.5))
        assert term.weighted_count == weighted
        assert term.idf == pytest.approx(max(idf, 1e-6))
        assert term.contribution == pytest.approx(term.idf * weighted * 2.2 / (weighted + norm))


def assert_fusion_adds_up(hit: ExplainedHit, strongest: float, weight: float) -> None:
    fused, detail = hit.fused, hit.hit.retrieval
    assert fused is not None
    lexical = 1 / (60 + detail.lexical_rank) if detail.lexical_rank else 0.0
    vector = weight / (60 + detail.vector_rank) if detail.vector_rank else 0.0
    assert detail.rrf_raw == fused.rrf_raw == lexical + vector
    assert detail.fusion_score == pytest.approx((lexical + vector) * 61 / (1 + weight))
    cosine = max(fused.evidence.cosine or 0.0, 0.0)
    score = 0.3 * (fused.evidence.strength or 0.0) / strongest + 0.7 * cosine
    wanted = max(score, 0.95 * cosine) if fused.evidence.other_script else score
    assert hit.hit.score == detail.rerank_score == pytest.approx(wanted)


@pytest.mark.parametrize(
    ("text", "weight"),
    [
        ("port conflict", 1.0),
        ("포트 충돌 해결", 0.35),
        ("(git merge) OR docker", 1.0),
        ("how do I undo a commit", 1.0),
    ],
)
def test_every_number_of_a_hybrid_answer_is_worked_out_again(
    embedded_sample: Workspace, text: str, weight: float
) -> None:
    explained = embedded_sample.explain(SearchQuery(text, k=40))
    strongest = max(one.evidence.strength or 0.0 for one in explained.candidates)
    assert len(explained.hits) > 5
    for hit in explained.hits:
        assert_fusion_adds_up(hit, strongest, weight)
        detail, fused = hit.hit.retrieval, hit.fused
        assert fused is not None
        assert (hit.lexical is None) == (detail.lexical_rank is None)
        if hit.lexical is not None:
            assert_lexical_adds_up(hit.lexical)
            assert hit.lexical.bm25 == pytest.approx(-(fused.evidence.strength or 0.0), abs=1e-6)
            assert detail.lexical_score == pytest.approx(hit.lexical.score, abs=1e-6)
        assert [one.rank for one in explained.candidates] == list(range(1, len(explained.candidates) + 1))


@pytest.mark.parametrize("text", ["port conflict", "포트 충돌", "git branch -merge", '"포트 충돌"', "dock*"])
def test_every_number_of_a_lexical_answer_is_worked_out_again(embedded_sample: Workspace, text: str) -> None:
    explained = embedded_sample.explain(SearchQuery(text, mode="lexical", k=40))
    assert explained.hits
    assert (explained.candidates, explained.fusion) == ((), None)
    for hit in explained.hits:
        assert hit.lexical is not None
        assert (hit.semantic, hit.fused) == (None, None)
        assert_lexical_adds_up(hit.lexical)
        assert hit.hit.score == pytest.approx(hit.lexical.score, abs=1e-6)


@pytest.mark.parametrize("mode", ["vector", "hybrid"])
def test_the_nearest_sentence_is_one_of_the_passage(embedded_sample: Workspace, mode: SearchMode) -> None:
    query = SearchQuery("how do I undo the last commit?", mode=mode)
    explained = embedded_sample.explain(query)
    for hit in explained.hits:
        semantic = hit.semantic
        assert semantic is not None
        assert semantic.sentence == hit.hit.text[semantic.sentence_start : semantic.sentence_end]
        assert semantic.sentence.strip()
        assert -1 <= semantic.sentence_cosine <= 1
        assert max(semantic.cosine, 0.0) == hit.hit.retrieval.vector_score


def test_a_vector_answer_has_no_table_of_words(embedded_sample: Workspace) -> None:
    explained = embedded_sample.explain(SearchQuery("docker", mode="vector"))
    assert {(hit.lexical, hit.fused) for hit in explained.hits} == {(None, None)}


def test_a_hit_by_meaning_alone_has_no_table_and_one_without_a_vector_no_sentence(tmp_path: Path) -> None:
    chosen = Chosen(tmp_path)
    chosen.add("a.md", {"alpha": None, "other": 0.8})
    by_text = {hit.hit.text: hit for hit in chosen.explain("alpha").hits}
    assert by_text["other"].lexical is None
    assert by_text["other"].semantic is not None
    assert by_text["alpha"].semantic is None
    assert by_text["alpha"].lexical is not None
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
