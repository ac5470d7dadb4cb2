"""`kebab search --explain`: every number is made of the numbers beside it, in JSON and as printed."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import pytest

from kebab_tui.cli.search_output import explanation_lines
from kebab_tui.domain.query import SearchQuery
from kebab_tui.domain.text import format_sum
from kebab_tui.workspace import Workspace
from tests.command_line import Done, Kebab
from tests.explanations import as_tree, assert_follows, assert_lines_add_up
from tests.figures import add_up, is_true

pytestmark = pytest.mark.slow

QUERIES = ["port conflict", "포트 충돌", "docker sourdough", "why is the build slow"]
Hit = dict[str, Any]


@cache
def asked(kebab: Kebab, *argv: str) -> Done:
    """Asked once for all tests: the nearest sentence of every hit takes the model a while."""
    return kebab("search", *argv, "--explain", "-n", "6")


def explained(kebab: Kebab, query: str, *flags: str) -> list[Hit]:
    hits: list[Hit] = asked(kebab, query, *flags, "--full", "--json").json["hits"]
    assert hits
    return hits


# recomputed from the JSON


def share(leg: Hit, rrf_k: int) -> float:
    return 0.0 if leg["rank"] is None else float(leg["weight"] / (rrf_k + leg["rank"]))


@pytest.mark.parametrize("query", QUERIES)
def test_the_fusion_is_the_sum_of_its_legs(embedded: Kebab, query: str) -> None:
    for hit in explained(embedded, query):
        fusion, settings = hit["explanation"]["fusion"], hit["explanation"]["settings"]
        legs = fusion["legs"]
        for leg in legs.values():
            assert leg["share"] == pytest.approx(share(leg, settings["rrf_k"]), abs=1e-12)
        raw = legs["lexical"]["share"] + legs["vector"]["share"]
        assert fusion["rrf_raw"] == pytest.approx(raw, abs=1e-12)
        best = (settings["lexical_weight"] + settings["vector_weight"]) / (settings["rrf_k"] + 1)
        assert fusion["fusion_score"] == pytest.approx(raw / best, abs=1e-12)
        detail = hit["retrieval"]
        assert detail["rrf_raw"] == pytest.approx(raw, abs=1e-6)
        assert detail["fusion_score"] == pytest.approx(raw / best, abs=1e-6)
        assert (detail["lexical_rank"], detail["vector_rank"]) == (
            legs["lexical"]["rank"],
            legs["vector"]["rank"],
        )


@pytest.mark.parametrize("query", QUERIES)
def test_the_rerank_score_is_made_of_bm25_and_cosine(embedded: Kebab, query: str) -> None:
    for hit in explained(embedded, query):
        fusion, settings = hit["explanation"]["fusion"], hit["explanation"]["settings"]
        look = fusion["look"]
        cosine = max(fusion["legs"]["vector"]["cosine"] or 0.0, 0.0)
        words = settings["look_lexical"] * (fusion["legs"]["lexical"]["bm25"] or 0) / look["strongest_bm25"]
        parts = (words, (1 - settings["look_lexical"]) * cosine)
        alone = settings["other_script_share"] * cosine
        if fusion["legs"]["vector"]["other_script"] and sum(parts) < alone:
            parts = (0.0, alone)
        assert (look["lexical"], look["vector"]) == pytest.approx(parts, abs=1e-9)
        whole = (sum(parts) + look["name"]) / (1 + settings["look_name"])
        assert look["sum"] == pytest.approx(whole, abs=1e-9)
        assert hit["score"] == pytest.approx(1 if fusion["named"] else whole, abs=1e-6)


@pytest.mark.parametrize("mode", ["lexical", "hybrid"])
@pytest.mark.parametrize("query", QUERIES)
def test_the_bm25_is_the_sum_of_its_terms(embedded: Kebab, query: str, mode: str) -> None:
    seen = 0
    for hit in explained(embedded, query, "--mode", mode):
        lexical, fusion = hit["explanation"]["lexical"], hit["explanation"]["fusion"]
        if lexical is None:
            assert hit["retrieval"]["lexical_rank"] is None
            continue
        seen += 1
        assert -lexical["bm25"] == pytest.approx(sum(t["contribution"] for t in lexical["terms"]), abs=1e-9)
        for term in lexical["terms"]:
            weighted = sum(term["tf"][name] * weight for name, weight in lexical["weights"].items())
            norm = lexical["length_norm"]
            adds = term["idf"] * weighted * 2.2 / (weighted + norm) if weighted else 0
            assert term["contribution"] == pytest.approx(adds, abs=1e-9)
        if fusion and fusion["legs"]["lexical"]["bm25"] is not None:
            assert fusion["legs"]["lexical"]["bm25"] == pytest.approx(lexical["bm25"], abs=1e-6)
    assert seen


def test_the_nearest_sentence_is_part_of_the_passage(embedded: Kebab) -> None:
    hits = explained(embedded, "port conflict")
    for hit in hits:
        semantic = hit["explanation"]["semantic"]
        assert hit["text"][semantic["start"] : semantic["end"]] == semantic["sentence"]
        assert semantic["cosine"] == pytest.approx(hit["explanation"]["fusion"]["legs"]["vector"]["cosine"])
    assert max(hit["explanation"]["semantic"]["sentence_cosine"] for hit in hits) > 0.6


def test_each_mode_explains_what_it_has(embedded: Kebab) -> None:
    parts = {
        mode: {name for name, part in explained(embedded, "docker", "--mode", mode)[0]["explanation"].items()
               if part is not None}
        for mode in ("lexical", "vector", "hybrid")
    }  # fmt: skip
    always = {"schema_version", "headline", "tree", "date"}
    assert parts["lexical"] == {*always, "lexical"}
    assert parts["vector"] == {*always, "semantic"}
    assert parts["hybrid"] == {*always, "lexical", "semantic", "fusion", "settings"}


@pytest.mark.parametrize("flags", [(), ("--no-rerank",), ("--mode", "lexical"), ("--mode", "vector")])
@pytest.mark.parametrize("query", QUERIES)
def test_the_tree_has_the_computation_of_the_score(
    embedded: Kebab, query: str, flags: tuple[str, ...]
) -> None:
    for hit in explained(embedded, query, *flags):
        tree = as_tree(hit["explanation"]["tree"])
        assert_follows(tree)
        assert tree.value == pytest.approx(hit["score"], abs=1e-6)


# what is printed


def printed_hits(kebab: Kebab, query: str, *flags: str) -> list[str]:
    out = asked(kebab, query, *flags).out
    return re.split(r"^\d+\. ", out, flags=re.MULTILINE)[1:]


@pytest.mark.parametrize("flags", [(), ("--no-rerank",), ("--mode", "lexical"), ("--mode", "vector")])
@pytest.mark.parametrize("query", QUERIES)
def test_every_line_of_the_tree_is_printed(embedded: Kebab, query: str, flags: tuple[str, ...]) -> None:
    hits = explained(embedded, query, *flags)
    for hit, printed in zip(hits, printed_hits(embedded, query, *flags), strict=True):
        lines = list(as_tree(hit["explanation"]["tree"]).lines())
        assert_lines_add_up(lines)
        rows = printed.splitlines()
        first = next(place for place, row in enumerate(rows) if row.startswith("   score "))
        for line, row in zip(lines, rows[first : first + len(lines)], strict=True):
            how = " ".join(line.how.split())
            expected = rf"   {'  ' * line.depth}{re.escape(line.label)} +{line.value}(?:  )?{re.escape(how)}"
            assert re.fullmatch(expected, row), row


@pytest.mark.parametrize("rrf_k", [1, 60, 10_000])
def test_the_printed_shares_give_the_printed_score_whatever_rrf_k_is(
    embedded_sample: Workspace, rrf_k: int
) -> None:
    answer = embedded_sample.explain(SearchQuery("port conflict", "hybrid", k=20))
    assert answer.fusion is not None
    for one in Workspace.rescore(answer, replace(answer.fusion, rrf_k=rrf_k)).hits:
        lines = "\n".join(explanation_lines(one.tree))
        score, raw, best = re.findall(r"^fused +([\d.]+)  ([\d.]+)/([\d.]+), place", lines, re.MULTILINE)[0]
        assert float(score) == pytest.approx(float(raw) / float(best), abs=1.01e-4)
        assert re.search(rf"^  rrf_raw +{raw}$", lines, re.MULTILINE)
        assert re.search(rf"^  maximum +{best}  \(1\+1\)/\({rrf_k}\+1\)$", lines, re.MULTILINE)


def test_a_hit_below_the_reranked_ones_is_marked(embedded: Kebab) -> None:
    out = embedded("search", "the", "--offset", "70", "-n", "12", "--explain").out
    assert "/1.2, place 7" in out
    assert re.search("below the best 75 of the fusion: place [78]", out)
    assert "None" not in out


def test_without_reranking_there_is_none_to_explain(embedded: Kebab) -> None:
    out = asked(embedded, "port conflict", "--no-rerank").out
    assert re.search(r"^   fused +1\.0000 ", out, re.MULTILINE)
    assert "rerank" not in out


def test_the_stages_are_printed_with_their_counts_and_times(embedded: Kebab) -> None:
    out = asked(embedded, "port conflict").out
    names = re.findall(r"(?:stages: |→ )([a-z ]+): [\d,]+ in \d+\.\d ms", out.splitlines()[-1])
    assert re.search(r"read query: \d+\.\d ms", out.splitlines()[-1]), "a query is not one of the candidates"
    assert names[-5:] == ["words", "names", "meaning", "fusion", "show"]


def test_what_the_filters_leave_out_is_counted(embedded: Kebab) -> None:
    query = ("tag:network", "--mode", "lexical")
    found = asked(embedded, *query, "--json").json["filtered"]
    kept = embedded("list", "--json", "--tag", "network").json["total"]
    assert found["passing"] == kept < found["notes"]
    assert found["filters"] == [{"filter": "tag:network", "dropped": found["notes"] - kept}]
    assert f"filters: {kept} of {found['notes']} notes pass (tag:network" in asked(embedded, *query).out
    assert "filtered" not in asked(embedded, "docker", "--mode", "lexical", "--json").json


@pytest.mark.parametrize("parts", [[1 / 3, 1 / 3, 1 / 3], [2 / 3, 2 / 3, 2 / 3], [0.00004] * 7, [5.5], []])
def test_printed_parts_and_their_sum_are_true_and_add_up(parts: Sequence[float]) -> None:
    shown, total = format_sum(parts, 4)
    assert add_up(shown, total)
    assert total == f"{sum(parts):.4f}"
    assert all(is_true(number, part) for number, part in zip(shown, parts, strict=True))


def test_equal_parts_are_printed_alike() -> None:
    assert format_sum([1 / 61, 1 / 61], 6) == (["0.0163934", "0.0163934"], "0.032787")
    assert format_sum([0.25, 0.5], 4) == (["0.2500", "0.5000"], "0.7500")
