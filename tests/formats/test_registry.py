"""The registry of formats."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from kebab_tui.domain.names import typed_name_key
from kebab_tui.domain.query import SearchQuery
from kebab_tui.formats.registry import FORMATS, Format, format_of
from kebab_tui.wire.encode import search_response
from kebab_tui.wire.reports import inspection
from tests.formats import toy
from tests.vault import Vault
from tests.wire.test_schemas import check


@pytest.mark.parametrize(
    ("name", "type_"),
    [
        ("a.md", "markdown"),
        ("A.MD", "markdown"),
        ("a.Markdown", "markdown"),
        ("a.b.mkd", "markdown"),
        ("a.mdx", "markdown"),
        ("메모.txt", "note"),
        ("a.TEXT", "note"),
    ],
)
def test_a_file_has_the_type_of_its_ending_in_any_case(name: str, type_: str) -> None:
    found = format_of(name)
    assert found is not None
    assert found.id == type_


def test_the_ending_of_a_typed_name_does_not_matter() -> None:
    endings = [extension for kind in FORMATS.values() for extension in kind.extensions]
    assert {typed_name_key(f"infra/Ports{ending}") for ending in endings} == {"ports"}


@pytest.mark.parametrize("name", ["README", "a.png", ".md", "md", "", "a.md~", "a.md.bak", "a."])
def test_other_names_have_none(name: str) -> None:
    assert format_of(name) is None


def test_no_ending_is_claimed_twice() -> None:
    endings = [extension for kind in FORMATS.values() for extension in kind.extensions]
    assert len(endings) == len(set(endings))
    assert all(extension == extension.lower() and extension.startswith(".") for extension in endings)


TOY = Format("toy", (".toy",), "tests.formats.toy", version=1, max_bytes=1000)
REGISTERED = """
from kebab_tui.formats.registry import FORMATS, Format
FORMATS["toy"] = Format("toy", (".toy",), "tests.formats.toy", version=1)
from kebab_tui.cli import main
main()
"""


@pytest.fixture
def vault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Vault]:
    """A vault with one note of each format, one of them registered by a single line."""
    monkeypatch.setitem(FORMATS, "toy", TOY)
    made = Vault(tmp_path)
    made.write("a.md", "# Kettle\n\nwater\n")
    made.write("b.txt", "kettle and water\n")
    made.write("c.toy", "= Teapot\nwater for the teapot\n")
    made.ingest()
    toy.read.clear()
    yield made
    made.workspace.close()


def test_a_registered_format_is_read_searched_and_cited(vault: Vault) -> None:
    (hit,) = vault.workspace.search(SearchQuery("teapot", mode="lexical")).hits
    assert (hit.title, hit.type, str(hit.citation)) == ("Teapot", "toy", "c.toy:L1-L2")


def test_a_registered_format_is_a_filter_with_completion(vault: Vault) -> None:
    assert vault.find("water type:toy") == ["c.toy"]
    assert vault.find("water type:markdown") == ["a.md"]
    assert "toy" in vault.workspace.completions().values["type"]


def test_a_registered_format_is_in_json_that_keeps_its_schema(vault: Vault) -> None:
    response = json.loads(json.dumps(search_response(vault.workspace.search(SearchQuery("teapot")))))
    check(response, "search_response.v1")
    assert [hit["type"] for hit in response["hits"]] == ["toy"]
    found = json.loads(json.dumps(inspection(vault.workspace.inspect("c.toy"))))
    check(found, "inspection.v1")
    assert found["document"]["type"] == "toy"


def test_the_doctor_counts_the_files_of_a_registered_format(vault: Vault) -> None:
    details = {finding.check: finding.detail for finding in vault.workspace.doctor()}
    assert details["formats"].endswith("markdown 1, note 1, toy 1")


def test_why_not_judges_a_note_of_a_registered_format(vault: Vault) -> None:
    assert vault.workspace.why_not(SearchQuery("kettle", "lexical"), "c.toy").stage == "no match"
    vault.write("d.toy", "later")
    assert vault.workspace.why_not(SearchQuery("later"), "d.toy").detail == "not scanned yet"
    vault.write("d.toys", "later")
    assert vault.workspace.why_not(SearchQuery("later"), "d.toys").detail == "unsupported file type"


def test_raising_the_version_of_a_format_reads_only_its_files(
    vault: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert vault.outcomes() == {}
    assert toy.read == []
    monkeypatch.setitem(FORMATS, "toy", replace(TOY, version=2))
    vault.restart()
    assert vault.outcomes() == {"c.toy": "changed"}
    assert toy.read == ["c.toy"]
    assert vault.outcomes() == {}
    assert vault.rows("SELECT path, made_by FROM documents ORDER BY path") == [
        ("a.md", "markdown@3/2:1200-4000"),
        ("b.txt", "note@3/2:1200-4000"),
        ("c.toy", "toy@2/2:1200-4000"),
    ]


def test_a_format_has_its_own_limits_of_size_and_time(vault: Vault, monkeypatch: pytest.MonkeyPatch) -> None:
    vault.write("c.toy", "x" * 1001)
    vault.write("a.md", "x" * 1001)
    assert vault.outcomes() == {"a.md": "changed", "c.toy": "skipped"}
    monkeypatch.setitem(FORMATS, "toy", replace(TOY, version=2, max_bytes=None, cpu_seconds=-1))
    vault.restart()
    assert vault.outcomes() == {"c.toy": "failed"}
    (reason,) = vault.rows("SELECT reason FROM documents WHERE path = 'c.toy'")
    assert "took too long" in str(reason)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("argv", "variables"),
    [
        (["search", "--help"], {}),
        ([], {"_KEBAB_COMPLETE": "zsh_complete", "COMP_WORDS": "kebab search --type t", "COMP_CWORD": "3"}),
    ],
)
def test_help_and_shell_completion_list_a_registered_format(
    argv: list[str], variables: dict[str, str], tmp_path: Path
) -> None:
    environ = {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path),
        "PYTHONPATH": str(Path(__file__).parents[2]),
    }
    done = subprocess.run(
        [sys.executable, "-c", REGISTERED, *argv],
        env=environ | variables,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert "toy" in done.stdout
