"""Each way of keeping translations, read from small examples made here."""

from __future__ import annotations

import io
import json
import struct
import zipfile
from collections.abc import Mapping

from models.build.archives import ZipArchive
from models.build.readers import READERS, chromium, gettext, json_catalogue, mozilla, vscode


def archive(files: Mapping[str, str | bytes]) -> ZipArchive:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as made:
        for name, content in files.items():
            made.writestr(name, content)
    return ZipArchive(stream.getvalue())


def mo(pairs: Mapping[str, str]) -> bytes:
    count = len(pairs)
    tables, strings, start = b"", b"", 28 + 16 * count
    for column in (list(pairs), list(pairs.values())):
        for text in column:
            data = text.encode()
            tables += struct.pack("<II", len(data), start + len(strings))
            strings += data + b"\0"
    return struct.pack("<7I", 0x950412DE, 0, count, 28, 28 + 8 * count, 0, 0) + tables + strings


def test_po_entries_that_are_fuzzy_or_obsolete_are_left_out() -> None:
    text = """
msgid "Open"
msgstr "열기"

#, fuzzy
msgid "Close"
msgstr "닫음?"

#~ msgid "Old"
#~ msgstr "예전"

msgid "one file"
msgid_plural "%d files"
msgstr[0] ""
"파일 "
"%d개"
"""
    assert list(gettext.parse_po(text)) == [("Open", "열기"), ("%d files", "파일 %d개")]


def test_mo_takes_the_plural_and_drops_the_context() -> None:
    compiled = mo({"": "header", "menu\4Open": "열기", "file\0files": "파일"})
    assert list(gettext.parse_mo(compiled)) == [("Open", "열기"), ("files", "파일")]


def test_a_po_beside_its_mo_is_read_once() -> None:
    files = archive(
        {
            "x/ko/LC_MESSAGES/a.po": 'msgid "A"\nmsgstr "가"\n',
            "x/ko/LC_MESSAGES/a.mo": mo({"A": "가"}),
            "x/ja/a.po": "",
        }
    )
    assert list(READERS["gettext"]([files])) == [("A", "가")]


def test_json_is_matched_by_key_path_whatever_the_language_is_called() -> None:
    english = json.dumps({"en": {"menu": {"open": "Open"}, "days": ["Monday", "Tuesday"]}, "only": "English"})
    korean = json.dumps({"ko": {"menu": {"open": "열기"}, "days": ["월요일", "화요일"]}})
    assert list(json_catalogue.pairs(english.encode(), korean.encode())) == [
        ("Open", "열기"),
        ("Monday, Tuesday", "월요일, 화요일"),
    ]


def test_json_files_find_their_english_also_under_a_content_hash() -> None:
    one, two = "0" * 32, "1" * 32
    files = archive(
        {
            f"t/ko-{one}.json": '{"a": "가"}',
            f"t/en-{two}.json": '{"a": "A"}',
            f"t/en-GB-{two}.json": '{"a": "wrong"}',
            "main/ko/x.json": '{"b": "나"}',
            "main/en/x.json": '{"b": "B"}',
            "broken/ko.json": "{",
            "broken/en.json": "{}",
        }
    )
    assert list(READERS["json"]([files])) == [("A", "가"), ("B", "나")]


def pak(texts: Mapping[int, str]) -> bytes:
    table, data = b"", b""
    start = 12 + 6 * (len(texts) + 1)
    for resource, text in texts.items():
        table += struct.pack("<HI", resource, start + len(data))
        data += text.encode()
    table += struct.pack("<HI", 0, start + len(data))
    return struct.pack("<IB3xHH", 5, 1, len(texts), 0) + table + data


def test_chromium_packs_are_matched_by_resource_id() -> None:
    korean = archive({"locales/ko.pak": pak({7: "열기", 9: "Chromium"})})
    english = archive({"locales/en-US.pak": pak({7: "Open", 8: "Close", 9: "Chromium"})})
    assert list(chromium.read([korean, english])) == [("Open", "열기")]


def test_help_pages_are_matched_by_element() -> None:
    korean = archive({"a/help/ko/p.html": '<h1 id="t">도움말</h1><p id="x">본문</p>'})
    english = archive({"a/help/en-US/p.html": '<h1 id="t">Help</h1><p id="y">Other</p>'})
    assert list(READERS["libreoffice-help"]([korean, english])) == [("Help", "도움말")]


def test_fluent_attributes_and_continued_lines_are_read_and_selectors_left_out() -> None:
    text = (
        "save = 저장\n    하기\n  .label = 이름\n# note\npick = { $n ->\n  [one] 하나\n *[other] 여럿\n }\n"
    )
    assert mozilla.parse_fluent(text) == {"save": "저장 하기", "save.label": "이름"}


def test_property_escapes_are_resolved() -> None:
    assert mozilla.parse_properties("# no\nopen = \\uc5f4\\uae30\n") == {"open": "열기"}


def test_numbered_editor_strings_meet_their_calls() -> None:
    korean = vscode.numbered('export default [\n  "열기",\n  undefined,\n  "닫기",\n];')
    code = 'localize(0, "Open") + localize2(2,\'Close\') + localize(1, "None") + localize(9, "Beyond")'
    assert list(vscode.calls(code, korean)) == [("Open", "열기"), ("Close", "닫기")]
