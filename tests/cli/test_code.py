"""Source code on the command line: switching it on, its language, golden queries."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.command_line import ROOT, Kebab
from tests.wire.test_schemas import check

CODE = ROOT / "fixtures/code"


@pytest.fixture
def orchard(kebab: Kebab) -> Kebab:
    kebab("source", "add", str(CODE), "--id", "orchard", "--code")
    assert kebab("ingest").code == 0
    return kebab


def test_code_is_off_unless_asked_for(kebab: Kebab, tmp_path: Path) -> None:
    notes = tmp_path / "valves"
    notes.mkdir()
    (notes / "a.md").write_text("# Valves\n")
    (notes / "a.py").write_text("def valves(): pass\n")
    done = kebab("ingest", str(notes))
    assert "1 added; 1 other file not read: py 1" in done.out
    added = kebab("source", "edit", kebab("source", "list", "--json").json["items"][0]["source_id"], "--code")
    assert "run `kebab ingest` to apply the patterns and --code" in added.err
    assert "1 added, 1 unchanged" in kebab("ingest").out
    (listed,) = kebab("source", "list", "--json").json["items"]
    assert listed["code"] is True
    kebab("source", "edit", listed["source_id"], "--no-code")
    assert "1 removed, 1 unchanged" in kebab("ingest").out


def test_code_can_be_turned_on_in_the_configuration(kebab: Kebab, tmp_path: Path) -> None:
    notes = tmp_path / "sources"
    notes.mkdir()
    (notes / "a.py").write_text("def valves(): pass\n")
    config = tmp_path / "config.toml"
    for text, found in (
        ("[reading]\ncode = true\n", 0),
        ("", 1),
        (f"[[sources]]\npath = '{notes}'\ncode = true\n", 0),
    ):
        config.write_text(text)
        kebab("ingest", str(notes), KEBAB_CONFIG=str(config))
        assert kebab("search", "valves", "--mode", "lexical", KEBAB_CONFIG=str(config)).code == found, text


def test_the_language_is_shown_and_fences_the_context(orchard: Kebab) -> None:
    assert "type: code (python), en, primary" in orchard("inspect", "irrigation.py").out
    document = orchard("inspect", "irrigation.py", "--json").json
    check(document, "inspection.v1")
    assert document["document"]["code_language"] == "python"
    response = orchard("search", "scion rejected", "--mode", "lexical", "--json").json
    check(response, "search_response.v1")
    (hit, *_) = response["hits"]
    assert (hit["type"], hit["code_language"], hit["kind"]) == ("code", "rust", "code")
    context = orchard("search", "scion rejected", "--mode", "lexical", "--format", "context", "-n", "1").out
    assert "```rust\nimpl Incompatibilities {\n    /// Remembers that a union broke" in context
    assert "*impl Incompatibilities > record\\_rejection*\norchard/src/grafting.rs:L17-L24\n" in context


def test_open_goes_to_the_line_of_a_citation(orchard: Kebab) -> None:
    done = orchard("open", "orchard/src/grafting.rs:L17", "--print", KEBAB_EDITOR="vim")
    assert "grafting.rs" in done.out


@pytest.mark.slow
def test_the_golden_queries_for_code_are_found_where_they_should_be(orchard: Kebab) -> None:
    report = orchard("eval", str(ROOT / "fixtures/golden-code.yaml"), "--modes", "lexical", "--json").json
    assert report["set"]["queries"] >= 6
    assert report["modes"]["lexical"]["hit@1"] == 1
