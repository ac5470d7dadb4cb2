"""SQL filters agree with a plain Python implementation of their definition."""

from __future__ import annotations

import tempfile
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kebab_tui.domain.change import SaveNote
from kebab_tui.domain.document import LANGUAGES, ChunkKind, Trust
from kebab_tui.domain.facets import values_of
from kebab_tui.domain.ids import SourceId
from kebab_tui.domain.query import FacetFilter, FacetMatch, SearchFilters
from kebab_tui.domain.scope import SourcePart
from kebab_tui.formats.registry import document_types
from kebab_tui.search.match import Word
from kebab_tui.search.ports import Among, FieldWeights
from kebab_tui.storage.lock import DataFolder
from kebab_tui.storage.sqlite.reader import StoreReader
from kebab_tui.storage.sqlite.writer import StoreWriter
from tests.notes import a_note, a_source

TAGS = ("ops", "Rust", "한글/문법", "ops/a,b")
TITLES = ("Port Conflict", "포트 충돌", "STRASSE", "x")
HEADINGS = ("Setup > Linux", "설치", "")
PATHS = ("a.md", "ops/a.md", "ops/deep/b.md", "OPS2/c.txt", "노트/d.md")
GLOBS = ("ops/**", "*.md", "**/*.md", "ops", "노트/*", "*/?.md", "[!a].md", "ops/deep")
TRUSTS: tuple[Trust | None, ...] = (None, *Trust)


@dataclass(frozen=True)
class Corpus:
    reader: StoreReader
    notes: tuple[SaveNote, ...]
    source_trust: dict[str, Trust]


def the_notes() -> Iterator[SaveNote]:
    """Every value of every attribute in several combinations."""
    for n in range(60):
        source = SourceId(("notes", "other")[n // 5 % 2])
        note = a_note(
            PATHS[n % 5].replace(".", f"-{n}."),
            f"text {n}",
            title=TITLES[n % 4],
            heading=HEADINGS[n // 2 % 3],
            tags=tuple(tag for bit, tag in enumerate(TAGS) if n >> bit & 1),
            trust=TRUSTS[n // 3 % 4],
            mtime_ns=n % 7,
            source=source,
        )
        kind: ChunkKind = "code" if n % 3 == 0 else "info"
        lang = LANGUAGES[n // 4 % 3]
        type_ = document_types()[n // 6 % 4]
        yield replace(
            note,
            document=replace(note.document, lang=lang, type=type_),
            passages=(replace(note.passages[0], kind=kind),),
        )


@pytest.fixture(scope="module")
def corpus() -> Iterator[Corpus]:
    with tempfile.TemporaryDirectory() as root:
        writer = StoreWriter(DataFolder(root))
        trusts = {"notes": Trust.PRIMARY, "other": Trust.SECONDARY}
        writer.save_sources(
            [replace(a_source(f"/{name}", name), trust=trust) for name, trust in trusts.items()]
        )
        notes = tuple(the_notes())
        writer.apply(notes)
        reader = StoreReader(DataFolder(root), FieldWeights())
        yield Corpus(reader, notes, trusts)
        reader.close()
        writer.close()


def fold(text: str) -> str:
    return unicodedata.normalize("NFC", text).casefold()


def globbed(pattern: str, path: str) -> bool:
    import re

    from kebab_tui.domain.text import glob_regex

    return re.fullmatch(glob_regex(pattern), path) is not None


def has_tags(tags: set[str], wanted: FacetFilter) -> bool:
    """A tag also has the names of its parents: `ops/linux` is `ops`."""
    found = [any(f"{tag}/".startswith(f"{fold(value)}/") for tag in tags) for value in wanted.values]
    return all(found) if wanted.match == "all" else any(found) == (wanted.match == "any")


def within(source: SourceId, path: str, part: SourcePart) -> bool:
    return source == part.source and (not part.below or path.startswith(f"{part.below}/"))


def passes(note: SaveNote, filters: SearchFilters, source_trust: dict[str, Trust]) -> bool:
    """The definition in `domain.query`, word for word."""
    document, passage = note.document, note.passages[0]
    tags = {fold(tag) for tag in values_of(document.facets, "tag")}
    trust = note.own_trust or source_trust[document.source]
    lists: list[tuple[object, tuple[object, ...]]] = [
        (document.type, filters.types), (passage.kind, filters.kinds), (document.lang, filters.langs),
        (document.source, filters.sources), (document.doc_id, filters.doc_ids),
    ]  # fmt: skip
    return (
        all(has_tags(tags, one) for one in filters.facets)
        and all(value in wanted for value, wanted in lists if wanted)
        and (not filters.paths or any(globbed(glob, document.path) for glob in filters.paths))
        and not any(globbed(glob, document.path) for glob in filters.paths_none)
        and (not filters.scope or any(within(document.source, document.path, one) for one in filters.scope))
        and (filters.trust_min is None or trust >= filters.trust_min)
        and (filters.after_ns is None or document.fingerprint.mtime_ns >= filters.after_ns)
        and (filters.before_ns is None or document.fingerprint.mtime_ns < filters.before_ns)
        and all(fold(part) in fold(document.title) for part in filters.titles)
        and all(fold(part) in fold(passage.heading_path) for part in filters.headings)
    )


def some(*values: str) -> st.SearchStrategy[tuple[str, ...]]:
    return st.one_of(st.just(()), st.lists(st.sampled_from(values), max_size=2).map(tuple))


DOC_IDS = tuple(str(note.document.doc_id) for note in the_notes())
SPELLED = (*TAGS, "OPS", "rust", "op", unicodedata.normalize("NFD", "한글"), "nothing")
TIMES = st.none() | st.integers(0, 7)
TAG_FILTERS = st.builds(
    FacetFilter,
    st.just("tag"),
    st.sampled_from(("any", "all", "none")),
    st.lists(st.sampled_from(SPELLED), min_size=1, max_size=2).map(tuple),
)
ANY_FILTERS = st.builds(
    SearchFilters,
    facets=st.lists(TAG_FILTERS, max_size=3, unique_by=lambda one: one.match).map(tuple),
    types=some("markdown", "note", "pdf"),
    kinds=some("info", "code"),
    langs=some("ko", "en", "und"),
    sources=some("notes", "other", "nobody"),
    paths=some(*GLOBS),
    paths_none=some(*GLOBS),
    scope=st.lists(
        st.builds(
            SourcePart,
            st.sampled_from(("notes", "other", "nobody")).map(SourceId),
            st.sampled_from(("", "ops", "ops/deep", "노트", "op")),
        ),
        max_size=2,
    ).map(tuple),
    trust_min=st.sampled_from(TRUSTS),
    after_ns=TIMES,
    before_ns=TIMES,
    doc_ids=st.just(()) | st.lists(st.sampled_from(DOC_IDS), min_size=5, max_size=40).map(tuple),
    titles=some("port", "충돌", "straße", unicodedata.normalize("NFD", "포트"), "'"),
    headings=some("linux", "설치", " > "),
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(filters=ANY_FILTERS)
def test_a_search_passes_what_the_definition_passes(corpus: Corpus, filters: SearchFilters) -> None:
    expected = sorted(
        note.passages[0].text for note in corpus.notes if passes(note, filters, corpus.source_trust)
    )
    with corpus.reader.snapshot() as snapshot:
        found = snapshot.hydrate(
            [scored.row for scored in snapshot.rank(Among(filters, match=Word("text")), 1000)]
        )
        assert sorted(one.chunk.text for one in found.values()) == expected
        assert snapshot.count(Among(filters, match=Word("text"))) == len(expected)
        rows, total = snapshot.browse(filters, 1000, 0)
        assert len(rows) == total == len(expected)
        everything = [scored.row for scored in snapshot.rank(Among(match=Word("text")), 1000)]
        assert snapshot.passes(everything, filters) == bool(expected)
    with corpus.reader.catalogue() as catalogue:
        documents, _ = catalogue.documents(filters)
        assert sorted(d.path for d in documents) == sorted(
            note.document.path for note in corpus.notes if passes(note, filters, corpus.source_trust)
        )


def test_a_tag_finds_the_tags_below_it_and_no_others_that_begin_alike(
    writer: StoreWriter, reader: StoreReader
) -> None:
    tags = ("ops", "ops/linux/arch", "Ops/Linux", "opsx", "ops-x", "other")
    writer.apply([a_note(f"{n}.md", "x", tags=(tag,)) for n, tag in enumerate(tags)])

    def found(match: FacetMatch, *values: str) -> set[str]:
        with reader.catalogue() as catalogue:
            documents, _ = catalogue.documents(SearchFilters((FacetFilter("tag", match, values),)))
        return {tag for document in documents for tag in values_of(document.facets, "tag")}

    assert found("all", "OPS") == {"ops", "ops/linux/arch", "Ops/Linux"}
    assert found("all", "ops", "ops/linux") == {"ops/linux/arch", "Ops/Linux"}
    assert found("any", "ops/linux/arch", "other") == {"ops/linux/arch", "other"}
    assert found("none", "ops") == {"opsx", "ops-x", "other"}


@pytest.mark.parametrize(
    "text", ["\udcff", "\ud800x", "a\0b", "'; DROP TABLE chunks; --", "%", "\\", "x" * 10_000]
)
def test_no_filter_value_injects_sql(corpus: Corpus, text: str) -> None:
    filters = SearchFilters(
        (FacetFilter("tag", "any", (text,)), FacetFilter("tag", "all", (text,))), sources=(SourceId(text),),
        paths=(text,), paths_none=(text,), titles=(text,), headings=(text,),
    )  # fmt: skip
    with corpus.reader.snapshot() as snapshot:
        assert snapshot.rank(Among(filters, match=Word("text")), 10) == []
        assert len(snapshot.rank(Among(match=Word("text")), 100)) == 60
