"""Links are resolved when they are read: in notes that stand, move, appear, and are called alike."""

from __future__ import annotations

import os
import shutil
import unicodedata
from collections.abc import Iterator
from pathlib import Path

import pytest

from kebab_tui.domain.errors import FilterError, NotFoundError, UnfinishedFilterError
from kebab_tui.domain.links import LinkDirection, link_key, path_keys
from kebab_tui.domain.query import SearchFilters, SearchQuery
from kebab_tui.workspace import Callbacks
from tests.command_line import SAMPLE
from tests.effort import cpu_seconds
from tests.search.link_reference import Reference
from tests.vault import Vault


@pytest.fixture
def vault(tmp_path: Path) -> Iterator[Vault]:
    made = Vault(tmp_path)
    yield made
    made.workspace.close()


def shown(vault: Vault, target: str, direction: LinkDirection) -> list[tuple[str, str, str | None]]:
    """The line of each link, its target as written, and what it leads to."""
    found = vault.workspace.links(target, direction).links
    return [
        (
            str(one.citation),
            str(one.link),
            str(one.target_citation or one.file or one.problem or one.link.path),
        )
        for one in found
    ]


def leads(vault: Vault, written: str, note: str = "from.md") -> list[str]:
    """The notes that a link in a note could mean, the nearest first."""
    vault.write(note, f"{written}\n")
    vault.ingest()
    (link,) = vault.workspace.links(note, "out").links
    return [one.path for one in link.candidates] or ([link.target.path] if link.target else [])


@pytest.mark.parametrize(
    ("written", "path"),
    [
        ("[[Zebra]]", "animals/Zebra.md"),
        ("[[zebra]]", "animals/Zebra.md"),
        ("[[ZEBRA.md]]", "animals/Zebra.md"),
        ("[[animals/zebra]]", "animals/Zebra.md"),
        ("[[/animals/Zebra]]", "animals/Zebra.md"),
        ("[x](animals/Zebra.md)", "animals/Zebra.md"),
        ("[x](./animals/Zebra.md)", "animals/Zebra.md"),
        ("[x](animals/Zebra.md#none)", "animals/Zebra.md"),
        ("[[The striped one]]", "animals/Zebra.md"),
        ("[[quokka]]", "animals/Zebra.md"),
        ("[[docs/flex]]", "docs/flex/index.md"),
        ("[[flex]]", "docs/flex/index.md"),
        ("[[docs/flex/index]]", "docs/flex/index.md"),
        ("[x](docs/flex/)", "docs/flex/index.md"),
        ("[[제주도]]", "여행/제주도.md"),
        (unicodedata.normalize("NFD", "[[제주도]]"), "여행/제주도.md"),
        ("[x](%EC%97%AC%ED%96%89/%EC%A0%9C%EC%A3%BC%EB%8F%84.md)", "여행/제주도.md"),
        ("[[plain]]", "plain.txt"),
        ("[[a.b]]", "a.b.md"),
        ("[[TCP/IP]]", "net.md"),
    ],
)
def test_a_link_means_a_path_a_name_a_title_or_an_alias(vault: Vault, written: str, path: str) -> None:
    vault.write("animals/Zebra.md", "---\naliases: [Quokka]\n---\n# The striped one\n")
    vault.write("docs/flex/index.md", "flex\n")
    vault.write(unicodedata.normalize("NFD", "여행/제주도.md"), "바다\n")
    vault.write("plain.txt", "x\n")
    vault.write("a.b.md", "x\n")
    vault.write("net.md", "# TCP/IP\n")
    assert leads(vault, written) == [path]


@pytest.mark.parametrize(
    "written", ["[x](../Zebra.md)", "[[./Zebra]]", "[[none/Zebra]]", "[[/Zebra]]", "[[Zebr]]"]
)
def test_a_stated_place_is_not_looked_for_elsewhere(vault: Vault, written: str) -> None:
    vault.write("animals/Zebra.md", "x\n")
    assert leads(vault, written, "docs/from.md") == []


def test_the_nearest_of_several_counts_and_all_are_told(vault: Vault) -> None:
    for path in ("plan.md", "a/plan.md", "a/b/plan.md", "c/plan.md"):
        vault.write(path, "x\n")
    assert leads(vault, "[[plan]]", "a/from.md") == ["a/plan.md", "plan.md", "a/b/plan.md", "c/plan.md"]
    assert leads(vault, "[[plan]]", "a/b/d/from.md") == ["a/b/plan.md", "a/plan.md", "plan.md", "c/plan.md"]
    assert leads(vault, "[x](plan.md)", "a/from.md") == ["a/plan.md"], "a path is not ambiguous"
    assert leads(vault, "[[c/plan]]", "a/from.md") == ["c/plan.md"]


def test_names_that_differ_in_case_or_normalisation_are_told_apart(vault: Vault) -> None:
    decomposed = unicodedata.normalize("NFD", "가나")
    for path in ("x/Note.md", "x/note.md", f"{decomposed}.md"):
        vault.write(path, "x\n")
    assert leads(vault, "[[x/note]]") == ["x/note.md"]
    assert leads(vault, "[[x/Note]]") == ["x/Note.md"]
    assert leads(vault, "[[NOTE]]") == ["x/Note.md", "x/note.md"]
    assert leads(vault, "[[가나]]") == ["가나.md"]


def test_a_heading_or_a_block_cites_its_lines(vault: Vault) -> None:
    vault.write(
        "b.md",
        "---\ntitle: B\n---\n# Top\n\nintro ^one\n\n## What's *new*? 1.0\n\ntext\nmore\n\n### Deep\n\nx\n\n"
        "## Again\n\n### Deep\n\ny\n\n- item\n- named ^two\n\n> a quote\n> of lines\n\n^three\n",
    )
    expected = {
        "b": "b.md:L1",
        "b#Top": "b.md:L4-L29",
        "b#what's new? 1.0": "b.md:L8-L15",
        "b#Again": "b.md:L17-L29",
        "b#Deep": "b.md:L13-L15",
        "b#Again#Deep": "b.md:L19-L29",
        "b#^one": "b.md:L6",
        "b#^two": "b.md:L24",
        "b#^three": "b.md:L26-L27",
        "b#Nothing": "b.md:L1",
        "b#^none": "b.md:L1",
    }
    slugs = {"b.md#whats-new-10": "b.md:L8-L15", "b.md#deep-1": "b.md:L19-L29"}
    text = [*(f"[[{target}]]" for target in expected), *(f"[x]({target})" for target in slugs)]
    vault.write("a.md", "\n".join(text) + "\n")
    vault.ingest()
    found = vault.workspace.links("a.md", "out").links
    cited = {str(one.link): str(one.target_citation) for one in found}
    assert cited == expected | slugs
    assert {str(one.link): one.problem for one in found if one.problem} == {
        "b#Nothing": "no_heading",
        "b#^none": "no_block",
    }


def test_a_link_within_a_note_cites_its_lines_and_is_no_backlink(vault: Vault) -> None:
    vault.write("a.md", "# A\n\n[[#Part]] [[a#Part]]\n\n## Part\n\nx\n")
    vault.ingest()
    assert shown(vault, "a.md", "out") == [
        ("a.md:L3", "#Part", "a.md:L5-L7"),
        ("a.md:L3", "a#Part", "a.md:L5-L7"),
    ]
    assert shown(vault, "a.md", "in") == []


def test_a_note_that_appears_moves_or_goes_is_resolved_without_reading_the_others(vault: Vault) -> None:
    vault.write("a.md", "[[later]] [[Its title]]\n")
    vault.ingest()
    assert [one[2] for one in shown(vault, "", "broken")] == ["no_note", "no_note"]
    vault.write("sub/later.md", "# Its title\n")
    assert vault.outcomes() == {"sub/later.md": "added"}
    assert [one[2] for one in shown(vault, "a.md", "out")] == ["sub/later.md:L1", "sub/later.md:L1"]
    assert [one[0] for one in shown(vault, "sub/later.md", "in")] == ["a.md:L1", "a.md:L1"]
    vault.move("sub/later.md", "other.md")
    vault.ingest()
    assert shown(vault, "", "broken") == [("a.md:L1", "later", "no_note")]
    assert [one[1] for one in shown(vault, "other.md", "in")] == ["Its title"]
    (vault.root / "other.md").unlink()
    vault.ingest()
    assert len(shown(vault, "", "broken")) == 2


def test_attachments_are_no_broken_links_and_addresses_are_apart(vault: Vault) -> None:
    vault.write("img/pic.png", "x")
    vault.write(
        "notes/a.md", "![[pic.png]] ![x](../img/pic.png) [d](../img) [[none.png]] <https://x.org/a>\n"
    )
    vault.ingest()
    assert [one[2] for one in shown(vault, "notes/a.md", "out")] == [
        "img/pic.png", "img/pic.png", "img", "no_file",
    ]  # fmt: skip
    assert shown(vault, "notes/a.md", "external") == [("notes/a.md:L1", "https://x.org/a", "https://x.org/a")]


def test_the_own_folder_of_notes_comes_first(vault: Vault, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "same.md").write_text("x\n")
    (other / "only.md").write_text("[[same]]\n")
    vault.write("same.md", "y\n")
    vault.write("a.md", "[[same]] [[only]]\n")
    vault.ingest()
    vault.workspace.ingest([str(other)], Callbacks())
    found = vault.workspace.links("a.md", "out").links
    assert [(one.target.source if one.target else None, len(one.candidates)) for one in found] == [
        ("notes", 2),
        ("other", 0),
    ]
    assert [one.note.path for one in vault.workspace.links(str(other / "same.md"), "in").links] == ["only.md"]


def test_pages_of_links_have_the_whole_number(vault: Vault) -> None:
    vault.write("a.md", "\n".join(f"[[n{number}]]" for number in range(25)))
    vault.ingest()
    page = vault.workspace.links("a.md", "out", None, 10, 20)
    assert ([one.link.path for one in page.links], page.total) == ([f"n{n}" for n in range(20, 25)], 25)


def test_private_notes_are_at_no_end_of_a_shareable_link(vault: Vault) -> None:
    vault.write("secret.md", "---\nprivate: true\n---\n[[a]]\n")
    vault.write("a.md", "[[secret]] [[b]] [x](secret.md)\n")
    vault.write("b.md", "[[a]]\n")
    vault.ingest()
    shareable = SearchFilters(shareable=True)
    out = vault.workspace.links("a.md", "out", shareable).links
    assert [(str(one.link), one.target.path if one.target else None, one.file) for one in out] == [
        ("secret", None, ""),
        ("b", "b.md", ""),
        ("secret.md", None, ""),
    ]
    assert [one.note.path for one in vault.workspace.links("a.md", "in", shareable).links] == ["b.md"]
    with pytest.raises(NotFoundError):
        vault.workspace.links("secret.md", "out", shareable)


# Filters


def hits(vault: Vault, text: str) -> list[str]:
    query = SearchQuery(text, "lexical", k=100)
    return sorted({hit.path for hit in vault.workspace.search(query).hits})


@pytest.fixture(scope="module")
def filtered(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Vault]:
    made = Vault(tmp_path_factory.mktemp("filtered"))
    made.write("hub.md", "word [[a]] [[b]] [[hub]]\n- [ ] one\n- [x] two\n")
    made.write(
        "a.md", "---\naliases: [First]\nstatus: done\nrating: 4.0\nprivate: false\n---\nword [[hub]]\n"
    )
    made.write(
        "b.md", "---\nstatus: Open\nrating: 10\ndue: 2026-03-01\ntags: [pets/zoo]\n---\nword [[First]]\n"
    )
    made.write("c.md", "---\nrating: high\ntags: [pets]\n---\nword [[nowhere]]\n- [x] all\n")
    made.write("2026-02-03.md", "word\n")
    made.write("old.md", "---\nupdated: 2020-05-05\ndate: 2026-01-01\n---\nword\n")
    made.ingest()
    yield made
    made.workspace.close()


EVERY = ["2026-02-03.md", "a.md", "b.md", "c.md", "hub.md", "old.md"]


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("links:hub", ["a.md"]),
        ("links:hub.md", ["a.md"]),
        ('links:"[[hub]]"', ["a.md"]),
        ("links:First word", ["b.md", "hub.md"]),
        ("links:a,hub", ["a.md", "b.md", "hub.md"]),
        ("links:a links:b", ["hub.md"]),
        ("word -links:a", ["2026-02-03.md", "a.md", "c.md", "old.md"]),
        ("links:nowhere", ["c.md"]),
        ("linkedby:hub", ["a.md", "b.md"]),
        ("linkedby:hub -linkedby:b", ["b.md"]),
        ("has:links", ["a.md", "b.md", "c.md", "hub.md"]),
        ("-has:links word", ["2026-02-03.md", "old.md"]),
        ("-has:links", ["2026-02-03.md", "old.md"]),
        ("has:task", ["c.md", "hub.md"]),
        ("has:task,tags", ["b.md", "c.md", "hub.md"]),
        ("has:prop", ["a.md", "b.md", "c.md", "old.md"]),
        ("task:open", ["hub.md"]),
        ("task:done", ["c.md", "hub.md"]),
        ("task:done -task:open", ["c.md"]),
        ("prop:status", ["a.md", "b.md"]),
        ("prop:status=done", ["a.md"]),
        ("prop:STATUS=DONE", ["a.md"]),
        ("prop:status=done,status=open", ["a.md", "b.md"]),
        ("prop:status prop:due", ["b.md"]),
        ("-prop:status has:prop", ["c.md", "old.md"]),
        ("prop:rating=4", ["a.md"]),
        ("prop:rating>4", ["b.md"]),
        ("prop:rating>=4", ["a.md", "b.md"]),
        ("prop:rating<10", ["a.md"]),
        ("prop:rating=high", ["c.md"]),
        ("prop:due>2026-02-28", ["b.md"]),
        ("prop:due<=2026-3-1", ["b.md"]),
        ("prop:private=false", ["a.md"]),
        ("tag:pets", ["b.md", "c.md"]),
        ("tag:=pets", ["c.md"]),
        ("has:tags -tag:=pets", ["b.md"]),
        ("tag:=pets/zoo,=pets", ["b.md", "c.md"]),
        ("before:2021", ["old.md"]),
        ("after:2026-02-03 before:2026-02-04", ["2026-02-03.md"]),
        ("modified:2021", EVERY),
        ("modified:<2021", []),
        ("modified:2021 modified:<2022", []),
    ],
)  # fmt: skip
def test_notes_are_filtered_by_links_properties_tasks_and_dates(
    filtered: Vault, query: str, found: list[str]
) -> None:
    assert hits(filtered, query) == found
    parsed = filtered.workspace.parse(query)
    if not parsed.terms:
        listed, _ = filtered.workspace.documents(parsed.filters)
        assert sorted(note.path for note in listed) == found


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("links:xyzzy", "no note has this name"),
        ("linkedby:nowhere", "no note has this name"),
        ("has:lnks", "expected one of"),
        ("task:maybe", "expected one of open, done"),
        ("prop:>3", "expected a key"),
        ("prop:rating>", "expected a key"),
        ("modified:<soon", "expected a date"),
    ],
)
def test_a_filter_without_a_meaning_is_an_error(filtered: Vault, query: str, message: str) -> None:
    with pytest.raises(FilterError, match=message):
        hits(filtered, query)


def test_a_name_that_is_being_typed_keeps_the_hits(filtered: Vault) -> None:
    with pytest.raises(UnfinishedFilterError):
        filtered.workspace.search(SearchQuery("links:hu", "lexical", typing=True))


def test_what_each_filter_leaves_out_is_counted_as_typed(filtered: Vault) -> None:
    explained = filtered.workspace.explain(SearchQuery("word links:a has:task", "lexical"))
    assert str(explained.filtered) == (
        "filters: 1 of 6 notes pass (links:a leaves out 4, has:tasks leaves out 4)"
    )
    verdict = filtered.workspace.why_not(SearchQuery("word links:a", "lexical"), "c.md")
    assert "left out by links:a" in verdict.detail


def test_the_explanation_says_which_date_counts(filtered: Vault) -> None:
    found = filtered.workspace.search(SearchQuery("word", "lexical", k=10)).hits
    day_from = {hit.path: (hit.day, hit.day_from) for hit in found}
    assert day_from["old.md"] == ("2020-05-05", "updated")
    assert day_from["2026-02-03.md"] == ("2026-02-03", "name")
    assert day_from["a.md"][1] == "modified"


def test_completion_offers_names_values_and_kinds(filtered: Vault) -> None:
    completions = filtered.workspace.completions()
    assert [one.text for one in completions.matching("links", "h")] == ["hub"]
    assert [(one.text, one.count) for one in completions.matching("task", "")] == [("done", 2), ("open", 1)]
    assert ("status=done", 1) in [(one.text, one.count) for one in completions.matching("prop", "sta")]
    assert "links" in [one.text for one in completions.matching("has", "")]


# Many links


def test_ten_thousand_links_and_cycles_slow_nothing_down(vault: Vault) -> None:
    vault.write(
        "many.md", "# Many\n\n" + "\n".join(f"[[n{number % 300}]] text {number}" for number in range(10_000))
    )
    for number in range(300):
        vault.write(f"n{number}.md", f"![[n{(number + 1) % 300}]] ![[many]] ![[n{number}]]\n")
    vault.ingest()
    assert vault.workspace.links("many.md", "out").total == 10_000
    assert vault.workspace.links("many.md", "in").total == 300
    assert vault.workspace.links("n7.md", "in").total == 35
    assert vault.workspace.links("", "broken").total == 0
    (note,), _ = vault.workspace.documents(SearchFilters(paths=("many.md",)))
    assert dict(note.counts)["link"] == 10_000
    assert not [facet for facet in note.facets if facet.kind == "link"], "not carried by every document"
    query = SearchQuery("text", "lexical", k=100)
    vault.workspace.search(query)
    assert cpu_seconds(lambda: vault.workspace.search(query)) < 1


# A plain reference


def compare(vault: Vault) -> None:
    vault.ingest()
    broken = vault.workspace.links("", "broken").links
    found = sorted(
        (one.note.path, one.link.path)
        for one in broken
        if one.problem in ("no_note", "no_file") and one.link.form != "reference"
    )
    assert found == Reference(vault.root).broken()


def test_the_broken_links_of_the_sample_vault_are_those_of_a_plain_reference(vault: Vault) -> None:
    shutil.copytree(SAMPLE, vault.root, dirs_exist_ok=True)
    vault.write(
        "broken.md", "[[nothing here]] [x](no/where.md) ![[none.png]] `[[code]]` [[rrf]] [[Search/RRF]]\n"
    )
    compare(vault)
    assert vault.workspace.links("broken.md", "broken").total == 3


@pytest.mark.slow
def test_the_broken_links_of_real_notes_are_those_of_a_plain_reference(vault: Vault) -> None:
    if "KEBAB_CORPUS" not in os.environ:
        pytest.skip("KEBAB_CORPUS names no folder of real notes")
    shutil.copytree(os.environ["KEBAB_CORPUS"], vault.root, dirs_exist_ok=True)
    compare(vault)


def test_a_link_and_its_note_have_a_key_in_common() -> None:
    for written in ("Note", "note.md", "b/Note", "../b/note.md", "./Note", "/a/b/note", "a\\b\\note.md"):
        assert link_key(written) in set(path_keys("a/b/Note.md")), written
    assert {"flex", "docs/flex", "docs/flex/index", "index"} <= set(path_keys("docs/flex/index.md"))
