from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from kebab_tui.domain.errors import ModelError
from kebab_tui.embedding.card import read_card
from kebab_tui.embedding.encoder import Encoder
from kebab_tui.embedding.integrity import verify
from kebab_tui.embedding.model_folders import BUNDLED_MODEL, ModelCatalogue
from tests.embedding.tiny_models import (
    WORDS,
    Tiny,
    card,
    piece_lines,
    tokenizer,
    wordpiece,
    write_tiny,
    write_with_pieces,
)


@pytest.fixture
def catalogue(tmp_path: Path) -> ModelCatalogue:
    write_tiny(tmp_path / "bundled" / "shipped", id="shipped")
    (tmp_path / "bundled" / "build").mkdir()
    return ModelCatalogue(str(tmp_path / "data"), str(tmp_path / "bundled"))


def added(tmp_path: Path) -> list[str]:
    """The entries of the models folder in the data folder."""
    own = tmp_path / "data" / "models"
    return sorted(os.listdir(own)) if own.exists() else []


def test_bundled_and_added_models_are_listed(catalogue: ModelCatalogue, tmp_path: Path) -> None:
    catalogue.add(str(write_tiny(tmp_path / "tiny")))
    assert [(m.model_id, m.bundled, m.problem) for m in catalogue.list_models()] == [
        ("shipped", True, ""),
        ("tiny", False, ""),
    ]


def test_no_folder_of_models_is_no_error(tmp_path: Path) -> None:
    assert ModelCatalogue(str(tmp_path / "none"), str(tmp_path / "nothing")).list_models() == []


def test_a_broken_card_is_listed_with_its_problem_and_hides_no_other(
    catalogue: ModelCatalogue, tmp_path: Path
) -> None:
    broken = tmp_path / "data" / "models" / "broken"
    broken.mkdir(parents=True)
    (broken / "model.toml").write_text("dims = 'many'")
    shipped, other = catalogue.list_models()
    assert shipped.card is not None
    assert other.model_id == "broken"
    assert other.card is None
    assert "is missing" in other.problem


def test_a_model_is_found_by_its_id(catalogue: ModelCatalogue) -> None:
    assert catalogue.find("shipped").dims == 4


def test_a_misspelt_model_gets_a_hint(catalogue: ModelCatalogue) -> None:
    with pytest.raises(ModelError, match="no such model: 'shiped'") as refusal:
        catalogue.find("shiped")
    assert refusal.value.hint == "did you mean shipped?"


def test_a_folder_that_does_not_bear_its_models_id_is_refused(
    catalogue: ModelCatalogue, tmp_path: Path
) -> None:
    write_tiny(tmp_path / "data" / "models" / "renamed")
    with pytest.raises(ModelError, match="the id tiny differs from the folder name renamed"):
        catalogue.find("renamed")
    assert "renamed" in catalogue.list_models()[1].problem


def test_an_added_model_can_be_used_when_its_source_is_gone(
    catalogue: ModelCatalogue, tmp_path: Path
) -> None:
    source = write_tiny(tmp_path / "source")
    (source / "NOTICE").write_text("thanks")
    (source / "pytorch_model.bin").write_bytes(b"not needed")
    card = catalogue.add(str(source))
    source.rename(tmp_path / "gone")
    assert card == catalogue.find("tiny") == read_card(card.folder)
    assert verify(card) == []
    assert Encoder(card).query("port").shape == (4,)
    assert sorted(os.listdir(card.folder)) == ["NOTICE", "model.onnx", "model.toml", "tokenizer.json"]
    assert added(tmp_path) == ["tiny"]


def test_missing_checksums_are_filled_in(catalogue: ModelCatalogue, tmp_path: Path) -> None:
    card = catalogue.add(str(write_tiny(tmp_path / "source", signed=False)))
    signed = read_card(str(write_tiny(tmp_path / "signed")))
    assert read_card(card.folder).fingerprint == signed.fingerprint


def test_adding_the_same_model_again_changes_nothing(catalogue: ModelCatalogue, tmp_path: Path) -> None:
    source = str(write_tiny(tmp_path / "source"))
    assert catalogue.add(source) == catalogue.add(source)


@pytest.mark.parametrize("taken", ["tiny", "shipped"])
def test_another_model_of_a_known_id_is_refused(
    catalogue: ModelCatalogue, tmp_path: Path, taken: str
) -> None:
    catalogue.add(str(write_tiny(tmp_path / "source")))
    other = write_tiny(tmp_path / "other", Tiny(dims=6), id=taken)
    with pytest.raises(ModelError, match=f"another model {taken} already") as refusal:
        catalogue.add(str(other))
    assert "another id" in refusal.value.hint
    assert catalogue.find(taken).dims == 4


@pytest.mark.parametrize(
    ("tiny", "changed", "what"),
    [
        (Tiny(dims=5), {"dims": 4}, "5 dimensions"),
        (Tiny(nan_at=1), {}, "NaN or infinity"),
        (Tiny(nan_at=4), {}, "NaN or infinity"),
        (Tiny(zero=True), {}, "zeros"),
        (Tiny(), {"pooling": "none"}, "no float output"),
        (Tiny(inputs=("tokens",)), {}, "unsupported input"),
        (Tiny(known=3), {}, "failed on"),
        (Tiny(), {"normalise": False}, "instead of 1"),
    ],
)
def test_a_model_that_does_not_fit_its_card_is_not_added(
    catalogue: ModelCatalogue, tmp_path: Path, tiny: Tiny, changed: dict[str, Any], what: str
) -> None:
    with pytest.raises(ModelError, match=what):
        catalogue.add(str(write_tiny(tmp_path / "source", tiny, **changed)))
    assert added(tmp_path) == []


def test_pieces_that_the_card_names_are_copied_too(catalogue: ModelCatalogue, tmp_path: Path) -> None:
    card = catalogue.add(str(write_with_pieces(tmp_path / "source")))
    assert sorted(os.listdir(card.folder)) == ["model.onnx", "model.toml", "pieces.txt", "tokenizer.json"]
    assert card == read_card(card.folder)
    assert Encoder(card).query("port").shape == (4,)


@pytest.mark.parametrize(
    ("tokens", "pieces", "what"),
    [
        (wordpiece(), piece_lines(WORDS[::-1]), "they differ from those"),
        (wordpiece(), piece_lines(WORDS[:-1]), "they differ from those"),
        (wordpiece(), piece_lines(WORDS)[:-1], "is invalid"),
        (wordpiece(), piece_lines(WORDS).replace("\t", " "), r"pieces\.txt has no .UNK."),
        (wordpiece(), "[UNK]\t0\nport\t1\nalpha\t2\n", "its lines are not sorted"),
        (wordpiece().replace('{"type": "Whitespace"}', "null"), "", "has no pre_tokenizer"),
        (wordpiece(added=["[UNK]"]), "", "has added tokens"),
        (tokenizer(), "", "does not end with its vocabulary"),
        (wordpiece().replace("WordPiece", "WordLevel"), "", "is not a WordPiece tokenizer"),
        (wordpiece()[:-1] + ', "post_processor": null}', "", "does not end with its vocabulary"),
    ],
)
def test_a_model_whose_pieces_do_not_go_with_its_tokenizer_is_not_added(
    catalogue: ModelCatalogue, tmp_path: Path, tokens: str, pieces: str, what: str
) -> None:
    with pytest.raises(ModelError, match=what) as refusal:
        catalogue.add(str(write_with_pieces(tmp_path / "source", tokens, pieces)))
    assert "remove pieces.txt" in refusal.value.hint
    assert added(tmp_path) == []


def test_an_invalid_tokenizer_with_pieces_is_not_added(catalogue: ModelCatalogue, tmp_path: Path) -> None:
    tokens = wordpiece().replace('"port": 1', '"port": "one"')
    with pytest.raises(ModelError, match=r"tokenizer\.json is not a tokenizer"):
        catalogue.add(str(write_with_pieces(tmp_path / "source", tokens)))
    assert added(tmp_path) == []


@pytest.mark.parametrize("name", ["model.onnx", "tokenizer.json"])
@pytest.mark.parametrize("signed", [True, False])
def test_a_model_with_a_missing_file_is_not_added(
    catalogue: ModelCatalogue, tmp_path: Path, name: str, signed: bool
) -> None:
    source = write_tiny(tmp_path / "source", signed=signed)
    (source / name).unlink()
    with pytest.raises(ModelError, match=f"{name} is missing"):
        catalogue.add(str(source))
    assert added(tmp_path) == []


def test_a_model_whose_file_is_not_the_one_its_card_names_is_not_added(
    catalogue: ModelCatalogue, tmp_path: Path
) -> None:
    source = write_tiny(tmp_path / "source")
    (source / "model.onnx").write_bytes(Tiny(dims=4, pooled=True).onnx())
    with pytest.raises(ModelError, match=r"model\.onnx is damaged or another version"):
        catalogue.add(str(source))
    assert added(tmp_path) == []


def test_a_web_page_is_not_added(catalogue: ModelCatalogue, tmp_path: Path) -> None:
    source = write_tiny(tmp_path / "source", signed=False)
    (source / "model.onnx").write_text("<html>404</html>")
    with pytest.raises(ModelError, match="is not a model"):
        catalogue.add(str(source))
    assert added(tmp_path) == []


def test_a_copy_that_fails_leaves_nothing_behind(
    catalogue: ModelCatalogue, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(ModelError, match="No space left on device"):
        catalogue.add(str(write_tiny(tmp_path / "source")))
    assert added(tmp_path) == []


def test_a_read_only_data_folder_is_reported(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("a file")
    catalogue = ModelCatalogue(str(tmp_path / "data"), str(tmp_path / "bundled"))
    with pytest.raises(ModelError, match="cannot add"):
        catalogue.add(str(write_tiny(tmp_path / "source")))


def test_a_folder_without_a_card_is_not_added(catalogue: ModelCatalogue, tmp_path: Path) -> None:
    (tmp_path / "source").mkdir()
    with pytest.raises(ModelError, match=r"no model\.toml"):
        catalogue.add(str(tmp_path / "source"))


def test_an_unknown_key_is_refused_when_adding(catalogue: ModelCatalogue, tmp_path: Path) -> None:
    source = write_tiny(tmp_path / "source")
    (source / "model.toml").write_text(card() + "poolin = 'mean'\n")
    with pytest.raises(ModelError, match=r"model\.toml:10: unknown key poolin"):
        catalogue.add(str(source))


def test_the_bundled_model_is_found_without_a_data_folder(tmp_path: Path) -> None:
    catalogue = ModelCatalogue(str(tmp_path))
    if not any(model.model_id == BUNDLED_MODEL for model in catalogue.list_models()):
        pytest.skip("the bundled model is not in this checkout")
    assert catalogue.find(BUNDLED_MODEL).dims == 384
