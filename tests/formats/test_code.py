"""Source code: one passage for each function or small class, named by all that is around it."""

from __future__ import annotations

import ast
import random
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from kebab_tui.chunking import chunk
from kebab_tui.domain.document import Passage
from kebab_tui.domain.errors import UnsuitableFileError
from kebab_tui.formats import code, isolated
from kebab_tui.formats.code_languages import LANGUAGES, language_of_file
from tests.benchmarks.bench_code import KINDS, by_ctags
from tests.formats.sources import SOURCES

LONG = "    x = 'a line that is long enough to fill the passage of a function'\n"
DEEP = f"    {LONG}"


@pytest.fixture(autouse=True, scope="module")
def _ended() -> Iterator[None]:
    yield
    isolated.close()


def passages(name: str, text: str | bytes) -> tuple[Passage, ...]:
    data = text.encode() if isinstance(text, str) else text
    return chunk(code.parse(data, name))


def labels(name: str, text: str) -> list[str]:
    return [passage.heading_path for passage in passages(name, text)]


def check_every_line_once(text: str, found: tuple[Passage, ...]) -> None:
    """Each passage is exactly its lines, and each line with text is in one passage."""
    lines = text.split("\n")
    seen: list[int] = []
    for passage in found:
        assert passage.text == "\n".join(lines[passage.span.first - 1 : passage.span.last])
        assert passage.kind == "code"
        seen += range(passage.span.first, passage.span.last + 1)
    assert seen == sorted(set(seen))
    assert {number for number, line in enumerate(lines, 1) if line.strip()} <= set(seen)


@pytest.mark.parametrize("name", SOURCES)
def test_every_language_has_its_symbols_in_their_lines(name: str) -> None:
    source = SOURCES[name]
    found = code.symbols_of(source.text.split("\n"), name)
    assert [(" > ".join(symbol.path), symbol.first, symbol.last) for symbol in found] == source.symbols


def test_symbols_of_python_are_those_of_its_own_parser() -> None:
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    for path in sorted(Path(code.__file__).parents[1].rglob("*.py"))[::7]:
        text = path.read_text("utf-8")
        theirs = {(one.name, one.lineno) for one in ast.walk(ast.parse(text)) if isinstance(one, kinds)}
        ours = {(symbol.path[-1], symbol.line) for symbol in code.symbols_of(text.split("\n"), str(path))}
        assert ours == theirs, path


@pytest.mark.skipif(shutil.which("ctags") is None, reason="Universal Ctags is not installed")
@pytest.mark.parametrize("name", ["kettle.go", "kettle.rs", "Kettle.java"])
def test_symbols_are_those_of_ctags(name: str, tmp_path: Path) -> None:
    path = str(tmp_path / name)
    Path(path).write_text(SOURCES[name].text)
    language = language_of_file(name)
    assert language is not None
    theirs = set(by_ctags([path], language.id))
    found = code.symbols_of(SOURCES[name].text.split("\n"), name)
    ours = {(path, symbol.path[-1], symbol.line) for symbol in found if symbol.kind in KINDS}
    assert len(theirs) >= 5
    assert theirs - ours == set()
    # Ctags knows no methods of nameless classes.
    assert {symbol for _, symbol, _ in ours - theirs} <= {"value"}


def test_every_grammar_has_a_sample() -> None:
    sampled = {language_of_file(name) for name in SOURCES}
    assert {language.grammar for language in LANGUAGES} - {""} == {one.grammar for one in sampled if one}


@pytest.mark.parametrize("name", SOURCES)
def test_every_line_is_cited_once(name: str) -> None:
    check_every_line_once(SOURCES[name].text, passages(name, SOURCES[name].text))


def test_a_long_method_is_a_passage_named_by_its_class() -> None:
    text = (
        f"import os\n\n\nclass Kettle(Pot):\n    def boil(self):\n{DEEP * 8}\n    def pour(self):\n{DEEP * 8}"
    )
    assert labels("a.py", text) == ["Kettle > boil", "Kettle > pour"]
    check_every_line_once(text, passages("a.py", text))


def test_small_neighbours_share_a_passage_with_all_their_names() -> None:
    text = "class Kettle:\n    def boil(self):\n        return 1\n\n    def pour(self):\n        return 2\n"
    assert labels("a.py", text) == ["Kettle > boil · pour"]


def test_comments_and_decorators_belong_to_the_symbol_below() -> None:
    text = (
        f"{LONG.strip()}\n" * 4 + f"\n# Boils.\n@cached\n# Really.\n@timed(\n  1,\n)\ndef boil():\n{LONG * 8}"
    )
    boil = next(passage for passage in passages("a.py", text) if passage.heading_path == "boil")
    assert boil.text.startswith("# Boils.\n@cached\n")


def test_a_comment_behind_code_does_not_belong_to_the_symbol_below() -> None:
    text = f"{LONG.strip()}\n" * 4 + f"x = 1  # one\ndef boil():\n{LONG * 8}"
    assert passages("a.py", text)[-1].text.startswith("def boil")


def test_documentation_may_have_a_blank_line_below_but_a_licence_does_not_count() -> None:
    licence = (
        "/**\n * Licence.\n" + " * All rights are reserved by somebody or other, as usual.\n" * 4 + " */\n\n"
    )
    body = "  let x = 'a line that is long enough to fill the passage of a function'\n" * 8
    text = f"{licence}function a() {{\n{body}}}\n\n/** Pours. */\n\nfunction b() {{\n{body}}}\n"
    head, first, second = passages("a.js", text)
    assert (head.heading_path, first.heading_path, second.heading_path) == ("", "a", "b")
    assert second.text.startswith("/** Pours. */")


def test_the_bracket_that_closes_a_class_belongs_to_its_last_method() -> None:
    body = "    int x = 'a line that is long enough to fill the passage of a function';\n" * 8
    text = f"class A {{\n  void a() {{\n{body}  }}\n}}\n\nclass B {{\n  void b() {{\n{body}  }}\n}}\n"
    first, second = passages("A.java", text)
    assert (first.heading_path, second.heading_path) == ("A > a", "B > b")
    assert first.text.endswith("  }\n}")


def test_code_between_symbols_is_named_by_what_is_around_it() -> None:
    fields = "".join(f"    field_number_{at} = 'a value of the class'\n" for at in range(10))
    text = f"class A:\n    def a(self):\n{DEEP * 8}\n{fields}\n    def b(self):\n{DEEP * 8}"
    assert labels("a.py", text) == ["A > a", "A", "A > b"]


def test_a_short_line_between_functions_belongs_to_the_next_one() -> None:
    text = f"def a():\n{LONG * 8}\nLIMIT = 3\n\ndef b():\n{LONG * 8}"
    _, second = passages("a.py", text)
    assert second.text.startswith("LIMIT = 3\n\ndef b")


def test_unnamed_code_takes_no_names_from_its_neighbours() -> None:
    table = "TABLE = {\n" + "".join(f"    'key {at}': 'a value of the table',\n" for at in range(6)) + "}\n"
    text = f"def a():\n    return 1\n\n{table}\ndef b():\n    return 2\n"
    assert labels("a.py", text) == ["a · b"]


def test_functions_within_a_long_function_are_passages() -> None:
    text = f"def outer():\n{LONG * 12}\n    def inner():\n{DEEP * 12}\n{LONG * 12}    return inner\n"
    assert labels("a.py", text) == ["outer", "outer > inner", "outer"]
    short = "def outer():\n    def inner():\n        return 1\n    return inner\n"
    assert labels("a.py", short) == ["outer"]


def test_a_function_above_the_cap_is_cut_where_it_is_least_indented() -> None:
    block = "    if True:\n" + DEEP * 20 + "\n"
    found = passages("a.py", f"def a():\n{block * 4}")
    assert [passage.heading_path for passage in found] == ["a"] * 4
    assert [passage.text.count("if True") for passage in found] == [1] * 4


def test_a_language_without_a_grammar_is_cut_at_blank_lines_by_indentation() -> None:
    body = "    println('a line that is long enough to fill the passage of a function')\n" * 20
    text = f"fun a() {{\n{body}\n{body}}}\n\nfun b() {{\n{body}}}\n"
    found = passages("a.kt", text)
    assert [passage.text.partition("\n")[0] for passage in found] == ["fun a() {", "fun b() {"]
    check_every_line_once(text, found)


@pytest.mark.parametrize("name", ["a.js", "a.c", "a.py"])
def test_noise_that_a_grammar_cannot_take_is_cut_by_indentation(name: str) -> None:
    chance = random.Random(17)
    text = "\n".join("".join(chances(chance)) for _ in range(6_000))
    note = code.parse(text.encode(), name)
    assert [block.kind for block in note.blocks if block.kind == "heading"] == []
    assert "".join(passage.text for passage in chunk(note)[:1])


def chances(chance: random.Random) -> list[str]:
    return chance.choices("(){}[]<>;:,.=+-*/&|!~^%#@'\"\\ abcfnif", k=120)


@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        ("a.js", "x=1;" * 100, "minified"),
        ("a.js", "ok()\n" * 1000 + "x" * 10_001, "minified"),
        ("a.go", "// Code generated by protoc-gen-go. DO NOT EDIT.\n\npackage a\n", "generated"),
        (
            "a.py",
            "#!/usr/bin/env python\n# Generated by the protocol buffer compiler.  DO NOT EDIT!\n",
            "generated",
        ),
        ("a.ts", "/**\n * This file is @generated by something.\n */\n", "generated"),
        ("a.cs", "//-----\n// <auto-generated>\n", "generated"),
        ("package-lock.json", "{}\n", "lock file"),
        ("src/pnpm-lock.yaml", "a: 1\n", "lock file"),
        ("a.json", '["a"]\n' * 50_000, "JSON larger than 256 kB"),
        ("a.c", "\0\1\2" * 100, "binary"),
    ],
)
def test_what_nobody_wrote_is_skipped_with_the_reason(name: str, text: str, reason: str) -> None:
    with pytest.raises(UnsuitableFileError, match=reason):
        code.parse(text.encode(), name)


def test_code_that_only_mentions_generated_code_is_read() -> None:
    assert passages("a.py", 'MARK = re.compile("@generated")\n')


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "cp949"])
def test_other_encodings_are_read(encoding: str) -> None:
    text = "# 주전자를 끓인다\ndef boil():\n    return 1\n"
    note = code.parse(text.encode(encoding), "a.py")
    assert (note.lang, note.lines[0], chunk(note)[0].heading_path) == ("ko", "# 주전자를 끓인다", "boil")


def test_the_language_is_that_of_the_comments() -> None:
    assert code.parse("# 주전자를 끓인다\ndef boil_the_kettle_now(): pass\n".encode(), "a.py").lang == "ko"
    assert code.parse(b"# boils\ndef boil(): pass\n", "a.py").lang == "en"
    assert code.parse(b"def boil(): pass\n", "a.py").lang == "und"


def test_the_title_is_the_name_of_the_file() -> None:
    note = code.parse(b"x = 1\n", "src/kettle.py")
    assert (note.title, note.type) == ("kettle.py", "code")


def test_empty_code_has_no_passages() -> None:
    assert passages("__init__.py", "") == ()
    assert passages("__init__.py", "\n\n") == ()
