"""Searching by words, by meaning and by both: hits, messages and thresholds."""

from __future__ import annotations

import pytest

from tests.command_line import Done, Kebab

BOTH = 1 / 61 + 1 / 61


def codes(done: Done) -> list[str]:
    return [notice["code"] for notice in done.json["notices"]]


@pytest.mark.parametrize(
    ("flags", "mode"),
    [
        ((), "hybrid"),
        (("--mode", "hybrid"), "hybrid"),
        (("--mode", "lexical"), "lexical"),
        (("--fts-only",), "lexical"),
        (("--fts-only", "--mode", "lexical"), "lexical"),
        (("--mode", "vector"), "vector"),
        (("--vec-only",), "vector"),
    ],
)
def test_the_flags_choose_the_mode_and_both_is_what_is_meant_without(
    embedded: Kebab, flags: tuple[str, ...], mode: str
) -> None:
    answer = embedded("search", "port conflict", *flags, "--json").json
    assert answer["mode"] == mode
    assert answer["hits"][0]["doc_path"] in ("infra/port-conflict.md", "infra/포트-충돌.md")
    legs = [(hit["retrieval"]["lexical_rank"], hit["retrieval"]["vector_rank"]) for hit in answer["hits"]]
    assert any(words for words, _ in legs) == (mode != "vector")
    assert any(meaning for _, meaning in legs) == (mode != "lexical")


def test_the_setting_chooses_where_no_flag_does(embedded: Kebab) -> None:
    assert embedded("search", "docker", "--json", KEBAB_SEARCH_MODE="vector").json["mode"] == "vector"


def test_each_mode_names_its_own_version(embedded: Kebab) -> None:
    lexical, vector, hybrid = (
        embedded("search", "docker", "--mode", mode, "--json").json["index_version"]
        for mode in ("lexical", "vector", "hybrid")
    )
    assert vector.startswith("vec-kebab-ko-en-384-")
    assert hybrid == f"hybrid:{lexical}+{vector}"


def test_a_korean_question_finds_the_english_note_and_marks_it(embedded: Kebab) -> None:
    out = embedded("search", "포트가 이미 사용 중이라는 오류", "--explain").out
    assert "doc: infra/port-conflict.md" in out
    assert "other language" in out
    assert "among notes in the other language" in out


def test_the_way_a_hit_was_found_is_shown_in_hybrid_mode_only(embedded: Kebab) -> None:
    ways = {"(keyword", "(semantic"}
    shown = "".join(
        embedded("search", query, "-n", "40", "--format", "human").out
        for query in ("baking bread at home", "docker")
    )
    assert {way for way in ways if way in shown} == ways
    for mode in ("lexical", "vector"):
        assert not any(
            way in embedded("search", "docker", "--mode", mode, "--format", "human").out for way in ways
        )


def test_a_note_whose_name_is_the_query_says_so(embedded: Kebab) -> None:
    for mode in ("hybrid", "lexical"):
        out = embedded("search", "port-conflict.md", "-n", "1", "--mode", mode, "--format", "human").out
        assert "doc: infra/port-conflict.md" in out
        assert "(by its name)" in out


def test_distant_hits_say_so(embedded: Kebab) -> None:
    answer = embedded("search", "saxophone", "-n", "1", "--json").json
    assert answer["hits"][0]["distant"] is True
    assert (
        "weak match: nothing nearer was found)"
        in embedded("search", "saxophone", "-n", "1", "--format", "human").out
    )


def test_reranking_can_be_turned_off(embedded: Kebab) -> None:
    reranked = embedded("search", "docker", "-n", "5", "--json").json["hits"]
    fused = embedded("search", "docker", "-n", "5", "--no-rerank", "--json").json["hits"]
    assert {hit["score_kind"] for hit in reranked} == {"name", "look"}
    assert {hit["score_kind"] for hit in fused} == {"rrf"}
    assert [hit["retrieval"]["fusion_rank"] for hit in fused] == [1, 2, 3, 4, 5]
    off = {"KEBAB_SEARCH_RERANK": "false"}
    assert embedded("search", "docker", "-n", "5", "--json", **off).json["hits"] == fused
    old = embedded("search", "docker", "-n", "5", "--no-second-look", "--json")
    assert old.json["hits"] == fused
    assert "warning: --no-second-look was renamed; use --no-rerank" in old.err
    again = embedded("search", "docker", "-n", "5", "--rerank", "--json", **off).json["hits"]
    assert again == reranked


# cutting off


def test_a_threshold_keeps_what_reaches_it_exactly(embedded: Kebab) -> None:
    whole = embedded("search", "docker", "--explain", "-n", "50", "--json").json["hits"]
    raws = [hit["explanation"]["fusion"]["rrf_raw"] for hit in whole]
    least = sorted(raws, reverse=True)[2]
    done = embedded("search", "docker", "--threshold", repr(least), "-n", "50", "--json")
    kept = [hit["chunk_id"] for hit in done.json["hits"]]
    assert kept == [hit["chunk_id"] for hit, raw in zip(whole, raws, strict=True) if raw >= least]
    assert done.json["total_matches"] == len(kept) >= 3
    assert codes(done) == ["below_score"]


@pytest.mark.parametrize("mode", ["lexical", "vector"])
def test_a_threshold_cuts_a_single_list_by_rank(embedded: Kebab, mode: str) -> None:
    plain = embedded("search", "docker", "--mode", mode, "--json").json["hits"]
    cut = embedded("search", "docker", "--mode", mode, "--threshold", "0.0161", "--json")
    assert cut.json["hits"] == plain[:2]  # 1/61 and 1/62
    assert cut.json["total_matches"] == 2
    assert "1/(60+1) = 0.016393" in cut.out
    beyond = embedded("search", "docker", "--mode", mode, "--threshold", "0.02", "--json")
    assert (beyond.code, beyond.json["hits"]) == (1, [])
    assert "threshold_unreachable" in codes(beyond)


@pytest.mark.parametrize(
    ("query", "most"),
    [
        ("docker", "(1+1)/(60+1) = 0.032787"),
        ("포트 충돌", "(1+0.35)/(60+1) = 0.022131"),
        ("tag:network path:infrastructure/** -docker 충돌", "(1+0.35)/(60+1) = 0.022131"),
    ],
)
def test_an_unreachable_threshold_gives_the_reachable_one(embedded: Kebab, query: str, most: str) -> None:
    done = embedded("search", query, "--threshold", "0.04")
    assert (done.code, done.out) == (1, "")
    assert most in done.err
    assert most not in embedded("search", query, "--threshold", "0.01").err


@pytest.mark.parametrize("mode", ["lexical", "vector", "hybrid"])
def test_hits_below_the_least_score_are_left_out_and_counted(embedded: Kebab, mode: str) -> None:
    argv = ("search", "docker", "--mode", mode, "-n", "20", "--json")
    scores = [hit["score"] for hit in embedded(*argv).json["hits"]]
    least = sorted(scores)[len(scores) // 2] - 1e-6
    done = embedded(*argv, "--min-score", str(least))
    assert [hit["score"] for hit in done.json["hits"]] == [score for score in scores if score >= least]
    assert codes(done) == ["below_score"]


# nothing to ask by meaning


def test_without_vectors_it_is_by_words_and_names_what_makes_them(indexed: Kebab) -> None:
    done = indexed("search", "docker", "--json")
    assert (done.code, done.json["mode"], codes(done)) == (0, "lexical", ["no_vectors"])
    shown = indexed("search", "docker")
    assert "kebab index --embed" in shown.err
    assert shown.out == indexed("search", "docker", "--mode", "lexical").out
    refused = indexed("search", "docker", "--mode", "vector")
    assert refused.code == 2
    assert "kebab index --embed" in refused.err
    assert "--mode lexical" in refused.err


@pytest.mark.parametrize("query", ["🍢🍢", "'docker OR rust'", "ㅋㅋㅋㅋ", "the of and", "x" * 5000])
def test_a_query_without_meaning_is_answered_all_the_same(embedded: Kebab, query: str) -> None:
    done = embedded("search", query, "--json")
    assert done.code in (0, 1)
    assert done.json["mode"] in ("lexical", "hybrid")
    assert "Traceback" not in done.err


def test_the_same_question_gets_the_same_bytes(embedded: Kebab) -> None:
    first, second = (embedded("search", "bread", "--explain", "--format", "jsonl").out for _ in range(2))
    assert first == second


def test_the_language_of_a_query_is_that_of_its_words_not_of_its_filters(embedded: Kebab) -> None:
    plain = embedded("search", "백업", "--lang", "ko", "--path-glob", "infra/**")
    assert "other language" not in plain.out
    assert embedded("search", "lang:ko path:infra/** 백업").out == plain.out
