"""`kebab links` and `kebab similar`."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from kebab_tui.domain.query import SearchFilters
from kebab_tui.workspace import Workspace
from tests.command_line import Kebab
from tests.wire.test_schemas import check


@pytest.fixture
def kebab(tmp_path: Path) -> Kebab:
    made = Kebab(tmp_path / "data", tmp_path / "home")
    for path, text in {
        "a.md": "# A\n\n가 [[b#Part|see]] [[gone]] https://x.org\n\n[[same]]\n",
        "b.md": "# B\n\n[[a]]\n\n## Part\n\ntext\n",
        "x/same.md": "x\n",
        "y/same.md": "y\n",
        "bad\x1b[31m.md": "[[a]]\n",
    }.items():
        file = tmp_path / "notes" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    assert made("ingest", str(tmp_path / "notes")).code == 0
    return made


def test_the_links_of_a_note_and_those_to_it_are_cited(kebab: Kebab) -> None:
    done = kebab("links", "a")
    assert (done.code, done.lines) == (
        0,
        [
            "a.md:L3  b#Part → b.md:L5-L7",
            "a.md:L3  gone → (no such note)",
            "a.md:L5  same → x/same.md:L1 (or y/same.md)",
            "b.md:L3  a → a.md:L1",
            "bad␛[31m.md:L1  a → a.md:L1",
        ],
    )
    assert done.err == "5 of 5 links\n"
    assert kebab("links", "a.md", "--out").lines == done.lines[:3]
    assert kebab("links", "a.md", "--in").lines == done.lines[3:]
    assert kebab("links", "a.md", "--broken").lines == done.lines[1:2]
    assert kebab("links", "a.md", "--external").lines == ["a.md:L3  https://x.org"]
    assert kebab("links", "a", "-n", "2", "--offset", "2").lines == done.lines[2:4]
    assert kebab("links", "x/same.md").lines == [done.lines[2]]
    nothing = kebab("links", "y/same.md")
    assert (nothing.code, nothing.out, nothing.err) == (1, "", "no links\n")


def test_without_a_note_all_notes_are_searched(kebab: Kebab) -> None:
    assert kebab("links", "--broken").lines == ["a.md:L3  gone → (no such note)"]
    assert len(kebab("links", "--external").lines) == 1
    for argv in ([], ["--in"], ["--broken", "--in"]):
        refused = kebab("links", *argv)
        assert refused.code == 2
        assert "no note given" in refused.err and "--broken" in refused.err
    assert kebab("links", "nowhere").code == 2


def test_a_quickfix_list_has_the_place_of_each_link(kebab: Kebab) -> None:
    root = os.path.realpath(kebab.data.parent / "notes")
    done = kebab("links", "a", "--format", "vimgrep")
    assert done.lines == [
        f"{root}/a.md:3:5:b#Part",
        f"{root}/a.md:3:20:gone: no such note",
        f"{root}/a.md:5:1:same",
        f"{root}/b.md:3:1:a",
    ]
    assert "left out 1 link" in done.err


def test_json_follows_its_schema(kebab: Kebab) -> None:
    found = kebab("links", "a", "--json").json
    check(found, "link_list.v1")
    assert (found["direction"], found["returned"], found["total"]) == ("out+in", 5, 5)
    first, gone, same, *_ = found["items"]
    assert first["target"]["citation"]["text"] == "b.md:L5-L7"
    assert (first["text"], first["written"], first["column"], first["form"]) == ("see", "b#Part", 5, "wiki")
    assert (gone["problem"], gone["target"]) == ("no_note", None)
    assert [one["path"] for one in same["candidates"]] == ["x/same.md", "y/same.md"]
    assert kebab("links", "a", "--external", "--json").json["items"][0]["url"] == "https://x.org"
    assert len(kebab("links", "a", "--format", "jsonl").lines) == 5


def test_filters_by_options(kebab: Kebab) -> None:
    def listed(*argv: str) -> list[str]:
        return [line.split("\t")[0] for line in kebab("list", *argv).lines]

    assert listed("--links", "a") == ["b.md", "bad␛[31m.md"]
    assert listed("--linkedby", "a") == ["b.md", "x/same.md"]
    assert listed("--no-links", "a", "--has", "links") == ["a.md"]
    assert listed("--no-has", "links") == ["x/same.md", "y/same.md"]
    assert kebab("find", "a", "--links", "a").code == 0
    refused = kebab("list", "--links", "nowhere at all")
    assert refused.code == 2 and "no note has this name" in refused.err
    assert kebab("list", "--has", "nothing").code == 2


# Similar


def test_similar_notes_are_found_across_languages(embedded: Kebab) -> None:
    done = embedded("similar", "infra/port-conflict.md", "-n", "3")
    assert done.code == 0
    assert "infra/포트-충돌.md" in done.lines[0]
    back = embedded("similar", "infra/포트-충돌.md", "--json").json
    check(back, "similar_list.v1")
    assert back["returned"] == 10
    assert back["items"][0]["path"] == "infra/port-conflict.md"
    assert "infra/포트-충돌.md" not in [one["path"] for one in back["items"]], "not the note itself"
    cosines = [one["cosine"] for one in back["items"]]
    assert cosines == sorted(cosines, reverse=True)
    assert all(one["text"] and one["citation"]["path"] == one["path"] for one in back["items"])
    korean = embedded("similar", "infra/port-conflict.md", "--lang", "ko", "--json").json["items"]
    assert {one["lang"] for one in korean} == {"ko"}
    assert len(embedded("similar", "infra/port-conflict.md", "--format", "vimgrep").lines) == 10


def test_a_passage_is_compared_with_passages(embedded: Kebab) -> None:
    cited = embedded("inspect", "infra/port-conflict.md", "--json").json["chunks"][-1]
    by_passage = embedded("similar", cited["citation"]["text"], "--json").json["items"]
    by_id = embedded("similar", cited["chunk_id"], "--json").json["items"]
    by_note = embedded("similar", "infra/port-conflict.md", "--json").json["items"]
    assert [one["path"] for one in by_passage] == [one["path"] for one in by_id]
    assert [one["cosine"] for one in by_passage] != [one["cosine"] for one in by_note]


def test_private_notes_are_not_similar(embedded_sample: Workspace) -> None:
    every = embedded_sample.similar("infra/port-conflict.md", 5)
    shareable = embedded_sample.similar("infra/port-conflict.md", 5, SearchFilters(shareable=True))
    assert [one.document.path for one in every] == [one.document.path for one in shareable]
    other = embedded_sample.similar("infra/port-conflict.md", 5, SearchFilters(paths_none=("infra/**",)))
    assert not any(one.document.path.startswith("infra/") for one in other)


def test_without_vectors_it_says_what_to_do(kebab: Kebab) -> None:
    done = kebab("similar", "a")
    assert done.code == 2
    assert "no vectors yet" in done.err and "kebab index --embed" in done.err
    assert kebab("similar", "nowhere").code == 2
