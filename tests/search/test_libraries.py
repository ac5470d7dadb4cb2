"""The scores of sources: each part by the specification, capped so that a name always wins."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kebab_tui.domain.document import Source, SourceState
from kebab_tui.domain.ids import SourceId
from kebab_tui.domain.query import SearchFilters
from kebab_tui.search.libraries import (
    FoundLibrary,
    LibraryParts,
    content_query,
    is_named,
    library_parts,
    rank_libraries,
    source_score,
)


def library(title: str = "React", state: SourceState = "indexed", **given: object) -> Source:
    source = Source(SourceId("react-docs"), title, "/notes", state=state)
    return replace(source, **given)  # type: ignore[arg-type]


def found(*sources: Source, name: str = "", limit: int = 10, **hits: int) -> list[FoundLibrary]:
    return rank_libraries(sources, name, hits, limit, lambda source: source_score(source, has_remote=False))


def ids(libraries: list[FoundLibrary]) -> list[str]:
    return [one.source.source_id for one in libraries]


@pytest.mark.parametrize(
    ("source", "has_remote", "score"),
    [
        (library(state="new"), False, 0.0),
        (library(state="new", stars=10_000), False, 4.0),
        (library(state="new", stars=1_000_000_000), False, 4.0),
        (library(state="new", stars=9), False, 1.0),
        (library(state="new", chunks=1_500), False, 3.0),
        (library(state="new", chunks=90_000), False, 3.0),
        (library(state="new", chunks=100), False, 0.2),
        (library(state="new"), True, 1.0),
        (library(state="indexed"), False, 1.0),
        (library(state="paused"), False, 0.0),
        (library(state="new", description="Hooks"), False, 1.0),
        (library(state="indexed", stars=10_000, chunks=1_500, description="Hooks"), True, 10.0),
        (library(state="indexed", stars=41, chunks=220), False, 3.1),
    ],
)
def test_the_source_score(source: Source, has_remote: bool, score: float) -> None:
    """Row 4-18."""
    assert source_score(source, has_remote=has_remote) == score


@pytest.mark.parametrize(
    ("source", "name", "parts"),
    [
        (library(), "vue", LibraryParts()),
        (library(), "", LibraryParts()),
        (library("react"), "React", LibraryParts(exact=100, prefix=50, description=20)),
        (library("React Native"), "react", LibraryParts(prefix=50, description=20)),
        (library("My React"), "my rea", LibraryParts(prefix=50)),
        (library("Notes", description="All of React"), "of react", LibraryParts(description=20)),
        (library("Notes"), "docs", LibraryParts(description=20)),
        (library("Notes", chunks=250), "x", LibraryParts(size=2.5)),
        (library("Notes", chunks=1_000_000), "x", LibraryParts(size=10)),
        (library("STRASSE"), "straße", LibraryParts(exact=100, prefix=50)),
        (library("Cafe\u0301"), "CAFÉ", LibraryParts(exact=100, prefix=50)),
        (library("케밥 노트"), " 케밥  노트 ", LibraryParts(exact=100, prefix=50)),
        (library("100% _done_"), "100%", LibraryParts(prefix=50)),
    ],
)
def test_each_part_of_a_score(source: Source, name: str, parts: LibraryParts) -> None:
    """Row 4-13."""
    assert library_parts(source, name, 0.0) == parts


@pytest.mark.parametrize(
    ("hits", "most", "points"), [(0, 0, 0.0), (0, 9, 0.0), (9, 9, 20.0), (3, 9, 6.67), (1, 1, 20.0)]
)
def test_the_part_for_content(hits: int, most: int, points: float) -> None:
    """Row 4-14."""
    assert library_parts(library(), "x", 0.0, hits, most).content == points


def test_the_score_is_the_sum_of_its_parts() -> None:
    one, other = found(
        library(chunks=123, stars=41, description="About React"),
        library("Vue", source_id="vue", chunks=10),
        name="react",
        **{"react-docs": 3, "vue": 9},
    )
    assert one.parts == LibraryParts(100, 50, 20, 1.23, 3.9, 6.67)
    assert one.score == pytest.approx(sum(one.parts), abs=1e-9)
    assert (other.score, other.content_hits) == (21.1, 9)


def test_the_exact_name_outranks_the_largest_source() -> None:
    """Row 4-13 as resolved in C-12: the parts for size and trust are capped."""
    big = library("React everything", source_id="big", chunks=2_000_000, stars=10**9, description="React")
    small = library("React", source_id="small")
    assert ids(found(big, small, name="react", big=5_000)) == ["small", "big"]


@pytest.mark.parametrize(("name", "listed"), [("%", ["percent"]), ("_", ["line"]), ("%%", []), ("s_t", [])])
def test_the_signs_of_sql_patterns_are_letters(name: str, listed: list[str]) -> None:
    """Row 4-12 as resolved in C-12."""
    sources = (
        library("50% off", source_id="percent"),
        library("snake_case", source_id="line"),
        library("set", source_id="set"),
    )
    assert ids(found(*sources, name=name)) == listed


def test_only_indexed_sources_with_the_name_or_hits_are_listed() -> None:
    sources = (
        library("React", source_id="a", state="new"),
        library("React", source_id="b", state="paused"),
        library("React", source_id="c"),
        library("Vue", source_id="d"),
        library("Svelte", source_id="e"),
        library("Solid", source_id="f", description="Like React"),
        library("Preact", source_id="react-like"),
    )
    assert set(ids(found(*sources, name="react", a=4, d=2))) == {"c", "d", "f", "react-like"}
    assert set(ids(found(*sources, name=""))) == {"c", "d", "e", "f", "react-like"}


def test_a_source_that_is_not_listed_does_not_set_the_scale_of_content() -> None:
    hidden, shown = library(source_id="hidden", state="paused"), library(source_id="shown")
    assert found(hidden, shown, name="react", hidden=100, shown=1)[0].parts.content == 20.0


def test_equal_scores_are_ordered_by_id_and_the_limit_holds() -> None:
    sources = [library(source_id=name) for name in "dacb"]
    assert ids(found(*sources, name="react")) == ["a", "b", "c", "d"]
    assert ids(found(*sources, name="react", limit=2)) == ["a", "b"]


def test_a_name_is_looked_for_as_words_and_a_query_as_it_is() -> None:
    """Row 4-15."""
    filters = SearchFilters(kinds=("code",))
    named = content_query('in:x OR "C++"', " ", filters)
    assert (named.text, named.strict, named.filters) == ('"in:x" "OR" "C++"', True, filters)
    asked = content_query("react", "hooks -class", filters)
    assert (asked.text, asked.strict, asked.filters) == ("hooks -class", False, filters)
    assert content_query("", "", filters).text == ""
    assert is_named(library(), "") and not is_named(library(), "vue")
