"""Requests of other processes to the writer."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from kebab_tui.domain.ids import ChunkRow
from kebab_tui.storage.ports import EmbedFirst, Rescan
from kebab_tui.storage.requests import RequestFolder


@pytest.mark.parametrize("written", [-86_400, 0, 86_400], ids=["a day ago", "now", "tomorrow"])
def test_unfinished_files_of_a_killed_process_are_removed_after_a_minute(
    tmp_path: Path, written: int
) -> None:
    now = 1000.0
    requests = RequestFolder(str(tmp_path), lambda: now)
    requests.ask(Rescan(("/notes/a.md",)))
    folder = tmp_path / "requests"
    for name in (".7-1.want", "7-2.json.new"):
        (folder / name).write_text("{")
        stamp = (folder / name).stat().st_mtime + written
        os.utime(folder / name, (stamp, stamp))
    assert requests.look()[1] == [Rescan(("/notes/a.md",))]
    now += 50
    (folder / "8-1.json.new").write_text("{")
    requests.look()
    assert len(os.listdir(folder)) == 3, "they may still be finished"
    now += 20
    requests.look()
    assert os.listdir(folder) == ["8-1.json.new"]


def test_the_folder_is_listed_every_two_seconds_while_nothing_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 1000.0
    listed: list[str] = []
    requests, asking = RequestFolder(str(tmp_path), lambda: now), RequestFolder(str(tmp_path))
    listdir = os.listdir

    def list_folder(path: str) -> list[str]:
        listed.append(path)
        return listdir(path)

    monkeypatch.setattr(os, "listdir", list_folder)

    def beats(count: int) -> None:
        nonlocal now
        for _ in range(count):
            now += 0.1
            assert not requests.wanted()
            assert requests.look()[1] == []

    for _ in range(2):  # without the folder, then with an empty one
        beats(40)
        listed.clear()
        beats(100)
        assert len(listed) in (4, 5, 6), "in ten seconds"
        asking.ask(Rescan())
        assert requests.look()[1] == [Rescan()], "seen at the next look"
    with asking.wanting():
        assert requests.wanted()
        assert requests.wanted(), "as long as it lasts"
    assert not requests.wanted()


def test_a_request_is_found_where_the_file_system_does_not_stamp_its_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 1000.0
    monkeypatch.setattr("kebab_tui.own_files.stamp_of", lambda _: (1, 2, 3))
    requests = RequestFolder(str(tmp_path), lambda: now)
    for now in (1000.0, 1003.0, 1006.0):  # noqa: B007 - the clock
        assert not requests.wanted()
    RequestFolder(str(tmp_path)).ask(Rescan(("/notes/a.md",)))
    now += 2
    assert requests.look()[1] == [Rescan(("/notes/a.md",))]


@pytest.mark.parametrize(
    "text",
    [
        "[" * 50_000,
        "[]",
        "null",
        '{"verb": "rescan"}',
        '{"verb": "rescan", "paths": [1], "retry": false}',
        '{"verb": "rescan", "paths": ["a\\u0000b"], "retry": false}',
        '{"verb": "rescan", "paths": ["\\ud800"], "retry": false}',
        '{"verb": "rescan", "paths": 1, "retry": false}',
        '{"verb": "embed_first"}',
        '{"verb": "embed_first", "rows": 1}',
        '{"verb": "embed_first", "rows": ["1"]}',
        '{"verb": "embed_first", "rows": [1e999]}',
        '{"verb": "embed_first", "rows": [-1]}',
        '{"verb": "embed_first", "rows": [9223372036854775808]}',
    ],
)
def test_an_unreadable_request_is_dropped(tmp_path: Path, text: str) -> None:
    requests = RequestFolder(str(tmp_path))
    requests.ask(Rescan(("/notes/a.md",)))
    (tmp_path / "requests" / "0-1.json").write_text(text)
    assert requests.look()[1] == [Rescan(("/notes/a.md",))]
    assert os.listdir(tmp_path / "requests") == []


def test_pipes_in_place_of_requests_do_not_block(tmp_path: Path) -> None:
    requests = RequestFolder(str(tmp_path))
    (tmp_path / "requests").mkdir()
    for name in ("1-1.json", "1-2.want"):
        os.mkfifo(tmp_path / "requests" / name)
    assert requests.look()[1] == []
    assert not requests.wanted()
    assert os.listdir(tmp_path / "requests") == []


def test_requests_are_taken_in_order(tmp_path: Path) -> None:
    requests = RequestFolder(str(tmp_path))
    asked = [Rescan((f"/notes/{n}.md",)) if n % 3 else EmbedFirst((ChunkRow(n + 1),)) for n in range(12)]
    for request in asked:
        requests.ask(request)
    assert requests.look()[1] == asked
