"""What the index makes of a folder that has changed behind its back."""

from __future__ import annotations

import os
import shutil
import time
import tracemalloc
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from kebab_tui.domain.document import Fingerprint
from kebab_tui.domain.ids import DocId
from kebab_tui.domain.query import SearchQuery
from kebab_tui.files.read import FileContent, read_file
from kebab_tui.files.walk import FoundFile, WalkProblem
from kebab_tui.formats.decode import ReadLimits
from kebab_tui.formats.registry import FORMATS
from kebab_tui.indexing.reconcile import compare
from kebab_tui.storage.ports import KnownFile
from kebab_tui.storage.sqlite.health import check_index
from kebab_tui.workspace import Callbacks
from tests.effort import cpu_seconds
from tests.vault import Vault

Scandir = Callable[[str], Any]
KNOWN = KnownFile(DocId("a"), Fingerprint(1, 1, 1, 1), "", "", "ok", "", 1)


@pytest.mark.usefixtures("settled")
def test_an_unchanged_folder_is_not_touched(vault: Vault, monkeypatch: pytest.MonkeyPatch) -> None:
    vault.write("a.md", "# A\n\nalpha #tag")
    vault.write("sub/b.txt", "beta 충돌은")
    vault.ingest()
    before = vault.everything()
    monkeypatch.setattr("kebab_tui.indexing.pipeline.read_file", _never)
    report = vault.ingest()
    assert report.count("unchanged") == 2
    assert vault.everything() == before


def test_a_file_written_a_moment_ago_is_read_again_and_still_nothing_changes_for_a_search(
    vault: Vault,
) -> None:
    vault.write("a.md", "alpha")
    first = vault.ingest()
    chunks = vault.rows("SELECT * FROM chunks")
    assert vault.ingest().corpus_revision == first.corpus_revision
    assert vault.rows("SELECT * FROM chunks") == chunks


@pytest.mark.parametrize("skew_s", [1, 600, 86_400])
def test_a_file_from_the_future_is_read_only_until_no_later_write_can_get_its_stamp(
    vault: Vault, monkeypatch: pytest.MonkeyPatch, skew_s: int
) -> None:
    path = vault.root / vault.write("a.md", "alpha")
    now_ns = path.stat().st_ctime_ns
    os.utime(path, ns=(now_ns, now_ns + skew_s * 10**9))
    reads: list[str] = []

    def read_counted(root: str, place: str, limits: ReadLimits) -> FileContent:
        reads.append(place)
        return read_file(root, place, limits)

    monkeypatch.setattr("kebab_tui.indexing.pipeline.read_file", read_counted)
    monkeypatch.setattr(time, "time_ns", lambda: now_ns)
    reads_of_looks = []
    for seconds in (0, 1, 3, 1, 1):
        now_ns += seconds * 10**9
        reads.clear()
        vault.ingest()
        reads_of_looks.append(len(reads))
    assert reads_of_looks == [1, 1, 1, 0, 0]
    stamp = path.stat().st_mtime_ns
    path.write_text("beta!")
    os.utime(path, ns=(stamp, stamp))
    assert vault.ingest().count("changed") == 1, "its other time tells"


def test_notes_of_an_older_version_are_read_last_and_the_newest_of_them_first(
    vault: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    for day, name in enumerate(("b.md", "a.md", "c.md")):
        os.utime(vault.write(name, name), (day, day))
    vault.ingest()
    vault.write("z.md", "new")
    monkeypatch.setitem(FORMATS, "markdown", replace(FORMATS["markdown"], version=99))
    vault.restart()
    assert list(vault.outcomes()) == ["z.md", "c.md", "a.md", "b.md"]


@pytest.mark.usefixtures("settled")
def test_an_edit_that_keeps_size_and_time_is_seen(vault: Vault) -> None:
    path = vault.write("a.md", "alpha")
    vault.ingest()
    stamp = os.stat(path)
    vault.write("a.md", "gamma")
    os.utime(path, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
    assert vault.outcomes() == {"a.md": "changed"}
    assert vault.find("gamma") == ["a.md"]


def test_a_write_within_the_same_stamp_is_seen_however_late_the_commit(
    vault: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A coarse file system stamps two writes alike; only when the file was read tells that one was missed."""
    now = time.time_ns()
    for module in ("kebab_tui.files.read", "kebab_tui.files.walk"):
        monkeypatch.setattr(f"{module}.fingerprint_of", lambda s: Fingerprint(s.st_size, now, now, 1))
    monkeypatch.setattr("kebab_tui.storage.sqlite.batch.time.time_ns", lambda: now + 10**10)
    monkeypatch.setattr(
        "kebab_tui.indexing.pipeline.time", SimpleNamespace(time_ns=lambda: now, monotonic=time.monotonic)
    )
    vault.write("a.md", "alpha")
    vault.ingest()
    vault.write("a.md", "gamma")
    assert vault.outcomes() == {"a.md": "changed"}


def test_a_time_that_64_bits_do_not_hold_is_a_time_like_any_other(vault: Vault) -> None:
    vault.write("near.md", "alpha")
    os.utime(vault.write("far.md", "beta"), ns=(0, (2**63 // 10**9 + 10**6) * 10**9))
    assert vault.outcomes() == {"near.md": "added", "far.md": "added"}
    assert vault.outcomes() == {}
    assert not vault.workspace.search(SearchQuery("beta")).hits[0].stale


def test_a_renamed_note_keeps_its_id_and_its_chunks(vault: Vault) -> None:
    vault.write("a.md", "# A\n\nalpha")
    vault.ingest()
    (doc,) = vault.ids().values()
    chunks = vault.rows("SELECT id, chunk_id FROM chunks")
    vault.move("a.md", "deep/er/z.md")
    report = vault.ingest()
    assert [(f.path, f.outcome, f.detail) for f in report.sources[0].files] == [
        ("deep/er/z.md", "moved", "from a.md")
    ]
    assert vault.ids() == {"deep/er/z.md": doc}
    assert vault.rows("SELECT id, chunk_id FROM chunks") == chunks


def test_a_title_that_comes_from_the_file_name_follows_a_rename(vault: Vault) -> None:
    vault.write("old.md", "")
    vault.write("first name.txt", "\n")
    vault.write("plain.md", "```\ncode only\n```")
    vault.ingest()
    (title,) = vault.rows("SELECT title FROM documents WHERE path = 'plain.md'")
    vault.move("plain.md", "fancy.md")
    vault.ingest()
    assert vault.rows("SELECT title FROM documents WHERE path = 'fancy.md'") != [title]
    assert vault.find("title:fancy") == ["fancy.md"]


def test_a_renamed_folder_keeps_all_ids(vault: Vault) -> None:
    for n in range(5):
        vault.write(f"old/{n}.md", f"# Note {n}\n\nword{n}")
    vault.ingest()
    before = vault.ids()
    vault.move("old", "new")
    assert set(vault.outcomes().values()) == {"moved"}
    assert vault.ids() == {path.replace("old/", "new/"): doc for path, doc in before.items()}


def test_two_notes_that_swapped_names_keep_their_ids(vault: Vault) -> None:
    vault.write("a.md", "alpha")
    vault.write("b.md", "beta!")
    vault.ingest()
    before = vault.ids()
    for old, new in (("a.md", "tmp"), ("b.md", "a.md"), ("tmp", "b.md")):
        vault.move(old, new)
    assert vault.outcomes() == {"a.md": "moved", "b.md": "moved"}
    assert vault.ids() == {"a.md": before["b.md"], "b.md": before["a.md"]}
    assert vault.find("alpha") == ["b.md"]


def test_notes_that_changed_places_in_a_ring_keep_their_ids(vault: Vault) -> None:
    names = [f"{n}.md" for n in range(4)]
    for name in names:
        vault.write(name, f"text {name}")
    vault.ingest()
    before = vault.ids()
    for name in names:
        vault.move(name, name + ".tmp")
    for name, after in zip(names, [*names[1:], names[0]], strict=True):
        vault.move(name + ".tmp", after)
    vault.ingest()
    assert vault.ids() == {
        after: before[name] for name, after in zip(names, [*names[1:], names[0]], strict=True)
    }


def test_a_note_moved_over_another_one_replaces_it(vault: Vault) -> None:
    vault.write("a.md", "alpha")
    vault.write("b.md", "beta")
    vault.ingest()
    before = vault.ids()
    vault.move("a.md", "b.md")
    vault.ingest()
    assert vault.ids() == {"b.md": before["a.md"]}
    assert (vault.find("alpha"), vault.find("beta")) == (["b.md"], [])
    assert not vault.orphans()


def test_a_chain_of_moves_over_other_notes_ends_with_one_loss(vault: Vault) -> None:
    for name in "abc":
        vault.write(f"{name}.md", f"text of {name}")
    vault.ingest()
    before = vault.ids()
    vault.move("b.md", "c.md")
    vault.move("a.md", "b.md")
    vault.ingest()
    assert vault.ids() == {"b.md": before["a.md"], "c.md": before["b.md"]}


def test_a_new_note_at_the_old_path_of_a_renamed_one_gets_a_new_id(vault: Vault) -> None:
    vault.write("a.md", "alpha")
    vault.ingest()
    (old,) = vault.ids().values()
    vault.move("a.md", "b.md")
    vault.write("a.md", "something else")
    assert vault.outcomes() == {"b.md": "moved", "a.md": "added"}
    ids = vault.ids()
    assert ids["b.md"] == old
    assert ids["a.md"] not in ("", old)


def test_a_note_that_comes_back_after_its_removal_was_seen_is_a_new_sight_of_it(vault: Vault) -> None:
    vault.write("a.md", "alpha")
    vault.ingest()
    os.remove(vault.root / "a.md")
    assert vault.outcomes() == {"a.md": "removed"}
    assert not vault.orphans()
    vault.write("a.md", "alpha")
    assert vault.outcomes() == {"a.md": "added"}
    assert vault.find("alpha") == ["a.md"]


def test_a_copy_is_a_note_of_its_own(vault: Vault) -> None:
    vault.write("a.md", "alpha")
    vault.ingest()
    (old,) = vault.ids().values()
    shutil.copy(vault.root / "a.md", vault.root / "b.md")
    assert vault.outcomes() == {"b.md": "added"}
    assert vault.ids()["a.md"] == old != vault.ids()["b.md"]


def test_copies_found_together_have_different_ids(vault: Vault) -> None:
    for name in ("a.md", "b.md", "c/a.md"):
        vault.write(name, "the same")
    vault.ingest()
    assert len(set(vault.ids().values())) == 3


def test_a_note_saved_by_writing_anew_and_renaming_over_it_is_the_same_note(vault: Vault) -> None:
    vault.write("a.md", "alpha")
    vault.write("copy.md", "alpha")
    vault.ingest()
    before = vault.ids()
    vault.write("a.md.tmp", "alpha and more")
    vault.move("a.md.tmp", "a.md")
    assert vault.outcomes() == {"a.md": "changed"}
    assert vault.ids() == before


def test_one_of_two_copies_renamed_keeps_its_own_id(vault: Vault) -> None:
    vault.write("a.md", "the same")
    vault.write("b.md", "the same")
    vault.ingest()
    before = vault.ids()
    vault.move("a.md", "y.md")
    vault.move("b.md", "x.md")
    vault.ingest()
    assert vault.ids() == {"y.md": before["a.md"], "x.md": before["b.md"]}


def test_a_deleted_note_leaves_no_orphan(vault: Vault) -> None:
    vault.write("a.md", "---\ntags: [x, y]\n---\n# A\n\nalpha")
    vault.write("b.md", "beta")
    vault.ingest()
    os.remove(vault.root / "a.md")
    assert vault.outcomes() == {"a.md": "removed"}
    assert not vault.orphans()
    assert vault.rows("SELECT kind, value FROM facets") == [("name", "b")]
    assert vault.find("alpha") == []


@pytest.mark.usefixtures("settled")
def test_a_missing_folder_is_paused_and_comes_back_unchanged(vault: Vault) -> None:
    vault.write("a.md", "alpha")
    vault.ingest()
    before = vault.everything()
    os.rename(vault.root, str(vault.root) + ".away")
    report = vault.ingest()
    assert "folder not found" in report.sources[0].paused
    assert vault.workspace.sources()[0].state == "paused"
    assert vault.find("alpha") == ["a.md"]
    os.rename(str(vault.root) + ".away", vault.root)
    assert vault.ingest().count("unchanged") == 1
    assert vault.workspace.sources()[0].state == "indexed"
    assert vault.everything() == before


def _as_link(target: str) -> Callable[[Path], None]:
    def act(folder: Path) -> None:
        os.rename(folder, folder.with_name("away"))
        folder.symlink_to(target)

    return act


def _into_the_other(folder: Path) -> None:
    os.rename(folder, folder.with_name("notes") / "sub")
    folder.symlink_to("notes/sub")


def _as_file(folder: Path) -> None:
    os.rename(folder, folder.with_name("away"))
    folder.write_text("x")


@pytest.mark.parametrize(
    ("act", "reason"),
    [
        (_as_file, "not a folder"),
        (_as_link("nowhere"), "folder not found"),
        (_as_link("more"), "cannot read the folder"),
        (_as_link("notes"), "is the same folder as the source notes"),
        (_as_link("notes/sub"), "lies within the source notes"),
        (_as_link("."), "contains the source notes"),
        (_into_the_other, "lies within the source notes"),
    ],
)
def test_a_folder_that_becomes_something_else_is_paused_and_the_others_go_on(
    vault: Vault, tmp_path: Path, act: Callable[[Path], None], reason: str
) -> None:
    more = tmp_path / "more"
    more.mkdir()
    (more / "b.md").write_text("beta")
    vault.write("a.md", "alpha")
    vault.write("sub/c.md", "gamma")
    if act is _into_the_other:
        (vault.root / "sub" / "c.md").unlink()
        (vault.root / "sub").rmdir()
    vault.workspace.ingest([str(more), str(vault.root)], Callbacks())
    before = [row for row in vault.rows("SELECT * FROM documents") if "b.md" in row]
    act(more)
    vault.write("new.md", "delta")
    report = vault.workspace.ingest([], Callbacks())
    assert [(reason in source.paused, source.source) for source in report.sources] == [
        (True, "more"),
        (False, "notes"),
    ]
    assert vault.find("delta") == ["new.md"]
    assert [row for row in vault.rows("SELECT * FROM documents") if "b.md" in row] == before
    states = {finding.check: finding.level for finding in check_index(vault.files, "")}
    assert (states["source more"], states["source notes"]) == ("warning", "ok")


def test_a_folder_that_a_link_leads_to_elsewhere_is_still_the_folder(vault: Vault) -> None:
    vault.write("a.md", "alpha")
    vault.ingest()
    os.rename(vault.root, vault.root.with_name("away"))
    vault.root.symlink_to("away")
    assert vault.ingest().count("unchanged") == 1


def test_a_folder_that_vanishes_while_it_is_walked_loses_nothing(
    vault: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    vault.write("a.md", "alpha")
    vault.write("sub/b.md", "beta")
    vault.ingest()
    monkeypatch.setattr(os, "scandir", _failing_after(1, vault, FileNotFoundError(2, "No such file")))
    vault.ingest()
    assert (vault.find("alpha"), vault.find("beta")) == (["a.md"], ["sub/b.md"])


@pytest.mark.parametrize(
    "error", [PermissionError(13, "Permission denied"), OSError(5, "Input/output error")]
)
def test_the_notes_below_an_unreadable_folder_stay(
    vault: Vault, monkeypatch: pytest.MonkeyPatch, error: OSError
) -> None:
    vault.write("a.md", "alpha")
    vault.write("sub/b.md", "beta")
    vault.write("sub/deep/c.md", "gamma")
    vault.write("subway.md", "delta")
    vault.ingest()
    os.remove(vault.root / "subway.md")
    real = os.scandir

    def scandir(path: str) -> Iterator[os.DirEntry[str]]:
        if str(path).rstrip("/").endswith("/sub"):
            raise error
        return real(path)

    monkeypatch.setattr(os, "scandir", scandir)
    report = vault.ingest()
    assert report.sources[0].problems[0].startswith("sub: ")
    assert [(f.path, f.outcome) for f in report.sources[0].files] == [("subway.md", "removed")]
    assert (vault.find("beta"), vault.find("gamma")) == (["sub/b.md"], ["sub/deep/c.md"])


def test_a_loop_of_links_ends_and_a_link_is_no_note(vault: Vault) -> None:
    vault.write("sub/a.md", "alpha")
    os.symlink(vault.root, vault.root / "sub" / "loop")
    os.symlink("a.md", vault.root / "sub" / "twin.md")
    os.symlink("/etc", vault.root / "etc")
    assert vault.outcomes() == {"sub/a.md": "added"}


def _never(*_: object) -> Any:
    raise AssertionError("an unchanged file was read")


def _failing_after(calls: int, vault: Vault, error: OSError) -> Scandir:
    real, count = os.scandir, 0

    def scandir(path: str) -> Any:
        nonlocal count
        if str(path).startswith(str(vault.root)):
            count += 1
            if count > calls:
                raise error
        return real(path)

    return scandir


def test_thousands_of_files_that_cannot_be_seen_are_none_of_them_missing() -> None:
    known = sorted(
        (b"s/%d.md" % n, KnownFile(DocId(str(n)), Fingerprint(1, 1, 1, n), "", "", "ok", "", 1))
        for n in range(20_000)
    )
    unseen = [WalkProblem(f"s/{n}.md", "permission denied") for n in range(19_000)]
    assert cpu_seconds(lambda: compare(unseen, known, {})) < 5
    assert len(compare(unseen, known, {}).missing) == 1_000
    assert compare([WalkProblem("s", "permission denied")], known, {}).missing == {}
    assert compare([WalkProblem("", "permission denied")], known, {}).missing == {}
    assert len(compare([WalkProblem("s/1", "permission denied")], known, {}).missing) == 20_000


def test_the_scan_of_an_unchanged_folder_holds_neither_its_files_nor_its_notes() -> None:
    kind = FORMATS["markdown"]
    made_by = {kind.id: "markdown@1"}
    stamp = Fingerprint(1, 1, 1, 1)
    files = (FoundFile(f"{n:06}.md", stamp, kind) for n in range(30_000))
    notes = (
        (b"%06d.md" % n, KnownFile(DocId(str(n)), stamp, "", "markdown@1", "ok", "", 10**12))
        for n in range(30_000)
    )
    tracemalloc.start()
    try:
        plan = compare(files, notes, made_by)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert (plan.unchanged, plan.to_read, plan.known, plan.missing) == (30_000, [], {}, {})
    assert peak < 100_000


def test_a_scan_in_parts_sorts_files_as_one_of_all_notes(
    vault: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kebab_tui.indexing.ingest._KNOWN_AT_ONCE", 2)
    paths = ["a.md", "a/b.md", "a0.md", "a b.md", "a/b/c.md", "a/b0.md", "한글/ㄱ.md", "z.md", "é/x.md"]
    for path in paths:
        vault.write(path, f"text of {path}")
    assert vault.ingest().count("added") == len(paths)
    (vault.root / "a/b.md").unlink()
    (vault.root / "z.md").rename(vault.root / "a/z.md")
    vault.write("a b.md", "another text")
    report = vault.ingest()
    counts = {outcome: report.count(outcome) for outcome in ("added", "changed", "moved", "removed")}
    assert counts == {"added": 0, "changed": 1, "moved": 1, "removed": 1}
