"""Finding what a user names."""

from __future__ import annotations

import os
import unicodedata
from pathlib import Path

import pytest

from kebab_tui.domain.errors import NotFoundError
from kebab_tui.domain.query import SearchQuery
from kebab_tui.indexing.lookup import Inspection
from kebab_tui.workspace import Callbacks
from tests.vault import Vault


@pytest.fixture
def two(vault: Vault, tmp_path: Path) -> Vault:
    """Two sources that both hold a README.md."""
    vault.write("README.md", "one")
    vault.write("infra/port.md", "# Port\n\n" + "first " * 100 + "\n\n# Conflict\n\n" + "second " * 100)
    other = tmp_path / "other"
    other.mkdir()
    (other / "README.md").write_text("two")
    vault.workspace.ingest([str(vault.root), str(other)], Callbacks())
    return vault


def text_of(inspection: Inspection) -> str:
    return "\n".join(chunk.text for chunk in inspection.chunks)


@pytest.mark.parametrize("name", ["infra/port.md", "./infra/port.md", "port.md"])
def test_a_note_is_named_by_its_path_or_the_end_of_it(two: Vault, name: str) -> None:
    assert two.workspace.inspect(name).document.path == "infra/port.md"


def test_a_note_is_named_by_its_place_on_the_disk(two: Vault, tmp_path: Path) -> None:
    assert text_of(two.workspace.inspect(str(tmp_path / "other" / "README.md"))) == "two"
    os.symlink(tmp_path / "other", tmp_path / "link")
    assert text_of(two.workspace.inspect(str(tmp_path / "link" / "README.md"))) == "two"


def test_what_stands_here_is_meant_before_its_namesakes(
    two: Vault, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path / "other")
    assert text_of(two.workspace.inspect("README.md")) == "two"
    monkeypatch.chdir(two.root)
    assert text_of(two.workspace.inspect("README.md")) == "one"


def test_a_name_that_fits_two_notes_is_not_guessed(two: Vault) -> None:
    with pytest.raises(NotFoundError, match=r"notes: README\.md, other: README\.md"):
        two.workspace.inspect("README.md")


def test_a_passage_is_named_by_its_citation_or_its_id(two: Vault) -> None:
    (hit,) = two.workspace.search(SearchQuery("second")).hits
    for target in (str(hit.citation), hit.citation.uri, hit.chunk_id, hit.chunk_id[:10]):
        (chunk,) = two.workspace.inspect(target).chunks
        assert chunk.chunk_id == hit.chunk_id


def test_the_state_of_the_file_is_told(two: Vault) -> None:
    states = [two.workspace.inspect("infra/port.md").file_state]
    two.write("infra/port.md", "other")
    states.append(two.workspace.inspect("infra/port.md").file_state)
    os.remove(two.root / "infra/port.md")
    states.append(two.workspace.inspect("infra/port.md").file_state)
    assert states == ["same", "changed", "gone"]


@pytest.mark.parametrize(
    "name", ["", "/", "no\0pe.md", "x\udcff.md", "0" * 32, "nope.md:L3", "~nobody/x.md", "a" * 5000]
)
def test_what_is_not_there_is_said_so(two: Vault, name: str) -> None:
    with pytest.raises(NotFoundError):
        two.workspace.inspect(name)


def test_the_reason_is_given_for_a_file_that_is_not_indexed(two: Vault) -> None:
    two.write(".hidden/a.md", "x")
    two.write("new.md", "x")
    two.write("pic.png", "x")
    reasons = {}
    for name in (".hidden/a.md", "new.md", "pic.png", "gone.md"):
        reasons[name] = two.workspace.why_not(SearchQuery("x"), str(two.root / name)).detail
    assert "hidden" in reasons[".hidden/a.md"]
    assert reasons["new.md"] == "not scanned yet"
    assert "type" in reasons["pic.png"]
    assert reasons["gone.md"] == "no such file"
    assert "outside the indexed folders" in two.workspace.why_not(SearchQuery("x"), "/etc/passwd").detail
    assert "no such file, neither here nor" in two.workspace.why_not(SearchQuery("x"), "no/such.md").detail


def test_names_that_look_alike_are_told_apart_by_their_bytes(vault: Vault) -> None:
    composed = unicodedata.normalize("NFC", "카페.md")
    decomposed = unicodedata.normalize("NFD", composed)
    vault.write(composed, "one")
    vault.write(decomposed, "two")
    vault.ingest()
    for name, text in ((composed, "one"), (decomposed, "two")):
        assert text_of(vault.workspace.inspect(name)) == text
        assert text_of(vault.workspace.inspect(str(vault.root / name))) == text


def test_a_skipped_note_says_why_it_cannot_be_found(vault: Vault) -> None:
    vault.write("a.md", b"a\x00b")
    vault.write("empty.md", "")
    vault.ingest()
    verdict = vault.workspace.why_not(SearchQuery("x"), "a.md")
    assert (verdict.stage, verdict.detail.partition(":")[0]) == ("not indexed", "skipped")
    assert "no text" in vault.workspace.why_not(SearchQuery("x"), "empty.md").detail
