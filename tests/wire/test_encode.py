"""JSON leaves as text that a terminal only shows, and comes back as the value it was."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kebab_tui.domain.text import UNSAFE
from kebab_tui.wire.encode import dumps

UNSAFE_TEXT = st.text(st.from_regex(UNSAFE, fullmatch=True).filter(lambda c: not "\ud800" <= c <= "\udfff"))
TEXT = st.text() | UNSAFE_TEXT


@given(st.dictionaries(TEXT, TEXT | st.lists(TEXT)))
def test_nothing_unsafe_leaves_and_what_is_read_is_what_was_written(value: dict[str, object]) -> None:
    written = dumps(value)
    assert not re.search(UNSAFE, written)
    assert json.loads(written) == value


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("\x9b2J\x7f", r"\u009b2J\u007f"),
        ("gnp.\u202etxt", r"gnp.\u202etxt"),
        ("a\u2028b", r"a\u2028b"),
        ("tag\U000e0041", r"tag\udb40\udc41"),
        ("\\\x9b", r"\\\u009b"),
        ("한글 👩\u200d💻", "한글 👩\u200d💻"),
        ("name\udcff.md", "name?.md"),
    ],
)
def test_only_what_is_unsafe_is_escaped(text: str, written: str) -> None:
    assert dumps({"": text}) == f'{{"":"{written}"}}'
