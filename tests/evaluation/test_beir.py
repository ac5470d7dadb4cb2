"""A BEIR folder is read as it is, or refused with file and line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kebab_tui.domain.errors import UsageError
from kebab_tui.evaluation.beir import read_beir

CORPUS = [
    {"_id": "a", "title": "Port", "text": "Two listeners collide.", "metadata": {"x": 1}},
    {"_id": "b", "title": "", "text": "포트 충돌"},
    {"_id": "c/../d", "title": None, "text": ""},
]
QUERIES = [
    {"_id": "q1", "text": "why do they collide?"},
    {"_id": "q2", "text": "포트"},
    {"_id": "q3", "text": "nothing good"},
    {"_id": "q4", "text": "not judged"},
]
QRELS = "query-id\tcorpus-id\tscore\nq1\ta\t2\nq1\tb\t0\nq2\tb\t1\nq3\ta\t-1\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    beir = tmp_path / "small"
    (beir / "qrels").mkdir(parents=True)
    (beir / "corpus.jsonl").write_text("\n".join(map(json.dumps, CORPUS)))
    (beir / "queries.jsonl").write_text("".join(json.dumps(query) + "\n" for query in QUERIES))
    (beir / "qrels/test.tsv").write_text(QRELS)
    return beir


def test_questions_have_their_judgements_and_languages(folder: Path) -> None:
    found = read_beir(str(folder), "test")
    assert [(q.id, q.text, q.lang, q.relevant) for q in found.questions] == [
        ("q1", "why do they collide?", "en", {"a": 2}),
        ("q2", "포트", "ko", {"b": 1}),
    ]
    assert (found.name, found.split, found.document_count, found.unanswerable) == ("small", "test", 3, 1)
    assert [(d.id, d.title, d.text) for d in found.documents()] == [
        ("a", "Port", "Two listeners collide."),
        ("b", "", "포트 충돌"),
        ("c/../d", "", ""),
    ]


def test_a_file_of_judgements_may_begin_without_column_names(folder: Path) -> None:
    (folder / "qrels/test.tsv").write_text("q1\ta\t1\r\n\r\n")
    assert [question.id for question in read_beir(str(folder), "test").questions] == ["q1"]


def test_other_judgements_are_another_set_of_the_same_corpus(folder: Path) -> None:
    (folder / "qrels/dev.tsv").write_text("q1\ta\t1\n")
    test, dev = read_beir(str(folder), "test"), read_beir(str(folder), "dev")
    assert test.corpus_digest == dev.corpus_digest
    assert test.digest != dev.digest


@pytest.mark.parametrize("missing", ["corpus.jsonl", "queries.jsonl", "qrels/test.tsv"])
def test_a_missing_part_is_named(folder: Path, missing: str) -> None:
    (folder / missing).unlink()
    with pytest.raises(UsageError, match=f"cannot read .*{missing}: No such file"):
        read_beir(str(folder), "test")


def test_a_split_that_is_not_there_is_answered_with_those_that_are(folder: Path) -> None:
    with pytest.raises(UsageError) as refused:
        read_beir(str(folder), "dev")
    assert refused.value.hint == "its splits: test"


def line(**fields: object) -> str:
    return json.dumps(fields) + "\n"


WRONG = [
    ("corpus.jsonl", "", ": no documents"),
    ("corpus.jsonl", line(_id="a", text="x") + "{oops\n", ":2: not JSON"),
    ("corpus.jsonl", "[" * 100_000, ":1: n"),
    ("corpus.jsonl", line(_id="a", text="x") + "\n[1]\n", ":3: not a JSON object"),
    ("corpus.jsonl", line(id="a", text="x"), ":1: the key _id is missing"),
    ("corpus.jsonl", line(_id=1, text="x"), ":1: _id: expected a string"),
    ("corpus.jsonl", line(_id="", text="x"), ":1: _id is empty"),
    ("corpus.jsonl", line(_id="a", texts="x"), ":1: the key text is missing"),
    ("corpus.jsonl", line(_id="a", text=["x"]), ":1: text: expected a string"),
    ("corpus.jsonl", line(_id="a", text="x", title=3), ":1: title: expected a string"),
    ("corpus.jsonl", line(_id="a", text="x") + line(_id="a", text="y"), ":2: the _id 'a' is taken by line 1"),
    ("queries.jsonl", "\n", ": no queries"),
    ("queries.jsonl", line(_id="q1", text="x") * 2, ":2: the _id 'q1' is taken by line 1"),
    ("qrels/test.tsv", "", ": no judgements"),
    ("qrels/test.tsv", "query-id\tcorpus-id\tscore\n", ": no judgements"),
    ("qrels/test.tsv", "q1\ta\t1\nq1 a 1\n", ":2: 1 columns, expected 3"),
    ("qrels/test.tsv", "q1\t0\ta\t1\n", ":1: 4 columns, expected 3"),
    ("qrels/test.tsv", "q1\ta\t1\nq1\tb\t1.5\n", ":2: invalid score: '1.5'"),
    ("qrels/test.tsv", "q1\ta\t1\nq9\ta\t1\n", ":2: query-id: 'q9' is not in queries.jsonl"),
    ("qrels/test.tsv", "q1\ta\t1\nq1\tz\t1\n", ":2: corpus-id: 'z' is not in corpus.jsonl"),
    ("qrels/test.tsv", "q1\ta\t1\nq1\ta\t2\n", ":2: 'q1' and 'a' are judged twice"),
    ("qrels/test.tsv", "q1\ta\t0\n", ": no query has a relevant document"),
]


@pytest.mark.parametrize(("file", "text", "what"), WRONG)
def test_an_invalid_line_is_refused_with_file_and_line(folder: Path, file: str, text: str, what: str) -> None:
    (folder / file).write_text(text)
    with pytest.raises(UsageError) as refused:
        read_beir(str(folder), "test")
    assert refused.value.message.startswith(f"{folder / file}{what}")


@pytest.mark.parametrize("file", ["corpus.jsonl", "queries.jsonl", "qrels/test.tsv"])
def test_bytes_that_are_no_text_are_refused_with_their_line(folder: Path, file: str) -> None:
    whole = (folder / file).read_bytes().rstrip(b"\n")
    (folder / file).write_bytes(whole + b"\n\xff\n")
    with pytest.raises(UsageError, match=rf"{file}:{whole.count(10) + 2}: not UTF-8 text"):
        read_beir(str(folder), "test")
