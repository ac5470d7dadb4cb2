"""What the sentences about a hit say agrees with its numbers."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from kebab_tui.search.explanation import ExplainedHit, ExplainedResponse
from kebab_tui.search.headline import closeness, ordinal
from kebab_tui.search.ranking import Evidence, FusionSettings
from kebab_tui.workspace import Workspace
from tests.figures import add_up
from tests.tui.explaining import explained, with_evidence

QUERIES = (
    "port conflict", "git", '"port conflict" docker', "how to undo a commit", "conflict portt", "포트 충돌",
    "rust workspace", "git OR docker", "tag:git commit", "inst*", "lang:ko git", "tag:git",
)  # fmt: skip
SEARCHES: dict[str, dict[str, object]] = {
    "hybrid": {"mode": "hybrid"},
    "keyword": {"mode": "lexical"},
    "semantic": {"mode": "vector"},
    "no rerank": {"mode": "hybrid", "rerank": False},
}


def every(workspace: Workspace, text: str) -> list[tuple[ExplainedHit, ExplainedResponse]]:
    among = [explained(workspace, text, k=12, **search) for search in SEARCHES.values()]
    return [(one, response) for response in among for one in response.hits]


def cosine_of(one: ExplainedHit) -> float | None:
    steps = {step.label: step for step in one.tree.children}
    return steps["meaning"].at("cosine").value if "meaning" in steps else None


@pytest.mark.parametrize("text", QUERIES)
def test_a_headline_says_what_the_numbers_say(embedded_sample: Workspace, text: str) -> None:
    for one, _ in every(embedded_sample, text):
        said = one.headline
        assert said.startswith(f"{ordinal(one.hit.rank)}: ")
        terms = [step.at("bm25") for step in one.tree.children if step.label == "words" and step.children]
        if found := re.search(r"\b(all|\d+ of) (\d+) (?:words|beginnings|phrases)", said):
            known = sum(word.found for word in one.words)
            assert int(found[2]) == len(one.words)
            assert (len(one.words) if found[1] == "all" else int(found[1].split()[0])) == known
            counted = sum(bool(term.value) for term in terms[0].children)
            assert counted >= min(known, 1), "a word that is said to be there counts"
        if " in the heading" in said:
            assert any(term.at("tf", "heading").value for term in terms[0].children)
        if found := re.search(r"(close|somewhat close|not close) (?:in meaning )?\((\d\.\d\d)\)", said):
            cosine = cosine_of(one)
            assert cosine is not None
            assert found[2] == f"{max(cosine, 0):.2f}"
            assert said[found.start() :].startswith(closeness(cosine))
        assert ("by meaning only" in said) is (
            one.hit.retrieval.method == "hybrid"
            and one.hit.retrieval.lexical_rank is None
            and not (one.fused and one.fused.evidence.name and one.fused.evidence.vector_rank is None)
        )
        assert ("keyword score" in said) is (one.hit.score_kind == "bm25" and bool(terms))


@pytest.mark.parametrize("text", QUERIES)
def test_the_parts_of_a_comparison_sum_to_the_difference_of_the_scores(
    embedded_sample: Workspace, text: str
) -> None:
    for one, among in every(embedded_sample, text):
        above = one.above
        if above is None:
            assert one.hit.rank == 1 or not one.tree.children
            continue
        before = among.hits[one.hit.rank - 2].hit
        assert above.other_rank == before.rank
        assert above.score == pytest.approx(one.hit.score)
        assert above.other_score == pytest.approx(before.score)
        assert sum(part.loss for part in above.parts) == pytest.approx(above.difference, abs=1e-9)
        assert add_up(*above.losses())
        if above.difference > 0 and not above.reason:
            assert f"{above.losses()[1]} below " in above.text
        printed = [float(one) for one in re.findall(r", ([+-]\d\.\d+)", above.text)]
        if printed:
            total = above.losses()[1]
            assert -sum(printed) == pytest.approx(float(total), abs=0.51 * 10 ** -len(total.split(".")[1]))


def said_of(
    workspace: Workspace, mine: Evidence, *others: Evidence, text: str = "x", **fusion: object
) -> str:
    among = explained(workspace, text)
    settings = replace(FusionSettings(), **fusion)  # type: ignore[arg-type]
    return with_evidence(among, [mine, *others], settings)[0].headline


def test_what_else_gave_a_place_is_said(embedded_sample: Workspace) -> None:
    among = explained(embedded_sample, "port")
    row = among.hits[0].hit.row
    others = [Evidence(row + 10 + place, place, 9.0 - place, place, 0.9) for place in range(1, 6)]  # type: ignore[arg-type]

    def said(mine: Evidence, **fusion: object) -> str:
        settings = replace(FusionSettings(), **fusion)  # type: ignore[arg-type]
        return with_evidence(among, [mine, *others], settings)[0].headline

    assert said(Evidence(row, exact_name=1, name=1.0, cosine=0.2, vector_rank=9)).startswith(
        "First: the query is a name of its note; "
    )
    assert (
        "its place was kept for its name."
        in said(Evidence(row, partial_name=1, name=0.3, cosine=0.0)).lower()
    )
    assert "place was kept for the other language" in said(
        Evidence(row, None, None, 1, 0.4, other_script=True)
    )
    assert "similarity is estimated (0.11)" in said(Evidence(row, 6, 1.0))
    assert "by meaning only, close (0.75)" in said(Evidence(row, None, None, 1, 0.75))
    assert "a name like the query (0.80)" in said(Evidence(row, name=0.8, cosine=0.1))
    assert "not among the best 2 of the fusion" in said(Evidence(row, 6, 1.0, 6, 0.1), rerank_depth=2)
    assert "Ordered by its ranks: 6 by words and 7 by meaning." in said(
        Evidence(row, 6, 1.0, 7, 0.1), rerank=False
    )


def test_lists_without_a_fusion_are_said_to_be_so(embedded_sample: Workspace) -> None:
    def first(text: str, **query: object) -> str:
        return explained(embedded_sample, text, **query).hits[0].headline

    assert first("tag:git") == "First: listed by the filters without a score, most recently changed first."
    assert re.fullmatch(
        r"First: it matches the raw query \(keyword score 0\.\d\d\)\.", first("'git NOT svn'")
    )
    assert re.fullmatch(r"First: closest in meaning \(0\.\d\d\)\.", first("port conflict", mode="vector"))
    assert "“portt” was searched as “port”." in first("conflict portt")


def test_a_partial_match_comes_after_the_others_for_a_reason(embedded_sample: Workspace) -> None:
    hits = explained(embedded_sample, "undo commit", mode="lexical", k=40).hits
    place = next(place for place, one in enumerate(hits) if one.hit.relaxed)
    assert re.match(r"\w+: all 2 words", hits[place - 1].headline)
    assert re.match(r"\w+: 1 of 2 words \(not “\w+”\)", hits[place].headline)
    above = hits[place].above
    assert above is not None
    assert above.reason == "passages with all the words come first"
