"""The indexing process embeds, beside other processes that may do so too."""

from __future__ import annotations

import errno
import os

import pytest

from kebab_tui.domain.errors import VectorError
from kebab_tui.indexing.embed import ModelEmbedding
from kebab_tui.workspace import Callbacks
from tests.vault import Vault


def test_vectors_made_by_others_meanwhile_are_not_made_again(vault: Vault) -> None:
    parts = vault.workspace._parts
    kept = ModelEmbedding(parts._new_semantics, parts.index)
    asked = iter((False,))
    with parts.session("watch", Callbacks()) as session:
        report = kept.make(session.writer, Callbacks(cancelled=lambda: next(asked, True)))
    assert report is not None
    assert (report.embedded, report.cancelled) == (0, True), "it had fetched both texts, and read none"
    assert vault.workspace.embed(Callbacks()).embedded == 2
    with parts.session("watch", Callbacks()) as session:
        report = kept.make(session.writer, Callbacks())
    assert report is not None
    assert report.embedded == 0
    kept.unload()


def test_a_model_of_ones_own_is_kept_to_when_the_database_was_lost(vault: Vault) -> None:
    vault.workspace.close()
    (vault.data / "kebab.sqlite").unlink()
    parts = vault.workspace._parts
    kept = ModelEmbedding(parts._new_semantics, parts.index)
    vault.ingest()
    with parts.session("watch", Callbacks()) as session:
        report = kept.make(session.writer, Callbacks())
    assert report is not None
    assert report.embedded == 2
    kept.unload()
    assert vault.rows("SELECT value FROM meta WHERE key = 'model'") == [("tiny",)]


def test_a_file_that_a_full_disk_does_not_take_is_reported_and_can_be_written_later(
    vault: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    parts, file = vault.workspace._parts, vault.data / "vectors.kebabvec"
    kept = ModelEmbedding(parts._new_semantics, parts.index)
    with monkeypatch.context() as patch:
        patch.setattr("kebab_tui.own_files.replace", full)
        report = vault.workspace.embed(Callbacks())
        assert (report.embedded, report.pending) == (2, 0)
        assert report.not_saved == "the vector index could not be saved: No space left on device"
        with pytest.raises(VectorError, match="No space left"):
            kept.save()
    assert not os.path.exists(file)
    kept.unload()
    kept.save()
    assert os.path.exists(file), "also after the model was let go"
    kept.unload()
