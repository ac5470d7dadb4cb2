"""Reads questions in the BEIR layout, and writes the documents as notes to search.

A BEIR folder has `corpus.jsonl`, `queries.jsonl` and `qrels/SPLIT.tsv`. A missing file, an invalid line and a
judgement of an unknown query or document are errors with file and line. Keys other than `_id`, `title` and
`text` are ignored. A grade of 0 or less means "not relevant"; queries without a relevant document are left
out. Each document becomes a Markdown file with a number as its name, because ids may have any character.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from kebab_tui.domain.errors import UsageError
from kebab_tui.domain.hit import SearchHit
from kebab_tui.evaluation.golden import JudgedQuery, numbered_lines, query_language, refusal

CORPUS, QUERIES, QRELS = "corpus.jsonl", "queries.jsonl", "qrels"
FOLDER_FORMAT = 1
"""Changes with the format of the notes; folders with an old format are not used."""

_NOTES, _IDS = "notes", "documents.json"
_PER_FOLDER = 1_000
_LAYOUT = f"a BEIR folder has {CORPUS}, {QUERIES} and {QRELS}/SPLIT.tsv"
_COLUMNS = "expected query-id, corpus-id and score, separated by tabs"


@dataclass(frozen=True, slots=True)
class BeirDocument:
    id: str
    title: str
    text: str


@dataclass(frozen=True, slots=True)
class BeirSet:
    """`corpus_digest` identifies the documents, `digest` the documents, queries and judgements."""

    folder: str
    name: str
    split: str
    questions: tuple[JudgedQuery, ...]
    unanswerable: int
    """Judged queries without a relevant document."""
    document_count: int
    corpus_digest: str
    digest: str

    def documents(self) -> Iterator[BeirDocument]:
        """The corpus, in its order."""
        return (document for _, document in _numbered_documents(os.path.join(self.folder, CORPUS)))


def read_beir(folder: str, split: str) -> BeirSet:
    """Read and check everything; keep no text of a document."""
    corpus, queries = os.path.join(folder, CORPUS), os.path.join(folder, QUERIES)
    qrels = os.path.join(folder, QRELS, f"{split}.tsv")
    known: dict[str, int] = {}
    for number, document in _numbered_documents(corpus):
        _require_new(corpus, number, document.id, known)
    if not known:
        raise UsageError(f"{corpus}: no documents", _LAYOUT)
    seen: dict[str, int] = {}
    texts: dict[str, str] = {}
    for number, fields in _objects(queries):
        query = _id(queries, number, fields)
        _require_new(queries, number, query, seen)
        texts[query] = _text(queries, number, fields, "text")
    if not seen:
        raise UsageError(f"{queries}: no queries", _LAYOUT)
    hint = _LAYOUT
    with suppress(OSError, ValueError):
        names = sorted(os.listdir(os.path.join(folder, QRELS)))
        if splits := [name.removesuffix(".tsv") for name in names if name.endswith(".tsv")]:
            hint = f"its splits: {', '.join(splits)}"
    judgements = _judgements(qrels, texts, known, hint)
    questions = tuple(
        JudgedQuery(query, texts[query], query_language(texts[query]), relevant)
        for query in texts
        if (relevant := {item: grade for item, grade in judgements.get(query, {}).items() if grade > 0})
    )
    if not questions:
        raise UsageError(f"{qrels}: no query has a relevant document", _COLUMNS)
    return BeirSet(
        folder=folder,
        name=os.path.basename(os.path.abspath(folder)),
        split=split,
        questions=questions,
        unanswerable=len(judgements) - len(questions),
        document_count=len(known),
        corpus_digest=_digest(corpus),
        digest=_digest(corpus, queries, qrels),
    )


def _numbered_documents(path: str) -> Iterator[tuple[int, BeirDocument]]:
    for number, fields in _objects(path):
        title = _text(path, number, fields, "title") if fields.get("title") else ""
        yield number, BeirDocument(_id(path, number, fields), title, _text(path, number, fields, "text"))


def _require_new(path: str, number: int, name: str, seen: dict[str, int]) -> None:
    if name in seen:
        raise refusal(path, number, f"the _id {name!r} is taken by line {seen[name]}")
    seen[name] = number


def _objects(path: str) -> Iterator[tuple[int, dict[str, Any]]]:
    for number, line in numbered_lines(path, _LAYOUT):
        if not line.strip():
            continue
        try:
            fields = json.loads(line)
        except ValueError as error:
            raise refusal(path, number, f"not JSON: {error}") from None
        except RecursionError:
            raise refusal(path, number, "nested too deeply") from None
        if not isinstance(fields, dict):
            raise refusal(path, number, "not a JSON object", 'such as {"_id": "1", "text": "…"}')
        yield number, fields


def _id(path: str, number: int, fields: dict[str, Any]) -> str:
    name = _text(path, number, fields, "_id")
    if not name:
        raise refusal(path, number, "_id is empty")
    return name


def _text(path: str, number: int, fields: dict[str, Any], key: str) -> str:
    if key not in fields:
        raise refusal(path, number, f"the key {key} is missing", f"its keys: {', '.join(fields)}")
    if not isinstance(value := fields[key], str):
        raise refusal(path, number, f"{key}: expected a string")
    return value


def _judgements(
    path: str, queries: Collection[str], documents: Collection[str], hint: str
) -> dict[str, dict[str, int]]:
    judged: dict[str, dict[str, int]] = {}
    for number, line in numbered_lines(path, hint):
        columns = line.split("\t")
        if len(columns) != 3:
            raise refusal(path, number, f"{len(columns)} columns, expected 3", _COLUMNS)
        query, document, score = (column.strip() for column in columns)
        if not judged and number == 1 and _grade(score) is None:
            continue  # the header
        grade = _grade(score)
        if grade is None:
            raise refusal(path, number, f"invalid score: {score!r}; expected an integer", _COLUMNS)
        if query not in queries:
            raise refusal(path, number, f"query-id: {query!r} is not in {QUERIES}")
        if document not in documents:
            raise refusal(path, number, f"corpus-id: {document!r} is not in {CORPUS}")
        if judged.setdefault(query, {}).setdefault(document, grade) != grade:
            raise refusal(path, number, f"{query!r} and {document!r} are judged twice, with different scores")
    if not judged:
        raise UsageError(f"{path}: no judgements", _COLUMNS)
    return judged


def _grade(text: str) -> int | None:
    digits = text.removeprefix("-")
    return int(text) if digits.isascii() and digits.isdecimal() and len(digits) <= 9 else None


def _digest(*paths: str) -> str:
    digest = hashlib.blake2b(digest_size=16)
    for path in paths:
        with open(path, "rb") as file:
            digest.update(hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest()


class CorpusNotes:
    """The written notes and the ids of their documents."""

    def __init__(self, folder: str, ids: Sequence[str]) -> None:
        self.folder = os.path.join(folder, _NOTES)
        self._documents = {_name(number): document for number, document in enumerate(ids)}

    def ranking(self, hits: Sequence[SearchHit]) -> list[str]:
        """The documents of the hits, in the order of their best passages."""
        return list(dict.fromkeys(self._documents[hit.path] for hit in hits))


def corpus_notes(folder: str, documents: Iterable[BeirDocument]) -> CorpusNotes:
    """The notes in `folder`; writes them unless they are complete."""
    if (known := _ids_if_complete(folder)) is not None:
        return CorpusNotes(folder, known)
    unfinished = f"{folder}.{os.getpid()}.unfinished"
    ids = []
    try:
        for number, document in enumerate(documents):
            path = os.path.join(unfinished, _NOTES, _name(number))
            if number % _PER_FOLDER == 0:
                os.makedirs(os.path.dirname(path))
            with open(path, "wb") as file:
                # Always with front matter, or a text that begins with `---` would lose its first lines.
                title = json.dumps(document.title, ensure_ascii=False)
                note = f"---\ntitle: {title}\n---\n{document.text}\n"
                file.write(note.encode("utf-8", "replace"))
            ids.append(document.id)
        with open(os.path.join(unfinished, _IDS), "w", encoding="utf-8") as file:
            json.dump(ids, file)
        if _ids_if_complete(folder) is None:  # another process may have written it
            shutil.rmtree(folder, ignore_errors=True)
            os.rename(unfinished, folder)
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
    return CorpusNotes(folder, ids)


def _ids_if_complete(folder: str) -> list[str] | None:
    """The ids of the documents; None if a note or the list of ids is missing."""
    try:
        with open(os.path.join(folder, _IDS), encoding="utf-8") as file:
            ids: list[str] = json.load(file)
        present = sum(len(names) for _, _, names in os.walk(os.path.join(folder, _NOTES)))
    except (OSError, ValueError):
        return None
    return ids if present == len(ids) else None


def _name(number: int) -> str:
    return f"{number // _PER_FOLDER:04}/{number:07}.md"
