"""The explanation of a hit adds up at any width and for any kind of response."""

from __future__ import annotations

import re
from dataclasses import replace
from decimal import Decimal

import pytest

from kebab_tui.domain.citation import Citation, SourceSpan
from kebab_tui.domain.hit import Notice
from kebab_tui.domain.ids import ChunkRow
from kebab_tui.search.explanation import ExplainedHit, ExplainedResponse, Explanation
from kebab_tui.search.ranking import Evidence, FusionSettings
from kebab_tui.tui.widgets.segments import BLOCKS, row_text, row_width
from kebab_tui.workspace import Workspace
from tests.figures import add_up
from tests.tui.explaining import explained, flat, lines_of, rows_of, section, with_evidence

QUERIES = ["port conflict", "포트 충돌", "docker sourdough", "why is the build slow"]
WIDTHS = [30, 44, 60, 80, 120, 200]


def assert_the_stages_add_up(lines: list[str]) -> None:
    *stages, total = (Decimal(line.split()[-1]) for line in section(lines, "stage")[1:])
    assert add_up(stages, total)


def assert_the_tree_is_shown(tree: Explanation, lines: list[str]) -> None:
    """Every line of the tree in its order: label, number, bar for a part of a sum, computation."""
    text = flat(section(lines, "#"))
    expected = []
    for line in tree.lines():
        label, how = " ".join(line.label.split()), " ".join(line.how.split())[:60].rstrip()
        bar = f"[{BLOCKS}]+ ?" if line.share > 0.01 else ""
        expected.append(f"{re.escape(label)} {line.value} ?{bar}{re.escape(how)}")
    assert re.search(".*".join(expected), text), text


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("mode", ["hybrid", "lexical", "vector"])
@pytest.mark.parametrize("query", QUERIES)
def test_every_number_of_the_tree_is_shown(
    embedded_sample: Workspace, query: str, mode: str, width: int
) -> None:
    among = explained(embedded_sample, query, mode=mode)
    assert among.hits
    for hit in among.hits:
        lines = lines_of(hit, among, width)
        assert_the_tree_is_shown(hit.tree, lines)
        assert_the_stages_add_up(lines)


class _Answer:
    """Asked once: the answer that chosen figures are put into."""

    kept: ExplainedResponse | None = None

    def of(self, workspace: Workspace) -> ExplainedResponse:
        self.kept = self.kept or explained(workspace, "port conflict", k=1)
        return self.kept


ANSWER = _Answer()


def chosen(workspace: Workspace, mine: Evidence, *others: Evidence, **fusion: object) -> list[str]:
    settings = FusionSettings(**fusion)  # type: ignore[arg-type]
    hit, among = with_evidence(ANSWER.of(workspace), [mine, *others], settings)
    lines = lines_of(hit, among)
    assert_the_tree_is_shown(hit.tree, lines)
    return lines


def test_the_place_is_shown_by_fusion_and_by_rerank(embedded_sample: Workspace) -> None:
    mine = Evidence(ChunkRow(-1), lexical_rank=9, strength=9.0, vector_rank=9, cosine=0.9)
    rival = Evidence(ChunkRow(-2), lexical_rank=1, strength=1.0, vector_rank=1, cosine=0.5)
    lines = chosen(embedded_sample, mine, rival)
    assert any(re.fullmatch(r"rerank +0\.7750 +0\.9300/1\.2, place 1", line) for line in lines)
    assert any(re.fullmatch(r"fused +0\.8841 +0\.028986/0\.032787, place 2", line) for line in lines)


def test_a_place_kept_for_the_other_language_is_shown(embedded_sample: Workspace) -> None:
    rivals = [
        Evidence(ChunkRow(-place), lexical_rank=place, strength=20.0 - place, vector_rank=place, cosine=0.9)
        for place in range(2, 9)
    ]
    mine = Evidence(ChunkRow(-1), vector_rank=1, cosine=0.4, other_script=True)
    lines = chosen(embedded_sample, mine, *rivals)
    text = flat(lines)
    assert "place 4 was kept for the other language" in text
    assert "1/(60+1), among notes in the other language" in text
    assert "· 1 place was kept for the other language." in lines


def test_a_hit_that_no_model_has_read_shows_what_was_assumed(embedded_sample: Workspace) -> None:
    mine = Evidence(ChunkRow(-1), lexical_rank=1, strength=5.0)
    lines = chosen(embedded_sample, mine, Evidence(ChunkRow(-2), vector_rank=1, cosine=0.8))
    assert any("0.7 × cosine 0.8000, assumed from its words: not embedded yet" in line for line in lines)
    assert any(re.fullmatch(r" +meaning +0\.000000 +not in its list", line) for line in lines)


def test_below_the_rerank_depth_the_score_alone_decides(embedded_sample: Workspace) -> None:
    mine = Evidence(ChunkRow(-1), lexical_rank=9, strength=9.0)
    rival = Evidence(ChunkRow(-2), lexical_rank=1, strength=1.0)
    text = flat(chosen(embedded_sample, mine, rival, rerank_depth=1))
    assert "below the best 1 of the fusion: place 2 by this score" in text


def test_pure_fusion_has_no_rerank(embedded_sample: Workspace) -> None:
    among = explained(embedded_sample, "port conflict", rerank=False)
    for hit in among.hits:
        lines = lines_of(hit, among)
        assert not any(line.startswith("rerank") for line in lines)
        assert hit.fused is not None
        assert any(re.fullmatch(rf"score +{hit.fused.fusion_score:.4f}", line) for line in lines)


@pytest.mark.parametrize(
    ("mine", "found"),
    [
        (Evidence(ChunkRow(-1), 1, 9.0, 1, 0.9), "heading, and close in meaning (0.90)."),
        (Evidence(ChunkRow(-1), 1, 9.0, 1, 0.1), "heading, and not close in meaning (0.10)."),
        (Evidence(ChunkRow(-1), 3, 9.0), "not embedded yet, so its similarity is estimated (0.60)."),
        (Evidence(ChunkRow(-1), None, None, 2, 0.5), "First: by meaning only, somewhat close (0.50)."),
        (Evidence(ChunkRow(-1), 1, 9.0, name=1.0, exact_name=1), "First: the query is a name of its note;"),
    ],
)
def test_the_head_tells_what_found_the_hit(embedded_sample: Workspace, mine: Evidence, found: str) -> None:
    assert found in flat(chosen(embedded_sample, mine)[:3])


def first(workspace: Workspace, text: str, **query: object) -> tuple[ExplainedHit, list[str]]:
    among = explained(workspace, text, **query)
    return among.hits[0], lines_of(among.hits[0], among)


def test_an_answer_by_words_alone_is_one_list_and_its_bm25(embedded_sample: Workspace) -> None:
    hit, lines = first(embedded_sample, "port conflict resolved", mode="lexical")
    assert lines[0] == "First: all 3 words, all in the heading (keyword score 0.95)."
    assert any(re.match(rf"words +{hit.hit.score:.4f} ", line) for line in lines)
    assert not any(line.startswith(("fused", "rerank", "meaning")) for line in lines)


def test_the_words_that_matched_have_bars_by_what_they_add(embedded_sample: Workspace) -> None:
    _, lines = first(embedded_sample, "port conflict", mode="lexical")
    bars = {line.split()[0]: line.count("█") for line in section(lines, "score") if "█" in line}
    assert bars.keys() == {"port", "conflict"}
    assert 0 < bars["port"] < bars["conflict"]


def test_an_answer_by_meaning_alone_is_one_list_and_its_nearest_sentence(embedded_sample: Workspace) -> None:
    hit, lines = first(embedded_sample, "port conflict", mode="vector")
    assert lines[0] == "First: closest in meaning (0.72)."
    assert any(re.match(rf"meaning +{hit.hit.score:.4f} ", line) for line in lines)
    assert "nearest: " in flat(section(lines, "#"))
    assert not any(line.startswith(("fused", "words")) for line in lines)


def test_a_raw_query_has_no_terms_to_explain(embedded_sample: Workspace) -> None:
    hit, lines = first(embedded_sample, "'port AND conflict'")
    expected = rf"words +{hit.hit.score:.4f} +ranked by FTS5 itself, which names no terms"
    assert any(re.fullmatch(expected, line) for line in lines)


def test_a_list_by_filters_alone_is_not_scored(embedded_sample: Workspace) -> None:
    _, lines = first(embedded_sample, "type:markdown")
    assert lines[0] == "First: listed by the filters without a score, most recently changed first."
    assert not any(line.startswith("score") for line in lines)


def test_without_a_hit_the_answer_speaks_for_itself(embedded_sample: Workspace) -> None:
    among = explained(embedded_sample, "port conflict")
    lines = lines_of(None, among)
    assert_the_stages_add_up(lines)
    assert not any(line.startswith(("#", "score", "fused")) for line in lines)


def test_the_filters_show_how_many_notes_pass(embedded_sample: Workspace) -> None:
    among = explained(embedded_sample, "docker tag:network", mode="lexical")
    told = str(among.filtered)
    assert re.match(r"filters: \d+ of \d+ notes pass \(tag:network leaves out \d+\)$", told)
    assert told in lines_of(None, among)
    assert "filters:" not in flat(lines_of(None, explained(embedded_sample, "docker", mode="lexical")))


def test_notices_differ_from_warnings_by_more_than_colour(embedded_sample: Workspace) -> None:
    among = explained(embedded_sample, "port conflict")
    said = (Notice("a", "by the way"), Notice("b", "look out", "warning"))
    lines = lines_of(None, replace(among, response=replace(among.response, notices=said)))
    assert {"· by the way", "! look out"} <= set(lines)


def test_the_state_of_the_file_and_of_the_match_is_shown(embedded_sample: Workspace) -> None:
    among = explained(embedded_sample, "port conflict")
    hit = among.hits[0]
    changed = replace(hit, hit=replace(hit.hit, stale=True, relaxed=True))
    lines = lines_of(changed, among)
    assert "! partial match: not all words match" in lines
    assert "! its file has changed: these figures are of the indexed text" in lines


@pytest.mark.parametrize("width", [30, 31, 37, 50, 79, 120, 400])
@pytest.mark.parametrize("mode", ["hybrid", "lexical", "vector"])
def test_no_row_is_wider_than_the_panel(embedded_sample: Workspace, mode: str, width: int) -> None:
    among = explained(embedded_sample, "포트 충돌 docker-compose", mode=mode)
    for hit in among.hits:
        for row in rows_of(hit, among, width):
            assert row_width(row) <= width, row_text(row)


def test_hostile_names_and_texts_are_made_visible(embedded_sample: Workspace) -> None:
    among = explained(embedded_sample, "port conflict", mode="lexical")
    hit = among.hits[0]
    bad = "\x1b]0;x\x07\u202e[bold]"
    children = tuple(
        node._replace(label=f"{bad}{node.label}", note=f"{bad}\nsecond") for node in hit.tree.children
    )
    hit = replace(
        hit,
        hit=replace(hit.hit, citation=Citation(f"{bad}.md", SourceSpan(1, 2)), chunker_version=bad),
        tree=Explanation(1.0, "score", "first", children),
    )
    response = replace(among.response, notices=(Notice("x", bad),), index_version=bad)
    for width in (30, 120):
        text = "".join(lines_of(hit, replace(among, response=response), width))
        assert not re.search("[\x00-\x1f\x7f-\x9f\u202a-\u202e]", text)
        assert "[bold]" in text, "markup is text"
