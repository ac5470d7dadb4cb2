from __future__ import annotations

from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kebab_tui.domain.errors import ModelError
from kebab_tui.embedding.card import ModelCard, card_text, read_card
from tests.embedding.tiny_models import card, write_tiny


def read(folder: Path, text: str) -> ModelCard:
    (folder / "model.toml").write_text(text, "utf-8")
    return read_card(str(folder), unsigned=True)


@pytest.fixture
def tiny(tmp_path: Path) -> ModelCard:
    return read_card(str(write_tiny(tmp_path)))


def test_all_values_of_a_card_are_read(tmp_path: Path) -> None:
    text = card(b"onnx", "tokens", pooling="cls").replace(
        "[sha256]", '[prefixes]\nquery = "query: "\npassage = "passage:\\n"\n[sha256]'
    )
    found = read(tmp_path, text)
    assert (found.model_id, found.dims, found.max_tokens) == ("tiny", 4, 16)
    assert (found.pooling, found.normalise, found.languages) == ("cls", True, ("ko", "en"))
    assert (found.query_prefix, found.passage_prefix) == ("query: ", "passage:\n")
    assert len(found.onnx_sha256) == len(found.tokenizer_sha256) == 64
    assert found.onnx == str(tmp_path / "model.onnx")


def test_prefixes_may_be_left_out(tmp_path: Path) -> None:
    found = read(tmp_path, card())
    assert found.query_prefix == found.passage_prefix == ""


def test_checksums_may_not_be_left_out(tmp_path: Path) -> None:
    (tmp_path / "model.toml").write_text(card())
    with pytest.raises(ModelError, match=r'sha256\."model\.onnx" is missing'):
        read_card(str(tmp_path))


def test_pieces_apart_may_be_left_out(tmp_path: Path) -> None:
    without = read(tmp_path, card(b"onnx", "tokens"))
    assert list(without.checksums) == ["model.onnx", "tokenizer.json"]
    assert list(read(tmp_path, card(b"onnx", "tokens", "pieces")).checksums)[2:] == ["pieces.txt"]


def test_an_unknown_key_is_refused_with_its_line_and_the_nearest_one(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"model\.toml:10: unknown key max_token\Z") as refusal:
        read(tmp_path, card() + "max_token = 3\n")
    assert refusal.value.hint == "did you mean max_tokens?"


def test_an_unknown_key_of_a_table_is_refused_with_its_line(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"model\.toml:12: unknown key prefixes\.querry\Z") as refusal:
        read(tmp_path, card() + "\n[prefixes]\nquerry = ''\n")
    assert refusal.value.hint == "did you mean query?"


def test_an_unknown_table_is_refused_with_its_line(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"model\.toml:10: unknown key checksums\Z"):
        read(tmp_path, card() + "[checksums]\nx = 1\n")


def test_a_table_written_as_a_value_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"model\.toml:10: prefixes must be a table"):
        read(tmp_path, card() + "prefixes = 'query: '\n")


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("id", "Tiny"),
        ("id", "../tiny"),
        ("id", ".tiny"),
        ("name", "two\nlines"),
        ("name", ""),
        ("languages", []),
        ("languages", "ko"),
        ("languages", ["korean!"]),
        ("dims", 0),
        ("dims", 8193),
        ("dims", "384"),
        ("dims", True),
        ("dims", 3.0),
        ("max_tokens", 7),
        ("pooling", "max"),
        ("normalise", 1),
    ],
)
def test_a_value_that_makes_no_sense_is_refused_with_its_line(tmp_path: Path, key: str, value: Any) -> None:
    text = card(**{key: value})
    line = 1 + [line.split(" =")[0] for line in text.split("\n")].index(key)
    with pytest.raises(ModelError, match=rf"model\.toml:{line}: invalid {key}: .*") as refusal:
        read(tmp_path, text)
    assert refusal.value.hint


@pytest.mark.parametrize("key", ["id", "name", "version", "languages", "licence", "dims", "pooling"])
def test_a_missing_key_is_named(tmp_path: Path, key: str) -> None:
    lines = [line for line in card().split("\n") if not line.startswith(f"{key} ")]
    with pytest.raises(ModelError, match=f"{key} is missing"):
        read(tmp_path, "\n".join(lines))


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (b"id = ", "not TOML"),
        (b"\xff\xfe", "not UTF-8"),
        (b"a = 1\na = 2", r"toml:2: not TOML"),
        (b"#" * 100_000, "too large"),
        (b"a = " + b"[" * 5000, "not TOML"),
    ],
)
def test_an_invalid_card_is_rejected(tmp_path: Path, data: bytes, what: str) -> None:
    (tmp_path / "model.toml").write_bytes(data)
    with pytest.raises(ModelError, match=what):
        read_card(str(tmp_path))


def test_a_folder_without_a_card_and_a_missing_folder_are_different_errors(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"no model\.toml in"):
        read_card(str(tmp_path))
    with pytest.raises(ModelError, match="folder not found"):
        read_card(str(tmp_path / "none"))


def test_the_card_of_another_tool_is_a_folder(tmp_path: Path) -> None:
    (tmp_path / "model.toml").mkdir()
    with pytest.raises(ModelError, match="cannot read"):
        read_card(str(tmp_path))


_lines = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=30)
_prefixes = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0\x7f"), max_size=30)


@given(name=_lines, query=_prefixes, passage=_prefixes, pieces=st.sampled_from(["", "ab" * 32]))
def test_a_written_card_reads_back(
    tmp_path_factory: pytest.TempPathFactory, name: str, query: str, passage: str, pieces: str
) -> None:
    folder = tmp_path_factory.mktemp("card")
    given: dict[str, Any] = {
        "name": name,
        "query_prefix": query,
        "passage_prefix": passage,
        "pieces_sha256": pieces,
    }
    written = replace(read_card(str(write_tiny(folder))), **given)
    (folder / "model.toml").write_text(card_text(written), "utf-8", newline="")
    assert read_card(str(folder)) == written


def test_the_fingerprint_depends_on_everything_that_makes_a_vector(tiny: ModelCard) -> None:
    others: dict[str, Any] = {
        "model_id": "other",
        "dims": 5,
        "max_tokens": 17,
        "pooling": "cls",
        "normalise": False,
        "query_prefix": "query: ",
        "passage_prefix": "passage: ",
        "onnx_sha256": "0" * 64,
        "tokenizer_sha256": "0" * 64,
    }
    prints = {replace(tiny, **{name: value}).fingerprint for name, value in others.items()}
    assert len(prints | {tiny.fingerprint}) == len(others) + 1


def test_the_fingerprint_depends_on_nothing_else(tiny: ModelCard) -> None:
    moved = replace(
        tiny, folder="/elsewhere", name="N", version="9", languages=("en",), licence="X", floor=0.5
    )
    assert replace(moved, pieces_sha256="0" * 64).fingerprint == tiny.fingerprint
    unused = {"folder", "name", "version", "languages", "licence", "floor", "pieces_sha256"}
    assert len({item.name for item in fields(ModelCard)} - unused) == 9


def test_the_vector_version_names_model_dims_and_fingerprint(tiny: ModelCard) -> None:
    assert tiny.vector_version == f"vec-tiny-4-{tiny.fingerprint[:8]}"


@pytest.mark.parametrize(
    ("languages", "text", "answers"),
    [
        (("en",), "port conflict", True),
        (("en",), "port 충돌", False),
        (("en",), "ㅋ", False),
        (("en",), "\u1112\u1161", False),
        (("en",), "café 東京", True),
        (("ko", "en"), "port 충돌", True),
        (("multi",), "충돌", True),
    ],
)
def test_only_a_model_that_knows_korean_answers_hangul(
    tiny: ModelCard, languages: tuple[str, ...], text: str, answers: bool
) -> None:
    assert replace(tiny, languages=languages).answers(text) is answers
