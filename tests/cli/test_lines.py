"""What `kebab search` writes into a pipe: `path:line:text`, as ripgrep; and which sources it searches."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from kebab_tui.cli.output import Style, Terminal
from tests.command_line import Kebab


@pytest.fixture
def two(kebab: Kebab, notes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Kebab:
    """The notes, and beside them another source with two notes; the working folder is around both."""
    other = tmp_path / "other" / "deep"
    other.mkdir(parents=True)
    (other / "-dash.md").write_text(
        "# Dash\n\nnothing here\n\n  listeners collide \x1b[31m twice\nlisteners\n"
    )
    (other / "12:30: plan.md").write_text("listeners alone\n")
    kebab("ingest", str(notes), str(tmp_path / "other"))
    monkeypatch.chdir(tmp_path)
    return kebab


def test_a_pipe_gets_the_line_that_matches_best_from_the_working_folder(
    two: Kebab, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = ["12:30: plan.md:1:listeners alone", "-dash.md:5:listeners collide ␛[31m twice"]
    assert sorted(two("search", "collide listeners").lines) == [
        "notes/port.md:6:Two listeners collide.",
        *sorted(f"other/deep/{line}" for line in found),
    ]
    monkeypatch.chdir("other/deep")
    assert sorted(two("search", "collide listeners").lines) == sorted([found[0], f"./{found[1]}"])
    assert f"{notes}/port.md:6:Two listeners collide." in two("search", "collide listeners", "--all").lines


def test_the_old_form_is_a_format_and_a_setting(two: Kebab) -> None:
    human = two("search", "숯불", "--format", "human").out
    assert human.startswith("1. [") and "citation: 케밥.md:L1-L3" in human
    assert two("search", "숯불", KEBAB_CLI_PIPED="human").out == human
    assert two("search", "숯불", "--full").out.startswith(human.rstrip()), "lines have no room for passages"
    assert two("search", "숯불", "--format", "lines", KEBAB_CLI_PIPED="human").out == (
        "notes/케밥.md:3:숯불에 구운 고기.\n"
    )


def test_files_are_named_once_and_null_ends_an_exact_path(two: Kebab, notes: Path) -> None:
    (notes / "new\nline.md").write_text("zanzibar one\n\n# Two\n\nzanzibar two\n")
    two("ingest")
    assert two("search", "zanzibar", "-l", "-0").out == "notes/new\nline.md\0"
    done = two("search", "zanzibar", "--files")
    assert (done.code, done.out) == (0, "") and "use --null" in done.err
    assert two("search", "zanzibar one", "-0", "-n", "1").out == "notes/new\nline.md\x001:zanzibar one\n"
    assert two("search", "zanzibar one", "-n", "1").out == "notes/new␊line.md:1:zanzibar one\n"
    assert two("search", "zanzibar", "-0", "--json").code == 2
    assert two("search", "zanzibar", "-l", "--format", "lines").code == 2


def test_quiet_leaves_only_the_exit_code(two: Kebab) -> None:
    for word, code in (("listeners", 0), ("qqqqzzzz", 1)):
        done = two("search", "-q", word)
        assert (done.code, done.out, done.err) == (code, "", "")


def test_a_changed_note_gives_its_present_line_and_a_lost_one_the_indexed(two: Kebab, notes: Path) -> None:
    text = (notes / "port.md").read_text()
    (notes / "port.md").write_text("\n\n\n" + text.replace("Two", "Three"))
    found = two("search", "listeners", "--in", "notes")
    assert found.lines == ["notes/port.md:9:Three listeners collide."]
    assert two("search", "listeners", "--in", "notes", "--format", "vimgrep").out.startswith(
        "notes/port.md:9:7:"
    )
    (notes / "port.md").unlink()
    assert two("search", "listeners", "--in", "notes").lines == ["notes/port.md:6:Two listeners collide."]


def test_colours_are_those_of_ripgrep(two: Kebab) -> None:
    painted = "\x1b[35mnotes/port.md\x1b[0m:\x1b[32m6\x1b[0m:Two \x1b[1;31mlisteners\x1b[0m collide.\n"
    assert two("search", "listeners", "--in", "notes", "--color", "always").out == painted
    assert two("search", "listeners", "--in", "notes", CLICOLOR_FORCE="1").out == painted
    plain = two("search", "listeners", "--in", "notes", "--color", "never", CLICOLOR_FORCE="1").out
    assert plain == "notes/port.md:6:Two listeners collide.\n"


def test_a_link_names_the_machine_and_where_it_is_understood_the_line() -> None:
    def link(line_links: bool) -> str:
        terminal = Terminal(tty=True, colour=False, links=True, width=80, line_links=line_links)
        return Style(terminal).file_link("a:12", "/n/충 돌.md".encode(), 12)

    host = os.uname().nodename
    assert link(False) == f"\x1b]8;;file://{host}/n/%EC%B6%A9%20%EB%8F%8C.md\x1b\\a:12\x1b]8;;\x1b\\"
    assert f"{host}/n/%EC%B6%A9%20%EB%8F%8C.md#12\x1b" in link(True)


# the source around the working folder


def test_a_folder_of_notes_searches_its_source_and_says_so(
    two: Kebab, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def sources(*argv: str) -> set[str]:
        return {hit["source_id"] for hit in two("search", "listeners", *argv, "--json").json["hits"]}

    assert sources() == {"notes", "other"}
    assert two("search", "listeners", "--json").json["scope"] is None
    monkeypatch.chdir(notes)
    assert sources() == {"notes"}
    assert two("search", "listeners", "--json").json["scope"] == "notes"
    assert "1 of 1 hit in notes (--all searches everything)" in two("search", "listeners").err
    assert sources("--all") == {"notes", "other"}
    assert sources("--in", "other") == {"other"}
    assert {hit["source_id"] for hit in two("search", "listeners in:other", "--json").json["hits"]} == {
        "other"
    }
    out = two("search", "alone", "--why-not", "12:30: plan.md").out
    assert "filtered" in out and "only notes is searched" in out


def test_find_looks_in_the_same_source(two: Kebab, notes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(notes)
    done = two("find", "dash")
    assert (done.code, done.out) == (1, "")
    assert "no note in notes has a name like dash; --all looks in all sources" in done.err
    assert two("find", "dash", "--all").out.endswith("/other/deep/-dash.md\n")


def test_json_has_the_absolute_path_everywhere(two: Kebab, notes: Path) -> None:
    file = str(notes / "port.md")
    hit = two("search", "listeners", "--in", "notes", "--json").json["hits"][0]
    assert hit["location"] == hit["citation"]["location"] == file
    listed = two("list", "port.md", "--json").json["items"][0]
    inspected = two("inspect", "port.md", "--json").json
    assert listed["location"] == inspected["document"]["location"] == file
    assert inspected["chunks"][0]["citation"]["location"] == file


def test_a_removed_working_folder_is_outside_of_all_sources(
    two: Kebab, notes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    assert two("search", "listeners", "--in", "notes").lines == [f"{notes}/port.md:6:Two listeners collide."]
    assert two("find", "port", "-n", "1").lines == [f"{notes}/port.md"]


@pytest.mark.parametrize(
    ("query", "line"),
    [
        ("'owner OR nothing'", "5:A value has one owner."),
        ("rust one owner", "5:A value has one owner."),
        ("path:rust.md", "1:# Rust"),
    ],
    ids=["raw", "the most words", "only listed"],
)
def test_a_line_is_found_for_every_kind_of_query(two: Kebab, notes: Path, query: str, line: str) -> None:
    (notes / "rust.md").write_text("# Rust\n\n## Ownership\n\nA value has one owner.\n")
    two("ingest")
    assert f"notes/rust.md:{line}" in two("search", query, "--mode", "lexical", "-n", "9").lines
