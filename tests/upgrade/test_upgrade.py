"""Indexes that earlier programs made: searched as they are, upgraded by the next ingest."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from kebab_tui.domain.errors import DiskFullError
from kebab_tui.domain.query import SearchFilters, SearchQuery
from kebab_tui.embedding.onnx import CancellableRun, Graph, Vector
from kebab_tui.search.match import Word
from kebab_tui.settings.settings import Settings
from kebab_tui.storage.lock import DataFolder
from kebab_tui.storage.sqlite import schema
from kebab_tui.storage.sqlite.connection import open_reader, open_writer
from kebab_tui.storage.sqlite.writer import StoreWriter
from kebab_tui.workspace import Callbacks, Workspace
from tests.command_line import Kebab
from tests.disks import fill, remount, small_disk
from tests.indexing.keeping import keeping, until
from tests.upgrade import COMMITS, NOTES, unpack, write_notes
from tests.upgrade.undoing import back_to
from tests.vault import Vault, index_in
from tests.wire.test_schemas import check

OLDEST, LAST = next(iter(COMMITS)), list(COMMITS)[-1]
WITH_VECTORS = list(COMMITS)[2:]
READ_AS_NOW = "0e7e789"
"""Whose notes are read as now; only tables and indexes are those of an older schema."""
OLDER = [commit for commit in COMMITS if commit != READ_AS_NOW]
READ_AGAIN = "9fe2ce9"
"""The last whose notes are read by another version now."""


@pytest.fixture(params=COMMITS)
def vault(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Vault]:
    made = Vault(tmp_path)
    write_notes(made.root)
    unpack(request.param, made.data, made.root)
    yield made
    made.workspace.close()


def paths(vault: Vault, text: str) -> list[str]:
    return [hit.path for hit in vault.workspace.search(SearchQuery(text, "lexical")).hits]


def answers(vault: Vault) -> dict[str, object]:
    """What a user finds: words of both languages, filters, a note with its passages."""
    inspected = vault.workspace.inspect("kettle.md")
    return {
        "word": paths(vault, "scale"),
        "inside": paths(vault, "부산"),
        "tag": paths(vault, "tag:tea"),
        "type": paths(vault, "type:note bread"),
        "kind": paths(vault, "kind:code boil"),
        "path": paths(vault, "path:여행/** 지도"),
        "facets": sorted((facet.kind, facet.value) for facet in inspected.document.facets),
        "citations": [str(chunk.span) for chunk in inspected.chunks],
        "notes": [note.path for note in vault.workspace.documents(SearchFilters())[0]],
    }


def shape(path: Path) -> dict[str, object]:
    """The columns of every table, and the text of every index and trigger."""
    database = sqlite3.connect(path)
    rows = database.execute("SELECT type, name, sql FROM sqlite_schema WHERE sql IS NOT NULL").fetchall()
    found: dict[str, object] = {
        name: sorted(row[1:4] for row in database.execute(f"PRAGMA table_info({name})"))
        if kind == "table"
        else " ".join(sql.split())
        for kind, name, sql in rows
    }
    database.close()
    return found


def test_an_older_index_is_searched_as_it_is_and_not_changed(
    vault: Vault, request: pytest.FixtureRequest
) -> None:
    before = (vault.data / "kebab.sqlite").read_bytes()
    found = answers(vault)
    notices = {notice.code for notice in vault.workspace.search(SearchQuery("scale", "lexical")).notices}
    is_older = request.node.callspec.params["vault"] in OLDER
    assert ("index_stale" in notices) == is_older, "its notes are read again, or not scanned for all formats"
    assert found["word"] == ["kettle.md"]
    for name in ("kettel", "주전자", "여행/"):
        assert vault.workspace.find(name), name
    facets: list[tuple[str, str]] = [one for one in found["facets"] if one[0] in ("alias", "tag")]  # type: ignore[attr-defined]
    assert facets == [("alias", "주전자"), ("tag", "kitchen"), ("tag", "tea")]
    assert len(found["notes"]) == len(NOTES)  # type: ignore[arg-type]
    vault.workspace.close()
    assert (vault.data / "kebab.sqlite").read_bytes() == before


def test_an_upgraded_index_answers_as_a_new_one(vault: Vault, tmp_path: Path) -> None:
    (tmp_path / "new").mkdir()
    new = Vault(tmp_path / "new")
    write_notes(new.root)
    new.ingest()
    vault.workspace.ingest([], Callbacks())
    assert answers(vault) == answers(new)
    vault.workspace.close()
    new.workspace.close()
    assert shape(vault.data / "kebab.sqlite") == shape(new.data / "kebab.sqlite")
    assert vault.orphans() == []
    assert vault.outcomes() == {}, "nothing is read a third time"


@pytest.mark.parametrize("vault", OLDER, indirect=True)
def test_the_doctor_finds_an_older_index_healthy_and_leaves_it_as_it_is(vault: Vault) -> None:
    levels = {finding.check: finding.level for finding in vault.workspace.doctor()}
    assert (levels["database"], levels["index version"]) == ("warning", "warning")
    assert "problem" not in levels.values()
    assert vault.rows("PRAGMA user_version") < [(schema.SCHEMA_VERSION,)]


def test_names_are_found_before_the_notes_are_read_again(vault: Vault) -> None:
    assert paths(vault, "주전자") == ["kettle.md"], "by the alias, also in an older index"
    StoreWriter(DataFolder(str(vault.data))).close()
    assert paths(vault, "주전자") == ["kettle.md"]
    with index_in(str(vault.data)).reader.snapshot() as snapshot:
        assert [note.path for note in snapshot.named("plain", SearchFilters(), 5)] == ["plain.txt"]
        assert [note.path for note in snapshot.names_with(Word("kettle"), SearchFilters(), 5)] == [
            "kettle.md"
        ]


@pytest.mark.parametrize("vault", OLDER, indirect=True)
def test_no_note_of_an_older_index_is_shared_before_it_is_read_again(vault: Vault) -> None:
    """The older program did not know which notes are private."""
    secret = vault.root / "kettle.md"
    status = secret.stat()
    text = secret.read_text().replace("---\ntags", "---\nprivate: 1\ntags")
    secret.write_text(text[: status.st_size])
    os.utime(secret, ns=(status.st_atime_ns, status.st_mtime_ns))
    stamp = status.st_mtime_ns, secret.stat().st_ctime_ns, secret.stat().st_ino
    with sqlite3.connect(vault.data / "kebab.sqlite") as database:  # as if the older program had read it
        database.execute(
            "UPDATE documents SET mtime_ns = ?, ctime_ns = ?, inode = ? WHERE path = 'kettle.md'", stamp
        )
    database.close()
    shareable = SearchFilters(shareable=True)
    for query in ("scale", "bread", ""):
        assert vault.workspace.search(SearchQuery(query, "lexical", filters=shareable)).total_matches == 0
    assert vault.workspace.documents(shareable) == ([], 0)
    assert vault.workspace.find("", filters=shareable) == []
    vault.workspace.ingest([], Callbacks())
    listed, _ = vault.workspace.documents(shareable)
    assert sorted(note.path for note in listed) == sorted(set(NOTES) - {"kettle.md"})
    assert vault.workspace.inspect("kettle.md").document.flags == ("private",)


@pytest.mark.parametrize("vault", WITH_VECTORS, indirect=True)
def test_vectors_of_unchanged_texts_are_kept(vault: Vault) -> None:
    vectors = "SELECT text_hash, model, vector FROM embeddings ORDER BY 1"
    title = "substr(title, 1, instr(title || char(10), char(10)) - 1)"
    texts = f"SELECT {title}, heading_path, text FROM chunks"
    before, texts_before = vault.rows(vectors), set(vault.rows(texts))
    vault.workspace.ingest([], Callbacks())
    assert vault.rows(vectors) == before
    kept = texts_before & set(vault.rows(texts))
    assert len(kept) >= 3
    assert kept == set(vault.rows(f"{texts} WHERE embed_hash IN (SELECT text_hash FROM embeddings)"))


LONG = "# Long\n\n" + "".join(f"Line {number} says a word or two about kettles.\n" for number in range(90))


def test_only_long_texts_are_read_after_the_upgrade_and_only_their_rest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An index whose vectors are those of the beginning of each text, as an earlier program made them."""
    vault = Vault(tmp_path)
    vault.write("long.md", LONG)
    vault.write("short.md", "# Short\n\nA short note about scale.")
    vault.ingest()
    vault.workspace.embed(Callbacks())
    vectors = vault.rows("SELECT text_hash, vector FROM embeddings ORDER BY 1")
    size = min(len(blob) for _, blob in vectors)  # type: ignore[arg-type]
    assert any(len(blob) > size for _, blob in vectors)  # type: ignore[arg-type]
    vault.workspace.close()
    with sqlite3.connect(vault.data / "kebab.sqlite") as database:
        database.execute("UPDATE embeddings SET vector = substr(vector, 1, ?)", (size,))
    database.close()
    back_to(6, vault.data / "kebab.sqlite")
    (vault.data / "vectors.kebabvec").unlink()
    found = vault.workspace.search(SearchQuery("what is on the last line about kettles")).hits[0].path
    assert found == "long.md", "the older index answers as it is"
    vault.workspace.ingest([], Callbacks())
    pending = vault.workspace.pending()
    assert (pending.texts, pending.outdated) == (0, len(vectors))
    assert vault.workspace.vectors().indexed == vault.workspace.vectors().total
    runs: list[int] = []
    really = Graph.vector

    def vector(graph: Graph, ids: Sequence[int], run: CancellableRun | None = None) -> Vector:
        runs.append(len(ids))
        return really(graph, ids, run)

    monkeypatch.setattr(Graph, "vector", vector)
    report = vault.workspace.embed(Callbacks())
    parts = [len(blob) // size for _, blob in vectors]  # type: ignore[arg-type]
    assert len(runs) == sum(parts) - len(parts), "no beginning is read again"
    assert report.embedded == sum(count > 1 for count in parts)
    assert vault.rows("SELECT text_hash, vector FROM embeddings ORDER BY 1") == vectors
    assert vault.workspace.pending().outdated == 0
    vault.workspace.close()


def test_an_index_without_uses_of_sources_answers_before_and_after_the_upgrade(tmp_path: Path) -> None:
    """The schema right before step 8."""
    vault = Vault(tmp_path)
    vault.write("kettle.md", "Descaling with citric acid.")
    vault.ingest()
    vault.workspace.close()
    back_to(7, vault.data / "kebab.sqlite")
    before = (vault.data / "kebab.sqlite").read_bytes()
    assert paths(vault, "citric") == ["kettle.md"]
    assert [source.use for source in vault.workspace.sources()] == ["watched"]
    vault.workspace.close()
    assert (vault.data / "kebab.sqlite").read_bytes() == before
    assert vault.outcomes() == {}, "no note is read again"
    assert vault.rows("SELECT use FROM sources") == [("watched",)]
    assert vault.rows("PRAGMA user_version") == [(schema.SCHEMA_VERSION,)]
    vault.workspace.close()


def test_every_source_of_an_older_index_is_watched(vault: Vault) -> None:
    assert [source.use for source in vault.workspace.sources()] == ["watched"]
    vault.workspace.set_source_use(vault.workspace.sources()[0].source_id, "paused", Callbacks())
    assert [source.use for source in vault.workspace.sources()] == ["paused"]
    assert paths(vault, "scale") == ["kettle.md"]


def test_a_screen_that_was_open_before_the_upgrade_goes_on_searching(vault: Vault) -> None:
    assert paths(vault, "scale") == ["kettle.md"]
    other = vault.opened(vault.workspace.settings)
    other.ingest([], Callbacks())
    other.close()
    assert paths(vault, "scale") == ["kettle.md"]
    assert "index_stale" not in {n.code for n in vault.workspace.search(SearchQuery("scale")).notices}


@pytest.mark.parametrize("vault", [OLDEST], indirect=True)
def test_the_indexing_process_reads_the_notes_again_newest_first_and_counts_them(vault: Vault) -> None:
    with keeping(vault) as process:
        until(lambda: (live := process.live()) is not None and live.upgrading is None and not live.pending)
    assert process.states[0].upgrading == (0, len(NOTES))
    assert process.outcomes() == [("changed", path) for path in reversed(NOTES)]


@pytest.mark.parametrize("vault", [OLDEST], indirect=True)
def test_a_stopped_upgrade_goes_on_where_it_was_while_every_note_answers(vault: Vault) -> None:
    looks = iter([False, False, True])
    vault.workspace.ingest([], Callbacks(cancelled=lambda: next(looks, True)))
    done = vault.workspace.status().upgrading
    assert done is not None
    assert 0 < done[0] < len(NOTES)
    assert [paths(vault, word) for word in ("scale", "부산", "bread")] == [
        ["kettle.md"],
        ["여행/기차.md"],
        ["plain.txt"],
    ]
    assert len(vault.outcomes()) == len(NOTES) - done[0]
    assert vault.workspace.status().upgrading is None


def test_the_status_counts_what_is_left_to_be_read_again(tmp_path: Path) -> None:
    kebab = Kebab(tmp_path / "data", tmp_path / "home")
    notes = tmp_path / "notes"
    write_notes(notes)
    unpack(READ_AGAIN, kebab.data, notes)
    assert "upgrading: 0 of 5 notes; run `kebab ingest`" in kebab("index", "--status").lines
    status = kebab("index", "--status", "--json").json
    check(status, "index_status.v1")
    assert status["upgrading"] == {"done": 0, "total": 5}
    kebab("ingest")
    assert "upgrading" not in kebab("index", "--status").out
    assert kebab("index", "--status", "--json").json["upgrading"] is None


# Steps

KILLED = """
import os, signal, sqlite3, sys
from kebab_tui.storage.sqlite import connection
statements = 0
class Doomed(sqlite3.Connection):
    def __init__(self, *args, **options):
        super().__init__(*args, **options)
        self.set_trace_callback(self.count)
    def count(self, statement):
        global statements
        statements += 1
        if statements == int(sys.argv[2]):
            os.kill(os.getpid(), signal.SIGKILL)
real = sqlite3.connect
sqlite3.connect = lambda *args, **options: real(*args, factory=Doomed, **options)
connection.open_writer(sys.argv[1])
print(statements)
"""


def killed_at(statement: int, database: Path) -> int | None:
    """Migrate in a process that is killed before its n-th statement; the statements it ran if it survived."""
    argv = [sys.executable, "-c", KILLED, str(database), str(statement)]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=60, check=False)
    return int(done.stdout) if done.returncode == 0 else None


@pytest.mark.slow
@pytest.mark.parametrize(("start", "versions"), [("older", set(range(1, 10))), ("new", set(range(10)))])
def test_a_migration_that_is_killed_at_any_statement_is_finished_by_the_next(
    start: str, versions: set[int], tmp_path: Path
) -> None:
    def database(name: str) -> Path:
        if start == "older":
            return unpack(OLDEST, tmp_path / name, tmp_path)
        (tmp_path / name).mkdir()
        return tmp_path / name / "kebab.sqlite"

    whole = database("whole")
    statements = killed_at(0, whole)
    assert statements is not None
    wanted, seen = shape(whole), set()
    for statement in range(statements, statements // 4, -4):
        killed = database(str(statement))
        assert killed_at(statement, killed) is None
        connection = sqlite3.connect(killed)
        seen.add(connection.execute("PRAGMA user_version").fetchone()[0])
        connection.close()
        open_writer(str(killed)).close()
        assert shape(killed) == wanted
    assert seen == versions, "killed within the steps and between them"


def test_a_disk_that_is_too_full_is_found_before_anything_changes(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", 1) as disk:
        database = unpack(LAST, disk / "data", tmp_path)
        before = database.read_bytes()
        filler = fill(disk)
        os.truncate(filler, filler.stat().st_size - 300_000)
        with pytest.raises(DiskFullError, match="cannot be upgraded") as refused:
            open_writer(str(database))
        assert "searching still works" in refused.value.hint
        assert database.read_bytes() == before
        open_reader(str(database)).close()
        filler.unlink()
        open_writer(str(database)).close()


def test_an_older_index_is_searched_on_a_read_only_disk(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", 2) as disk:
        unpack(LAST, disk / "data", tmp_path)
        remount(disk, "ro")
        workspace = Workspace(Settings(), str(disk / "data"))
        assert [hit.path for hit in workspace.search(SearchQuery("scale", "lexical")).hits] == ["kettle.md"]
        workspace.close()


@pytest.mark.parametrize("vault", [LAST], indirect=True)
def test_an_older_index_is_searched_while_another_process_writes_it(vault: Vault) -> None:
    other = sqlite3.connect(vault.data / "kebab.sqlite", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    assert paths(vault, "scale") == ["kettle.md"]
    other.close()


def test_a_reader_sees_the_tables_of_a_later_step_through_views(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = unpack(LAST, tmp_path / "data", tmp_path)
    later = schema.SCHEMA_VERSION + 1
    moved = "CREATE TEMP VIEW labels AS SELECT doc_id, value AS label FROM facets WHERE kind = 'tag'"
    monkeypatch.setattr(schema, "VIEWS", {**schema.VIEWS, later: moved})
    monkeypatch.setattr(schema, "SCHEMA_VERSION", later)
    before = database.read_bytes()
    reader = open_reader(str(database))
    assert reader.execute("SELECT label FROM labels ORDER BY 1").fetchall() == [
        ("kitchen",),
        ("tea",),
        ("여행",),
    ]
    reader.close()
    assert database.read_bytes() == before


def test_a_newer_index_is_refused_by_every_command_and_not_changed(tmp_path: Path) -> None:
    kebab = Kebab(tmp_path / "data", tmp_path / "home")
    database = unpack(LAST, kebab.data, tmp_path)
    newer = sqlite3.connect(database)
    newer.execute(f"PRAGMA user_version = {schema.SCHEMA_VERSION + 1}")
    newer.close()
    before = database.read_bytes()
    for argv in (["search", "scale"], ["ingest", str(tmp_path)], ["list"], ["index", "--status"]):
        done = kebab(*argv)
        assert done.code == 2
        assert "made by a newer version" in done.err
    assert kebab("doctor").code == 3
    assert database.read_bytes() == before
