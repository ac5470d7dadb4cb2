"""Measuring: every question in every available mode, page by page, to the wanted depth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest

from kebab_tui.domain.errors import FilterError, ModelError, NotIndexedError, RawQueryError, UsageError
from kebab_tui.domain.hit import Notice, SearchHit, SearchResponse
from kebab_tui.domain.query import SearchMode, SearchQuery
from kebab_tui.evaluation.golden import JudgedQuery
from kebab_tui.evaluation.measure import Measuring, Task
from tests.evaluation.answers import a_hit, a_response


@dataclass
class Engine:
    """Answers every query with the same hits, by words alone unless it was given a model."""

    hits: Sequence[SearchHit]
    has_model: bool = False
    asked: list[SearchQuery] = field(default_factory=list)

    def __call__(self, query: SearchQuery) -> SearchResponse:
        self.asked.append(query)
        if query.text == "'AND('":
            raise RawQueryError("FTS5 refuses it")
        if query.text == "after:lastweek":
            raise FilterError("after refuses it", "write 7d")
        if query.mode == "vector" and not self.has_model:
            raise ModelError("there is no model")
        mode: SearchMode = query.mode if self.has_model else "lexical"
        notices = () if mode == query.mode else (Notice("no_model", "No model here.", "warning"),)
        page = self.hits[query.offset : query.offset + query.k]
        end = query.offset + len(page)
        return a_response(page, mode, end if end < len(self.hits) else None, notices)


def by_path(hits: Sequence[SearchHit]) -> list[str]:
    return list(dict.fromkeys(hit.path for hit in hits))


def task(text: str = "word", relevant: str = "d5") -> Task:
    return Task(JudgedQuery(text, text, "en", {relevant: 1}), by_path)


HITS = [a_hit(f"d{number // 30}") for number in range(300)]
"""Ten notes of thirty passages each."""


def test_pages_are_turned_until_there_are_enough_notes() -> None:
    engine = Engine(HITS)
    found = Measuring(engine, 7).modes([task()], ["lexical"], insist=True)
    (answer,) = found["lexical"].answers
    assert answer.ranked == tuple(f"d{number}" for number in range(7))
    pages = [query for query in engine.asked if query.k != 10]
    assert [query.offset for query in pages] == [0, 50, 100, 150]


def test_pages_are_turned_to_the_end_when_there_are_never_enough() -> None:
    found = Measuring(Engine(HITS), 100).modes([task(relevant="d9")], ["lexical"], insist=True)
    (answer,) = found["lexical"].answers
    assert len(answer.ranked) == 10
    assert answer.metrics["recall@100"] == 1.0
    assert answer.metrics["mrr@10"] == pytest.approx(0.1)
    assert found["lexical"].index_version == "lexical-1"


def test_a_mode_that_is_not_there_is_left_out_with_its_reason() -> None:
    measuring = Measuring(Engine(HITS), 100)
    found = measuring.modes([task()], ["lexical", "vector", "hybrid"], insist=False)
    assert list(found) == ["lexical"]
    assert [notice.text for notice in measuring.notices] == [
        "vector search is not available: there is no model",
        "hybrid search is not available: No model here.",
    ]


@pytest.mark.parametrize("mode", ["vector", "hybrid"])
def test_a_mode_that_was_insisted_on_must_be_there(mode: SearchMode) -> None:
    with pytest.raises(UsageError, match=f"{mode} search is not available"):
        Measuring(Engine(HITS), 100).modes([task()], [mode], insist=True)


def test_every_mode_of_an_engine_with_a_model_is_asked() -> None:
    engine = Engine(HITS, has_model=True)
    progress: list[tuple[SearchMode, int]] = []
    measuring = Measuring(engine, 10, lambda mode, done: progress.append((mode, done)))
    found = measuring.modes([task("a"), task("b")], ["lexical", "vector", "hybrid"], insist=True)
    assert list(found) == ["lexical", "vector", "hybrid"]
    assert progress[-2:] == [("hybrid", 1), ("hybrid", 2)]
    assert {query.text for query in engine.asked if query.mode == "hybrid"} == {"a", "b"}


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("'AND('", "'AND(': FTS5 refuses it"),
        ("after:lastweek", "after:lastweek: after refuses it (write 7d)"),
    ],
)
def test_a_query_that_is_refused_has_no_hits_and_a_notice(text: str, named: str) -> None:
    measuring = Measuring(Engine(HITS), 100)
    found = measuring.modes([task(text), task()], ["lexical"], insist=True)
    assert [bool(answer.ranked) for answer in found["lexical"].answers] == [False, True]
    assert [(notice.code, notice.text) for notice in measuring.notices] == [("query_refused", named)]


def test_an_empty_index_ends_the_run() -> None:
    def empty(query: SearchQuery) -> SearchResponse:
        raise NotIndexedError("nothing has been indexed yet")

    with pytest.raises(NotIndexedError):
        Measuring(empty, 100).modes([task()], ["lexical", "hybrid"], insist=False)


def test_queries_that_any_mode_answers_by_words_do_not_hide_a_model() -> None:
    engine = Engine(HITS, has_model=True)
    found = Measuring(engine, 10).modes([task("'AND('"), task()], ["hybrid"], insist=True)
    assert [bool(answer.ranked) for answer in found["hybrid"].answers] == [False, True]
