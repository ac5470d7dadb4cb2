"""The servers of one index: sends the same SQL to every shard at once and gathers the rows, with a deadline.

Statements go as one pipeline, so that several cost one round trip. A server that fails or does not answer in
time is left alone for a while, so that a frozen one costs its deadline once; a thread tries it again.
"""

from __future__ import annotations

import selectors
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from typing import Any, Literal, NamedTuple, cast

import psycopg
from psycopg import pq
from psycopg.adapt import Transformer

from kebab_tui.domain.errors import NotIndexedError, StoreError, StoreTooNewError, UsageError
from kebab_tui.storage.postgres.address import Parameters, location_of

Rows = list[tuple[Any, ...]]
OnMissing = Literal["fail", "partial"]

_RETRY_S = 0.5
"""Pause between two attempts to reach a server that does not answer."""
_QUICK_S = 0.25
"""A server that refuses connections so quickly may be tried by every search."""
_OPTIONS = {
    "standard_conforming_strings": "on", "jit": "off", "join_collapse_limit": "4", "work_mem": "32MB",
    "hnsw.ef_search": "1000", "hnsw.iterative_scan": "relaxed_order",
    "max_parallel_workers_per_gather": "0", "default_transaction_read_only": "on",
}  # fmt: skip
_SETTINGS = " ".join(f"-c {name}={value}" for name, value in _OPTIONS.items())
_HINTS = (
    ("certificate verify failed", "trust the CA that signed its certificate: `sslrootcert` names its file"),
    ("does not match host name", "write the host name that stands in the server's certificate"),
    ("root certificate file", "put the CA of the server there, or name its file with `sslrootcert`"),
    ("does not support SSL", "let the server use TLS: `ssl = on` in its postgresql.conf"),
    ("password authentication failed", "check the user and the password in ~/.pgpass or the service file"),
    ("no password supplied", "put the password in ~/.pgpass (HOST:PORT:DATABASE:USER:PASSWORD, mode 0600)"),
    ("no pg_hba.conf entry", "ask its administrator to let your user in from this machine"),
)


class ShardError(StoreError):
    """A server of a shared index cannot be reached, or does not answer in time."""

    code = "shard_missing"


class Statement(NamedTuple):
    """SQL for every shard, or for the first server alone."""

    sql: str
    first: bool = False


class ShardRows(NamedTuple):
    """The rows of each statement by shard. `missing`: the numbers of shards that did not answer."""

    rows: list[dict[int, Rows]]
    missing: dict[int, str]


class PendingRows(NamedTuple):
    """Statements on their way. `finish` waits for the rows; `abandon`: nobody is going to."""

    finish: Callable[[], ShardRows]
    abandon: Callable[[], None]


class Node:
    """One server, and its idle connections."""

    def __init__(self, number: int, parameters: Parameters) -> None:
        self.number = number
        self.parameters = parameters
        self.place = location_of(parameters).removeprefix("postgresql://")
        self.idle: list[ServerConnection] = []
        self.problem = ""
        """Why it is not asked at present."""
        self.retrying = False


class ServerConnection:
    """A connection to a server, used by one thread at a time."""

    def __init__(self, node: Node, connection: psycopg.Connection[Any]) -> None:
        self.node = node
        self.connection = connection
        self.path = ""
        """The search path that was set last."""
        self._is_busy = False
        status = connection.info.parameter_status("default_transaction_read_only")
        self.is_pooled = status != "on"
        """Whether a pooler swallowed the settings: then each exchange is a transaction that sets them."""
        self._results: list[Rows] = []
        self.error: psycopg.Error | None = None

    def send(self, statements: Sequence[str]) -> None:
        conn = self.connection.pgconn
        conn.nonblocking = 1
        if conn.pipeline_status == pq.PipelineStatus.OFF:
            conn.enter_pipeline_mode()
        for sql in statements:
            conn.send_query_params(sql.encode(), None, result_format=pq.Format.BINARY)
        conn.pipeline_sync()
        self._is_busy, self._results, self.error = True, [], None

    def read(self) -> bool:
        """Take in what has arrived; whether it is all."""
        conn = self.connection.pgconn
        conn.consume_input()
        while not conn.is_busy():
            result = conn.get_result()
            if result is None:
                continue
            status = result.status
            if status == pq.ExecStatus.PIPELINE_SYNC:
                self._is_busy = False
                return True
            if status == pq.ExecStatus.TUPLES_OK:
                transformer = Transformer(self.connection)
                transformer.set_pgresult(result, format=pq.Format.BINARY)
                self._results.append(cast(Rows, transformer.load_rows(0, result.ntuples, tuple)))
            elif status == pq.ExecStatus.COMMAND_OK:
                self._results.append([])
            elif status == pq.ExecStatus.FATAL_ERROR:
                self.error = psycopg.errors.error_from_result(result, "utf-8")
        return False

    def flush(self) -> bool:
        """Whether there is still something to write."""
        return self.connection.pgconn.flush() == 1

    def is_ready(self) -> bool:
        """Whether it can send, after the answers that nobody waited for."""
        return not self._is_busy or (not self.flush() and self.read())

    @property
    def results(self) -> list[Rows]:
        return self._results

    def close(self) -> None:
        self.connection.close()


class Cluster:
    """Any thread may ask; each call uses connections of its own."""

    def __init__(self, deadline_s: float, on_missing: OnMissing) -> None:
        self.deadline_s = deadline_s
        self.on_missing = on_missing
        self.nodes: list[Node] = []
        self.exchanges = self.beside = 0
        """Round trips so far, for tests and figures; and those that were begun beside one of them."""
        self._lock = threading.Lock()
        self._threads: ThreadPoolExecutor | None = None
        self._closed = threading.Event()

    def use(self, nodes: Sequence[Parameters]) -> None:
        """Use these servers from now on; the first is the one that the URL names."""
        with self._lock:
            known, gone = self.nodes, []
            self.nodes = []
            for number, parameters in enumerate(nodes):
                old = next(
                    (one for one in known if one.number == number and one.parameters == parameters), None
                )
                self.nodes.append(old or Node(number, parameters))
            gone = [line for node in known if node not in self.nodes for line in node.idle]
        for line in gone:
            line.close()

    def ask(self, statements: Sequence[Statement], path: str) -> ShardRows:
        return self.begin(statements, path).finish()

    def begin(self, statements: Sequence[Statement], path: str, *, beside: bool = False) -> PendingRows:
        """Send at once. `path`: the search path for the names of tables.

        `beside`: while other statements are on their way.
        """
        end = time.monotonic() + self.deadline_s
        with self._lock:
            nodes = self.nodes if not all(one.first for one in statements) else self.nodes[:1]
            self.beside += beside
            self.exchanges += not beside
        numbers = {
            node.number: [i for i, one in enumerate(statements) if not one.first or node.number == 0]
            for node in nodes
        }
        exchange = _Exchange(self, end)
        for node, line in self._lines(nodes, end, exchange.missing).items():
            exchange.send(line, [statements[i].sql for i in numbers[node.number]], path)

        def finish() -> ShardRows:
            exchange.wait()
            # A connection that was idle may have died with its server: once more, on a new one.
            broken = [self.nodes[number] for number in exchange.broken if number < len(self.nodes)]
            if broken:
                for node, line in self._lines(broken, end, exchange.missing, fresh=True).items():
                    exchange.missing.pop(node.number, None)
                    exchange.send(line, [statements[i].sql for i in numbers[node.number]], path)
                exchange.wait()
            rows: list[dict[int, Rows]] = [{} for _ in statements]
            for number, results in sorted(exchange.results.items()):
                for i, found in zip(numbers[number], results, strict=True):
                    rows[i][number] = found
            if exchange.missing and self.on_missing == "fail":
                raise self.missing_error(exchange.missing)
            return ShardRows(rows, exchange.missing)

        return PendingRows(finish, exchange.abandon)

    def missing_error(self, missing: Mapping[int, str]) -> ShardError:
        names = [self._name(number) for number in missing]
        reason = next(iter(missing.values()))
        return ShardError(
            f"{', '.join(names)} of the index did not answer: {reason}",
            hint_of(reason)
            or (
                'start it, or search the others with `on_missing_shard = "partial"` under [index]'
                if len(self.nodes) > 1
                else "is it running, and is the URL right? `kebab doctor` tells more"
            ),
        )

    def _name(self, number: int) -> str:
        node = self.nodes[number]
        return (
            f"shard {number + 1} of {len(self.nodes)} ({node.place})"
            if len(self.nodes) > 1
            else f"the server {node.place}"
        )

    def close(self) -> None:
        self._closed.set()
        with self._lock:
            lines = [line for node in self.nodes for line in node.idle]
            for node in self.nodes:
                node.idle = []
            self._closed = threading.Event()
        for line in lines:
            line.close()

    # Connections

    def _lines(
        self, nodes: Iterable[Node], end: float, missing: dict[int, str], *, fresh: bool = False
    ) -> dict[Node, ServerConnection]:
        """A connection to each server; a new one if `fresh`. Those that fail are `missing`."""
        found: dict[Node, ServerConnection] = {}
        to_open = []
        for node in nodes:
            with self._lock:
                if fresh:
                    stale, node.idle = node.idle, []
                else:
                    stale = []
                    if line := self._idle_line(node, stale):
                        found[node] = line
            for line in stale:
                line.close()
            if node in found:
                continue
            if node.retrying:
                missing[node.number] = node.problem
            else:
                to_open.append(node)
        if to_open:
            if self._threads is None:
                self._threads = ThreadPoolExecutor(32, "kebab-postgres")
            opening = {self._threads.submit(self._open, node): node for node in to_open}
            wait(opening, max(0.0, end - time.monotonic()))
            for future, node in opening.items():
                if not future.done():  # it goes on, and keeps the connection for later
                    missing[node.number] = self.failed(node, "no answer", quick=False)
                    future.add_done_callback(lambda done, node=node: self._late(node, done.result()))  # type: ignore[misc]
                elif isinstance(opened := future.result(), ServerConnection):
                    found[node] = opened
                else:
                    missing[node.number] = node.problem or opened
        return found

    def _idle_line(self, node: Node, stale: list[ServerConnection]) -> ServerConnection | None:
        """A connection that nobody uses; broken ones are `stale`."""
        for line in list(reversed(node.idle)):
            try:
                if line.is_ready() and line.error is None:
                    node.idle.remove(line)
                    return line
                is_broken = line.error is not None
            except psycopg.Error:
                is_broken = True
            if is_broken:
                node.idle.remove(line)
                stale.append(line)
        return None

    def _open(self, node: Node) -> ServerConnection | str:
        start = time.monotonic()
        try:
            line = ServerConnection(node, connect(node.parameters, self.deadline_s, settings=_SETTINGS))
        except psycopg.Error as error:
            return self.failed(node, reason_of(error), quick=time.monotonic() - start < _QUICK_S)
        node.problem = ""
        return line

    def _late(self, node: Node, opened: ServerConnection | str) -> None:
        if isinstance(opened, ServerConnection):
            self.give_back(opened)

    def give_back(self, line: ServerConnection) -> None:
        with self._lock:
            if line.node in self.nodes:
                line.node.idle.append(line)
                return
        line.close()

    def failed(self, node: Node, reason: str, *, quick: bool) -> str:
        """Note that a server failed; unless it failed quickly, do not ask it until it answers again."""
        node.problem = reason
        if not quick:
            with self._lock:
                begins = not node.retrying
                node.retrying = True
            if begins:
                threading.Thread(target=self._retry, args=(node,), name="kebab-shard", daemon=True).start()
        return reason

    def _retry(self, node: Node) -> None:
        closed = self._closed
        while not closed.wait(_RETRY_S):
            try:
                line = ServerConnection(node, connect(node.parameters, self.deadline_s, settings=_SETTINGS))
                line.connection.execute("SELECT 1")
            except psycopg.Error:
                continue
            with self._lock:
                stale, node.idle = node.idle, [line]
                node.problem, node.retrying = "", False
            for old in stale:
                old.close()
            return
        node.retrying = False


class _Exchange:
    """Statements on their way to several servers, and what came back."""

    def __init__(self, cluster: Cluster, end: float) -> None:
        self._cluster = cluster
        self._end = end
        self._open: dict[ServerConnection, slice] = {}
        """Each line, and which of the statements sent were asked for."""
        self.results: dict[int, list[Rows]] = {}
        self.missing: dict[int, str] = {}
        self.broken: list[int] = []
        """Servers whose connection was lost, not too late."""
        self._is_abandoned = False

    def send(self, line: ServerConnection, statements: list[str], path: str) -> None:
        before: list[str] = []
        if line.is_pooled:
            before = ["BEGIN READ ONLY", self._settings(path)]
        elif line.path != path:
            before = [f"SET search_path = {path}"]
        try:
            line.send([*before, *statements, *["COMMIT"] * line.is_pooled])
            line.flush()
        except psycopg.Error as error:
            self._lose(line, reason_of(error))
            return
        line.path = path
        self._open[line] = slice(len(before), len(before) + len(statements))

    def _settings(self, path: str) -> str:
        timeout = str(int(self._cluster.deadline_s * 1000) + 1000)
        values = {"search_path": path, "statement_timeout": timeout, **_OPTIONS}
        calls = (f"set_config('{name}', '{value}', true)" for name, value in values.items())
        return f"SELECT {', '.join(calls)}"

    def wait(self) -> None:
        if self._is_abandoned:
            raise RuntimeError("the session of these statements has ended")
        tried, self.broken = bool(self.broken), []
        with selectors.DefaultSelector() as selector:
            for line in self._open:
                selector.register(
                    line.connection.pgconn.socket, selectors.EVENT_READ | selectors.EVENT_WRITE, line
                )
            while self._open:
                # Past the deadline, what has arrived is still taken: another line may have cost the time.
                ready = selector.select(max(0.0, self._end - time.monotonic()))
                if not ready:
                    break
                for key, events in ready:
                    line = cast(ServerConnection, key.data)
                    try:
                        if events & selectors.EVENT_WRITE and not line.flush():
                            selector.modify(key.fileobj, selectors.EVENT_READ, line)
                        is_done = bool(events & selectors.EVENT_READ) and line.read()
                    except psycopg.Error as error:
                        selector.unregister(key.fileobj)
                        self._lose(line, reason_of(error), again=not tried)
                        continue
                    if is_done:
                        selector.unregister(key.fileobj)
                        self._finish(line)
        for line in list(self._open):
            del self._open[line]
            line.close()
            reason = f"no answer within {self._cluster.deadline_s:g} s"
            self.missing[line.node.number] = self._cluster.failed(line.node, reason, quick=False)

    def abandon(self) -> None:
        """Nobody waits: the connections are used again once their answers have come."""
        self._is_abandoned = bool(self._open)
        for line in self._open:
            self._cluster.give_back(line)
        self._open.clear()

    def _finish(self, line: ServerConnection) -> None:
        asked = self._open.pop(line)
        if line.error is None:
            self.results[line.node.number] = line.results[asked]
            self._cluster.give_back(line)
            return
        error = line.error
        line.path = ""
        if isinstance(
            error,
            psycopg.errors.AdminShutdown | psycopg.errors.CrashShutdown | psycopg.errors.CannotConnectNow,
        ):
            self._lose(line, reason_of(error), again=True)
            return
        if isinstance(error, psycopg.errors.QueryCanceled):
            line.close()
            self.missing[line.node.number] = reason_of(error)
            return
        line.close()
        for other in self._open:
            other.close()
        self._open.clear()
        raise translated(error, line.node.place)

    def _lose(self, line: ServerConnection, reason: str, *, again: bool = False) -> None:
        self._open.pop(line, None)
        line.close()
        number = line.node.number
        self.missing[number] = self._cluster.failed(line.node, reason, quick=True)
        if again:
            self.broken.append(number)


def connect(parameters: Parameters, timeout_s: float, *, settings: str = "") -> psycopg.Connection[Any]:
    """A new connection; raises psycopg.Error."""
    given: dict[str, Any] = {
        "connect_timeout": max(2, int(timeout_s)),
        "application_name": "kebab",
        **parameters,
        "client_encoding": "utf8",
    }
    if settings:
        milliseconds = int(timeout_s * 1000) + 1000
        given["options"] = (
            f"{parameters.get('options', '')} {settings} -c statement_timeout={milliseconds}".strip()
        )
        given["tcp_user_timeout"] = milliseconds
    try:
        return psycopg.connect(autocommit=True, prepare_threshold=None, **given)
    except psycopg.OperationalError as error:
        if not settings or "unsupported startup parameter" not in str(error):
            raise
        return connect(parameters, timeout_s)  # a pooler; `ServerConnection` sets them otherwise


def reason_of(error: psycopg.Error) -> str:
    """The reason in one line; libpq's messages never contain a password."""
    if error.diag.message_primary:
        return error.diag.message_primary
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    failed = [line for line in lines if " failed: " in line]
    failed = [line for line in failed if "Connection refused" not in line] or failed  # at another address
    chosen = (failed or lines or [type(error).__name__])[0]
    return chosen.rpartition(" failed: ")[2].removeprefix("FATAL:").strip()


def hint_of(reason: str) -> str:
    """What to do if a server refuses a connection; empty if that is not known."""
    return next((hint for words, hint in _HINTS if words in reason), "")


def translated(error: psycopg.Error, place: str) -> StoreError | NotIndexedError | UsageError:
    """An error of the server as one that a user can act on."""
    reason = reason_of(error)
    if isinstance(error, psycopg.errors.InvalidSchemaName | psycopg.errors.UndefinedTable):
        return nothing_published(place)
    if isinstance(error, psycopg.errors.InsufficientPrivilege):
        return StoreError(
            f"{place}: {reason}", "ask its owner for `kebab index --copy-to URL --grant ROLE` with your role"
        )
    if isinstance(error, psycopg.errors.InvalidRegularExpression):
        return UsageError(f"the server cannot read a pattern: {reason}", "simplify the glob of path:")
    return StoreError(f"{place}: {reason}", "see the log of the server")


def nothing_published(place: str) -> NotIndexedError:
    return NotIndexedError(
        f"there is no index at postgresql://{place}",
        "publish one: `kebab index --copy-to postgresql://…` copies the index of this machine",
    )


def too_new(place: str, version: int, known: int) -> StoreTooNewError:
    return StoreTooNewError(
        f"the index at postgresql://{place} was made by a newer version (schema {version}, not {known})",
        "upgrade kebab",
    )
