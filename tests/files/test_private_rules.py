"""`.kebabprivate`: which notes its rules match, in a walk, at single paths and at one moment."""

from __future__ import annotations

import os
import unicodedata
from pathlib import Path

import pytest

from kebab_tui.files.walk import FoundFile, PathScanner, WalkProblem, WalkRules, is_private, walk


def write(root: Path, rules: dict[str, str | bytes], *notes: str) -> None:
    for path, text in {**dict.fromkeys(notes, "a note\n"), **rules}.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(text.encode() if isinstance(text, str) else text)


def private(root: Path) -> list[str]:
    """The private notes; every way to ask must tell the same."""
    found = [step for step in walk(str(root), WalkRules()) if isinstance(step, FoundFile)]
    scanner = PathScanner(str(root), WalkRules())
    for file in found:
        assert list(scanner.look([file.path])) == [file]
        assert is_private(str(root), file.path) == file.private
    return [file.path for file in found if file.private]


def problems(root: Path) -> list[str]:
    steps = walk(str(root), WalkRules())
    return [f"{step.path}: {step.reason}" for step in steps if isinstance(step, WalkProblem)]


def test_without_rules_nothing_is_private(tmp_path: Path) -> None:
    write(tmp_path, {}, "a.md", "b/c.md")
    assert private(tmp_path) == []


@pytest.mark.parametrize(
    ("rules", "expected"),
    [
        ("diary/\n", ["diary/a.md", "diary/deep/b.md", "x/diary/c.md"]),
        ("/diary/\n", ["diary/a.md", "diary/deep/b.md"]),
        ("diary\n!diary/a.md\n", ["diary/a.md", "diary/deep/b.md", "x/diary/c.md"]),
        ("*\n", ["diary.md", "diary/a.md", "diary/deep/b.md", "public.md", "x/diary/c.md"]),
        ("*.md\n!public.md\n", ["diary.md", "diary/a.md", "diary/deep/b.md", "x/diary/c.md"]),
        ("deep\r\n", ["diary/deep/b.md"]),
        ("\ufeffdiary.md\n", ["diary.md"]),
        ("Diary/\nDIARY.md\n", []),
        ("notes/\n", []),
        ("# diary\n\n   \n", []),
        ("", []),
    ],
)
def test_patterns_are_those_of_ignore_files(tmp_path: Path, rules: str, expected: list[str]) -> None:
    root = tmp_path / "notes"
    notes = ("diary.md", "public.md", "diary/a.md", "diary/deep/b.md", "x/diary/c.md")
    write(root, {".kebabprivate": rules}, *notes)
    assert private(root) == expected
    assert problems(root) == []


def test_a_nearer_file_overrides_but_not_below_a_private_folder(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {
        ".kebabprivate": "*.md\nsecret/\n",
        "a/.kebabprivate": "!open.md\n",
        "secret/.kebabprivate": "!open.md\n",
        "b/.kebabprivate": "/own.txt\n",
    }
    write(
        tmp_path, files, "a/open.md", "a/x/open.md", "a/shut.md", "secret/open.md", "b/own.txt", "b/c/own.txt"
    )
    assert private(tmp_path) == ["a/shut.md", "b/own.txt", "secret/open.md"]


def test_korean_names_match_in_either_normal_form(tmp_path: Path) -> None:
    for form in ("NFC", "NFD"):
        for other in ("NFC", "NFD"):
            root = tmp_path / form / other
            name = unicodedata.normalize(other, "일기/비밀.md")
            write(root, {".kebabprivate": unicodedata.normalize(form, "일기/\n")}, name)
            assert private(root) == [name]


def test_ignored_notes_stay_ignored(tmp_path: Path) -> None:
    write(tmp_path, {".kebabignore": "a.md\n", ".kebabprivate": "!a.md\nb.md\n"}, "a.md", "b.md")
    assert private(tmp_path) == ["b.md"]
    assert [step.path for step in walk(str(tmp_path), WalkRules())] == ["b.md"]


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("draft[\n", "line 1 is not a pattern"),
        ("a.md\n\nx\\\n", "line 3 is not a pattern"),
        ("/\n", "line 1 is not a pattern"),
        ("x" * 5_000, "line 1 is not a pattern"),
        ("a.md\n".encode("utf-16"), "line 1 is not a pattern"),
        (b"#" * (1024 * 1024 + 1), "larger than 1 MB"),
    ],
)
def test_a_file_that_cannot_be_understood_makes_all_below_private(
    tmp_path: Path, content: str | bytes, reason: str
) -> None:
    write(tmp_path, {"in/.kebabprivate": content}, "out.md", "in/a.md", "in/deep/b.md")
    assert private(tmp_path) == ["in/a.md", "in/deep/b.md"]
    assert problems(tmp_path) == [f"in/.kebabprivate: all notes in its folder count as private: {reason}"]


def test_a_link_or_a_folder_in_its_place_makes_all_below_private(tmp_path: Path) -> None:
    write(tmp_path, {"rules": "# none\n"}, "a/a.md", "b/b.md", "c/c.md", "d.md")
    os.symlink(tmp_path / "rules", tmp_path / "a" / ".kebabprivate")
    os.symlink("nowhere", tmp_path / "b" / ".kebabprivate")
    (tmp_path / "c" / ".kebabprivate").mkdir()
    assert private(tmp_path) == ["a/a.md", "b/b.md", "c/c.md"]
    assert len(problems(tmp_path)) == 3


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_an_unreadable_file_makes_all_below_private(tmp_path: Path) -> None:
    write(tmp_path, {"a/.kebabprivate": "x\n"}, "a/a.md", "b.md")
    (tmp_path / "a" / ".kebabprivate").chmod(0)
    assert private(tmp_path) == ["a/a.md"]


def test_a_file_of_a_megabyte_is_read(tmp_path: Path) -> None:
    lines = "".join(f"folder-{n}/note.md\n" for n in range(40_000))
    write(tmp_path, {".kebabprivate": f"{lines}last.md\n"}, "last.md", "first.md", "folder-7/note.md")
    assert private(tmp_path) == ["folder-7/note.md", "last.md"]
