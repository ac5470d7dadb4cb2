"""The SQL condition of a glob passes exactly the paths that its regular expression matches."""

from __future__ import annotations

import re
import sqlite3
import sys
import unicodedata
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kebab_tui.domain.text import display_path, glob_problem, glob_regex
from kebab_tui.storage.sqlite import path_globs, step_0010
from kebab_tui.storage.sqlite.connection import _register_functions

PATHS = (
    "a.md", "A.MD", "ops/a.md", "Ops/Run_Books/b%.md", "ops/runbooks", "ops/runbooksx/c.md",
    "ops-2/a.md", "ops/a_b/50%/[x].md", "ops/ab/50/x.md", "노트/김치.md", "노트/요리/찌개.md",
    "Straße/ÄÖ.md", "straße/äö.md", "ſtory/k.md", "Izmir/İstanbul/ıstakoz.md", "ΣΊΣΥΦΟΣ/ς.md",
    "привет/МИР.txt", "ﬅ/ﬆ.md", "µ/μ.md", "a\\b/c.md", "deep/er/and/deeper/x.md", "line\nbreak/x.md",
    "ẞ.md", "Å/å.md", "emoji🎉/x.md", "'quoted'/\"x\".md",
)  # fmt: skip
GLOBS = (
    "", "/", "ops", "OPS/", "ops/runbooks", "./ops/a.md", "*", "**", "*.md", "**/*.md", "ops/**",
    "ops/*", "OPS/?.MD", "ops/**/b*.md", "**/runbooks", "a_b", "50%", "**/50%/*", "ops/a_b", "[!o]*/*",
    "**/[x].md", "**/[[]x].md", "straße", "STRASSE", "straße/äö.md", "story", "s*ry/**", "k",
    "istanbul", "I", "ıstakoz", "σίσυφος/*", "ПРИВЕТ", "привет/*.TXT", "ﬅ/*", "μ", "노트", "노트/**",
    "노트/*/*", "a\\b", "a\\b/*", "deep/**/x.md", "**/deeper/**", "*/*", "??.md", "line\nbreak/*",
    "a\0", "a**d", "**ops**", "ß", "å", "Å", unicodedata.normalize("NFD", "노트"),
    unicodedata.normalize("NFD", "ä"), "🎉", '"x"',
)  # fmt: skip
LETTERS = "aAsSiIkK.md/_%\\ıſİ노é É" + "σΣς"


@pytest.fixture(scope="module")
def connection() -> Iterator[sqlite3.Connection]:
    made = sqlite3.connect(":memory:")
    _register_functions(made)
    made.execute("CREATE TABLE documents(doc_id TEXT PRIMARY KEY, path TEXT, mtime_ns INTEGER)")
    for statement in step_0010.TABLES.split(";\n"):
        if "INDEX" in statement:
            made.execute(statement)
    yield made
    made.close()


def passing(connection: sqlite3.Connection, pattern: str, paths: tuple[str, ...]) -> list[str]:
    where, values = path_globs.condition(pattern)
    connection.execute("DELETE FROM documents")
    connection.executemany(
        "INSERT INTO documents VALUES (?, ?, 0)", [(str(n), p) for n, p in enumerate(paths)]
    )
    found = connection.execute(f"SELECT path FROM documents d WHERE {where} ORDER BY doc_id + 0", values)
    return [path for (path,) in found]


def matching(pattern: str, paths: tuple[str, ...]) -> list[str]:
    return [path for path in paths if re.fullmatch(glob_regex(pattern), path)]


@pytest.mark.parametrize("pattern", GLOBS)
def test_the_same_notes_pass(connection: sqlite3.Connection, pattern: str) -> None:
    paths = tuple(map(display_path, PATHS))
    assert passing(connection, pattern, paths) == matching(pattern, paths)


@given(
    st.lists(st.sampled_from([*LETTERS, "*", "**", "**/", "?", "[a]", "[!s]", "/"]), max_size=8).map("".join),
    st.lists(
        st.text(LETTERS, min_size=1, max_size=10).map(display_path), min_size=1, max_size=6, unique=True
    ),
)
def test_the_same_random_notes_pass(connection: sqlite3.Connection, pattern: str, paths: list[str]) -> None:
    if glob_problem(pattern) is None:
        assert passing(connection, pattern, tuple(paths)) == matching(pattern, tuple(paths))


def test_no_letter_but_the_odd_ones_folds_to_an_ascii_letter(connection: sqlite3.Connection) -> None:
    """And each other letter that folds to another one is left to the regular expression."""
    for code in range(0x80, sys.maxunicode + 1):
        letter = chr(code)
        if not 0xD800 <= code < 0xE000:
            folds = any(re.fullmatch(one, letter, re.IGNORECASE) for one in "iks")
            assert folds == (letter in "\u0130\u0131\u017f\u212a"), hex(code)
    others = {c for n in range(0x80, 0x20000) if (c := chr(n)) not in "\u0130\u0131\u017f\u212a"}
    pattern = re.compile("[a-z]", re.IGNORECASE)
    assert not any(pattern.fullmatch(one) for one in others)


def test_plain_globs_call_no_python_and_use_the_index(connection: sqlite3.Connection) -> None:
    for pattern in ("ops", "ops/runbooks", "*.md", "docs/**", "노트/**", "**/*.md", "a/*/c?.txt"):
        where, _ = path_globs.condition(pattern)
        called = where.count("kebab_glob")
        assert called == where.count(path_globs.ODD), pattern
    where, values = path_globs.condition("ops/runbooks")
    plan = connection.execute(f"EXPLAIN QUERY PLAN SELECT doc_id FROM documents d WHERE {where}", values)
    steps = [step for *_, step in plan]
    assert any("documents_by_path" in step and "path>" in step for step in steps), steps
    assert any("COVERING INDEX documents_by_odd_path" in step for step in steps), steps
