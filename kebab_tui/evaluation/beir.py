"""Reads a set of questions in the BEIR layout: `corpus.jsonl`, `queries.jsonl`, `qrels/SPLIT.tsv`.

Strict: a missing part, a line that is not what it should be, a judgement of something
that is not there are refused with file and line. Keys beyond `_id`, `title` and `text`
are nobody's business here. Judgements of 0 or less say "not relevant"; a query without
a relevant document cannot be answered well or badly and is left out.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from kebab_tui.domain.errors import UsageError
from kebab_tui.domain.hit import SearchHit
from kebab_tui.evaluation.golden import JudgedQuery, numbered_lines, query_language, refusal

CORPUS, QUERIES, QRELS = "corpus.jsonl", "queries.jsonl", "qrels"
_LAYOUT = f"a BEIR folder holds {CORPUS}, {QUERIES} and {QRELS}/SPLIT.tsv"
_COLUMNS = "a line holds query-id, corpus-id and score, with tabs between them"


@dataclass(frozen=True, slots=True)
class BeirDocument:
    id: str
    title: str
    text: str


@dataclass(frozen=True, slots=True)
class BeirSet:
    """`corpus_digest` stands for the documents, `digest` for them and all that is asked of them."""

    folder: str
    name: str
    split: str
    questions: tuple[JudgedQuery, ...]
    unanswerable: int
    """Queries of the split that were judged, but without a relevant document."""
    document_count: int
    corpus_digest: str
    digest: str

    def documents(self) -> Iterator[BeirDocument]:
        """The corpus, in its order."""
        return _documents(os.path.join(self.folder, CORPUS))


def read_beir(folder: str, split: str) -> BeirSet:
    """Everything but the documents' texts, checked."""
    corpus, queries = os.path.join(folder, CORPUS), os.path.join(folder, QUERIES)
    qrels = os.path.join(folder, QRELS, f"{split}.tsv")
    known = _unique(corpus, ((number, document.id) for number, document in _numbered_documents(corpus)))
    texts = dict(_query_texts(queries))
    judgements = _judgements(qrels, texts, known, _splits_hint(folder))
    questions = tuple(
        JudgedQuery(query, texts[query], query_language(texts[query]), relevant)
        for query in texts
        if (relevant := {item: grade for item, grade in judgements.get(query, {}).items() if grade > 0})
    )
    if not questions:
        raise UsageError(f"{qrels}: no query has a relevant document", _COLUMNS)
    digest = _digest(corpus)
    return BeirSet(
        folder=folder,
        name=os.path.basename(os.path.abspath(folder)),
        split=split,
        questions=questions,
        unanswerable=len(judgements) - len(questions),
        document_count=len(known),
        corpus_digest=digest,
        digest=_digest(corpus, queries, qrels),
    )


def _documents(path: str) -> Iterator[BeirDocument]:
    return (document for _, document in _numbered_documents(path))


def _numbered_documents(path: str) -> Iterator[tuple[int, BeirDocument]]:
    for number, fields in _objects(path):
        title = _text(path, number, fields, "title") if fields.get("title") else ""
        yield number, BeirDocument(_id(path, number, fields), title, _text(path, number, fields, "text"))


def _query_texts(path: str) -> Iterator[tuple[str, str]]:
    seen: dict[str, int] = {}
    for number, fields in _objects(path):
        query = _id(path, number, fields)
        _once(path, number, query, seen)
        yield query, _text(path, number, fields, "text")
    if not seen:
        raise UsageError(f"{path}: there is no query in it", _LAYOUT)


def _unique(path: str, found: Iterator[tuple[int, str]]) -> Collection[str]:
    seen: dict[str, int] = {}
    for number, name in found:
        _once(path, number, name, seen)
    if not seen:
        raise UsageError(f"{path}: there is no document in it", _LAYOUT)
    return seen


def _once(path: str, number: int, name: str, seen: dict[str, int]) -> None:
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
        raise refusal(path, number, "_id: it is empty")
    return name


def _text(path: str, number: int, fields: dict[str, Any], key: str) -> str:
    if key not in fields:
        raise refusal(path, number, f"the key {key} is missing", f"its keys: {', '.join(fields)}")
    if not isinstance(value := fields[key], str):
        raise refusal(path, number, f"{key}: a text is wanted here")
    return value


def _judgements(
    path: str, queries: Collection[str], documents: Collection[str], hint: str
) -> dict[str, dict[str, int]]:
    judged: dict[str, dict[str, int]] = {}
    for number, line in numbered_lines(path, hint):
        columns = line.split("\t")
        if len(columns) != 3:
            raise refusal(path, number, f"{len(columns)} columns instead of 3", _COLUMNS)
        query, document, score = (column.strip() for column in columns)
        if not judged and number == 1 and _grade(score) is None:
            continue  # the line of column names
        grade = _grade(score)
        if grade is None:
            raise refusal(path, number, f"score: {score!r} is not a whole number", _COLUMNS)
        if query not in queries:
            raise refusal(path, number, f"query-id: {query!r} is not in {QUERIES}")
        if document not in documents:
            raise refusal(path, number, f"corpus-id: {document!r} is not in {CORPUS}")
        if judged.setdefault(query, {}).setdefault(document, grade) != grade:
            raise refusal(path, number, f"{query!r} and {document!r} are judged twice, and differently")
    if not judged:
        raise UsageError(f"{path}: there is no judgement in it", _COLUMNS)
    return judged


def _grade(text: str) -> int | None:
    digits = text.removeprefix("-")
    return int(text) if digits.isascii() and digits.isdecimal() and len(digits) <= 9 else None


def _splits_hint(folder: str) -> str:
    try:
        names = sorted(os.listdir(os.path.join(folder, QRELS)))
    except (OSError, ValueError):
        return _LAYOUT
    splits = [name.removesuffix(".tsv") for name in names if name.endswith(".tsv")]
    return f"its splits: {', '.join(splits)}" if splits else _LAYOUT


def _digest(*paths: str) -> str:
    digest = hashlib.blake2b(digest_size=16)
    for path in paths:
        with open(path, "rb") as file:
            digest.update(hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest()


# A BEIR corpus as a folder of notes, so that it is searched exactly as notes are.
#
# One Markdown file for each document, title in the front matter, text as it is. File
# names are numbers: ids may hold anything. The folder is written once, under another
# name until it is whole, and only taken for whole when every note is still there.

FOLDER_FORMAT = 1
"""Raised when notes are written in another way: folders of the old one are then left alone."""

_NOTES, _IDS = "notes", "documents.json"
_PER_FOLDER = 1_000


class CorpusNotes:
    """The written notes, and which document each of them is."""

    def __init__(self, folder: str, ids: Sequence[str]) -> None:
        self.folder = os.path.join(folder, _NOTES)
        self._documents = {_name(number): document for number, document in enumerate(ids)}

    def ranking(self, hits: Sequence[SearchHit]) -> list[str]:
        """The documents of the hits; each stands where its best passage does."""
        return list(dict.fromkeys(self._documents[hit.path] for hit in hits))


def corpus_notes(folder: str, documents: Iterable[BeirDocument]) -> CorpusNotes:
    """The notes in `folder`, written first where they are not there yet."""
    ids = _ids_of_whole(folder)
    if ids is None:
        ids = _write(folder, documents)
    return CorpusNotes(folder, ids)


def _ids_of_whole(folder: str) -> list[str] | None:
    """The ids of a folder to which nothing has happened; None for any other."""
    try:
        with open(os.path.join(folder, _IDS), encoding="utf-8") as file:
            ids: list[str] = json.load(file)
        present = sum(len(names) for _, _, names in os.walk(os.path.join(folder, _NOTES)))
    except (OSError, ValueError):
        return None
    return ids if present == len(ids) else None


def _write(folder: str, documents: Iterable[BeirDocument]) -> list[str]:
    unfinished = f"{folder}.{os.getpid()}.unfinished"
    ids = []
    try:
        for number, document in enumerate(documents):
            path = os.path.join(unfinished, _NOTES, _name(number))
            if number % _PER_FOLDER == 0:
                os.makedirs(os.path.dirname(path))
            with open(path, "wb") as file:
                file.write(_note(document))
            ids.append(document.id)
        with open(os.path.join(unfinished, _IDS), "w", encoding="utf-8") as file:
            json.dump(ids, file)
        if _ids_of_whole(folder) is None:  # another evaluation may have been faster
            shutil.rmtree(folder, ignore_errors=True)
            os.rename(unfinished, folder)
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
    return ids


def _name(number: int) -> str:
    return f"{number // _PER_FOLDER:04}/{number:07}.md"


def _note(document: BeirDocument) -> bytes:
    """Front matter always, or a text that begins with `---` would lose its head."""
    title = json.dumps(document.title, ensure_ascii=False)
    return f"---\ntitle: {title}\n---\n{document.text}\n".encode("utf-8", "replace")
