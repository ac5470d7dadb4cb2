"""The filter `name:` finds parts of the names of a note, in a query and as an option."""

from __future__ import annotations

import unicodedata
from pathlib import Path

import pytest

from kebab_tui.domain.query import SearchQuery
from tests.command_line import Kebab
from tests.vault import Vault

NOTES = {
    "Zebra-plan.md": "---\naliases: [Quokka list]\n---\n# The striped one\n\nalpha\n",
    "zebra.md": "alpha\n",
    "infra/README.md": "alpha\n",
    unicodedata.normalize("NFD", "회의록.md"): "alpha\n",
    "other.md": "alpha zebra\n",
}


@pytest.fixture(scope="module")
def vault(tmp_path_factory: pytest.TempPathFactory) -> Vault:
    made = Vault(tmp_path_factory.mktemp("names"))
    for path, text in NOTES.items():
        made.write(path, text)
    made.ingest()
    return made


@pytest.mark.parametrize(
    ("query", "paths"),
    [
        ("name:zebra", ["Zebra-plan.md", "zebra.md"]),
        ("NAME:ZEB alpha", ["Zebra-plan.md", "zebra.md"]),
        ('name:"zebra plan"', ["Zebra-plan.md"]),
        ("name:a_pl", ["Zebra-plan.md"]),
        ("name:quokka", ["Zebra-plan.md"]),
        ("name:striped", ["Zebra-plan.md"]),
        ("name:infra", ["infra/README.md"]),
        ("name:회의", ["회의록.md"]),
        ("name:quokka,회의", ["Zebra-plan.md", "회의록.md"]),
        ("name:zebra name:quokka", ["Zebra-plan.md"]),
        ("alpha -name:zebra", ["infra/README.md", "other.md", "회의록.md"]),
        ("alpha -name:zebra,infra", ["other.md", "회의록.md"]),
        ("name:nothing", []),
        ("name:%", []),
    ],
)
def test_a_query_filters_by_name(vault: Vault, query: str, paths: list[str]) -> None:
    hits = vault.workspace.search(SearchQuery(query, "lexical", k=50)).hits
    assert sorted({hit.path for hit in hits}) == paths


def test_names_are_completed(vault: Vault) -> None:
    assert {"Zebra-plan", "zebra", "infra", "회의록"} <= set(vault.workspace.completions().values["name"])


def test_the_options_and_the_reason_name_it(tmp_path: Path) -> None:
    kebab, folder = Kebab(tmp_path / "data", tmp_path / "home"), tmp_path / "notes"
    for path, text in NOTES.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    kebab("ingest", str(folder))

    def found(*argv: str) -> list[str]:
        return sorted(hit["doc_path"] for hit in kebab("search", "alpha", *argv, "--json").json["hits"])

    assert found("--name", "zebra") == ["Zebra-plan.md", "zebra.md"]
    assert found("--name", "quokka", "--name", "infra") == ["Zebra-plan.md", "infra/README.md"]
    assert found("--names", "zebra,plan") == ["Zebra-plan.md"]
    assert found("--no-name", "zebra") == ["infra/README.md", "other.md", "회의록.md"]
    assert {note["path"] for note in kebab("list", "--name", "zebra", "--json").json["items"]} == {
        "Zebra-plan.md", "zebra.md"
    }  # fmt: skip
    done = kebab("search", "alpha name:zebra", "--why-not", "other.md", "--mode", "lexical")
    assert "left out by name:zebra" in done.out
