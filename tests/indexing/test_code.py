"""Source code in an index: where it is read, citations, places after edits, the watch, upgrade, bad files."""

from __future__ import annotations

import os
import resource
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path

import pytest

from kebab_tui.domain.citation import TextPosition
from kebab_tui.domain.document import Source
from kebab_tui.domain.hit import SearchHit
from kebab_tui.domain.ids import SourceId
from kebab_tui.domain.query import SearchQuery
from kebab_tui.formats import isolated
from kebab_tui.formats.registry import FORMATS
from kebab_tui.settings.settings import ReadingSettings, Settings
from kebab_tui.workspace import Callbacks
from tests.formats.sources import SOURCES, hostile_sources
from tests.indexing.keeping import citations_are_true, keeping, until
from tests.indexing.test_pdf import hostile as hostile_pdfs
from tests.vault import Vault

KETTLE = '''\
"""Kettles of __all__ kinds."""

import os


class Kettle:
    def __init__(self, litres):
        self.litres = litres

    def boil_water(self):
        # simmers
        return self.litres * 2
'''


@pytest.fixture
def vault(tmp_path: Path) -> Iterator[Vault]:
    """A note and two files of code, not indexed yet."""
    made = Vault(tmp_path)
    made.write("note.md", "# Kettles\n\nwater\n")
    made.write("src/kettle.py", KETTLE)
    made.write("src/kettle.go", SOURCES["kettle.go"].text)
    made.write("Makefile", "all:\n\twater\n")
    yield made
    made.workspace.close()
    isolated.close()


def add(vault: Vault, **details: object) -> None:
    source = Source(SourceId("notes"), "notes", str(vault.root), **details)  # type: ignore[arg-type]
    vault.workspace.add_source(source, Callbacks())


def paths(vault: Vault) -> set[str]:
    vault.ingest()
    return {str(path) for (path,) in vault.rows("SELECT path FROM documents")}


def hit(vault: Vault, text: str) -> SearchHit:
    return vault.workspace.search(SearchQuery(text, "lexical", k=1, strict=True)).hits[0]


# where code is read

CODE = {"src/kettle.py", "src/kettle.go", "Makefile"}


@pytest.mark.parametrize(
    ("include", "read"),
    [
        ((), {"note.md"}),
        (("**",), {"note.md"}),
        (("*",), {"note.md"}),
        (("src/", "*.md"), {"note.md"}),
        (("src/*",), set()),
        (("*.*",), {"note.md"}),
        (("*.py",), {"src/kettle.py"}),
        (("*.md", "src/**/*.p[yx]"), {"note.md", "src/kettle.py"}),
        (("**", "*.go"), {"note.md", "src/kettle.go"}),
        (("**", "Makefile"), {"note.md", "Makefile"}),
        (("*.md", "*.py", "*.go", "!src/kettle.go"), {"note.md", "src/kettle.py"}),
    ],
)
def test_code_is_read_only_where_a_pattern_names_its_ending(
    vault: Vault, include: tuple[str, ...], read: set[str]
) -> None:
    add(vault, include=include)
    assert paths(vault) == read


def test_code_is_read_in_a_source_that_says_so(vault: Vault) -> None:
    add(vault, code=True)
    assert paths(vault) == {"note.md", *CODE}
    vault.workspace.edit_source(SourceId("notes"), lambda source: replace(source, code=False), Callbacks())
    assert paths(vault) == {"note.md"}


def test_code_is_read_everywhere_if_the_settings_say_so(vault: Vault) -> None:
    vault.workspace.close()
    vault.workspace = vault.opened(Settings(reading=ReadingSettings(code=True)))
    assert paths(vault) == {"note.md", *CODE}
    vault.restart()
    assert paths(vault) == {"note.md"}


def test_code_that_is_off_is_counted_and_explained(vault: Vault) -> None:
    (report,) = vault.ingest().sources
    assert str(report.other_files) == "3 other files not read: no extension 1, go 1, py 1"
    assert "code = false" in vault.workspace.why_not(SearchQuery("boil"), "src/kettle.py").detail
    states = {file.path: file.reason for file in vault.workspace.file_states()}
    assert "code = false" in states["src/kettle.py"]


def test_ignore_rules_hold_for_code_too(vault: Vault) -> None:
    vault.write(".gitignore", "*.go\n")
    vault.write("a.min.js", "x=1;" * 3000)
    add(vault, code=True, exclude=("Makefile",))
    assert paths(vault) == {"note.md", "src/kettle.py", "a.min.js"}


# search and citations


def test_a_function_is_found_by_its_parts_and_cited(vault: Vault) -> None:
    add(vault, code=True)
    vault.ingest()
    found = hit(vault, "boil water type:code")
    assert (found.path, found.kind, found.type, found.title) == ("src/kettle.py", "code", "code", "kettle.py")
    assert found.heading_path == "Kettle > __init__ · boil_water"
    assert vault.find("boil heading:Kettle") == ["src/kettle.go", "src/kettle.py"]
    assert vault.find("water type:markdown") == ["note.md"]
    assert vault.find("kettle name:kettle type:code") == ["src/kettle.go", "src/kettle.py"]
    assert [note.document.path for note in vault.workspace.find("kettle.py")] == ["src/kettle.py"]
    assert citations_are_true(vault)


def test_the_snippet_of_code_is_the_code(vault: Vault) -> None:
    add(vault, code=True)
    vault.ingest()
    assert "def __init__(self, litres):" in hit(vault, "simmers").snippet


def test_the_editor_opens_at_the_line_that_matches(vault: Vault) -> None:
    add(vault, code=True)
    vault.ingest()
    found = hit(vault, "simmers")
    vault.write("src/kettle.py", "# new\n" + KETTLE)
    located = vault.workspace.locate(found)
    assert (located.state, located.shift) == ("moved", 1)
    position = vault.workspace.matching_position(found, located, "simmers")
    assert position == TextPosition(KETTLE.split("\n").index("        # simmers") + 2, 11)


@pytest.mark.parametrize(
    ("edit", "state"),
    [
        (lambda text: text, "same"),
        (lambda text: "# new\n" + text, "moved"),
        (lambda text: text.replace("* 2", "* 3"), "changed"),
    ],
)
def test_a_function_is_located_after_an_edit(vault: Vault, edit: Callable[[str], str], state: str) -> None:
    add(vault, code=True)
    vault.ingest()
    found = hit(vault, "simmers")
    vault.write("src/kettle.py", edit(KETTLE))
    located = vault.workspace.locate(found)
    assert located.state == state
    lines = edit(KETTLE).split("\n")[located.span.first - 1 : located.span.last]
    assert any("simmers" in line for line in lines)


def test_an_edit_keeps_the_passages_of_other_functions(vault: Vault) -> None:
    def text(value: int) -> str:
        body = "    x = 'a line that is long enough to fill the passage of a function'\n" * 8
        return "\n\n".join(f"def f{n}():\n{body}    return {value if n == 2 else n}\n" for n in range(5))

    vault.write("long.py", text(0))
    add(vault, code=True)
    vault.ingest()
    before = set(vault.rows("SELECT chunk_id FROM chunks"))
    vault.write("long.py", text(7))
    assert vault.outcomes() == {"long.py": "changed"}
    assert len(before - set(vault.rows("SELECT chunk_id FROM chunks"))) == 1


def test_saved_code_is_indexed_by_the_watch(vault: Vault) -> None:
    add(vault, code=True)
    with keeping(vault):
        vault.write("src/cup.rs", "/// Sips.\nfn sip() {}\n")
        until(lambda: vault.find("sips") == ["src/cup.rs"])
        assert hit(vault, "sips").heading_path == "sip"


def test_saved_code_that_is_off_is_not_indexed_by_the_watch(vault: Vault) -> None:
    with keeping(vault):
        vault.write("src/cup.rs", "/// Sips.\nfn sip() {}\n")
        vault.write("late.md", "late\n")
        until(lambda: vault.find("late") == ["late.md"])
        assert vault.find("sips") == []


# upgrade


def test_an_index_from_before_code_reads_no_markdown_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(FORMATS, "code")
    vault = Vault(tmp_path)
    vault.write("note.md", "# Kettles\n\nwater\n")
    vault.write("kettle.py", KETTLE)
    add(vault, include=("*.md", "*.py"))
    vault.ingest()
    before = vault.rows("SELECT doc_id, made_by, indexed_ns FROM documents")
    monkeypatch.undo()
    monkeypatch.setattr("kebab_tui.formats.markdown.parse", lambda *_: pytest.fail("Markdown is read again"))
    vault.restart()
    assert vault.outcomes() == {"kettle.py": "added"}
    assert before == vault.rows("SELECT doc_id, made_by, indexed_ns FROM documents WHERE path = 'note.md'")
    vault.workspace.close()


# many bad files

REASONS = {
    "binary.c": "binary file",
    "escape.json": "minified",
    "generated.go": "generated code",
    "generated.py": "generated code",
    "large.json": "JSON larger than 256 kB",
    "long_line.js": "larger than 1 MB",
    "long_line.ts": "minified",
    "minified.js": "minified",
    "noise.c": "larger than 1 MB",
    "noise.js": "larger than 1 MB",
    "package-lock.json": "lock file",
}


def test_there_are_twenty_hostile_sources() -> None:
    assert len(hostile_sources()) == 20


@pytest.mark.slow
def test_forty_hostile_files_stop_no_sound_note(tmp_path: Path) -> None:
    def peak(whose: int = resource.RUSAGE_CHILDREN) -> int:
        """Of all children that this process had; one that it forks begins with its own peak."""
        return resource.getrusage(whose).ru_maxrss

    vault, peak_before = Vault(tmp_path), peak()
    sources = hostile_sources()
    for name, data in sources.items():
        vault.write(f"hostile/{name}", data)
    for number, data in enumerate(islice(hostile_pdfs(), 20)):
        vault.write(f"hostile/{number}.pdf", data)
    for number in range(200):
        vault.write(f"sound/{number}.md", f"# Sound {number}\n\nlavender\n")
    add(vault, code=True)
    with keeping(vault) as kept:
        until(lambda: len(vault.find("lavender")) == 200, "a note is missing")
        vault.write("sound/late.md", "lavender\n")
        until(lambda: len(vault.find("lavender")) == 201, "the watch is dead")
        assert kept.is_running
    rows = vault.rows("SELECT path, state, reason FROM documents WHERE path LIKE 'hostile/%'")
    found = {os.path.basename(str(path)): (state, str(reason)) for path, state, reason in rows}
    assert len(found) == 40
    for name in sources:
        expected = REASONS.get(name)
        assert found[name][0] == ("skipped" if expected else "ok"), (name, found[name])
        assert (expected or "") in found[name][1]
    assert all(reason for name, (_, reason) in found.items() if name.endswith(".pdf"))
    assert vault.orphans() == []
    assert peak() <= max(peak_before, peak(resource.RUSAGE_SELF), 600 << 10), "kilobytes"
    vault.workspace.close()
    isolated.close()
