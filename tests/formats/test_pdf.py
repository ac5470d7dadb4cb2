"""PDF files as notes: text in reading order, pages, outline, metadata, and files without text."""

from __future__ import annotations

import zlib

import pytest

from kebab_tui.chunking import chunk
from kebab_tui.domain.checkpoint import UNLIMITED
from kebab_tui.domain.document import Block, ParsedNote
from kebab_tui.domain.errors import UnreadableFileError, UnsuitableFileError
from kebab_tui.domain.facets import values_of
from kebab_tui.formats import pdf
from kebab_tui.formats.pdf import page, parse
from kebab_tui.formats.registry import FORMATS
from tests.formats import pdfs
from tests.formats.pdfs import HEIGHT, LEFT, MARGIN, RIGHT, WIDTH, Page, fixtures, one_page

FIXTURES = fixtures()


def pages(note: ParsedNote) -> list[tuple[str, ...]]:
    ends = (*note.pages[1:], len(note.lines) + 1)
    return [note.lines[first - 1 : end - 1] for first, end in zip(note.pages, ends, strict=True)]


def text(data: bytes) -> str:
    return "\n".join(parse(data, "a.pdf").lines)


def headings(note: ParsedNote) -> list[tuple[int, int, str]]:
    return [(block.first, block.level, block.text) for block in note.blocks if block.kind == "heading"]


# pages


def test_the_lines_of_all_pages_follow_one_another() -> None:
    note = parse(pdfs.pdf([Page().write(["one", "two"]), Page(), Page().write(["three"])]), "a.pdf")
    assert pages(note) == [("one", "two"), (), ("three",)]
    assert note.flags == ("pages_without_text",)
    assert note.type == "pdf"


def test_one_page_is_the_same_text_as_among_all() -> None:
    for name, data in FIXTURES.items():
        note = parse(data, name)
        for number, lines in enumerate(pages(note), 1):
            found = page(data, name, number)
            assert (found.number, found.count, found.lines) == (number, len(note.pages), lines)


@pytest.mark.parametrize(("asked", "given"), [(0, 1), (4, 4), (99, 5)])
def test_a_page_beyond_the_document_is_its_nearest(asked: int, given: int) -> None:
    assert page(FIXTURES["bees.pdf"], "bees.pdf", asked).number == given


def test_labels_are_those_of_the_document() -> None:
    found = [page(FIXTURES["bees.pdf"], "", number).label for number in range(1, 6)]
    assert found == ["i", "ii", "1", "2", "3"]
    assert values_of(parse(FIXTURES["bees.pdf"], "").facets, "page") == ("i-ii", "1-3")


@pytest.mark.parametrize("name", FIXTURES)
def test_passages_have_exactly_the_lines_of_one_page(name: str) -> None:
    note = parse(FIXTURES[name], name)
    passages = chunk(note)
    assert passages
    shown = pages(note)
    for passage in passages:
        assert passage.span.page is not None
        lines = shown[passage.span.page - 1]
        assert passage.text == "\n".join(lines[passage.span.first - 1 : passage.span.last])


def test_each_line_is_in_exactly_one_passage_of_its_page() -> None:
    long = [[f"Page {at} line {row} " + "word " * 12 for row in range(50)] for at in range(8)]
    outline = [(0, "Part", 0), (1, "Page 2 line 7", 2), (0, "Nowhere on a page", 4), (1, "Below it", 4)]
    note = parse(pdfs.pdf([Page(size=6).write(lines) for lines in long], outline=outline), "a.pdf")
    cited = [
        (passage.span.page, line)
        for passage in chunk(note)
        for line in range(passage.span.first, passage.span.last + 1)
    ]
    shown = enumerate(pages(note), 1)
    assert cited == [(at, line) for at, lines in shown for line in range(1, len(lines) + 1)]
    assert all(len(passage.text) <= 4000 for passage in chunk(note))
    labels = {(passage.span.page, passage.heading_path) for passage in chunk(note)}
    assert (8, "Nowhere on a page > Below it") in labels
    assert (4, "Part > Page 2 line 7") in labels, "also on pages after that of the heading"


# the outline


def test_entries_of_the_outline_are_headings_at_their_lines() -> None:
    note = parse(FIXTURES["bees.pdf"], "bees.pdf")
    assert headings(note) == [
        (7, 1, "Spring work"),
        (11, 2, "Cleaning the floor"),
        (14, 1, "Swarms"),
        (19, 1, "Winter feed"),
    ]


def test_a_heading_over_two_lines_is_found() -> None:
    data = pdfs.pdf(
        [Page().write(["before", "A heading that is", "longer than a line", "after"])],
        outline=[(0, "A heading that is longer than a line", 0)],
    )
    assert parse(data, "a.pdf").blocks == (
        Block("prose", 1, 1),
        Block("heading", 2, 3, 1, "A heading that is longer than a line"),
        Block("prose", 4, 4),
    )


def test_an_entry_for_an_empty_page_stands_above_the_next_text() -> None:
    note = parse(pdfs.pdf([Page().write(["a"]), Page(), Page().write(["b"])], outline=[(0, "Cover", 1)]), "")
    assert [(passage.heading_path, passage.text) for passage in chunk(note)] == [("", "a"), ("Cover", "b")]


def test_strings_that_are_no_text_are_left_out() -> None:
    made = pdfs.pdf([Page().write(["text"])], info={"Title": "titel"}, outline=[(0, "titel", 0)])
    lone = made.replace("titel".encode("utf-16-be").hex().encode(), b"d800" * 5)
    assert parse(lone, "a.pdf").title == ""
    assert headings(parse(lone, "a.pdf")) == []


def test_an_outline_of_thousands_of_entries_for_a_page_is_cut() -> None:
    many = [(0, f"Entry {number}", 0) for number in range(3_000)]
    lines = [f"line {number}" for number in range(50)]
    assert len(headings(parse(pdfs.pdf([Page(size=2).write(lines)], outline=many), "a.pdf"))) == 100


def test_a_loop_in_the_outline_ends() -> None:
    assert parse(pdfs.outline_loop(), "a.pdf").lines == ("text",)


# metadata


@pytest.mark.parametrize(
    ("stated", "title"),
    [
        ("Keeping bees", "Keeping bees"),
        ("The Debian GNU/Linux FAQ", "The Debian GNU/Linux FAQ"),
        ("벌 치는 법", "벌 치는 법"),
        ("Learning Node.js", "Learning Node.js"),
        ("", ""),
        ("  ", ""),
        ("untitled", ""),
        ("Untitled-1", ""),
        ("제목 없음", ""),
        ("report final.docx", ""),
        ("Microsoft Word - report", ""),
        ("/home/me/report", ""),
        ("C:\\texts\\report", ""),
        ("a", ""),
    ],
)
def test_the_title_of_the_metadata_counts_unless_it_is_none(stated: str, title: str) -> None:
    note = parse(pdfs.pdf([Page().write(["text"])], info={"Title": stated}), "notes/A.pdf")
    assert note.title == title
    assert values_of(note.facets, "title") == ((title,) if title else ())


def test_keywords_are_tags() -> None:
    made = pdfs.pdf([Page().write(["text"])], info={"Keywords": "bees; 정원, Bees,, "})
    assert values_of(parse(made, "").facets, "tag") == ("bees", "정원")


# text


def test_korean_is_exact() -> None:
    assert pages(parse(FIXTURES["library-meeting.pdf"], ""))[1] == (
        "이사 일정",
        "책은 자원봉사자들이 손수레로 나른다. 하루에 이천 권씩 열흘이 걸린다.",
        "희귀본 서가는 습도를 재면서 마지막 날에 옮긴다.",
    )
    assert parse(FIXTURES["library-meeting.pdf"], "").lang == "ko"


@pytest.mark.parametrize(
    ("extracted", "lines"),
    [
        ("an in-\r\ndexing program\r\nends", ["an indexing", "program", "ends"]),
        ("an in\x02dexing program", ["an indexing", "program"]),
        ("an in\ufffe\r\ndexing.\r\nNext", ["an indexing.", "Next"]),
        ("day-to\x02day use", ["day-to-day", "use"]),
        ("MS-\r\nDOS and 1990-\r\n1999", ["MS-", "DOS and 1990-", "1999"]),
        ("a dash -\r\nhere", ["a dash -", "here"]),
        ("soft\xad\r\nware, re\xadal", ["software,", "real"]),
        ("a\xa0b\u2009c\x00\x07d", ["a b c  d"]),
        ("\ufb01ne o\ufb03ce", ["fine office"]),
        ("\r\n\r\na \r\n\r\nb\r\n\r\n", ["a", "", "b"]),
        ("\U0001f41d 벌\r\n", ["\U0001f41d 벌"]),
    ],
)
def test_a_line_has_whole_words_and_usual_letters(extracted: str, lines: list[str]) -> None:
    assert pdf._lines(extracted) == lines


@pytest.mark.parametrize("facts", ["/UserUnit 2", "/CropBox[20 20 500 800]", "/MediaBox[-100 -100 700 900]"])
def test_the_text_of_a_cut_or_larger_page_is_the_same(facts: str) -> None:
    made = one_page("first line", "second line")
    box = f"/MediaBox[0 0 {WIDTH} {HEIGHT}]"
    assert text(made.replace(box.encode(), (facts if "Media" in facts else box + facts).encode())) == (
        "first line\nsecond line"
    )


def test_a_landscape_page_is_read_line_by_line() -> None:
    lines = [f"{word} line of this page" for word in ("first", "second", "third", "fourth")]
    drawn = (f"BT /F1 10 Tf 0 1 -1 0 {100 + 14 * at} 100 Tm ({line}) Tj ET" for at, line in enumerate(lines))
    made = pdfs.pdf([], contents=[zlib.compress("\n".join(drawn).encode())])
    assert text(made.replace(b"/MediaBox", b"/Rotate 90/MediaBox")).split("\n") == lines


def test_a_long_text_without_a_space_takes_linear_time() -> None:
    assert len(pdf._lines("a" * 1_000_000 + "-\r\n" + "b" * 1_000_000)) == 2
    assert len(pdf._lines("a-\r\n" * 200_000)) > 1


# columns


def test_columns_written_row_by_row_are_read_one_after_the_other() -> None:
    found = text(FIXTURES["crafts.pdf"])
    assert found.split("\n") == [
        "Two crafts in two columns, written row by row",
        *LEFT[:2], "along its grain and dried for three summers", "under the open sky. The cooper then",
        *LEFT[4:], *RIGHT,
    ]  # fmt: skip


def test_columns_written_one_after_the_other_stay() -> None:
    made = pdfs.pdf([Page().write(LEFT).write(RIGHT, x=WIDTH / 2 + 15)])
    assert text(made).index("nailed") < text(made).index("sailing")


def test_three_columns_and_a_line_across_them() -> None:
    rows = [
        "words of this column here",
        "go on from line to line",
        "and to the next of them",
        "until it ends down here.",
    ]
    made = Page(texts=[(MARGIN, 800, "A title " + "that stands above all three columns " * 2)])
    for at, row in enumerate(rows):
        for number in range(3):
            made.texts.append((MARGIN + 170 * number, 770 - 14 * at, f"{number} {row} {str(number) * 4}"))
    made.texts.append((MARGIN, 600, "A line " + "that stands below all three columns " * 2))
    found = [line[:1] for line in text(pdfs.pdf([made])).split("\n")]
    assert found == ["A", *"0000", *"1111", *"2222", "A"]


def test_a_table_is_read_row_by_row() -> None:
    left, right = ["apples", "pears", "plums", "cherries", "quinces"], ["12", "7", "31", "450", "2"]
    assert text(pdfs.pdf([Page().rows(left, right)])).split("\n")[0].split() == ["apples", "12"]


def test_a_list_of_terms_is_read_row_by_row() -> None:
    terms = [f"--option-{number}" for number in range(8)]
    found = text(pdfs.pdf([Page().rows(terms, RIGHT, top=HEIGHT - MARGIN)])).split("\n")
    assert all(term in line and said in line for term, said, line in zip(terms, RIGHT, found, strict=True))


# files without text


@pytest.mark.parametrize(
    ("data", "kind", "message"),
    [
        (b"", UnsuitableFileError, "empty file"),
        (b"hello", UnsuitableFileError, "not a PDF file, despite its name"),
        (b"%PDF-1.7\ngarbage", UnreadableFileError, "damaged or truncated"),
        (one_page("a")[:200], UnreadableFileError, "damaged or truncated"),
        (pdfs.pdf([Page().write(["a"])], encrypted=True), UnsuitableFileError, "encrypted"),
        (pdfs.pdf([Page(), Page()]), UnsuitableFileError, "no text on 2 pages (scanned?)"),
        (pdfs.pdf([Page()]), UnsuitableFileError, "no text on 1 page (scanned?)"),
        (pdfs.many_pages(10_001), UnsuitableFileError, "has more than 10,000 pages"),
    ],
)
def test_a_file_without_text_has_a_reason(data: bytes, kind: type[UnreadableFileError], message: str) -> None:
    with pytest.raises(kind) as caught:
        parse(data, "a.pdf")
    assert caught.value.message == message


def test_a_file_with_too_much_text_has_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pdf, "MAX_CHARACTERS", 100)
    with pytest.raises(UnsuitableFileError, match="million characters"):
        parse(one_page(*["word " * 9] * 3), "a.pdf")


@pytest.mark.parametrize("cut", range(1, 40))
def test_a_truncated_or_changed_file_gives_a_note_or_a_reason(cut: int) -> None:
    """In the child: PDFium may crash."""
    whole = FIXTURES["bees.pdf"]
    at = len(whole) * cut // 40
    for data in (whole[:at], whole[:at] + bytes(64) + whole[at + 64 :]):
        try:
            note = FORMATS["pdf"].parse(data, "a.pdf", UNLIMITED)
        except UnreadableFileError:
            continue
        assert any(note.lines)


def test_a_loop_of_pages_and_a_deep_tree_end() -> None:
    for data in (pdfs.page_loop(), pdfs.deep_tree()):
        with pytest.raises(UnreadableFileError):
            FORMATS["pdf"].parse(data, "a.pdf", UNLIMITED)


@pytest.mark.slow
def test_a_bomb_ends_in_the_child() -> None:
    with pytest.raises(UnreadableFileError, match=r"died|took too long|memory"):
        FORMATS["pdf"].parse(pdfs.deflate_bomb(), "a.pdf", UNLIMITED)
    assert FORMATS["pdf"].parse(one_page("still here"), "b.pdf", UNLIMITED).lines == ("still here",)


def test_the_fixtures_are_those_that_are_written_here() -> None:
    from pathlib import Path

    folder = Path(__file__).parents[2] / "fixtures" / "pdf"
    assert {path.name for path in folder.iterdir()} == set(FIXTURES)
    # Not their bytes: compression differs from one zlib to another.
    for name, data in FIXTURES.items():
        assert parse((folder / name).read_bytes(), name) == parse(data, name)
