"""Whose word counts: nearer folders, later files, later lines, and the source above all."""

from __future__ import annotations

import random
import time
from itertools import count

import pytest

from kebab_tui.domain.checkpoint import Checkpoint, ReadingStopped
from kebab_tui.domain.errors import UsageError
from kebab_tui.files.ignore import Matcher, Scope, rules_of_file, scope_of_root


def scope_with(
    *files: tuple[str, str], include: tuple[str, ...] = (), exclude: tuple[str, ...] = ()
) -> Scope:
    """The scope after entering the folders of these ignore files, given as path and text."""
    scope = scope_of_root(include, exclude)
    for path, text in files:
        folder = path[: path.rfind("/") + 1]
        scope = scope.with_rules(folder, rules_of_file(path, text.encode()))
    return scope


def test_a_rule_says_in_which_line_of_which_file_it_stands() -> None:
    scope = scope_with(("docs/.gitignore", "# mine\n\n*.tmp.md\n"))
    assert str(scope.rule_against("a.tmp.md", "docs/a.tmp.md")) == "docs/.gitignore:3: *.tmp.md"


def test_a_later_line_wins_over_an_earlier_one() -> None:
    scope = scope_with((".gitignore", "*.md\n!keep.md\n"))
    assert scope.rule_against("a.md", "a.md")
    assert not scope.rule_against("keep.md", "keep.md")


def test_a_later_line_wins_also_when_one_is_about_names_and_one_about_paths() -> None:
    assert not scope_with((".gitignore", "keep.md\n!/docs/keep.md")).rule_against("keep.md", "docs/keep.md")
    assert scope_with((".gitignore", "!/docs/keep.md\nkeep.md")).rule_against("keep.md", "docs/keep.md")


def test_a_nearer_folder_wins_over_its_parents() -> None:
    scope = scope_with((".gitignore", "*.md"), ("docs/.gitignore", "!*.md"))
    assert not scope.rule_against("a.md", "docs/a.md")


def test_a_slash_anchors_a_pattern_to_the_folder_of_its_file() -> None:
    scope = scope_with(("docs/.gitignore", "/a.md"))
    assert scope.rule_against("a.md", "docs/a.md")
    assert not scope.rule_against("a.md", "docs/sub/a.md")


def test_the_anchor_holds_in_a_folder_with_a_decomposed_name() -> None:
    folder = "\u1112\u1161\u11ab/"
    scope = scope_with((folder + ".gitignore", "/a.md"))
    assert scope.rule_against("a.md", folder + "a.md")


def test_the_exclude_of_a_source_wins_over_every_ignore_file() -> None:
    scope = scope_with((".kebabignore", "!secret.md\nbuild"), exclude=("secret.md", "!build"))
    assert scope.rule_against("secret.md", "secret.md")
    assert not scope.rule_against("build/", "build/")


def test_an_include_takes_only_what_it_names_and_what_lies_below() -> None:
    scope = scope_of_root(("docs/", "*.txt", "!docs/old/"), ())
    assert scope.leaves_out("a.md", "a.md")
    assert not scope.leaves_out("a.txt", "a.txt")
    docs = scope.below("docs/", "docs/")
    assert not docs.leaves_out("a.md", "docs/a.md")
    assert docs.below("old/", "docs/old/").leaves_out("a.md", "docs/old/a.md")


def test_an_include_does_not_take_back_what_is_ignored() -> None:
    assert scope_with((".gitignore", "*.md"), include=("a.md",)).leaves_out("a.md", "a.md")


@pytest.mark.parametrize("glob", ["[abc", "", "# note", "broken\\"])
def test_a_pattern_of_a_source_that_can_match_nothing_is_an_error(glob: str) -> None:
    with pytest.raises(UsageError, match="invalid pattern"):
        scope_of_root((), (glob,))


def test_an_ignore_file_may_hold_a_mark_windows_line_ends_and_odd_bytes() -> None:
    rules = rules_of_file(".gitignore", b"\xef\xbb\xbffirst.md\r\n\xff.md\r\n")
    assert [rule.text for rule in rules] == ["first.md", "\udcff.md"]


def test_many_rules_cost_linear_time() -> None:
    """Four times the rules, of both kinds, in far less than the sixteen times of quadratic time."""
    pick = random.Random(1)
    names = ["".join(pick.choices("abcdefghij", k=8)) + ".md" for _ in range(200)]
    ends = ("x", "*k", "?y", "[a-c]*", "*/z")
    patterns = [f"{names[n % 200][:5]}{pick.choice(ends)}{n}" for n in range(6000)]

    def cost(count: int) -> float:
        found = []
        for _ in range(3):
            begin = time.process_time()
            matcher = Matcher("", rules_of_file("x", "\n".join(patterns[:count]).encode()))
            for name in names:
                matcher.match(name, name)
            found.append(time.process_time() - begin)
        return min(found)

    assert cost(6000) < 10 * cost(1500)


def test_a_line_that_is_longer_than_any_path_is_no_pattern() -> None:
    assert rules_of_file("x", b"a" * 4097) == []
    assert len(rules_of_file("x", b"a" * 4096)) == 1


def test_a_stop_is_heeded_between_the_lines_that_are_read() -> None:
    asked = count()
    lines = b"[a-z]?\n" * 1000
    assert len(rules_of_file("x", lines, Checkpoint(stopping=lambda: next(asked) < 0))) == 1000
    assert next(asked) >= 1000 // 32
    with pytest.raises(ReadingStopped):
        rules_of_file("x", lines, Checkpoint(stopping=lambda: True))


def test_a_stop_is_heeded_between_the_patterns_that_are_compiled_for_one_name() -> None:
    """The first name that is matched has a huge file of rules compiled: seconds of work."""
    asked = count()
    rules = rules_of_file("x", "".join(f"[{n}]?\n" for n in range(500)).encode())
    stopping = Checkpoint(stopping=lambda: next(asked) >= 100)
    for _ in range(2):  # also when it was stopped before
        with pytest.raises(ReadingStopped):
            scope_of_root((), (), stopping).with_rules("", rules).rule_against("a.md", "a.md")
    assert next(asked) <= 103


def test_a_stop_is_heeded_before_each_name_that_is_matched() -> None:
    scope = scope_of_root((), ("a.md",), Checkpoint(stopping=lambda: True))
    with pytest.raises(ReadingStopped):
        scope.leaves_out("b.md", "b.md")
