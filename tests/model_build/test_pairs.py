"""Pairs count once, for the first source that has them; passages never mix sources."""

from __future__ import annotations

from models.build.pairs import Pair, gather, passages


def test_a_pair_counts_for_the_first_source_that_has_it() -> None:
    seen: set[tuple[str, str]] = set()
    first = list(gather("one", [("Open File", "파일 열기"), ("OPEN FILE", "파일 열기")], seen))
    second = list(gather("two", [("open file", "파일 열기"), ("Open folder", "폴더 열기")], seen))
    assert first == [Pair("one", "Open File", "파일 열기")]
    assert second == [Pair("two", "Open folder", "폴더 열기")]


def test_unusable_strings_are_not_pairs() -> None:
    assert list(gather("one", [("%s", "%s"), ("OK", "확인")], set())) == []


def test_passages_join_neighbours_of_one_source_in_order() -> None:
    pairs = [
        Pair(source, f"word {index}.", f"단어 {index}.") for source in ("one", "two") for index in range(100)
    ]
    joined = passages(pairs)
    assert {passage.source for passage in joined} == {"one", "two"}
    assert joined[0].english.startswith("word 0. word 1. word 2")
    assert joined[0].korean.startswith("단어 0. 단어 1. 단어 2")
    assert all(passage.english.count("word") == passage.korean.count("단어") > 1 for passage in joined)
    assert sum(passage.english.count("word") for passage in joined) >= 198


def test_a_lonely_string_is_no_passage_and_the_draw_is_repeatable() -> None:
    assert passages([Pair("one", "a word", "낱말")]) == []
    pairs = [Pair("one", f"word {index}", f"단어 {index}") for index in range(300)]
    assert passages(pairs) == passages(pairs)
