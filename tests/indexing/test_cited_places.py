"""Where hits and citations are in the files as they are now."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from kebab_tui.domain.citation import Located, SourceSpan, TextPosition
from kebab_tui.domain.errors import NotFoundError
from kebab_tui.domain.hit import RetrievalDetail, SearchHit
from kebab_tui.domain.query import SearchQuery
from kebab_tui.settings.settings import ReadingSettings, Settings
from tests.vault import Vault

FIRST = "# One\n\n" + "\n".join(f"first {n} " + "alpha " * 15 for n in range(8))
SECOND = "# Two\n\n" + "\n".join(f"second {n} " + "beta " * 15 for n in range(8))
NOTE = f"{FIRST}\n\n{SECOND}\n"


@pytest.fixture
def noted(vault: Vault) -> Vault:
    vault.write("dir/note.md", NOTE)
    vault.ingest()
    return vault


def hit(vault: Vault, word: str) -> SearchHit:
    return vault.workspace.search(SearchQuery(word)).hits[0]


def test_a_hit_in_a_note_as_it_was_indexed_is_the_same(noted: Vault) -> None:
    found = hit(noted, "beta")
    assert noted.workspace.locate(found) == Located(SourceSpan(12, 21), "same")


def test_a_note_that_was_only_touched_is_the_same(noted: Vault) -> None:
    os.utime(noted.root / "dir/note.md", (1, 1))
    assert noted.workspace.locate(hit(noted, "beta")).state == "same"
    assert noted.workspace.locate_citation("dir/note.md:L12-L21").located.state == "same"


def test_a_hit_moves_with_its_lines(noted: Vault) -> None:
    found = hit(noted, "beta")
    noted.write("dir/note.md", "new\n" * 7 + NOTE)
    assert noted.workspace.locate(found) == Located(SourceSpan(19, 28), "moved", 7)


def test_line_ends_and_a_mark_at_the_beginning_are_no_change(noted: Vault) -> None:
    found = hit(noted, "beta")
    noted.write("dir/note.md", b"\xef\xbb\xbf" + NOTE.replace("\n", "\r\n").encode())
    assert noted.workspace.locate(found).state == "same"


def place(vault: Vault, found: SearchHit, query: str) -> TextPosition:
    return vault.workspace.matching_position(found, vault.workspace.locate(found), query)


def test_a_hit_is_opened_at_its_best_match_in_the_present_file(noted: Vault) -> None:
    found = hit(noted, "beta")
    assert place(noted, found, "beta") == TextPosition(14, 10)
    assert place(noted, found, "beta 5 second") == TextPosition(19, 1)
    assert place(noted, found, "") == place(noted, found, "zebra") == TextPosition(12, 1)
    noted.write("dir/note.md", "new\n" * 7 + NOTE)
    assert place(noted, found, "beta 5 second") == TextPosition(26, 1)


def test_a_hit_by_meaning_is_opened_below_its_heading_and_a_name_at_the_top(noted: Vault) -> None:
    found = hit(noted, "beta")
    by_meaning = replace(found, retrieval=RetrievalDetail("hybrid", vector_rank=1))
    assert place(noted, by_meaning, "beta 5") == TextPosition(14, 1)
    assert place(noted, replace(found, score_kind="name"), "beta 5") == TextPosition(12, 1)


def test_the_words_of_a_line_are_counted_once_each_in_all_their_forms(vault: Vault) -> None:
    vault.write("note.md", "# 메모\n\n설계 설계는 설계를 design\n🙂 설계는 검토 회의\n")
    vault.ingest()
    found = hit(vault, "설계는 검토")
    assert place(vault, found, "설계는 검토 회의") == TextPosition(4, 3)


@pytest.mark.parametrize(("old", "new"), [("dir/note.md", "other.md"), ("dir", "elsewhere")])
def test_a_hit_whose_file_is_away_is_gone(noted: Vault, old: str, new: str) -> None:
    found = hit(noted, "beta")
    noted.move(old, new)
    assert noted.workspace.locate(found) == Located(found.citation.span, "gone")
    assert noted.workspace.locate_citation(str(found.citation)).located.state == "gone"


@pytest.mark.parametrize("content", [b"\0" * 300, b"x" * (1 << 20) + b"\n"], ids=["binary", "too large"])
def test_a_file_that_is_no_note_any_more_has_changed(tmp_path: Path, content: bytes) -> None:
    vault = Vault(tmp_path, Settings(reading=ReadingSettings(max_file_mb=1)))
    vault.write("note.md", NOTE)
    vault.ingest()
    vault.write("note.md", content)
    found = hit(vault, "beta")
    assert vault.workspace.locate(found) == Located(SourceSpan(12, 21), "changed")
    assert vault.workspace.locate_citation("note.md:L12-L21").located.state == "changed"
    vault.workspace.close()


# citations


def test_a_citation_gives_the_path_and_the_lines(noted: Vault) -> None:
    found = hit(noted, "beta")
    named = (str(found.citation), found.citation.uri, "note.md:L12-L21", found.chunk_id, found.chunk_id[:8])
    for target in named:
        place = noted.workspace.locate_citation(target)
        assert place.path == str(noted.root / "dir/note.md")
        assert str(place.citation) == "dir/note.md:L12-L21"
        assert place.located == Located(SourceSpan(12, 21), "same")


def test_a_path_alone_is_its_first_line(noted: Vault) -> None:
    noted.write("dir/note.md", "all is new")
    assert noted.workspace.locate_citation("dir/note.md").located == Located(SourceSpan(1, 1), "same")


@pytest.mark.parametrize("target", ["note.md:14", "note.md#L14", "note.md:L14"])
def test_one_line_of_a_passage_moves_with_it(noted: Vault, target: str) -> None:
    noted.write("dir/note.md", "new\n" * 3 + NOTE)
    assert noted.workspace.locate_citation(target).located == Located(SourceSpan(17, 17), "moved", 3)


def test_lines_of_two_passages_are_found_by_both_ends(noted: Vault) -> None:
    target = "note.md:L9-L15"
    noted.write("dir/note.md", "new\n\n" + NOTE)
    assert noted.workspace.locate_citation(target).located == Located(SourceSpan(11, 17), "moved", 2)
    noted.write("dir/note.md", NOTE.replace("# Two", "between\n\n# Two"))
    assert noted.workspace.locate_citation(target).located == Located(SourceSpan(9, 17), "changed")


def test_lines_outside_all_passages_are_told_as_far_as_they_go(noted: Vault) -> None:
    noted.write("dir/note.md", "short")
    assert noted.workspace.locate_citation("note.md:99").located == Located(SourceSpan(1, 1), "changed", -98)


def test_a_name_with_everything_in_it_is_found(vault: Vault) -> None:
    name = "-a 'b\"\n:12 \u202e.md"
    vault.write(name, NOTE)
    vault.ingest()
    place = vault.workspace.locate_citation(str(hit(vault, "beta").citation))
    assert place.path == os.path.join(vault.root, name)


def test_what_is_not_in_the_index_is_said_so(noted: Vault) -> None:
    with pytest.raises(NotFoundError):
        noted.workspace.locate_citation("nope.md:L3")
