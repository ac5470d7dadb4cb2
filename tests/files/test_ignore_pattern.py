"""Ignore patterns mean what git means by them; git itself is asked."""

from __future__ import annotations

import os
import random
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kebab_tui.files.ignore import Matcher, parse_pattern, rules_of_file
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


needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="git is asked what it would do")


@pytest.mark.program
@needs_git
@pytest.mark.parametrize("name", FILES)
def test_an_ignore_file_means_what_git_says(name: str, repository: Path) -> None:
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
    """A name, or `**`; two stars within a name are left out, as git's own reading of them varies."""
    segment = dice.choice(("**", "".join(dice.choices(BITS, k=dice.choice((1, 1, 2))))))
    return segment if segment == "**" else segment.replace("**", "*")


def random_line(dice: random.Random) -> str:
    body = "/".join(random_segment(dice) for _ in range(dice.choice((1, 1, 2, 3))))
    return dice.choice(("", "", "!")) + dice.choice(("", "", "/")) + body + dice.choice(("", "", "/"))


@pytest.mark.program
@needs_git
def test_random_ignore_files_mean_what_git_says(repository: Path) -> None:
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
def test_no_line_makes_a_bad_expression(line: str) -> None:
    pattern = parse_pattern(line)
    if pattern is not None:
        re.compile(pattern.regex)


@pytest.mark.parametrize("glob", ["*a" * 40 + "b", "**/a/" * 30 + "b", "*[ab]*" * 30, "?*" * 60 + "b"])
def test_no_pattern_can_make_the_walk_hang(glob: str) -> None:
    matcher = Matcher("", rules_of_file(".gitignore", glob.encode()))
    assert cpu_seconds(lambda: matcher.match("a" * 250, "a/" * 500 + "a")) < 2


def test_a_pattern_fits_a_name_that_another_system_has_decomposed() -> None:
    decomposed, composed = "\u1112\u1161\u11ab.md", "한.md"
    pattern = parse_pattern(decomposed)
    assert pattern is not None
    assert re.fullmatch(pattern.regex, composed)
