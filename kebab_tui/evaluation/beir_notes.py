"""A BEIR corpus as a folder of notes, so that it is searched exactly as notes are.

One Markdown file for each document, title in the front matter, text as it is. File
names are numbers: ids may hold anything. The folder is written once, under another
name until it is whole, and only taken for whole when every note is still there.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterable, Sequence

from kebab_tui.domain.hit import SearchHit
from kebab_tui.evaluation.beir import BeirDocument

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
