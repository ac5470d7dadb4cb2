"""The generated known-item queries: always the same, with answers that are in the notes."""

from __future__ import annotations

import random
import unicodedata
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from tests.benchmarks.known_item_queries import WRITTEN, Generator, Note, Query, read_vault, slipped, written

SAMPLE = Path("fixtures/notes")
CLASSES = (
    "title", "half title", "alias", "stem", "rare word", "typo",
    "tag", "date", "identifier", "short",
)  # fmt: skip


@cache
def notes() -> tuple[Note, ...]:
    return tuple(read_vault(SAMPLE))


@cache
def queries() -> tuple[Query, ...]:
    return tuple(Generator(notes()).queries())


def test_the_sample_vault_alone_has_twenty_queries_of_every_class() -> None:
    counted = Counter(query.group for query in queries() if not query.ambiguous)
    assert set(counted) == set(CLASSES)
    assert min(counted.values()) >= 20


def test_the_same_notes_give_the_same_queries() -> None:
    assert tuple(Generator(read_vault(SAMPLE)).queries()) == queries()


def test_every_query_has_an_answer_among_the_notes() -> None:
    ids = {note.id for note in notes()}
    assert all(query.right and query.right <= ids for query in queries())


def test_only_a_name_of_several_notes_is_ambiguous() -> None:
    named = [query for query in queries() if query.group in ("title", "alias", "stem")]
    assert all(query.ambiguous == (len(query.right) > 1) for query in named)


def test_a_word_that_was_asked_is_in_its_notes() -> None:
    texts = {
        note.id: unicodedata.normalize("NFC", f"{note.names} {note.text}").casefold() for note in notes()
    }
    asked = [query for query in queries() if query.group in ("date", "tag", "short")]
    for query in asked:
        assert all(query.text.removeprefix("#").casefold() in texts[right] for right in query.right), query


def test_both_halves_have_queries_of_every_class() -> None:
    for half in ("dev", "last"):
        counted = Counter(query.group for query in queries() if query.half == half)
        assert min(counted[group] for group in CLASSES) >= 5


@pytest.mark.parametrize("word", ["kubernetes", "Docker", "쿠버네티스", "백업"])
def test_a_slip_changes_one_letter(word: str) -> None:
    chance = random.Random(1)
    letters = unicodedata.normalize("NFD", word)
    for _ in range(200):
        slip = unicodedata.normalize("NFD", slipped(word, chance))
        assert slip != letters
        assert abs(len(slip) - len(letters)) <= 1
        assert sum((Counter(letters) - Counter(slip)).values()) <= 1


def test_the_written_questions_name_notes_of_the_sample_vault() -> None:
    asked = written(Path(WRITTEN))
    assert len({query.text for query in asked}) >= 40
    assert frozenset[str]().union(*(query.right for query in asked)) <= {note.id for note in notes()}
