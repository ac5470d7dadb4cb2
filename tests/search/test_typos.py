"""Typing slips: a word that neither notes nor model know is searched as the nearest word of the notes."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kebab_tui.domain.hit import Correction, SearchResponse
from kebab_tui.domain.keyboard import hangul_keys, keys_of, neighbours
from kebab_tui.domain.query import SearchQuery
from tests.meaning import Chosen
from tests.vault import Vault

NOTES = {
    "graph.md": "# Graph\n\nA graph of nodes. Each graph is directed; graphs are drawn by graphviz.\n",
    "server.md": "# Server\n\nThe server restarts. Authentication and configuration of a server.\n",
    "database.md": "# Database\n\nBackup of the database with Kubernetes and postgres.\n",
    "kernel.md": "# Kernel\n\nThe kernel schedules threads. gnuplot, gnuplet.\n",
    "컨테이너.md": "# 컨테이너\n\n컨테이너를 지우고 네트워크를 확인한다. 한글 입력도 본다. 까치가 운다.\n",
    "서버-점검.md": "# 서버 점검\n\n서버를 매주 점검한다. 데이터베이스도 본다. 기록을 옮긴다. 옮겨야 해.\n",
    "identifiers.md": "# Names\n\nThe function getUserName reads user_name.\n",
}


@pytest.fixture(scope="module")
def vault(tmp_path_factory: pytest.TempPathFactory) -> Vault:
    vault = Vault(tmp_path_factory.mktemp("typos"))
    for path, text in NOTES.items():
        vault.write(path, text)
    vault.ingest()
    return vault


def ask(vault: Vault, text: str, *, typing: bool = False, exact: bool = False) -> SearchResponse:
    return vault.workspace.search(SearchQuery(text, "lexical", typing=typing, exact=exact))


def searched(vault: Vault, text: str, *, typing: bool = False) -> list[str]:
    return [one.searched for one in ask(vault, text, typing=typing).corrections]


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("grpah", "graph"),  # two letters swapped
        ("grph", "graph"),  # one missing
        ("graaph", "graph"),  # one too many
        ("grafh", "graph"),  # another one
        ("rgaph", "graph"),
        ("ernel", "kernel"),
        ("GRPAH", "graph"),
        ("Grpah", "graph"),
        ("DtaaBase", "database"),
        ("grpah?", "graph"),
        ("(sevrer)", "server"),
        ("grpah를", "graph"),
        ("databse", "database"),
        ("kuberntes", "kubernetes"),
        ("authentciaton", "authentication"),  # two slips in a long word
        ("confguratoin", "configuration"),
    ],
)
def test_a_slip_in_a_latin_word_is_corrected(vault: Vault, typed: str, meant: str) -> None:
    response = ask(vault, typed)
    assert [one.searched for one in response.corrections] == [meant]
    assert response.hits
    assert not response.hits[0].relaxed


@pytest.mark.parametrize(
    "text",
    [
        "graph",
        "graphs",  # the notes have the stem
        "gnuplot",
        "guard",  # the model knows it
        "grahpvzi",  # two slips in a short word
        "qzxvkw",
        '"grpah"',
        "grpah*",
        "graph -grpah",
        "'grpah'",
        "grpahX9",
        "getUserNmae",
        "user_nmae",
        "https://grpah.example",
        "grpah@sevrer",
        "foo-grpah",
        "teh",
        "tag:grpah graph",
        "tagg:grpah",
        "",
        "...",
    ],
)
def test_these_are_searched_as_typed(vault: Vault, text: str) -> None:
    assert ask(vault, text).corrections == ()


def test_the_response_names_the_words_and_exact_turns_it_off(vault: Vault) -> None:
    response = ask(vault, "grpah sevrer")
    notices = {notice.code: notice.text for notice in response.notices}
    assert notices["corrected"] == "also searched: graph (for grpah), server (for sevrer)"
    assert (response.query, response.corrected) == ("grpah sevrer", "graph server")
    exact = ask(vault, "grpah sevrer", exact=True)
    assert (exact.hits, exact.corrections, exact.corrected) == ((), (), "")
    assert "corrected" not in {notice.code for notice in exact.notices}


def test_a_corrected_query_finds_and_marks_what_the_right_one_does(vault: Vault) -> None:
    typed, right = ask(vault, "databse OR (grpah nodes)"), ask(vault, "database OR (graph nodes)")
    assert typed.hits == right.hits
    assert typed.hits[0].highlights
    explained = vault.workspace.explain(SearchQuery("grpah", "lexical"))
    assert "graph" in {line.label for line in explained.hits[0].tree.lines()}
    verdict = vault.workspace.why_not(SearchQuery("grpah", "lexical"), "server.md")
    assert verdict.detail == "no passage matches (missing from the note: graph)"


def test_the_more_frequent_word_wins_and_a_swap_before_it(tmp_path: Path) -> None:
    vault = Vault(tmp_path)
    vault.write("a.md", "zorbal zorbal")
    vault.write("b.md", "zorban")
    vault.write("c.md", "zorban and zrobaq")
    vault.ingest()
    assert searched(vault, "zorbax") == ["zorban"]
    assert searched(vault, "zorbaq") == ["zrobaq"]


def test_words_of_removed_notes_are_neither_known_nor_searched(tmp_path: Path) -> None:
    vault = Vault(tmp_path)
    vault.write("a.md", "zorban and zorblat")
    vault.ingest()
    assert searched(vault, "zorbna") == ["zorban"]
    vault.write("a.md", "zorblat")
    vault.ingest()
    assert searched(vault, "zorbna") == []
    vault.write("b.md", "zorbam")
    vault.ingest()
    assert searched(vault, "zorban") == ["zorbam"]


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("gra", []),
        ("graphv", []),
        ("kern", []),
        ("grp", []),
        ("grpa", ["grap"]),
        ("grpah", ["graph"]),
        ("confgi", ["config"]),
        ("confgu", []),
        ("authentci", ["authentic"]),
    ],
)
def test_a_word_that_may_go_on_is_corrected_only_if_no_word_begins_so(
    vault: Vault, text: str, meant: list[str]
) -> None:
    assert searched(vault, text, typing=True) == meant


def test_the_beginning_of_a_word_that_the_model_knows_is_not_corrected_while_it_is_typed(
    tmp_path: Path,
) -> None:
    vault = Vault(tmp_path)
    vault.write("a.md", "Please hold the line.\n")
    vault.ingest()
    for text, typing, searched in (("holid", True, []), ("holid", False, ["hold"]), ("hodl", True, ["hold"])):
        response = vault.workspace.search(SearchQuery(text, "lexical", typing=typing))
        assert [one.searched for one in response.corrections] == searched, text


def test_an_unfinished_word_is_rather_a_longer_one(tmp_path: Path) -> None:
    vault = Vault(tmp_path)
    vault.write("a.md", "zorba zorba zorba")
    vault.write("b.md", "zorba zorbexq")
    vault.ingest()
    assert searched(vault, "zorbeq", typing=True) == ["zorbexq"]


# Korean


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("컨테이나", "컨테이너"),
        ("컨태이너를", "컨테이너를"),
        ("네투워크", "네트워크"),
        ("데이터배이스", "데이터베이스"),
        ("데터이베이스", "데이터베이스"),  # two syllables swapped
        ("점걸", "점검"),  # two syllables: a word of a name
        ("어제 고친 컨태이너", "컨테이너"),  # a long query: a word of a name
    ],
)
def test_a_slip_in_a_korean_word_is_corrected(vault: Vault, typed: str, meant: str) -> None:
    assert searched(vault, typed) == [meant]


@pytest.mark.parametrize(
    "text",
    [
        "컨테이너",
        "컨테이너에서는",
        "서버점검",
        "기룩",  # two syllables: only words of names
        "옮간다",  # verbs
        "욺겨야 하나",
        "어제 고친 네투워크",  # a long query: only words of names
        "안녕하세요",
    ],
)
def test_these_korean_words_are_searched_as_typed(vault: Vault, text: str) -> None:
    assert searched(vault, text) == []


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("gksrmf", "한글"),
        ("Rkcl", "까치"),
        ("zjsxpdlsj", "컨테이너"),
        ("GKSRMF", ""),  # the keys of tense consonants
        ("ㅔㅐㄴㅅㅎㄱㄷㄴ", "postgres"),
        ("ㅎㄱ메ㅗ", "graph"),
        ("ㄴㄷㄱㅍㄷㄱ", "server"),
        ("ㅋㅋㅋㅋ", ""),
    ],
)
def test_the_other_keyboard_layout_counts_as_a_slip(vault: Vault, typed: str, meant: str) -> None:
    assert searched(vault, typed) == [meant] * bool(meant)
    assert bool(ask(vault, typed).hits) == bool(meant)


@given(st.text(st.characters(min_codepoint=0xAC00, max_codepoint=0xD7A3), min_size=1, max_size=8))
def test_the_keys_of_korean_words_are_read_back(word: str) -> None:
    assert hangul_keys(keys_of(word)) == word


@pytest.mark.parametrize(("keys", "word"), [("rkqt", "값"), ("rkqtl", "갑시"), ("dhk", "와"), ("rtk", None)])
def test_syllables_are_read_as_a_keyboard_would(keys: str, word: str | None) -> None:
    assert hangul_keys(keys) == word


def test_neighbours_differ_in_one_letter() -> None:
    found = set(neighbours("너"))
    assert {"나", "더", "넌", "네"} <= found
    assert not found & {"너", "낙", "다", "넋"}


# In every mode


def test_the_model_reads_the_corrected_word(tmp_path: Path) -> None:
    chosen = Chosen(tmp_path)
    chosen.add("a.md", {"zorban one": 0.9, "other": 0.8}, tags=("x",))
    for mode in ("hybrid", "vector"):
        chosen.encoder.asked.clear()
        response = chosen.ask("tag:x zorbna -other", mode=mode)
        assert (response.corrections, response.read) == ((Correction("zorbna", "zorban"),), "zorban")
        chosen.ask("zorbna", mode=mode, exact=True)
        assert chosen.encoder.asked == ["zorban", "zorbna"]
    chosen.close()


# Hostile input


@pytest.mark.parametrize(
    "text",
    [
        "q" * 10_000,
        "가" * 10_000,
        "ㅁ" * 10_000,
        "gk" * 5_000,
        "e\u0301" * 3_000,
        "graph\u0301\u0302" * 500,
        "👩‍👩‍👧‍👦" * 500,
        "grpah👍",
        "\u1112\u1161\u11ab\u1100\u1173\u11af",
        " ".join(f"zqx{'abcdefghij'[n % 10]}w{'abcdefghij'[n // 10]}" for n in range(100)),
        "\x00grpah\ud800",
        "İstanbul ßtraße ﬁnally",
    ],
)
@pytest.mark.parametrize("typing", [False, True])
def test_hostile_text_is_answered(vault: Vault, text: str, typing: bool) -> None:
    assert len(ask(vault, text, typing=typing).corrections) <= 4


@settings(max_examples=150, deadline=None)
@given(text=st.text(max_size=40), typing=st.booleans())
def test_any_text_is_answered_as_its_corrected_text_is(vault: Vault, text: str, typing: bool) -> None:
    response = ask(vault, text, typing=typing)
    if response.corrections:
        again = vault.workspace.search(SearchQuery(response.corrected, "lexical", typing=typing, exact=True))
        assert again.hits == response.hits


def test_a_decomposed_word_is_corrected(vault: Vault) -> None:
    import unicodedata

    assert searched(vault, unicodedata.normalize("NFD", "컨태이너")) == ["컨테이너"]
