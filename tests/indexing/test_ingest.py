"""What one run of indexing does with each kind of file, and with being stopped."""

from __future__ import annotations

import json
import os
import sqlite3
import stat
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from kebab_tui.domain.document import Fingerprint, Trust
from kebab_tui.domain.errors import UnreadableFileError
from kebab_tui.domain.query import SearchFilters, SearchQuery
from kebab_tui.formats.registry import FORMATS
from kebab_tui.settings.settings import ChunkingSettings, ReadingSettings, Settings
from kebab_tui.workspace import Callbacks
from tests.vault import Vault, files


def rows_by_text(vault: Vault) -> dict[object, object]:
    return {row[0]: row[1] for row in vault.rows("SELECT text, id FROM chunks")}


def test_an_edit_indexes_only_the_chunks_whose_text_changed(vault: Vault) -> None:
    sections = [f"# Part {n}\n\n" + f"word{n} " * 80 for n in range(6)]
    vault.write("a.md", "\n\n".join(sections))
    vault.ingest()
    before = rows_by_text(vault)
    assert len(before) == 6
    sections[2] = "# Part 2\n\nan inserted line\n\n" + "other " * 80
    vault.write("a.md", "\n\n".join(sections))
    report = vault.ingest()
    assert (report.chunks_added, report.chunks_removed, report.chunks_kept) == (1, 1, 5)
    after = rows_by_text(vault)
    assert {text: row for text, row in after.items() if text in before} == {
        text: row for text, row in before.items() if text in after
    }
    (hit,) = vault.workspace.search(SearchQuery("word5")).hits
    lines = (vault.root / "a.md").read_text().split("\n")
    assert "\n".join(lines[hit.citation.span.first - 1 : hit.citation.span.last]) == hit.text


def test_a_note_that_becomes_binary_loses_its_text_and_gets_it_back(vault: Vault) -> None:
    vault.write("a.md", "alpha")
    vault.ingest()
    (before,) = vault.ids().values()
    vault.write("a.md", b"\x00\x01\x02alpha" * 100)
    (outcome,) = files(vault.ingest())
    assert (outcome.outcome, outcome.detail) == ("skipped", outcome.detail)
    assert outcome.detail
    assert vault.rows("SELECT count(*) FROM chunks") == [(0,)]
    assert not vault.orphans()
    vault.write("a.md", "alpha again")
    assert vault.outcomes() == {"a.md": "changed"}
    assert vault.find("again") == ["a.md"]
    assert vault.ids() == {"a.md": before}


def test_a_file_of_100_megabytes_is_skipped_with_its_reason_and_not_read(
    vault: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = vault.write("big.md", "alpha")
    os.truncate(path, 100 << 20)
    monkeypatch.setattr("kebab_tui.files.read._read_at_most", _never)
    (outcome,) = files(vault.ingest())
    assert (outcome.outcome, outcome.detail) == ("skipped", "larger than 8 MB")
    (note,), total = vault.workspace.documents(SearchFilters(), states=("skipped",))
    assert (note.path, total) == ("big.md", 1)


@pytest.mark.usefixtures("settled")
def test_what_was_skipped_is_named_again_but_touches_nothing(vault: Vault) -> None:
    os.truncate(vault.write("big.md", "alpha"), 9 << 20)
    vault.write("bin.md", b"a\x00b")
    vault.ingest()
    before = vault.everything()
    assert vault.outcomes() == {"big.md": "skipped", "bin.md": "skipped"}
    assert vault.everything() == before


def test_a_higher_limit_takes_in_what_was_too_large(vault: Vault) -> None:
    vault.write("big.txt", ("alpha beta\n" * 100) + "x " * (5 << 19))
    low = vault.opened(Settings(reading=ReadingSettings(max_file_mb=1)))
    assert low.ingest([str(vault.root)], Callbacks()).count("skipped") == 1
    low.close()
    assert vault.outcomes() == {"big.txt": "changed"}


def test_one_line_of_10_megabytes_becomes_chunks_of_bounded_size(vault: Vault) -> None:
    vault.write("line.txt", "wordy " * (7 << 20 >> 2) + "needle")
    workspace = vault.opened(Settings(reading=ReadingSettings(max_file_mb=16)))
    assert workspace.ingest([str(vault.root)], Callbacks()).count("added") == 1
    assert vault.rows("SELECT max(length(text)) <= 4000, max(line_last) FROM chunks") == [(1, 1)]
    (hit,) = workspace.search(SearchQuery("needle")).hits
    assert str(hit.citation) == "line.txt:L1"
    workspace.close()


@pytest.mark.parametrize("content", [b"", b"\n\n", b"\xef\xbb\xbf"])
def test_a_file_without_text_is_a_note_without_chunks(vault: Vault, content: bytes) -> None:
    vault.write("empty.md", content)
    assert vault.ingest().count("added") == 1
    assert vault.rows("SELECT state FROM documents") == [("ok",)]
    assert vault.rows("SELECT count(*) FROM chunks") == [(0,)]
    assert vault.ingest().count("unchanged") == 1


def test_a_note_of_nothing_but_front_matter_is_found_and_cites_it(vault: Vault) -> None:
    vault.write("stub.md", "---\ntitle: Grape harvest\ntags: [wine]\n---\n\n")
    vault.ingest()
    (hit,) = vault.workspace.search(SearchQuery("grape harvest", "lexical")).hits
    assert (hit.score_kind, str(hit.citation)) == ("name", "stub.md:L1-L4")
    vault.write("stub.md", "---\ntitle: Grape harvest\ntags: [wine]\n---\n\nIn October.\n")
    vault.ingest()
    (hit,) = vault.workspace.search(SearchQuery("grape harvest", "lexical")).hits
    assert hit.text == "In October."


def test_a_file_that_cannot_be_read_keeps_what_was_indexed_and_recovers(
    vault: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    vault.write("a.md", "---\ntags: [red]\n---\n# Apples\n\nalpha")
    vault.write("b.md", "beta")
    vault.ingest()
    vault.write("a.md", "---\ntags: [red]\n---\n# Apples\n\ngamma")
    with monkeypatch.context() as patch:
        _make_unreadable(patch, "a.md")
        report = vault.ingest()
        assert [(f.path, f.outcome, f.detail) for f in files(report)] == [
            ("a.md", "failed", "permission denied")
        ]
        (hit,) = vault.workspace.search(SearchQuery("alpha tag:red title:apples")).hits
        assert hit.stale, "the text shown is not the file's any more"
        assert vault.ingest().corpus_revision == report.corpus_revision, "failing again is no news"
    assert vault.outcomes() == {"a.md": "changed"}
    assert (vault.find("alpha"), vault.find("gamma")) == ([], ["a.md"])


def test_a_new_file_that_cannot_be_read_is_listed_with_its_reason(
    vault: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    vault.write("a.md", "alpha")
    _make_unreadable(monkeypatch, "a.md")
    vault.ingest()
    (note,), _ = vault.workspace.documents(SearchFilters(), states=("failed",))
    assert (note.path, note.reason) == ("a.md", "permission denied")


def test_a_file_that_vanishes_while_it_is_read_is_left_to_the_next_run(
    vault: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    vault.write("a.md", "alpha")
    vault.write("b.md", "beta")
    vault.ingest()
    for name in ("a.md", "b.md"):
        vault.write(name, "changed")
    from kebab_tui.files.read import read_file

    def read_and_remove(root: str, path: str, limits: Any) -> Any:
        if path == "a.md" and os.path.exists(vault.root / path):
            os.remove(vault.root / path)
        return read_file(root, path, limits)

    monkeypatch.setattr("kebab_tui.indexing.pipeline.read_file", read_and_remove)
    report = vault.ingest()
    assert (report.count("changed"), report.count("failed")) == (1, 0)
    assert vault.find("alpha") == ["a.md"]
    assert vault.outcomes() == {"a.md": "removed"}


def test_a_note_that_trips_the_reader_up_does_not_stop_the_others(
    vault: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    vault.write("a.md", "alpha")
    vault.write("b.md", "beta")

    def tripping(note: Any, *more: Any) -> Any:
        if "alpha" in note.lines:
            raise RecursionError("too deep")
        return chunk(note, *more)

    from kebab_tui.chunking.chunker import chunk

    monkeypatch.setattr("kebab_tui.indexing.pipeline.chunk", tripping)
    failed, added = files(vault.ingest())
    assert (failed.path, failed.outcome) == ("a.md", "failed")
    assert "too deep" in failed.detail
    assert added.path == "b.md"


@pytest.mark.parametrize(
    "front",
    [
        b"tags: [a, b",
        b"title: 'x\ny: : :",
        b"\ttabs: 1",
        b"a: &x [*x]",
        b'aliases: ["\\ud800"]',
        b'title: "\\ud800"',
        b"tags: ['\xff']",
        b"? [a]\n: b",
        b"2024-01-01",
    ],
)
def test_front_matter_can_be_anything_and_the_body_is_found(vault: Vault, front: bytes) -> None:
    vault.write("a.md", b"---\n" + front + b"\n---\nneedle in the body")
    report = vault.ingest()
    assert report.count("added") == 1, files(report)
    assert vault.find("needle") == ["a.md"]


def test_other_chunk_settings_index_the_notes_anew(vault: Vault) -> None:
    vault.write("a.md", "\n\n".join(f"paragraph {n} " + "word " * 60 for n in range(10)))
    vault.ingest()
    (before,) = vault.rows("SELECT count(*) FROM chunks")
    version = vault.workspace.search(SearchQuery("word")).index_version
    finer = vault.opened(Settings(chunking=ChunkingSettings(target=300, cap=1000)))
    report = finer.ingest([str(vault.root)], Callbacks())
    assert report.count("changed") == 1
    assert vault.rows("SELECT count(*) FROM chunks")[0] > before
    assert finer.search(SearchQuery("word")).index_version != version
    finer.close()


def test_another_version_of_a_format_reads_its_notes(vault: Vault, monkeypatch: pytest.MonkeyPatch) -> None:
    vault.write("a.md", "alpha")
    vault.ingest()
    ids = vault.rows("SELECT id, chunk_id FROM chunks")
    monkeypatch.setitem(FORMATS, "markdown", replace(FORMATS["markdown"], version=99))
    vault.restart()
    assert vault.outcomes() == {"a.md": "changed"}
    assert vault.rows("SELECT id, chunk_id FROM chunks") == ids, "the same passages keep their rows"
    assert vault.outcomes() == {}


def test_a_note_that_the_next_version_cannot_read_keeps_its_text_and_does_not_hold_up_the_upgrade(
    vault: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    vault.write("a.md", "alpha")
    vault.write("b.md", "beta")
    vault.ingest()
    monkeypatch.setitem(FORMATS, "markdown", replace(FORMATS["markdown"], version=99))
    vault.restart()
    _make_unreadable(monkeypatch, "a.md")
    report = vault.ingest()
    assert (report.count("failed"), report.count("changed")) == (1, 1)
    assert vault.workspace.status().upgrading is None, "no run can read it again"
    assert vault.find("alpha") == ["a.md"]
    assert vault.ingest().corpus_revision == report.corpus_revision, "failing again is no news"


def test_an_index_of_an_older_chunker_is_upgraded_and_keeps_the_vectors_of_unchanged_texts(
    vault: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    vault.write("a.md", "# Trip\n\nsoon\n\n## Food\n\nrice\n")
    vault.write("b.md", "# Bread\n\nrye\n")
    with monkeypatch.context() as older:
        older.setattr("kebab_tui.domain.document.CHUNKER_VERSION", "1")
        older.setattr("kebab_tui.chunking.chunker.shared_path", lambda group: group[-1].path)
        vault.restart()
        vault.ingest()
    vault.restart()
    hashes = [cast("bytes", text_hash) for (text_hash,) in vault.rows("SELECT embed_hash FROM chunks")]
    with vault.workspace._parts.session("test", Callbacks()) as session:
        session.writer.save_vectors("model", [(text_hash, b"\0") for text_hash in hashes])
    old = vault.workspace.search(SearchQuery("rice", mode="lexical"))
    assert [hit.heading_path for hit in old.hits] == ["Trip > Food"], "it answers before it is upgraded"
    assert vault.outcomes() == {"a.md": "changed", "b.md": "changed"}
    labels = "SELECT heading_path, (SELECT count(*) FROM embeddings WHERE text_hash = embed_hash) FROM chunks"
    assert sorted(vault.rows(labels)) == [("Bread", 1), ("Trip · Food", 0)]
    assert vault.outcomes() == {}
    assert vault.find("rye") == ["b.md"]


def test_a_note_has_the_trust_of_its_source_unless_it_says_so_itself(vault: Vault) -> None:
    from dataclasses import replace

    vault.write("plain.md", "alpha")
    vault.write("own.md", "---\ntrust: primary\n---\nalpha")
    vault.ingest()
    (source,) = vault.workspace.sources()
    only_primary = SearchFilters(trust_min=Trust.PRIMARY)
    assert vault.find("alpha", only_primary) == ["own.md", "plain.md"]
    with vault.workspace._parts.session("test", Callbacks()) as session:
        session.writer.save_sources([replace(source, trust=Trust.GENERATED)])
    assert vault.find("alpha", only_primary) == ["own.md"]
    assert {note.path: note.trust for note in vault.workspace.documents(SearchFilters())[0]} == {
        "plain.md": Trust.GENERATED,
        "own.md": Trust.PRIMARY,
    }


def test_a_folder_that_was_rewritten_leaves_no_full_text_of_what_it_was(
    vault: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kebab_tui.storage.sqlite.writer._MERGE_ROWS", 1)
    for version in range(3):
        vault.write("a.md", f"form {version}")
        vault.ingest()
    assert vault.rows("SELECT count(DISTINCT segid) FROM chunks_fts_idx") == [(1,)]
    assert vault.rows("SELECT value FROM meta WHERE key = 'gone_from_full_text'") == []


def test_the_report_of_a_run_is_remembered(vault: Vault) -> None:
    vault.write("a.md", "alpha")
    vault.ingest()
    (run,) = vault.workspace.status().runs
    assert (run.kind, run.report["added"], run.report["cancelled"]) == ("ingest", 1, False)
    assert json.dumps(run.report)


def test_nothing_is_ever_written_among_the_notes(vault: Vault) -> None:
    vault.write("a.md", "alpha")
    os.chmod(vault.root, stat.S_IRUSR | stat.S_IXUSR)
    before = _listing(vault.root)
    vault.ingest()
    vault.ingest()
    assert _listing(vault.root) == before
    os.chmod(vault.root, stat.S_IRWXU)


def test_the_index_is_an_ordinary_database_when_nobody_writes(vault: Vault) -> None:
    vault.write("a.md", "alpha")
    vault.ingest()
    vault.workspace.close()
    connection = sqlite3.connect(vault.data / "kebab.sqlite")
    assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    connection.close()
    assert not os.path.exists(vault.data / "kebab.sqlite-wal")


def _make_unreadable(patch: pytest.MonkeyPatch, name: str) -> None:
    """Tests may run as root, whom no permission stops."""
    from kebab_tui.files.read import read_file

    def refused(root: str, path: str, limits: Any) -> Any:
        if path == name:
            raise UnreadableFileError("permission denied")
        return read_file(root, path, limits)

    patch.setattr("kebab_tui.indexing.pipeline.read_file", refused)


def _listing(folder: Path) -> list[tuple[str, int, int]]:
    return [
        (e.name, e.stat().st_size, e.stat().st_mtime_ns)
        for e in sorted(os.scandir(folder), key=lambda e: e.name)
    ]


def _never(*_: object) -> Any:
    raise AssertionError("a file above the limit was read")


def test_a_note_that_cannot_be_stored_is_a_failed_one_and_stops_no_other(
    vault: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unclamped(status: os.stat_result) -> Fingerprint:
        inode = 2**63 if status.st_size == len("# Oddity") else status.st_ino
        return Fingerprint(status.st_size, status.st_mtime_ns, status.st_ctime_ns, inode)

    for module in ("kebab_tui.files.read", "kebab_tui.files.walk"):
        monkeypatch.setattr(f"{module}.fingerprint_of", unclamped)
    for name, text in (("a.md", "alpha"), ("odd.md", "# Oddity"), ("z.md", "alpha omega")):
        vault.write(name, text)
    told: list[tuple[str, str]] = []
    callbacks = Callbacks(changed=lambda change: told.append((change.path, change.outcome)))
    report = vault.ingest(callbacks)
    assert vault.find("alpha") == ["a.md", "z.md"]
    assert told == [("a.md", "added"), ("odd.md", "failed"), ("z.md", "added")]
    assert (report.count("added"), report.count("failed")) == (2, 1)
    (listed,), _ = vault.workspace.documents(SearchFilters(), ("failed",))
    assert (listed.path, listed.reason) == ("odd.md", files(report)[1].detail)
    assert "OverflowError" in listed.reason
    monkeypatch.undo()
    assert vault.outcomes() == {"odd.md": "changed"}
