"""Parsing a file into a note: metadata, and blocks with exact line numbers."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from kebab_tui.domain.checkpoint import UNLIMITED
from kebab_tui.domain.document import ParsedNote, Trust
from kebab_tui.domain.errors import UnsuitableFileError
from kebab_tui.domain.facets import Facet, values_of
from kebab_tui.files.walk import FoundFile, WalkRules, walk
from kebab_tui.formats import markdown as markdown_notes
from kebab_tui.formats import plain_text as plain_notes
from kebab_tui.formats.registry import format_of

VAULT = Path(__file__).parents[2] / "fixtures" / "notes"


def markdown(text: str) -> ParsedNote:
    return markdown_notes.parse(text.encode(), "sub/name.md")


def covered(note: ParsedNote) -> list[int]:
    return [number for block in note.blocks for number in range(block.first, block.last + 1)]


def test_a_note_has_its_metadata_and_blocks() -> None:
    note = markdown(
        "---\ntags: [rust]\ntrust: secondary\naliases: [오너십]\n---\n# 소유권 #Rust #메모리\n\n"
        "값에는 주인이 있다. `#code`\n\n```sh\necho #comment\n```\n\n<!-- #hidden -->\n"
    )
    assert note.title == "소유권 #Rust #메모리"
    assert (note.type, note.lang, note.trust) == ("markdown", "ko", Trust.SECONDARY)
    assert values_of(note.facets, "tag") == ("rust", "메모리")
    assert values_of(note.facets, "alias") == ("오너십",)
    assert note.flags == ()


def test_line_numbers_count_the_front_matter() -> None:
    note = markdown("---\ntitle: x\n---\n\n# Heading\n\ntext\n")
    assert len(note.lines) == 7
    assert [(block.kind, block.first, block.last) for block in note.blocks] == [
        ("heading", 5, 5),
        ("prose", 7, 7),
    ]


def test_front_matter_may_name_another_type_and_language() -> None:
    note = markdown("---\ntype: note\nlang: ko\n---\nEnglish words\n")
    assert (note.type, note.lang) == ("note", "ko")


def test_the_language_is_that_of_the_prose_not_of_the_code() -> None:
    assert markdown("메모\n\n```python\n" + "print('hello world')\n" * 50 + "```\n").lang == "ko"


def test_bad_front_matter_is_flagged_and_stays_findable() -> None:
    note = markdown("---\ntitle: a: b\nkeywords: [lost\n---\n# Heading\n")
    assert note.flags == ("bad_front_matter",)
    assert note.title == "a: b"
    assert [(block.kind, block.first, block.last) for block in note.blocks] == [
        ("prose", 1, 4),
        ("heading", 5, 5),
    ]


def test_every_flag_is_kept() -> None:
    note = markdown_notes.parse(b"---\n[open\n---\n\xff\n", "a.md")
    assert note.flags == ("bad_front_matter", "lossy_decoding")


def test_a_plain_note_takes_its_first_line_for_a_title() -> None:
    note = plain_notes.parse("장보기 #집\r\n\r\n배추\r\n".encode("cp949"), "장.txt")
    assert (note.type, note.title, note.indexed_title, note.lang) == ("note", "", "장보기 #집", "ko")
    assert note.facets == (Facet("tag", "집", 1),)
    assert note.lines == ("장보기 #집", "", "배추")
    assert covered(note)


def test_an_empty_file_is_a_note_named_after_itself() -> None:
    note = markdown("")
    assert (note.title, note.indexed_title, note.lang, note.lines, note.blocks) == ("", "name", "und", (), ())


LINES = ["---", "title: x", "[", "# h", "text #tag", "```", "", "- a", "    code", "<!--", "===", "..."]


@given(st.lists(st.sampled_from(LINES)))
def test_every_line_with_text_behind_the_front_matter_is_in_one_block(lines: list[str]) -> None:
    note = markdown("\n".join(lines))
    numbers = covered(note)
    assert numbers == sorted(set(numbers))
    head = 0
    if numbers and lines[0] == "---" and 1 not in numbers:
        head = next(number for number, line in enumerate(lines, 1) if number > 1 and line in ("---", "..."))
    with_text = {number for number, line in enumerate(note.lines, 1) if line.strip() and number > head}
    assert not numbers or with_text <= set(numbers)


@given(st.binary(max_size=400))
def test_any_bytes_are_a_note_or_a_binary_file(data: bytes) -> None:
    for parse in (markdown_notes.parse, plain_notes.parse):
        try:
            note = parse(data, "a.md")
        except UnsuitableFileError:
            assert b"\0" in data
        else:
            assert note.indexed_title
            "\n".join(
                (note.title, note.indexed_title, *(facet.value for facet in note.facets), *note.lines)
            ).encode()


def test_the_sample_vault_is_read_without_a_flag() -> None:
    files = [step for step in walk(str(VAULT), WalkRules()) if isinstance(step, FoundFile)]
    assert files
    for file in files:
        kind = format_of(file.path)
        assert kind is file.format
        note = kind.parse((VAULT / file.path).read_bytes(), file.path, UNLIMITED)
        assert note.indexed_title
        assert note.lang != "und"
