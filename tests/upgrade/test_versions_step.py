"""An index of before versions: searched as it is, and ready for versions once a writer has opened it."""

from __future__ import annotations

from pathlib import Path

from kebab_tui.domain.ids import SourceId
from kebab_tui.domain.query import SearchFilters, SearchQuery
from kebab_tui.storage.sqlite import schema, step_0009
from kebab_tui.workspace import Callbacks
from tests.repositories import commit, needs_git
from tests.upgrade.undoing import back_to
from tests.vault import Vault, index_in


@needs_git
def test_an_index_of_before_versions(tmp_path: Path) -> None:
    vault = Vault(tmp_path)
    commit(vault.root, tag="v1", note="# Note\n\nold kettle\n")
    commit(vault.root, note="# Note\n\nnew kettle\n")
    vault.ingest()
    vault.workspace.close()
    database = vault.data / "kebab.sqlite"
    back_to(step_0009.VERSION - 1, database)
    bytes_before = database.read_bytes()
    hits = vault.workspace.search(SearchQuery("kettle", "lexical")).hits
    assert [hit.text for hit in hits] == ["# Note\n\nnew kettle"]
    with index_in(str(vault.data)).reader.catalogue() as catalogue:
        of_versions = SearchFilters(version_ids=(SourceId("notes@v1"),))
        assert catalogue.documents(of_versions) == ([], 0), "a reader sees a table without rows"
    vault.workspace.close()
    assert database.read_bytes() == bytes_before
    list(vault.workspace.add_versions(SourceId("notes"), ["v1"], "", 0, Callbacks()))
    assert database.read_bytes() == bytes_before, "versions have an index of their own"
    vault.ingest()
    assert vault.rows("PRAGMA user_version") == [(schema.SCHEMA_VERSION,)]
    assert vault.rows("SELECT count(*) FROM version_documents") == [(0,)]
    (hit,) = vault.workspace.search(SearchQuery("kettle version:v1", "lexical")).hits
    assert str(hit.citation) == "v1:note.md:L1-L3"
    vault.workspace.close()
