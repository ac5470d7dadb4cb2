"""The public API, from no index to a damaged one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import TypeAlias

import pytest

from kebab_tui import own_files
from kebab_tui.domain.errors import FilterError, NotIndexedError, StoreDamagedError
from kebab_tui.domain.query import SEARCH_MODES, SearchFilters, SearchMode, SearchQuery
from kebab_tui.indexing.status import LiveFile, LiveState
from kebab_tui.settings.settings import (
    ChunkingSettings,
    SearchSettings,
    Settings,
    SourceSettings,
    WeightSettings,
)
from kebab_tui.workspace import Callbacks, Workspace
from tests.vault import Vault


@pytest.fixture
def vault(tmp_path: Path) -> Iterator[Vault]:
    made = Vault(tmp_path)
    yield made
    made.workspace.close()


def test_query_operations_need_no_index_and_make_no_folder(tmp_path: Path) -> None:
    workspace = Workspace(Settings(), str(tmp_path / "data"))
    (chip,) = workspace.parse("rust tag:x").chips
    assert workspace.remove_chip("rust tag:x", chip) == "rust"
    assert workspace.filter_of("after", "2026-01", "{}={}".format).after_ns is not None
    assert workspace.marks("Indexes of all kinds", "index") == ((0, 7),)
    assert workspace.decode(b"one\r\ntwo\n") == ("one", "two")
    assert not (tmp_path / "data").exists()


@pytest.mark.parametrize("mode", SEARCH_MODES)
def test_without_an_index_a_search_says_what_to_do(vault: Vault, mode: SearchMode) -> None:
    assert not vault.workspace.has_index
    with pytest.raises(NotIndexedError) as error:
        vault.workspace.search(SearchQuery("alpha", mode=mode))
    assert "kebab ingest" in error.value.hint
    assert vault.workspace.sources() == []


def test_an_index_without_notes_is_no_error_to_embed(vault: Vault) -> None:
    vault.ingest()
    report = vault.workspace.embed(Callbacks())
    assert (report.embedded, report.pending) == (0, 0)


def test_from_a_folder_to_a_hit_by_words_and_by_meaning(vault: Vault) -> None:
    vault.write("포트.md", "# 포트 충돌\n\n이미 사용 중인 포트라서 서버가 뜨지 않는다.\n")
    vault.write("bread.md", "# Sourdough\n\nFeed the starter twice a day.\n")
    vault.ingest()
    vault.workspace.embed(Callbacks())
    response = vault.workspace.search(SearchQuery("the address is already in use"))
    assert response.mode == "hybrid"
    assert response.hits[0].path == "포트.md"
    assert str(response.hits[0].citation).startswith("포트.md:L")


@pytest.mark.parametrize("mode", SEARCH_MODES)
def test_a_search_says_that_the_index_is_stale(vault: Vault, mode: SearchMode) -> None:
    vault.write("a.md", "about bread")
    vault.ingest()
    vault.workspace.embed(Callbacks())
    assert "index_stale" not in notices(vault.workspace, mode)
    other = vault.opened(Settings(chunking=ChunkingSettings(target=800)))
    assert "index_stale" in notices(other, mode)
    other.ingest([str(vault.root)], Callbacks())
    assert "index_stale" not in notices(other, mode)
    assert "index_stale" in notices(vault.workspace, mode)
    other.close()


def notices(workspace: Workspace, mode: SearchMode) -> list[str]:
    return [notice.code for notice in workspace.search(SearchQuery("bread", mode=mode)).notices]


def test_an_index_that_is_being_made_is_not_stale(vault: Vault) -> None:
    other = vault.root.parent / "other"
    other.mkdir()
    workspace = vault.opened(Settings(sources=(SourceSettings(path=str(other)),)))
    vault.write("a.md", "about bread")
    workspace.ingest([str(vault.root)], Callbacks())
    assert len(workspace.sources()) == 2
    assert notices(workspace, "lexical") == []
    workspace.close()


def test_a_note_that_is_saved_is_found_by_its_words_at_once(vault: Vault) -> None:
    vault.write("a.md", "about sourdough bread")
    vault.ingest()
    vault.workspace.embed(Callbacks())
    vault.write("b.md", "about kebab and lamb")
    vault.ingest()
    response = vault.workspace.search(SearchQuery("kebab"))
    assert "b.md" in {hit.path for hit in response.hits}
    assert response.notices[-1].text.startswith("Semantic search 50 %")


def test_settings_reach_the_fusion(vault: Vault) -> None:
    vault.write("a.md", "about sourdough bread")
    vault.ingest()
    vault.workspace.embed(Callbacks())
    search = SearchSettings(rrf_k=10, vector_weight=0.5, vector_weight_hangul=0.25, rerank=False)
    other = vault.opened(Settings(search=search))
    english, korean = (other.explain(SearchQuery(text)).fusion for text in ("bread", "빵"))
    assert english is not None
    assert korean is not None
    assert (english.rrf_k, english.vector_weight, english.rerank) == (10, 0.5, False)
    assert korean.vector_weight == 0.25
    assert other.search(SearchQuery("bread")).hits[0].score_kind == "rrf"
    assert other.search(SearchQuery("bread", rerank=True)).hits[0].score_kind == "look"
    other.close()


def test_settings_reach_the_weights_of_words(vault: Vault) -> None:
    vault.write("kebab.md", "# Kebab\n\nlamb on a spit\n")
    vault.write("spit.md", "# Spit\n\nkebab kebab kebab\n")
    vault.write("other.md", "nothing")
    vault.write("more.md", "nothing else")
    vault.write("last.md", "nothing at all")
    vault.ingest()
    query = SearchQuery("kebab", mode="lexical", rerank=False)
    assert vault.workspace.search(query).hits[0].path == "kebab.md"
    plain = vault.opened(Settings(search=SearchSettings(weights=WeightSettings(title=0.0, heading=0.0))))
    assert plain.search(query).hits[0].path == "spit.md"
    plain.close()


def test_sources_of_the_settings_are_ingested_with_the_rest(tmp_path: Path) -> None:
    (tmp_path / "declared").mkdir()
    (tmp_path / "declared" / "a.md").write_text("alpha")
    settings = Settings(
        sources=(SourceSettings(path=str(tmp_path / "declared"), id="mine", trust="secondary"),)
    )
    workspace = Workspace(settings, str(tmp_path / "data"))
    workspace.ingest((), Callbacks())
    (source,) = workspace.sources()
    assert (source.source_id, source.trust.label) == ("mine", "secondary")
    assert len(workspace.search(SearchQuery("alpha", mode="lexical")).hits) == 1
    workspace.close()


def test_a_damaged_database_is_set_aside_and_meaning_comes_back_with_it(vault: Vault) -> None:
    vault.write("a.md", "# Bread\n\nabout sourdough bread")
    vault.ingest()
    vault.workspace.embed(Callbacks())
    before = vault.workspace.search(SearchQuery("baking", mode="vector")).hits
    _damage(vault)
    report = vault.ingest()
    assert report.healed
    assert vault.workspace.search(SearchQuery("bread")).notices[0].code == "no_vectors"
    vault.workspace.embed(Callbacks())
    after = vault.workspace.search(SearchQuery("baking", mode="vector")).hits
    assert [(hit.path, hit.score) for hit in after] == [(hit.path, hit.score) for hit in before]


def _damage(vault: Vault) -> None:
    vault.workspace.close()
    for name in ("kebab.sqlite-wal", "kebab.sqlite-shm"):
        (vault.data / name).unlink(missing_ok=True)
    (vault.data / "kebab.sqlite").write_bytes(b"not a database" * 1_000)


def _rebuild(workspace: Workspace, error: StoreDamagedError) -> None:
    assert error.is_healed_by_ingest
    workspace.ingest((), Callbacks())


Read: TypeAlias = Callable[[Workspace], object]
READS: dict[str, Read] = {
    "search": lambda workspace: workspace.search(SearchQuery("bread", "lexical")).total_matches,
    "recent": lambda workspace: workspace.recent(5).total_matches,
    "find": lambda workspace: [found.document.path for found in workspace.find("a")],
    "explain": lambda workspace: workspace.explain(SearchQuery("bread", "lexical")).response.total_matches,
    "why_not": lambda workspace: workspace.why_not(SearchQuery("absent", "lexical"), "a.md"),
    "sources": lambda workspace: [source.source_id for source in workspace.sources()],
    "documents": lambda workspace: [note.path for note in workspace.documents(SearchFilters())[0]],
    "inspect": lambda workspace: workspace.inspect("a.md").chunks,
    "locate_citation": lambda workspace: workspace.locate_citation("a.md:L1").located,
}


@pytest.mark.parametrize("name", READS)
def test_a_damaged_index_is_rebuilt_before_it_is_read_again(vault: Vault, name: str) -> None:
    vault.write("a.md", "# Bread\n\nabout sourdough bread")
    vault.ingest()
    before = READS[name](vault.workspace)
    _damage(vault)
    with pytest.raises(StoreDamagedError):
        READS[name](vault.workspace)
    with closing(Workspace(Settings(), str(vault.data), _rebuild)) as healing:
        assert READS[name](healing) == before


def test_every_front_end_gets_the_notice_of_an_unreachable_threshold(embedded_sample: Workspace) -> None:
    for read in (embedded_sample.search, lambda query: embedded_sample.explain(query).response):
        notices = read(SearchQuery("docker", threshold=0.9)).notices
        assert "threshold_unreachable" in [notice.code for notice in notices]


def test_an_explanation_is_of_the_same_page(embedded_sample: Workspace) -> None:
    query = SearchQuery("docker", k=3)
    assert embedded_sample.explain(query).response.hits == embedded_sample.search(query).hits


def test_notes_are_listed_and_counted(embedded_sample: Workspace) -> None:
    page, total = embedded_sample.documents(SearchFilters(langs=("ko",)), limit=2)
    assert (len(page), {note.lang for note in page}) == (2, {"ko"})
    assert total > 2
    status = embedded_sample.status()
    assert status.figures.documents >= total
    assert status.database_bytes > 0


def test_options_are_read_as_in_the_query_box(vault: Vault) -> None:
    assert vault.workspace.filter_of("type", "Note", "{}={}".format) == SearchFilters(types=("note",))
    with pytest.raises(FilterError) as refused:
        vault.workspace.filter_of("type", "nte", "{}={}".format)
    assert refused.value.message.startswith("invalid type=nte; expected one of")
    assert refused.value.hint == "did you mean type=note?"


@pytest.mark.parametrize("typing", [False, True])
def test_a_bad_filter_is_one_error_in_every_operation(vault: Vault, typing: bool) -> None:
    vault.write("a.md", "# rust\n")
    vault.ingest()
    query = SearchQuery("rust after:lastweek ", "lexical", typing=typing)
    for operation in (
        vault.workspace.search,
        vault.workspace.explain,
        lambda query: vault.workspace.why_not(query, "a.md"),
        lambda query: vault.workspace.why_not(query, "nowhere.md"),
    ):
        with pytest.raises(FilterError) as refused:
            operation(query)
        assert refused.value.code == "bad_filter"
        assert "after:lastweek" in refused.value.message
        assert refused.value.hint == "did you mean after:7d?"


def test_every_commit_and_every_live_state_may_have_changed_something(
    vault: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(own_files, "_COARSEST_S", 0.0)  # as if it had been quiet for long
    other = vault.opened(Settings())
    vault.write("a.md", "alpha")
    vault.ingest()
    check = other.change_check()
    other.revision()

    def is_quiet() -> bool:
        check(), check()
        return not any(check() for _ in range(50))

    assert is_quiet()
    with vault.opened(Settings())._parts.session("a test", Callbacks()) as session:
        assert check(), "who begins to write is seen"
        assert is_quiet()
        session.writer.set_source_state(session.sources()[0].source_id, "paused")
        assert check(), "so is a commit while others have the database open"
        assert is_quiet()
        LiveFile(str(vault.data), lambda _: None).write(LiveState(1))
        assert check()
    assert check(), "and its end"
    other.close()
