"""How typed text matches one name, and which of several notes comes first."""

from __future__ import annotations

import unicodedata

import pytest

from kebab_tui.domain.ids import ChunkRow, DocId
from kebab_tui.domain.text import edits
from kebab_tui.search.find_names import MatchedName, NameMatch, best_name, match_name
from kebab_tui.search.name_pattern import letters_of, name_pattern
from kebab_tui.search.ports import NamedNote


def matched(typed: str, name: str, kind: str = "name") -> MatchedName | None:
    return match_name(name_pattern(typed), kind, name)


def marked(typed: str, name: str, kind: str = "name") -> str:
    found = matched(typed, name, kind)
    assert found is not None
    text, at = "", 0
    for start, end in found.highlights:
        text += f"{name[at:start]}[{name[start:end]}]"
        at = end
    return text + name[at:]


@pytest.mark.parametrize(
    ("typed", "name", "match"),
    [
        ("zebra plan", "Zebra-Plan", "EXACT"),
        ("zebra_plan.md", "zebra plan", "EXACT"),
        ("[[Zebra plan#Stripes|those]]", "Zebra plan", "EXACT"),
        ("cafe", "Café", "EXACT"),
        ("node.js", "node js", "EXACT"),
        ("zeb", "Zebra plan", "PREFIX"),
        ("plan", "Zebra plan", "WORD"),
        ("plan zeb", "Zebra plan", "WORD"),
        ("name", "getUserName", "WORD"),
        ("zp", "Zebra plan", "INITIALS"),
        ("gun", "getUserName", "INITIALS"),
        ("ebr", "Zebra plan", "INSIDE"),
        ("zbr", "zebra", "LETTERS"),
        ("kubop", "Kubernetes operator", "LETTERS"),
        ("grpah", "Knowledge graph", "TYPO"),
        ("kubarnetse", "kubernetes", "TYPO"),
        ("xgrap", "graph", "TYPO"),
        ("kubrne op", "Kubernetes operator", "LETTERS"),
        ("ngt", "a long title", "SCATTERED"),
        ("🎉", "party 🎉", "WORD"),
        ("b", "b", "EXACT"),
        ("회으", "회의록", "PREFIX"),
        ("한그", "한글", "PREFIX"),
        ("하느", "하늘", "PREFIX"),
        ("고야", "고양이", "PREFIX"),
        ("주간 회", "회의, 주간", "WORD"),
        ("ㅎㅇㄹ", "회의록", "INITIALS"),
        ("ㅎㅇ", "주간 회의", "INITIALS"),
        ("ㅎㅇa", "회의 API", "INITIALS"),
        ("ㄱㅄ", "가방 사", "INITIALS"),
        ("ㅎ", "회의", "WORD"),
        ("api회", "API회의", "PREFIX"),
        ("zebraoplan", "zebra plan", "TYPO"),
        ("sec jh ua", "Sec-CH-UA model", "TYPO"),
        ("회의럭", "회의록", "TYPO"),
    ],
)
def test_a_name_matches(typed: str, name: str, match: str) -> None:
    for form in ("NFC", "NFD"):
        found = matched(unicodedata.normalize(form, typed), unicodedata.normalize(form, name))
        assert found is not None
        assert found.match.name == match, form


@pytest.mark.parametrize(
    ("typed", "name"),
    [
        ("zebra", "plan"),
        ("zebra plan", "zebra"),
        ("회으", "회사"),
        ("ㅎㅇ", "좋아"),  # the final of one syllable and the initial of the next
        ("ㅎㅇ", "하하"),
        ("cats", "cows"),
        ("abc", "abd"),  # too short for a typo
        ("infra/zebra", "infra zebra notes of zebra"[:5]),
    ],
)
def test_a_name_does_not_match(typed: str, name: str) -> None:
    assert matched(typed, name) is None


@pytest.mark.parametrize(
    ("typed", "name", "shown"),
    [
        ("plan zeb", "Zebra plan", "[Zeb]ra [plan]"),
        ("gun", "getUserName", "[g]et[U]ser[N]ame"),
        ("kubop", "Kubernetes operator", "[Kub]ernetes [op]erator"),
        ("회으", "주간 회의록", "주간 [회의]록"),
        ("ㅎㅇ", "주간 회의록", "주간 [회의]록"),
        ("grpah", "Knowledge graph!", "Knowledge [graph!]"),
        ("cafe", "Le Café", "Le [Café]"),
    ],
)
def test_what_matches_is_marked(typed: str, name: str, shown: str) -> None:
    assert marked(typed, name) == shown


def test_a_slash_asks_for_folders_in_their_order() -> None:
    path = "infra/prod/kubernetes-notes.md"
    assert marked("infra/kub", path, "path") == "[infra]/prod/[kub]ernetes-notes.md"
    assert matched("prod/infra", path, "path") is None
    assert matched("infra/kub", "infra and kubernetes") is None
    found = matched("infra kub", path, "path")
    assert found is not None and found.match is NameMatch.PATH
    assert marked("tcp/ip", "About TCP/IP") == "About [TCP/IP]"


def order(typed: str, *notes: NamedNote) -> list[str]:
    pattern = name_pattern(typed)
    found = [(name, note) for note in notes if (name := best_name(pattern, note)) is not None]
    return [note.path for name, note in sorted(found, key=lambda one: (one[0].match, one[0].cost))]


def note(path: str, *names: tuple[str, str]) -> NamedNote:
    return NamedNote(DocId(path), ChunkRow(1), names, "notes", path, 0)


def test_a_note_is_shown_by_its_best_name() -> None:
    found = best_name(
        name_pattern("quokka"),
        note("zebra.md", ("name", "zebra"), ("alias", "A quokka"), ("title", "Quokka")),
    )
    assert found is not None and (found.kind, found.text) == ("title", "Quokka")


def test_better_matches_come_first() -> None:
    names = ["xplanx", "plan", "my plan", "planet", "pxlxaxn", "plna"]
    notes = [note(name, ("name", name)) for name in names]
    assert order("plan", *notes) == ["plan", "planet", "my plan", "xplanx", "pxlxaxn", "plna"]
    half = [note(name, ("name", name)) for name in ("하늘", "한글")]
    assert order("한", *half) == ["한글", "하늘"], "a whole syllable before half of one"


def test_a_typo_is_nearer_than_letters_of_several_words() -> None:
    notes = [note(name, ("name", name)) for name in ("FillrectThemename", "fetch")]
    assert order("fecth", *notes) == ["fetch", "FillrectThemename"]


def test_letters_are_those_of_the_keys() -> None:
    assert letters_of("Café_회의-Ä.md") == "cafe ㅎㅗㅣㅇㅡㅣ a md"
    assert letters_of("닭 ㄺ ㄹㄱ") == "ㄷㅏㄹㄱ ㄹㄱ ㄹㄱ"
    assert letters_of(unicodedata.normalize("NFD", "값 각")) == letters_of("값 각")


@pytest.mark.parametrize(
    ("typed", "word", "expected"),
    [("graph", "graph", 0), ("grpah", "graph", 1), ("raph", "graph", 1), ("graphs", "graph", 1),
     ("gtaph", "graph", 1), ("gtahp", "graph", 2), ("tgarhp", "graph", None)],
)  # fmt: skip
def test_edits_count_a_swap_once(typed: str, word: str, expected: int | None) -> None:
    assert edits(typed, word, 2) == expected
    assert edits(typed, word + "ical", 2, unfinished=True) == expected


@pytest.mark.parametrize("typed", ["", "  ", "-", "[[]]", "/", "\0", "\n", "\u0301"])
def test_text_without_letters_matches_nothing(typed: str) -> None:
    for long in (typed, typed * 10_000):
        assert matched(long, "some name") is None
        assert matched(long, "a/b.md", "path") is None
