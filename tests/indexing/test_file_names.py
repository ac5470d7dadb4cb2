"""A note is found, shown and opened whatever its file is called."""

from __future__ import annotations

import os
import unicodedata

import pytest

from kebab_tui.domain.query import SearchQuery
from kebab_tui.workspace import Callbacks
from tests.vault import Vault

ODD_NAMES = [
    b"new\nline.md",
    b"quo\"te's.md",
    b"-dash.md",
    b"caf\xe9.md",
    b"\xff\xfe.md",
    b"sp  ace.md",
    b"%41?*[x].md",
]


@pytest.mark.parametrize("name", ODD_NAMES)
def test_a_file_may_have_any_name(vault: Vault, name: bytes) -> None:
    path = vault.write(os.fsdecode(name), "alpha")
    assert vault.ingest().count("added") == 1
    assert vault.rows("SELECT raw_path FROM documents") == [(name,)]
    (hit,) = vault.workspace.search(SearchQuery("alpha")).hits
    assert os.fsencode(hit.root) + b"/" + hit.raw_path == os.fsencode(path)
    assert not hit.stale
    hit.path.encode()
    os.remove(path)
    assert vault.ingest().count("removed") == 1


def test_names_that_look_alike_are_two_notes(vault: Vault) -> None:
    composed = unicodedata.normalize("NFC", "한글 café.md")
    decomposed = unicodedata.normalize("NFD", composed)
    vault.write(composed, "alpha one")
    vault.write(decomposed, "alpha two")
    assert vault.ingest().count("added") == 2
    assert vault.rows("SELECT DISTINCT path FROM documents") == [(composed,)]
    texts = {hit.raw_path.decode(): hit.text for hit in vault.workspace.search(SearchQuery("alpha")).hits}
    assert texts == {composed: "alpha one", decomposed: "alpha two"}
    vault.write(decomposed, "alpha three")
    assert vault.ingest().count("changed") == 1


def test_a_folder_whose_name_is_no_text_can_be_a_source(vault: Vault) -> None:
    root = os.fsdecode(os.fsencode(vault.root) + b"/caf\xe9")
    os.mkdir(root)
    with open(os.path.join(root, "a.md"), "w") as handle:
        handle.write("alpha")
    for _ in range(2):
        vault.workspace.ingest([root], Callbacks())
    assert vault.find("alpha") == ["a.md"]
    assert vault.workspace.sources()[0].root == root
