"""A run that was saved is the run that is read; anything else is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kebab_tui.domain.errors import UsageError
from kebab_tui.evaluation.measure import load_run, save_run
from tests.evaluation.runs_made import a_run

RUN = a_run(lexical={"포트": 1, "port": None}, hybrid={"포트": 2, "port": 3})


def test_what_is_saved_is_what_is_read(tmp_path: Path) -> None:
    save_run(RUN, str(tmp_path / "run.json"))
    assert load_run(str(tmp_path / "run.json")) == RUN


def test_the_same_run_gives_the_same_bytes(tmp_path: Path) -> None:
    for name in ("a", "b"):
        save_run(RUN, str(tmp_path / name))
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b"]


@pytest.mark.parametrize("name", [".", "none/run.json", "nul\0"])
def test_a_path_that_cannot_be_written_is_an_error(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError, match="cannot write"):
        save_run(RUN, str(tmp_path / name))
    assert list(tmp_path.iterdir()) == []


def test_what_is_interrupted_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    (tmp_path / "run.json").write_text("old")
    monkeypatch.setattr("os.replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        save_run(RUN, str(tmp_path / "run.json"))
    assert [path.name for path in tmp_path.iterdir()] == ["run.json"]
    assert (tmp_path / "run.json").read_text() == "old"


def change(run: Any, path: str, value: Any) -> None:
    *way, last = path.split("/")
    for step in way:
        run = run[int(step)] if isinstance(run, list) else run[step]
    run[last] = value


WRONG = [
    ("schema_version", "eval_run.v2", "schema_version"),
    ("colour", "red", "colour"),
    ("set/kind", "trec", "set.kind"),
    ("modes", {}, "modes"),
    ("modes/magic", {}, "magic"),
    ("modes/lexical/answers", [], "modes[...].answers"),
    ("modes/lexical/answers/0/metrics/ndcg@10", 1.5, "metrics"),
    ("modes/lexical/answers/0/metrics/ndcg@10", "high", "metrics"),
    ("modes/lexical/answers/0/metrics", {"ndcg@10": 1.0}, "different metrics"),
    ("modes/lexical/answers/0/ranked", "a", "ranked"),
    ("modes/lexical/answers/0/id", "id-port", "answers a query twice"),
]


@pytest.mark.parametrize(("path", "value", "what"), WRONG)
def test_a_file_that_is_no_run_is_refused_with_its_key(
    tmp_path: Path, path: str, value: Any, what: str
) -> None:
    file = tmp_path / "run.json"
    save_run(RUN, str(file))
    run = json.loads(file.read_text())
    change(run, path, value)
    file.write_text(json.dumps(run))
    with pytest.raises(UsageError) as refused:
        load_run(str(file))
    assert refused.value.message.startswith(f"{file}: not a saved run")
    assert what in refused.value.message


@pytest.mark.parametrize(
    ("data", "what"),
    [(b"", ":1: not JSON"), (b'{\n"a": oops}', ":2: not JSON"), (b"[1]", ": not a saved run"),
     (b"\xff", ":1: not UTF-8"), (b"[" * 100_000, ": nested too deeply")],
)  # fmt: skip
def test_what_is_not_even_json_is_refused(tmp_path: Path, data: bytes, what: str) -> None:
    file = tmp_path / "run.json"
    file.write_bytes(data)
    with pytest.raises(UsageError) as refused:
        load_run(str(file))
    assert refused.value.message.startswith(f"{file}{what}")
