"""Damages one file of a sound index, asks, lets the next run mend what it can, and asks again.

Every answer is compared with that of the sound index: the same rows, the same scores, the
same lines. An answer that differs without a word is the one thing that must not be.
"""

from __future__ import annotations

import os
import random
import shutil
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from kebab_tui.domain.errors import KebabError
from kebab_tui.domain.query import SearchMode, SearchQuery
from kebab_tui.storage.lock import DataFolder
from kebab_tui.workspace import Callbacks, Workspace
from tests.command_line import Kebab
from tests.torture.damage import DATABASE, LOG, VECTORS, Damage
from tests.torture.edits import Editor
from tests.torture.meaning import ASKED
from tests.torture.models import OTHER, TINY, write_models
from tests.torture.scenes import fold_log_in
from tests.torture.victim import SETTINGS

_MODES: tuple[SearchMode, ...] = ("lexical", "hybrid")
_NOTES = 12
_EVERYTHING = (
    "SELECT d.path, d.content_hash, c.ordinal, c.line_first, c.line_last, c.heading_path, c.text, c.title, "
    "e.vector FROM documents d LEFT JOIN chunks c USING (doc_id) "
    "LEFT JOIN embeddings e ON e.text_hash = c.embed_hash AND e.model = ? ORDER BY d.raw_path, c.ordinal"
)
_TEXT = 6
COUNTED = ("tries", "same", "said", "earlier", "untrue", "mended", "told", "left")
_SAME, _EARLIER, _UNTRUE = "the same", "an earlier one", "untrue"


class _Hit(NamedTuple):
    score: float
    citation: str
    text: str
    stale: bool


Answers = list[tuple[tuple[str, ...], list[_Hit]]]


@dataclass(slots=True)
class Outcome:
    """Counted over the tries of one damage.

    The first search gave the `same` answer; another one or none, and `said` so; a true one of
    the notes as they were a little `earlier`, as if the last of them were not indexed yet; or
    an `untrue` one, without a word. The next run `mended` it by itself, or it is `told` what
    to do, or the damage is `left` without a word.
    """

    tries: int = 0
    same: int = 0
    said: int = 0
    earlier: int = 0
    untrue: int = 0
    mended: int = 0
    told: int = 0
    left: int = 0
    complaints: list[str] = field(default_factory=list)

    def figures(self) -> tuple[int, ...]:
        return tuple(getattr(self, name) for name in COUNTED)

    def take(self, other: Outcome) -> None:
        for name in COUNTED:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.complaints += other.complaints


@dataclass(frozen=True, slots=True)
class Sound:
    """An index without damage, to be copied, and what it answers."""

    notes: str
    data: str
    fingerprint: str
    most: int
    answers: Answers
    revision: int
    rows: list[tuple[object, ...]]


def sound_index(place: str, most: int) -> Sound:
    """Besides the index itself, files that may come to stand in the place of others.

    `most`: so many hits of each answer are compared.
    """
    notes, data = os.path.join(place, "notes"), os.path.join(place, "data")
    os.mkdir(notes)
    editor = Editor(notes, 1)
    editor.fill(_NOTES)
    write_models(data)
    _index(notes, data, OTHER)
    _keep(data, VECTORS, "other-model.kebabvec")
    _index(notes, data, TINY)
    fold_log_in(data)
    _keep(data, DATABASE, "older.sqlite")
    _strange_vectors(place, data)
    workspace = Workspace(SETTINGS, data)
    reader = sqlite3.connect(os.path.join(data, DATABASE))
    reader.execute("BEGIN")  # keeps the log from being folded in
    reader.execute("SELECT count(*) FROM chunks").fetchone()
    editor.change()
    for _ in range(2):
        editor._add()
        workspace.ingest([notes], Callbacks())
        workspace.embed(Callbacks())
    workspace.close()
    newer = os.path.join(place, "sound")
    _copy(data, newer)
    reader.close()
    _keep(newer, VECTORS, "newer.kebabvec")
    workspace = Workspace(SETTINGS, newer)
    fingerprint = workspace._parts.semantics.card().fingerprint
    rows = _rows(newer, fingerprint)
    found = Sound(notes, newer, fingerprint, most, answers(workspace, most), workspace.revision(), rows)
    workspace.close()
    return found


def _index(notes: str, data: str, model: str) -> None:
    workspace = Workspace(SETTINGS, data)
    workspace.ingest([notes], Callbacks())
    workspace.use_model(model, Callbacks())
    workspace.embed(Callbacks())
    workspace.close()


def _strange_vectors(place: str, data: str) -> None:
    """The vectors' file of another index that has come as far."""
    other, notes = os.path.join(place, "other"), os.path.join(place, "other-notes")
    os.mkdir(notes)
    Editor(notes, 2).fill(_NOTES)
    write_models(other)
    _index(notes, other, OTHER)
    _index(notes, other, TINY)
    shutil.copyfile(os.path.join(other, VECTORS), os.path.join(data, "other-index.kebabvec"))


def _keep(data: str, name: str, copy: str) -> None:
    shutil.copyfile(os.path.join(data, name), os.path.join(data, copy))


def _copy(data: str, target: str) -> None:
    shutil.copytree(data, target, ignore=shutil.ignore_patterns("*-shm"))


_Judge = Callable[[Sound, str, Outcome], str]


def try_damage(sound: Sound, damage: Damage, place: str, seed: int) -> Outcome:
    outcome = Outcome()
    for turn in range(damage.tries):
        data = os.path.join(place, f"try-{turn}-{damage.file.replace('/', '-')}-{damage.name}")
        _copy(sound.data, data)
        _prepare(data, damage)
        damage.harm(
            os.path.join(data, damage.file), random.Random(f"{seed} {turn} {damage.file} {damage.name}")
        )
        outcome.tries += 1
        for judged in (_judge_first_answer, _judge_next_run):
            if complaint := _complaint(judged, sound, data, outcome):
                outcome.complaints.append(f"try {turn}: {complaint}")
        shutil.rmtree(data)
    return outcome


def _complaint(
    judged: Callable[[Sound, str, Outcome], str], sound: Sound, data: str, outcome: Outcome
) -> str:
    try:
        return judged(sound, data, outcome)
    except Exception as error:  # noqa: BLE001 - every error that is not one of ours is a finding
        return f"{type(error).__name__}: {error}"


def _prepare(data: str, damage: Damage) -> None:
    if damage.file not in (LOG, *os.listdir(data)) and "/" not in damage.file:
        Path(data, damage.file).write_bytes(b"")
    if damage.file == DATABASE and os.path.exists(os.path.join(data, LOG)):
        fold_log_in(data)


def _judge_first_answer(sound: Sound, data: str, outcome: Outcome) -> str:
    verdict = _compared(sound, data)
    if verdict == _SAME:
        outcome.same += 1
    elif verdict == _EARLIER:
        outcome.earlier += 1
    elif verdict == _UNTRUE:
        outcome.untrue += 1
        return "an untrue answer without a word"
    else:
        outcome.said += 1
    return ""


def _judge_next_run(sound: Sound, data: str, outcome: Outcome) -> str:
    """What everybody does anyway is all that may be needed."""
    done = Kebab(Path(data), Path(data))("ingest", "--wait", sound.notes)
    verdict = _compared(sound, data)
    if done.code == 0 and verdict == _SAME and _is_whole(sound, data):
        outcome.mended += 1
    elif done.code or verdict not in (_SAME, _EARLIER, _UNTRUE):
        outcome.told += 1
        if not done.err.strip():
            return "nobody says what to do"
    else:
        outcome.left += 1
        return f"left after the next run; the answer is {verdict}"
    return ""


def _is_whole(sound: Sound, data: str) -> bool:
    workspace = Workspace(SETTINGS, data)
    file = workspace.vectors().file
    workspace.close()
    return file in ("current", "behind") and _rows(data, sound.fingerprint) == sound.rows


def _compared(sound: Sound, data: str) -> str:
    """How the answers differ from the sound ones; the codes of what is said of it, where anything is."""
    workspace = Workspace(SETTINGS, data)
    try:
        found = answers(workspace, sound.most)
    except KebabError as error:
        return error.code
    finally:
        workspace.close()
    if found == sound.answers:
        return _SAME
    if told := _notices(found) - _notices(sound.answers):
        return ", ".join(told)
    texts = {row[_TEXT] for row in sound.rows}
    true = all(hit.stale or hit.text in texts for _, hits in found for hit in hits)
    return _EARLIER if true and _revision(data) < sound.revision else _UNTRUE


def answers(workspace: Workspace, most: int) -> Answers:
    return [_answer(workspace, SearchQuery(query, mode=mode, k=most)) for query in ASKED for mode in _MODES]


def _answer(workspace: Workspace, query: SearchQuery) -> tuple[tuple[str, ...], list[_Hit]]:
    response = workspace.search(query)
    hits = [_Hit(hit.score, str(hit.citation), hit.text, hit.stale) for hit in response.hits]
    return tuple(notice.code for notice in response.notices), sorted(hits)


def _notices(found: Answers) -> set[str]:
    return {code for codes, _ in found for code in codes}


def _revision(data: str) -> int:
    workspace = Workspace(SETTINGS, data)
    revision = workspace.revision()
    workspace.close()
    return revision


def _rows(data: str, fingerprint: str) -> list[tuple[object, ...]]:
    connection = sqlite3.connect(DataFolder(data).database)
    try:
        return connection.execute(_EVERYTHING, (fingerprint,)).fetchall()
    finally:
        connection.close()
