"""The forms in which passages are copied."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from kebab_tui.domain.citation import Citation, Located, SourceSpan, TextPosition
from kebab_tui.tui.actions import ACTIONS
from kebab_tui.tui.copy_formats import CONTEXT, COPY_FORMATS, citation_text, copy_forms, link_text, path_text
from kebab_tui.tui.messages import LocatedHit
from tests.tui.hits import hit


def passage(path: str, text: str, first: int, last: int, **facts: Any) -> LocatedHit:
    return LocatedHit(hit(path=path, snippet=text, span=SourceSpan(first, last), **facts), None)


def test_each_form_has_a_key() -> None:
    letters = [action.panel for action in ACTIONS if action.id.startswith("copy_as_")]
    forms = [*(form.id for form in COPY_FORMATS), CONTEXT]
    assert [action.id for action in ACTIONS if action.id.startswith("copy_as_")] == [
        f"copy_as_{form}" for form in forms
    ]
    assert len({*letters}) == len(forms)


def test_a_passage_is_copied_in_each_form() -> None:
    place = passage(
        "a b/[x] 노트.md", "one\n\ntwo", 3, 5, title="Ports [draft]", heading_path="Ports [draft] > Find"
    )
    forms = copy_forms([place], "context")
    url = "file:///home/notes/a%20b/%5Bx%5D%20%EB%85%B8%ED%8A%B8.md#L3-L5"
    link = f"[Ports \\[draft\\] › Find]({url})"
    assert forms == {
        "quote": f"> one\n>\n> two\n>\n> — {link}",
        "citation": "a b/[x] 노트.md:L3-L5",
        "link": link,
        "path": "/home/notes/a b/[x] 노트.md:3",
        "url": url,
        "context": "context",
    }
    assert path_text(replace(place, position=TextPosition(4))) == "/home/notes/a b/[x] 노트.md:4"


def test_a_page_has_no_line() -> None:
    page = LocatedHit(hit(path="a.pdf", type="pdf", span=SourceSpan(1, 4, page=3)), None)
    forms = copy_forms([page], "")
    assert (forms["path"], forms["url"]) == ("/home/notes/a.pdf", "file:///home/notes/a.pdf#page=3")


def test_a_passage_that_moved_is_cited_where_it_is() -> None:
    place = replace(passage("a.md", "one", 1, 2), located=Located(SourceSpan(8, 9), "moved", 7))
    assert citation_text(place) == "a.md:L8-L9"
    assert link_text(place).endswith("/a.md#L8-L9)")


def test_marked_hits_are_copied_together() -> None:
    forms = copy_forms([passage("a.md", "one", 1, 1), passage("b.md", "two", 2, 3)], "")
    assert forms["citation"] == "a.md:L1\nb.md:L2-L3"
    assert forms["quote"].count("\n\n> ") == 1


def test_an_obsidian_link_names_vault_note_and_heading(tmp_path: Path) -> None:
    vault = tmp_path / "내 vault"
    (vault / ".obsidian").mkdir(parents=True)
    place = passage("sub/50% & more.md", "x", 1, 1, root=str(vault), heading_path="Workspace > a: b #c")
    inside = copy_forms([place], "")["obsidian"]
    assert parse_qs(urlsplit(inside).query) == {"vault": ["내 vault"], "file": ["sub/50% & more#a b c"]}
    assert "obsidian" not in copy_forms([place, passage("a.md", "x", 1, 1)], "")


def test_text_of_a_note_stays_in_its_quotation() -> None:
    path = "a\nrm -rf ~\x1b.md"
    cited = replace(hit(), path=path, raw_path=path.encode(), citation=Citation(path, SourceSpan(1, 1)))
    place = LocatedHit(replace(cited, title="x](y\nz", text="a\n# b"), None)
    assert citation_text(place) == "a␊rm -rf ~␛.md:L1"
    forms = copy_forms([place], "")
    assert all(line.startswith(">") for line in forms["quote"].split("\n"))
    assert "\n" not in forms["link"] + forms["path"] + forms["url"]
    assert unquote(forms["url"]) == f"file:///home/notes/{path}#L1"
