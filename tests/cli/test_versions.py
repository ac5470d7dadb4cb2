"""`kebab source version`, and searching a version from the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.command_line import Kebab
from tests.repositories import commit, git, needs_git
from tests.wire.test_schemas import check

pytestmark = needs_git


@pytest.fixture
def library(kebab: Kebab, tmp_path: Path) -> Path:
    """Notes with two tags, indexed."""
    folder = tmp_path / "lib"
    commit(folder, tag="v1", a="# A\n\nold kettle\n", b="# B\n\nsame words\n")
    commit(folder, tag="v2", a="# A\n\nnew teapot\n")
    kebab("ingest", str(folder))
    return folder


def test_versions_are_added_listed_refreshed_and_removed(kebab: Kebab, library: Path) -> None:
    added = kebab("source", "version", "add", "lib", "--glob", "v*", "--last", "2")
    assert (added.code, [line.partition(" ")[0] for line in added.lines]) == (0, ["lib@v1", "lib@v2"])
    assert "2 notes, 2 passages; 1 read, 1 as in other versions" in added.lines[1]
    assert "kebab index --embed" in added.err
    (one, two) = (line.split("\t") for line in kebab("source", "version", "list", "lib").lines)
    assert (one[:2], one[3:5], two[0]) == (["lib@v1", "ok"], ["2", "2"], "lib@v2")
    listed = kebab("source", "version", "list", "--json").json
    check(listed, "version_list.v1")
    assert [(item["label"], item["ref"], item["state"]) for item in listed["items"]] == [
        ("v1", "refs/tags/v1", "ok"),
        ("v2", "refs/tags/v2", "ok"),
    ]
    (source,) = kebab("source", "list", "--json").json["items"]
    assert source["versions"] == ["v1", "v2"]
    assert kebab("source", "list").lines[0].endswith("\tv1 v2")
    assert "Available Versions: v1, v2" in kebab("source", "search", "lib", "--format", "txt").out
    git(library, "tag", "-f", "v1", "v2")
    assert "v1 moved: " in kebab("source", "version", "list", "lib").out
    refreshed = kebab("source", "version", "refresh", "lib")
    assert refreshed.lines[0].startswith("v1 moved: ")
    assert refreshed.lines[2].endswith("; unchanged")
    assert kebab("source", "version", "remove", "lib", "v1").code == 2, "nobody to confirm"
    removed = kebab("source", "version", "remove", "lib", "v1", "--yes")
    assert (removed.code, kebab("source", "version", "list").lines[0][:6]) == (0, "lib@v2")


def test_a_version_is_searched_listed_found_and_opened(kebab: Kebab, library: Path) -> None:
    kebab("source", "version", "add", "lib", "v1")
    for option in (("--version", "v1"), ("--in-version", "v1")):
        answer = kebab("search", "kettle", "--json", "--mode", "lexical", *option).json
        check(answer, "search_response.v1")
        (hit,) = answer["hits"]
        assert (hit["source_id"], hit["version"], hit["doc_path"]) == ("lib", "v1", "a.md")
        assert (hit["citation"]["text"], hit["citation"]["version"]) == ("v1:a.md:L1-L3", "v1")
    assert kebab("search", "kettle", "--mode", "lexical").code == 1
    assert kebab("list", "--version", "v1").lines[0].startswith("a.md\tok")
    assert kebab("find", "a", "--version", "v1", "-n", "1").out == "v1:a.md\n"
    inspected = kebab("inspect", "v1:a.md:L3", "--json").json
    check(inspected, "inspection.v1")
    assert inspected["version"] == "v1"
    assert inspected["chunks"][0]["citation"]["text"] == "v1:a.md:L1-L3"
    opened = kebab("open", "v1:a.md:L3", "--print", KEBAB_EDITOR="/bin/cat")
    copy = Path(opened.out.split()[-1])
    assert (copy.read_text(), opened.err) == ("# A\n\nold kettle\n", "read-only: v1:a.md:L3 of v1\n")
    context = kebab("search", "kettle", "--version", "v1", "--format", "context", "--mode", "lexical").out
    assert "v1:a.md:L1-L3" in context
    assert "v1:a.md#L1-L3" not in kebab("search", "kettle", "--version", "v1", "--format", "markdown").out


ERRORS = {
    ("add", "lib"): "no version is named",
    ("add", "lib", "v9"): "no tag, branch or commit 'v9'",
    ("add", "other", "v1"): "there is no source named 'other'",
    ("add", "lib", "v1", "--last", "2"): "--last needs --glob",
    ("add", "lib", "--folder", "/tmp"): "--folder and --label belong together",
    ("add", "lib", "v1", "--folder", "/tmp", "--label", "x"): "--folder excludes names of git",
    ("add", "lib", "--folder", "/none", "--label", "x"): "folder not found: /none",
    ("remove", "lib", "v9", "--yes"): "lib has no version 'v9'",
    ("refresh", "lib", "v9"): "lib has no version 'v9'",
    ("list", "other"): "there is no source named 'other'",
}


@pytest.mark.parametrize("argv", ERRORS, ids=" ".join)
def test_an_error_says_what_to_do(kebab: Kebab, library: Path, argv: tuple[str, ...]) -> None:
    done = kebab("source", "version", *argv)
    assert done.code == 2
    assert ERRORS[argv] in done.err
    assert "hint:" in done.err


def test_an_unknown_version_is_an_error(kebab: Kebab, library: Path) -> None:
    kebab("source", "version", "add", "lib", "v1")
    done = kebab("search", "kettle", "--version", "v3", "--json")
    assert done.code == 2
    assert json.loads(done.err)["hint"] == "the versions are: v1"
