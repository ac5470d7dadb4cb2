"""The 21 rows of the specification of full-text search (004), each shown on a real index of three folders.

Left out: versions in row 4-4, and REST in row 4-20. Tables of single values are in
`tests/search/test_libraries.py` and `tests/wire/test_llm_text.py`.
"""

from __future__ import annotations

import ast
import os
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from kebab_tui.domain.query import SearchFilters, SearchQuery
from kebab_tui.domain.text import sanitize
from kebab_tui.search.libraries import source_score
from kebab_tui.settings.settings import Settings
from kebab_tui.wire.llm_text import library_list, passages
from kebab_tui.workspace import Workspace
from tests.command_line import ROOT, Kebab

PAGES = 45
ROWS = [f"4_{row}" for row in range(1, 22)]


@pytest.fixture(scope="module")
def kebab(tmp_path_factory: pytest.TempPathFactory) -> Kebab:
    """Folders `react` and `vue`, indexed, and `later`, which is not. Only for reading."""
    place = tmp_path_factory.mktemp("rows")
    kebab = Kebab(place / "data", place / "home")
    for name in ("react", "vue", "later"):
        (place / name).mkdir()
    (place / "react/hooks.md").write_text(
        "# Hooks\n\nInstall the hooks first.\n\n## Effects\n\n```js\nuseEffect(install)\n```\n"
    )
    (place / "react/setup.md").write_text("# Setup\n\n```sh\ninstall react\ninstall more\n```\n")
    (place / "react/state.md").write_text("# State\n\nA component keeps state. Hooks share it.\n")
    for page in range(PAGES):
        (place / f"vue/{page:02}.md").write_text(f"# Page {page:02}\n\nAn equal template.\n")
    (place / "vue/zebra.md").write_text("# Zebra\n\nReactivity and hooks.\n")
    rules = ("--rule", "Cite the lines.", "--description", "UI library", "--stars", "10000")
    for argv in (
        ("source", "add", str(place / "react"), "--title", "React", *rules),
        ("source", "add", str(place / "vue"), "--title", "Vue", "--description", "A reactive framework"),
        ("ingest",),
        ("source", "add", str(place / "later"), "--title", "React later"),
    ):
        done = kebab(*argv)
        assert done.code == 0, done.err
    return kebab


def hits(kebab: Kebab, *argv: str) -> list[Any]:
    found: list[Any] = kebab("search", "--mode", "lexical", "--json", *argv).json["hits"]
    return found


def paths(kebab: Kebab, *argv: str) -> set[str]:
    return {hit["doc_path"] for hit in hits(kebab, *argv)}


def libraries(kebab: Kebab, *argv: str) -> list[Any]:
    found: list[Any] = kebab("source", "search", "--json", *argv).json["items"]
    return found


def ids(found: list[Any]) -> list[str]:
    return [one["source_id"] for one in found]


def test_row_4_1_keywords_alone_and_as_the_half_of_hybrid(kebab: Kebab) -> None:
    """Without vectors a search is by words; with them words are one leg (`tests/cli/test_modes.py`)."""
    answer = kebab("search", "hooks", "--json").json
    assert (answer["mode"], answer["returned"]) == ("lexical", 3)
    assert {hit["retrieval"]["method"] for hit in answer["hits"]} == {"lexical"}


def test_row_4_2_triggers_keep_the_full_text_in_step(tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    kebab = Kebab(tmp_path / "data", tmp_path / "home")
    (tmp_path / "notes/a.md").write_text("alpha\n")
    kebab("ingest", str(tmp_path / "notes"))
    with sqlite3.connect(tmp_path / "data/kebab.sqlite") as database:
        triggers = {
            name for (name,) in database.execute("SELECT name FROM sqlite_schema WHERE type='trigger'")
        }
    database.close()
    assert {"chunks_ai", "chunks_ad", "chunks_au"} <= triggers
    (tmp_path / "notes/a.md").write_text("beta\n")
    kebab("ingest")
    assert (paths(kebab, "alpha", "--exact"), paths(kebab, "beta")) == (set(), {"a.md"})


def test_row_4_3_a_search_in_a_source_names_passage_score_and_source(kebab: Kebab) -> None:
    found = hits(kebab, "hooks", "--in", "react")
    assert {(hit["source_id"], hit["source_title"]) for hit in found} == {("react", "React")}
    assert all(0 < hit["score"] <= 1 for hit in found), "positive, higher is better (C-17)"
    assert [hit["score"] for hit in found] == sorted((hit["score"] for hit in found), reverse=True)
    assert {hit["doc_path"] for hit in found} == {"hooks.md", "state.md"}
    assert paths(kebab, "hooks in:vue") == {"zebra.md"}


def test_row_4_4_filters_by_source_and_kind(kebab: Kebab) -> None:
    """Versions are a later issue."""
    assert paths(kebab, "hooks") == {"hooks.md", "state.md", "zebra.md"}, "all sources by default"
    assert paths(kebab, "hooks", "--in", "vue", "--in", "react") == paths(kebab, "hooks")
    assert {hit["kind"] for hit in hits(kebab, "install", "--kind", "code")} == {"code"}
    assert {hit["kind"] for hit in hits(kebab, "hooks", "--kind", "info")} == {"info"}
    unknown = kebab("search", "hooks", "--in", "nowhere")
    assert unknown.code == 2 and "react" in unknown.err


def test_row_4_5_pages_fit_together(kebab: Kebab) -> None:
    def page(limit: int, offset: int) -> list[str]:
        argv = ("template", "--in", "vue", "--limit", str(limit), "--offset", str(offset))
        return [hit["chunk_id"] for hit in hits(kebab, *argv)]

    assert page(20, 0) + page(20, 20) == page(40, 0)
    assert len(page(20, 40)) == PAGES - 40
    assert [hit["rank"] for hit in hits(kebab, "template", "--limit", "2", "--offset", "20")] == [21, 22]


def test_row_4_6_equal_scores_are_ordered_by_chunk_id(kebab: Kebab) -> None:
    found = hits(kebab, "template", "--limit", "40")
    assert len({hit["score"] for hit in found}) == 1
    assert [hit["chunk_id"] for hit in found] == sorted(hit["chunk_id"] for hit in found)


def test_row_4_7_blanks_do_not_count(kebab: Kebab) -> None:
    assert hits(kebab, "  hooks \t\n share  ") == hits(kebab, "hooks share")


def test_row_4_8_operators_where_they_are_valid_and_words_elsewhere(kebab: Kebab) -> None:
    assert paths(kebab, "hooks AND share", "--strict") == {"state.md"}
    assert paths(kebab, "share OR reactivity") == {"state.md", "zebra.md"}
    assert paths(kebab, "hooks NOT share", "--strict") == {"hooks.md", "zebra.md"}
    assert paths(kebab, "(share)") == paths(kebab, '"hooks share"', "--strict") == {"state.md"}
    assert paths(kebab, "reactiv*") == {"zebra.md"}
    for odd in ("AND", "hooks AND", "(hooks", "hooks)", "OR OR", "NOT", '"hooks', "*", "()"):
        assert kebab("search", "--mode", "lexical", odd).code in (0, 1), odd


def test_row_4_9_the_last_word_may_be_unfinished_while_typing(kebab: Kebab) -> None:
    workspace = Workspace(Settings(), str(kebab.data))

    def typed(text: str) -> set[str]:
        query = SearchQuery(text, "lexical", typing=True, exact=True, k=100)
        return {hit.path for hit in workspace.search(query).hits}

    assert typed("inst") == typed("ins") == {"hooks.md", "setup.md"}
    assert typed("in") == {"hooks.md", "setup.md"}, "more than the specification: from two letters on"
    assert typed("i") == set(), "one letter is no prefix"
    assert paths(kebab, "inst", "--exact") == set(), "a finished query has no star"
    workspace.close()


def test_row_4_10_stop_words_are_left_out_of_the_any_word_pass_only(kebab: Kebab) -> None:
    assert paths(kebab, "the first zebra") == {"hooks.md", "zebra.md"}, "none has all, many have `the`"
    assert paths(kebab, '"the hooks"') == {"hooks.md"}
    assert paths(kebab, "the") == {"hooks.md"}, "a query of only stop words"


def test_row_4_11_the_rank_is_bm25(kebab: Kebab) -> None:
    for hit in hits(kebab, "hooks component", "--explain"):
        words = hit["explanation"]["lexical"]
        assert words["bm25"] < 0
        assert hit["score"] == pytest.approx(-words["bm25"] / (1 - words["bm25"]), abs=1e-6)


def test_row_4_12_sources_by_title_id_and_description_only_indexed_ones(kebab: Kebab) -> None:
    assert ids(libraries(kebab, "REACT")) == ["react", "vue"], "one by title and id, one by description"
    assert ids(libraries(kebab, "vue")) == ["vue"]
    assert ids(libraries(kebab, "")) == ["react", "vue"], "`later` is not indexed"
    assert ids(libraries(kebab, "", "--limit", "1")) == ["react"]
    assert libraries(kebab, "%") == libraries(kebab, "_") == []


def test_row_4_13_the_score_of_a_source_is_the_sum_of_its_parts(kebab: Kebab) -> None:
    react, vue = libraries(kebab, "react")
    assert react["parts"] | {"content": 0} == {
        "exact": 100,
        "prefix": 50,
        "description": 20,
        "size": react["chunks"] / 100,
        "trust": react["source_score"],
        "content": 0,
    }
    assert (vue["parts"]["exact"], vue["parts"]["prefix"], vue["parts"]["description"]) == (0, 0, 20)
    for found in (react, vue):
        assert found["score"] == pytest.approx(sum(found["parts"].values()), abs=1e-9)


def test_row_4_14_a_source_is_found_by_its_passages(kebab: Kebab) -> None:
    (vue,) = libraries(kebab, "zebra")
    assert (vue["source_id"], vue["content_hits"], vue["parts"]["content"]) == ("vue", 1, 20)


def test_row_4_15_the_query_ranks_by_content(kebab: Kebab) -> None:
    first = libraries(kebab, "", "hooks")
    assert [(one["source_id"], one["content_hits"], one["parts"]["content"]) for one in first] == [
        ("react", 2, 20),
        ("vue", 1, 10),
    ]
    assert ids(libraries(kebab, "", "equal", "template")) == ["vue", "react"]


def test_row_4_15_filters_decide_which_passages_and_sources_count(kebab: Kebab) -> None:
    workspace = Workspace(Settings(), str(kebab.data))

    def found(**filters: Any) -> list[tuple[str, int]]:
        some = workspace.find_libraries("", "hooks", filters=SearchFilters(**filters))
        return [(one.source.source_id, one.content_hits) for one in some]

    assert found() == [("react", 2), ("vue", 1)]
    assert found(paths_none=("state.md",)) == [("react", 1), ("vue", 1)]
    assert found(sources=("vue",)) == [("vue", 1)]
    workspace.close()


def test_row_4_16_the_list_for_language_models(kebab: Kebab) -> None:
    assert kebab("source", "search", "react", "--format", "txt").out == (
        "1. React\n"
        "   Library ID: react\n"
        "   Description: UI library\n"
        "   Snippets: 3 | Trust Score: 6.0/10\n"
        "   Available Versions: default branch\n"
        "\n"
        "2. Vue\n"
        "   Library ID: vue\n"
        "   Description: A reactive framework\n"
        "   Snippets: 46 | Trust Score: 2.1/10\n"
        "   Available Versions: default branch\n"
    )
    nothing = kebab("source", "search", "angular", "--format", "txt")
    assert (nothing.code, nothing.out) == (1, "No libraries found matching your search.\n")


def test_row_4_17_the_passages_for_language_models(kebab: Kebab) -> None:
    found = ("search", "hooks", "--in", "react", "--format", "context", "--mode", "lexical", "--limit", "2")
    blocks = kebab(*found).out.removesuffix("\n").split("\n\n---\n\n")
    assert blocks[0] == "## Library Rules\n- Cite the lines."
    assert sorted(blocks[1:]) == [
        (
            "### Hooks\n*Hooks · Effects*\nhooks.md:L1-L9\n# Hooks\n\nInstall the hooks first.\n\n"
            "## Effects\n\n```js\nuseEffect(install)\n```"
        ),
        "### State\n*State*\nstate.md:L1-L3\n# State\n\nA component keeps state. Hooks share it.",
    ]


def test_row_4_18_the_source_score(kebab: Kebab) -> None:
    react, vue = kebab("source", "list", "--json").json["items"][:2]
    assert react["source_score"] == 6.0, "4 for stars, 1 for indexed, 1 for described"
    assert vue["source_score"] == 2.1, "46 / 500 passages, indexed, described"


def test_row_4_19_the_source_score_follows_the_index_and_the_repository(tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    kebab = Kebab(tmp_path / "data", tmp_path / "home")

    def score() -> float:
        found: float = kebab("source", "list", "--json").json["items"][0]["source_score"]
        return found

    kebab("source", "add", str(notes))
    assert score() == 0.0
    for page in range(200):
        (notes / f"{page}.md").write_text("A passage.\n")
    kebab("ingest")
    assert score() == 1.4
    (notes / ".git").mkdir()
    (notes / ".git/config").write_text('[remote "origin"]\n\turl = x\n')
    assert score() == 2.4
    kebab("source", "edit", "notes", "--description", "All", "--stars", "99")
    assert score() == 5.4
    for page in range(100, 200):
        os.remove(notes / f"{page}.md")
    kebab("ingest")
    assert score() == 5.2


def test_row_4_20_command_line_and_servers_share_the_formats(kebab: Kebab) -> None:
    """REST is a later issue."""
    workspace = Workspace(Settings(), str(kebab.data))
    listed = library_list(workspace.find_libraries("react"))
    assert kebab("source", "search", "react", "--format", "txt").out == listed + "\n"
    answer = workspace.search(SearchQuery("hooks", "lexical"))
    shown = passages(answer.hits, workspace.sources())
    assert kebab("search", "hooks", "--mode", "lexical", "--format", "context").out == shown + "\n"
    assert shown == sanitize(shown)
    workspace.close()


def test_row_4_21_one_module_for_each_part(kebab: Kebab) -> None:
    """Service, preprocessor, formatters and score of the specification; the formatters print nothing."""
    for name in ("workspace", "search/query_language", "wire/llm_text", "search/libraries"):
        assert (ROOT / f"kebab_tui/{name}.py").exists()
    for name in ("wire/llm_text", "search/libraries"):
        tree = ast.parse((ROOT / f"kebab_tui/{name}.py").read_text("utf-8"))
        imported = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
        assert not imported & {"click", "sqlite3", "kebab_tui.workspace"}
    assert callable(source_score)


def test_every_row_is_shown() -> None:
    shown = [name.removeprefix("test_row_") for name in globals() if name.startswith("test_row_")]
    assert [row for row in ROWS if not any(name.startswith(f"{row}_") for name in shown)] == []
