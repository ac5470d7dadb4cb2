"""`kebab search`: queries, hits and exit codes."""

from __future__ import annotations

import re
import sqlite3
import subprocess
from pathlib import Path

import pytest

from tests.command_line import Kebab

# asking


def test_several_words_are_one_query(indexed: Kebab) -> None:
    assert indexed("search", "rust", "workspace", "--json").json["query"] == "rust workspace"


def test_something_found_is_0_and_nothing_found_is_1(indexed: Kebab) -> None:
    assert indexed("search", "docker").code == 0
    nothing = indexed("search", "qqqqzzzz", "--mode", "lexical")
    assert (nothing.code, nothing.out) == (1, "")
    assert nothing.err.startswith("nothing found · keyword")


def test_notes_with_one_path_are_distinguished_by_their_folders(kebab: Kebab, tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "same.md").write_text(f"zephyr of {name}")
        (tmp_path / name / f"{name}.md").write_text("zephyr alone")
        kebab("ingest", str(tmp_path / name))
    lines = kebab("search", "zephyr", "--mode", "lexical", "--format", "human").lines
    told = sorted(line.strip() for line in lines if "doc: " in line)
    assert told == [
        "doc: one.md",
        f"doc: same.md  (in {tmp_path / 'one'})",
        f"doc: same.md  (in {tmp_path / 'two'})",
        "doc: two.md",
    ]


@pytest.mark.parametrize("query", ["", "   ", "''"])
def test_an_empty_query_finds_nothing_and_is_no_error(indexed: Kebab, query: str) -> None:
    done = indexed("search", query)
    assert (done.code, done.out) == (1, "")


@pytest.mark.parametrize("option", ["--k", "--top", "-n", "--limit"])
def test_how_many_has_four_spellings(indexed: Kebab, option: str) -> None:
    assert indexed("search", "the", option, "3", "--json").json["returned"] == 3


def test_pages_fit_together(indexed: Kebab) -> None:
    whole = indexed("search", "the", "-n", "6", "--json").json["hits"]
    first = indexed("search", "the", "-n", "3", "--json").json
    second = indexed("search", "the", "-n", "3", "--offset", str(first["next_offset"]), "--json").json
    assert [hit["chunk_id"] for hit in whole] == [hit["chunk_id"] for hit in first["hits"] + second["hits"]]
    assert [hit["rank"] for hit in second["hits"]] == [4, 5, 6]


def test_a_word_behind_two_dashes_may_begin_with_one(indexed: Kebab) -> None:
    without = indexed("search", "--", "container", "-docker", "--json")
    assert without.code == 0
    assert indexed("search", "container", "--json").json["total_matches"] > 0


@pytest.mark.parametrize("word", ["-docker", "--explian", "-note"])
def test_a_word_that_looks_like_an_option_is_explained(indexed: Kebab, word: str) -> None:
    done = indexed("search", word)
    assert done.code == 2
    assert "kebab search -- -word" in done.err


def test_filters_alone_list_what_passes(indexed: Kebab) -> None:
    done = indexed("search", "--tag", "요리", "--json", "-n", "100").json
    assert {hit["doc_path"] for hit in done["hits"]} == tagged(indexed, "요리")


# filtering


def paths(kebab: Kebab, *argv: str) -> set[str]:
    return {hit["doc_path"] for hit in kebab("search", *argv, "-n", "100", "--json").json["hits"]}


def tagged(kebab: Kebab, *tags: str) -> set[str]:
    items = kebab("list", "--json").json["items"]
    return {item["path"] for item in items if set(tags) <= set(item["tags"])}


def test_tag_repeated_is_any_and_tags_with_commas_is_all(indexed: Kebab) -> None:
    docker, network = tagged(indexed, "docker"), tagged(indexed, "network")
    assert docker
    assert network - docker
    assert paths(indexed, "--tag", "docker", "--tag", "network") == docker | network
    assert paths(indexed, "--tags", "docker,network") == docker & network
    assert paths(indexed, "--tag", "network", "--no-tag", "docker") == network - docker


def test_a_glob_stays_within_a_folder_unless_it_has_two_stars(indexed: Kebab) -> None:
    assert paths(indexed, "--path-glob", "*.md") == {"README.md", "시작하기.md"}
    assert {path.partition("/")[0] for path in paths(indexed, "--path-glob", "travel/**")} == {"travel"}


@pytest.mark.parametrize(
    ("flags", "key", "value"),
    [
        (("--type", "note"), "type", "note"),
        (("--kind", "code"), "kind", "code"),
        (("--lang", "en"), "lang", "en"),
        (("--in", "notes"), "source_id", "notes"),
    ],
)
def test_each_filter_lets_only_its_own_pass(
    indexed: Kebab, flags: tuple[str, str], key: str, value: str
) -> None:
    hits = indexed("search", *flags, "-n", "100", "--json").json["hits"]
    assert {hit[key] for hit in hits} == {value}


def test_dates_trust_and_ids_filter_too(indexed: Kebab) -> None:
    everything = paths(indexed, "docker")
    assert paths(indexed, "docker", "--modified", "2025-12", "--modified", "<2026-02") == everything
    assert paths(indexed, "docker", "--modified", "2026-02") == set()
    dated = paths(indexed, "docker", "--after", "2026-02-28", "--before", "2026-03")
    assert dated == {"infra/docker.md"}, "front matter comes before the time of the file"
    assert paths(indexed, "docker", "--trust-min", "generated") == everything
    one = indexed("search", "docker", "-n", "1", "--json").json["hits"][0]
    assert paths(indexed, "docker", "--doc-id", one["doc_id"]) == {one["doc_path"]}


def test_strict_does_not_fill_up_with_hits_that_lack_words(indexed: Kebab) -> None:
    assert any(hit["relaxed"] for hit in indexed("search", "docker sourdough", "--json").json["hits"])
    assert indexed("search", "docker sourdough", "--strict").code == 1


def test_a_corrected_word_is_said_and_exact_searches_it_as_typed(indexed: Kebab) -> None:
    done = indexed("search", "dokcer", "--mode", "lexical", "--json")
    assert (done.code, done.json["query"]) == (0, "dokcer")
    assert done.json["corrections"] == [{"typed": "dokcer", "searched": "docker"}]
    assert done.json["hits"] == indexed("search", "docker", "--mode", "lexical", "--json").json["hits"]
    said = indexed("search", "dokcer", "--mode", "lexical")
    assert "also searched: docker (for dokcer)" in said.err.splitlines()
    exact = indexed("search", "dokcer", "--mode", "lexical", "--exact")
    assert (exact.code, exact.out) == (1, "")
    assert "also searched" not in exact.err


# why not


def test_why_not_names_the_stage_that_dropped_a_note(indexed: Kebab) -> None:
    assert "no match" in indexed("search", "docker", "--why-not", "sourdough.md").out
    assert "left out by" in indexed("search", "docker", "--lang", "en", "--why-not", "infra/docker.md").out
    assert indexed("search", "docker", "--why-not", "infra/docker.md", "--json").json["stage"] == "listed"
    assert "not indexed" in indexed("search", "docker", "--why-not", "nowhere.md").out


# no index, a damaged index, a changed note


def test_without_an_index_the_next_command_is_named(kebab: Kebab) -> None:
    done = kebab("search", "docker")
    assert done.code == 2
    assert "kebab ingest FOLDER" in done.err
    assert not kebab.data.exists()


def test_a_damaged_index_is_rebuilt_from_the_notes_and_answers(kebab: Kebab, notes: Path) -> None:
    kebab("ingest", str(notes))
    (kebab.data / "kebab.sqlite").write_bytes(b"not a database at all" * 500)
    for companion in kebab.data.glob("kebab.sqlite-*"):
        companion.unlink()
    done = kebab("search", "listeners")
    assert done.code == 0
    assert done.out == f"{notes}/port.md:6:Two listeners collide.\n"
    assert "rebuilding it from your notes" in done.err
    assert list(kebab.data.glob("kebab.sqlite.damaged-*"))


def test_damage_that_only_a_query_meets_is_mended_too(kebab: Kebab, notes: Path) -> None:
    kebab("ingest", str(notes))
    (kebab.data / "kebab.seal").unlink()  # it would tell at once
    with sqlite3.connect(kebab.data / "kebab.sqlite") as database:
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        database.execute("UPDATE chunks_fts_data SET block = x'00' WHERE id > 10")
    database.close()
    done = kebab("search", "listeners")
    assert done.code == 0, done.err
    assert "port.md:6:" in done.out


def test_a_note_changed_since_is_marked(kebab: Kebab, notes: Path) -> None:
    kebab("ingest", str(notes))
    (notes / "port.md").write_text("# Port conflict\n\nGone.\n")
    done = kebab("search", "listeners", "--format", "human")
    assert "changed since it was indexed" in done.out
    assert "run `kebab ingest`" in done.err
    (notes / "port.md").unlink()
    assert "gone: the file is no longer there" in kebab("search", "listeners", "--format", "human").out


# in a process of its own


def test_a_pipe_gets_one_line_for_each_hit_and_no_escapes(indexed: Kebab) -> None:
    argv = [*indexed.argv, "search", "포트", "충돌", "-n", "2"]
    environ = {**indexed.environ, "TERM": "xterm-256color"}
    done = subprocess.run(argv, capture_output=True, env=environ, timeout=60, check=True)
    out = done.stdout.decode()
    assert "\x1b" not in out
    assert re.fullmatch(r"(.+\.md:\d+:.+\n){2}", out)
    assert re.fullmatch(r"(.*\n)*2 of \d+ hits · keyword · \d+ ms\n", done.stderr.decode())


def test_a_closed_output_gives_only_the_exit_code(indexed: Kebab) -> None:
    argv = ["sh", "-c", 'exec "$@" >&- 2>&-', "sh", *indexed.argv, "search"]
    found, nothing = (
        subprocess.run([*argv, word], env=indexed.environ, timeout=60, check=False).returncode
        for word in ("docker", "tag:nobody-has-it")
    )
    assert (found, nothing) == (0, 1)
