"""The walk: found files, excluded files, and problems."""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

from kebab_tui.domain.checkpoint import Checkpoint
from kebab_tui.domain.document import OtherFiles
from kebab_tui.domain.errors import SourceError, UsageError
from kebab_tui.files.walk import FoundFile, PathScanner, WalkProblem, WalkRules, walk


def write(root: Path, *paths: str, text: str = "a note\n") -> None:
    for path in paths:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)


def found(root: Path, rules: WalkRules | None = None) -> list[str]:
    steps = list(walk(str(root), rules or WalkRules()))
    assert not [step for step in steps if isinstance(step, WalkProblem)]
    return [step.path for step in steps if isinstance(step, FoundFile)]


def problems(root: Path) -> list[WalkProblem]:
    return [step for step in walk(str(root), WalkRules()) if isinstance(step, WalkProblem)]


def test_notes_are_found_in_every_folder_in_the_order_of_the_bytes_of_their_paths(tmp_path: Path) -> None:
    write(tmp_path, "z.md", "b/two.md", "b/one.txt", "a/deep/er/note.markdown", "A.MD", "b/c/x.mkd")
    write(
        tmp_path, "a.md", "a b/x.md", "a/b.md", "a0.md", "é.md", "\ue000.md", "\udcff/odd.md", "\U00010000.md"
    )
    paths = found(tmp_path)
    assert len(paths) == 14
    assert paths == sorted(paths, key=os.fsencode), "as an index sorts them"


def test_a_found_file_carries_its_fingerprint_and_its_type(tmp_path: Path) -> None:
    write(tmp_path, "note.txt", text="four")
    (file,) = walk(str(tmp_path), WalkRules())
    status = (tmp_path / "note.txt").stat()
    assert isinstance(file, FoundFile)
    assert file.format.id == "note"
    assert (file.fingerprint.size, file.fingerprint.inode) == (4, status.st_ino)
    assert (file.fingerprint.mtime_ns, file.fingerprint.ctime_ns) == (status.st_mtime_ns, status.st_ctime_ns)


def test_hidden_names_other_types_and_files_of_editors_stay_out(tmp_path: Path) -> None:
    write(tmp_path, "note.md", ".hidden.md", ".git/x.md", "note.md~", ".note.md.swp")
    write(tmp_path, "4913", "#note.md#", ".#note.md", "picture.png", "README", ".md", "note.md.bak")
    assert found(tmp_path) == ["note.md"]


def other_files(root: Path, rules: WalkRules | None = None) -> OtherFiles:
    scanner = PathScanner(str(root), rules or WalkRules())
    list(scanner.walk())
    list(scanner.look(["a"]))
    return scanner.other_files


def test_files_of_other_types_are_counted_by_extension(tmp_path: Path) -> None:
    write(
        tmp_path, "note.md", "a.doc", "b/c.DOC", "b/d.org", "README", "no. extension here", ".x.doc", "e.doc~"
    )
    write(tmp_path, "build/f.doc", ".git/g.doc", "h.log", "nr.\u202etxt\x1b[31m")
    write(tmp_path, ".gitignore", text="build/\n*.log\n")
    os.symlink(tmp_path / "a.doc", tmp_path / "link.doc")
    counted = other_files(tmp_path)
    assert counted == OtherFiles(6, (("", 3), ("doc", 2), ("org", 1)))
    assert str(counted) == "6 other files not read: no extension 3, doc 2, org 1"
    assert other_files(tmp_path, WalkRules(exclude=("*.doc", "b/"))).types == (("", 3),)
    assert other_files(tmp_path, WalkRules(include=("*.md",))) == OtherFiles()


def test_only_the_most_frequent_extensions_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kebab_tui.files.walk._MOST_EXTENSIONS", 30)
    write(tmp_path, "a.doc", "b.doc", *(f"x.t{number}" for number in range(50)))
    counted = other_files(tmp_path)
    assert counted.count == 52
    assert len(counted.types) == 20
    assert str(OtherFiles.of(9, dict.fromkeys("fabcde", 1))).endswith(
        "9 other files not read: a 1, b 1, c 1, d 1, e 1, …"
    )


def test_an_empty_folder_holds_nothing(tmp_path: Path) -> None:
    assert found(tmp_path) == []


@pytest.mark.parametrize(
    "name", ["line\nbreak.md", "quo\"te's.md", "-dash.md", " blank .md", "tab\t.md", "$(x);&.md"]
)
def test_a_name_may_hold_anything(name: str, tmp_path: Path) -> None:
    write(tmp_path, name)
    assert found(tmp_path) == [name]


def test_a_name_that_is_no_utf8_comes_back_as_its_bytes(tmp_path: Path) -> None:
    folder = os.path.join(os.fsencode(tmp_path), b"caf\xe9")
    os.mkdir(folder)
    with open(os.path.join(folder, b"\xff\xfe.md"), "wb") as note:
        note.write(b"x")
    assert [os.fsencode(path) for path in found(tmp_path)] == [b"caf\xe9/\xff\xfe.md"]


def test_names_that_differ_only_in_their_normal_form_are_two_files(tmp_path: Path) -> None:
    composed, decomposed = "한글.md", unicodedata.normalize("NFD", "한글.md")
    write(tmp_path, composed, decomposed)
    assert set(found(tmp_path)) == {composed, decomposed}


def test_a_folder_may_be_named_like_a_note(tmp_path: Path) -> None:
    write(tmp_path, "folder.md/note.md")
    assert found(tmp_path) == ["folder.md/note.md"]


def test_symbolic_links_are_not_followed(tmp_path: Path) -> None:
    root = tmp_path / "root"
    write(root, "real.md", "sub/note.md")
    write(tmp_path, "outside/secret.md")
    (root / "loop").symlink_to(root)
    (root / "sub" / "up").symlink_to("..")
    (root / "away").symlink_to(tmp_path / "outside")
    (root / "secret.md").symlink_to(tmp_path / "outside" / "secret.md")
    (root / "twin.md").symlink_to("real.md")
    (root / "broken.md").symlink_to("nowhere")
    assert found(root) == ["real.md", "sub/note.md"]


def test_the_root_itself_may_be_a_link_and_may_end_with_a_slash(tmp_path: Path) -> None:
    write(tmp_path, "real/note.md")
    (tmp_path / "link").symlink_to("real")
    assert [step.path for step in walk(f"{tmp_path}/link/", WalkRules())] == ["note.md"]


def test_a_pipe_named_like_a_note_is_none(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.md")
    assert found(tmp_path) == []


def test_a_very_deep_folder_is_walked(tmp_path: Path) -> None:
    write(tmp_path, "/".join(["d"] * 900) + "/note.md")
    assert found(tmp_path) == ["/".join(["d"] * 900) + "/note.md"]


# --- rules


def test_ignore_files_work_in_every_folder_and_the_nearer_one_wins(tmp_path: Path) -> None:
    write(tmp_path, "a.md", "draft.md", "sub/draft.md", "sub/deep/draft.md", "build/x.md", "sub/build/x.md")
    write(tmp_path, ".gitignore", text="draft.md\nbuild/\n")
    write(tmp_path, "sub/.ignore", text="!draft.md\n")
    write(tmp_path, "sub/deep/.kebabignore", text="/draft.md\n")
    assert found(tmp_path) == ["a.md", "sub/draft.md"]


def test_kebabignore_overrides_the_others_within_a_folder(tmp_path: Path) -> None:
    write(tmp_path, "a.md", "b.md", "c.md")
    write(tmp_path, ".gitignore", text="*.md\n")
    write(tmp_path, ".ignore", text="!a.md\n!b.md\n")
    write(tmp_path, ".kebabignore", text="b.md\n")
    assert found(tmp_path) == ["a.md"]


def test_nothing_comes_back_from_an_ignored_folder(tmp_path: Path) -> None:
    write(tmp_path, "vendor/keep.md", "vendor/.gitignore", text="!keep.md\n")
    write(tmp_path, ".gitignore", text="vendor\n!keep.md\n")
    assert found(tmp_path) == []


def test_everything_but_some_markdown_can_be_ignored(tmp_path: Path) -> None:
    write(tmp_path, "a.md", "a.txt", "sub/b.md", "sub/b.txt")
    write(tmp_path, ".gitignore", text="*\n!*/\n!*.md\n")
    assert found(tmp_path) == ["a.md", "sub/b.md"]


def test_include_and_exclude_of_the_source_narrow_the_walk(tmp_path: Path) -> None:
    write(tmp_path, "a.md", "a.txt", "docs/b.md", "docs/b.txt", "docs/old/c.md")
    assert found(tmp_path, WalkRules(include=("docs/",))) == ["docs/b.md", "docs/b.txt", "docs/old/c.md"]
    assert found(tmp_path, WalkRules(exclude=("old/", "*.txt"))) == ["a.md", "docs/b.md"]
    assert found(tmp_path, WalkRules(include=("docs/**",), exclude=("docs/old",))) == [
        "docs/b.md",
        "docs/b.txt",
    ]


def test_an_invalid_pattern_of_the_source_is_an_error_before_the_walk(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"exclude: invalid pattern: '\[abc'"):
        walk(str(tmp_path), WalkRules(exclude=("[abc",)))


def test_an_unreadable_ignore_file_is_reported_and_not_applied(tmp_path: Path) -> None:
    write(tmp_path, "a.md")
    write(tmp_path, "rules", text="*\n")
    (tmp_path / ".gitignore").symlink_to("rules")
    (tmp_path / ".ignore").mkdir()
    os.mkfifo(tmp_path / ".kebabignore")
    assert [problem.path for problem in problems(tmp_path)] == [".gitignore", ".ignore", ".kebabignore"]
    assert "not applied" in problems(tmp_path)[0].reason
    assert "a.md" in [step.path for step in walk(str(tmp_path), WalkRules())]


# --- faults


def test_a_missing_root_is_an_error_with_a_hint(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="folder not found") as caught:
        walk(str(tmp_path / "gone"), WalkRules())
    assert caught.value.hint


def test_a_file_is_no_root(tmp_path: Path) -> None:
    write(tmp_path, "note.md")
    with pytest.raises(SourceError, match="not a folder"):
        walk(str(tmp_path / "note.md"), WalkRules())


@pytest.mark.parametrize("root", ["nul\0byte", "x" * 5000])
def test_a_root_that_can_be_no_path_is_an_error_of_the_source(root: str) -> None:
    with pytest.raises(SourceError):
        walk(root, WalkRules())


def forbid(monkeypatch: pytest.MonkeyPatch, folder: Path, error: OSError) -> None:
    """Make one folder unreadable, also for root."""
    scandir = os.scandir

    def guarded(path: str) -> Iterator[os.DirEntry[str]]:
        if os.path.normpath(path) == str(folder):
            raise error
        return scandir(path)

    monkeypatch.setattr(os, "scandir", guarded)


def test_an_unreadable_root_is_an_error_of_the_source(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    forbid(monkeypatch, tmp_path, PermissionError(13, "Permission denied"))
    with pytest.raises(SourceError, match="permission denied"):
        walk(str(tmp_path), WalkRules())


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (PermissionError(13, "Permission denied"), "permission denied"),
        (OSError(5, "Input/output error"), "Input/output"),
    ],
)
def test_an_unreadable_folder_is_reported_and_the_rest_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: OSError, reason: str
) -> None:
    write(tmp_path, "a.md", "locked/b.md", "open/c.md")
    forbid(monkeypatch, tmp_path / "locked", error)
    steps = list(walk(str(tmp_path), WalkRules()))
    assert [step.path for step in steps] == ["a.md", "locked", "open/c.md"]
    assert isinstance(steps[1], WalkProblem)
    assert reason in steps[1].reason


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_folder_without_permission_is_reported(tmp_path: Path) -> None:
    write(tmp_path, "locked/b.md")
    (tmp_path / "locked").chmod(0)
    try:
        assert [problem.path for problem in problems(tmp_path)] == ["locked"]
    finally:
        (tmp_path / "locked").chmod(0o700)


def test_a_folder_that_vanishes_during_the_walk_is_reported_so_that_its_rows_stay(tmp_path: Path) -> None:
    write(tmp_path, "a.md", "sub/b.md")
    steps = walk(str(tmp_path), WalkRules())
    assert next(steps).path == "a.md"
    (tmp_path / "sub" / "b.md").unlink()
    (tmp_path / "sub").rmdir()
    assert [type(step) for step in steps] == [WalkProblem]


def test_the_walk_can_be_stopped_between_lines_of_ignore_files_and_entries(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def looks() -> int:
        asked = count()
        assert list(walk(str(tmp_path), WalkRules(), Checkpoint(stopping=lambda: next(asked) < 0))) == []
        return next(asked)

    alone = looks()
    (tmp_path / ".gitignore").write_text("".join(f"name {n}\n" for n in range(3200)))
    with_rules = looks()
    assert with_rules >= alone + 100
    monkeypatch.setattr("kebab_tui.files.walk.SELDOM", 1)
    for name in range(20):
        (tmp_path / f"{name}.png").touch()
    assert looks() >= with_rules + 10
