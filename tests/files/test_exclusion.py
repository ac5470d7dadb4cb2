"""Reasons for excluded paths name the rule and agree with the walk."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from kebab_tui.files.exclusion import is_editor_file
from kebab_tui.files.walk import WalkRules, explain_ignored, walk
from kebab_tui.formats.registry import format_of

RULES = WalkRules(include=("*.md", "*.txt", "!todo.md"), exclude=("private/", "!revived.md"))


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("a.md", None),
        ("sub/draft.md", None),
        ("revived.md", None),
        ("sub/한글.md", None),
        ("draft.md", "ignored by .gitignore:3: draft.md"),
        ("build/c.md", "its folder build is ignored by .gitignore:2: build/"),
        ("sub/only.md", "ignored by sub/.kebabignore:1: /only.md"),
        ("private/d.md", "its folder private is ignored by exclude: private/"),
        ("todo.md", "not matched by any include pattern"),
        ("x.mkd", "not matched by any include pattern"),
        (".hidden.md", "hidden: .hidden.md starts with a dot"),
        (".obsidian/e.md", "hidden: .obsidian starts with a dot"),
        ("picture.png", "unsupported file type"),
        ("a.md~", "temporary file of an editor"),
        ("gone.md", "gone.md does not exist"),
        ("a.md/x.md", "a.md is not a folder"),
        ("sub", "sub is not a regular file"),
        ("pipe.md", "pipe.md is not a regular file"),
        ("away.md", "away.md is a symbolic link to a place outside the folder; links are not followed"),
        ("twin.md", "twin.md is a symbolic link to a place inside the folder; links are not followed"),
        ("link/draft.md", "link is a symbolic link to a place inside the folder; links are not followed"),
        ("../outside.md", "outside the folder"),
        ("/etc/passwd", "outside the folder"),
        ("sub/../../outside.md", "outside the folder"),
        ("nul\0.md", "outside the folder"),
    ],
)
def test_the_reason_names_the_rule(vault: Path, path: str, reason: str | None) -> None:
    assert explain_ignored(str(vault), path, RULES) == reason


def test_a_path_has_no_reason_exactly_when_the_walk_finds_it(vault: Path) -> None:
    walked = {step.path for step in walk(str(vault), RULES)}
    everything = {
        os.path.relpath(os.path.join(folder, name), vault)
        for folder, _, names in os.walk(vault)
        for name in names
    }
    unexplained = {path for path in everything if explain_ignored(str(vault), path, RULES) is None}
    assert unexplained == walked


@pytest.mark.parametrize(
    "name", ["note.md~", ".note.md.swp", ".n.swo", "4913", "#note.md#", ".#note.md", "._note.md"]
)
def test_a_file_of_an_editor_is_never_a_note(name: str) -> None:
    assert is_editor_file(name)
    assert name.startswith(".") or format_of(name) is None


@pytest.mark.parametrize("name", ["note.md", "4913.md", "#note.md", "a~b.md", "C#.md"])
def test_other_names_are_no_editor_files(name: str) -> None:
    assert not is_editor_file(name)
