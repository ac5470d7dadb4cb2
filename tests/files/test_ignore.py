"""Ignore files: patterns match as in git, which the tests run to compare; later and nearer rules win."""

from __future__ import annotations

import os
import random
import re
import shutil
import subprocess
import time
from itertools import count
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kebab_tui.domain.checkpoint import Checkpoint, ReadingStopped
from kebab_tui.domain.errors import UsageError
from kebab_tui.files.ignore import FolderRules, Matcher, parse_pattern, rules_of_file, scope_of_root
from tests.effort import cpu_seconds

TREE = (
    "a", "b", "e", "z", "0", "A", "foo.md", "bar.md", "a.md", "9.md", "Foo.MD", "build/x", "build/a.md",
    "foo/a.md", "foo/a", "foo/bar/x", "foo/bar/a.md", "bar/bar", "bar/foo/x", "sub/foo/bar",
    "sub/foo/deep/x", "sub/a.md", "sub/deep/foo/bar.md", "sub/deep/build/x", "sub/build", "x y.md",
    "#note", "!note", "-dash", "a]b", "a[b", "a^b", "a-b", "axb", "a\\b", "foo*", "foo?", "한글.md",
    "초안/메모.md", "tab\tname", "trail ", "a\nb", "deep/b/c/d/e", "deep/e", "deep/b/foo/e", "...x", "a..b",
    "f**", "fo-o",
)  # fmt: skip

FILES = {
    "everything but markdown": ["*", "!*/", "!*.md"],
    "inside but not itself": ["foo/**", "!foo/bar"],
    "only one child": ["foo/*", "!foo/bar"],
    "anchored": ["/foo", "/a.md", "sub/foo"],
    "folders only": ["build/", "foo/", "sub/deep/build/"],
    "any depth": ["**/foo", "**/bar/", "deep/**/e", "sub/**/foo", "**/deep/**"],
    "comments": ["#note", "\\#note", "!note", "\\!note"],
    "escapes": ["a\\\\b", "foo\\*", "foo\\?", "trail\\ ", "x y.md   "],
    "brackets": ["[ab]", "[!a-z].md", "a[]]b", "a[[]b", "a[\\^]b", "[z-a]", "a[!x]b", "[^a]"],
    "classes": ["[[:digit:]]*", "[[:upper:]]*", "a[[:punct:]]b", "[[:alpha:]-]dash"],
    "not patterns": ["[", "a[", "foo\\", "/", "//", "", "   ", "[a"],
    "order": ["*.md", "!a.md", "a.md", "!foo.md"],
    "stars": ["***", "!**"],
    "two stars in a name": ["f**", "!fo**o"],
    "korean": ["초안/", "한*.md", "!한글.md"],
    "windows": ["foo\r", "*.md\r"],
    "question": ["?", "???", "a?b", "?/b/c/d/*"],
}


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("repository")
    for path in TREE:
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).touch()
    git(folder, "init", "-q")
    return folder


def git(folder: Path, *words: str) -> str:
    environment = {
        **os.environ,
        "HOME": str(folder),
        "XDG_CONFIG_HOME": str(folder),
        "GIT_CONFIG_NOSYSTEM": "1",
    }
    answer = subprocess.run(["git", *words], cwd=folder, env=environment, capture_output=True, check=True)
    return answer.stdout.decode()


def seen_by_git(folder: Path, lines: list[str]) -> set[str]:
    (folder / ".gitignore").write_bytes("\n".join(lines).encode() + b"\n")
    return set(git(folder, "ls-files", "-z", "--others", "--exclude-standard").split("\0")) & set(TREE)


def seen_by_us(lines: list[str]) -> set[str]:
    matcher = Matcher("", rules_of_file(".gitignore", "\n".join(lines).encode()))

    def ignored(name: str, path: str) -> bool:
        rule = matcher.match(name, path)
        return rule is not None and not rule.pattern.negated

    def seen(path: str) -> bool:
        *folders, name = path.split("/")
        above = ["/".join(folders[: depth + 1]) + "/" for depth in range(len(folders))]
        return not ignored(name, path) and not any(map(ignored, (folder + "/" for folder in folders), above))

    return set(filter(seen, TREE))


needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="needs git to compare with")


@pytest.mark.program
@needs_git
@pytest.mark.parametrize("name", FILES)
def test_an_ignore_file_matches_as_in_git(name: str, repository: Path) -> None:
    assert seen_by_us(FILES[name]) == seen_by_git(repository, FILES[name])


BITS = [
    "a",
    "b",
    "e",
    "foo",
    "bar",
    "sub",
    "deep",
    "build",
    "*",
    "?",
    "[ab]",
    "[!a]",
    ".md",
    "한글",
    "f*",
    "*o",
]


def random_segment(dice: random.Random) -> str:
    """A name, or `**`; without two stars inside a name, which git treats inconsistently."""
    segment = dice.choice(("**", "".join(dice.choices(BITS, k=dice.choice((1, 1, 2))))))
    return segment if segment == "**" else segment.replace("**", "*")


def random_line(dice: random.Random) -> str:
    body = "/".join(random_segment(dice) for _ in range(dice.choice((1, 1, 2, 3))))
    return dice.choice(("", "", "!")) + dice.choice(("", "", "/")) + body + dice.choice(("", "", "/"))


@pytest.mark.program
@needs_git
def test_random_ignore_files_match_as_in_git(repository: Path) -> None:
    dice = random.Random(20260101)
    for _ in range(100):
        lines = [random_line(dice) for _ in range(dice.randint(1, 6))]
        ours, gits = seen_by_us(lines), seen_by_git(repository, lines)
        assert set(filter(str.isascii, ours)) == set(filter(str.isascii, gits)), lines


def test_a_question_mark_is_one_character_where_git_counts_bytes() -> None:
    pattern = parse_pattern("??.md")
    assert pattern is not None
    assert re.fullmatch(pattern.regex, "한글.md")


@given(st.text(alphabet="ab*?[]!^-\\/.:#{}()|+$ 가\u0301\n", max_size=40))
def test_every_line_makes_a_valid_expression(line: str) -> None:
    pattern = parse_pattern(line)
    if pattern is not None:
        re.compile(pattern.regex)


@pytest.mark.parametrize("glob", ["*a" * 40 + "b", "**/a/" * 30 + "b", "*[ab]*" * 30, "?*" * 60 + "b"])
def test_no_pattern_can_block_the_walk(glob: str) -> None:
    matcher = Matcher("", rules_of_file(".gitignore", glob.encode()))
    assert cpu_seconds(lambda: matcher.match("a" * 250, "a/" * 500 + "a")) < 2


def test_a_pattern_matches_a_decomposed_name() -> None:
    decomposed, composed = "\u1112\u1161\u11ab.md", "한.md"
    pattern = parse_pattern(decomposed)
    assert pattern is not None
    assert re.fullmatch(pattern.regex, composed)


def scope_with(
    *files: tuple[str, str], include: tuple[str, ...] = (), exclude: tuple[str, ...] = ()
) -> FolderRules:
    """The scope after entering the folders of these ignore files, given as path and text."""
    scope = scope_of_root(include, exclude)
    for path, text in files:
        folder = path[: path.rfind("/") + 1]
        scope = scope.with_rules(folder, rules_of_file(path, text.encode()))
    return scope


def test_a_rule_names_its_file_and_line() -> None:
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


def test_an_include_matches_only_its_names_and_everything_below() -> None:
    scope = scope_of_root(("docs/", "*.txt", "!docs/old/"), ())
    assert scope.leaves_out("a.md", "a.md")
    assert not scope.leaves_out("a.txt", "a.txt")
    docs = scope.below("docs/", "docs/")
    assert not docs.leaves_out("a.md", "docs/a.md")
    assert docs.below("old/", "docs/old/").leaves_out("a.md", "docs/old/a.md")


def test_an_include_does_not_restore_ignored_files() -> None:
    assert scope_with((".gitignore", "*.md"), include=("a.md",)).leaves_out("a.md", "a.md")


@pytest.mark.parametrize("glob", ["[abc", "", "# note", "broken\\"])
def test_a_pattern_of_a_source_that_can_match_nothing_is_an_error(glob: str) -> None:
    with pytest.raises(UsageError, match="invalid pattern"):
        scope_of_root((), (glob,))


def test_an_ignore_file_may_hold_a_mark_windows_line_ends_and_odd_bytes() -> None:
    rules = rules_of_file(".gitignore", b"\xef\xbb\xbffirst.md\r\n\xff.md\r\n")
    assert [rule.text for rule in rules] == ["first.md", "\udcff.md"]


def test_many_rules_cost_linear_time() -> None:
    """Four times the rules take far less than sixteen times as long."""
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


def test_reading_rules_can_be_stopped_between_lines() -> None:
    asked = count()
    lines = b"[a-z]?\n" * 1000
    assert len(rules_of_file("x", lines, Checkpoint(stopping=lambda: next(asked) < 0))) == 1000
    assert next(asked) >= 1000 // 32
    with pytest.raises(ReadingStopped):
        rules_of_file("x", lines, Checkpoint(stopping=lambda: True))


def test_matching_can_be_stopped_between_compiled_patterns() -> None:
    """Matching the first name compiles a huge ignore file, which takes seconds."""
    asked = count()
    rules = rules_of_file("x", "".join(f"[{n}]?\n" for n in range(500)).encode())
    stopping = Checkpoint(stopping=lambda: next(asked) >= 100)
    for _ in range(2):  # also when it was stopped before
        with pytest.raises(ReadingStopped):
            scope_of_root((), (), stopping).with_rules("", rules).rule_against("a.md", "a.md")
    assert next(asked) <= 103


def test_matching_can_be_stopped_before_each_name() -> None:
    scope = scope_of_root((), ("a.md",), Checkpoint(stopping=lambda: True))
    with pytest.raises(ReadingStopped):
        scope.leaves_out("b.md", "b.md")
