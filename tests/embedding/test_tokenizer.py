"""A tokenizer yields the same tokens with and without `pieces.txt`."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kebab_tui.domain.errors import ModelError
from kebab_tui.embedding.card import ModelCard, read_card
from kebab_tui.embedding.tokenizer import Tokens, require_same_pieces
from tests.conftest import SAMPLE_NOTES
from tests.effort import sizes
from tests.embedding.tiny_models import WORDS, piece_lines, wordpiece, write_tiny, write_with_pieces

ODD_TEXTS = (
    "", " ", "\n\t", "\0", "\ud800", "\ufeffport", "port\u200bconflict", "a" * 99, "a" * 100,
    "a" * 101, "가" * 5000, "word " * 5000, "포트충돌" * 2000, "[UNK]", "[CLS] [SEP] [PAD] [MASK]",
    "##port ##충돌", "#", "-" * 3000, "🍢🍢 kebab 🥙", "👩‍👩‍👧", "東京 港", "порт", "ทางเรือ", "مرفأ",
    "Crème BRÛLÉE", "ﬁle ①②", "ㅋㅋ ㅠㅠ", "ᄑ", "한글", "쀍쀏", "v1.2.3-rc4+build",
    "https://example.org/a?b=c#d", "𝔘𝔫𝔦", "\U0010ffff", "e\u0301" * 300,
)  # fmt: skip
ALPHABETS = (
    "abcdefghijklmnopqrstuvwxyzABC 0123456789",
    "".join(map(chr, range(0xAC00, 0xD7A4, 7))) + "은는이가을를에서 ",
    "".join(map(chr, range(0x20, 0x2000))),
    "".join(map(chr, (*range(0x1F300, 0x1F700), *range(0x4E00, 0x4F00), *range(0x1100, 0x1200)))),
)


def varied_texts(mixtures: int) -> Iterator[str]:
    """Whole notes, their lines, pairs of lines, and random mixtures of scripts."""
    for path in sorted(SAMPLE_NOTES.rglob("*.md"))[:: 1500 // mixtures]:
        note = path.read_text("utf-8")
        lines = [line for line in note.splitlines() if line.strip()]
        yield from (note, *lines, *(f"{first} {second}" for first, second in pairwise(lines)))
    dice = random.Random(7)
    for _ in range(mixtures):
        letters = "".join(dice.choice(ALPHABETS) for _ in range(dice.randint(1, 3)))
        yield "".join(dice.choices(letters, k=dice.randint(1, 120)))
    yield from ODD_TEXTS


@sizes(150, 1500)
def test_the_bundled_models_tokens_are_the_same_by_both_routes(real_card: ModelCard, size: int) -> None:
    apart, whole = Tokens(real_card), Tokens(replace(real_card, pieces_sha256=""))
    texts = list(varied_texts(size))
    assert len(set(texts)) > 2 * size
    assert [text for text in texts if apart.ids(text) != whole.ids(text)] == []
    assert [text for text in texts if apart.understands(text) != whole.understands(text)] == []


@sizes(150, 1500)
def test_the_parts_of_a_text_have_all_its_tokens_in_order(real_card: ModelCard, size: int) -> None:
    tokens = Tokens(real_card)
    everything = Tokens(replace(real_card, max_tokens=1 << 20))
    long_ones = 0
    for text in varied_texts(size):
        first, *rest = tokens.parts(text)
        assert first.ids == tokens.ids(text)
        assert (first.start, (rest or [first])[-1].end) == (0, len(text))
        long_ones += bool(rest)
        if not rest or len(text) > real_card.max_tokens * 64:
            continue
        every, parts = everything.ids(text), [first, *rest]
        head, uneven = divmod(sum(len(part.ids) - 1 for part in parts) - len(every) + 1, len(rest))
        assert not uneven
        assert 1 <= head <= 41
        assert [*first.ids[:-1], *(one for part in rest for one in part.ids[head:-1])] == every[:-1]
        for part, following in pairwise(parts):
            assert part.end == following.start
            assert following.ids[:head] == first.ids[:head]
            assert len(following.ids) <= real_card.max_tokens
    assert long_ones > size / 50


def test_every_part_begins_with_the_first_line_but_not_with_all_of_a_long_one(real_card: ModelCard) -> None:
    tokens = Tokens(real_card)
    first, *rest = tokens.parts("Port conflicts\n" + "word " * 600)
    assert rest
    assert all(part.ids[:3] == first.ids[:3] for part in rest)
    assert [len(part.ids) for part in (first, *rest)] == [256, 256, 100]
    first, second, *_ = tokens.parts("word " * 60 + "\n" + "other " * 600)
    assert second.ids[:33] == first.ids[:33], "160 characters"
    assert second.ids[33] != first.ids[33]


def test_the_bundled_tokenizer_is_the_same_by_both_routes_to_the_last_piece(real_card: ModelCard) -> None:
    assert real_card.pieces_sha256
    require_same_pieces(real_card)
    first, *_, last = Tokens(real_card).ids("port")
    assert (first, last) == (101, 102), "[CLS] and [SEP]"


def test_pieces_are_looked_up_when_the_card_names_it(tmp_path: Path) -> None:
    card = read_card(str(write_with_pieces(tmp_path, pieces=piece_lines((*reversed(WORDS[1:]), WORDS[0])))))
    assert Tokens(card).ids("port 충돌 nothing") == [6, 2, 7]
    assert Tokens(replace(card, pieces_sha256="")).ids("port 충돌 nothing") == [1, 5, 0]


def test_a_tokenizer_may_be_written_with_line_breaks(tmp_path: Path) -> None:
    tokens = json.dumps(json.loads(wordpiece()), ensure_ascii=False, indent=2) + "\n"
    card = read_card(str(write_with_pieces(tmp_path, tokens)))
    assert Tokens(card).ids("port 충돌 nothing") == [1, 5, 0]
    require_same_pieces(card)


@pytest.mark.parametrize("lines", [b"\xff\xfe", b"", b"port\n", b"\n\n", b"<unk>\tx\n[UNK]\t0\n"])
def test_an_invalid_pieces_file_is_an_error(tmp_path: Path, lines: bytes) -> None:
    card = read_card(str(write_with_pieces(tmp_path)))
    Path(card.pieces).write_bytes(lines)
    with pytest.raises(ModelError, match=r"pieces\.txt"):
        Tokens(card).ids("port 충돌")


_LETTERS = "ab가#"
_words = st.text(_LETTERS, min_size=1, max_size=4)


@given(
    pieces=st.sets(_words | _words.map("##".__add__), max_size=40),
    text=st.text(_LETTERS + "c  ", max_size=60),
)
def test_any_pieces_cut_any_text_alike(
    tmp_path_factory: pytest.TempPathFactory, pieces: set[str], text: str
) -> None:
    words = ("[UNK]", *pieces)
    folder = write_with_pieces(tmp_path_factory.mktemp("model"), wordpiece(words), piece_lines(words))
    card = read_card(str(folder))
    require_same_pieces(card)
    assert Tokens(card).ids(text) == Tokens(replace(card, pieces_sha256="")).ids(text)


def test_without_pieces_apart_any_tokenizer_will_do(tmp_path: Path) -> None:
    card = read_card(str(write_tiny(tmp_path)))
    assert Tokens(card).ids("port 충돌 nothing") == [1, 5, 0]
    require_same_pieces(card)
