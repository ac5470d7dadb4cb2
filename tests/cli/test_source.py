"""`kebab source`: adds, searches, edits and removes folders, and changes no file in them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.command_line import Kebab


def test_a_new_source_has_the_given_properties(kebab: Kebab, notes: Path) -> None:
    flags = (
        "--id my-notes --title Mine --description All --include *.md --include *.txt --exclude old/ "
        "--trust secondary --rule Cite. --version-label v2 --weight 2.5"
    )
    added = kebab("source", "add", str(notes), *flags.split(), "--json").json
    assert added == kebab("source", "list", "--json").json["items"][0]
    told = {key: added[key] for key in ("source_id", "title", "description", "include", "exclude", "root")}
    assert told == {
        "source_id": "my-notes",
        "title": "Mine",
        "description": "All",
        "include": ["*.md", "*.txt"],
        "exclude": ["old/"],
        "root": str(notes),
    }
    assert (added["trust"], added["rules"], added["version_label"], added["weight"]) == (
        "secondary",
        ["Cite."],
        "v2",
        2.5,
    )


def test_a_source_is_called_after_its_folder(kebab: Kebab, notes: Path) -> None:
    done = kebab("source", "add", str(notes))
    assert done.out == f"notes\t{notes}\n"
    assert "kebab ingest" in done.err


def test_a_list_in_a_pipe_is_tabs_without_a_header(kebab: Kebab, notes: Path) -> None:
    kebab("ingest", str(notes))
    assert kebab("source", "list").out == f"notes\tindexed\t3\t3\tnotes\t{notes}\t1.0\t-\n"


def test_a_list_as_text_is_a_paragraph_for_each(kebab: Kebab, notes: Path, tmp_path: Path) -> None:
    (tmp_path / "second").mkdir()
    kebab("source", "add", str(notes), "--title", "My notes")
    kebab("source", "add", str(tmp_path / "second"), "--description", "Others", "--version-label", "v1")
    assert kebab("source", "list", "--format", "txt").out == (
        "1. My notes\n   Source ID: notes\n   Description: No description\n"
        "   Passages: 0 | Notes: 0 | Trust: primary\n   Version: no label\n"
        f"   Folder: {notes}\n\n"
        "2. second\n   Source ID: second\n   Description: Others\n"
        "   Passages: 0 | Notes: 0 | Trust: primary\n   Version: v1\n"
        f"   Folder: {tmp_path}/second\n"
    )


def test_an_empty_list_names_the_next_command(kebab: Kebab) -> None:
    done = kebab("source", "list")
    assert (done.code, done.out) == (0, "")
    assert "kebab ingest FOLDER" in done.err


def test_removing_reports_the_numbers_and_changes_no_file(kebab: Kebab, notes: Path) -> None:
    kebab("ingest", str(notes))
    done = kebab("source", "remove", "notes", "--yes")
    assert done.code == 0
    assert "removed: 3 notes (3 passages); no file" in done.err
    assert len(list(notes.iterdir())) == 3
    assert kebab("source", "list", "--json").json["items"] == []


# Searching


@pytest.fixture
def two(kebab: Kebab, notes: Path, tmp_path: Path) -> Kebab:
    """Two indexed folders: `notes` with a title, and `wiki` with a description and stars."""
    (tmp_path / "wiki").mkdir()
    (tmp_path / "wiki/ports.md").write_text("# Ports\n\nListeners share a port.\n\n# Own\n\nOne owner.\n")
    kebab("source", "add", str(notes), "--title", "My notes", "--rule", "Cite.")
    kebab("source", "add", str(tmp_path / "wiki"), "--description", "About networks", "--stars", "10000")
    kebab("ingest")
    return kebab


def test_a_search_of_sources_in_a_pipe_is_tabs_without_a_header(two: Kebab, notes: Path) -> None:
    done = two("source", "search", "my notes")
    assert (done.code, done.out) == (0, f"notes\t151.03\t1.0\t0\t3\tMy notes\t{notes}\n")
    listed = two("source", "search", "").lines
    assert [line.split("\t")[:2] for line in listed] == [["wiki", "6.01"], ["notes", "1.03"]]
    assert two("source", "search", "", "-n", "1").lines == listed[:1]


def test_the_text_form_is_that_of_the_specification(two: Kebab) -> None:
    """Row 4-16."""
    assert two("source", "search", "", "--format", "txt").out == (
        "1. wiki\n   Library ID: wiki\n   Description: About networks\n"
        "   Snippets: 1 | Trust Score: 6.0/10\n   Available Versions: default branch\n"
        "\n"
        "2. My notes\n   Library ID: notes\n   Description: No description\n"
        "   Snippets: 3 | Trust Score: 1.0/10\n   Available Versions: default branch\n"
    )
    nothing = two("source", "search", "%", "--format", "txt")
    assert (nothing.code, nothing.out) == (1, "No libraries found matching your search.\n")


def test_a_search_that_finds_no_source_says_so_in_each_form(two: Kebab) -> None:
    human, listed = two("source", "search", "zzz"), two("source", "search", "zzz", "--json")
    assert (human.code, human.out) == (1, "")
    assert "kebab source list" in human.err
    assert (listed.code, listed.json["items"]) == (1, [])


def test_without_an_index_there_is_no_source(kebab: Kebab) -> None:
    done = kebab("source", "search", "", "--format", "txt")
    assert (done.code, done.out) == (1, "No libraries found matching your search.\n")


def test_a_query_counts_passages_and_is_read_as_in_a_search(two: Kebab) -> None:
    def hits(*query: str) -> dict[str, int]:
        found = two("source", "search", "--json", "", *query).json["items"]
        return {one["source_id"]: one["content_hits"] for one in found}

    assert hits("listeners") == {"wiki": 1, "notes": 1}
    assert hits("--", "listeners", "-share") == {"wiki": 0, "notes": 1}
    assert hits("listeners", "zebra") == {"wiki": 1, "notes": 1}, "no passage has both: any word counts"
    assert hits("AND (listeners") == {"wiki": 1, "notes": 1}
    assert hits("tag:ops") == {"wiki": 0, "notes": 1}
    assert hits("숯불") == {"wiki": 0, "notes": 1}
    refused = two("source", "search", "", "after:someday")
    assert refused.code == 2 and "someday" in refused.err


def test_the_words_of_a_name_are_no_syntax(two: Kebab) -> None:
    for name in ("in:nowhere", "after:someday", "'listeners'", '"', "-share", "*", "OR"):
        assert two("source", "search", "--", name).code in (0, 1), name
    assert two("source", "search", "collide listeners").lines[0].startswith("notes\t")
    assert two("source", "search", "collide zebra").code == 1, "all words of a name are wanted"


# Editing


def test_every_detail_of_a_source_can_be_changed(two: Kebab) -> None:
    before = two("source", "list", "--json").json["items"][0]
    flags = "--title Ours --description All --trust secondary --version-label v2 --stars 9 --include *.md"
    after = two("source", "edit", "notes", *flags.split(), "--exclude", "old/", "--json").json
    assert after == two("source", "list", "--json").json["items"][0]
    assert after == before | {
        "title": "Ours",
        "description": "All",
        "trust": "secondary",
        "version_label": "v2",
        "stars": 9,
        "source_score": 3.0,
        "include": ["*.md"],
        "exclude": ["old/"],
    }
    flags = "--title= --description= --version-label= --stars 0 --trust primary --no-include --no-exclude"
    assert two("source", "edit", "notes", *flags.split(), "--json").json == before | {"title": "notes"}


@pytest.mark.parametrize(
    ("flags", "rules"),
    [
        (("--rule", "A", "--rule", "B"), ["A", "B"]),
        (("--add-rule", "A"), ["Cite.", "A"]),
        (("--rule", "A", "--add-rule", "B"), ["A", "B"]),
        (("--no-rules",), []),
        (("--no-rules", "--add-rule", "A"), ["A"]),
        (("--stars", "1"), ["Cite."]),
    ],
)
def test_rules_are_edited_after_the_source_was_added(
    two: Kebab, flags: tuple[str, ...], rules: list[str]
) -> None:
    """Row 4-17."""
    assert two("source", "edit", "notes", *flags, "--json").json["rules"] == rules
    context = two("search", "listeners collide", "--strict", "--format", "context").out
    assert context.startswith("## Library Rules\n- " if rules else "### Port conflict")
    assert all(f"- {rule}\n" in context for rule in rules)


def test_a_changed_trust_is_seen_at_once(two: Kebab) -> None:
    def trusted() -> int:
        return two("search", "collide", "--trust-min", "secondary", "--mode", "lexical").code

    assert trusted() == 0
    two("source", "edit", "notes", "--trust", "generated")
    assert trusted() == 1


def test_changed_patterns_take_effect_with_the_next_ingest(two: Kebab) -> None:
    done = two("source", "edit", "notes", "--exclude", "port.md")
    assert "`kebab ingest` to apply the patterns" in done.err
    assert two("ingest", "--json").json["removed"] == 1
    two("source", "edit", "notes", "--no-exclude")
    assert two("ingest", "--json").json["added"] == 1
    assert "patterns" not in two("source", "edit", "notes", "--stars", "1").err


def test_a_source_of_the_configuration_file_is_changed_there(kebab: Kebab, notes: Path) -> None:
    config = notes.parent / "config.toml"
    config.write_text(f'[[sources]]\npath = "{notes}"\nstars = 99\nrules = ["Cite."]\n')
    kebab("ingest", KEBAB_CONFIG=str(config))
    refused = kebab("source", "edit", "notes", "--stars", "1", KEBAB_CONFIG=str(config))
    assert refused.code == 2
    assert "declared in the configuration file" in refused.err and "[[sources]]" in refused.err
    listed = kebab("source", "list", "--json", KEBAB_CONFIG=str(config)).json["items"][0]
    assert (listed["stars"], listed["source_score"]) == (99, 3.0)


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (("notes",), "nothing to change"),
        (("nowhere", "--stars", "1"), "there is no source named 'nowhere'"),
        (("notes", "--rule", "A", "--no-rules"), "--rule and --no-rules cannot be combined"),
        (("notes", "--include", "A", "--no-include"), "cannot be combined"),
        (("notes", "--stars", "-1"), "--stars"),
        (("notes", "--trust", "total"), "--trust"),
    ],
)
def test_a_wrong_edit_is_refused_with_a_hint(two: Kebab, flags: tuple[str, ...], message: str) -> None:
    before = two("source", "list", "--json").out
    refused = two("source", "edit", *flags)
    assert (refused.code, refused.out) == (2, "")
    assert message in refused.err
    assert two("source", "list", "--json").out == before


def test_the_weight_is_deprecated_hidden_and_kept(kebab: Kebab, notes: Path) -> None:
    done = kebab("source", "add", str(notes), "--weight", "2.5", "--json")
    assert done.json["weight"] == 2.5
    assert "warning: --weight has no effect" in done.err
    assert "--weight" not in kebab("source", "add", "--help").out
    assert kebab("source", "edit", "notes", "--stars", "1", "--json").json["weight"] == 2.5


def test_an_empty_index_expects_nothing_else(kebab: Kebab, notes: Path) -> None:
    kebab("source", "add", str(notes))
    (lexical,) = (line for line in kebab("index", "--status").lines if line.startswith("lexical: "))
    assert lexical.endswith(", as expected")
