"""The mode in the border of the query: how much is found by meaning so far."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from kebab_tui.domain.hit import Notice, SearchResponse
from kebab_tui.domain.query import SearchMode, SearchQuery
from kebab_tui.indexing.status import LiveState, Phase
from kebab_tui.tui.app import KebabApp
from kebab_tui.tui.messages import LiveChanged
from kebab_tui.tui.results import mode_words
from kebab_tui.workspace import Workspace
from tests.tui.screen import SharedScreen, painted, until


@pytest.mark.parametrize(
    ("mode", "vector_share", "words"),
    [
        ("hybrid", None, "hybrid"),
        ("hybrid", 100, "hybrid"),
        ("hybrid", 0, "hybrid (keyword only so far)"),
        ("hybrid", 27, "hybrid · semantic 27 %"),
        ("lexical", 27, "keyword"),
        ("vector", 100, "semantic"),
        ("vector", 0, "semantic 0 %"),
        ("vector", 27, "semantic 27 %"),
    ],
)
def test_the_words_for(mode: SearchMode, vector_share: int | None, words: str) -> None:
    assert mode_words(mode, vector_share) == words


Answer = Callable[[Workspace, SearchQuery, bool], SearchResponse]


def without_vectors(real: Workspace, query: SearchQuery, first_answer: bool = False) -> SearchResponse:
    response = real.search(replace(query, mode="lexical"), first_answer)
    return replace(response, notices=(Notice("no_vectors", "No semantic index yet. Keyword results only."),))


def with_some(real: Workspace, query: SearchQuery, first_answer: bool = False) -> SearchResponse:
    response = real.search(replace(query, mode="lexical"), first_answer)
    return replace(response, mode="hybrid", vector_share=25)


def border(app: KebabApp) -> str:
    return painted(app).splitlines()[0]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("answer", "words"),
    [(without_vectors, " hybrid (keyword only so far) "), (with_some, " hybrid · semantic 25 % ")],
)
async def test_a_response_says_how_much_is_found_by_meaning(
    shared: SharedScreen, answer: Answer, words: str
) -> None:
    async with shared(query="rust", mode="hybrid", verbs={"search": answer}) as pilot:
        app = pilot.app
        assert isinstance(app, KebabApp)
        await until(pilot, lambda: words in border(app))
        assert "No vectors" not in painted(app)
        embedding = LiveState(1, phase=Phase("embedding", 26, 100, 3.0, 1020.0))
        app.post_message(LiveChanged(embedding))
        await until(pilot, lambda: " hybrid · semantic 26 % " in border(app))
        assert "semantic 26 % · 3/s · 17 min left" in painted(app).splitlines()[-2]
        app.post_message(LiveChanged(LiveState(1)))
        await until(pilot, lambda: " hybrid ─" in border(app) or " hybrid ╮" in border(app))


@pytest.mark.slow
async def test_a_raw_query_is_named_so_whatever_the_mode(shared: SharedScreen) -> None:
    async with shared(query="'rust OR owner'", mode="hybrid") as pilot:
        app = pilot.app
        assert isinstance(app, KebabApp)
        await until(pilot, lambda: " RAW " in border(app))
        assert "hybrid" not in border(app)
