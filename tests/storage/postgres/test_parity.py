"""A shared index gives the answers of the local one, to the last digit, on one server and on three."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from kebab_tui.domain.query import SEARCH_MODES, SearchMode, SearchQuery
from kebab_tui.evaluation.beir import corpus_notes, read_beir
from kebab_tui.evaluation.golden import read_golden
from kebab_tui.search.explanation import ExplainedResponse
from kebab_tui.settings.settings import IndexSettings, Settings
from kebab_tui.storage.postgres.postgres_index import PostgresIndex
from kebab_tui.workspace import Callbacks, Workspace
from tests.command_line import ROOT, Done, Kebab
from tests.storage.postgres.conftest import Servers, Shared

pytestmark = pytest.mark.slow

FORMS = """
kernel
"page fault"
back*
the kernel -memory
c++
C# 언어
kernel OR network
kernel OR (port conflict)
(kernel OR network) memory
충돌
포트 충돌을 해결하는
"포트 충돌"
포트 -충돌
포트* 충돌
김치 tag:요리
커밋 path:**/git* -git
no such word at all
links:rrf
linkedby:embeddings -has:tasks
memory -has:links has:tags
kernel -links:rrf
prop:tags=linux
prop:date>2026-02 memory
prop:tags prop:lang
after:2026-02-10
before:2026-02-01 kernel
modified:2020
modified:<2020
tag:=linux
tag:linux -tag:kernel
task:open
memory title:linux
heading:설치 포트
path:*.md
path:in*/[!a]*.md port
-kernel
name:linux
type:markdown lang:ko kind:code
trust:primary kernel
'page AND title : linux'
'kernel AND mem*'
'kernel NOT (memory OR page)'
'{text title} : port OR (kernel AND memory)'
dokcer
knerel memroy
백업 복우
embeddings
#linux
port conflict
""".strip().splitlines()
VARIANTS = (
    SearchQuery("memory", strict=True, offset=3),
    SearchQuery("memory", k=7, offset=10),
    SearchQuery("memory", k=50, offset=20),
    SearchQuery("memory", min_score=0.8),
    SearchQuery("port conf", typing=True),
    SearchQuery("ker", typing=True),
    SearchQuery("포트 충", typing=True),
    SearchQuery("port conflict", rerank=False),
    SearchQuery("dokcer", exact=True),
)


def golden() -> list[str]:
    return [one.text for one in read_golden(str(ROOT / "fixtures/golden.yaml"))]


@pytest.fixture(scope="module")
def here(embedded_place: Path) -> Iterator[Workspace]:
    with closing(Workspace(Settings(), str(embedded_place / "data"))) as workspace:
        yield workspace


@pytest.fixture(scope="module")
def there(shared: Shared) -> Iterator[Workspace]:
    with closing(Workspace(Settings(index=IndexSettings(url=shared.url)), str(shared.data))) as workspace:
        yield workspace


def timeless(found: ExplainedResponse) -> ExplainedResponse:
    return replace(found, response=replace(found.response, stages=()))


def different(here: Workspace, there: Workspace, queries: Iterable[SearchQuery]) -> tuple[int, list[object]]:
    """How many hits were compared, and the queries with different hits, notices, counts or explanations."""
    hits, found = 0, list[object]()
    for query in queries:
        expected, other = _explained(here, query), timeless(there.explain(query))
        hits += len(expected.response.hits)
        if other != expected:
            found.append((query, expected.response, other.response))
    return hits, found


@cache
def _explained(here: Workspace, query: SearchQuery) -> ExplainedResponse:
    return timeless(here.explain(query))


@pytest.mark.parametrize(
    ("shared", "mode"),
    [
        pytest.param(1, "lexical", id="1 server-lexical"),
        pytest.param(1, "vector", id="1 server-vector", marks=pytest.mark.more),
        pytest.param(1, "hybrid", id="1 server-hybrid", marks=pytest.mark.more),
        *(pytest.param(3, mode, id=f"3 servers-{mode}") for mode in SEARCH_MODES),
    ],
    indirect=["shared"],
)
def test_every_form_of_a_query_has_the_same_hits_and_explanations(
    here: Workspace, there: Workspace, mode: SearchMode
) -> None:
    texts = golden() if mode == "hybrid" else golden()[::3]
    queries = [SearchQuery(text, mode) for text in (*FORMS, *texts)]
    queries += [replace(query, mode=mode) for query in VARIANTS]
    hits, found = different(here, there, queries)
    assert hits > 300
    assert not found, found[:2]


def test_a_first_answer_and_recent_notes_are_the_same(here: Workspace, there: Workspace) -> None:
    for text in ("kernel", "포트 충", "port conf"):
        query = SearchQuery(text, "lexical", typing=True)
        found = [replace(one.search(query, first_answer=True), stages=()) for one in (here, there)]
        assert found[0] == found[1]
    assert replace(here.recent(30, 5), stages=()) == replace(there.recent(30, 5), stages=())
    assert vars(here.completions()) == vars(there.completions())


TRIPS: dict[str, tuple[str, dict[str, Any]]] = {
    "words": ("kernel memory", {}),
    "a question": ("how do I free a busy port", {}),
    "one word": ("kernel", {}),
    "a phrase": ('"page fault"', {}),
    "a prefix": ("back* kernel", {}),
    "Korean": ("포트 충돌을 해결하는", {}),
    "alternatives": ("kernel OR (port conflict)", {}),
    "excluded words": ("the kernel -memory", {}),
    "strict": ("kernel memory", {"strict": True}),
    "a filter": ("커밋 path:**/git* -git", {}),
    "filters alone": ("type:markdown lang:ko", {}),
    "a source": ("kernel in:notes", {}),
    "a tag": ("#linux", {}),
    "the name of a note": ("embeddings", {}),
    "a word while it is typed": ("port conf", {"typing": True}),
    "Korean while it is typed": ("포트 충", {"typing": True}),
    "a typing slip": ("knerel memory", {}),
    "the second page": ("memory", {"offset": 10}),
    "a page behind the pool": ("the kernel memory", {"k": 50, "offset": 300}),
    "a least score": ("memory", {"min_score": 0.8}),
    "no rerank": ("port conflict", {"rerank": False}),
    "no word that a note has": ("qwxyz", {}),
}
MORE: dict[str, tuple[str, dict[str, Any], int]] = {
    # The words that are like it must be known before they can be counted.
    "two slips in a word": ("kubrenetse memory", {}, 5),
    # Its syllables, then the words that have them, then whether they are names; then as for other words.
    "a slip in Korean": ("백업 복우", {}, 6),
    # What is linked is resolved before anything is searched there: four trips.
    "links": ("kernel links:rrf", {}, 7),
}
"""Each step of these needs the one before it."""


@pytest.mark.parametrize("mode", SEARCH_MODES)
def test_a_search_takes_at_most_four_trips(there: Workspace, mode: SearchMode) -> None:
    index = there._parts.index
    assert isinstance(index, PostgresIndex)
    cases: dict[str, tuple[str, dict[str, Any], int]] = {
        **{name: (text, more, 4) for name, (text, more) in TRIPS.items()},
        **MORE,
    }
    trips: dict[str, tuple[int, int]] = {}
    for name, (text, more, most) in cases.items():
        for ask, further in ((there.search, 0), (there.explain, 1)):
            there.search(SearchQuery("other words", mode))
            index.forget_answers()
            before = index.round_trips
            ask(SearchQuery(text, mode, **more))
            is_more = most > 4 or "slip" in name
            trips[f"{name}, {ask.__name__}"] = index.round_trips - before, most + further * is_more
    assert not {name: one for name, one in trips.items() if one[0] > one[1]}


@pytest.mark.parametrize("mode", SEARCH_MODES)
def test_the_first_search_takes_one_more_trip(shared: Shared, tmp_path: Path, mode: SearchMode) -> None:
    """To learn which copy is the present one."""
    settings = Settings(index=IndexSettings(url=shared.url))
    with closing(Workspace(settings, str(tmp_path))) as workspace:
        index = workspace._parts.index
        assert isinstance(index, PostgresIndex)
        workspace.search(SearchQuery("kernel memory", mode))
        assert index.round_trips <= 5


def answer(done: Done) -> Any:
    return json.loads(done.out) if done.out else None


def test_everything_else_gives_the_same_answer(local: Kebab, shared: Shared) -> None:
    paths = [line.split("\t")[0] for line in local("list").lines]
    for argv in (
        ("list", "--tag", "linux"),
        ("list", "--kind", "code"),
        ("inspect", paths[0]),
        ("find", "dokcer"),
        ("find", "ㅎㅇ"),
        ("find", "linux/ker"),
        ("find", "kern", "--tag", "linux"),
        ("source", "list"),
        ("source", "search", "", "kernel memory"),
        ("links", "rrf"),
        ("links", "--broken"),
        ("similar", paths[0]),
        ("similar", paths[5]),
        ("search", "kernel", "--why-not", paths[0]),
        ("search", "--mode", "lexical", "kernel tag:none", "--why-not", paths[-1]),
        ("search", "kernel", "--why-not", "no/such/note.md"),
    ):
        expected, found = local(*argv, "--json"), shared(*argv, "--json")
        assert (found.code, found.err) == (expected.code, expected.err), argv
        assert answer(found) == answer(expected), argv


@pytest.mark.more
def test_cranfield_gives_the_same_answers(tmp_path: Path, servers: Servers) -> None:
    """With CRANFIELD_FOLDER, a folder of BEIR."""
    if not (folder := os.environ.get("CRANFIELD_FOLDER", "")):
        pytest.skip("CRANFIELD_FOLDER names no folder")
    beir = read_beir(folder, "test")
    notes = corpus_notes(str(tmp_path / "notes"), beir.documents()).folder
    data = tmp_path / "data"
    with closing(Workspace(Settings(), str(data))) as here:
        here.ingest([notes], Callbacks())
        here.embed(Callbacks())
        for count in (1, 3):
            urls = servers.database(count)
            here.publish(urls[0], shards=urls[1:])
            with closing(Workspace(Settings(index=IndexSettings(url=urls[0])), str(tmp_path / "r"))) as there:
                for mode in SEARCH_MODES:
                    queries = [SearchQuery(one.text, mode) for one in beir.questions]
                    hits, found = different(here, there, queries)
                    print(
                        f"{count} servers, {mode}: {len(queries)} queries, {hits} hits, {len(found)} differ"
                    )
                    assert hits and not found, found[:1]
