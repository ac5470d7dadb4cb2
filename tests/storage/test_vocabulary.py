"""While a word is typed, every chunk with it is found from the second character on."""

from __future__ import annotations

import random
import re
import sqlite3
import tempfile
from collections.abc import Iterator
from pathlib import Path
from string import ascii_lowercase

import pytest

from kebab_tui.domain.tokens import gram_phrase, plain_words
from kebab_tui.search.ports import FieldWeights
from kebab_tui.storage.lock import DataFolder
from kebab_tui.storage.sqlite.reader import StoreReader
from kebab_tui.storage.sqlite.snapshot import StoreSnapshot
from kebab_tui.storage.sqlite.writer import StoreWriter
from tests.effort import sizes
from tests.notes import a_note, a_source

NOTES = Path(__file__).parents[2] / "fixtures" / "notes"
STEMS = """
organ relat condit hop conflat activ hope form ration general digit radic rapid decis oper feudal
sens probat adjust install depend commun argu happi tan plaster motor sky die agre feed caress pony
lie troubl size fall hiss fizz fail fil cri dri analog vietnam predic call rust deploy configur
backup synchron index
"""
SUFFIXES = """
s es ed ing er ers est ly y ies ied ization izations ize izes ized izing isation ational ation
ations ative ator able ible ability ibility al ally alism alist ality ance ence ancy ency ant ent
ment ments ement ful fulness fully ness less ous ously ousness ive iveness ively ivity ic ical
ically icate iciti ion ions ism ist logy logi bli eed sses iest
"""


def english_words() -> list[str]:
    return sorted({stem + suffix for stem in STEMS.split() for suffix in ("", *SUFFIXES.split())})


def words_of_notes() -> list[str]:
    text = " ".join(path.read_text() for path in sorted(NOTES.rglob("*.md")))
    return sorted({word for word in plain_words(text) if len(word) > 1})


class Typing:
    """One chunk per word; the chunks that its beginning finds."""

    def __init__(self, words: list[str], snapshot: StoreSnapshot, connection: sqlite3.Connection) -> None:
        self.words = words
        self._snapshot = snapshot
        self._connection = connection
        self._known: dict[str, set[str]] = {}

    def found(self, prefix: str) -> set[str]:
        """The query for an unfinished word: the prefix, or whole words that continue it."""
        if prefix not in self._known:
            completions = self._snapshot.unfinished(prefix, 10_000)
            match = " OR ".join([f'"{prefix}"*', *(f'"{word}"' for word in completions)])
            self._known[prefix] = self.matching(match)
        return self._known[prefix]

    def matching(self, match: str) -> set[str]:
        statement = "SELECT c.text FROM chunks_fts f JOIN chunks c ON c.id = f.rowid WHERE chunks_fts MATCH ?"
        return {text for (text,) in self._connection.execute(statement, (match,))}


@pytest.fixture(scope="module", params=["bulk", "note by note", "rebuilt"])
def typing(request: pytest.FixtureRequest) -> Iterator[Typing]:
    words = sorted({*english_words(), *words_of_notes()})
    with tempfile.TemporaryDirectory() as root:
        folder = DataFolder(root)
        writer = StoreWriter(folder, bulk_chunks=100 if request.param == "bulk" else 10**6)
        writer.save_sources([a_source()])
        half = len(words) // 2
        for n, part in enumerate((words[:half], words[half:])):
            writer.apply([a_note(f"{n}.md", *part, title="", heading="")])
        if request.param == "rebuilt":
            writer.rebuild_full_text()
        reader = StoreReader(folder, FieldWeights())
        with reader.snapshot() as snapshot:
            yield Typing(words, snapshot, writer._connection)
        reader.close()
        writer.close()


@sizes(200, 10**6)
def test_every_beginning_of_two_characters_or_more_finds_the_word(typing: Typing, size: int) -> None:
    missed = [
        (prefix, word)
        for word in typing.words[:: len(typing.words) // size or 1]
        if not re.search(r"[\u1100-\U000323af]", word)
        for prefix in (word[:end] for end in range(2, len(word) + 1))
        if word not in typing.found(prefix)
    ]
    assert missed == []


def test_without_the_vocabulary_stems_would_leave_holes(typing: Typing) -> None:
    assert "organization" not in typing.matching('"organiz"*')
    assert "organization" in typing.found("organiz")


def test_every_part_of_a_korean_word_finds_it(typing: Typing) -> None:
    korean = [word for word in typing.words if re.fullmatch("[가-힣]{2,}", word)]
    assert len(korean) > 300
    for word in korean[::3]:
        for part in {word[:2], word[-2:], word[1:], word[:1], word}:
            pairs = gram_phrase(part)
            match = f'grams : "{" ".join(pairs)}"' + ("*" if len(part) == 1 else "")
            assert word in typing.matching(match), (word, part)


def test_the_commonest_words_come_first(typing: Typing) -> None:
    assert typing._snapshot.common_words("instal", 3)[0].startswith("instal")
    assert typing._snapshot.unfinished("zzzz", 5) == []


def test_the_words_of_a_new_text_are_added_with_it(tmp_path: Path) -> None:
    folder = DataFolder(str(tmp_path))
    writer = StoreWriter(folder)
    writer.save_sources([a_source()])
    reader = StoreReader(folder, FieldWeights())
    for n, word in enumerate(("Installation", "installations", "ÉLÉMENTAIRE", "INSTALLATION")):
        writer.apply([a_note(f"{n}.md", word, title="", heading="")])
        with reader.snapshot() as snapshot:
            assert plain_words(word)[0] in snapshot.common_words(plain_words(word)[0][:4], 9)
    with reader.snapshot() as snapshot:
        assert snapshot.common_words("inst", 1) == ["installation"], "two notes have it"
    reader.close()
    writer.close()


def test_a_new_title_over_old_text_is_found_while_it_is_typed(tmp_path: Path) -> None:
    folder = DataFolder(str(tmp_path))
    writer = StoreWriter(folder)
    writer.save_sources([a_source()])
    for title in ("old", "Organization"):
        writer.apply([a_note("a.md", "the same text", title=title)])
    reader = StoreReader(folder, FieldWeights())
    with reader.snapshot() as snapshot:
        assert snapshot.unfinished("organiz", 5) == ["organization"]
    reader.close()
    writer.close()


def test_a_failed_write_adds_no_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = DataFolder(str(tmp_path))
    writer = StoreWriter(folder)
    writer.save_sources([a_source()])
    with monkeypatch.context() as patch:
        patch.setattr(StoreWriter, "_set_meta", _fail)
        with pytest.raises(ZeroDivisionError):
            writer.apply([a_note("a.md", "forgotten words")])
    writer.apply([a_note("b.md", "other text", title="", heading="")])
    words = [word for (word,) in writer._connection.execute("SELECT word FROM words ORDER BY word")]
    assert words == ["other", "text"]
    writer.close()


def _fail(*_: object) -> None:
    raise ZeroDivisionError


def test_every_word_within_two_edits_is_alike(typing: Typing) -> None:
    """The first letter stays; an edit adds, drops or changes a letter or swaps two."""
    dice = random.Random(3)
    words = [word for word in typing.words if re.fullmatch("[a-z]{9,}", word)]
    for _ in range(2_000):
        word = slip = dice.choice(words)
        for _ in range(2):
            at, letter = dice.randrange(1, len(slip) - 1), dice.choice(ascii_lowercase)
            before, after = slip[:at], slip[at:]
            edited = (after[1:], letter + after, letter + after[1:], after[1] + after[0] + after[2:])
            slip = before + dice.choice(edited)
        found = typing._snapshot.alike(slip, 2)
        assert word in found, (word, slip)
        assert found.items() <= typing._snapshot.listed(list(found)).items()
    assert not typing._snapshot.listed(["nosuchword", ""])
