"""A registered backend is found everywhere: one module and one row in `BACKENDS`, no other change."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from kebab_tui.domain.query import SearchFilters, SearchQuery
from kebab_tui.indexing.report import NoteChange
from kebab_tui.search.ports import FieldWeights
from kebab_tui.settings.settings import IndexSettings, Settings
from kebab_tui.storage.backends import BACKENDS, Backend
from kebab_tui.storage.ports import Index
from kebab_tui.tui.launch import build_parser
from kebab_tui.workspace import Callbacks, WatchCallbacks, Workspace
from tests.command_line import Done, Kebab, indexed_sample
from tests.embedding.tiny_models import write_tiny
from tests.indexing.keeping import until
from tests.storage import toy_backend
from tests.vault import Vault

URL = "toy://notes"
FACTORY: Callable[[str, str, FieldWeights], Index] = toy_backend.ToyIndex
"""For mypy: the toy has every method of the ports."""
OTHER = {"index_version", "corpus_revision", "timings", "indexed_at"}
"""Fields that say which index it is, and when."""


class Toy(Kebab):
    def __call__(self, *argv: str, **variables: str) -> Done:
        return super().__call__("--index", URL, *argv, **variables)


@pytest.fixture(scope="module", autouse=True)
def _registered() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patched:
        row = Backend("tests.storage.toy_backend", "ToyIndex", "toy://NAME", "dictionaries, for tests")
        patched.setitem(BACKENDS, "toy", row)
        yield
        toy_backend.forget_all()


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory) -> Kebab:
    """The sample notes in SQLite. Only for reading."""
    return indexed_sample(tmp_path_factory.mktemp("sample"))


@pytest.fixture(scope="module")
def toy(local: Kebab) -> Toy:
    """The same notes in the toy. Only for reading."""
    kebab = Toy(local.data.parent / "toy", local.home)
    done = kebab("ingest", str(local.data.parent / "notes"))
    assert done.code == 0, done.err
    return kebab


def answer(done: Done) -> Any:
    def pruned(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: pruned(one) for key, one in value.items() if key not in OTHER}
        return [pruned(one) for one in value] if isinstance(value, list) else value

    return pruned(done.json)


@pytest.mark.parametrize(
    "argv",
    [
        ("kernel",), ("port conflict",), ('"page fault"',), ("back*",), ("the kernel -memory",), ("c++",),
        ("kernel OR network",), ("충돌",), ("포트 충돌을 해결하는",), ("no such word at all",),
        ("links:rrf",), ("linkedby:embeddings -has:tasks",), ("memory -has:links has:tags",),
        ("kernel -links:rrf",), ("prop:tags=linux",), ("prop:date>2026-02 memory",), ("prop:tags prop:lang",),
        ("after:2026-02-10",), ("before:2026-02-01 kernel",), ("modified:2020",), ("modified:<2020",),
        ("tag:=linux",), ("task:open",),
        ("memory title:linux",), ("path:*.md",), ("-kernel",), ("'page AND title : linux'",),
        ("kernel", "--type", "markdown", "--tag", "linux"), ("kernel", "--lang", "ko", "--kind", "code"),
        ("kernel", "--path-glob", "*/*", "--after", "2020"), ("kernel", "--trust-min", "primary"),
        ("port conflict", "--explain"), ("백업 복구", "--explain"), ("memory", "--strict", "--offset", "3"),
    ],
    ids=" ".join,
)  # fmt: skip
def test_a_search_answers_the_same_as_sqlite(local: Kebab, toy: Toy, argv: tuple[str, ...]) -> None:
    given = ("search", "--json", "--mode", "lexical", *argv[1:], "--", argv[0])
    expected, found = local(*given), toy(*given)
    assert (found.code, found.err) == (expected.code, expected.err)
    assert answer(found) == answer(expected)


def test_notes_are_listed_inspected_and_missed_as_in_sqlite(local: Kebab, toy: Toy) -> None:
    paths = [line.split("\t")[0] for line in local("list").lines]
    for argv in (
        ("list", "--json"),
        ("list", "--json", "--tag", "linux"),
        ("inspect", "--json", paths[0]),
        ("find", "--json", "dokcer"),
        ("source", "search", "notes", "--json"),
        ("source", "search", "", "kernel memory", "--json"),
        ("source", "search", "", "tag:linux", "--json"),
        ("find", "--json", "ㅎㅇ"),
        ("find", "--json", "-n", "3"),
        ("links", "--json", "rrf"),
        ("links", "--json", "--broken"),
        ("links", "--json", "--external"),
        ("find", "--json", "xyzzyxyzzy"),
        ("search", "--json", "--mode", "lexical", "kernel", "--why-not", paths[0]),
        ("search", "--json", "--mode", "lexical", "kernel tag:none", "--why-not", paths[-1]),
        ("search", "--json", "--mode", "lexical", "kernel", "--why-not", "no/such/note.md"),
    ):
        expected, found = local(*argv), toy(*argv)
        assert (found.code, found.err) == (expected.code, expected.err)
        assert answer(found) == answer(expected)


def test_private_notes_are_flagged_and_left_out_as_in_sqlite(tmp_path: Path) -> None:
    vault = Vault(tmp_path)
    vault.write("open.md", "word\n")
    vault.write("own.md", "---\nprivate: true\n---\nword\n")
    vault.write("diary/a.md", "word\n")
    toy = Workspace(Settings(index=IndexSettings(url="toy://private")), str(tmp_path / "toy"))
    shareable = SearchFilters(shareable=True)
    for rules, expected in (
        ("diary/\n", ["open.md"]),
        ("*.md\n!a.md\n", ["diary/a.md"]),
        ("", ["diary/a.md", "open.md"]),
    ):
        vault.write(".kebabprivate", rules)
        for workspace in (vault.workspace, toy):
            workspace.ingest([str(vault.root)], Callbacks())
            response = workspace.search(SearchQuery("word", "lexical", filters=shareable))
            assert sorted(hit.path for hit in response.hits) == expected
            assert response.total_matches == len(expected)
            assert [note.path for note in workspace.documents(shareable)[0]] == expected
            assert sorted(note.document.path for note in workspace.find("", filters=shareable)) == expected
    everywhere = [
        [(note.path, note.flags) for note in one.documents(SearchFilters())[0]]
        for one in (vault.workspace, toy)
    ]
    assert everywhere[0] == everywhere[1]
    vault.workspace.close()


def test_the_help_and_the_errors_name_every_backend(toy: Toy, capsys: pytest.CaptureFixture[str]) -> None:
    assert "toy://NAME" in toy("--help").out
    build_parser().print_help()
    assert "toy://NAME" in capsys.readouterr().out
    unknown = toy("search", "word", "--index", "nowhere://notes")
    assert unknown.code == 2
    assert "nowhere://" in unknown.err and "toy://NAME" in unknown.err and "FOLDER" in unknown.err


def test_an_operator_that_only_sqlite_has_is_refused_by_name(toy: Toy) -> None:
    refused = toy("search", "'NEAR(kernel memory)'", "--mode", "lexical")
    assert refused.code == 2
    assert "NEAR" in refused.err


@pytest.mark.parametrize("url", ["toy://me:hidden@host/notes", "toy://host/notes?password=hidden"])
def test_a_password_in_the_url_is_refused(toy: Toy, url: str) -> None:
    refused = toy("search", "word", "--index", url)
    assert refused.code == 2
    assert "password" in refused.err and "hidden" not in refused.err


@pytest.mark.parametrize("url", ["postgres:me:hidden@host", "sqlite:/tmp/index"])
def test_half_a_url_makes_no_folder(toy: Toy, url: str) -> None:
    refused = toy("ingest", "--index", url)
    assert refused.code == 2
    assert "neither a URL nor a folder" in refused.err and "hidden" not in refused.err


def test_a_folder_may_be_named_like_half_a_url(toy: Toy, tmp_path: Path) -> None:
    folder = tmp_path / "team:notes"
    assert toy("source", "list", "--index", f"{folder}").code == 0
    assert toy("source", "list", "--index", "./new:notes").code == 0


@pytest.mark.slow
def test_health_and_figures_are_those_of_the_backend(toy: Toy) -> None:
    assert "ok       toy: 75 notes" in toy("doctor").out
    status = toy("index", "--status", "--json").json
    assert status["database"] == URL
    absent = toy("search", "word", "--mode", "lexical", "--index", "toy://absent")
    assert absent.code == 2 and "there is no index toy://absent" in absent.err
    assert toy("doctor", "--index", "toy://absent").code == 3


def test_notes_are_followed_through_changes(tmp_path: Path) -> None:
    vault = Vault(tmp_path, Settings(index=IndexSettings(url="toy://changing")))
    vault.write("a.md", "# First\n\nalpha\n")
    vault.write("b.md", "# Second\n\nbeta\n")
    vault.write("c.md", "gamma\n")
    assert vault.ingest().count("added") == 3
    vault.write("a.md", "# First\n\nalpha and delta\n")
    os.rename(tmp_path / "notes" / "b.md", tmp_path / "notes" / "moved.md")
    os.remove(tmp_path / "notes" / "c.md")
    report = vault.ingest()
    assert [report.count(outcome) for outcome in ("changed", "moved", "removed")] == [1, 1, 1]
    assert vault.find("delta") == ["a.md"]
    assert vault.find("beta") == ["moved.md"]
    assert vault.find("gamma") == []
    assert not os.path.exists(vault.data / "kebab.sqlite")


def test_it_is_searched_by_meaning_and_kept_by_the_indexing_process(tmp_path: Path) -> None:
    vault = Vault(tmp_path, Settings(index=IndexSettings(url="toy://meaning")))
    vault.write("a.md", "port conflict")
    vault.write("b.md", "backup 백업")
    vault.ingest()
    write_tiny(vault.data / "models" / "tiny", normalise=True)
    vault.workspace.use_model("tiny", Callbacks())
    assert vault.workspace.embed(Callbacks()).embedded == 2
    for mode in ("vector", "hybrid"):
        found = vault.workspace.search(SearchQuery("port", mode))
        assert found.mode == mode
        assert found.hits[0].path == "a.md"
    changes: list[NoteChange] = []
    stop = threading.Event()
    watching = WatchCallbacks(stop.is_set, changes.append)
    other = vault.opened(vault.workspace.settings)
    thread = threading.Thread(target=other.watch, args=([], watching, "a test"))
    thread.start()
    try:
        until(lambda: vault.workspace.live() is not None)
        vault.write("new.md", "fresh port")
        until(lambda: {change.path for change in changes} == {"new.md"})
        until(lambda: vault.find("fresh") == ["new.md"])
        until(lambda: vault.workspace.vectors().pending == 0)
    finally:
        stop.set()
        thread.join()
