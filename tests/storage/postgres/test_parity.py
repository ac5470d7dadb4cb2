"""A shared index gives the answers of the local one, to the last digit, on one server and on three."""

from __future__ import annotations

from typing import Any

import pytest

from tests.command_line import Done, Kebab
from tests.storage.postgres.conftest import Shared

pytestmark = pytest.mark.slow

OTHER = {"timings", "took_ms", "stages"}


def answer(done: Done) -> Any:
    def pruned(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: pruned(one) for key, one in value.items() if key not in OTHER}
        return [pruned(one) for one in value] if isinstance(value, list) else value

    return pruned(done.json)


QUERIES = [
    ("kernel",), ("port conflict",), ('"page fault"',), ("back*",), ("the kernel -memory",), ("c++",), ("C# 언어",),
    ("kernel OR network",), ("kernel OR (port conflict)",), ("(kernel OR network) memory",), ("충돌",),
    ("포트 충돌을 해결하는",), ('"포트 충돌"',), ("포트 -충돌",), ("포트* 충돌",), ("김치 tag:요리",), ("커밋 path:**/git* -git",),
    ("no such word at all",), ("links:rrf",), ("linkedby:embeddings -has:tasks",), ("memory -has:links has:tags",),
    ("kernel -links:rrf",), ("prop:tags=linux",), ("prop:date>2026-02 memory",), ("prop:tags prop:lang",),
    ("after:2026-02-10",), ("before:2026-02-01 kernel",), ("modified:2020",), ("modified:<2020",), ("tag:=linux",),
    ("tag:linux -tag:kernel",), ("task:open",), ("memory title:linux",), ("heading:설치 포트",), ("path:*.md",), ("-kernel",),
    ("name:linux",), ("'page AND title : linux'",), ("'kernel AND mem*'",), ("'kernel NOT (memory OR page)'",),
    ("'{text title} : port OR (kernel AND memory)'",), ("dokcer",), ("knerel memroy",), ("embeddings",), ("#linux",),
    ("kernel", "--type", "markdown", "--tag", "linux"), ("kernel", "--lang", "ko", "--kind", "code"),
    ("kernel", "--path-glob", "*/*", "--after", "2020"), ("kernel", "--trust-min", "primary"),
    ("memory", "--strict", "--offset", "3"), ("memory", "--offset", "10", "-k", "7"), ("memory", "--min-score", "0.8"),
    ("how do I free a busy port", "--explain"), ("백업 복구", "--explain"), ("port conflict", "--explain"),
]  # fmt: skip


@pytest.mark.parametrize("mode", ["lexical", "vector", "hybrid"])
def test_every_form_of_a_query_gives_the_same_answer(local: Kebab, shared: Shared, mode: str) -> None:
    different = []
    for argv in QUERIES:
        given = ("search", "--json", "--mode", mode, *argv[1:], "--", argv[0])
        expected, found = local(*given), shared(*given)
        if (found.code, found.err) != (expected.code, expected.err):
            different.append((argv, expected.err, found.err))
        elif expected.out and answer(found) != answer(expected):
            different.append((argv, answer(expected), answer(found)))
    assert not different, different[:3]


def test_everything_else_gives_the_same_answer(local: Kebab, shared: Shared) -> None:
    paths = [line.split("\t")[0] for line in local("list").lines]
    different = []
    for argv in (
        ("list", "--json"), ("list", "--json", "--tag", "linux"), ("list", "--json", "--kind", "code"),
        ("inspect", "--json", paths[0]), ("find", "--json", "dokcer"), ("find", "--json", "ㅎㅇ"),
        ("find", "--json", "-n", "3"), ("find", "--json", "linux/ker"), ("find", "--json", "xyzzyxyzzy"),
        ("find", "--json", "kern", "--tag", "linux"), ("source", "list", "--json"),
        ("source", "search", "notes", "--json"), ("source", "search", "", "kernel memory", "--json"),
        ("source", "search", "", "tag:linux", "--json"), ("links", "--json", "rrf"), ("links", "--json", "--broken"),
        ("links", "--json", "--external"), ("similar", "--json", paths[0]), ("similar", "--json", paths[5]),
        ("search", "--json", "kernel", "--why-not", paths[0]),
        ("search", "--json", "--mode", "lexical", "kernel", "--why-not", paths[0]),
        ("search", "--json", "--mode", "lexical", "kernel tag:none", "--why-not", paths[-1]),
        ("search", "--json", "kernel", "--why-not", "no/such/note.md"),
    ):  # fmt: skip
        expected, found = local(*argv), shared(*argv)
        if (found.code, found.err) != (expected.code, expected.err):
            different.append((argv, expected.err, found.err))
        elif expected.out and answer(found) != answer(expected):
            different.append((argv, answer(expected), answer(found)))
    assert not different, different[:3]
