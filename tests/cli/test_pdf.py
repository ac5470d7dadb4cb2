"""`kebab` on PDF files, as a user and a script see it."""

from __future__ import annotations

import os
import re
import time
from pathlib import Path

import pytest

from tests.command_line import ROOT, Kebab
from tests.formats import pdfs
from tests.formats.pdfs import Page, fixtures, one_page
from tests.wire.test_schemas import check

VIEWER = """#!/bin/sh
printf '%s\\n' "$@" > "$0.args"
"""


@pytest.fixture
def library(kebab: Kebab, notes: Path) -> Kebab:
    for name, data in fixtures().items():
        (notes / name).write_bytes(data)
    kebab("ingest", str(notes))
    return kebab


def viewer(tmp_path: Path, name: str = "zathura") -> Path:
    made = tmp_path / "bin" / name
    made.parent.mkdir(exist_ok=True)
    made.write_text(VIEWER)
    made.chmod(0o755)
    return made


def test_a_hit_is_cited_by_page_with_its_label(library: Kebab) -> None:
    lines = library("search", "wax moths", "-n", "1", "--format", "human").lines
    assert lines[1:4] == [
        "   doc: bees.pdf",
        "   citation: bees.pdf#p=3 (page 1)",
        "   heading: Spring work · Cleaning the floor",
    ]
    hit = library("search", "wax moths", "-n", "1", "--json").json["hits"][0]
    check(hit, "search_hit.v1")
    assert hit["type"] == "pdf"
    assert hit["citation"] == {
        "path": "bees.pdf",
        "location": hit["location"],
        "kind": "page",
        "page": 3,
        "label": "1",
        "version": "",
        "section": "Spring work · Cleaning the floor",
        "text": "bees.pdf#p=3",
        "uri": "bees.pdf#p=3",
    }


def test_a_page_without_a_label_of_its_own_is_its_number(library: Kebab) -> None:
    assert (
        "   citation: library-meeting.pdf#p=2"
        in library("search", "희귀본 습도", "-n", "1", "--format", "human").lines
    )


def test_a_page_in_a_pipe_is_its_citation_and_the_line_that_matches(library: Kebab) -> None:
    (line,) = library("search", "wax moths", "-n", "1").lines
    assert re.fullmatch(r".*/bees\.pdf#p=3:.*moths.*", line)


def test_inspect_tells_of_pages(library: Kebab, notes: Path) -> None:
    lines = library("inspect", "bees.pdf").lines
    assert lines[0] == "Keeping bees"
    assert {"type: pdf, en, primary", "tags: bees, garden", "pages: i-ii, 1-3", "page count: 5"} <= set(lines)
    one = library("inspect", "bees.pdf#p=4", "--full")
    assert one.out.count("citation: ") == 1
    assert "│ A colony swarms when it has more bees than room. Queen cells at the lower edge of" in one.lines
    encoded = library("inspect", "bees.pdf#p=4", "--json").json
    check(encoded, "inspection.v1")
    assert encoded["page_count"] == 5
    assert encoded["document"]["pages"] == ["i-ii", "1-3"]


def test_a_page_without_text_and_a_document_without_text_are_said(library: Kebab, notes: Path) -> None:
    (notes / "mixed.pdf").write_bytes(pdfs.pdf([Page().write(["word"]), Page(), Page()]))
    (notes / "scan.pdf").write_bytes(pdfs.pdf([Page()] * 3))
    (notes / "secret.pdf").write_bytes(pdfs.pdf([Page()], encrypted=True))
    (notes / "cut.pdf").write_bytes(one_page("word")[:300])
    library("ingest")
    lines = library("inspect", "mixed.pdf").lines
    assert "flags: pages without text" in lines
    assert "page count: 3, 2 without text" in lines
    states = {
        item["path"]: (item["state"], item["reason"]) for item in library("list", "--json").json["items"]
    }
    assert states["scan.pdf"] == ("skipped", "no text on 3 pages (scanned?)")
    assert states["secret.pdf"] == ("skipped", "encrypted")
    assert states["cut.pdf"] == ("failed", "damaged or truncated")


def test_vimgrep_leaves_pages_out_and_counts_them(library: Kebab, notes: Path) -> None:
    (notes / "bees.md").write_text("syrup for bees\n")
    library("ingest")
    done = library("search", "syrup", "--format", "vimgrep")
    assert [line.rpartition("/")[2] for line in done.lines] == ["bees.md:1:1:syrup for bees"]
    assert "left out 1 hit: this format cannot express a page" in done.err


def test_markdown_and_context_cite_the_page(library: Kebab) -> None:
    assert "[bees.pdf#p=5](bees.pdf#p=5)" in library("search", "fondant", "--format", "markdown").out
    assert "bees.pdf#p=5" in library("search", "fondant", "--format", "context").out


# open


def test_open_starts_a_viewer_at_the_page(library: Kebab, notes: Path, tmp_path: Path) -> None:
    program = viewer(tmp_path)
    environ = {"PATH": f"{program.parent}:{os.environ['PATH']}", "DISPLAY": ":0"}
    done = library("open", "bees.pdf#p=4", "--print", **environ)
    assert done.lines == [f"zathura -P 4 {notes}/bees.pdf"]
    assert library("open", "bees.pdf#p=4", **environ).code == 0
    told = tmp_path / "bin/zathura.args"
    while not told.exists() or told.read_text().count("\n") < 3:  # it runs in a window of its own
        time.sleep(0.01)
    assert told.read_text().splitlines() == ["-P", "4", f"{notes}/bees.pdf"]
    assert library("open", "bees", "--print", **environ).lines == [f"zathura -P 1 {notes}/bees.pdf"]


def test_open_finds_a_page_that_has_moved(library: Kebab, notes: Path, tmp_path: Path) -> None:
    program = viewer(tmp_path)
    environ = {"PATH": f"{program.parent}:{os.environ['PATH']}", "DISPLAY": ":0"}
    text = ["A colony swarms when it has more bees than room.", "Queen cells announce it."]
    (notes / "a.pdf").write_bytes(pdfs.pdf([Page().write(["cover"]), Page().write(text)]))
    library("ingest")
    (notes / "a.pdf").write_bytes(
        pdfs.pdf([Page().write(["cover"]), Page().write(["preface"]), Page().write(text)])
    )
    done = library("open", "a.pdf#p=2", "--print", **environ)
    assert done.lines == [f"zathura -P 3 {notes}/a.pdf"]
    assert "moved +1: now a.pdf#p=3" in done.err


@pytest.mark.parametrize(
    ("environ", "reason"),
    [({"DISPLAY": ":0", "SSH_CONNECTION": "a 1 b 2"}, "over ssh"), ({"DISPLAY": ""}, "without a display")],
)
def test_without_a_window_the_citation_is_printed(
    library: Kebab, environ: dict[str, str], reason: str
) -> None:
    done = library("open", "bees.pdf#p=4", WAYLAND_DISPLAY="", **environ)
    assert done.code == 0
    assert done.lines == ["bees.pdf#p=4"]
    assert f"no viewer can be shown {reason}" in done.err


def test_open_of_lines_in_a_pdf_names_the_form(library: Kebab) -> None:
    done = library("open", "bees.pdf:L4")
    assert done.code == 2
    assert "bees.pdf#p=1" in done.err


@pytest.mark.slow
def test_the_golden_queries_for_pdf_are_found_where_they_should_be(kebab: Kebab) -> None:
    kebab("ingest", str(ROOT / "fixtures/pdf"))
    report = kebab("eval", str(ROOT / "fixtures/golden-pdf.yaml"), "--modes", "lexical", "--json").json
    assert report["set"]["queries"] >= 6
    assert report["modes"]["lexical"]["hit@1"] == 1
