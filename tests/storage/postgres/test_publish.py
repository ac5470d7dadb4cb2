"""What is copied to a server and what never is; who may read it; what a copy does when it is interrupted."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from kebab_tui.domain.errors import ConfigError, KebabError
from kebab_tui.domain.query import SearchQuery
from kebab_tui.settings.settings import IndexSettings, RootSettings, Settings
from kebab_tui.storage.postgres.address import location_of, parameters_of
from kebab_tui.workspace import Callbacks, Workspace
from tests.command_line import Kebab
from tests.storage.postgres.conftest import Servers, Shared, publish
from tests.vault import Vault

pytestmark = pytest.mark.slow


@pytest.fixture
def vault(tmp_path: Path) -> Iterator[Vault]:
    vault = Vault(tmp_path)
    vault.write("open.md", "# Open\n\nalpha word\n")
    vault.write("own.md", "---\nprivate: true\n---\nalpha secretive\n")
    vault.write("later.md", "# Later\n\nalpha afterwards\n")
    vault.ingest()
    yield vault
    vault.workspace.close()


def shared(url: str, folder: Path, **index: object) -> Workspace:
    return Workspace(Settings(index=IndexSettings(url=url, **index)), str(folder / "reader"))  # type: ignore[arg-type]


def found(workspace: Workspace, text: str) -> list[str]:
    return sorted(hit.path for hit in workspace.search(SearchQuery(text, "lexical")).hits)


def everything(servers: Servers, url: str) -> str:
    """All that a database holds, as text."""
    server = next(one for one in servers.all if str(one.port) in url)
    database = url.rpartition("/")[2]
    tables = server.sql(
        "SELECT schemaname, tablename FROM pg_tables WHERE schemaname LIKE 'kebab%'", database=database
    )
    return "".join(
        str(server.sql(f"SELECT t::text FROM {name}.{table} t", database=database)) for name, table in tables
    )


def test_private_notes_stay_and_a_note_that_turns_private_leaves(
    servers: Servers, vault: Vault, tmp_path: Path
) -> None:
    urls = servers.database(3)
    first = vault.workspace.publish(urls[0], shards=urls[1:])
    assert first is not None and (first.notes, first.private, first.unchanged) == (2, 1, False)
    assert not any("secretive" in everything(servers, url) for url in urls)
    with closing(shared(urls[0], tmp_path)) as reader:
        assert found(reader, "alpha") == ["later.md", "open.md"]
        assert found(reader, "secretive") == []
        again = vault.workspace.publish(urls[0], shards=urls[1:])
        assert again is not None and again.unchanged
        # The file is private before the index knows: it is not copied either.
        vault.write("later.md", "---\nprivate: true\n---\nalpha afterwards\n")
        second = vault.workspace.publish(urls[0], shards=urls[1:])
        assert second is not None and (second.notes, second.private) == (1, 2)
        until = reader.revision()
        assert until == first.revision
        assert found(reader, "alpha") == ["open.md"]
        assert found(reader, "afterwards") == []
        vault.write("new.md", "alpha fresh\n")
        vault.ingest()
        third = vault.workspace.publish(urls[0], shards=urls[1:])
        assert third is not None and third.revision > first.revision
        assert found(reader, "alpha") == ["new.md", "open.md"]
        assert reader.revision() == third.revision
    # The one before the last is kept for readers that are not done; the first is gone, with its words.
    vault.write("newer.md", "alpha fresher\n")
    vault.ingest()
    vault.workspace.publish(urls[0], shards=urls[1:])
    assert not any("afterwards" in everything(servers, url) for url in urls)


def test_an_interrupted_copy_goes_on_and_a_changed_one_begins_anew(
    servers: Servers, vault: Vault, tmp_path: Path
) -> None:
    urls = servers.database(2)
    done = 0

    def cancelled() -> bool:
        return done > 100

    def progress(one: object) -> None:
        nonlocal done
        done += 1

    assert vault.workspace.publish(urls[0], shards=urls[1:], progress=progress, cancelled=cancelled) is None
    with closing(shared(urls[0], tmp_path)) as reader, pytest.raises(KebabError) as error:
        found(reader, "alpha")
    assert "kebab index --copy-to" in error.value.hint
    copied = vault.workspace.publish(urls[0], shards=urls[1:])
    assert copied is not None and 100 <= copied.resumed < 256
    with closing(shared(urls[0], tmp_path)) as reader:
        assert found(reader, "alpha") == ["later.md", "open.md"]
    done = 0
    vault.write("new.md", "alpha fresh\n")
    vault.ingest()
    assert vault.workspace.publish(urls[0], shards=urls[1:], progress=progress, cancelled=cancelled) is None
    vault.write("newer.md", "alpha fresher\n")
    vault.ingest()
    copied = vault.workspace.publish(urls[0], shards=urls[1:])
    assert copied is not None and copied.resumed == 0


def test_nothing_is_copied_while_a_folder_is_away(servers: Servers, vault: Vault) -> None:
    (url,) = servers.database()
    vault.root.rename(vault.root.parent / "away")
    with pytest.raises(KebabError, match="is not available"):
        vault.workspace.publish(url)
    (vault.root.parent / "away").rename(vault.root)


def test_an_approximate_search_says_so(servers: Servers, embedded_place: Path, tmp_path: Path) -> None:
    (url,) = servers.database()
    with closing(Workspace(Settings(), str(embedded_place / "data"))) as workspace:
        workspace.publish(url, hnsw=True)
    with closing(shared(url, tmp_path)) as reader:
        for mode, expected in (("lexical", False), ("vector", True), ("hybrid", True)):
            response = reader.search(SearchQuery("port conflict", mode))  # type: ignore[arg-type]
            assert len(response.hits) == 10
            assert any(notice.code == "approximate" for notice in response.notices) is expected


def test_a_copy_that_differs_is_never_used(servers: Servers, vault: Vault, tmp_path: Path) -> None:
    from kebab_tui.storage.postgres.publish import _Publication

    (url,) = servers.database()
    verify = _Publication._verify

    def harmed(self: _Publication, connection: object, place: str) -> None:
        connection.execute("UPDATE chunk SET text = 'other' WHERE row = (SELECT min(row) FROM chunk)")  # type: ignore[attr-defined]
        verify(self, connection, place)  # type: ignore[arg-type]

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(_Publication, "_verify", harmed)
        with pytest.raises(KebabError, match="differs from what was sent"):
            vault.workspace.publish(url)
    with closing(shared(url, tmp_path)) as reader, pytest.raises(KebabError):
        found(reader, "alpha")
    assert vault.workspace.publish(url) is not None


def test_a_role_reads_what_it_was_granted(servers: Servers, tmp_path: Path) -> None:
    vault = Vault(tmp_path)
    vault.write("a.md", "alpha one\n")
    vault.ingest()
    other = tmp_path / "work"
    other.mkdir()
    (other / "b.md").write_text("alpha two\n")
    vault.workspace.ingest([str(other)], Callbacks())
    urls = servers.database(2)
    roles = ("everyone1", "worker1", "nobody1")
    for server in servers.all[:2]:
        server.sql(*(f"CREATE ROLE {role} LOGIN" for role in roles))
    source = next(one.source_id for one in vault.workspace.sources() if one.root == str(other))
    vault.workspace.publish(urls[0], shards=urls[1:], grants=["everyone1", f"worker1:{source}"])

    def reader(role: str) -> Workspace:
        return shared(urls[0].replace("postgres@", f"{role}@"), tmp_path)

    with closing(reader("everyone1")) as workspace:
        assert found(workspace, "alpha") == ["a.md", "b.md"]
    with closing(reader("worker1")) as workspace:
        assert found(workspace, "alpha") == ["b.md"]
        assert found(workspace, "one") == []
        assert [one.source_id for one in workspace.sources()] == [source]
        assert [note.document.path for note in workspace.find("")] == ["b.md"]
        assert workspace.status().figures.documents == 1
    with closing(reader("nobody1")) as workspace, pytest.raises(KebabError) as error:
        found(workspace, "alpha")
    assert "--grant" in error.value.hint
    for server, url in zip(servers.all, urls, strict=False):  # it may use the schema, but sees no row
        database = url.rpartition("/")[2]
        server.sql("GRANT kebab_reader TO nobody1", database=database)
        for table in ("doc", "chunk", "post", "vec", "word", "facet", "source", "stat"):
            rows = server.sql(f"SELECT count(*) FROM kebab_1.{table}", database=database, user="nobody1")
            assert rows == [(0,)], table
    vault.workspace.close()


def test_words_that_stand_often_rank_as_in_the_local_index(servers: Servers, tmp_path: Path) -> None:
    """The counts of a word share a few bits."""
    vault = Vault(tmp_path)
    headings = "\n".join(f"{'#' * level} {'beta ' * 75}\n" for level in range(2, 7))
    vault.write("often.md", f"---\ntitle: {'gamma ' * 18}\n---\n{headings}\n{'alpha ' * 4000}\n")
    vault.write("grams.md", f"# 김치\n\n{'김' * 9000}\n")
    vault.write("once.md", "# beta gamma\n\nalpha 김치 one\n")
    vault.ingest()
    (url,) = servers.database()
    vault.workspace.publish(url)
    with closing(shared(url, tmp_path)) as reader:
        for text in (
            "alpha",
            "beta",
            "gamma",
            "김김",
            "김치",
            '"beta beta"',
            '"alpha alpha"',
            "alpha beta gamma",
        ):
            expected, answered = (
                [(hit.row, hit.score) for hit in one.search(SearchQuery(text, "lexical", k=50)).hits]
                for one in (vault.workspace, reader)
            )
            assert expected and answered == expected, text
    vault.workspace.close()


HOSTILE = (
    "'; DROP SCHEMA kebab CASCADE; --",
    "\\'; DROP TABLE doc; --",
    "$$; SELECT 1; $$",
    "%s %(a)s {0}",
    "a\0b",
)


def test_no_filter_is_sql(servers: Servers, vault: Vault, tmp_path: Path) -> None:
    (url,) = servers.database()
    vault.workspace.publish(url)
    with closing(shared(url, tmp_path)) as reader:
        codes = set()
        for text in HOSTILE:
            quoted = '"' + text.replace('"', "") + '"'
            keys = (
                "tag",
                "path",
                "name",
                "title",
                "heading",
                "in",
                "links",
                "linkedby",
                "prop",
                "has",
                "type",
            )
            queries = [
                query for key in keys for query in (f"{key}:{quoted}", f"a -{key}:{quoted}", f"{key}:{text}")
            ]
            queries += [text, quoted, f"'{text}'", f"alpha* {text}", f"alpha -{quoted}"]
            for query in queries:
                try:
                    reader.search(SearchQuery(query, "lexical"))
                except KebabError as error:
                    codes.add(error.code)
            reader.find(text)
            reader.documents(Workspace.parse(f"path:[a-z]* title:{quoted}").filters)
        assert codes <= {"bad_filter", "bad_raw_query", "invalid_input"}
        assert found(reader, "alpha") == ["later.md", "open.md"]


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("postgresql://me:hidden@db/notes", "password"),
        ("postgres://me:hidden@db/notes", "password"),
        ("postgresql://db/notes?password=hidden", "password"),
        ("postgresql://db/notes?sslpassword=hidden", "password"),
        ("postgresql://db/notes?sslmode=require", "sslmode"),
        ("postgresql://db/notes?sslmode=hidden'", "sslmode"),
        ("postgresql://127.0.0.1,db/notes?sslmode=disable", "sslmode"),
        ("postgresql://db/notes?hidden=1", "invalid URL"),
    ],
)
def test_a_url_with_a_secret_or_without_verification_is_refused(tmp_path: Path, url: str, words: str) -> None:
    kebab = Kebab(tmp_path / "data", tmp_path)
    for argv in (("search", "x", "--index", url), ("index", "--copy-to", url), ("doctor", "--index", url)):
        done = kebab(*argv)
        assert done.code == 2 and words in done.err, (argv, done.err)
        assert "hidden@" not in done.err and "=hidden" not in done.err.replace("sslmode=hidden", "")
    done = kebab("search", "x", KEBAB_INDEX=url)
    assert done.code == 2 and "hidden@" not in done.err


def test_a_server_elsewhere_is_verified(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert parameters_of("postgresql://db.example.com/notes")["sslmode"] == "verify-full"
    for url in ("postgresql:///notes", "postgresql://localhost/notes", "postgresql://[::1]/notes"):
        assert "sslmode" not in parameters_of(url)
    service = tmp_path / "services"
    service.write_text("[team]\nhost=db.example.com\ndbname=notes\npassword=hidden\n")
    monkeypatch.setenv("PGSERVICEFILE", str(service))
    parameters = parameters_of("postgresql:///?service=team")
    assert parameters["sslmode"] == "verify-full" and "hidden" not in str(parameters)
    assert location_of(parameters) == "postgresql:///?service=team"
    service.write_text("[team]\nhost=db.example.com\nsslmode=prefer\n[bad]\nhost=db\nsslmode=require\n")
    with pytest.raises(ConfigError, match="sslmode"):
        parameters_of("postgresql:///?service=bad")


def test_folders_of_the_index_are_mapped_to_those_of_this_machine(
    servers: Servers, vault: Vault, tmp_path: Path
) -> None:
    (url,) = servers.database()
    vault.workspace.publish(url)
    (source,) = vault.workspace.sources()
    here = tmp_path / "here"
    shutil.copytree(vault.root, here)
    with closing(
        shared(url, tmp_path, roots=(RootSettings(source=source.source_id, path=str(here)),))
    ) as reader:
        (hit,) = reader.search(SearchQuery("word", "lexical")).hits
        assert hit.root == str(here) and not hit.stale
        assert reader.sources()[0].root == str(here)
        (here / "open.md").write_text("changed since\n")
        assert reader.search(SearchQuery("word", "lexical")).hits[0].stale
        (here / "open.md").unlink()
        (hit,) = reader.search(SearchQuery("word", "lexical")).hits
        assert not hit.gone, "a file that is not on this machine says nothing about the note"


def test_the_commands_print_what_they_copied_and_checked(
    servers: Servers, local: Kebab, tmp_path: Path
) -> None:
    urls = servers.database(3)
    done = publish(local, urls, "--json")
    assert done.code == 0 and done.json["schema_version"] == "copy_report.v1" and done.json["shards"] == 3
    assert "has it already" in publish(local, urls).out
    beside = Shared(local.data, local.home, urls[0])
    assert "5 queries answer as the local index does" in beside("doctor").out
    reader = Shared(tmp_path, local.home, urls[0])
    health = reader("doctor", "--json")
    assert health.code == 0, health.out
    levels = [one["level"] for one in health.json["checks"]]
    assert "problem" not in levels and "PostgreSQL" in health.out and "no orphans" in health.out
    status = json.loads(reader("index", "--status", "--json").out)
    assert status["database"].startswith("postgresql://127.0.0.1") and "postgres@" not in status["database"]
    for argv in (("ingest",), ("index", "--embed"), ("source", "add", str(tmp_path)), ("watch",)):
        refused = reader(*argv)
        assert refused.code == 2 and "read-only" in refused.err, (argv, refused.err)
    database = urls[2].rpartition("/")[2]
    servers.all[2].sql("DELETE FROM kebab_1.chunk", database=database)
    assert reader("doctor").code == 3
