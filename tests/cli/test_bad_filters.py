"""A filter without a valid value: for every key of the registry, in every form, an error and no hits."""

from __future__ import annotations

import json

import pytest

from kebab_tui.search.filter_keys import FILTER_KEYS
from kebab_tui.workspace import Workspace
from tests.command_line import Kebab

BAD = {
    "tag": "#",
    "path": "a[b",
    "type": "nte",
    "kind": "cod",
    "lang": "koo",
    "trust": "high",
    "after": "lastweek",
    "before": "2026-13-99",
}
"""A bad value; every other key only refuses none at all."""

FILTERS = [*((key, f"{key}:") for key in FILTER_KEYS), *((key, f"{key}:{BAD[key]}") for key in BAD)]


@pytest.mark.parametrize(("key", "text"), FILTERS, ids=[text for _, text in FILTERS])
def test_a_bad_value_is_an_error_with_key_and_hint_and_finds_nothing(
    indexed: Kebab, key: str, text: str
) -> None:
    for shown in (text, text.replace(key, key.upper())):
        error = Workspace.parse(f"rust {shown}").error
        assert error is not None
        assert f"{key}:" in error.message and error.hint

    query = f"rust {text} git"
    for more in ((), ("--explain",), ("--why-not", "dev/git-cheatsheet.md"), ("--mode", "lexical")):
        done = indexed("search", query, *more)
        assert (done.code, done.out) == (2, "")
        first, second = done.err.splitlines()
        assert first.startswith("error: ") and text in first
        assert second.startswith("  hint: ")

    for form in ("json", "jsonl"):
        done = indexed("search", query, "--format", form)
        assert (done.code, done.out) == (2, "")
        told = json.loads(done.err)
        assert (told["schema_version"], told["code"]) == ("error.v1", "bad_filter")
        assert text in told["message"] and told["hint"]


def test_the_nearest_value_is_named(indexed: Kebab) -> None:
    assert "did you mean type:note?" in indexed("search", "rust type:nte").err
    assert "did you mean after:yesterday?" in indexed("search", "rust after:yesterdy").err


def test_an_unknown_source_is_an_error_that_names_the_nearest(indexed: Kebab) -> None:
    (source,) = indexed("source", "list", "--json").json["items"]
    name = source["source_id"]
    assert indexed("search", f"rust in:{name}").code == 0
    done = indexed("search", f"rust in:{name}s")
    assert (done.code, done.out) == (2, "")
    assert f"invalid in:{name}s" in done.err
    assert f"did you mean in:{name}?" in done.err
    assert f"the sources are: {name}" in indexed("search", "rust in:xyzzy").err


def test_an_unknown_key_is_searched_and_named(indexed: Kebab) -> None:
    near, far = indexed("search", "rust creatd:2026"), indexed("search", "rust zotero:ownership")
    assert (near.code, far.code) == (0, 0)
    assert "Unknown filter creatd: searched as text. Did you mean after:?" in near.err
    assert "Unknown filter zotero: searched as text. The filters are tag:, name:, prop:," in far.err
    notices = indexed("search", "rust zotero:ownership", "--json").json["notices"]
    assert "unknown_key" in {notice["code"] for notice in notices}
