"""The golden queries find the expected passages of the sample vault."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from kebab_tui.domain.hit import SearchHit
from kebab_tui.domain.query import SearchMode, SearchQuery
from kebab_tui.workspace import Workspace

GOLDEN = Path(__file__).parent.parent.parent / "fixtures" / "golden.yaml"
QUERIES: list[dict[str, Any]] = yaml.safe_load(GOLDEN.read_text(encoding="utf-8"))
LEXICAL = [query for query in QUERIES if query["probes"] != "semantic"]
TOP = 5


def lexical_hits(sample: Workspace, text: str) -> tuple[SearchHit, ...]:
    return sample.search(SearchQuery(text, mode="lexical", k=TOP)).hits


@pytest.mark.parametrize("golden", LEXICAL, ids=[query["id"] for query in LEXICAL])
def test_a_golden_query_finds_its_note(sample: Workspace, golden: dict[str, Any]) -> None:
    hits = lexical_hits(sample, golden["query"])
    wanted = {expected["note"] for expected in golden["expect"]}
    assert wanted & {hit.path for hit in hits}, [f"{hit.citation} {hit.heading_path}" for hit in hits]


@pytest.mark.parametrize("golden", LEXICAL, ids=[query["id"] for query in LEXICAL])
def test_every_citation_names_exactly_the_lines_it_shows(
    sample: Workspace, sample_notes: Path, golden: dict[str, Any]
) -> None:
    for hit in lexical_hits(sample, golden["query"]):
        lines = (sample_notes / hit.path).read_bytes().decode().replace("\r\n", "\n").split("\n")
        span = hit.citation.span
        assert "\n".join(lines[span.first - 1 : span.last]) == hit.text


@pytest.mark.parametrize("golden", LEXICAL, ids=[query["id"] for query in LEXICAL])
def test_the_same_question_gets_the_same_answer(sample: Workspace, golden: dict[str, Any]) -> None:
    assert lexical_hits(sample, golden["query"]) == lexical_hits(sample, golden["query"])


@pytest.mark.parametrize("mode", ["lexical", "hybrid"])
def test_a_finished_query_has_the_same_hits_while_it_is_typed(
    embedded_sample: Workspace, mode: SearchMode
) -> None:
    for golden in QUERIES:
        asked = SearchQuery(golden["query"], mode=mode)
        finished = [hit for hit in embedded_sample.search(asked).hits if mode == "hybrid" or not hit.relaxed]
        typed = embedded_sample.search(replace(asked, typing=True)).hits[: len(finished)]
        assert [(hit.row, hit.score) for hit in typed] == [(hit.row, hit.score) for hit in finished]


def test_there_are_enough_golden_queries() -> None:
    assert len(LEXICAL) >= 40
    assert {query["lang"] for query in QUERIES} == {"ko", "en", "mixed"}
