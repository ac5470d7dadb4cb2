"""The catalogue: lists and figures of the index."""

from __future__ import annotations

from dataclasses import replace

from kebab_tui.domain.change import MarkNote
from kebab_tui.domain.document import Document, DocumentState, Trust
from kebab_tui.domain.facets import Facet
from kebab_tui.domain.ids import DocId
from kebab_tui.domain.query import SearchFilters
from kebab_tui.storage.sqlite.reader import StoreReader
from kebab_tui.storage.sqlite.writer import StoreWriter
from tests.notes import MADE_BY, SOURCE, a_note


def a_failure(path: str, state: DocumentState = "failed") -> MarkNote:
    document = replace(a_note(path).document, state=state, reason="permission denied")
    return MarkNote(document, MADE_BY, keep_text=state == "failed")


def paths(found: tuple[list[Document], int]) -> list[str]:
    return [document.path for document in found[0]]


def test_a_document_is_read_as_it_was_saved(writer: StoreWriter, reader: StoreReader) -> None:
    note = a_note("ops/포트.md", "one", "two", title="제목", tags=("Ops", "b"), trust=Trust.SECONDARY)
    facets = (*note.document.facets, Facet("alias", "별명", 3, "target.md", "extra"), Facet("alias", "x"))
    saved = replace(note.document, facets=facets, flags=("bad_front_matter",), lang="ko")
    writer.apply([replace(note, document=saved)])
    with reader.catalogue() as catalogue:
        found = catalogue.document(saved.doc_id)
        assert found is not None
        assert found.indexed_ns > 0
        assert replace(found, indexed_ns=0) == replace(saved, chunks=2)
        assert [chunk.text for chunk in catalogue.chunks_of(saved.doc_id)] == ["one", "two"]


def test_invalid_text_is_stored_with_replacement_characters(writer: StoreWriter, reader: StoreReader) -> None:
    for title in ("good", "bad \ud800"):
        applied = writer.apply([a_note("a.md", "same", title=title, tags=("t\ud800",))])
    assert applied.chunks_kept == 1
    with reader.catalogue() as catalogue:
        (document,), _ = catalogue.documents(SearchFilters())
    assert (document.title, document.facets) == ("bad ?", (Facet("tag", "t?"),))


def test_documents_are_listed_by_path_and_page_by_page(writer: StoreWriter, reader: StoreReader) -> None:
    writer.apply([a_note(f"{n}.md", "x") for n in (3, 1, 2)])
    with reader.catalogue() as catalogue:
        assert paths(catalogue.documents(SearchFilters())) == ["1.md", "2.md", "3.md"]
        page, total = catalogue.documents(SearchFilters(), limit=1, offset=1)
        assert ([document.path for document in page], total) == (["2.md"], 3)


def test_notes_without_chunks_are_listed_with_their_reason(writer: StoreWriter, reader: StoreReader) -> None:
    writer.apply([a_note("ok.md", "x"), a_failure("bad.md"), a_failure("big.md", "skipped")])
    with reader.catalogue() as catalogue:
        assert paths(catalogue.documents(SearchFilters(), states=("failed",))) == ["bad.md"]
        assert paths(catalogue.documents(SearchFilters(paths=("b*",)))) == ["bad.md", "big.md"]
        assert paths(catalogue.documents(SearchFilters(kinds=("info",)))) == ["ok.md"]
        assert paths(catalogue.documents(SearchFilters(kinds=("code",)))) == []
        figures = catalogue.figures()
    assert (figures.documents, figures.failed, figures.skipped, figures.chunks) == (3, 1, 1, 1)


def test_a_failure_of_a_known_note_changes_its_state_and_nothing_else(
    writer: StoreWriter, reader: StoreReader
) -> None:
    note = a_note("a.md", "text", title="Title", tags=("t",), trust=Trust.GENERATED)
    writer.apply([note])
    with reader.catalogue() as catalogue:
        before = catalogue.document(note.document.doc_id)
    writer.apply([a_failure("a.md")])
    with reader.catalogue() as catalogue:
        after = catalogue.document(note.document.doc_id)
    assert before is not None
    assert after == replace(before, state="failed", reason="permission denied")


def test_a_skipped_note_loses_its_text(writer: StoreWriter, reader: StoreReader) -> None:
    writer.apply([a_note("a.md", "text", tags=("t",))])
    writer.apply([a_failure("a.md", "skipped")])
    with reader.catalogue() as catalogue:
        (document,), _ = catalogue.documents(SearchFilters())
    assert (document.state, document.chunks, document.facets) == ("skipped", 0, ())


def test_a_note_is_found_by_the_end_of_its_path_at_a_folder_only(
    writer: StoreWriter, reader: StoreReader
) -> None:
    writer.apply([a_note("infra/port.md", "x"), a_note("ops/port.md", "x"), a_note("support.md", "x")])
    with reader.catalogue() as catalogue:
        assert [d.path for d in catalogue.documents_ending("port.md", 5)] == ["infra/port.md", "ops/port.md"]
        assert [d.path for d in catalogue.documents_ending("ops/port.md", 5)] == ["ops/port.md"]
        assert len(catalogue.documents_ending("port.md", 1)) == 1
        assert catalogue.documents_ending("%.md", 5) == []


def test_a_chunk_is_found_by_the_beginning_of_its_id(writer: StoreWriter, reader: StoreReader) -> None:
    writer.apply([a_note("a.md", *(f"text {n}" for n in range(10)))])
    with reader.catalogue() as catalogue:
        for chunk in catalogue.chunks_of(a_note("a.md").document.doc_id):
            assert catalogue.chunks_named(chunk.chunk_id[:12]) == [chunk]
        assert len(catalogue.chunks_named("")) == 2, "two are enough to see that it is not one"
        assert catalogue.chunks_named("f" * 32) == []
        assert catalogue.document(DocId("f" * 32)) is None


def test_tags_are_counted_in_any_case_commonest_first(writer: StoreWriter, reader: StoreReader) -> None:
    writer.apply(
        [a_note("1.md", "x", tags=("Rust",)), a_note("2.md", "x", tags=("rust", "다른")), a_note("3.md", "x")]
    )
    with reader.catalogue() as catalogue:
        assert catalogue.values("tag") == [("Rust", 2), ("다른", 1)]


def test_a_nested_tag_counts_the_notes_of_the_tags_in_it(writer: StoreWriter, reader: StoreReader) -> None:
    writer.apply(
        [
            a_note("1.md", "x", tags=("pets/zoo", "Pets/cat/old")),
            a_note("2.md", "x", tags=("pets",)),
            a_note("3.md", "x", tags=("petshop",)),
        ]
    )
    with reader.catalogue() as catalogue:
        assert dict(catalogue.values("tag")) == {
            "Pets": 2,
            "Pets/cat": 1,
            "Pets/cat/old": 1,
            "pets/zoo": 1,
            "petshop": 1,
        }


def test_notes_are_counted_by_the_values_that_all_indexes_have(
    writer: StoreWriter, reader: StoreReader
) -> None:
    writer.apply([a_note("1.md", "one", "two"), a_note("2.md", "x")])
    with reader.catalogue() as catalogue:
        counts = catalogue.note_counts()
    assert counts["type"] == {"markdown": 2}
    assert sum(counts["lang"].values()) == 2
    assert counts["kind"] == {"info": 2}
    assert counts["trust"] == {"generated": 2, "secondary": 2, "primary": 2}


def test_only_the_latest_runs_are_kept(writer: StoreWriter, reader: StoreReader) -> None:
    for n in range(120):
        writer.record_run("ingest", n, f'{{"n": {n}}}')
    with reader.catalogue() as catalogue:
        runs = catalogue.runs(1000)
    assert [run.report["n"] for run in runs] == list(range(119, 19, -1))


def test_sources_come_in_the_order_they_were_added_with_their_figures(
    writer: StoreWriter, reader: StoreReader
) -> None:
    from tests.notes import a_source

    writer.save_sources([a_source("/z", "z"), a_source("/a", "a")])
    writer.apply([a_note("a.md", "one", "two")])
    with reader.catalogue() as catalogue:
        found = catalogue.sources()
        assert catalogue.known_files(SOURCE).keys() == {b"a.md"}
    assert [(s.source_id, s.documents, s.chunks) for s in found] == [
        ("notes", 1, 2),
        ("z", 0, 0),
        ("a", 0, 0),
    ]
