"""`kebab list`, `inspect`, `index` and `doctor`: content and state of the index."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from tests.command_line import Kebab

# list


def test_a_list_in_a_pipe_is_tabs(kebab: Kebab, notes: Path) -> None:
    (notes / "binary.md").write_bytes(b"\x00" * 300)
    kebab("ingest", str(notes))
    done = kebab("list")
    rows = [line.split("\t") for line in done.lines]
    assert [row[:5] for row in rows] == [
        ["binary.md", "skipped", "markdown", "", "0"],
        ["port.md", "ok", "markdown", "ops", "1"],
        ["rust.md", "ok", "markdown", "", "1"],
        ["케밥.md", "ok", "markdown", "", "1"],
    ]
    assert rows[0][5]
    assert done.err == "4 of 4 notes\n"


@pytest.mark.parametrize(
    ("argv", "listed"),
    [
        (("--state", "skipped"), {"binary.md"}),
        (("--state", "skipped", "--state", "failed", "--state", "ok", "p*"), {"port.md"}),
        (("--tag", "ops"), {"port.md"}),
        (("--lang", "ko"), {"케밥.md"}),
        (("*.md", "--limit", "2"), {"binary.md", "port.md"}),
        (("--limit", "2", "--offset", "3"), {"케밥.md"}),
    ],
)
def test_what_is_listed_can_be_narrowed(
    kebab: Kebab, notes: Path, argv: tuple[str, ...], listed: set[str]
) -> None:
    (notes / "binary.md").write_bytes(b"\x00" * 300)
    kebab("ingest", str(notes))
    assert {item["path"] for item in kebab("list", *argv, "--json").json["items"]} == listed


def test_nothing_listed_is_1(indexed: Kebab) -> None:
    done = indexed("list", "nowhere/**")
    assert (done.code, done.out) == (1, "")


# inspect


def test_a_note_shows_its_facts_and_its_passages(kebab: Kebab, notes: Path) -> None:
    kebab("ingest", str(notes))
    out = kebab("inspect", "rust.md", "--full").out
    for line in (
        "path: rust.md",
        "file: unchanged since it was indexed",
        "citation: rust.md:L1-L9",
        "│ let a = b;",
    ):
        assert f"\n{line}\n" in out
    (notes / "rust.md").write_text("changed")
    assert "file: changed since" in kebab("inspect", "rust.md").out


def test_a_passage_is_found_by_id_and_by_citation(indexed: Kebab) -> None:
    hit = indexed("search", "docker", "-n", "1", "--json").json["hits"][0]
    for target in (hit["chunk_id"], hit["chunk_id"][:12], hit["citation"]["text"], hit["citation"]["uri"]):
        chunks = indexed("inspect", target, "--json").json["chunks"]
        assert [chunk["chunk_id"] for chunk in chunks] == [hit["chunk_id"]], target


def test_for_a_file_that_is_not_indexed_it_shows_why(kebab: Kebab, notes: Path) -> None:
    (notes / ".gitignore").write_text("draft.md\n")
    (notes / "draft.md").write_text("draft")
    kebab("ingest", str(notes))
    done = kebab("inspect", str(notes / "draft.md"))
    assert done.code == 2
    assert ".gitignore" in done.err


def test_private_notes_are_listed_and_marked(kebab: Kebab, notes: Path) -> None:
    (notes / "diary.md").write_text("---\nprivate: true\n---\nlisteners\n")
    (notes / ".kebabprivate").write_text("rust.md\n")
    kebab("ingest", str(notes))
    assert kebab("inspect", "diary.md").out.count("\nflags: private\n") == 1
    assert kebab("inspect", "rust.md").out.count("\nflags: private by rule\n") == 1
    private = [line.split("\t")[0] for line in kebab("list").lines if line.split("\t")[-1] == "private"]
    assert private == ["diary.md", "rust.md"]
    assert "diary.md" in kebab("search", "listeners").out


# index


def test_the_status_shows_sizes_versions_and_runs(indexed: Kebab) -> None:
    status = indexed("index", "--status", "--json").json
    assert status["documents"] == indexed("list", "--json").json["total"]
    assert status["lexical"]["present"] == status["lexical"]["expected"]
    assert status["runs"][0]["report"]["added"] == status["documents"]
    out = indexed("index", "--status").out
    assert f"passages: {status['chunks']}\n" in out
    assert f"lexical: {status['lexical']['present']}, as expected\n" in out


def test_a_lost_full_text_is_rebuilt(kebab: Kebab, notes: Path) -> None:
    kebab("ingest", str(notes))
    (kebab.data / "kebab.seal").unlink()  # it would tell at once
    with sqlite3.connect(kebab.data / "kebab.sqlite") as database:
        database.execute("INSERT INTO chunks_fts(chunks_fts) VALUES ('delete-all')")
    database.close()
    assert kebab("doctor").code == 3
    assert kebab("index", "--rebuild-fts").out == "full text: 3 passages\n"
    assert kebab("search", "listeners").code == 0
    assert kebab("doctor").code == 0


def test_rebuilding_nothing_makes_no_index(kebab: Kebab) -> None:
    done = kebab("index", "--rebuild-fts")
    assert done.code == 2
    assert "kebab ingest FOLDER" in done.err
    assert not kebab.data.exists()


# doctor


def test_a_sound_index_is_0_and_every_line_is_ok(embedded: Kebab) -> None:
    done = embedded("doctor")
    assert done.code == 0
    assert all(line.startswith("ok ") for line in done.lines), done.out


def test_a_warning_is_shown_with_its_fix_and_is_still_0(kebab: Kebab, notes: Path) -> None:
    kebab("ingest", str(notes))
    notes.rename(notes.with_name("elsewhere"))
    done = kebab("doctor")
    assert done.code == 0
    at = next(place for place, line in enumerate(done.lines) if line.startswith("warning"))
    assert "kebab source remove notes" in done.lines[at + 1]


def test_a_damaged_index_is_3_with_a_fix(kebab: Kebab) -> None:
    kebab.data.mkdir()
    (kebab.data / "kebab.sqlite").write_bytes(b"garbage" * 2000)
    done = kebab("doctor", "--json")
    assert done.code == 3
    problem = next(check for check in done.json["checks"] if check["level"] == "problem")
    assert "kebab ingest" in problem["fix"]


# a lost index


@pytest.fixture
def lost(kebab: Kebab, notes: Path) -> Kebab:
    """The database is gone; the list of its folders is not."""
    kebab("ingest", str(notes))
    for file in kebab.data.glob("kebab.sqlite*"):
        file.unlink()
    return kebab


def test_a_lost_index_is_rebuilt_by_the_next_search(lost: Kebab) -> None:
    done = lost("search", "listeners", "--in", "notes")
    assert done.code == 0
    assert "port.md:6:" in done.out
    assert "the index is lost" in done.err
    assert "rebuilt: 3 notes" in done.err


def test_an_empty_file_in_its_place_is_a_lost_index_too(lost: Kebab) -> None:
    (lost.data / "kebab.sqlite").touch()
    assert lost("search", "listeners").code == 0


def test_a_lost_index_still_knows_its_folders(lost: Kebab, notes: Path) -> None:
    assert lost("source", "list").out == f"notes\tnew\t0\t0\tnotes\t{notes}\t-\t-\n"


@pytest.mark.parametrize("verb", ["list", "inspect port.md", "open --print port.md:L1"])
def test_every_verb_that_reads_rebuilds_a_lost_index(lost: Kebab, verb: str) -> None:
    done = lost(*verb.split())
    assert done.code == 0
    assert "port.md" in done.out
    assert "rebuilt: 3 notes" in done.err


def test_the_figures_of_a_lost_index_give_the_command_that_restores_it(lost: Kebab) -> None:
    done = lost("index", "--status")
    assert done.code == 2
    assert "hint: run `kebab ingest`" in done.err
    assert lost("ingest").code == 0
    assert lost("index", "--status").code == 0


@pytest.mark.parametrize("part", ["--rebuild-fts", "--embed"])
def test_a_part_of_a_lost_index_is_made_of_the_notes(lost: Kebab, part: str) -> None:
    assert lost("index", part).code == 0
    assert lost("list", "--json").json["total"] == 3
