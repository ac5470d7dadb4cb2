"""A golden file is read as it is written, or refused with its line and key."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kebab_tui.domain.errors import UsageError
from kebab_tui.evaluation.golden import Expectation, golden_digest, read_golden
from tests.command_line import ROOT

GOOD = """\
- id: port
  query: 포트 충돌
  probes: korean-2
  expect:
    - note: infra/port.md
      heading: Ports > Conflicts
    - note: infra/other.md
      lines: [3, 9]
      relevance: 2
- id: 7
  query: "2024"
  lang: mixed
  expect: [{note: a.md}]
"""


def written(folder: Path, text: str) -> str:
    path = folder / "golden.yaml"
    path.write_text(text, encoding="utf-8")
    return str(path)


def test_everything_that_is_written_is_read(tmp_path: Path) -> None:
    port, number = read_golden(written(tmp_path, GOOD))
    assert (port.id, port.text, port.lang, port.probe) == ("port", "포트 충돌", "ko", "korean-2")
    assert port.expect == (
        Expectation("infra/port.md", 6, heading="Ports > Conflicts"),
        Expectation("infra/other.md", 8, lines=(3, 9), relevance=2),
    )
    assert (number.id, number.text, number.lang, number.probe) == ("7", "2024", "mixed", "")


def test_the_golden_queries_of_the_sample_vault_are_read() -> None:
    assert len(read_golden(str(ROOT / "fixtures/golden.yaml"))) > 40


def test_comments_do_not_make_another_set_but_expectations_do(tmp_path: Path) -> None:
    plain = golden_digest(read_golden(written(tmp_path, GOOD)))
    assert golden_digest(read_golden(written(tmp_path, "# hello\n" + GOOD))) == plain
    changed = GOOD.replace("relevance: 2", "relevance: 3")
    assert golden_digest(read_golden(written(tmp_path, changed))) != plain


WRONG = [
    ("qery: x\n", "query: 포트 충돌", 2, "unknown key qery", "did you mean query?"),
    ("headng: Ports", "heading: Ports", 6, "unknown key headng", "did you mean heading?"),
    ("colour: x\n", "probes: korean-2", 3, "unknown key colour", "known here: id"),
    ("lang: fr\n", "probes: korean-2", 3, "'fr'", "ko, en, mixed"),
    ("id: port", "id: 7", 10, "taken by line 1", ""),
    ("query:\n", 'query: "2024"\n', 11, "query: expected a string", ""),
    ("expect: []", "expect: [{note: a.md}]", 13, "expect: expected a non-empty list", ""),
    ("expect: a.md", "expect: [{note: a.md}]", 13, "expect: expected a non-empty list", ""),
    (
        "expect: [a.md]",
        "expect: [{note: a.md}]",
        13,
        "an expectation: expected `key: value`",
        "note, heading",
    ),
    ("expect: [{heading: x}]", "expect: [{note: a.md}]", 13, "missing key note", ""),
    ("expect: [{note: a.md, note: b.md}]", "expect: [{note: a.md}]", 13, "duplicate key note", ""),
    ("expect: [{note: [a]}]", "expect: [{note: a.md}]", 13, "note: expected a string", ""),
    ("expect: [{note: a.md, lines: [2, 1]}]", "expect: [{note: a.md}]", 13, "first and a last line", ""),
    ("expect: [{note: a.md, lines: [1]}]", "expect: [{note: a.md}]", 13, "first and a last line", ""),
    (
        "expect: [{note: a.md, lines: [0, 2]}]",
        "expect: [{note: a.md}]",
        13,
        "invalid lines: '0'; expected an integer",
        "",
    ),
    (
        "expect: [{note: a.md, relevance: high}]",
        "expect: [{note: a.md}]",
        13,
        "invalid relevance: 'high'",
        "",
    ),
    (
        "expect: [{note: a.md, lines: [1, 2], heading: x}]",
        "expect: [{note: a.md}]",
        13,
        "exclude each other",
        "",
    ),
]


@pytest.mark.parametrize(("wrong", "right", "line", "what", "hint"), WRONG)
def test_an_invalid_value_is_refused_with_its_line(
    tmp_path: Path, wrong: str, right: str, line: int, what: str, hint: str
) -> None:
    assert right in GOOD
    path = written(tmp_path, GOOD.replace(right, wrong.rstrip("\n") + ("\n" if right.endswith("\n") else "")))
    with pytest.raises(UsageError) as refused:
        read_golden(path)
    assert refused.value.message.startswith(f"{path}:{line}: ")
    assert what in refused.value.message
    assert hint in refused.value.hint


@pytest.mark.parametrize(
    ("text", "line", "what"),
    [
        ("", 0, "no queries"),
        ("# nothing\n", 0, "no queries"),
        ("queries: []\n", 1, "expected a non-empty list"),
        ("- id: a\n  query: x\n", 1, "missing key expect"),
        ("- just text\n", 1, "a query: expected `key: value`"),
        ("- id: [a\n  query: b", 2, "not YAML"),
        ("- id: a\n\tquery: b", 2, "not YAML"),
        ("- id: a\n- id: \x07", 2, "invalid character for YAML"),
        ("[" * 5_000, 1, "nested too deeply"),
        ("- id: *nobody\n", 1, "not YAML"),
    ],
)
def test_other_files_are_refused(tmp_path: Path, text: str, line: int, what: str) -> None:
    path = written(tmp_path, text)
    with pytest.raises(UsageError) as refused:
        read_golden(path)
    assert refused.value.message.startswith(f"{path}:{line}: " if line else f"{path}: ")
    assert what in refused.value.message


def test_a_file_that_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "latin.yaml").write_bytes(b"- id: a\n  query: \xe9\n")
    for name, what in [
        ("none.yaml", "No such file"),
        (".", "Is a directory"),
        ("latin.yaml", ":2: not UTF-8"),
    ]:
        with pytest.raises(UsageError, match=what):
            read_golden(str(tmp_path / name))


@given(st.text(alphabet="-: \n[]{}'\"idquerynotexpect&*!|>#,?a0가\t", max_size=60))
def test_any_text_is_read_or_refused(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    path = written(tmp_path_factory.getbasetemp(), text)
    try:
        queries = read_golden(path)
    except UsageError:
        return
    assert queries
