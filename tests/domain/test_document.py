"""Trust levels: their names and their order."""

from __future__ import annotations

import pytest

from kebab_tui.domain.document import Trust


def test_generated_notes_are_trusted_least() -> None:
    assert Trust.GENERATED < Trust.SECONDARY < Trust.PRIMARY


@pytest.mark.parametrize("trust", Trust)
def test_a_label_is_read_back(trust: Trust) -> None:
    assert Trust.parse(trust.label) is trust
    assert Trust.parse(f" {trust.label.title()}\n") is trust


@pytest.mark.parametrize("text", ["", "first", "3", "primary secondary"])
def test_other_words_are_no_trust(text: str) -> None:
    assert Trust.parse(text) is None
