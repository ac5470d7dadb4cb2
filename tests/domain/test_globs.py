"""`path:` globs, compared with a second, slower implementation."""

from __future__ import annotations

import random
import re
import warnings
from functools import lru_cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kebab_tui.domain.text import glob_problem, glob_regex
from tests.effort import cpu_seconds


def _matches(pattern: str, path: str) -> bool:
    return re.fullmatch(glob_regex(pattern), path) is not None


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        ("notes/*.md", "notes/a.md"),
        ("notes/**", "notes/a/b.md"),
        ("**/b.md", "b.md"),
        ("**/b.md", "a/c/b.md"),
        ("a/**/b.md", "a/b.md"),
        ("**.md", "a/b.md"),
        ("?.md", "가.md"),
        ("[ab].md", "a.md"),
        ("[!a]b.md", "cb.md"),
        ("/notes/*", "notes/a.md"),
        ("./notes/*", "notes/a.md"),
        ("Notes/*.MD", "notes/a.md"),
        ("infra", "infra/dns/zones.md"),
        ("infra", "docs/Infrastructure.md"),
        ("ops/runbooks", "ops/runbooks/db.md"),
        ("ops/runbooks/", "ops/runbooks/db.md"),
        ("ops/db.md", "ops/db.md"),
        ("요리", "요리/김치.md"),
        ("a(b)+", "x/a(b)+.md"),
    ],
)
def test_a_pattern_matches(pattern: str, path: str) -> None:
    assert _matches(pattern, path)


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        ("notes/*.md", "notes/a/b.md"),
        ("*.md", "notes/a.md"),
        ("a/**/b.md", "ax/b.md"),
        ("?", "/"),
        ("[!a]b.md", "ab.md"),
        ("a[!b]c", "a/c"),
        ("ops/run", "ops/runbooks/db.md"),
        ("ops/runbooks", "old/ops/runbooks/db.md"),
    ],
)
def test_a_pattern_does_not_match(pattern: str, path: str) -> None:
    assert not _matches(pattern, path)


def _slow_match(pattern: str, path: str) -> bool:
    @lru_cache(None)
    def at(i: int, j: int) -> bool:
        if i == len(pattern):
            return j == len(path)
        if pattern.startswith("**/", i) and (i == 0 or pattern[i - 1] == "/"):
            folders = [k + 1 for k in range(j, len(path)) if path[k] == "/"]
            return any(at(i + 3, k) for k in (j, *folders))
        if pattern.startswith("**", i):
            return any(at(i + 2, k) for k in range(j, len(path) + 1))
        if pattern[i] == "*":
            end = path.find("/", j)
            return any(at(i + 1, k) for k in range(j, (len(path) if end < 0 else end) + 1))
        if j == len(path):
            return False
        return (pattern[i] == path[j] or (pattern[i] == "?" and path[j] != "/")) and at(i + 1, j + 1)

    return at(0, 0)


def test_eight_thousand_patterns_follow_the_rules() -> None:
    dice = random.Random(3)
    compared = 0
    for _ in range(8_000):
        made = "".join(dice.choice(["a", "b", "/", "*", "**", "**/", "?"]) for _ in range(dice.randint(1, 7)))
        pattern = re.sub(r"\*{3,}", "**", made).lstrip("/")
        path = "".join(dice.choice("aab/") for _ in range(dice.randint(1, 8)))
        if re.search(r"[*?]", pattern):
            compared += 1
            assert _matches(pattern, path) == _slow_match(pattern, path), (pattern, path)
    assert compared > 4_000


@pytest.mark.parametrize("pattern", ["a[b", "[z-a]", "../x", "x" * 500])
def test_a_bad_pattern_is_explained(pattern: str) -> None:
    assert glob_problem(pattern)


@given(st.text(st.sampled_from("ab[]!^-*?/\\&|~.{}(")), st.text(st.sampled_from("ab/-")))
def test_a_pattern_without_a_problem_never_fails(pattern: str, path: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        if glob_problem(pattern) is None:
            _matches(pattern, path)


@pytest.mark.parametrize("pattern", ["*a" * 30 + "b", "**/a/" * 30 + "b", "**a" * 30 + "b"])
def test_many_stars_do_not_take_for_ever(pattern: str) -> None:
    path = "a/" * 1_000 + "a" * 1_000
    assert cpu_seconds(lambda: _matches(pattern, path)) < 2
    assert not _matches(pattern, path)
