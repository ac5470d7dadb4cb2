"""Semantic search: missing or broken parts fall back to keywords, and stale vectors are not used."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from kebab_tui.domain.errors import ModelError
from kebab_tui.domain.hit import SearchResponse
from kebab_tui.domain.query import SearchMode, SearchQuery
from kebab_tui.embedding.card import ModelCard
from kebab_tui.embedding.model_folders import ModelCatalogue
from kebab_tui.settings.settings import Settings
from kebab_tui.vectors.sync import FILE_NAME
from kebab_tui.workspace import Callbacks, Workspace
from tests.embedding.tiny_models import Tiny, card, external_tensor, field, tokenizer, write_tiny
from tests.meaning import codes
from tests.vault import Vault


def ask(workspace: Workspace, text: str = "port conflict", mode: SearchMode = "hybrid") -> SearchResponse:
    return workspace.search(SearchQuery(text, mode=mode))


def test_a_keyword_search_opens_no_model(vault: Vault) -> None:
    vault.workspace.embed(Callbacks())
    vault.workspace.close()
    with_words_only = vault.opened(Settings())
    ask(with_words_only, mode="lexical")
    assert with_words_only._parts.semantics._encoder is None
    with_words_only.close()


def test_before_the_first_vector_words_answer(vault: Vault) -> None:
    response = ask(vault.workspace)
    assert (response.mode, codes(response), len(response.hits)) == ("lexical", ["no_vectors"], 1)
    assert "kebab index --embed" in response.notices[0].text
    with pytest.raises(ModelError, match="No semantic index yet"):
        ask(vault.workspace, mode="vector")


def test_with_vectors_both_answer(vault: Vault) -> None:
    assert vault.workspace.embed(Callbacks()).embedded == 2
    response = ask(vault.workspace)
    assert (response.mode, codes(response)) == ("hybrid", [])
    assert response.hits[0].path == "a.md"
    assert "+vec-tiny-4-" in response.index_version


def test_the_card_is_read_once_until_its_file_changes(vault: Vault, monkeypatch: pytest.MonkeyPatch) -> None:
    vault.workspace.embed(Callbacks())
    workspace = vault.opened(Settings())
    reads: list[str] = []
    find = ModelCatalogue.find

    def counted(catalogue: ModelCatalogue, model: str) -> ModelCard:
        reads.append(model)
        return find(catalogue, model)

    monkeypatch.setattr(ModelCatalogue, "find", counted)
    for _ in range(3):
        assert ask(workspace).mode == "hybrid"
    assert reads == ["tiny"]
    card = vault.data / "models" / "tiny" / "model.toml"
    card.write_text("floor = 0.9\n" + card.read_text())
    assert ask(workspace, "backup").mode == "hybrid"
    assert reads == ["tiny", "tiny"]
    assert workspace._parts.semantics.card().floor == 0.9
    workspace.close()


def test_another_process_finds_new_vectors(vault: Vault) -> None:
    other = vault.opened(Settings())
    assert ask(other).mode == "lexical"
    vault.workspace.embed(Callbacks())
    assert ask(other).mode == "hybrid"
    vault.write("c.md", "conflict word")
    vault.ingest()
    assert "Semantic search 66 %" in ask(other).notices[-1].text
    vault.workspace.embed(Callbacks())
    assert "vectors_pending" not in codes(ask(other))
    assert ask(other, mode="vector").total_matches == 3
    other.close()


def test_a_model_that_is_gone_costs_only_the_meaning(vault: Vault) -> None:
    vault.workspace.embed(Callbacks())
    for file in (vault.data / "models" / "tiny").iterdir():
        file.unlink()
    response = ask(vault.workspace)
    assert (response.mode, codes(response), len(response.hits)) == ("lexical", ["no_model"], 1)
    assert "'tiny'" in response.notices[0].text
    with pytest.raises(ModelError, match="tiny"):
        ask(vault.workspace, mode="vector")


def truncated(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-10])


def one_bit_flipped(file: Path) -> None:
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)


@pytest.mark.parametrize("name", ["model.onnx", "tokenizer.json"])
@pytest.mark.parametrize("harm", [truncated, one_bit_flipped, Path.unlink])
def test_a_broken_model_costs_only_the_meaning(vault: Vault, name: str, harm: Callable[[Path], None]) -> None:
    vault.workspace.embed(Callbacks())
    harm(vault.data / "models" / "tiny" / name)
    fresh = vault.opened(Settings())
    response = ask(fresh)
    assert (response.mode, codes(response), len(response.hits)) == ("lexical", ["no_model"], 1)
    assert response.notices[0].level == "warning"
    fresh.close()


def test_a_model_that_gives_no_numbers_is_refused_and_words_go_on(vault: Vault) -> None:
    vault.workspace.embed(Callbacks())
    folder = vault.data / "models" / "sick"
    write_tiny(folder, Tiny(nan_at=1), id="sick", normalise=True)
    vault.workspace.use_model("sick", Callbacks())
    with pytest.raises(ModelError, match="NaN or infinity"):
        vault.workspace.embed(Callbacks())
    response = ask(vault.workspace)
    assert (response.mode, len(response.hits)) == ("lexical", 1)


def test_a_model_that_names_another_file_is_refused_and_words_go_on(vault: Vault) -> None:
    vault.workspace.embed(Callbacks())
    crafted = Tiny().onnx() + field(7, field(5, external_tensor("weights", (1, 4), "../../../../notes/a.md")))
    folder = write_tiny(vault.data / "models" / "crafted")
    (folder / "model.onnx").write_bytes(crafted)
    (folder / "model.toml").write_text(card(crafted, tokenizer(), id="crafted"), "utf-8")
    vault.workspace.use_model("crafted", Callbacks())
    with pytest.raises(ModelError, match="external data"):
        vault.workspace.embed(Callbacks())
    response = ask(vault.workspace)
    assert (response.mode, len(response.hits)) == ("lexical", 1)


def test_vectors_of_two_models_are_never_mixed_and_going_back_costs_nothing(vault: Vault) -> None:
    vault.workspace.embed(Callbacks())
    before = ask(vault.workspace, mode="vector")
    write_tiny(vault.data / "models" / "wide", Tiny(dims=6), id="wide", normalise=True)
    vault.workspace.use_model("wide", Callbacks())
    assert codes(ask(vault.workspace)) == ["no_vectors"]
    assert vault.workspace.embed(Callbacks()).embedded == 2
    assert "vec-wide-6-" in ask(vault.workspace, mode="vector").index_version
    vault.workspace.use_model("tiny", Callbacks())
    assert vault.workspace.embed(Callbacks()).embedded == 0
    assert repr(ask(vault.workspace, mode="vector").hits) == repr(before.hits)


def test_an_english_model_leaves_korean_to_the_words(vault: Vault) -> None:
    write_tiny(vault.data / "models" / "english", id="english", normalise=True, languages=["en"])
    vault.workspace.use_model("english", Callbacks())
    vault.workspace.embed(Callbacks())
    response = ask(vault.workspace, "백업")
    assert (response.mode, codes(response)) == ("lexical", ["model_language"])
    assert [hit.path for hit in response.hits] == ["b.md"]
    assert ask(vault.workspace, "backup").mode == "hybrid"


def zeroed(file: Path) -> None:
    file.write_bytes(bytes(file.stat().st_size))


@pytest.mark.parametrize("harm", [truncated, one_bit_flipped, zeroed, Path.unlink])
def test_a_damaged_vector_file_changes_no_result(vault: Vault, harm: Callable[[Path], None]) -> None:
    vault.workspace.embed(Callbacks())
    before = ask(vault.workspace)
    vault.workspace.close()
    harm(vault.data / FILE_NAME)
    fresh = vault.opened(Settings())
    assert repr(ask(fresh).hits) == repr(before.hits)
    fresh.close()


def test_a_title_that_changes_is_never_answered_by_the_old_vector(vault: Vault) -> None:
    vault.write("a.md", "---\ntitle: port\n---\nport conflict")
    vault.ingest()
    vault.workspace.embed(Callbacks())
    assert ask(vault.workspace, mode="vector").total_matches == 2
    vault.write("a.md", "---\ntitle: backup word\n---\nport conflict")
    vault.ingest()
    assert ask(vault.workspace, mode="vector").total_matches == 1
    assert vault.workspace.embed(Callbacks()).embedded == 1
    vault.write("a.md", "---\ntitle: port\n---\nport conflict")
    vault.ingest()
    assert vault.workspace.embed(Callbacks()).embedded == 0
    assert codes(ask(vault.workspace)) == []


def test_after_close_a_search_opens_everything_again(vault: Vault) -> None:
    vault.workspace.embed(Callbacks())
    before = ask(vault.workspace)
    vault.workspace.close()
    assert repr(ask(vault.workspace).hits) == repr(before.hits)


def test_a_model_of_ones_own_outlives_the_database(vault: Vault) -> None:
    vault.workspace.embed(Callbacks())
    vault.workspace.close()
    (vault.data / "kebab.sqlite").unlink()
    vault.ingest()
    assert vault.workspace.models.used() == "tiny"
    vault.workspace.embed(Callbacks())
    assert ask(vault.workspace).mode == "hybrid"
    assert vault.rows("SELECT value FROM meta WHERE key = 'model'") == [("tiny",)]


@pytest.mark.parametrize("content", [None, b"", b"\xff\xfe"], ids=["missing", "empty", "no text"])
def test_the_database_decides_which_model_answers(vault: Vault, content: bytes | None) -> None:
    copy = vault.data / "model.txt"
    copy.unlink() if content is None else copy.write_bytes(content)
    assert vault.workspace.models.used() == "tiny"
    vault.workspace.embed(Callbacks())
    assert copy.read_text() == "tiny\n", "whoever makes vectors writes it down again"
