"""The explanation of a hit adds up at any width and for any kind of response."""

from __future__ import annotations

import re
from dataclasses import replace
from decimal import Decimal

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kebab_tui.domain.citation import Citation, SourceSpan
from kebab_tui.domain.hit import Notice
from kebab_tui.domain.ids import ChunkRow
from kebab_tui.search.explanation import ExplainedHit, ExplainedResponse
from kebab_tui.search.ranking import Evidence, FusionSettings
from kebab_tui.tui.widgets.segments import row_text, row_width
from kebab_tui.workspace import Workspace
from tests.figures import add_up, is_true
from tests.tui.explaining import explained, flat, lines_of, rows_of, section, with_fusion

QUERIES = ["port conflict", "포트 충돌", "docker sourdough", "why is the build slow"]
WIDTHS = [30, 44, 60, 80, 120, 200]


def numbers(text: str, digits: str) -> list[Decimal]:
    return [Decimal(number) for number in re.findall(rf"(?<![\d.])\d+\.\d{{{digits}}}(?!\d)", text)]


def assert_the_fusion_adds_up(lines: list[str]) -> None:
    text = flat(section(lines, "ranks"))
    words, meaning, total, raw, best = numbers(text, "6,")
    assert add_up([words, meaning], total)
    assert total == raw
    *legs, most = re.findall(r"\(?([\d.+e-]+)\)?/\((\d+)\+(\d+)\)", text)
    shares = [share for share in (words, meaning) if share]
    for (weight, rrf_k, rank), share in zip([leg for leg in legs if float(leg[0])], shares, strict=True):
        assert is_true(share, float(weight) / (int(rrf_k) + int(rank)))
    weights = sum(map(float, most[0].split("+")))
    assert float(best) == pytest.approx(weights / (int(most[1]) + 1), abs=5.1e-7)
    fused = re.search(r"fused (\d\.\d{4})", text)
    assert fused is not None
    assert float(fused[1]) == pytest.approx(float(raw / best), abs=1.01e-4)


def assert_the_rerank_adds_up(lines: list[str]) -> None:
    text = flat(section(lines, "rerank"))
    found = re.search(r"rerank (?:share )?words (.*?) meaning (.*?) sum (\d+\.\d{4})", text)
    assert found is not None, text
    words, meaning = (numbers(found[leg], "4,") for leg in (1, 2))
    assert add_up([words[-1], meaning[-1]], Decimal(found[3]))
    if product := re.search(r"([\d.]+) × bm25 ([\d.]+)/([\d.]+)", found[1]):
        share, own, strongest = map(float, product.groups())
        assert float(words[-1]) == pytest.approx(share * own / strongest, abs=2e-4)
    product = re.search(r"([\d.]+) × (?:cosine|assumed) ([\d.]+)", found[2])
    assert product is not None
    assert float(meaning[-1]) == pytest.approx(float(product[1]) * float(product[2]), abs=2e-4)


def assert_the_bm25_adds_up(lines: list[str]) -> None:
    part = section(lines, "bm25, term by term")
    text = flat(part)
    if any(line.startswith("term ") for line in part):
        rows = part[3 : next(place for place, line in enumerate(part) if line.startswith("sum"))]
        adds = [numbers(row, "4,")[-1] for row in rows]
    else:
        adds = [Decimal(number) for number in re.findall(r"adds (\d+\.\d{4,})", text)]
    total = re.search(r"sum (\d+\.\d{4})", text)
    assert total is not None
    assert add_up(adds, Decimal(total[1]))
    quotient = re.search(r"bm25 -([\d.]+) as a score ([\d.]+) = ([\d.]+)/\(1\+([\d.]+)\)", text)
    assert quotient is not None
    assert quotient[1] == quotient[3] == quotient[4] == total[1]
    assert float(quotient[2]) == pytest.approx(float(total[1]) / (1 + float(total[1])), abs=1e-4)


def assert_the_stages_add_up(lines: list[str]) -> None:
    *stages, total = (Decimal(line.split()[-1]) for line in section(lines, "stage")[1:])
    assert add_up(stages, total)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("query", QUERIES)
def test_every_printed_sum_is_the_sum_of_its_printed_parts(
    embedded_sample: Workspace, query: str, width: int
) -> None:
    among = explained(embedded_sample, query)
    assert among.hits
    for hit in among.hits:
        lines = lines_of(hit, among, width)
        assert_the_fusion_adds_up(lines)
        assert_the_rerank_adds_up(lines)
        assert_the_stages_add_up(lines)
        if hit.lexical is not None:
            assert_the_bm25_adds_up(lines)


RANKS = st.none() | st.integers(1, 400)
COSINES = st.none() | st.floats(0.3, 1.0)


@st.composite
def evidence(draw: st.DrawFn, row: int) -> Evidence:
    rank, near = draw(RANKS), draw(RANKS)
    return Evidence(
        ChunkRow(row),
        lexical_rank=rank,
        strength=None if rank is None else draw(st.floats(0.001, 40.0)),
        vector_rank=near,
        cosine=draw(st.floats(0.3, 1.0)) if near is not None else draw(COSINES),
        other_script=near is not None and draw(st.booleans()),
    )


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=60)
@given(
    st.integers(1, 8).flatmap(lambda count: st.tuples(*(evidence(-place) for place in range(1, count + 1)))),
    st.builds(
        FusionSettings,
        rrf_k=st.integers(1, 1000),
        vector_weight=st.sampled_from([0.1, 0.35, 1.0, 2.5, 10.0]),
    ),
    st.sampled_from(WIDTHS),
)
def test_the_printed_sums_add_up_for_any_legs(
    embedded_sample: Workspace, found: tuple[Evidence, ...], fusion: FusionSettings, width: int
) -> None:
    hit, among = with_fusion(ANSWER.of(embedded_sample), found, fusion)
    lines = lines_of(hit, among, width)
    assert_the_fusion_adds_up(lines)
    assert_the_rerank_adds_up(lines)


class _Answer:
    """Asked once: the answer that chosen figures are put into."""

    kept: ExplainedResponse | None = None

    def of(self, workspace: Workspace) -> ExplainedResponse:
        self.kept = self.kept or explained(workspace, "port conflict", k=1)
        return self.kept


ANSWER = _Answer()


def chosen(workspace: Workspace, mine: Evidence, *others: Evidence, **fusion: object) -> list[str]:
    settings = FusionSettings(**fusion)  # type: ignore[arg-type]
    return lines_of(*with_fusion(ANSWER.of(workspace), [mine, *others], settings))


def test_the_place_is_shown_step_by_step(embedded_sample: Workspace) -> None:
    mine = Evidence(ChunkRow(-1), lexical_rank=9, strength=9.0, vector_rank=9, cosine=0.9)
    rival = Evidence(ChunkRow(-2), lexical_rank=1, strength=1.0, vector_rank=1, cosine=0.5)
    assert "place by fusion 2  → rerank 1 ▲1" in chosen(embedded_sample, mine, rival)


def test_a_place_kept_for_the_other_language_is_shown(embedded_sample: Workspace) -> None:
    rivals = [
        Evidence(ChunkRow(-place), lexical_rank=place, strength=20.0 - place, vector_rank=place, cosine=0.9)
        for place in range(2, 9)
    ]
    mine = Evidence(ChunkRow(-1), vector_rank=1, cosine=0.4, other_script=True)
    lines = chosen(embedded_sample, mine, *rivals)
    assert any(line.endswith("→ with kept places 4 ▲4") for line in lines)
    assert "place 4 was kept for the other language" in lines
    assert "its rank by meaning counts only notes in the other language" in lines
    assert "· 1 place was kept for the other language." in lines


def test_a_hit_that_no_model_has_read_shows_what_was_assumed(embedded_sample: Workspace) -> None:
    mine = Evidence(ChunkRow(-1), lexical_rank=1, strength=5.0)
    lines = chosen(embedded_sample, mine, Evidence(ChunkRow(-2), vector_rank=1, cosine=0.8))
    assert any("0.7 × assumed 0.8000" in line for line in lines)
    assert "not embedded yet: its cosine is assumed from its words" in lines
    assert any(re.match(r"meaning +- .* not in its list +0\.000000", line) for line in lines)


def test_below_the_rerank_depth_the_score_alone_decides(embedded_sample: Workspace) -> None:
    mine = Evidence(ChunkRow(-1), lexical_rank=9, strength=9.0)
    rival = Evidence(ChunkRow(-2), lexical_rank=1, strength=1.0)
    lines = chosen(embedded_sample, mine, rival, rerank_depth=1)
    assert "below the best 1 of the fusion: place 2 by this score" in lines
    assert "place by fusion 2" in lines


def test_pure_fusion_has_no_rerank(embedded_sample: Workspace) -> None:
    among = explained(embedded_sample, "port conflict", rerank=False)
    for hit in among.hits:
        lines = lines_of(hit, among)
        assert_the_fusion_adds_up(lines)
        assert not any(line.startswith("rerank") for line in lines)
        assert hit.fused is not None
        assert f"score {hit.fused.fusion_score:.4f}  fused ranks" in lines
        assert f"place by fusion {hit.fused.rank}" in lines


def first(workspace: Workspace, text: str, **query: object) -> tuple[ExplainedHit, list[str]]:
    among = explained(workspace, text, **query)
    return among.hits[0], lines_of(among.hits[0], among)


def test_an_answer_by_words_alone_is_one_list_and_its_bm25(embedded_sample: Workspace) -> None:
    hit, lines = first(embedded_sample, "port conflict", mode="lexical")
    assert "found by words alone" in lines
    assert f"words  rank 1  score {hit.hit.score:.4f}" in lines
    assert_the_bm25_adds_up(lines)
    assert not any(line.startswith(("ranks", "rerank", "meaning")) for line in lines)


def test_an_answer_by_meaning_alone_is_one_list_and_its_nearest_sentence(embedded_sample: Workspace) -> None:
    hit, lines = first(embedded_sample, "port conflict", mode="vector")
    assert "found by meaning alone" in lines
    assert f"meaning cosine {hit.hit.score:.4f}" in lines
    assert any(line.startswith("nearest sentence, cosine ") for line in lines)
    assert not any(line.startswith(("ranks", "bm25")) for line in lines)


def test_a_raw_query_has_no_terms_to_explain(embedded_sample: Workspace) -> None:
    hit, lines = first(embedded_sample, "'port AND conflict'")
    assert "raw query: ranked by FTS5 itself, which names no terms" in lines
    assert f"words  rank 1  score {hit.hit.score:.4f}" in lines


def test_a_list_by_filters_alone_is_not_scored(embedded_sample: Workspace) -> None:
    _, lines = first(embedded_sample, "type:markdown")
    assert "listed by the filters alone: no scores, most recently changed first" in lines
    assert not any(line.startswith("score") for line in lines)


def test_without_a_hit_the_answer_speaks_for_itself(embedded_sample: Workspace) -> None:
    among = explained(embedded_sample, "port conflict")
    lines = lines_of(None, among)
    assert_the_stages_add_up(lines)
    assert not any(line.startswith(("#", "ranks", "bm25")) for line in lines)


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
    among = explained(embedded_sample, "port conflict")
    hit = among.hits[0]
    assert hit.semantic is not None and hit.lexical is not None
    bad = "\x1b]0;x\x07\u202e[bold]"
    terms = tuple(replace(term, label=f"{bad}{term.label}") for term in hit.lexical.terms)
    hit = replace(
        hit,
        hit=replace(hit.hit, citation=Citation(f"{bad}.md", SourceSpan(1, 2)), chunker_version=bad),
        semantic=replace(hit.semantic, sentence=f"{bad}\nsecond line"),
        lexical=replace(hit.lexical, terms=terms),
    )
    response = replace(among.response, notices=(Notice("x", bad),), index_version=bad)
    for width in (30, 120):
        text = "".join(lines_of(hit, replace(among, response=response), width))
        assert not re.search("[\x00-\x1f\x7f-\x9f\u202a-\u202e]", text)
        assert "[bold]" in text, "markup is text"
