"""Versions of a folder: what is stored, shared and found of them, and what becomes of their refs.

Row 4-4 of the specification 004: snippets are searched within a library and, if named, within one version.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from kebab_tui.domain.errors import (
    FilterError,
    KebabError,
    NotFoundError,
    StoreError,
    UnfinishedFilterError,
    UsageError,
)
from kebab_tui.domain.ids import SourceId
from kebab_tui.domain.query import SearchFilters, SearchQuery
from kebab_tui.indexing.versions import VersionReport
from kebab_tui.workspace import Callbacks
from tests.repositories import commit, everything_below, git, needs_git
from tests.vault import Vault

pytestmark = needs_git

NOTES = SourceId("notes")
SAME = "# Same\n\nA paragraph about lighthouses that never changes.\n"


@pytest.fixture
def vault(tmp_path: Path) -> Iterator[Vault]:
    """Notes in two commits, `v1` and `v2`, and as they are now."""
    made = Vault(tmp_path)
    commit(
        made.root,
        tag="v1",
        guide="# Guide\n\nThe kettle boils.\n\nOnly pears.\n",
        same=SAME,
        gone="# Gone\n\nferry\n",
    )
    commit(made.root, tag="v2", guide="# Guide\n\nThe teapot boils.\n\nOnly apples.\n", gone=None)
    commit(made.root, guide="# Guide\n\nThe samovar boils.\n")
    made.ingest()
    yield made
    made.workspace.close()


def add(vault: Vault, *names: str, glob: str = "", last: int = 0) -> list[VersionReport]:
    return list(vault.workspace.add_versions(NOTES, names, glob, last, Callbacks()))


def refresh(vault: Vault, *labels: str) -> list[VersionReport | tuple[str, str]]:
    return list(vault.workspace.refresh_versions(NOTES, labels, Callbacks()))


def cited(vault: Vault, text: str, mode: str = "lexical") -> list[str]:
    query = SearchQuery(text, mode)  # type: ignore[arg-type]
    return [str(hit.citation) for hit in vault.workspace.search(query).hits]


def database(vault: Vault) -> sqlite3.Connection:
    return sqlite3.connect(vault.data / "versions/kebab.sqlite")


def test_row_4_4_a_version_is_searched_alone_and_only_when_named(vault: Vault) -> None:
    before = everything_below(vault.root)
    present = {
        word: vault.workspace.search(SearchQuery(word, "lexical"))
        for word in ("boils", "pears", "lighthouses")
    }
    names, recent = vault.workspace.find("guide"), vault.workspace.recent(10)
    one, two = add(vault, "v1", "v2")
    assert (one.read, one.shared, one.version.notes) == (3, 0, 3)
    assert (two.read, two.shared, two.version.notes) == (1, 1, 2), "what v1 has as well is not read again"
    assert everything_below(vault.root) == before, "the notes and `.git` are byte-identical"
    for word, answer in present.items():
        after = vault.workspace.search(SearchQuery(word, "lexical"))
        assert (after.hits, after.total_matches, after.notices) == (
            answer.hits,
            answer.total_matches,
            answer.notices,
        )
    assert (vault.workspace.find("guide"), vault.workspace.recent(10).hits) == (names, recent.hits)
    assert vault.workspace.sources()[0].documents == 2
    assert cited(vault, "boils version:v1") == ["v1:guide.md:L1-L5"]
    assert cited(vault, "VERSION:v2 boils") == ["v2:guide.md:L1-L5"]
    assert cited(vault, "lighthouses version:v2") == ["v2:same.md:L1-L3"], "shared, and cited as asked for"
    assert cited(vault, "lighthouses version:v1,v2") == ["v2:same.md:L1-L3"], "once"
    assert cited(vault, "pears version:v2") == []
    assert cited(vault, "ferry version:v1 kind:info in:notes") == ["v1:gone.md:L1-L3"]
    assert len(cited(vault, "version:v1")) == 3, "a filter alone lists the notes"
    option = SearchQuery("boils", "lexical", filters=SearchFilters(versions=("v1",), sources=(NOTES,)))
    hit = vault.workspace.search(option).hits[0]
    assert (hit.source, hit.version, hit.path, hit.stale) == ("notes", "v1", "guide.md", False)
    explained = vault.workspace.explain(SearchQuery("boils version:v1", "lexical"))
    assert explained.hits[0].hit.citation == hit.citation
    why = vault.workspace.why_not(SearchQuery("samovar version:v1", "lexical"), "guide.md")
    assert why.stage == "no match"
    found = vault.workspace.find("guide", filters=SearchFilters(versions=("v1",)))
    assert [(note.location, note.document.source) for note in found] == [("v1:guide.md", "notes")]
    with pytest.raises(UsageError):
        vault.workspace.links("guide.md", "out", SearchFilters(versions=("v1",)))
    listed, total = vault.workspace.documents(SearchFilters(versions=("v2",)))
    assert ([note.source for note in listed], total) == (["notes@v2", "notes@v2"], 2)


@pytest.mark.parametrize("prefix", ["", "docs/"])
def test_git_show_takes_what_stands_before_the_lines(tmp_path: Path, prefix: str) -> None:
    repository = tmp_path / "notes"
    name = f"{prefix}메모".replace("/", "__")
    commit(repository, tag="v1.0", **{name: "# 메모\n\n주전자가 끓는다.\n\n## 둘\n\n배와 사과.\n"})
    commit(repository, **{name: "# 메모\n\n찻잔.\n"})
    vault = Vault(tmp_path)
    vault.root = repository / prefix
    vault.ingest()
    source = vault.workspace.sources()[0].source_id
    list(vault.workspace.add_versions(source, ["v1.0"], "", 0, Callbacks()))
    hit = vault.workspace.search(SearchQuery("사과 version:v1.0", "lexical")).hits[0]
    file, _, lines = str(hit.citation).rpartition(":")
    shown = git(repository, "show", file).split("\n")
    span = hit.citation.span
    assert lines == span.lines
    assert shown[span.first - 1 : span.last] == hit.text.split("\n")
    inspected = vault.workspace.inspect(str(hit.citation))
    assert (inspected.cited, [chunk.text for chunk in inspected.chunks]) == (span, [hit.text])
    assert str(inspected.cite(span)) == str(replace(hit.citation, section="")), "it parses back"
    place = vault.workspace.locate_citation(str(hit.citation))
    copy = Path(place.path)
    assert (place.is_copy, copy.name, copy.stat().st_mode & 0o777) == (True, "메모.md", 0o400)
    assert copy.read_text().split("\n") == [*shown, ""]
    assert copy.parent.parent.stat().st_mode & 0o777 == 0o700
    vault.workspace.close()


def test_an_existing_path_wins_over_a_version(vault: Vault) -> None:
    vault.write("v1:guide.md", "# Odd name\n\none\n")
    vault.ingest()
    add(vault, "v1")
    assert vault.workspace.inspect("v1:guide.md").document.title == "Odd name"
    assert vault.workspace.inspect("v1:guide.md:L3").version is None
    assert vault.workspace.inspect("v1:same.md:L3").version is not None


def test_unknown_versions_name_the_known_ones(vault: Vault) -> None:
    with pytest.raises(FilterError) as none:
        cited(vault, "boils version:v1")
    assert "source version add" in none.value.hint
    add(vault, "v1", "v2")
    with pytest.raises(FilterError, match="version:v3") as unknown:
        cited(vault, "boils version:v3")
    assert unknown.value.hint == "the versions are: v1, v2"
    with pytest.raises(UnfinishedFilterError):
        vault.workspace.search(SearchQuery("boils version:v", "lexical", typing=True))
    with pytest.raises(FilterError):
        cited(vault, "boils version:v1 in:elsewhere")
    with pytest.raises(NotFoundError):
        vault.workspace.inspect("v1:none.md:L3")
    values = [one.text for one in vault.workspace.completions().matching("version", "v")]
    assert values == ["v1", "v2"]


def test_moved_and_deleted_refs_are_said_and_kept(vault: Vault) -> None:
    git(vault.root, "branch", "next", "v1")
    add(vault, "v1", "v2", "next")
    git(vault.root, "branch", "-f", "next", "main")
    git(vault.root, "tag", "-f", "v1", "v2")
    git(vault.root, "tag", "-d", "v2")
    health = {one.label: (one.health, one.remark) for one in vault.workspace.versions()}
    was, now = (git(vault.root, "rev-parse", "--short=7", f"main~{n}") for n in (2, 1))
    assert health["v1"] == ("moved", f"v1 moved: {was} → {now}")
    assert health["v2"][0] == "ref gone"
    assert cited(vault, "pears version:v1") == ["v1:guide.md:L1-L5"], "as it was read"
    one, two, three = refresh(vault)
    assert isinstance(one, VersionReport)
    assert one.was is not None
    assert (one.was.commit[:7], one.version.commit[:7], one.read) == (was, now, 0), "v2 has it all"
    assert two == ("v2", "refs/tags/v2 is gone; what was read of it is kept until it is removed")
    assert isinstance(three, VersionReport)
    assert three.read == 1
    assert cited(vault, "pears version:v1") == []
    assert cited(vault, "apples version:v1") == ["v1:guide.md:L1-L5"]
    assert cited(vault, "samovar version:next") == ["next:guide.md:L1-L3"]
    assert cited(vault, "apples version:v2") == ["v2:guide.md:L1-L5"], "what was read stays"
    vault.workspace.remove_version(SourceId("notes@v2"), Callbacks())
    assert cited(vault, "apples version:v1") == ["v1:guide.md:L1-L5"], "another version has it, too"
    for label in ("v1", "next"):
        vault.workspace.remove_version(SourceId(f"notes@{label}"), Callbacks())
    assert database(vault).execute("SELECT count(*) FROM documents").fetchone() == (0,)
    assert database(vault).execute("SELECT count(*) FROM chunks").fetchone() == (0,)


def test_a_stopped_run_shows_nothing_and_goes_on(vault: Vault) -> None:
    calls = iter(range(100))
    (report,) = vault.workspace.add_versions(
        NOTES, ["v1"], "", 0, Callbacks(cancelled=lambda: next(calls) > 0)
    )
    assert (report.cancelled, report.version.health) == (True, "unfinished")
    assert vault.workspace.versions()[0].health == "unfinished"
    assert cited(vault, "version:v1") == []
    (again,) = refresh(vault, "v1")
    assert isinstance(again, VersionReport)
    assert (again.version.notes, again.version.health) == (3, "ok")
    assert refresh(vault)[0].unchanged  # type: ignore[union-attr]


def test_a_version_is_not_verified_against_the_present_file(vault: Vault) -> None:
    add(vault, "v1")
    (vault.root / "guide.md").unlink()
    hit = vault.workspace.search(SearchQuery("pears version:v1", "lexical")).hits[0]
    assert vault.workspace.locate(hit).state == "same"
    quoted = vault.workspace.quote(hit)
    assert quoted is not None
    assert (quoted.hit.text, str(quoted.hit.citation)) == (hit.text, "v1:guide.md:L1-L5")
    shutil.rmtree(vault.root / ".git")
    vault.restart()
    assert vault.workspace.search(SearchQuery("pears version:v1", "lexical")).hits[0].text == hit.text
    assert vault.workspace.versions()[0].health == "unreadable"


def test_private_notes_stay_private_in_versions(tmp_path: Path) -> None:
    vault = Vault(tmp_path)
    secret = "---\nprivate: true\n---\n# Was\n\nword\n"
    commit(vault.root, tag="v1", was=secret, rule="# R\n\nword\n", now="# N\n\nword\n", open="# O\n\nword\n")
    commit(vault.root, was="# Was\n\nword\n", now="---\nprivate: true\n---\nword\n")
    (vault.root / ".kebabprivate").write_text("rule.md\n")
    vault.ingest()
    add(vault, "v1")
    shareable = SearchFilters(shareable=True)
    hits = vault.workspace.search(SearchQuery("word version:v1", "lexical", filters=shareable)).hits
    quoted = [hit.path for hit in hits if vault.workspace.quote(hit) is not None]
    assert quoted == ["open.md"], "private then, or private now, by its text or by a rule"
    for path in ("was", "rule", "now"):
        with pytest.raises(KebabError):
            vault.workspace.quote_target(f"v1:{path}.md:L3", shareable)
    assert str(vault.workspace.quote_target("v1:open.md:L3", shareable).citation) == "v1:open.md:L3"
    assert len(cited(vault, "word version:v1")) == 4, "the user sees them all"
    vault.workspace.close()


def test_what_cannot_be_read_is_named(vault: Vault) -> None:
    pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 12\n"
    commit(vault.root, tag="v3", big=pointer, guide="\0binary")
    (report,) = add(vault, "v3")
    assert {(file.path, file.outcome) for file in report.failed} == {
        ("big.md", "skipped"),
        ("guide.md", "skipped"),
    }
    assert "LFS" in next(file.detail for file in report.failed if file.path == "big.md")
    assert cited(vault, "lighthouses version:v3") == ["v3:same.md:L1-L3"], "no file stops the rest"


def test_labelled_folders(vault: Vault, tmp_path: Path) -> None:
    old = tmp_path / "old"
    shutil.copytree(vault.root, old, ignore=shutil.ignore_patterns(".git"))
    (old / "guide.md").write_text("# Guide\n\nThe cauldron boils.\n")

    def add_folder(folder: Path, label: str) -> VersionReport:
        (report,) = vault.workspace.add_version_folder(NOTES, str(folder), label, Callbacks())
        return report

    assert add_folder(old, "2024").read == 2
    assert cited(vault, "cauldron version:2024") == ["2024:guide.md:L1-L3"]
    assert vault.workspace.inspect("2024:guide.md:L3").version is not None
    (old / "guide.md").write_text("# Guide\n\nThe boiler boils.\n")
    (old / "same.md").unlink()
    stale = vault.workspace.search(SearchQuery("cauldron version:2024", "lexical")).hits[0]
    assert stale.stale
    (report,) = refresh(vault, "2024")
    assert isinstance(report, VersionReport)
    assert (report.read, report.version.notes) == (1, 1)
    assert cited(vault, "boiler version:2024") == ["2024:guide.md:L1-L3"]
    for folder, label in ((vault.root, "x"), (old, "other"), (old, "a b"), (old, "--help"), (old, "a:b")):
        with pytest.raises(UsageError):
            add_folder(folder, label)
    shutil.rmtree(old)
    assert vault.workspace.versions()[0].health == "unreadable"


def test_tags_by_a_pattern(vault: Vault) -> None:
    for tag in ("v9", "v10", "v10-rc1", "other"):
        git(vault.root, "tag", tag, "v1")
    git(vault.root, "update-ref", "refs/tags/--help", "v1")
    reports = add(vault, glob="*[0-9p]", last=3)
    assert [report.version.label for report in reports] == ["v9", "v10-rc1", "v10"]
    with pytest.raises(KebabError, match="no tag matches"):
        add(vault, glob="w*")
    with pytest.raises(UsageError, match="dash"):
        add(vault, "--help")


@pytest.mark.slow
def test_a_damaged_index_of_versions_leaves_the_notes_alone_and_is_read_again(vault: Vault) -> None:
    add(vault, "v1", "v2")
    vault.workspace.close()
    damaged = vault.data / "versions/kebab.sqlite"
    damaged.write_bytes(damaged.read_bytes()[:20_000] + b"\0" * 60_000)
    vault.restart()
    assert cited(vault, "samovar") == ["guide.md:L1-L3"]
    with pytest.raises(StoreError) as error:
        cited(vault, "boils version:v1")
    assert "source version refresh" in error.value.hint
    assert {one.check for one in vault.workspace.doctor() if one.level == "problem"}
    one, *_ = refresh(vault)
    assert isinstance(one, VersionReport)
    assert (one.read, cited(vault, "boils version:v1")) == (3, ["v1:guide.md:L1-L5"])
    assert "problem" not in {one.level for one in vault.workspace.doctor() if "versions" in one.check}


def test_a_removed_folder_takes_its_versions_along(vault: Vault) -> None:
    add(vault, "v1")
    vault.workspace.remove_source(NOTES, Callbacks())
    assert vault.workspace.stored_versions() == []


@pytest.mark.slow
def test_unchanged_text_costs_no_vectors(vault: Vault) -> None:
    vault.workspace.embed(Callbacks())
    add(vault, "v1", "v2")
    assert vault.workspace.versions_pending() == 3, "two texts of guide.md, and gone.md"
    hit = vault.workspace.search(SearchQuery("a beacon by the sea version:v2", "vector")).hits[0]
    assert str(hit.citation) == "v2:same.md:L1-L3"
    assert vault.workspace.embed(Callbacks()).embedded == 3
    assert "v1:gone.md:L1-L3" in cited(vault, "a boat across the water version:v1", "vector")
    assert os.path.getmtime(vault.data / "versions/kebab.sqlite") > 0
