"""Scanning one path finds the same as the walk."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kebab_tui.domain.errors import SourceError
from kebab_tui.files.walk import FoundFile, PathScanner, WalkProblem, WalkRules, walk

NAMES = ["a.md", "b.txt", "c.png", ".hidden.md", "sub", "build", ".git", "메모.md"]
PATHS = st.lists(st.sampled_from(NAMES), min_size=1, max_size=3).map("/".join)
RULES = ["*.txt", "sub/", "!sub/", "/a.md", "build", "**/a.md", "!a.md", "sub/a.md", "메모.md"]


def found(scanner: PathScanner, path: str) -> list[str]:
    return [item.path for item in scanner.look([path]) if isinstance(item, FoundFile)]


def scanner_of(root: Path, **rules: tuple[str, ...]) -> PathScanner:
    return PathScanner(str(root), WalkRules(rules.get("include", ()), rules.get("exclude", ())))


def write(root: Path, path: str, text: str = "x") -> None:
    try:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    except (NotADirectoryError, IsADirectoryError, FileExistsError):
        return


@given(
    st.lists(PATHS, max_size=8),
    st.dictionaries(
        st.sampled_from(["", "sub/", "build/", "sub/sub/"]), st.lists(st.sampled_from(RULES)), max_size=3
    ),
    st.lists(st.sampled_from(["*.md", "sub/", "a.md"]), max_size=1),
    st.lists(st.sampled_from(RULES), max_size=2),
)
def test_scanning_every_path_finds_the_same_as_a_walk(
    tmp_path_factory: pytest.TempPathFactory,
    paths: list[str],
    ignored: dict[str, list[str]],
    include: list[str],
    exclude: list[str],
) -> None:
    root = tmp_path_factory.mktemp("root")
    for path in paths:
        write(root, path)
    for folder, lines in ignored.items():
        write(root, f"{folder}.gitignore", "\n".join(lines))
    rules = WalkRules(tuple(include), tuple(exclude))
    walked = [item for item in walk(str(root), rules) if isinstance(item, FoundFile)]
    there = [
        os.path.relpath(os.path.join(at, name), root) for at, _, names in os.walk(root) for name in names
    ]
    scanner = PathScanner(str(root), rules)
    scanned = [item for item in scanner.look(there) if isinstance(item, FoundFile)]
    assert sorted(scanned, key=lambda item: item.path) == sorted(walked, key=lambda item: item.path)
    for item in walked:
        assert scanner.takes(item.path, is_folder=False)
        for above in list(Path(item.path).parents)[:-1]:
            assert scanner.takes(above.as_posix(), is_folder=True)
            assert item in list(scanner.look([above.as_posix()]))
    for folder in ("sub", "build", "sub/sub"):
        below = [item for item in walked if item.path.startswith(f"{folder}/")]
        assert list(scanner.look([folder])) == below or (root / folder).is_file()
    assert list(scanner.look([""])) == walked


def test_a_folder_is_scanned_and_a_missing_path_yields_nothing(tmp_path: Path) -> None:
    write(tmp_path, "sub/a.md")
    scanner = scanner_of(tmp_path)
    assert found(scanner, "sub") == found(scanner, "sub/a.md") == ["sub/a.md"]
    assert found(scanner, "gone.md") == found(scanner, "gone/a.md") == found(scanner, "sub/a.md/b.md") == []


def test_a_deleted_path_is_accepted_by_its_name(tmp_path: Path) -> None:
    scanner = scanner_of(tmp_path)
    assert scanner.takes("gone/a.md", is_folder=False)
    assert scanner.takes("gone", is_folder=True)
    assert scanner.takes("gone/.gitignore", is_folder=False)
    assert not scanner.takes(".git/a.md", is_folder=False)
    assert not scanner.takes(".git", is_folder=True)
    assert not scanner.takes("a.png", is_folder=False)


@pytest.mark.parametrize("path", ["../a.md", "sub/../a.md", "./a.md", "a\0.md"])
def test_paths_outside_the_root_yield_nothing(tmp_path: Path, path: str) -> None:
    write(tmp_path, "root/x.md")
    write(tmp_path, "a.md")
    assert found(scanner_of(tmp_path / "root"), path) == []


def test_links_are_not_followed(tmp_path: Path) -> None:
    write(tmp_path, "elsewhere/a.md")
    (tmp_path / "root").mkdir()
    os.symlink(tmp_path / "elsewhere", tmp_path / "root" / "link")
    os.symlink(tmp_path / "elsewhere/a.md", tmp_path / "root" / "twin.md")
    scanner = scanner_of(tmp_path / "root")
    assert found(scanner, "link/a.md") == found(scanner, "link") == found(scanner, "twin.md") == []


def test_an_unreadable_folder_is_a_problem_and_its_notes_are_not_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, "sub/deep/a.md")
    real = os.lstat

    def lstat(path: str) -> os.stat_result:
        if "/sub/deep" in str(path):
            raise PermissionError(13, "Permission denied")
        return real(path)

    monkeypatch.setattr(os, "lstat", lstat)
    assert list(scanner_of(tmp_path).look(["sub/deep/a.md"])) == [
        WalkProblem("sub/deep", "permission denied")
    ]


def test_a_scanner_keeps_the_rules_and_looks_at_the_folders_each_time(tmp_path: Path) -> None:
    write(tmp_path, "sub/a.md")
    scanner = scanner_of(tmp_path)
    assert found(scanner, "sub/a.md") == ["sub/a.md"]
    write(tmp_path, "sub/.gitignore", "*.md")
    assert found(scanner, "sub/a.md") == ["sub/a.md"], "until a new scanner is made"
    (tmp_path / "sub").rename(tmp_path / "other")
    (tmp_path / "sub").symlink_to(tmp_path / "other")
    assert found(scanner, "sub/a.md") == []


def test_names_that_are_not_utf8_are_found(tmp_path: Path) -> None:
    name = os.fsdecode(b"\xff.md")
    write(tmp_path, name)
    assert found(scanner_of(tmp_path), name) == [name]


def test_a_missing_root_yields_nothing_and_is_an_error_for_the_walk(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    assert found(scanner_of(gone), "a.md") == []
    with pytest.raises(SourceError):
        walk(str(gone), WalkRules())
