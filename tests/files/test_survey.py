"""The survey finds the same as the walk, and lists everything else with its reason."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from kebab_tui.domain.errors import SourceError
from kebab_tui.files.exclusion import LeftOut
from kebab_tui.files.ignore import IGNORE_FILES
from kebab_tui.files.walk import WalkProblem, WalkRules, explain_ignored, survey, walk

RULES = WalkRules(include=("*.md", "*.txt", "!todo.md"), exclude=("private/", "!revived.md"))


@pytest.mark.parametrize("rules", [RULES, WalkRules()])
def test_it_finds_what_the_walk_finds_in_the_same_order(vault: Path, rules: WalkRules) -> None:
    found = [entry for entry in survey(str(vault), rules) if not isinstance(entry, LeftOut)]
    assert found == list(walk(str(vault), rules))


@pytest.mark.parametrize("rules", [RULES, WalkRules()])
def test_everything_else_is_left_out_for_the_same_reason_as_a_single_path(
    vault: Path, rules: WalkRules
) -> None:
    left_out = [entry for entry in survey(str(vault), rules) if isinstance(entry, LeftOut)]
    for entry in left_out:
        inside = entry.path + ("x.md" if entry.path.endswith("/") else "")
        reason = explain_ignored(str(vault), inside, rules)
        assert reason is not None and str(entry.exclusion) in reason


def test_every_file_is_listed_once_alone_or_with_its_folder(vault: Path) -> None:
    named = [entry.path for entry in survey(str(vault), RULES)]
    assert len(named) == len(set(named))
    whole = tuple(path for path in named if path.endswith("/"))
    for folder, _, files in os.walk(vault):
        for file in files:
            path = os.path.relpath(os.path.join(folder, file), vault)
            assert (path in named) != (path.startswith(whole) or file in IGNORE_FILES), path


def test_a_rule_has_its_file_and_line(vault: Path) -> None:
    rules = {
        entry.path: entry.exclusion.rule for entry in survey(str(vault), RULES) if isinstance(entry, LeftOut)
    }
    assert {path: (rule.origin, rule.text) for path, rule in rules.items() if rule} == {
        "draft.md": (".gitignore:3", "draft.md"),
        "build/": (".gitignore:2", "build/"),
        "sub/only.md": ("sub/.kebabignore:1", "/only.md"),
        "private/": ("exclude", "private/"),
    }


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_folder_that_cannot_be_read_is_a_problem(vault: Path) -> None:
    (vault / "sub").chmod(0)
    problems = [entry for entry in survey(str(vault), RULES) if isinstance(entry, WalkProblem)]
    (vault / "sub").chmod(0o700)
    assert problems == [WalkProblem("sub", "permission denied")]


def test_a_missing_root_is_an_error_before_the_first_file(tmp_path: Path) -> None:
    with pytest.raises(SourceError):
        survey(str(tmp_path / "gone"), RULES)
