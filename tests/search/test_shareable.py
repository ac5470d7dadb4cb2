"""The filter `shareable`: no leg of a search, no page and no count has private notes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from kebab_tui.domain.document import Document
from kebab_tui.domain.query import SearchFilters, SearchMode
from tests.meaning import Chosen
from tests.notes import a_note

SHAREABLE = SearchFilters(shareable=True)
MODES: tuple[SearchMode, ...] = ("lexical", "vector", "hybrid")


@pytest.fixture
def chosen(tmp_path: Path) -> Iterator[Chosen]:
    made = Chosen(tmp_path)
    yield made
    made.close()


def add_private(
    chosen: Chosen, path: str, passages: Mapping[str, float | None], *, by_rule: bool
) -> Document:
    note = a_note(path, *passages, title="alpha private", names={"name": "alpha"})
    document = replace(note.document, flags=("private_by_rule",) if by_rule else ("private",))
    note = replace(note, document=document)
    chosen.writer.apply([note])
    chosen.read(note, passages)
    return document


@pytest.mark.parametrize("by_rule", [False, True])
@pytest.mark.parametrize("mode", MODES)
def test_private_notes_are_in_no_leg_and_no_count(chosen: Chosen, mode: SearchMode, by_rule: bool) -> None:
    chosen.add("open.md", {"alpha one": 0.4, "alpha two": 0.3}, names={"name": "open"})
    before = chosen.ask("alpha", mode=mode, filters=SHAREABLE)
    secret = add_private(chosen, "alpha.md", {"alpha": 0.9, "alpha best": 0.8}, by_rule=by_rule)
    assert chosen.ask("alpha", mode=mode).hits[0].path == "alpha.md"
    for filters in (
        SHAREABLE,
        replace(SHAREABLE, paths=("*.md",)),
        replace(SHAREABLE, doc_ids=(secret.doc_id,)),
    ):
        response = chosen.ask("alpha", mode=mode, filters=filters)
        assert "alpha.md" not in [hit.path for hit in response.hits]
        assert response.total_matches == (0 if filters.doc_ids else before.total_matches)
    assert [hit.path for hit in chosen.ask("alpha", mode=mode, filters=SHAREABLE).hits] == [
        hit.path for hit in before.hits
    ]
    verdict = chosen.why_not("alpha", secret, mode=mode, filters=SHAREABLE)
    assert (verdict.stage, verdict.detail) == ("filtered", "it is private, or not known not to be")


@pytest.mark.parametrize("mode", MODES)
def test_pages_fit_and_counts_of_filters_leave_private_notes_out(chosen: Chosen, mode: SearchMode) -> None:
    for n in range(6):
        chosen.add(f"open{n}.md", {f"alpha {n}": 0.4 + n / 100}, tags=("x",) if n else ())
        add_private(chosen, f"secret{n}.md", {f"alpha secret {n}": 0.6 + n / 100}, by_rule=False)
    paths: list[str] = []
    while True:
        response = chosen.ask("alpha", mode=mode, filters=SHAREABLE, k=2, offset=len(paths))
        paths += [hit.path for hit in response.hits]
        if response.next_offset is None:
            break
    assert sorted(paths) == [f"open{n}.md" for n in range(6)]
    filtered = chosen.explain("alpha tag:x", mode=mode, filters=SHAREABLE).filtered
    assert str(filtered) == "filters: 5 of 6 notes pass (tag:x leaves out 1)"
    assert chosen.explain("alpha", mode=mode, filters=SHAREABLE).filtered is None


@pytest.mark.parametrize("mode", MODES)
def test_without_private_notes_a_search_runs_the_same_statements(chosen: Chosen, mode: SearchMode) -> None:
    chosen.add("open.md", {"alpha one": 0.4, "alpha two": 0.3})
    chosen.ask("alpha", mode=mode, filters=SHAREABLE)  # asks whether there are any, once for a revision
    with chosen.statements() as plain:
        chosen.ask("alpha one", mode=mode)
    with chosen.statements() as shareable:
        chosen.ask("alpha two", mode=mode, filters=SHAREABLE)
    assert sorted(re.sub("two|[0-9]+", "one", one) for one in shareable) == sorted(
        re.sub("two|[0-9]+", "one", one) for one in plain
    )


@pytest.mark.parametrize(
    "text", ["shareable:false alpha", "private:true alpha", "shareable:no", "-shareable:true"]
)
def test_no_query_switches_the_filter_off(chosen: Chosen, text: str) -> None:
    chosen.add("open.md", {"alpha shareable": 0.4})
    add_private(chosen, "secret.md", {"alpha private shareable": 0.9}, by_rule=False)
    for mode in MODES:
        assert "secret.md" not in [hit.path for hit in chosen.ask(text, mode=mode, filters=SHAREABLE).hits]
