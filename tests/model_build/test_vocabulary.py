"""English ids stay MiniLM's; Hangul pieces follow, and share rows where two rows would learn the same."""

from __future__ import annotations

import json

import numpy as np
import pytest
from tokenizers import Tokenizer

from models.build.kiwi import Morpheme, form_vectors, is_hangul
from models.build.vocabulary import Vocabulary, build, is_everyday, piece_lines, tokenizer_json

ENGLISH = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "port", "##s", "."]
FORMS = {form: np.full(4, index + 1, np.float32) for index, form in enumerate(["포트", "충돌", "은", "쀍"])}


@pytest.fixture(scope="module")
def vocabulary() -> Vocabulary:
    return build(ENGLISH, FORMS)


def test_english_tokens_keep_their_ids_and_rows(vocabulary: Vocabulary) -> None:
    assert list(vocabulary.ids)[: len(ENGLISH)] == ENGLISH
    assert vocabulary.rows[: len(ENGLISH)].tolist() == list(range(len(ENGLISH)))


def test_every_syllable_is_a_token_at_the_start_and_inside(vocabulary: Vocabulary) -> None:
    assert len(vocabulary.ids) == len(ENGLISH) + 2 * 2 + 2 * 11_172


def test_a_word_has_one_row_wherever_it_stands_and_a_syllable_two(vocabulary: Vocabulary) -> None:
    def row(token: str) -> int:
        return int(vocabulary.rows[vocabulary.ids[token]])

    assert row("포트") == row("##포트")
    assert row("은") != row("##은")
    assert vocabulary.morphemes[row("##포트") - vocabulary.english].tolist() == [1, 1, 1, 1]
    assert vocabulary.morphemes[row("가") - vocabulary.english].tolist() == [0, 0, 0, 0]


def test_a_syllable_nobody_writes_is_unknown_unless_kiwi_knows_it(vocabulary: Vocabulary) -> None:
    assert not is_everyday("쀏") and not is_everyday("쀍") and is_everyday("가")
    assert vocabulary.rows[vocabulary.ids["쀏"]] == vocabulary.ids["[UNK]"]
    assert vocabulary.rows[vocabulary.ids["쀍"]] >= vocabulary.english


def test_every_row_has_a_token(vocabulary: Vocabulary) -> None:
    assert sorted(set(vocabulary.rows.tolist())) == list(range(vocabulary.row_count))


def test_korean_is_split_at_known_forms_and_case_and_accents_go(vocabulary: Vocabulary) -> None:
    tokenizer = Tokenizer.from_str(tokenizer_json(vocabulary))
    assert tokenizer.encode("PÓRTs 포트충돌은.").tokens == [
        "[CLS]",
        "port",
        "##s",
        "포트",
        "##충돌",
        "##은",
        ".",
        "[SEP]",
    ]
    decomposed = "\u1111\u1169\u1110\u1173"
    assert tokenizer.encode(decomposed, add_special_tokens=False).tokens == ["포트"]


def test_pieces_stand_in_order_with_their_ids(vocabulary: Vocabulary) -> None:
    lines = piece_lines(tokenizer_json(vocabulary)).splitlines()
    assert {piece: int(number) for piece, number in (line.split("\t") for line in lines)} == vocabulary.ids
    names = [line.split("\t")[0].encode() for line in lines]
    assert names == sorted(names)


@pytest.mark.parametrize("odd", ["", " ", "a b", "a\n", "\ra", "a\u3000", "\u2028", "a\x85"])
def test_a_piece_that_would_not_read_back_is_refused(odd: str) -> None:
    with pytest.raises(ValueError, match="is not a line of its own"):
        piece_lines(json.dumps({"model": {"vocab": {"[UNK]": 0, odd: 1}}}))


def test_an_id_that_two_pieces_have_is_refused() -> None:
    with pytest.raises(ValueError, match="the same id"):
        piece_lines(json.dumps({"model": {"vocab": {"[UNK]": 0, "a": 1, "b": 1}}}))


def test_content_words_speak_for_a_form() -> None:
    vectors = np.eye(4, dtype=np.float32)
    known = [Morpheme(0, "이", "JKS"), Morpheme(1, "이", "NNG"), Morpheme(2, "가", "JKS")]
    forms = form_vectors(known, vectors)
    assert forms["이"] == pytest.approx([0, 2**0.5, 0, 0])
    assert forms["가"] == pytest.approx([0, 0, 2**0.5, 0])


def test_only_whole_syllables_are_hangul() -> None:
    assert is_hangul("한글") and not is_hangul("ㄴ다") and not is_hangul("C언어")
