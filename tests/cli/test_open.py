"""`kebab open`: the cited lines in an editor, at their present place."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.command_line import Done, Kebab
from tests.test_import_hygiene import ENGINES, FACES, imported_by

pytestmark = pytest.mark.slow

RECORDER = f"""#!{sys.executable}
import json, os, sys
with open(os.environ["RECORD"], "w") as file:
    json.dump(sys.argv[1:], file)
sys.exit(int(os.environ.get("FAIL", "0")))
"""
LINES = 'port = "8080"\n' * 3


class Desk:
    """An index of the notes, and a `vim` that writes down how it was called."""

    def __init__(self, kebab: Kebab, notes: Path, place: Path) -> None:
        self.kebab = kebab
        self.notes = notes
        self.record = place / "record.json"
        self.bin = place / "bin"
        self.bin.mkdir()
        self.install("vim")
        kebab("ingest", str(notes))

    def install(self, name: str) -> None:
        (self.bin / name).write_text(RECORDER)
        (self.bin / name).chmod(0o755)

    def open(self, *argv: str, **variables: str) -> Done:
        environ = {"EDITOR": "vim", "PATH": str(self.bin), "RECORD": str(self.record)}
        return self.kebab("open", *argv, **(environ | variables))

    @property
    def called(self) -> list[str]:
        words: list[str] = json.loads(self.record.read_text())
        return words


@pytest.fixture
def desk(kebab: Kebab, notes: Path, tmp_path: Path) -> Desk:
    return Desk(kebab, notes, tmp_path)


@pytest.mark.parametrize("target", ["rust.md:L3-L5", "rust.md:3", "rust.md#L3", "rust.md#L3-L5"])
def test_every_spelling_of_a_citation_opens_its_first_line(desk: Desk, target: str) -> None:
    done = desk.open(target)
    assert (done.code, done.out, done.err) == (0, "", "")
    assert desk.called == ["+3", "--", str(desk.notes / "rust.md")]


def test_a_passage_opens_by_its_id_and_a_note_by_its_path(desk: Desk) -> None:
    hit = desk.kebab("search", "listeners", "--json").json["hits"][0]
    for target in (hit["chunk_id"], hit["chunk_id"][:8], hit["citation"]["text"]):
        assert desk.open(target).code == 0
        assert desk.called == ["+4", "--", str(desk.notes / "port.md")], hit["citation"]
    assert desk.open(str(desk.notes / "port.md")).code == 0
    assert desk.called == ["+1", "--", str(desk.notes / "port.md")]


def test_moved_lines_are_opened_and_reported(desk: Desk) -> None:
    path = desk.notes / "rust.md"
    path.write_text("new\n" * 7 + path.read_text())
    done = desk.open("rust.md:L3-L5")
    assert (done.code, done.err) == (0, "moved +7: now rust.md:L10-L12\n")
    assert desk.called[0] == "+10"


def test_changed_lines_are_reported(desk: Desk) -> None:
    path = desk.notes / "rust.md"
    path.write_text(path.read_text().replace("A value has one owner", "Every value has an owner"))
    done = desk.open("rust.md:5")
    assert (done.code, done.err) == (0, "changed since it was indexed; most similar: rust.md:L5\n")
    assert desk.called[0] == "+5"


def test_a_deleted_note_is_a_message_and_2(desk: Desk) -> None:
    (desk.notes / "rust.md").unlink()
    done = desk.open("rust.md:3")
    assert done.code == 2
    assert "rust.md is no longer there" in done.err
    assert "kebab ingest" in done.err
    assert not desk.record.exists()


def test_what_is_not_indexed_is_2(desk: Desk) -> None:
    assert desk.open("nope.md:3").code == 2
    assert not desk.record.exists()


def test_a_line_that_the_note_does_not_have_is_2(desk: Desk) -> None:
    done = desk.open("rust.md:L9999")
    assert done.code == 2
    assert "rust.md has no line 9,999" in done.err and "its last line is " in done.err
    assert not desk.record.exists()


@pytest.mark.parametrize("lines", [":L9-L5", ":L0", "#0"])
def test_lines_that_cannot_be_are_2(desk: Desk, lines: str) -> None:
    done = desk.open(f"rust.md{lines}")
    assert done.code == 2
    assert f"rust.md{lines} names no lines" in done.err and "count from 1" in done.err


def test_a_missing_editor_is_a_message_and_2(desk: Desk) -> None:
    done = desk.open("rust.md:3", EDITOR="emacs -nw")
    assert done.code == 2
    assert "emacs (from EDITOR) is not installed" in done.err


def test_no_editor_at_all_is_a_message_and_2(desk: Desk) -> None:
    (desk.bin / "vim").unlink()
    done = desk.open("rust.md:3", EDITOR="")
    assert done.code == 2
    assert "there is no editor" in done.err


def test_a_failing_editor_is_a_message_and_2(desk: Desk) -> None:
    done = desk.open("rust.md:3", FAIL="1")
    assert done.code == 2
    assert done.err == "error: vim ended with exit code 1\n  hint: this editor comes from EDITOR\n"


def test_ctrl_c_that_ends_the_editor_ends_the_command(desk: Desk) -> None:
    (desk.bin / "vim").write_text("#!/bin/sh\nkill -INT $$\n")
    done = desk.open("rust.md:3")
    assert (done.code, done.err) == (130, "interrupted\n")


def test_an_editor_without_a_line_argument_opens_the_file_and_gives_a_hint(desk: Desk) -> None:
    desk.install("scribble")
    done = desk.open("rust.md:3", EDITOR="scribble")
    assert done.code == 0
    assert desk.called == [str(desk.notes / "rust.md")]
    assert "{line}" in done.err


def test_a_template_in_the_configuration_wins(desk: Desk, tmp_path: Path) -> None:
    desk.install("ed")
    config = tmp_path / "config.toml"
    config.write_text('[editor]\ncommand = "ed --at={line} {path}"\n')
    done = desk.open("rust.md:3", "--config", str(config))
    assert done.code == 0
    assert desk.called == ["--at=3", str(desk.notes / "rust.md")]


def test_kebabs_own_variable_wins_over_the_others(desk: Desk) -> None:
    desk.install("nano")
    assert desk.open("rust.md:3", KEBAB_EDITOR="nano", VISUAL="vim").code == 0
    assert desk.called[0] == "+3,1"


def test_opening_loads_no_engine_and_no_screen(desk: Desk, tmp_path: Path) -> None:
    argv = ("open", "rust.md:3", "--data-dir", str(desk.kebab.data))
    assert not imported_by(*argv, home=tmp_path, EDITOR="true") & (ENGINES | FACES | {"markdown_it", "yaml"})


def test_a_template_without_a_path_is_refused_with_its_line(desk: Desk, tmp_path: Path) -> None:
    config = tmp_path / "config.toml"
    config.write_text('[editor]\ncommand = "ed +{line}"\n')
    done = desk.open("rust.md:3", "--config", str(config))
    assert done.code == 2
    assert "{path}" in done.err


def test_print_prints_the_command_and_opens_nothing(desk: Desk) -> None:
    done = desk.open("rust.md:3", "--print")
    assert (done.code, done.out) == (0, f"vim +3 -- {desk.notes / 'rust.md'}\n")
    assert not desk.record.exists()


NAMES = [
    "a b.md",
    'it\'s "so" $(id) `id` *.md',
    "new\nline.md",
    "-c quit.md",
    "a:12.md",
    "\x1b[2J\u202e\\.md",
    "메모.md",
]


@pytest.mark.parametrize("name", NAMES)
def test_any_name_reaches_the_editor_as_one_word(desk: Desk, name: str) -> None:
    path = desk.notes / name
    path.write_text("# Any\n\nuncommonword\n")
    desk.kebab("ingest", str(desk.notes))
    chunk = desk.kebab("search", "uncommonword", "--json").json["hits"][0]["chunk_id"]
    assert desk.open(chunk).code == 0
    assert desk.called == ["+1", "--", str(path)]


@pytest.mark.parametrize("name", [*NAMES, os.fsdecode(b"\xff\xfe.md")])
def test_the_printed_command_is_read_back_by_a_shell_and_obeyed_by_no_terminal(desk: Desk, name: str) -> None:
    path = desk.notes / name
    path.write_text("# Any\n\nuncommonword\n")
    desk.kebab("ingest", str(desk.notes))
    chunk = desk.kebab("search", "uncommonword", "--json").json["hits"][0]["chunk_id"]
    line = desk.open(chunk, "--print").out
    assert line.endswith("\n")
    assert line[:-1].isprintable()
    shell = subprocess.run(["bash", "-c", f"printf '%s\\0' {line}"], capture_output=True, check=True)
    assert shell.stdout.split(b"\0")[:-1] == [b"vim", b"+1", b"--", os.fsencode(path)]


def test_a_plain_command_line_is_printed_as_it_would_be_typed(desk: Desk) -> None:
    (desk.notes / "a b.md").write_text(LINES)
    desk.kebab("ingest", str(desk.notes))
    assert shlex.split(desk.open("a b.md:2", "--print").out)[-1] == str(desk.notes / "a b.md")
