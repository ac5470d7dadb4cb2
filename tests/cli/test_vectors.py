"""Vectors from the command line: made, cancelled, counted, their file lost, damaged, rebuilt."""

from __future__ import annotations

import os
import re
import shutil
import signal
import sqlite3
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kebab_tui.cli.progress import estimated, rate_text
from kebab_tui.domain.text import duration
from kebab_tui.embedding.card import ModelCard, read_card
from kebab_tui.embedding.model_folders import BUNDLED_MODEL, bundled_root
from kebab_tui.indexing import embed
from kebab_tui.indexing.embed import EmbeddingProgress
from kebab_tui.workspace import Workspace
from tests.cli.test_terminal_output import on_a_terminal
from tests.command_line import Done, Kebab

pytestmark = pytest.mark.slow

FILE = "vectors.kebabvec"
STEP = 8


@pytest.fixture
def with_vectors(kebab: Kebab, notes: Path) -> Kebab:
    assert kebab("ingest", "--wait", str(notes)).code == 0
    return kebab


@pytest.fixture
def many(embedded_place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Kebab:
    """A copy of the sample vault's index that has lost every fourth vector; a few are committed at a time."""
    monkeypatch.setattr(embed, "_ROUND", STEP)
    shutil.copytree(embedded_place / "data", tmp_path / "many")
    (tmp_path / "many" / FILE).unlink()
    change(
        tmp_path / "many",
        "DELETE FROM embeddings WHERE hex(text_hash) < '4'",
        "DELETE FROM meta WHERE key LIKE 'complete@%'",  # no revision had all of them
    )
    return Kebab(tmp_path / "many", tmp_path / "home")


def change(data: Path, *statements: str) -> None:
    (data / "kebab.seal").unlink(missing_ok=True)  # it would tell at once
    with sqlite3.connect(data / "kebab.sqlite") as database:
        for statement in statements:
            database.execute(statement)
    database.close()


def vector(kebab: Kebab) -> dict[str, Any]:
    found: dict[str, Any] = kebab("index", "--status", "--json").json["vector"]
    return found


def find_bundled() -> ModelCard:
    return read_card(os.path.join(bundled_root(), BUNDLED_MODEL))


def checks(kebab: Kebab) -> dict[str, tuple[str, str, str]]:
    found = kebab("doctor", "--json").json["checks"]
    return {check["check"]: (check["level"], check["detail"], check["fix"]) for check in found}


def codes(done: Done) -> list[str]:
    return [notice["code"] for notice in done.json["notices"]]


# made


def test_ingest_returns_after_the_words_and_names_what_is_missing(kebab: Kebab, notes: Path) -> None:
    done = kebab("ingest", str(notes))
    assert "3 passages without a vector, found by keyword only; run `kebab index --embed`" in done.err
    assert vector(kebab)["made"] == 0
    report = kebab("ingest", "--json").json
    assert report["vectors"] == {
        "embedded": 0,
        "pending": 3,
        "seconds": 0.0,
        "cancelled": False,
        "not_saved": "",
    }


def test_waiting_for_the_vectors_makes_them(kebab: Kebab, notes: Path) -> None:
    report = kebab("ingest", str(notes), "--wait", "--json").json
    assert (report["vectors"]["embedded"], report["vectors"]["pending"]) == (3, 0)
    done = kebab("search", "sockets fighting", "--vec-only", "-n", "1", "--json")
    assert done.json["hits"][0]["doc_path"] == "port.md"
    again = kebab("ingest", "--wait")
    assert "every passage has its vector" in again.err
    assert (kebab.data / FILE).exists()


def test_embedding_later_is_the_same_as_waiting(kebab: Kebab, notes: Path) -> None:
    kebab("ingest", str(notes))
    done = kebab("index", "--embed")
    assert done.out == "vectors: 3 of 3 passages (100 %)\n"
    assert re.fullmatch(r"3 vectors made in \d+\.\d s \(\d+ a second\)\n", done.err)
    state = vector(kebab)
    assert (state["made"], state["pending"], state["indexed"]) == (3, 0, 3)
    assert state["present"] == state["expected"]
    assert state["file"]["state"] == "current"
    assert kebab("doctor").code == 0


def test_only_what_changed_is_read_again(with_vectors: Kebab, notes: Path) -> None:
    (notes / "port.md").write_text("# Port conflict\n\nThree listeners collide.\n")
    (notes / "케밥.md").rename(notes / "moved.md")
    report = with_vectors("ingest", "--wait", "--json").json
    assert report["vectors"]["embedded"] == 1
    (notes / "port.md").write_text("---\ntags: [ops]\n---\n# Port conflict\n\nTwo listeners collide.\n")
    assert with_vectors("ingest", "--wait", "--json").json["vectors"]["embedded"] == 0, "an undo is free"


def test_a_passage_that_is_new_is_found_by_words_until_it_has_a_vector(
    with_vectors: Kebab, notes: Path
) -> None:
    (notes / "new.md").write_text("# Cloud\n\nzanzibar harbour\n")
    with_vectors("ingest")
    done = with_vectors("search", "zanzibar", "--json")
    assert done.json["hits"][0]["doc_path"] == "new.md"
    assert codes(done) == ["vectors_pending"]
    assert "Semantic search 75 % ready" in with_vectors("search", "zanzibar").err
    assert "3 of 4 passages (75 %), 1 to go" in with_vectors("index", "--status").out


def test_an_estimate_is_given_once_a_run_has_shown_the_rate(many: Kebab) -> None:
    change(many.data, "DELETE FROM runs")
    assert "about" not in many("ingest").err
    run = '{"model": "MODEL", "embedded": 100, "pending": 0, "seconds": 50.0, "cancelled": false}'
    made_by = find_bundled().fingerprint
    change(
        many.data,
        "INSERT INTO runs(kind, started_ns, finished_ns, report) "
        f"VALUES ('embed', 1, 2, '{run.replace('MODEL', made_by)}')",
    )
    assert re.search(r"`kebab index --embed` \(about [23]\d s\)\n", many("ingest").err)


# cancelled


class Cancelling:
    """Presses ctrl+c when the first vectors are safe."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.safe = 0
        embed = Workspace.embed

        def watched(workspace: Workspace, callbacks: Any) -> Any:
            def watch(progress: EmbeddingProgress) -> None:
                callbacks.embedding(progress)
                if progress.done and not self.safe:
                    self.safe = progress.done
                    os.kill(os.getpid(), signal.SIGINT)

            return embed(workspace, replace(callbacks, embedding=watch))

        monkeypatch.setattr(Workspace, "embed", watched)


def test_ctrl_c_stops_at_once_and_keeps_what_was_made(many: Kebab, monkeypatch: pytest.MonkeyPatch) -> None:
    before = vector(many)
    with monkeypatch.context() as patched:
        cancelling = Cancelling(patched)
        done = many("index", "--embed")
    assert done.code == 130
    assert "cancelled" in done.err
    after = vector(many)
    assert 0 < cancelling.safe <= after["made"] - before["made"] <= cancelling.safe + STEP, "and hardly more"
    assert after["pending"] > STEP
    found = many("search", "kernel", "--json")
    assert (found.code, found.json["mode"], codes(found)) == (0, "hybrid", ["vectors_pending"])
    assert checks(many)["vectors"][0] == "warning"
    assert many("index", "--embed").code == 0
    assert vector(many)["pending"] == 0
    runs = many("index", "--status", "--json").json["runs"]
    assert [run["report"]["embedded"] > 0 for run in runs if run["kind"] == "embed"][:2] == [True, True]


def test_a_bar_shows_how_far_it_is_and_leaves(many: Kebab) -> None:
    code, shown = on_a_terminal(many, "index", "--embed")
    assert code == 0
    assert re.search(r"\d+ passages/s, .+ left", shown)
    assert "opening the model" in shown
    assert re.search(r"\d+ vectors made in \d+\.\d s", shown)


@pytest.mark.parametrize(
    ("seconds", "told"),
    [(0.4, "under 1 s"), (1, "1 s"), (119, "119 s"), (150, "2 min"), (7000, "117 min"), (9000, "2.5 h")],
)
def test_an_estimate_is_no_more_exact_than_it_can_be(seconds: float, told: str) -> None:
    assert duration(seconds) == told


def test_the_rate_is_that_of_the_whole_run() -> None:
    assert rate_text(EmbeddingProgress(0, 500, 0.0)) == "opening the model"
    assert rate_text(EmbeddingProgress(100, 500, 20.0)) == "20 passages/s, 20 s left"


# the file


def harm(data: Path, how: str) -> None:
    file = data / FILE
    content = bytearray(file.read_bytes())
    if how == "truncated":
        file.write_bytes(content[: len(content) // 2])
    elif how == "zeroed":
        file.write_bytes(bytes(len(content)))
    elif how == "bit flip":
        content[-5] ^= 4
        file.write_bytes(content)
    elif how == "empty":
        file.write_bytes(b"")
    else:
        file.unlink()


@pytest.mark.parametrize("how", ["truncated", "zeroed", "bit flip", "empty", "gone"])
def test_a_vector_file_that_is_no_good_costs_nothing_but_time(with_vectors: Kebab, how: str) -> None:
    before = with_vectors("search", "listeners", "--format", "jsonl").out
    harm(with_vectors.data, how)
    assert with_vectors("search", "listeners", "--format", "jsonl").out == before
    level, _, fix = checks(with_vectors)["vector file"]
    assert with_vectors("doctor").code == 0
    if how not in ("gone", "empty"):
        assert (level, "--rebuild-vectors" in fix) == ("warning", True)
        assert vector(with_vectors)["file"]["state"] == "unusable"
    assert with_vectors("index", "--rebuild-vectors").out == "vectors: 3 of 3 passages (100 %)\n"
    assert vector(with_vectors)["file"]["state"] == "current"
    assert {level for level, _, _ in checks(with_vectors).values()} == {"ok"}
    assert with_vectors("search", "listeners", "--format", "jsonl").out == before


@pytest.mark.parametrize("blob", ["x'00'", "zeroblob(768)", "zeroblob(769)"])
def test_damaged_vectors_are_found_and_made_anew(with_vectors: Kebab, blob: str) -> None:
    (with_vectors.data / FILE).unlink()
    change(
        with_vectors.data,
        f"UPDATE embeddings SET vector = {blob} WHERE text_hash = (SELECT min(text_hash) FROM embeddings)",
    )
    level, detail, fix = checks(with_vectors)["vector parity"]
    assert (level, "1 are damaged" in detail) == ("problem", True)
    assert with_vectors("doctor").code == 3
    assert with_vectors("search", "listeners").code == 0
    assert "kebab index --rebuild-vectors" in fix
    assert "kebab index --embed" in fix
    assert "dropped" in with_vectors("index", "--rebuild-vectors").err
    with_vectors("index", "--embed")
    assert {level for level, _, _ in checks(with_vectors).values()} == {"ok"}


def test_rebuilding_or_embedding_nothing_makes_no_index(kebab: Kebab) -> None:
    for flag in ("--embed", "--rebuild-vectors"):
        done = kebab("index", flag)
        assert done.code == 2
        assert "kebab ingest FOLDER" in done.err
    assert not kebab.data.exists()


def test_a_vector_file_that_cannot_be_removed_is_reported(
    with_vectors: Kebab, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = with_vectors.data / FILE

    def refuse(path: str) -> None:
        raise PermissionError(1, "Operation not permitted", path)

    monkeypatch.setattr("kebab_tui.vectors.file.discard", refuse)
    done = with_vectors("index", "--rebuild-vectors")
    assert done.code == 2
    assert f"error: cannot remove {file}: " in done.err
    assert with_vectors("search", "listeners", "--vec-only").code == 0


def test_an_estimate_is_no_more_precise_than_it_is() -> None:
    assert [estimated(seconds) for seconds in (0.2, 40, 800)] == ["under 1 s", "about 40 s", "about 13 min"]
