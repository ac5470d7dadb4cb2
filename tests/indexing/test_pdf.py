"""PDF files in an index: search, citations by page, places after edits, switch, limits, upgrade."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from kebab_tui.domain.citation import SourceSpan
from kebab_tui.domain.errors import NotFoundError, UnreadableFileError
from kebab_tui.domain.hit import SearchHit
from kebab_tui.domain.query import SearchQuery
from kebab_tui.files.read import VanishedFileError
from kebab_tui.formats import isolated
from kebab_tui.formats.registry import FORMATS
from kebab_tui.settings.settings import ReadingSettings, Settings
from tests.formats import pdfs
from tests.formats.pdfs import Page, fixtures, one_page
from tests.indexing.keeping import keeping, until
from tests.vault import Vault

BEES = fixtures()["bees.pdf"]


@pytest.fixture
def vault(tmp_path: Path) -> Iterator[Vault]:
    made = Vault(tmp_path)
    made.write("bees.pdf", BEES)
    made.write("note.md", "# Hives\n\nsyrup and bees\n")
    made.ingest()
    yield made
    made.workspace.close()


def hit(vault: Vault, text: str) -> SearchHit:
    return vault.workspace.search(SearchQuery(text, "lexical", k=1, strict=True)).hits[0]


def settings(**reading: object) -> Settings:
    return Settings(reading=ReadingSettings(**reading))  # type: ignore[arg-type]


def test_a_passage_is_cited_by_page_with_its_label_and_headings(vault: Vault) -> None:
    found = hit(vault, "wax moths")
    assert (found.title, found.name, found.type) == ("Keeping bees", "bees", "pdf")
    assert str(found.citation) == found.citation.uri == "bees.pdf#p=3"
    assert found.citation.label == "1"
    assert found.heading_path == "Spring work · Cleaning the floor"
    assert vault.find("fondant type:pdf") == ["bees.pdf"]
    assert vault.find("bees tag:garden") == ["bees.pdf"]
    assert vault.find("bees type:markdown") == ["note.md"]
    assert vault.find("bees name:bees") == ["bees.pdf"]


def test_a_page_is_found_by_its_citation(vault: Vault) -> None:
    found = vault.workspace.inspect("bees.pdf#p=4")
    assert [chunk.span.page for chunk in found.chunks] == [4]
    assert vault.workspace.locate_citation("bees.pdf#p=4").located.span.page == 4
    assert vault.workspace.locate_citation("bees").located.span.page == 1


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("bees.pdf#p=6", "bees.pdf has no page 6"),
        ("bees.pdf:L3", "bees.pdf is cited by page, not by line"),
        ("note.md#p=1", "note.md has no page 1"),
    ],
)
def test_a_wrong_citation_is_refused(vault: Vault, target: str, message: str) -> None:
    with pytest.raises(NotFoundError) as caught:
        vault.workspace.inspect(target)
    assert caught.value.message == message
    assert caught.value.hint


def test_a_page_is_shown_with_its_number_label_and_lines(vault: Vault) -> None:
    found = hit(vault, "wax moths")
    shown = vault.workspace.page(found, 3)
    assert (shown.number, shown.count, shown.label) == (3, 5, "1")
    span = found.citation.span
    assert "\n".join(shown.lines[span.first - 1 : span.last]) == found.text
    assert vault.workspace.page(found, 99).number == 5


def test_a_page_that_cannot_be_shown_has_a_reason(vault: Vault) -> None:
    found = hit(vault, "wax moths")
    vault.write("bees.pdf", b"%PDF-")
    with pytest.raises(UnreadableFileError, match="damaged"):
        vault.workspace.page(found, 3)
    os.unlink(vault.root / "bees.pdf")
    with pytest.raises(VanishedFileError):
        vault.workspace.page(found, 3)
    with pytest.raises(UnreadableFileError, match="has no pages"):
        vault.workspace.page(hit(vault, "hives"), 1)


# places after edits


def edited(*pages: Page) -> bytes:
    return pdfs.pdf([*pages])


SWARMS = ["A colony swarms when it has more bees than room.", "Queen cells announce it.", "Remove brood."]


@pytest.mark.parametrize(
    ("before", "after", "state", "page"),
    [
        ([["cover"], SWARMS], [["cover"], SWARMS], "same", 2),
        ([["cover"], SWARMS], [["cover"], ["new first line", *SWARMS]], "same", 2),
        ([["cover"], SWARMS], [["longer", "cover"], SWARMS], "same", 2),
        ([["cover"], SWARMS], [["cover"], ["preface"], SWARMS], "moved", 3),
        ([["cover"], SWARMS, ["end"]], [SWARMS, ["end"]], "moved", 1),
        ([["cover"], SWARMS], [["cover"], ["x"], [*SWARMS[:2], "Give room."]], "changed", 3),
        ([["cover"], SWARMS], [["nothing of it"]], "changed", 1),
    ],
)
def test_a_page_is_located_in_the_present_file(
    tmp_path: Path, before: list[list[str]], after: list[list[str]], state: str, page: int
) -> None:
    vault = Vault(tmp_path)
    vault.write("a.pdf", edited(*(Page().write(lines) for lines in before)))
    vault.ingest()
    old = hit(vault, "colony swarms")
    vault.write("a.pdf", edited(*(Page().write(lines) for lines in after)))
    os.utime(vault.root / "a.pdf", ns=(1, 1))
    found = vault.workspace.locate(old)
    assert (found.state, found.span.page) == (state, page)
    assert found.shift == page - 2
    cited = vault.workspace.locate_citation("a.pdf#p=2").located
    assert (cited.state, cited.span.page) == (state, page)
    vault.workspace.close()


def test_an_unchanged_file_is_located_without_being_read(
    vault: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    def parse(*_: object) -> None:
        raise AssertionError

    found = hit(vault, "wax moths")
    monkeypatch.setattr(isolated, "read", parse)
    assert vault.workspace.locate(found).state == "same"
    assert vault.workspace.locate_citation("bees.pdf#p=3").located.state == "same"


def test_a_file_that_is_no_longer_readable_or_gone_is_said(vault: Vault) -> None:
    found = hit(vault, "wax moths")
    vault.write("bees.pdf", b"%PDF-")
    assert vault.workspace.locate(found).state == "changed"
    assert vault.workspace.locate_citation("bees.pdf#p=3").located.state == "changed"
    os.unlink(vault.root / "bees.pdf")
    assert vault.workspace.locate(found).state == "gone"
    assert vault.workspace.locate_citation("bees.pdf#p=3").located.state == "gone"


def test_a_saved_document_keeps_the_chunks_of_its_unchanged_pages(vault: Vault) -> None:
    vault.write("a.pdf", edited(Page().write(["cover"]), Page().write(SWARMS)))
    vault.ingest()
    before = hit(vault, "colony swarms")
    vault.write("a.pdf", edited(Page().write(["cover"]), Page().write(["preface"]), Page().write(SWARMS)))
    assert vault.outcomes() == {"a.pdf": "changed"}
    after = hit(vault, "colony swarms")
    assert after.chunk_id == before.chunk_id
    assert after.citation.span == SourceSpan(1, 3, page=3)


# switch and limits


def test_pdf_can_be_turned_off(vault: Vault) -> None:
    vault.workspace.close()
    vault.workspace = vault.opened(settings(pdf=False))
    assert {file.path: file.state for file in vault.workspace.file_states()}["bees.pdf"] == "ignored"
    assert vault.outcomes() == {"bees.pdf": "removed"}
    assert "pdf = false" in vault.workspace.why_not(SearchQuery("syrup"), "bees.pdf").detail
    assert vault.find("syrup") == ["note.md"]
    vault.restart()
    assert vault.outcomes() == {"bees.pdf": "added"}


def test_the_limit_of_size_is_a_setting(vault: Vault) -> None:
    vault.write("large.pdf", one_page("text") + bytes(2 << 20))
    vault.write("large.md", b"a" * (9 << 20))
    vault.workspace.close()
    vault.workspace = vault.opened(settings(max_pdf_mb=1))
    assert vault.outcomes() == {"large.pdf": "skipped", "large.md": "skipped"}
    vault.restart()
    assert vault.outcomes() == {"large.pdf": "changed", "large.md": "skipped"}


# upgrade


def test_an_index_from_before_pdf_reads_only_the_pdf_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(FORMATS, "pdf")
    vault = Vault(tmp_path)
    for number in range(5):
        vault.write(f"{number}.md", f"# Note {number}\n\nsyrup\n")
    vault.write("bees.pdf", BEES)
    vault.ingest()
    assert vault.find("syrup") == [f"{number}.md" for number in range(5)]
    columns = "doc_id, path, title, content_hash, made_by, indexed_ns"
    before = vault.rows(f"SELECT {columns} FROM documents ORDER BY path")
    chunks = vault.rows("SELECT * FROM chunks ORDER BY id")
    monkeypatch.undo()
    monkeypatch.setattr("kebab_tui.formats.markdown.parse", lambda *_: pytest.fail("Markdown is read again"))
    vault.restart()
    assert vault.find("syrup") == [f"{number}.md" for number in range(5)]
    assert vault.outcomes() == {"bees.pdf": "added"}
    assert vault.rows(f"SELECT {columns} FROM documents WHERE path <> 'bees.pdf' ORDER BY path") == before
    assert vault.rows("SELECT * FROM chunks ORDER BY id")[: len(chunks)] == chunks
    assert len(vault.find("syrup")) == 6
    details = {finding.check: finding for finding in vault.workspace.doctor()}
    assert "markdown 5, note 0, " in details["formats"].detail
    assert "pdf 1" in details["formats"].detail
    vault.workspace.close()


def test_raising_the_version_of_pdf_reads_no_markdown(vault: Vault, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(FORMATS, "pdf", replace(FORMATS["pdf"], version=2))
    vault.restart()
    assert vault.outcomes() == {"bees.pdf": "changed"}


# many bad files


def hostile() -> Iterator[bytes]:
    """Forty documents, each of which harms or deceives its reader."""
    dice = random.Random(17)
    yield b""
    yield b"hello"
    yield b"%PDF-1.7\n" + bytes(1000)
    yield pdfs.pdf([Page().write(["a"])], encrypted=True)
    yield pdfs.pdf([Page()])
    yield pdfs.pdf([Page()] * 30)
    yield pdfs.page_loop()
    yield pdfs.deep_tree()
    yield pdfs.deep_tree(500_000)
    yield pdfs.many_pages(20_000)
    yield pdfs.deflate_bomb()
    yield pdfs.deflate_bomb(300)
    while True:
        yield b"%PDF-1.4\n" + dice.randbytes(dice.randrange(2_000)) + BEES[: dice.randrange(300)]


@pytest.mark.slow
def test_a_watched_folder_takes_hostile_documents_and_the_notes_after_them(vault: Vault) -> None:
    with keeping(vault) as kept:
        for number, data in zip(range(20), hostile(), strict=False):
            vault.write(f"hostile{number}.pdf", data)
        vault.write("later.md", "lavender\n")
        vault.write("later.pdf", one_page("lavender"))
        until(lambda: vault.find("lavender") == ["later.md", "later.pdf"])
        until(lambda: len(vault.rows("SELECT 1 FROM documents WHERE state <> 'ok'")) == 20)
        vault.write("later.pdf", one_page("thyme"))
        until(lambda: vault.find("thyme") == ["later.pdf"])
        kept.settled()


@pytest.mark.slow
def test_forty_hostile_documents_stop_no_sound_note(vault: Vault) -> None:
    for number, data in zip(range(40), hostile(), strict=False):
        vault.write(f"hostile/{number}.pdf", data)
    for number in range(200):
        vault.write(f"sound/{number}.md", f"# Sound {number}\n\nlavender\n")
    vault.write("sound/last.pdf", one_page("lavender"))
    outcomes = vault.outcomes()
    assert len(vault.find("lavender")) == 201
    bad = {path for path, outcome in outcomes.items() if outcome in ("failed", "skipped")}
    assert bad == {f"hostile/{number}.pdf" for number in range(40)}
    reasons = vault.rows("SELECT reason FROM documents WHERE state <> 'ok'")
    assert len(reasons) == 40
    assert all(reason for (reason,) in reasons)
    assert vault.orphans() == []
