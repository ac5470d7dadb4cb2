"""The same answers on a terminal: colours, links, progress. The terminal is a real one."""

from __future__ import annotations

import os
import pty
import re
import subprocess
from pathlib import Path

import pytest

from kebab_tui.cli.output import width
from tests.command_line import Kebab

pytestmark = pytest.mark.slow

XTERM = {"TERM": "xterm-256color"}


def on_a_terminal(kebab: Kebab, *argv: str, typed: str = "", **variables: str) -> tuple[int, str]:
    """Run with all three streams on a pseudo terminal; the exit code and everything shown."""
    master, slave = pty.openpty()
    environ = kebab.environ | XTERM | variables
    process = subprocess.Popen(
        [*kebab.argv, *argv], stdin=slave, stdout=slave, stderr=slave, env=environ, start_new_session=True
    )
    os.close(slave)
    os.write(master, typed.encode())
    shown = bytearray()
    while True:
        try:
            read = os.read(master, 65_536)
        except OSError:  # Linux's way of saying that the other end was closed
            break
        if not read:
            break
        shown += read
    os.close(master)
    return process.wait(timeout=60), shown.decode().replace("\r\n", "\n")


def test_matches_are_bold_and_red(indexed: Kebab) -> None:
    code, shown = on_a_terminal(indexed, "search", "kernel", "-n", "2")
    assert code == 0
    assert re.search("\x1b\\[1;31mkernel\x1b\\[0m", shown, re.IGNORECASE)
    assert re.search(r"\n\n2\. ", shown)


def test_excerpts_are_wrapped_between_words(indexed: Kebab) -> None:
    _, shown = on_a_terminal(indexed, "search", "포트 충돌", "-n", "3", NO_COLOR="1", COLUMNS="44")
    (excerpt,) = re.findall(r"^1\. .+\n((?:          .+\n)+)   doc: ", shown, re.MULTILINE)
    rows = excerpt.splitlines()
    assert len(rows) > 1
    assert all(width(row) <= 44 for row in rows)


@pytest.mark.parametrize("variables", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_no_colours_where_none_are_wanted(indexed: Kebab, variables: dict[str, str]) -> None:
    _, shown = on_a_terminal(indexed, "search", "kernel", "-n", "2", **variables)
    assert "\x1b" not in shown
    assert "citation: " in shown


def test_a_citation_leads_to_its_file_where_the_terminal_follows_links(indexed: Kebab) -> None:
    _, shown = on_a_terminal(indexed, "search", "김치찌개", "-n", "1", KEBAB_HYPERLINKS="always")
    uri, text = re.findall("citation: \x1b]8;;file://[^/]*(.*?)\x1b\\\\(.*?)\x1b]8;;\x1b\\\\", shown)[0]
    root = indexed.data.parent / "notes"
    assert uri.startswith(f"{root}/")
    assert uri.isascii()
    assert re.fullmatch("\x1b\\[35m.+\\.md\x1b\\[0m\x1b\\[32m:L\\d+(-L\\d+)?\x1b\\[0m", text)


def test_ingest_shows_a_bar_and_leaves_only_the_report(kebab: Kebab, notes: Path) -> None:
    code, shown = on_a_terminal(kebab, "ingest", str(notes))
    assert code == 0
    assert "passages" in shown
    assert "\x1b[?25l" in shown
    assert shown.index("\x1b[?25h") > shown.index("\x1b[?25l")  # the cursor is back
    assert "notes: 3 added" in shown


def test_a_quiet_ingest_shows_nothing_at_all(kebab: Kebab, notes: Path) -> None:
    assert on_a_terminal(kebab, "ingest", "--quiet", str(notes)) == (0, "")


def test_tables_have_a_header_and_columns(indexed: Kebab) -> None:
    _, shown = on_a_terminal(indexed, "list", "요리/**", NO_COLOR="1")
    header, *rows = shown.splitlines()
    assert header.split() == ["path", "state", "type", "tags", "passages", "reason"]
    assert "\t" not in shown
    assert any(row.startswith("요리/adana-kebab.md") for row in rows)


@pytest.mark.parametrize(("answer", "left"), [("n\n", 3), ("y\n", 0)])
def test_removing_a_source_asks_first(kebab: Kebab, notes: Path, answer: str, left: int) -> None:
    kebab("ingest", str(notes))
    _, shown = on_a_terminal(kebab, "source", "remove", "notes", typed=answer)
    assert "remove 3 notes (3 passages) of notes from the index; no file is changed. Continue?" in shown
    assert sum(source["documents"] for source in kebab("source", "list", "--json").json["items"]) == left
    assert len(list(notes.iterdir())) == 3
