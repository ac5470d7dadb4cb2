"""The checks of `kebab doctor` on a shared index: each server, what it holds, and whether it answers as it
should."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import psycopg

from kebab_tui.domain.errors import KebabError
from kebab_tui.storage.ports import Finding
from kebab_tui.storage.postgres import schema
from kebab_tui.storage.postgres.address import shard_parameters
from kebab_tui.storage.postgres.cluster import Node, connect, hint_of, reason_of
from kebab_tui.storage.postgres.read_session import Copy, Fleet

if TYPE_CHECKING:
    from kebab_tui.storage.postgres.postgres_index import PostgresReader

_OLDEST = 150_000
_OLDEST_VECTOR = (0, 7)
_LAG_S = 30
_TIMEOUT_S = 5.0


def check_index(fleet: Fleet, reader: PostgresReader) -> Iterator[Finding]:
    """Check the first server, then the others that it names."""
    node = fleet.cluster.nodes[0]
    copy: Copy | None = None
    try:
        with reader.session() as session:
            copy = session.copy
    except KebabError as error:
        yield Finding("shared index", "problem", error.message, error.hint)
    nodes = [node]
    if copy is not None:
        others = [shard_parameters(one, fleet.parameters) for one in copy.nodes[1:]]
        nodes += [Node(number, one) for number, one in enumerate(others, 1)]
    totals = [0, 0, 0]
    for one in nodes:
        name = f"shard {one.number + 1}" if len(nodes) > 1 else "server"
        try:
            with connect(one.parameters, _TIMEOUT_S) as connection:
                yield from _server(connection, f"{name} {one.place}")
                if copy is not None:
                    yield from _copy(connection, f"{name} {one.place}", copy, totals)
        except psycopg.Error as error:
            reason = reason_of(error)
            hint = hint_of(reason) or "is it running, and may you read it?"
            yield Finding(f"{name} {one.place}", "problem", reason, hint)
    if copy is not None:
        facts = copy.facts
        notes, passages = _totals(nodes[0], copy) or totals[:2]
        detail = (
            f"revision {facts.revision}: {totals[0]} of {notes} notes, {totals[1]} of {passages} passages"
        )
        if totals[:2] == [notes, passages]:
            yield Finding("shared index", "ok", f"{detail}, on {len(nodes)} of {len(nodes)} servers")
        else:
            yield Finding(
                "shared index", "warning", f"{detail} are visible to you",
                "a server is missing, or your role may not read every source",
            )  # fmt: skip
        vectors = "approximate (HNSW)" if facts.approximate else "exact"
        yield Finding("search by meaning", "ok", f"{vectors}, model {facts.model or 'none'}")


def _totals(node: Node, copy: Copy) -> list[int] | None:
    """How many notes and passages a copy has; None if the role may not read every source."""
    try:
        with connect(node.parameters, _TIMEOUT_S) as connection:
            found = connection.execute(
                "SELECT facts FROM kebab.total WHERE generation = %s", [copy.number]
            ).fetchone()
    except psycopg.Error:
        return None
    return None if found is None else [json.loads(found[0])[name] for name in ("documents", "chunks")]


def _server(connection: psycopg.Connection[Any], name: str) -> Iterator[Finding]:
    version = connection.info.server_version
    row = connection.execute(
        "SELECT current_setting('server_version'), (SELECT extversion FROM pg_extension WHERE extname = "
        "'vector'), "
        "pg_is_in_recovery(), coalesce(extract(epoch FROM now() - pg_last_xact_replay_timestamp()), "
        "0)::float8, "
        "pg_last_wal_receive_lsn() IS DISTINCT FROM pg_last_wal_replay_lsn()"
    ).fetchone()
    assert row is not None
    shown, extension, is_standby, lag, is_behind = row
    is_encrypted = connection.pgconn.ssl_in_use
    if version < _OLDEST:
        yield Finding(name, "problem", f"PostgreSQL {shown} is too old", "use PostgreSQL 15 or newer")
    if extension is None:
        yield Finding(name, "problem", "the extension pgvector is missing", "CREATE EXTENSION vector")
    elif tuple(map(int, extension.split(".")[:2])) < _OLDEST_VECTOR:
        yield Finding(name, "problem", f"pgvector {extension} is too old", "use pgvector 0.7 or newer")
    local = connection.info.host in ("", "localhost", "127.0.0.1", "::1") or connection.info.host[:1] == "/"
    if not is_encrypted and not local:
        yield Finding(name, "problem", "the connection is not encrypted", "use sslmode=verify-full")
    role = "standby" if is_standby else "primary"
    encrypted = "TLS" if is_encrypted else "no TLS, on this machine" if local else "no TLS"
    if is_standby and is_behind and lag > _LAG_S:
        yield Finding(name, "warning", f"the standby is {lag:.0f} s behind its primary", "check replication")
    yield Finding(name, "ok", f"PostgreSQL {shown}, pgvector {extension or 'none'}, {role}, {encrypted}")


def _copy(connection: psycopg.Connection[Any], name: str, copy: Copy, totals: list[int]) -> Iterator[Finding]:
    """What a server has of the present copy."""
    version = schema.version_of(connection)
    if version != schema.SCHEMA_VERSION:
        fix = "upgrade kebab" if version > schema.SCHEMA_VERSION else "publish again: `kebab index --copy-to`"
        yield Finding(name, "problem", f"schema {version}, not {schema.SCHEMA_VERSION}", fix)
    place = f"kebab_{copy.number}"
    present = connection.execute("SELECT to_regclass(%s)", [f"{place}.post"]).fetchone()
    if present is None or present[0] is None:
        yield Finding(name, "problem", f"it lacks the present copy ({place})", "publish again")
        return
    for table in ("doc", "chunk", "post", "vec", "word", "source"):
        allowed = connection.execute(
            "SELECT has_table_privilege(%s, 'SELECT')", [f"{place}.{table}"]
        ).fetchone()
        if not (allowed and allowed[0]):
            yield Finding(name, "problem", f"your role may not read {table}", "ask for `--grant ROLE`")
            return
    connection.execute(b"BEGIN")  # through a pooler, a setting lasts no longer
    connection.execute(f"SET LOCAL search_path = {copy.path}".encode())
    counts = connection.execute(
        b"SELECT (SELECT count(*) FROM doc), (SELECT count(*) FROM chunk), "
        b"(SELECT count(*) FROM vec v WHERE NOT EXISTS (SELECT 1 FROM chunk c WHERE c.row = v.row)), "
        b"(SELECT count(*) FROM (SELECT DISTINCT row FROM post) p "
        b"WHERE NOT EXISTS (SELECT 1 FROM chunk c WHERE c.row = p.row)), "
        b"(SELECT count(*) FROM chunk c WHERE NOT EXISTS (SELECT 1 FROM doc d WHERE d.doc_id = c.doc_id)), "
        b"(SELECT coalesce(sum(chunks), 0)::bigint FROM stat)"
    ).fetchone()
    connection.execute(b"COMMIT")
    assert counts is not None
    docs, chunks, vectors, words, passages, counted = counts
    totals[0] += docs
    totals[1] += chunks
    if vectors or words or passages or counted != chunks:
        detail = (
            f"{words} passages in the word list, {vectors} vectors and {passages} passages belong to nothing"
        )
        yield Finding(name, "problem", detail, "publish again: `kebab index --copy-to`")
    else:
        yield Finding(name, "ok", f"{docs} notes, {chunks} passages; no orphans")
