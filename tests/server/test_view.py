"""What an agent sees: present lines, within its sources and its budget, and nothing private."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from kebab_tui.domain.citation import SourceSpan
from kebab_tui.domain.errors import FilterError, KebabError, NotFoundError, UsageError
from kebab_tui.domain.note_uri import NoteUri, parse_uri, uri_of
from kebab_tui.server.view import AgentView, Passages, tokens_of
from kebab_tui.settings.settings import SearchSettings, Settings
from kebab_tui.workspace import Callbacks, Workspace
from tests.command_line import Kebab
from tests.formats.pdfs import Page, fixtures, pdf


@contextmanager
def view_of(kebab: Kebab, *sources: str) -> Iterator[AgentView]:
    workspace = Workspace(Settings(search=SearchSettings(mode="lexical")), str(kebab.data))
    try:
        yield AgentView(workspace, sources)
    finally:
        workspace.close()


@pytest.fixture
def view(vault: Kebab) -> Iterator[AgentView]:
    with view_of(vault) as view:
        yield view


def found(view: AgentView, query: str, limit: int = 20, **options: object) -> Passages:
    return view.search(query, limit=limit, max_tokens=4_000, **options)  # type: ignore[arg-type]


def cited(passages: Passages) -> set[str]:
    return {f"{one.hit.source}/{one.hit.citation}" for one in passages.hits}


# Private notes and other sources


def test_private_notes_are_neither_found_nor_counted(view: AgentView) -> None:
    passages = found(view, "port")
    assert cited(passages) == {"notes/infra/port.md:L1-L5", "work/plan.md:L1-L3", "work/infra/port.md:L1-L3"}
    assert passages.total == 3
    for secret in ("zebra", "4711", "yak", "tag:x zebra", '"quiet day"', "zeb*", "password"):
        passages = found(view, secret)
        assert (passages.hits, passages.total, passages.next_offset) == ((), 0, None)
        assert not any("zebra" in notice.text.lower() for notice in passages.notices)


def test_a_typo_is_not_corrected_to_a_word_of_a_private_note(view: AgentView) -> None:
    for typo in ("zebrra", "passwrod", "zebr"):
        passages = found(view, typo)
        assert not any(notice.code == "corrected" for notice in passages.notices)
    assert any(notice.code == "corrected" for notice in found(view, "confilct").notices)


def test_other_sources_are_neither_found_nor_counted_nor_named(vault: Kebab) -> None:
    with view_of(vault, "notes") as view:
        assert cited(found(view, "port")) == {"notes/infra/port.md:L1-L5"}
        assert found(view, "port").total == 1
        assert not any(one.code == "corrected" for one in found(view, "quaga").notices)
        assert [source.source_id for source in view.sources()] == ["notes"]
        assert [one.source.source_id for one in view.libraries("")] == ["notes"]
        for query, source in (("port in:work", ""), ("port", "work"), ("port IN:work in:notes", "notes")):
            with pytest.raises(FilterError) as error:
                found(view, query, source=source)
            assert error.value.hint == "the sources are: notes"
        for target in ("plan.md", "kebab://work/plan.md", "Plan", "plan.md:L1"):
            with pytest.raises(NotFoundError):
                view.read(target, max_tokens=500)
        with pytest.raises(NotFoundError):
            view.library("work")
        assert "quagga" not in "".join(document.title for document, _ in view.recent())


def test_libraries_tell_nothing_of_other_sources(vault: Kebab) -> None:
    with view_of(vault, "notes") as view:
        for query in ("in:nowhere x", "in:work quagga", "in:wrk x"):
            with pytest.raises(FilterError) as error:
                view.libraries("", query)
            assert error.value.hint in ("the sources are: notes", "did you mean in:notes?")
        scores = {
            view.libraries("notes", query)[0].score
            for query in ("quagga", "quaggo", "port qua*", "port quz*")
        }
        assert len(scores) <= 2
        assert view.libraries("notes", "quagga") == view.libraries("notes", "quaggo")


def test_a_source_is_not_widened_by_the_query(view: AgentView) -> None:
    assert found(view, "port in:work", source="work").total == 2
    with pytest.raises(FilterError):
        found(view, "port in:work", source="notes")


def test_raw_queries_are_refused(view: AgentView) -> None:
    """Some take minutes, and the next call waits for them."""
    slow = "'NEAR(" + " ".join(["l*"] * 400) + ", 100000)'"
    for ask in (lambda: found(view, slow), lambda: view.libraries("notes", slow)):
        with pytest.raises(UsageError, match="raw queries"):
            ask()


def test_a_source_that_does_not_exist_is_an_error_at_the_start(vault: Kebab) -> None:
    with view_of(vault, "wrok") as view, pytest.raises(UsageError, match="wrok"):
        view.check_sources()


def test_all_that_cannot_be_read_gets_one_answer(view: AgentView, vault: Kebab, tmp_path: Path) -> None:
    (tmp_path / "outside.md").write_text("# Outside\n")
    chunk = vault("inspect", "infra/secret.md", "--json").json["chunks"][0]["chunk_id"]
    for target in (
        "infra/secret.md", "infra/secret.md:L5", "secret.md", "secret", "Zebra password", "diary/day.md",
        chunk, chunk[:10], "notes/diary/day.md#L1-L2", "kebab://notes/infra/secret.md",
        "kebab://notes/diary/day.md#L3", "kebab://nowhere/infra/port.md", "kebab://notes/../outside.md",
        "../outside.md", "infra/../../outside.md", str(tmp_path / "outside.md"),
        str(tmp_path / "notes/infra/port.md"), "~/x.md", "/etc/passwd", "file:///etc/passwd",
        "infra/%2e%2e/secret.md", "nothing.md", "nothing", ".", "", "/", "\0", "a\0b", ".kebabprivate",
        "ff" * 16,
    ):  # fmt: skip
        with pytest.raises(NotFoundError) as error:
            view.read(target, max_tokens=500)
        assert error.value.message == f"not in the index: {target}"
        assert error.value.hint.startswith("give a path or a citation")
        assert str(tmp_path) not in error.value.hint


def test_a_note_that_just_became_private_does_not_leave(view: AgentView, tmp_path: Path) -> None:
    """The index does not know it yet."""
    note = tmp_path / "notes/infra/port.md"
    note.write_text(f"---\nprivate: yes\n---\n{note.read_text()}")
    assert cited(found(view, "listeners")) == set()
    with pytest.raises(NotFoundError):
        view.read("kebab://notes/infra/port.md", max_tokens=500)
    (tmp_path / "work/.kebabprivate").write_text("plan*\n")
    assert cited(found(view, "wiki")) == set()
    assert "plan.md" not in [document.path for document, _ in view.recent()]


def test_an_ambiguous_target_tells_of_no_note_that_just_became_private(
    view: AgentView, tmp_path: Path
) -> None:
    (tmp_path / "work/infra/port.md").write_text("---\nprivate: true\n---\n# Port conflict\n")
    for target in ("infra/port.md", "port.md:L1", "port"):
        assert view.read(target, max_tokens=500).note.document.source == "notes"


def test_private_passages_are_not_counted_in_a_library(view: AgentView) -> None:
    (notes,) = (one for one in view.libraries("notes") if one.source.source_id == "notes")
    assert notes.source.chunks == 2
    assert [one.content_hits for one in view.libraries("zzz", "zebra")] in ([], [0], [0, 0])


# Citations


def test_a_moved_passage_is_cited_where_it_is_now(view: AgentView, tmp_path: Path) -> None:
    note = tmp_path / "notes/infra/port.md"
    note.write_text("---\ntags: [a]\n---\n" + note.read_text())
    (quoted,) = found(view, "listeners").hits
    assert str(quoted.hit.citation) == "infra/port.md:L4-L8"
    assert (quoted.located.state, quoted.located.shift) == ("moved", 3)
    assert note.read_text().splitlines()[3:8] == quoted.hit.text.splitlines()
    read = view.read("kebab://notes/infra/port.md#L5", max_tokens=500)
    assert (str(read.citation), read.lines) == (
        "infra/port.md:L8",
        ("Two listeners collide on one port.",),
    )


def test_a_changed_passage_has_its_present_text(view: AgentView, tmp_path: Path) -> None:
    note = tmp_path / "notes/infra/port.md"
    note.write_text("# Port conflict\n\n## Cause\n\nThree listeners collide on one port.\n")
    (quoted,) = found(view, "listeners").hits
    assert quoted.located.state == "changed"
    span = quoted.hit.citation.span
    assert quoted.hit.text.splitlines() == note.read_text().splitlines()[span.first - 1 : span.last]
    assert "Three" in quoted.hit.text


def test_no_deleted_title_or_heading_leaves(view: AgentView, tmp_path: Path) -> None:
    note = tmp_path / "notes/infra/port.md"
    note.write_text(note.read_text().replace("# Port conflict", "# Renamed").replace("## Cause", "## Why"))
    (quoted,) = found(view, "listeners").hits
    assert (quoted.hit.title, quoted.hit.heading_path, quoted.hit.citation.section) == ("port", "", "")
    assert view.read("kebab://notes/infra/port.md", max_tokens=500).note.document.title == "port"


def test_notes_of_one_displayed_path_are_read_by_their_bytes(view: AgentView, tmp_path: Path) -> None:
    for name, text in ((b"\xfe1.md", "# One\n"), (b"\xff1.md", "# Two\n")):
        with open(os.path.join(os.fsencode(tmp_path), b"notes", name), "w") as file:
            file.write(text)
    view._workspace.ingest([str(tmp_path / "notes")], Callbacks())
    uris = [uri for _, uri in view.recent()]
    read = [view.read(uri, max_tokens=500).lines for uri in uris if "1.md" in uri]
    assert sorted(read) == [("# One",), ("# Two",)]


def test_passages_of_files_that_are_gone_are_left_out(view: AgentView, tmp_path: Path) -> None:
    (tmp_path / "work/plan.md").unlink()
    passages = found(view, "port", source="work")
    assert cited(passages) == {"work/infra/port.md:L1-L3"}
    shutil.rmtree(tmp_path / "work")
    assert found(view, "port", source="work").hits == ()


def test_a_file_that_became_a_link_or_no_text_is_left_out(view: AgentView, tmp_path: Path) -> None:
    plan, port = tmp_path / "work/plan.md", tmp_path / "work/infra/port.md"
    plan.unlink()
    plan.symlink_to("/etc/passwd")
    port.write_bytes(b"\0" * 100)
    assert found(view, "port", source="work").hits == ()
    for target in ("kebab://work/plan.md", "kebab://work/infra/port.md"):
        with pytest.raises(NotFoundError):
            view.read(target, max_tokens=500)


# Reading


def test_targets_of_read(view: AgentView, vault: Kebab) -> None:
    chunk = vault("inspect", "plan.md", "--json").json["chunks"][0]["chunk_id"]
    for target, source, expected in (
        ("plan.md", "", "work/plan.md:L1-L3"),
        ("plan.md:L3", "", "work/plan.md:L3"),
        ("./plan.md#L1-L2", "", "work/plan.md:L1-L2"),
        ("kebab://work/plan.md", "", "work/plan.md:L1-L3"),
        ("kebab://work/plan.md#L3", "work", "work/plan.md:L3"),
        ("Plan", "", "work/plan.md:L1-L3"),
        (chunk, "", "work/plan.md:L1-L3"),
        (chunk[:8], "", "work/plan.md:L1-L3"),
        ("infra/port.md", "work", "work/infra/port.md:L1-L3"),
        ("port.md:L1", "notes", "notes/infra/port.md:L1"),
        ("kebab://notes/%ED%8F%AC%ED%8A%B8.md#L3", "", "notes/포트.md:L3"),
        ("포트", "", "notes/포트.md:L1-L3"),
    ):
        read = view.read(target, source=source, max_tokens=500)
        assert f"{read.note.document.source}/{read.citation}" == expected, target


def test_an_ambiguous_target_names_the_sources(view: AgentView) -> None:
    with pytest.raises(NotFoundError, match=r"notes: infra/port\.md, work: infra/port\.md"):
        view.read("infra/port.md", max_tokens=500)


def test_context_stays_within_the_note(view: AgentView) -> None:
    read = view.read(
        "notes/infra/port.md:L3" if False else "kebab://notes/infra/port.md#L3", context=1, max_tokens=500
    )
    assert (read.first, str(read.citation)) == (2, "infra/port.md:L2-L4")
    assert str(read.next) == "infra/port.md:L5"
    read = view.read("kebab://notes/infra/port.md#L3", context=200, max_tokens=500)
    assert (read.first, len(read.lines), read.next) == (1, 5, None)
    with pytest.raises(NotFoundError, match="has no line 99"):
        view.read("kebab://notes/infra/port.md#L99", max_tokens=500)


def test_a_budget_cuts_whole_lines_and_says_where_to_read_on(view: AgentView, tmp_path: Path) -> None:
    note = tmp_path / "notes/long.md"
    note.write_text("".join(f"line {number} of many lines\n" for number in range(1, 2_001)))
    view._workspace.ingest([str(tmp_path / "notes")], Callbacks())
    target, lines = "long.md", list[str]()
    while True:
        read = view.read(target, max_tokens=2_000)
        assert tokens_of("\n".join(read.lines)) <= 2_000
        lines += read.lines
        if read.next is None:
            break
        assert read.truncated or target != "long.md"
        target = str(read.next)
    assert lines == note.read_text().splitlines()


def test_a_huge_line_is_cut(view: AgentView, tmp_path: Path) -> None:
    (tmp_path / "notes/huge.md").write_text("데이터 " * 500_000)
    view._workspace.ingest([str(tmp_path / "notes")], Callbacks())
    read = view.read("huge.md", max_tokens=200)
    assert read.truncated
    assert tokens_of(read.lines[0]) <= 210
    (quoted, *_) = found(view, "데이터", limit=1).hits
    assert len(quoted.hit.text) <= 4_000


def test_a_budget_sends_whole_passages_and_continues_behind_them(view: AgentView, tmp_path: Path) -> None:
    for number in range(12):
        text = f"# Note {number}\n\n" + f"The word gnu stands here, in note {number}. " * 40
        (tmp_path / f"notes/gnu-{number:02}.md").write_text(text)
    view._workspace.ingest([str(tmp_path / "notes")], Callbacks())
    seen, offset = list[str](), 0
    while True:
        passages = view.search("gnu", limit=10, offset=offset, max_tokens=1_500)
        assert passages.hits
        assert sum(tokens_of(one.hit.text) for one in passages.hits) <= 1_500
        seen += [one.hit.chunk_id for one in passages.hits]
        if passages.next_offset is None:
            break
        assert passages.next_offset == offset + len(passages.hits)
        offset = passages.next_offset
    assert len(seen) == len(set(seen)) == passages.total == 12
    tiny = view.search("gnu", limit=10, max_tokens=200)
    assert (len(tiny.hits), tiny.truncated, tiny.next_offset) == (1, True, 1)


# Related notes


def test_links_both_ways_and_nothing_private(view: AgentView, vault: Kebab, tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    (notes / "hub.md").write_text("# Hub\n\nSee [[port#Cause]], [[secret]], [[plan]] and [x](nothing.md).\n")
    (notes / "diary/link.md").write_text("# Linking\n\n[[hub]]\n")
    (notes / "back.md").write_text("# Back\n\n\nTo [[hub]].\n")
    assert vault("ingest", str(notes)).code == 0
    found = view.related("hub", limit=10)
    written = {str(one.link): one.target and str(one.target.citation) for one in found.links}
    assert written["port#Cause"] == "infra/port.md:L3-L5"
    assert written["secret"] is None
    assert [str(one.place.citation) for one in found.backlinks] == ["back.md:L4"]
    assert found.total_backlinks == 1
    (notes / "back.md").write_text("---\nprivate: true\n---\n# Back\n\n\nTo [[hub]].\n")
    assert view.related("hub", limit=10).backlinks == ()
    with pytest.raises(NotFoundError, match="not in the index: diary/link"):
        view.related("diary/link", limit=10)


def test_related_notes_stay_within_the_sources(vault: Kebab, tmp_path: Path) -> None:
    (tmp_path / "notes/hub.md").write_text("# Hub\n\n[[plan]]\n")
    (tmp_path / "work/there.md").write_text("# There\n\n[[hub]]\n")
    assert vault("ingest").code == 0
    with view_of(vault, "notes") as view:
        found = view.related("hub", limit=10)
        assert [one.target for one in found.links] == [None]
        assert (found.backlinks, found.total_backlinks) == ((), 0)


def test_similar_notes_by_meaning(embedded: Kebab) -> None:
    with view_of(embedded) as view:
        found = view.related("infra/port-conflict.md", limit=3)
        (nearest, cosine), *_ = found.similar
        assert nearest.document.path == "infra/포트-충돌.md"
        assert cosine > 0.7
        of_passage = view.related("infra/port-conflict.md:L40-L50", limit=3)
        assert of_passage.similar != found.similar


# Filters, libraries, freshness


def test_filters(view: AgentView) -> None:
    assert cited(found(view, "port", source="work", path="infra/**")) == {"work/infra/port.md:L1-L3"}
    assert found(view, "port", kind="code").hits == ()
    assert found(view, "port", tags=["none"]).hits == ()
    assert len(found(view, "port", type_="markdown").hits) == 3
    for type_, path in (("markdwon", ""), ("", "[")):
        with pytest.raises(KebabError):
            found(view, "port", type_=type_, path=path)


def test_libraries_by_id(view: AgentView) -> None:
    assert view.library("/work")[0].source_id == view.library("work")[0].source_id == "work"
    with pytest.raises(NotFoundError, match="wrok"):
        view.library("wrok")


def test_an_index_that_nobody_watches_says_so(view: AgentView) -> None:
    (notice,) = (one for one in found(view, "port").notices if one.code == "not_watched")
    assert notice.text.startswith("No process watches the notes; they were indexed ")


def test_what_another_process_indexes_is_found_at_once(view: AgentView, vault: Kebab, tmp_path: Path) -> None:
    assert found(view, "okapi").hits == ()
    (tmp_path / "work/new.md").write_text("# New\n\nAn okapi.\n")
    assert vault("ingest", str(tmp_path / "work")).code == 0
    assert cited(found(view, "okapi")) == {"work/new.md:L1-L3"}


def test_uris_of_any_path() -> None:
    for source, path in (("notes", "a b#c?d%/메모.md"), ("메모", "x.md"), ("a.b-c", "\udcff\n.md")):
        uri = uri_of(source, os.fsencode(path), SourceSpan(3, 9))
        assert uri.isascii()
        assert " " not in uri
        assert parse_uri(uri) == NoteUri(source, f"{path}#L3-L9")
        assert parse_uri(uri_of(source, os.fsencode(path))) == NoteUri(source, path)
        assert parse_uri(uri_of(source, os.fsencode(path), None, "v1")) == NoteUri(source, path, "v1")


def test_an_empty_index_is_an_error_with_a_hint(tmp_path: Path) -> None:
    with view_of(Kebab(tmp_path / "data", tmp_path)) as view:
        assert view.sources() == []
        with pytest.raises(KebabError) as error:
            found(view, "port")
        assert "kebab ingest" in error.value.hint


# Documents with pages

SWARMS = ["A colony swarms when it has more bees than room.", "Queen cells announce it."]


@pytest.fixture
def bees(tmp_path: Path, kebab: Kebab) -> Iterator[AgentView]:
    """A source with a PDF file of five pages; the first two have Roman labels."""
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "bees.pdf").write_bytes(fixtures()["bees.pdf"])
    done = kebab("ingest", str(folder))
    assert done.code == 0, done.err
    with view_of(kebab) as view:
        yield view


def write_pages(path: Path, *pages: list[str]) -> None:
    path.write_bytes(pdf([Page().write(lines) for lines in pages]))


def test_a_hit_in_a_document_is_cited_by_page(bees: AgentView) -> None:
    quoted = found(bees, "wax moths winter").hits[0]
    assert str(quoted.hit.citation) == "bees.pdf#p=3"
    assert (quoted.located.state, quoted.hit.citation.label) == ("same", "1")
    assert "Wax moths winter in that" in quoted.hit.text


def test_a_page_is_read_by_citation_path_name_and_uri(bees: AgentView) -> None:
    for target, page, text in (
        ("bees.pdf#p=3", 3, "Wax moths"),
        ("kebab://notes/bees.pdf#p=4", 4, "A colony swarms"),
        ("bees.pdf", 1, "Keeping bees"),
        ("bees", 1, "Keeping bees"),
    ):
        read = bees.read(target, max_tokens=2_000)
        assert str(read.citation) == f"bees.pdf#p={page}", target
        assert text in "\n".join(read.lines)
        assert (read.first, read.truncated) == (1, False)


def test_one_page_leads_to_the_next(bees: AgentView) -> None:
    target, pages = "bees.pdf", list[str]()
    while True:
        read = bees.read(target, max_tokens=2_000)
        pages.append(str(read.citation))
        if read.next is None:
            break
        target = str(read.next)
    assert pages == [f"bees.pdf#p={number}" for number in range(1, 6)]


def test_a_budget_cuts_the_lines_of_a_page(bees: AgentView) -> None:
    whole = bees.read("bees.pdf#p=3", max_tokens=2_000)
    read = bees.read("bees.pdf#p=3", context=5, max_tokens=40)
    assert read.truncated
    assert read.lines == whole.lines[: len(read.lines)]


def test_a_page_or_line_that_does_not_exist_is_not_found(bees: AgentView, tmp_path: Path) -> None:
    (tmp_path / "notes/note.md").write_text("# Note\n\nLines.\n")
    bees._workspace.ingest([str(tmp_path / "notes")], Callbacks())
    for target, message, hint in (
        ("bees.pdf#p=6", "bees.pdf has no page 6", "its last page is 5"),
        ("bees.pdf#p=999999999", "bees.pdf has no page 999,999,999", "its last page is 5"),
        ("bees.pdf:L3", "bees.pdf is cited by page, not by line", "for example: bees.pdf#p=1"),
        ("kebab://notes/note.md#p=1", "note.md has no page 1", "it has lines: PATH:L5-L9"),
    ):
        with pytest.raises(NotFoundError) as error:
            bees.read(target, max_tokens=500)
        assert (error.value.message, error.value.hint) == (message, hint)


def test_a_page_that_moved_is_cited_where_it_is_now(bees: AgentView, kebab: Kebab, tmp_path: Path) -> None:
    path = tmp_path / "notes/a.pdf"
    write_pages(path, ["cover"], SWARMS)
    assert kebab("ingest", str(tmp_path / "notes")).code == 0
    write_pages(path, ["cover"], ["preface"], SWARMS)
    (quoted,) = (one for one in found(bees, "colony swarms").hits if one.hit.path == "a.pdf")
    assert str(quoted.hit.citation) == "a.pdf#p=3"
    assert (quoted.located.state, quoted.located.shift) == ("moved", 1)
    assert quoted.hit.text.splitlines() == SWARMS
    read = bees.read("a.pdf#p=2", max_tokens=500)
    assert (str(read.citation), read.lines) == ("a.pdf#p=3", tuple(SWARMS))
    assert read.note.located.state == "moved"


def test_a_changed_page_has_its_present_text(bees: AgentView, kebab: Kebab, tmp_path: Path) -> None:
    path = tmp_path / "notes/a.pdf"
    write_pages(path, ["cover"], SWARMS)
    assert kebab("ingest", str(tmp_path / "notes")).code == 0
    write_pages(path, ["cover"], [SWARMS[0], "Give room."])
    (quoted,) = (one for one in found(bees, "colony swarms").hits if one.hit.path == "a.pdf")
    assert quoted.located.state == "changed"
    assert quoted.hit.text.splitlines()[0] == SWARMS[0]
    assert "Queen cells" not in quoted.hit.text
    assert str(quoted.hit.citation) == "a.pdf#p=2"


def test_a_private_document_does_not_leave(bees: AgentView, tmp_path: Path) -> None:
    """Not from the moment of the rule on, before the index knows it; nor after."""
    assert [document.path for document, _ in bees.recent()] == ["bees.pdf"]
    (tmp_path / "notes/.kebabprivate").write_text("*.pdf\n")
    for _ in range(2):
        assert found(bees, "wax moths").hits == ()
        assert list(bees.recent()) == []
        for target in (
            "bees.pdf", "bees.pdf#p=3", "bees.pdf#p=6", "bees.pdf:L3", "bees", "kebab://notes/bees.pdf#p=3",
        ):  # fmt: skip
            with pytest.raises(NotFoundError) as error:
                bees.read(target, max_tokens=500)
            assert error.value.message == f"not in the index: {target}"
        bees._workspace.ingest([str(tmp_path / "notes")], Callbacks())
    assert found(bees, "wax moths").total == 0


def test_a_document_that_is_gone_damaged_or_a_link_does_not_leave(bees: AgentView, tmp_path: Path) -> None:
    path = tmp_path / "notes/bees.pdf"
    moved = path.rename(tmp_path / "elsewhere.pdf")
    for harm in (lambda: None, lambda: path.write_bytes(b"%PDF-"), lambda: replace_by_link(path, moved)):
        harm()
        assert found(bees, "wax moths").hits == ()
        for target in ("bees.pdf", "bees.pdf#p=3"):
            with pytest.raises(NotFoundError):
                bees.read(target, max_tokens=500)


def replace_by_link(path: Path, target: Path) -> None:
    path.unlink()
    path.symlink_to(target)
