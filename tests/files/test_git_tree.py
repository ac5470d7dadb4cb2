"""Files of a commit, read by git: every kind of ref and entry; hostile and partial repositories."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from kebab_tui.domain.errors import SourceError, UnreadableFileError
from kebab_tui.files import git_tree
from kebab_tui.files.git_tree import Repository, git_blob_id, tree_at
from kebab_tui.files.read import read_file
from kebab_tui.files.tree_root import TreeRoot, is_tree
from kebab_tui.files.walk import FoundFile, PathScanner, WalkRules, is_private
from kebab_tui.formats.decode import ReadLimits
from tests.repositories import commit, everything_below, git, needs_git

pytestmark = needs_git


def root_of(place: Path, name: str) -> str:
    repository = Repository.of(str(place))
    return str(repository.root(repository.resolve(name, repository.refs())))


def walked(root: str) -> dict[str, bool]:
    """The notes of a version, and whether each is private."""
    found = PathScanner(root, WalkRules()).walk()
    return {one.path: one.private for one in found if isinstance(one, FoundFile)}


def test_a_commit_is_walked_and_read_like_a_folder_and_nothing_is_written(tmp_path: Path) -> None:
    lib = tmp_path / "lib"
    (lib / "docs").mkdir(parents=True)
    git(lib, "init", "-q")
    (lib / ".gitignore").write_text("drafts/\n")
    (lib / ".kebabprivate").write_text("secret.md\n")
    (lib / "docs/link.md").symlink_to("guide.md")
    (lib / "docs/data.bin").write_bytes(b"\0")
    git(lib, "add", "-A")
    commit(lib, docs__guide="old\n", docs__메모="# 메모\n", secret="mine", tag="v1")
    (lib / "drafts").mkdir()
    (lib / "drafts/now.md").write_text("draft")
    git(lib, "add", "-f", "drafts/now.md")
    commit(lib, docs__guide="new\n", tag="v2")
    before = everything_below(lib / ".git")
    root = root_of(lib, "v1")
    assert is_tree(root)
    assert TreeRoot.parse(root) is not None
    assert walked(root) == {"docs/guide.md": False, "docs/메모.md": False, "secret.md": True}
    assert walked(root_of(lib, "v2")) == walked(root), "tracked or not, the ignore rules hold"
    content = read_file(root, "docs/guide.md", ReadLimits())
    assert content.data == b"old\n"
    assert git_blob_id(content.data) == git(lib, "rev-parse", "v1:docs/guide.md")
    assert (is_private(root, "secret.md"), is_private(root, "docs/guide.md")) == (True, False)
    assert tree_at(root).links == 1
    with tree_at(root).reading():
        assert read_file(root, "docs/guide.md", ReadLimits()).data == b"old\n"
        with pytest.raises(UnreadableFileError, match="larger"):
            read_file(root, "docs/guide.md", ReadLimits(2))
        assert read_file(root, "docs/메모.md", ReadLimits()).data == "# 메모\n".encode(), "in step after that"
    with pytest.raises(UnreadableFileError, match="no such file"):
        read_file(root, "docs/link.md", ReadLimits())
    assert everything_below(lib / ".git") == before


def test_refs_of_every_kind(tmp_path: Path) -> None:
    lib = tmp_path / "lib"
    first = commit(lib, a="1", tag="v1")
    second = commit(lib, a="2")
    git(lib, "tag", "-a", "v2", "-m", "two")
    git(lib, "tag", "-a", "v2-again", "v2", "-m", "a tag of a tag")
    git(lib, "branch", "v1", "HEAD")
    git(lib, "tag", "blob", git(lib, "rev-parse", "HEAD:a.md"))
    git(lib, "update-ref", "refs/tags/--help", "HEAD")
    repository = Repository.of(str(lib))
    refs = repository.refs()
    assert {name: repository.resolve(name, refs)[::2] for name in ("v1", "v2", "v2-again", "main")} == {
        "v1": ("v1", first),
        "v2": ("v2", second),
        "v2-again": ("v2-again", second),
        "main": ("main", second),
    }, "of a tag and a branch of one name, the tag, as for git"
    assert repository.resolve("heads/v1", refs)[::2] == ("heads/v1", second)
    assert repository.resolve("--help", refs).commit == second, "a name is never an option"
    assert repository.resolve("tags/HEAD", refs | {"refs/tags/HEAD": first}).label == "tags/HEAD"
    assert repository.resolve(first[:9], refs) == (first[:12], "", first)
    for wrong in ("v3", "blob", "--upload-pack=x", "HEAD^{tree}", "v1:a.md", ""):
        with pytest.raises(SourceError, match="no tag, branch or commit"):
            repository.resolve(wrong, refs)


def test_odd_entries_of_a_tree_are_left_out(tmp_path: Path) -> None:
    lib = tmp_path / "lib"
    commit(lib, a="a")
    blob = git(lib, "rev-parse", "HEAD:a.md")
    listing = f"100644 blob {blob}\ta.md\n160000 commit {git(lib, 'rev-parse', 'HEAD')}\tsub\n".encode()
    tree = git(lib, "mktree", "--missing", stdin=listing)
    outside = git(lib, "mktree", stdin=f"040000 tree {tree}\t..\n".encode())
    entries = (
        f"040000 tree {tree}\tdocs",
        f"040000 tree {outside}\tx",
        f"100644 blob {blob}\tline\nbreak.md",
    )
    whole = git(lib, "mktree", "--missing", "-z", stdin="\0".join((*entries, "")).encode())
    git(lib, "update-ref", "refs/tags/odd", git(lib, "commit-tree", whole, "-m", "odd"))
    root = root_of(lib, "odd")
    assert set(walked(root)) == {"docs/a.md", "line\nbreak.md"}
    assert read_file(root, "line\nbreak.md", ReadLimits()).data == b"a"
    assert tree_at(root).submodules == 2


def test_git_runs_nothing_that_a_repository_names(tmp_path: Path) -> None:
    lib, trace = tmp_path / "lib", tmp_path / "ran"
    commit(lib, a="replaced", b="b")
    old = git(lib, "rev-parse", "HEAD:a.md")
    commit(lib, a="true", tag="v1")
    new = git(lib, "rev-parse", "HEAD:a.md")
    git(lib, "replace", new, old)
    (lib / ".gitattributes").write_text("* filter=evil diff=evil text eol=crlf\n")
    script = tmp_path / "evil"
    script.write_text(f"#!/bin/sh\ntouch {trace}\ncat\n")
    script.chmod(0o755)
    for key in (
        "core.fsmonitor",
        "core.pager",
        "filter.evil.smudge",
        "diff.evil.textconv",
        "core.sshCommand",
    ):
        git(lib, "config", key, str(script))
    git(lib, "config", "core.hooksPath", str(tmp_path))
    root = root_of(lib, "v1")
    assert walked(root) == {"a.md": False, "b.md": False}
    assert read_file(root, "a.md", ReadLimits()).data == b"true", "no replaced object, no filter"
    assert not trace.exists()


def test_a_partial_clone_reports_what_it_lacks_and_fetches_nothing(tmp_path: Path) -> None:
    lib, clone = tmp_path / "lib", tmp_path / "clone"
    commit(lib, a="old", b="same", tag="v1")
    commit(lib, a="new", tag="v2")
    git(lib, "config", "uploadpack.allowFilter", "true")
    git(tmp_path, "clone", "-q", "--filter=blob:none", f"file://{lib}", str(clone))
    git(clone, "config", "protocol.file.allow", "always")
    before = everything_below(clone / ".git")
    root = root_of(clone, "v1")
    with tree_at(root).reading():
        assert read_file(root, "b.md", ReadLimits()).data == b"same", "the clone has it"
        with pytest.raises(UnreadableFileError, match="lacks the file"):
            read_file(root, "a.md", ReadLimits())
        assert read_file(root, "b.md", ReadLimits()).data == b"same"
    with pytest.raises(UnreadableFileError, match="lacks the file"):
        read_file(root, "a.md", ReadLimits())
    assert everything_below(clone / ".git") == before


def test_a_repository_of_another_user_is_refused_unless_the_user_trusts_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lib, home = tmp_path / "lib", tmp_path / "home"
    commit(lib, a="a", tag="v1")
    home.mkdir()
    really = git_tree._environment
    monkeypatch.setattr(
        git_tree,
        "_environment",
        lambda: really() | {"GIT_TEST_ASSUME_DIFFERENT_OWNER": "1", "HOME": str(home)},
    )
    git_tree._safe.cache_clear()
    try:
        with pytest.raises(SourceError, match="another user") as refused:
            Repository.of(str(lib))
        assert "safe.directory" in refused.value.hint
        (home / ".gitconfig").write_text(f"[safe]\n\tdirectory = {lib}\n")
        git_tree._safe.cache_clear()
        assert Repository.of(str(lib)).git_dir == os.path.join(lib, ".git")
    finally:
        git_tree._safe.cache_clear()


def test_what_is_wrong_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SourceError, match="not in a git repository"):
        Repository.of(str(tmp_path))
    lib = tmp_path / "lib"
    commit(lib, a="a", tag="v1")
    commit(lib, docs__b="b", tag="v2")
    docs = Repository.of(str(lib / "docs"))
    assert docs.prefix == "docs/"
    assert walked(root_of(lib / "docs", "v2")) == {"b.md": False}
    with pytest.raises(SourceError, match="v1 has no folder docs"):
        walked(root_of(lib / "docs", "v1"))
    monkeypatch.setattr(git_tree, "_program", git_tree._program.__wrapped__)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SourceError, match="git is not installed"):
        Repository.of(str(lib))


def test_a_git_that_does_not_answer_is_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = tmp_path / "git"
    script.write_text("#!/bin/sh\nexec sleep 600\n")
    script.chmod(0o755)
    monkeypatch.setattr(git_tree, "_program", lambda: str(script))
    monkeypatch.setattr(git_tree, "_safe", tuple)
    began: list[subprocess.Popen[bytes]] = []
    really = git_tree._start

    def start(place: str, arguments: tuple[str, ...]) -> subprocess.Popen[bytes]:
        began.append(really(place, arguments))
        return began[-1]

    monkeypatch.setattr(git_tree, "_start", start)
    with pytest.raises(SourceError, match="does not answer"):
        git_tree._run(str(tmp_path), "rev-parse", seconds=0.2)
    assert [process.poll() is not None for process in began] == [True]


def test_an_answer_without_end_is_cut_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    commit(tmp_path / "lib", a="a", tag="v1")
    repository = Repository.of(str(tmp_path / "lib"))
    monkeypatch.setattr(git_tree, "_MOST_BYTES", 10)
    with pytest.raises(SourceError, match="answers more than"):
        repository.refs()
