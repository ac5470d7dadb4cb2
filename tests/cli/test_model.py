"""`kebab model`: the list of models, their problems, and the switch to another one."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from kebab_tui.domain.query import SearchQuery
from kebab_tui.embedding import model_folders
from kebab_tui.embedding.model_folders import BUNDLED_MODEL, bundled_root
from kebab_tui.settings.settings import Settings
from kebab_tui.workspace import Workspace
from tests.cli.test_terminal_output import on_a_terminal
from tests.command_line import Done, Kebab
from tests.embedding.tiny_models import Tiny, write_tiny, write_with_pieces

pytestmark = pytest.mark.slow

BUNDLED = Path(bundled_root()) / BUNDLED_MODEL


def codes(done: Done) -> list[str]:
    return [notice["code"] for notice in done.json["notices"]]


def listed(kebab: Kebab) -> dict[str, dict[str, Any]]:
    return {item["id"]: item for item in kebab("model", "list", "--json").json["items"]}


def pending(kebab: Kebab) -> int:
    return int(kebab("index", "--status", "--json").json["vector"]["pending"])


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    return write_tiny(tmp_path / "models" / "tiny")


@pytest.fixture
def filled(kebab: Kebab, notes: Path) -> Kebab:
    """Three notes, with the vectors of the bundled model."""
    assert kebab("ingest", "--wait", str(notes)).code == 0
    return kebab


# list, info, add


def test_without_an_index_the_bundled_model_is_the_one_that_will_answer(kebab: Kebab) -> None:
    (bundled,) = kebab("model", "list").lines
    assert bundled.split("\t")[:5] == ["used", BUNDLED_MODEL, "bundled", "ko,en", "384"]
    assert not kebab.data.exists()


def test_the_files_of_a_model_are_named_with_their_checksums(kebab: Kebab, tiny: Path) -> None:
    kebab("model", "add", str(tiny))
    assert [list(item["sha256"]) for item in listed(kebab).values()] == [
        ["model.onnx", "tokenizer.json", "pieces.txt"],
        ["model.onnx", "tokenizer.json"],
    ]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_stopping_while_a_model_is_tried_leaves_no_copy(
    kebab: Kebab, tiny: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    monkeypatch.setattr(model_folders, "probe", lambda _: os.kill(os.getpid(), number))
    done = kebab("model", "add", str(tiny))
    assert (done.code, done.err) == (130, "interrupted\n")
    assert os.listdir(kebab.data / "models") == []


def test_an_added_model_is_a_copy_of_its_own(kebab: Kebab, tiny: Path) -> None:
    done = kebab("model", "add", str(tiny))
    assert done.out == "tiny\n"
    assert "kebab model use tiny" in done.err
    shutil.rmtree(tiny)
    assert kebab("model", "verify", "tiny").out == "tiny: ok\n"
    own = listed(kebab)["tiny"]
    assert (own["bundled"], own["used"], own["dims"], own["vectors"]) == (False, False, 4, 0)
    assert Path(own["folder"]).is_relative_to(kebab.data)


def test_the_card_is_shown(kebab: Kebab, tmp_path: Path) -> None:
    folder = write_tiny(tmp_path / "m", id="e5", languages=["multi"])
    card = folder / "model.toml"
    card.write_text(card.read_text().replace("[sha256]", '[prefixes]\nquery = "query: "\n\n[sha256]'))
    kebab("model", "add", str(folder))
    out = kebab("model", "info", "e5").out
    for line in ("id: e5", "languages: multi", "dimensions: 4", "query prefix: 'query: '"):
        assert f"{line}\n" in out
    assert "used by this index: no, 0 vectors" in out


@pytest.mark.parametrize(
    ("argv", "told"),
    [
        (("info", "kebab-ko-eb"), "did you mean kebab-ko-en?"),
        (("verify", "nothing"), "no such model: 'nothing'"),
        (("use", "nothing", "--yes"), "no such model: 'nothing'"),
        (("add", "/nowhere"), "folder not found: /nowhere"),
        (("add", ""), "is a shell variable unset?"),
        (("info",), "Missing argument"),
    ],
)
def test_a_missing_file_is_an_error(filled: Kebab, argv: tuple[str, ...], told: str) -> None:
    done = filled("model", *argv)
    assert (done.code, done.out) == (2, "")
    assert told in done.err


@pytest.mark.parametrize(
    ("model", "changed", "told"),
    [
        (Tiny(dims=4), {"dims": 8}, "8"),
        (Tiny(nan_at=1), {}, "NaN or infinity"),
        (Tiny(), {"colour": "red"}, "unknown key colour"),
        (Tiny(), {"pooling": "max"}, "pooling"),
    ],
)
def test_a_model_that_cannot_work_is_not_added(
    kebab: Kebab, tmp_path: Path, model: Tiny, changed: dict[str, Any], told: str
) -> None:
    done = kebab("model", "add", str(write_tiny(tmp_path / "broken", model, **changed)))
    assert done.code == 2
    assert told in done.err
    assert set(listed(kebab)) == {BUNDLED_MODEL}


def test_an_error_names_the_folder_that_was_given_and_not_the_copy(kebab: Kebab, tmp_path: Path) -> None:
    folder = write_tiny(tmp_path / "given", signed=False)
    (folder / "model.onnx").write_bytes(b"\x08\x07")  # a version, and no graph
    done = kebab("model", "add", str(folder))
    assert done.code == 2
    assert f"{folder}/model.onnx is not a model" in done.err
    assert ".adding-" not in done.err


def test_verify_compares_the_dimensions_with_what_the_model_gives(kebab: Kebab, tiny: Path) -> None:
    kebab("model", "add", str(tiny))
    card = kebab.data / "models" / "tiny" / "model.toml"
    card.write_text(card.read_text().replace("dims = 4", "dims = 8"))
    done = kebab("model", "verify", "tiny")
    assert done.code == 3
    assert done.out == "tiny: the model tiny returns vectors of 4 dimensions; its card says 8\n"


def test_a_broken_card_is_listed_with_its_problem_and_hides_no_other(kebab: Kebab, tiny: Path) -> None:
    kebab("model", "add", str(tiny))
    (kebab.data / "models" / "tiny" / "model.toml").write_text("id = 3\n")
    assert listed(kebab)["tiny"]["problem"]
    assert listed(kebab)[BUNDLED_MODEL]["problem"] == ""
    assert "problem: " in kebab("model", "info", "tiny").out
    done = kebab("model", "verify")
    assert done.code == 3
    assert done.lines[0] == f"{BUNDLED_MODEL}: ok"
    assert "invalid id: 3" in done.lines[1]


# use


def test_switching_says_what_it_costs_and_back_costs_nothing(filled: Kebab, tiny: Path) -> None:
    filled("model", "add", str(tiny))
    switch = filled("model", "use", "tiny", "--yes", "--json").json
    assert (switch["model"], switch["before"], switch["pending"]) == ("tiny", BUNDLED_MODEL, 3)
    assert switch["seconds"] > 0
    waiting = filled("search", "port listeners", "--json")
    assert (waiting.json["mode"], codes(waiting)) == ("lexical", ["no_vectors"])
    assert pending(filled) == 3
    filled("index", "--embed")
    found = filled("search", "port listeners", "--json").json
    assert "vec-tiny-4-" in found["index_version"]
    assert {item["id"]: item["vectors"] for item in listed(filled).values()} == {BUNDLED_MODEL: 3, "tiny": 3}

    back = filled("model", "use", BUNDLED_MODEL)
    assert back.code == 0, "nothing is asked where nothing is lost"
    assert filled("search", "port listeners", "--json").json["mode"] == "hybrid"
    assert pending(filled) == 0
    assert filled("model", "use", "tiny", "--json").json["pending"] == 0
    assert listed(filled)["tiny"]["used"]


def test_vectors_of_another_model_are_never_used(filled: Kebab, tiny: Path, tmp_path: Path) -> None:
    """The same id and the same dimensions, but other weights: the card tells them apart."""
    filled("model", "add", str(tiny))
    filled("model", "use", "tiny", "--yes")
    filled("index", "--embed")
    other = write_tiny(tmp_path / "other", Tiny(zero=False, known=9))
    shutil.copytree(other, filled.data / "models" / "tiny", dirs_exist_ok=True)
    done = filled("search", "port listeners", "--json")
    assert (done.json["mode"], codes(done)) == ("lexical", ["no_vectors"])
    assert pending(filled) == 3


def test_a_running_search_follows_the_switch(filled: Kebab, tiny: Path) -> None:
    """As the screen does: one workspace that stays open while other processes write."""
    with closing(Workspace(Settings(), str(filled.data))) as searching:
        query = SearchQuery("port listeners")
        assert "vec-kebab-ko-en" in searching.search(query).index_version
        filled("model", "add", str(tiny))
        filled("model", "use", "tiny", "--yes")
        assert [notice.code for notice in searching.search(query).notices] == ["no_vectors"]
        filled("index", "--embed")
        assert "vec-tiny-4-" in searching.search(query).index_version
        filled("model", "use", BUNDLED_MODEL)
        assert "vec-kebab-ko-en" in searching.search(query).index_version


def test_a_switch_needs_confirmation(filled: Kebab, tiny: Path) -> None:
    filled("model", "add", str(tiny))
    done = filled("model", "use", "tiny")
    assert done.code == 2
    assert "tiny has no vectors yet for 3 passages" in done.err
    assert "--yes" in done.err
    assert listed(filled)[BUNDLED_MODEL]["used"]


@pytest.mark.parametrize(("answer", "code", "used"), [("n\n", 1, BUNDLED_MODEL), ("y\n", 0, "tiny")])
def test_on_a_terminal_it_asks(filled: Kebab, tiny: Path, answer: str, code: int, used: str) -> None:
    filled("model", "add", str(tiny))
    ended, shown = on_a_terminal(filled, "model", "use", "tiny", typed=answer)
    assert ended == code
    assert re.search(
        r"tiny has no vectors yet for 3 passages \((about .+|under 1 s) to compute\); .+ Continue\?", shown
    )
    assert [name for name, item in listed(filled).items() if item["used"]] == [used]


def test_the_model_in_use_may_be_named_again(filled: Kebab) -> None:
    done = filled("model", "use", BUNDLED_MODEL)
    assert (done.code, done.err) == (0, f"{BUNDLED_MODEL} is in use already\n")


def test_an_english_model_is_never_asked_about_hangul(filled: Kebab, tmp_path: Path) -> None:
    filled("model", "add", str(write_tiny(tmp_path / "en", id="english", languages=["en"])))
    assert "it does not support Korean" in filled("model", "use", "english", "--yes").err
    filled("index", "--embed")
    assert filled("search", "port", "--json").json["mode"] == "hybrid"
    korean = filled("search", "숯불", "--json")
    assert (korean.json["mode"], codes(korean)) == ("lexical", ["model_language"])
    assert korean.json["hits"][0]["doc_path"] == "케밥.md"
    assert "does not support Korean" in filled("search", "숯불").err
    by_meaning = filled("search", "숯불", "--mode", "vector", "--json").json
    assert all(hit["retrieval"]["vector_rank"] is None for hit in by_meaning["hits"])


# files that are no good: a small model with the same files as the bundled one, in the data folder


def read_by(model: Path, place: Path) -> Kebab:
    """Three notes whose vectors are made by a model that is given the id `own`."""
    card = model / "model.toml"
    card.write_text(re.sub("^id = .*", 'id = "own"', card.read_text("utf-8"), flags=re.MULTILINE), "utf-8")
    (place / "notes").mkdir()
    for name, text in {"a": "Two listeners collide.", "b": "A value has one owner.", "c": "숯불"}.items():
        (place / "notes" / f"{name}.md").write_text(f"# {name}\n\n{text}\n")
    kebab = Kebab(place / "data", place / "home")
    for argv in (
        ("ingest", str(place / "notes")),
        ("model", "add", str(model)),
        ("model", "use", "own", "--yes"),
        ("index", "--embed"),
    ):
        done = kebab(*argv)
        assert done.code == 0, done.err
    return kebab


@pytest.fixture(scope="module")
def own_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("own")
    read_by(write_with_pieces(place / "model"), place)
    return place


@pytest.fixture
def own(own_model: Path, tmp_path: Path) -> Kebab:
    shutil.copytree(own_model / "data", tmp_path / "data")
    return Kebab(tmp_path / "data", tmp_path / "home")


def harm(folder: Path, how: str) -> None:
    onnx = folder / "model.onnx"
    if how == "truncated":
        os.truncate(onnx, onnx.stat().st_size // 2)
    elif how == "bit flip":
        with open(onnx, "r+b") as file:
            file.seek(onnx.stat().st_size // 2)
            (byte,) = file.read(1)
            file.seek(-1, os.SEEK_CUR)
            file.write(bytes([byte ^ 16]))
    elif how == "pointer":
        onnx.write_text("version https://git-lfs.github.com/spec/v1\n")
    elif how == "no tokenizer":
        (folder / "tokenizer.json").unlink()
    elif how == "no pieces":
        (folder / "pieces.txt").unlink()
    elif how == "gone":
        shutil.rmtree(folder)
    else:
        onnx.unlink()


HARMS = {
    "truncated": "damaged",
    "bit flip": "damaged",
    "pointer": "git lfs pull",
    "missing": "model.onnx is missing",
    "no tokenizer": "tokenizer.json is missing",
    "no pieces": "pieces.txt is missing",
    "gone": "no such model: 'own'",
}


def test_a_copy_of_the_bundled_model_answers_as_it_does(tmp_path: Path) -> None:
    own = read_by(Path(shutil.copytree(BUNDLED, tmp_path / "copy")), tmp_path)
    found = own("search", "sockets fighting", "--vec-only", "-n", "1", "--json").json
    assert "vec-own-384-" in found["index_version"]
    assert found["hits"][0]["doc_path"] == "a.md"


def test_the_small_model_answers_while_it_is_whole(own: Kebab) -> None:
    assert own("search", "port", "--vec-only", "--json").json["total_matches"] == 3
    assert own("doctor").code == 0


@pytest.mark.parametrize("how", HARMS)
def test_an_invalid_model_leaves_search_by_words_and_is_reported(own: Kebab, how: str) -> None:
    harm(own.data / "models" / "own", how)
    done = own("search", "listeners", "--json")
    assert (done.code, done.json["mode"], codes(done)) == (0, "lexical", ["no_model"])
    assert done.json["hits"][0]["doc_path"] == "a.md"
    assert HARMS[how] in own("search", "listeners").err

    refused = own("search", "listeners", "--mode", "vector", "--json")
    assert (refused.code, json.loads(refused.err)["code"]) == (2, "model_invalid")

    assert own("model", "verify").code == 3
    doctor = own("doctor", "--json")
    finding = next(check for check in doctor.json["checks"] if check["check"] == "model")
    assert (doctor.code, finding["level"], HARMS[how] in finding["detail"]) == (3, "problem", True)
    assert f"kebab model use {BUNDLED_MODEL}" in finding["fix"]

    assert own("ingest").code == 0
    assert own("index", "--status").code == 0


def test_what_waits_for_vectors_fails_with_the_reason_but_keeps_the_notes(
    own: Kebab, own_model: Path
) -> None:
    harm(own.data / "models" / "own", "missing")
    new = own_model / "notes" / "new.md"
    new.write_text("# New\n\nzanzibar\n")
    done = own("ingest", "--wait", "--json")
    new.unlink()
    assert done.code == 2
    assert (done.json["added"], done.json["vectors"]) == (1, None)
    assert "model.onnx is missing" in json.loads(done.err.splitlines()[-1])["message"]
    assert own("search", "zanzibar").code == 0


def test_the_doctors_way_out_of_a_broken_model_works(own: Kebab) -> None:
    harm(own.data / "models" / "own", "bit flip")
    assert own("model", "use", BUNDLED_MODEL, "--yes").code == 0
    assert own("index", "--embed").code == 0
    assert own("search", "listeners", "--json").json["mode"] == "hybrid"
    refused = own("model", "use", "own", "--yes")
    assert refused.code == 2
    assert "damaged" in refused.err
