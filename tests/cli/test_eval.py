"""`kebab eval` on the sample vault and on a small BEIR folder, as a user and as a script see it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.test_terminal_output import on_a_terminal
from tests.command_line import ROOT, Kebab
from tests.wire.test_schemas import check

pytestmark = pytest.mark.slow

GOLDEN = str(ROOT / "fixtures/golden.yaml")
LEXICAL = ("--modes", "lexical")


@pytest.fixture
def beir(tmp_path: Path) -> Path:
    folder = tmp_path / "kitchen"
    (folder / "qrels").mkdir(parents=True)
    documents = {
        "rice": "밥을 짓는 법, 물과 불",
        "bread": "Bread needs a starter.",
        "tea": "Tea: water, leaves.",
    }
    queries = {"k": "밥 짓기", "e": "starter for bread?", "m": "'AND('"}
    write_lines(folder / "corpus.jsonl", [{"_id": i, "title": "", "text": t} for i, t in documents.items()])
    write_lines(folder / "queries.jsonl", [{"_id": i, "text": text} for i, text in queries.items()])
    head = "query-id\tcorpus-id\tscore\n"
    (folder / "qrels/test.tsv").write_text(f"{head}k\trice\t1\ne\tbread\t2\ne\ttea\t1\nm\ttea\t1\n")
    (folder / "qrels/some.tsv").write_text(f"{head}k\ttea\t1\n")
    return folder


def write_lines(path: Path, values: list[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(value, ensure_ascii=False) + "\n" for value in values))


def report(kebab: Kebab, *argv: str) -> Any:
    done = kebab("eval", *argv, "--json")
    assert done.code == 0, done.err
    check(done.json, "eval_report.v1")
    return done.json


# golden queries


def test_the_golden_queries_are_found_where_they_should_be(indexed: Kebab) -> None:
    found = report(indexed, GOLDEN, *LEXICAL)
    assert found["set"]["kind"] == "golden"
    assert found["set"]["documents"] > 60
    by_probe = found["modes"]["lexical"]["by_probe"]
    # Words alone do not know meaning.
    assert {probe for probe, part in by_probe.items() if part["hit@5"] < 1} == {"semantic"}
    assert set(found["modes"]["lexical"]["by_lang"]) == {"ko", "en", "mixed"}


def test_the_same_question_gets_the_same_report(indexed: Kebab) -> None:
    argv = ("eval", GOLDEN, *LEXICAL, "--limit", "15", "--json")
    assert indexed(*argv).out == indexed(*argv).out


def test_a_pipe_gets_one_line_for_each_group_and_metric(indexed: Kebab) -> None:
    done = indexed("eval", GOLDEN, *LEXICAL, "--limit", "15")
    assert done.lines[0].startswith("golden.yaml: ")
    assert done.lines[1].split() == ["queries", "n", "metric", "lexical", "95", "%"]
    assert [line.split()[2] for line in done.lines if line.startswith("all ")][:2] == ["ndcg@10", "recall@10"]
    assert "asked" in done.err
    assert "\x1b" not in done.out


def test_a_terminal_gets_bars(indexed: Kebab) -> None:
    code, shown = on_a_terminal(
        indexed, "eval", GOLDEN, *LEXICAL, "--limit", "9", NO_COLOR="1", COLUMNS="100"
    )
    assert code == 0
    assert "█" in shown
    assert "all (" in shown


def test_a_note_that_is_not_there_is_refused_with_its_line(indexed: Kebab, tmp_path: Path) -> None:
    file = tmp_path / "golden.yaml"
    file.write_text("- id: a\n  query: docker\n  expect:\n    - note: infra/dokcer.md\n")
    done = indexed("eval", str(file))
    assert done.code == 2
    assert f"{file}:4: note: infra/dokcer.md is not in the index" in done.err
    assert "did you mean infra/docker.md?" in done.err


def test_a_query_with_a_bad_filter_is_refused_by_its_name(indexed: Kebab, tmp_path: Path) -> None:
    file = tmp_path / "golden.yaml"
    file.write_text("- id: recent\n  query: rust after:lastweek\n  expect: [{note: dev/git-cheatsheet.md}]\n")
    done = indexed("eval", str(file))
    assert (done.code, done.out) == (2, "")
    assert "golden.yaml: recent: invalid after:lastweek;" in done.err
    assert "did you mean after:7d?" in done.err


def test_a_heading_that_is_not_there_is_refused_with_its_line(indexed: Kebab, tmp_path: Path) -> None:
    file = tmp_path / "golden.yaml"
    expect = "    - note: infra/포트-충돌.md\n      heading: 포트 충돌 > 예반\n"
    file.write_text(f"- id: a\n  query: docker\n  expect:\n{expect}")
    done = indexed("eval", str(file), "--json")
    told = json.loads(done.err)
    check(told, "error.v1")
    assert told["message"].startswith(f"{file}:5: heading: ")
    assert told["hint"] == "did you mean 포트 충돌 > 예방?"


def test_without_an_index_it_says_what_to_do(kebab: Kebab) -> None:
    done = kebab("eval", GOLDEN)
    assert done.code == 2
    assert "kebab ingest" in done.err


# a BEIR folder


def test_a_beir_folder_is_measured_on_its_own_documents(kebab: Kebab, beir: Path) -> None:
    found = report(kebab, "--beir", str(beir), *LEXICAL)
    assert (found["set"]["name"], found["set"]["split"], found["set"]["documents"]) == ("kitchen", "test", 3)
    lexical = found["modes"]["lexical"]
    assert lexical["by_lang"]["ko"]["hit@1"] == 1.0
    assert lexical["by_lang"]["en"]["queries"] == 2
    assert [notice["code"] for notice in found["notices"]] == ["query_refused"]
    assert not kebab("source", "list", "--json").json["items"]


def test_another_split_asks_the_same_index_and_reads_nothing_anew(kebab: Kebab, beir: Path) -> None:
    assert "indexed" in kebab("eval", "--beir", str(beir), *LEXICAL).err
    again = kebab("eval", "--beir", str(beir), "--split", "some", *LEXICAL)
    assert "indexed" not in again.err
    assert "kitchen (some): 1 queries" in again.out


def test_declared_sources_stay_out_of_the_corpus(kebab: Kebab, beir: Path, notes: Path) -> None:
    config = beir.parent / "config.toml"
    config.write_text(f'[[sources]]\npath = "{notes}"\n')
    found = report(kebab, "--config", str(config), "--beir", str(beir), *LEXICAL)
    assert found["set"]["documents"] == 3
    assert not list(kebab.data.glob("kebab.sqlite"))


def test_only_the_first_queries_are_asked_with_a_limit(kebab: Kebab, beir: Path) -> None:
    assert report(kebab, "--beir", str(beir), "--limit", "1", *LEXICAL)["modes"]["lexical"]["queries"] == 1


def test_a_data_folder_that_is_a_file_is_an_error(kebab: Kebab, beir: Path) -> None:
    kebab.data.parent.mkdir(exist_ok=True)
    kebab.data.write_text("a file")
    done = kebab("eval", "--beir", str(beir), *LEXICAL)
    assert done.code == 2
    assert "the data folder is a file" in done.err


# saved runs


def test_a_saved_run_is_compared_with_the_present(kebab: Kebab, beir: Path, tmp_path: Path) -> None:
    run = str(tmp_path / "run.json")
    report(kebab, "--beir", str(beir), *LEXICAL, "--save", run)
    corpus = (beir / "corpus.jsonl").read_text()
    (beir / "corpus.jsonl").write_text(corpus.replace("starter", "rest").replace("Bread", "It"))
    comparison = report(kebab, "--beir", str(beir), *LEXICAL, "--compare", run)["comparison"]
    assert comparison["same_set"] is False
    found = comparison["modes"]["lexical"]
    assert (found["queries"][0]["id"], found["queries"][0]["outcome"]) == ("e", "regression")
    assert found["counts"] == {"regression": 1, "loss": 0, "win": 0, "draw": 2}


@pytest.mark.parametrize("spelling", ["--compare {a} {b}", "--compare {a} --compare {b}"])
def test_two_saved_runs_are_compared_without_asking_anybody(
    kebab: Kebab, beir: Path, tmp_path: Path, spelling: str
) -> None:
    a, b = str(tmp_path / "a.json"), str(tmp_path / "b.json")
    for run in (a, b):
        report(kebab, "--beir", str(beir), *LEXICAL, "--save", run)
    done = kebab("eval", *spelling.format(a=a, b=b).split())
    assert done.code == 0
    assert "lexical: 0 regression, 0 loss, 0 win, 3 draw" in done.out
    assert "asked" not in done.err


WRONG = [
    ("", "no questions"),
    ("{golden} --beir {beir}", "more than one set of questions"),
    ("{golden} {golden}", "more than one set of questions"),
    ("{golden} --split test", "--split needs --beir"),
    ("{golden} --modes lexical,fuzzy", "invalid mode 'fuzzy'; expected lexical"),
    ("{golden} --modes ,", "invalid mode ''; expected lexical"),
    ("{golden} --k 5", "range"),
    ("{golden} --limit 0", "range"),
    ("{beir}/none.yaml", "cannot read"),
    ("--beir {beir}/none", "cannot read"),
    ("--beir {beir} --split dev", "its splits: some, test"),
    ("--compare {beir}/none.json {golden}", "cannot read"),
    ("--compare a --compare b --compare c", "more than two runs"),
    ("--compare a --compare b {golden}", "two saved runs and a set of questions"),
    ("--compare {beir}/corpus.jsonl {golden}", "not JSON"),
    ("{golden} --modes lexical --save {beir}", "cannot write"),
]


@pytest.mark.parametrize(("argv", "what"), WRONG)
def test_what_makes_no_sense_is_refused(indexed: Kebab, beir: Path, argv: str, what: str) -> None:
    done = indexed("eval", *argv.format(golden=GOLDEN, beir=beir).split())
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("error: ") or "\nerror: " in done.err
    assert what in done.err
    assert "internal error" not in done.err
