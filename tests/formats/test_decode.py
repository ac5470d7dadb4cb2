"""Files of any encoding are decoded into lines as an editor counts them."""

from __future__ import annotations

import codecs

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kebab_tui.domain.errors import UnsuitableFileError
from kebab_tui.formats.decode import DecodedText, decode

KOREAN = "러스트의 모든 값에는 주인이 있다.\nowner 이야기\n"
ENGLISH = "one\ntwo — three\n"
ENCODINGS = {
    "utf-8": b"",
    "utf-8-sig": b"",
    "utf-16-le": codecs.BOM_UTF16_LE,
    "utf-16-be": codecs.BOM_UTF16_BE,
    "utf-32-le": codecs.BOM_UTF32_LE,
    "utf-32-be": codecs.BOM_UTF32_BE,
}


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("text", [KOREAN, ENGLISH])
def test_a_marked_file_is_read_in_its_encoding_and_the_mark_is_no_text(encoding: str, text: str) -> None:
    expected = DecodedText(tuple(text.removesuffix("\n").split("\n")))
    assert decode(ENCODINGS[encoding] + text.encode(encoding)) == expected


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("text", [KOREAN * 3, "plain English\n" * 3, "가\n각 a\n가나"])
def test_utf16_without_a_mark_is_recognised(encoding: str, text: str) -> None:
    assert decode(text.encode(encoding)) == DecodedText(tuple(text.removesuffix("\n").split("\n")))


@pytest.mark.parametrize("text", [KOREAN, "메모", "1월 2일: “시장” ― 배추·무\n", "똠방각하 펲시콜라 햏\n"])
def test_old_korean_text_is_read_as_cp949_without_loss(text: str) -> None:
    assert decode(text.encode("cp949", "ignore")).flags == ()
    assert decode(KOREAN.encode("cp949")).lines[0] == "러스트의 모든 값에는 주인이 있다."


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("café crème à la Größe", "latin-1"),
        ("中文文本和更多的文字，都是汉字", "gb18030"),
        ("日本語のテキスト", "shift-jis"),
        ("Привет, мир", "cp1251"),
    ],
)
def test_other_old_encodings_are_not_taken_for_korean(text: str, encoding: str) -> None:
    decoded = decode(text.encode(encoding))
    assert decoded.flags == ("lossy_decoding",)
    assert "\N{REPLACEMENT CHARACTER}" in decoded.lines[0]


def test_a_broken_byte_costs_one_character_and_is_flagged() -> None:
    data = KOREAN.encode().replace("값".encode(), b"\xff", 1)
    assert decode(data).lines == ("러스트의 모든 \ufffd에는 주인이 있다.", "owner 이야기")
    assert decode(data).flags == ("lossy_decoding",)


def test_a_cut_utf16_file_is_flagged() -> None:
    assert decode(codecs.BOM_UTF16_LE + "abc".encode("utf-16-le") + b"\x00").flags == ("lossy_decoding",)


def test_a_binary_file_is_refused() -> None:
    for data in (b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR", b"text \x00 text", b"\0", bytes(range(256)) * 40):
        with pytest.raises(UnsuitableFileError, match=r"^binary file$"):
            decode(data)


def test_a_nul_after_the_first_eight_kilobytes_is_text() -> None:
    assert decode(b"x" * 8192 + b"\0y\n").lines == ("x" * 8192 + "\0y",)


@pytest.mark.parametrize(
    ("data", "lines"),
    [
        (b"", ()),
        (b"\n", ("",)),
        (b"a", ("a",)),
        (b"a\n", ("a",)),
        (b"a\n\n", ("a", "")),
        (b"a\r\nb\r\n", ("a", "b")),
        (b"a\rb\n", ("a\rb",)),
        (b"a\r\r\nb", ("a\r", "b")),
        ("a\x0bb\x0cc\x1cd\x85e\u2028f\u2029g\n".encode(), ("a\x0bb\x0cc\x1cd\x85e\u2028f\u2029g",)),
        (codecs.BOM_UTF8, ()),
        (codecs.BOM_UTF8 * 2 + b"x", ("\ufeffx",)),
    ],
)
def test_only_a_line_feed_ends_a_line(data: bytes, lines: tuple[str, ...]) -> None:
    assert decode(data).lines == lines


def test_one_line_of_eight_megabytes_is_one_line() -> None:
    assert decode(b"x" * 8_000_000).lines == ("x" * 8_000_000,)


@given(st.binary(max_size=300))
@example(b"\xff\xfe\x00\xd8")
@example(b"\xff\xfe\x00\x00\x00\xd8\x00\x00")
def test_any_bytes_are_text_that_can_be_stored_or_a_binary_file(data: bytes) -> None:
    try:
        decoded = decode(data)
    except UnsuitableFileError:
        assert b"\0" in data
    else:
        "\n".join(decoded.lines).encode()
        assert not any("\n" in line for line in decoded.lines)


@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")))
def test_utf8_keeps_every_character_and_the_count_of_lines(text: str) -> None:
    if text.startswith("\ufeff"):
        text = "x" + text
    decoded = decode(text.encode())
    assert decoded.flags == ()
    expected = text.replace("\r\n", "\n")
    assert "\n".join(decoded.lines) == expected.removesuffix("\n")
    assert len(decoded.lines) == expected.count("\n") + (not expected.endswith("\n") and bool(expected))
