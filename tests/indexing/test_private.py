"""Private notes: flagged while they are indexed, and left out of what may leave."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
from collections.abc import Sequence

import pytest

from kebab_tui.domain.change import SaveNote
from kebab_tui.domain.errors import NotFoundError, UnreadableFileError
from kebab_tui.domain.query import SearchFilters, SearchQuery
from kebab_tui.indexing import pipeline
from kebab_tui.storage.sqlite.batch import Batch
from kebab_tui.workspace import Callbacks
from tests.indexing.keeping import keeping, until
from tests.vault import Vault

SHAREABLE = SearchFilters(shareable=True)


def flags(vault: Vault) -> dict[str, list[str]]:
    """The flags of private notes."""
    rows = vault.rows("SELECT path, flags FROM documents WHERE flags LIKE '%private%'")
    return {str(path): json.loads(str(row)) for path, row in rows}


def shareable(vault: Vault) -> list[str]:
    """What may leave by the index; every way to find notes must tell the same."""
    workspace = vault.workspace
    listed, total = workspace.documents(SHAREABLE)
    paths = sorted(note.path for note in listed)
    assert total == len(paths)
    assert sorted(note.document.path for note in workspace.find("", 100, filters=SHAREABLE)) == paths
    response = workspace.search(SearchQuery("word", "lexical", k=100, filters=SHAREABLE))
    assert sorted(hit.path for hit in response.hits) == paths
    assert response.total_matches == len(paths)
    return paths


def may_share(vault: Vault, path: str) -> bool:
    return vault.workspace.may_share(str(vault.root), os.fsencode(path))


def test_front_matter_and_rules_flag_a_note(vault: Vault) -> None:
    vault.write("a.md", "---\nprivate: true\n---\nword\n")
    vault.write("b.txt", "---\nprivate: yes\n---\nword\n")
    vault.write("c.md", "---\ntitle: [open\nprivate: yes\n---\nword\n")
    vault.write("diary/d.md", "word\n")
    vault.write("diary/e.md", "---\nprivate: true\n---\nword\n")
    vault.write("open.md", "---\nprivate: false\n---\nword\n")
    vault.write(".kebabprivate", "diary/\n")
    vault.ingest()
    assert flags(vault) == {
        "a.md": ["private"],
        "b.txt": ["private"],
        "c.md": ["bad_front_matter", "private"],
        "diary/d.md": ["private_by_rule"],
        "diary/e.md": ["private", "private_by_rule"],
    }
    assert shareable(vault) == ["open.md"]
    assert vault.find("word") == ["a.md", "b.txt", "c.md", "diary/d.md", "diary/e.md", "open.md"]
    assert [path for path in (*flags(vault), "open.md") if may_share(vault, path)] == ["open.md"]


def test_a_rule_changes_the_flag_at_the_next_scan_and_nothing_else(vault: Vault, settled: None) -> None:
    vault.write("diary/a.md", "---\nprivate: true\n---\nword\n")
    vault.write("diary/b.md", "word\n")
    vault.write("c.md", "word\n")
    vault.ingest()
    chunks, revision = vault.rows("SELECT * FROM chunks"), vault.workspace.revision()
    vault.write(".kebabprivate", "diary/\n")
    report = vault.ingest()
    details = {file.path: (file.outcome, file.detail) for source in report.sources for file in source.files}
    assert details == dict.fromkeys(("diary/a.md", "diary/b.md"), ("changed", "private now"))
    assert vault.workspace.revision() > revision, "open screens and caches follow"
    assert flags(vault) == {"diary/a.md": ["private", "private_by_rule"], "diary/b.md": ["private_by_rule"]}
    assert shareable(vault) == ["c.md"]
    assert vault.outcomes() == {}, "nothing is read again"
    vault.write(".kebabprivate", "c.md\n")
    assert vault.outcomes() == dict.fromkeys(("c.md", "diary/a.md", "diary/b.md"), "changed")
    assert shareable(vault) == ["diary/b.md"]
    os.remove(vault.root / ".kebabprivate")
    assert vault.outcomes() == {"c.md": "changed"}
    assert shareable(vault) == ["c.md", "diary/b.md"]
    assert flags(vault) == {"diary/a.md": ["private"]}
    assert vault.rows("SELECT * FROM chunks") == chunks


def test_moves_into_and_out_of_a_private_folder(vault: Vault) -> None:
    vault.write(".kebabprivate", "diary/\n")
    vault.write("diary/in.md", "word in\n")
    vault.write("out.md", "word out\n")
    vault.ingest()
    ids = vault.ids()
    vault.move("diary/in.md", "in.md")
    vault.move("out.md", "diary/out.md")
    assert vault.outcomes() == {"in.md": "moved", "diary/out.md": "moved"}
    assert vault.ids() == {"in.md": ids["diary/in.md"], "diary/out.md": ids["out.md"]}
    assert flags(vault) == {"diary/out.md": ["private_by_rule"]}
    assert shareable(vault) == ["in.md"]


def test_a_private_note_that_moves_and_is_public_there_stays_private_by_its_front_matter(
    vault: Vault,
) -> None:
    vault.write(".kebabprivate", "diary/\n")
    vault.write("diary/in.md", "---\nprivate: true\n---\nword\n")
    vault.ingest()
    vault.move("diary/in.md", "in.md")
    vault.ingest()
    assert flags(vault) == {"in.md": ["private"]}


def test_a_move_that_is_not_read_yet_does_not_share_the_note(vault: Vault) -> None:
    vault.write("a.md", "word\n")
    vault.ingest()
    with vault.workspace._parts.session("test", Callbacks()) as session:
        from kebab_tui.domain.change import Move, MoveNotes
        from kebab_tui.domain.ids import DocId

        session.writer.apply([MoveNotes((Move(DocId(vault.ids()["a.md"]), "b.md", b"b.md"),))])
    assert shareable(vault) == []


@pytest.mark.parametrize(
    ("made_by", "is_shared"),
    [
        ("markdown@2/2:1200-4000", False),
        ("note@2/2:1200-4000", False),
        ("markdown@1/1:1200-4000", False),
        ("2:1200-4000", False),
        ("", False),
        ("markdown@3/1:900-3000", True),
        ("markdown@20/2:1200-4000", True),
        ("pdf@1/2:1200-4000", True),
    ],
)
def test_notes_of_versions_that_knew_no_private_notes_are_not_shared(
    vault: Vault, made_by: str, is_shared: bool
) -> None:
    vault.write("a.md", "word\n")
    vault.ingest()
    with sqlite3.connect(vault.data / "kebab.sqlite") as database:
        database.execute("UPDATE documents SET made_by = ?", (made_by,))
    database.close()
    vault.restart()
    assert shareable(vault) == ["a.md"] * is_shared


def test_files_never_read_are_not_shared_even_by_name(vault: Vault) -> None:
    vault.write("a.md", "word\n")
    vault.write("binary.md", b"---\nprivate: true\n---\n" + bytes(range(256)) * 99)
    vault.write("large.md", "---\nprivate: true\n---\n" + "x" * (9 << 20))
    vault.ingest()
    assert shareable(vault) == ["a.md"]
    assert not may_share(vault, "binary.md") and not may_share(vault, "large.md")


def test_a_failed_note_keeps_its_flags_and_a_rule_still_applies(
    vault: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    vault.write("own.md", "---\nprivate: true\n---\nword\n")
    vault.write("open.md", "word\n")
    vault.ingest()

    def unreadable(*_: object) -> None:
        raise UnreadableFileError("permission denied")

    monkeypatch.setattr(pipeline, "read_file", unreadable)
    vault.write("own.md", "word\n")
    vault.write("open.md", "word again\n")
    vault.ingest()
    assert vault.rows("SELECT DISTINCT state FROM documents") == [("failed",)]
    assert flags(vault) == {"own.md": ["private"]}
    assert shareable(vault) == ["open.md"]
    vault.write(".kebabprivate", "*.md\n")
    vault.ingest()
    assert flags(vault) == {"own.md": ["private", "private_by_rule"], "open.md": ["private_by_rule"]}
    os.remove(vault.root / ".kebabprivate")
    vault.ingest()
    assert flags(vault) == {"own.md": ["private"]}
    monkeypatch.undo()
    vault.ingest()
    assert flags(vault) == {}


def test_a_note_that_turned_private_but_cannot_be_stored_is_not_shared(
    vault: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    vault.write("a.md", "word\n")
    vault.ingest()
    whole = Batch._save

    def cannot_store(batch: Batch, change: SaveNote) -> None:
        whole(batch, change)
        raise ValueError

    monkeypatch.setattr(Batch, "_save", cannot_store)
    vault.write("a.md", "---\nprivate: true\n---\nword\n")
    vault.ingest()
    assert vault.rows("SELECT state, flags FROM documents") == [("failed", '["private"]')]
    assert shareable(vault) == []


def test_what_cannot_be_understood_is_reported_and_private(vault: Vault) -> None:
    vault.write("in/a.md", "word\n")
    vault.write("b.md", "word\n")
    vault.write("in/.kebabprivate", "draft[\n")
    (source,) = vault.ingest().sources
    assert source.problems == (
        "in/.kebabprivate: all notes in its folder count as private: line 1 is not a pattern",
    )
    assert shareable(vault) == ["b.md"]
    vault.write("in/.kebabprivate", "draft\n")
    assert vault.outcomes() == {"in/a.md": "changed"}
    assert shareable(vault) == ["b.md", "in/a.md"]


def test_the_flags_of_a_missing_folder_still_count(vault: Vault) -> None:
    vault.write("a.md", "---\nprivate: true\n---\nword\n")
    vault.write("b.md", "word\n")
    vault.write("c.md", "word\n")
    vault.write(".kebabprivate", "b.md\n")
    vault.ingest()
    shutil.move(vault.root, vault.root.parent / "away")
    vault.ingest()
    assert [source.state for source in vault.workspace.sources()] == ["paused"]
    assert shareable(vault) == ["c.md"]
    assert not may_share(vault, "c.md"), "its file cannot be seen"


def test_a_note_that_turned_private_after_indexing_does_not_leave(vault: Vault) -> None:
    vault.write("a/b/one.md", "word\n")
    vault.write("two.md", "word\n")
    vault.ingest()
    hits = vault.workspace.search(SearchQuery("word", "lexical", filters=SHAREABLE)).hits
    assert [vault.workspace.may_share(hit.root, hit.raw_path) for hit in hits] == [True, True]
    vault.write("a/.kebabprivate", "b/\n")
    vault.write("two.md", "---\nprivate: true\n---\nword\n")
    assert [vault.workspace.may_share(hit.root, hit.raw_path) for hit in hits] == [False, False]
    os.remove(vault.root / "a/.kebabprivate")
    assert may_share(vault, "a/b/one.md")


@pytest.mark.parametrize("path", ["gone.md", "../outside.md", "link.md", "linked/x.md", "", ".", "a\0.md"])
def test_what_cannot_be_seen_is_not_shared(vault: Vault, path: str) -> None:
    (vault.root.parent / "outside.md").write_text("word\n")
    os.symlink("../outside.md", vault.root / "link.md")
    vault.write("real/x.md", "word\n")
    os.symlink("real", vault.root / "linked")
    assert may_share(vault, "real/x.md")
    assert not may_share(vault, path)


def test_a_watching_process_follows_the_rules_and_the_notes(vault: Vault) -> None:
    vault.write("diary/a.md", "word\n")
    vault.write("b.md", "word\n")

    def expect(*private: str) -> None:
        until(lambda: sorted(flags(vault)) == sorted(private), f"not private: {private}")
        assert set(shareable(vault)).isdisjoint(private)

    with keeping(vault) as kept:
        expect()
        vault.write(".kebabprivate", "diary/\n")
        expect("diary/a.md")
        vault.write("diary/deep/c.md", "word\n")
        expect("diary/a.md", "diary/deep/c.md")
        vault.write("diary/.kebabprivate", "x\n")
        vault.write(".kebabprivate", "diary/deep/\n")
        expect("diary/deep/c.md")
        vault.write("b.md", "---\nprivate: true\n---\nword\n")
        expect("diary/deep/c.md", "b.md")
        vault.move("diary", "journal")
        expect("b.md")
        vault.write("journal/.kebabprivate", "*\n")
        expect("b.md", "journal/a.md", "journal/deep/c.md")
        os.remove(vault.root / "journal/.kebabprivate")
        expect("b.md")
        assert ("changed", "journal/a.md") in kept.outcomes()


def test_a_lookup_finds_no_private_note_and_no_error_tells_of_one(vault: Vault) -> None:
    vault.write("open/tea.md", "word tea\n")
    vault.ingest()
    (chunk,) = vault.workspace.inspect("tea").chunks

    def told(target: str) -> str:
        try:
            return vault.workspace.inspect(target, shareable=True).document.path
        except NotFoundError as error:
            return error.message

    found = ["tea", "tea.md", "tea.md:L1-L1", "te", "open/tea.md", chunk.chunk_id]
    absent = [
        "diary",
        "diary.md",
        "diary.md:L1-L1",
        "dairy",
        "secret/tea.md",
        "secret/tea.md:L1-L1",
        "later.md",
    ]
    absent += ["secret/tea.md:L0", str(vault.root / "secret/tea.md")]
    before = [told(target) for target in absent]
    assert before == [f"not in the index: {target}" for target in absent]
    vault.write("secret/tea.md", "word tea\n")
    vault.write("secret/diary.md", "---\naliases: [te]\n---\nword\n")
    vault.write("secret/.kebabprivate", "*\n")
    vault.write("later.md", "word\n")
    vault.ingest()
    vault.write("later.md", "---\nprivate: true\n---\nword\n")
    assert [told(target) for target in absent] == before
    assert [told(target) for target in found] == ["open/tea.md"] * len(found)
    secret = vault.workspace.inspect("secret/diary.md").chunks[0].chunk_id
    assert told(secret) == f"not in the index: {secret}"


def searched(vault: Vault, queries: Sequence[str]) -> list[object]:
    """All that a query tells an agent, but for the scores, which depend on the words of all notes."""
    told: list[object] = []
    for text in queries:
        for filters in (SHAREABLE, SearchFilters(paths=("*.md",), shareable=True)):
            response = vault.workspace.search(SearchQuery(text, "lexical", filters=filters))
            texts = [notice.text for notice in response.notices]
            told.append((sorted(hit.path for hit in response.hits), response.total_matches, texts))
            told.append((response.corrections, response.next_offset))
            told.append(vault.workspace.explain(SearchQuery(text, "lexical", filters=filters)).filtered)
    return told


def test_private_notes_show_in_no_count_notice_or_correction(vault: Vault) -> None:
    """The same queries give the same answers with and without a private note that they would match."""
    vault.write("a.md", "#tea\n\nkettle and boiling water\n\n한글 문서\n")
    vault.ingest()
    queries = [
        "", "tag:tea", "water", "xylophone", "xylophon", "xylofone", "kettel", "boiling xylophone",
        "water xylo*", "-xylophone", "-water", "실로폰", "실로푼", "qwertz OR water", "'xylophone'",
        "title:xylophone", "tag:secret",
    ]  # fmt: skip
    before = searched(vault, queries)
    vault.write(
        "xylophone.md",
        "---\nprivate: true\ntags: [tea, secret]\n---\n# Xylophone\n\nxylophone 실로폰 water\n",
    )
    vault.ingest()
    assert vault.find("xylophone") == ["xylophone.md"]
    assert searched(vault, queries) == before
