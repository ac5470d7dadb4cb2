"""Front matter that makes a note private, also where it is not valid front matter."""

from __future__ import annotations

import codecs

import pytest

from kebab_tui.formats.decode import decode
from kebab_tui.formats.note import PRIVACY_BYTES, states_private
from kebab_tui.formats.registry import format_of

MANY_LINES = "".join(f"key{n}: value\n" for n in range(8_000))


def is_private(data: bytes, name: str = "a.md") -> bool:
    """By the parser; the head of the file must tell the same."""
    kind = format_of(name)
    assert kind is not None
    private = "private" in kind.parse(data, name, lambda: None).flags  # type: ignore[arg-type]
    assert states_private(decode(data[:PRIVACY_BYTES]).lines) == private
    return private


@pytest.mark.parametrize(
    "text",
    [
        "---\nprivate: true\n---\ntext",
        "---\r\nprivate: true\r\n---\r\ntext",
        "---\rprivate: true\r---\rtext",
        "\ufeff---\nprivate: true\n---\n",
        "---  \nprivate: true\n---\t\n",
        "---\nPrivate: True\n---\n",
        "---\nPRIVATE: YES\n...\n",
        "---\n'private': on\n---\n",
        '---\n"private" : 1\n---\n',
        "---\nprivate: 'true' # for me\n---\n",
        "---\nprivate: from 2026 on\n---\n",
        "---\nprivate:\n  - a\n---\n",
        "---\nprivate: {}\n---\n",
        "---\nprivate: [false]\n---\n",
        "---\n{title: a, private: true}\n---\n",
        "---\n title: a\n private: true\n---\n",
        "---\nprivate: true\nprivate: false\n---\n",
        "---\nPrivate: true\nprivate: false\n---\n",
        "---\nnote: |\n  ---\nprivate: true\n---\n",
    ],
)
@pytest.mark.parametrize("name", ["a.md", "a.txt"])
def test_private_front_matter(text: str, name: str) -> None:
    assert is_private(text.encode(), name)


@pytest.mark.parametrize(
    "text",
    [
        "---\ntitle: [open\nprivate: true\n---\n",
        "---\ntitle: a: b\n  private: yes\n---\n",
        "---\ntitle: [open\nprivate:\n  - a\n---\n",
        "---\nprivate:true\n---\n",
        "---\ntitle: a\nprivate： true\n---\n",
        "---\n\nprivate: true\n---\n",
        "\n\n---\nprivate: true\n---\n",
        "---\nprivate: true\n\ntext without an end of the front matter\n",
        "+++\nprivate = true\n+++\n",
        f"---\n{MANY_LINES[:60_000]}private: true\n---\n",
        f"---\nprivate: true\n{MANY_LINES}---\n",
    ],
)
def test_private_though_the_front_matter_is_not_valid(text: str) -> None:
    assert is_private(text.encode())


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be", "utf-32-le", "cp949"])
def test_private_in_other_encodings(encoding: str) -> None:
    marks = {
        "utf-16-le": codecs.BOM_UTF16_LE,
        "utf-16-be": codecs.BOM_UTF16_BE,
        "utf-32-le": codecs.BOM_UTF32_LE,
    }
    assert is_private(
        marks.get(encoding, b"") + "---\ntitle: 비밀\nprivate: true\n---\n비밀".encode(encoding)
    )


@pytest.mark.parametrize(
    "value", ["false", "False", "no", "OFF", "0", "'no'", "~", "null", "", '""', "# not yet"]
)
def test_values_that_do_not_make_a_note_private(value: str) -> None:
    assert not is_private(f"---\nprivate: {value}\n---\ntext".encode())
    assert not is_private(f"---\ntitle: [open\nprivate: {value}\n---\ntext".encode())


@pytest.mark.parametrize(
    "text",
    [
        "private: true\n",
        "# Title\n\n---\nprivate: true\n---\n",
        "---\ntitle: x\n---\nprivate: true\n",
        "---\nsettings:\n  private: true\n---\n",
        "---\nnot-private: true\ntitle: 'private: true'\n---\n",
        "---\n---\nprivate: true\n",
        "---\n",
        "",
    ],
)
def test_text_about_privacy_is_not_private(text: str) -> None:
    assert not is_private(text.encode())


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-32"])
def test_the_head_of_a_large_file_tells_the_same(end: str, encoding: str) -> None:
    for lines in range(65_000, 66_000, 97):
        text = f"---{end}" + end * lines + f"private: true{end}---{end}" + f"한글{end}" * 100_000
        is_private(text.encode(encoding))
