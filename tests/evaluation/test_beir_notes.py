"""A corpus becomes notes once, whole, and every note is still its document."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from kebab_tui.evaluation.beir import BeirDocument, corpus_notes
from kebab_tui.formats.markdown import parse
from tests.evaluation.answers import a_hit

DOCUMENTS = [
    BeirDocument("../a", 'A "title": with marks', "one\n\ntwo"),
    BeirDocument("ko:b", "", "---\ntitle: not mine\n---\n포트"),
    BeirDocument("c", "\ud800 half", "half \udfff"),
]


class Untouched:
    """Documents that nobody may ask for."""

    def __iter__(self) -> Iterator[BeirDocument]:
        raise AssertionError("written again")


def test_a_note_holds_the_title_and_the_text(tmp_path: Path) -> None:
    notes = corpus_notes(str(tmp_path / "corpus"), DOCUMENTS)
    first, second, _ = sorted(Path(notes.folder).rglob("*.md"))
    parsed = parse(first.read_bytes(), "x.md")
    assert parsed.title == 'A "title": with marks'
    assert parsed.lines[3:6] == ("one", "", "two")
    parsed = parse(second.read_bytes(), "x.md")
    assert "title: not mine" in parsed.lines[3:]
    assert not parsed.flags


def test_a_document_stands_where_its_best_passage_does(tmp_path: Path) -> None:
    notes = corpus_notes(str(tmp_path / "corpus"), DOCUMENTS)
    hits = [a_hit(f"0000/{number:07}.md") for number in (1, 0, 1, 2, 0)]
    assert notes.ranking(hits) == ["ko:b", "../a", "c"]


def test_notes_are_written_once(tmp_path: Path) -> None:
    corpus_notes(str(tmp_path / "corpus"), DOCUMENTS)
    again = corpus_notes(str(tmp_path / "corpus"), Untouched())
    assert again.ranking([a_hit("0000/0000000.md")]) == ["../a"]


@pytest.mark.parametrize("lost", ["notes/0000/0000001.md", "documents.json"])
def test_a_folder_that_is_not_whole_any_more_is_written_again(tmp_path: Path, lost: str) -> None:
    corpus_notes(str(tmp_path / "corpus"), DOCUMENTS)
    (tmp_path / "corpus" / lost).unlink()
    corpus_notes(str(tmp_path / "corpus"), DOCUMENTS)
    assert (tmp_path / "corpus" / lost).exists()


def test_a_write_that_ends_early_leaves_nothing_that_looks_whole(tmp_path: Path) -> None:
    def some() -> Iterator[BeirDocument]:
        yield DOCUMENTS[0]
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        corpus_notes(str(tmp_path / "corpus"), some())
    assert list(tmp_path.iterdir()) == []


def test_a_large_corpus_is_spread_over_folders(tmp_path: Path) -> None:
    notes = corpus_notes(str(tmp_path / "corpus"), (BeirDocument(str(n), "", "x") for n in range(1001)))
    assert sorted(path.name for path in Path(notes.folder).iterdir()) == ["0000", "0001"]
    assert notes.ranking([a_hit("0001/0001000.md")]) == ["1000"]
