"""Whoever keeps an index in step makes its vectors, beside others who may do so too."""

from __future__ import annotations

from kebab_tui.semantics.keeping import VectorsKept
from kebab_tui.store.lock import WriterLock
from kebab_tui.workspace import Callbacks
from tests.vault import Vault


def test_what_others_made_while_it_had_given_way_is_not_made_again(vault: Vault) -> None:
    parts = vault.workspace._parts
    kept = VectorsKept(parts._new_semantics, parts.reader, WriterLock(vault.workspace.folder.embedding_lock))
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
    kept.rest()


def test_a_model_of_ones_own_is_kept_to_when_the_database_was_lost(vault: Vault) -> None:
    vault.workspace.close()
    (vault.data / "kebab.sqlite").unlink()
    parts = vault.workspace._parts
    kept = VectorsKept(parts._new_semantics, parts.reader, WriterLock(vault.workspace.folder.embedding_lock))
    vault.ingest()
    with parts.session("watch", Callbacks()) as session:
        report = kept.make(session.writer, Callbacks())
    assert report is not None
    assert report.embedded == 2
    kept.rest()
    assert vault.rows("SELECT value FROM meta WHERE key = 'model'") == [("tiny",)]
