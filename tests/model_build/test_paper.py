"""The card and the notice say what the product and the licences need."""

from __future__ import annotations

import tomllib

from models.build.paper import card, notice
from models.build.sources import Contribution


def test_the_card_is_toml_with_the_checksum_of_each_file() -> None:
    checksums = {"model.onnx": "a" * 64, "tokenizer.json": "b" * 64, "pieces.txt": "c" * 64}
    table = tomllib.loads(card("1", checksums))
    assert table["sha256"] == checksums
    assert (table["dims"], table["pooling"], table["normalise"]) == (384, "none", False)
    assert table["prefixes"] == {"query": "", "passage": ""}


def test_the_notice_names_every_source_that_gave_something() -> None:
    given = Contribution("Editor", "MIT", ("editor-ko 1.0 (npm)", "editor 1.0 (npm)"), 1234)
    empty = Contribution("Nothing", "MIT", ("nothing 1.0 (pypi)",), 0)
    text = notice([given, empty], "Apache License")
    assert "1,234  MIT" in text and "editor 1.0 (npm)" in text and "Nothing" not in text
