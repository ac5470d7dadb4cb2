"""The wire as it was agreed on: answers over the sample vault, compared with `fixtures/wire`.

A change here is a change for everybody who reads our JSON. When it is meant, run
`WRITE_SNAPSHOTS=1 pytest tests/wire/test_snapshots.py` and look at the difference.
"""

from __future__ import annotations

import json
import os
from typing import Any

import pytest

from tests.command_line import ROOT, Kebab

SNAPSHOTS = ROOT / "fixtures/wire"
# A slow machine commits more often while it indexes.
VOLATILE = {"ms": 0, "indexed_at": "…", "root": "…", "database": "…", "database_bytes": 0, "seconds": 0,
            "started_at": "…", "finished_at": "…", "location": "…",
            "corpus_revision": 2}  # fmt: skip

COMMANDS = {
    "search_response": "search rust workspace -n 3 --mode lexical --json",
    "search_response_explained": "search 포트 충돌 -n 2 --mode lexical --explain --full --json",
    "search_response_filtered": "search --tag network --path-glob infra/** -n 2 --mode lexical --json",
    "why_not": "search docker --mode lexical --why-not 요리/sourdough.md --json",
    "document_list": "list infra/*.md --json",
    "inspection": "inspect infra/docker.md:L11 --json",
    "found_note_list": "find doker -n 3 --json",
    "source_list": "source list --json",
    "library_list": "source search notes docker --json",
}


def stable(value: Any) -> Any:
    """The object without what differs from one run to the next."""
    if isinstance(value, dict):
        return {key: VOLATILE.get(key, stable(part)) for key, part in value.items()}
    if isinstance(value, float):
        return round(value, 9)  # logarithms differ in the last digits from machine to machine
    return [stable(part) for part in value] if isinstance(value, list) else value


@pytest.mark.parametrize("name", COMMANDS)
def test_the_answer_is_the_one_agreed_on(indexed: Kebab, name: str) -> None:
    answer = stable(indexed(*COMMANDS[name].split()).json)
    file = SNAPSHOTS / f"{name}.json"
    if os.environ.get("WRITE_SNAPSHOTS"):
        file.write_text(json.dumps(answer, indent=2, ensure_ascii=False) + "\n")
    assert answer == json.loads(file.read_text())
