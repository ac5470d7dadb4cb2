"""What one thread reads of a shared index: one copy of it, for as long as its snapshot lasts.

A published copy never changes, so its answers stay valid and are kept, and no transaction is open between two
statements. Which copy is the present one is asked along with the first statement of each snapshot.
"""

from __future__ import annotations

import contextlib
import json
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from kebab_tui.domain.document import Source
from kebab_tui.domain.errors import NotIndexedError
from kebab_tui.domain.hit import Notice
from kebab_tui.storage.postgres import schema
from kebab_tui.storage.postgres.address import Parameters, shard_parameters
from kebab_tui.storage.postgres.cluster import (
    Cluster,
    PendingRows,
    Rows,
    ShardRows,
    Statement,
    nothing_published,
    too_new,
)
from kebab_tui.storage.postgres.match_sql import array
from kebab_tui.storage.postgres.publish import CopyFacts
from kebab_tui.storage.sqlite import rows as local_rows

_KEPT = 512
_FRESH_S = 0.1
"""A command begins several snapshots; they need not ask each time which copy is the present one."""
_LARGEST = 5_000
"""Answers with more rows are not kept."""
_PRESENT = (
    "SELECT p.generation, g.nodes, g.facts, (SELECT value FROM kebab.meta WHERE key = 'schema_version') "
    "FROM kebab.published p JOIN kebab.generation g ON g.no = p.generation"
)


class Copy(NamedTuple):
    """A published copy of an index."""

    number: int
    facts: CopyFacts
    nodes: tuple[str, ...]

    @property
    def path(self) -> str:
        return f"kebab_{self.number}, kebab, public"


class Fleet:
    """The servers of an index and what is known of them, for all threads."""

    def __init__(self, parameters: Parameters, cluster: Cluster, roots: Mapping[str, str]) -> None:
        self.parameters = parameters
        self.cluster = cluster
        self.roots = roots
        """Folders of this machine by source."""
        self.copy: Copy | None = None
        self.kept: OrderedDict[tuple[int, str], list[Rows]] = OrderedDict()
        self._lock = threading.Lock()
        self._objects: dict[tuple[int, str], Any] = {}
        self.checked_at = -_FRESH_S
        """When the first server last said which copy is the present one."""
        cluster.use([parameters])

    def keep(self, key: tuple[int, str], rows: list[Rows]) -> None:
        with self._lock:
            if sum(map(len, rows)) <= _LARGEST:
                self.kept[key] = rows
            while len(self.kept) > _KEPT:
                self.kept.popitem(last=False)

    def object(self, number: int, name: str) -> Any:
        """A value that belongs to a copy; None if it was not kept yet."""
        with self._lock:
            return self._objects.get((number, name))

    def keep_object(self, number: int, name: str, value: Any) -> None:
        with self._lock:
            self._objects = {key: one for key, one in self._objects.items() if key[0] == number}
            self._objects[number, name] = value

    def learn(self, found: Rows) -> Copy:
        """The present copy, as the first server says."""
        place = self.cluster.nodes[0].place
        self.checked_at = time.monotonic()
        if not found:
            raise nothing_published(place)
        number, nodes, facts, version = found[0]
        if int(version) > schema.SCHEMA_VERSION:
            raise too_new(place, int(version), schema.SCHEMA_VERSION)
        if self.copy is None or self.copy.number != number or len(self.cluster.nodes) != len(nodes):
            others = [shard_parameters(one, self.parameters) for one in nodes[1:]]
            self.cluster.use([self.parameters, *others])
            self.copy = Copy(number, CopyFacts(**json.loads(facts)), tuple(nodes))
        return self.copy


class ReadSession:
    """One snapshot."""

    def __init__(self, fleet: Fleet) -> None:
        self.fleet = fleet
        self._copy: Copy | None = None
        if time.monotonic() - fleet.checked_at < _FRESH_S:
            self._copy = fleet.copy
        self.missing: dict[int, str] = {}
        """Shards whose part of an answer is missing."""
        self._answers: dict[str, list[Rows]] = {}
        """Those that lack the part of a shard; they hold for this snapshot alone."""
        self._begun: list[PendingRows] = []
        self._arriving: Callable[[], object] | None = None
        """Waits for the answers that are on their way."""
        self._unsent: list[Statement] = []
        """What goes with the next statement."""
        self.approximate = False
        self.is_hangul: dict[int, bool] = {}
        """The script of rows that were found."""
        self.chunk_ids: dict[int, str] = {}
        """The ids of rows that were found."""
        self.codes: dict[int, list[bytes]] | None = None
        """The codes of rows, if vectors are searched."""
        self.scans: dict[tuple[str, ...], Callable[[], list[list[Rows]]]] = {}
        """Scans of vectors that were begun, by their statements."""

    @property
    def copy(self) -> Copy:
        self._settle()
        if self._copy is None:
            self._open()
        assert self._copy is not None
        return self._copy

    @property
    def likely_copy(self) -> Copy:
        """The present copy, or what was the present one a moment ago: no trip is made to know."""
        return self._copy or self.fleet.copy or self.copy

    @property
    def notices(self) -> tuple[Notice, ...]:
        """What is missing from the answers, or inexact in them."""
        found: list[Notice] = []
        if self.missing:
            total = len(self.fleet.cluster.nodes)
            names = ", ".join(self.fleet.cluster.nodes[number].place for number in sorted(self.missing))
            text = f"{total - len(self.missing)} of {total} shards: {names} did not answer."
            found.append(Notice("shards_missing", text, "warning"))
        if self.approximate:
            found.append(Notice("approximate", "approximate: the nearest meanings come from an HNSW index."))
        return tuple(found)

    def ask(self, sql: str) -> list[Rows]:
        """The rows of each shard."""
        return self._answer(Statement(sql))

    def all(self, sql: str, *more: str) -> Rows:
        """The rows of all shards together. `more`: what will be asked next, in the same trip."""
        self._unsent += map(Statement, more)
        return [row for rows in self.ask(sql) for row in rows]

    def first(self, sql: str) -> Rows:
        """The rows of the first server, which has what is not spread."""
        found = self._answer(Statement(sql, True))
        return found[0] if found else []

    def expect(self, statements: Sequence[Statement], *, later: bool = False) -> None:
        """Send at once, in one trip, what is going to be asked; whoever asks waits for the answers.

        `later`: with the next statement.
        """
        self._unsent += statements
        if not later:
            wanted = self._wanted()
            if wanted:
                self._arriving = self._begin(wanted)

    def begin(self, statements: Sequence[str]) -> Callable[[], list[list[Rows]]]:
        """Send now, beside all else; the function waits for the rows of each statement by shard."""
        copy, asked = self.likely_copy, [Statement(sql) for sql in statements]
        begun = self.fleet.cluster.begin(asked, copy.path, beside=True)
        self._begun.append(begun)

        def rows() -> list[list[Rows]]:
            with contextlib.suppress(NotIndexedError):
                answer = begun.finish()
                if self.copy == copy:
                    return [list(one.values()) for one in self._took(answer).rows]
            answer = self.fleet.cluster.ask(asked, self.copy.path)
            return [list(one.values()) for one in self._took(answer).rows]

        return rows

    def close(self) -> None:
        for one in self._begun:
            one.abandon()

    def _answer(self, statement: Statement) -> list[Rows]:
        known = self._known(statement)
        if known is None:
            self._unsent.append(statement)
            known = self._begin(self._wanted())()[statement]
        return known

    def _wanted(self) -> list[Statement]:
        """What is to be sent; each is sent once."""
        wanted = [one for one in dict.fromkeys(self._unsent) if self._known(one) is None]
        self._unsent = []
        return wanted

    def _known(self, statement: Statement) -> list[Rows] | None:
        self._settle()
        if self._copy is None:
            return None
        text = _key(statement)
        if text in self._answers:
            return self._answers[text]
        return self.fleet.kept.get((self._copy.number, text))

    def _settle(self) -> None:
        if self._arriving is not None:
            arriving, self._arriving = self._arriving, None
            arriving()

    def _begin(self, statements: Sequence[Statement]) -> Callable[[], dict[Statement, list[Rows]]]:
        cluster, guess = self.fleet.cluster, self.fleet.copy
        if self._copy is not None or guess is None:
            path = self.copy.path
            sent = cluster.begin(statements, path)
            self._begun.append(sent)
            return lambda: self._keep(statements, self._took(sent.finish()))
        # Which copy is the present one is asked in the same trip; it seldom is another than the last one.
        begun = cluster.begin([Statement(_PRESENT, True), *statements], guess.path)
        self._begun.append(begun)

        def found() -> dict[Statement, list[Rows]]:
            try:
                answer = begun.finish()
                present = next(iter(answer.rows[0].values()), None)
                self._copy = guess if present is None else self.fleet.learn(present)
            except NotIndexedError:  # it was dropped after two newer ones were published
                self._open()
                if self.copy.number == guess.number:
                    raise
            if self.copy.number == guess.number:
                answer.rows.pop(0)
            else:
                answer = cluster.ask(statements, self.copy.path)
            return self._keep(statements, self._took(answer))

        return found

    def _keep(self, statements: Sequence[Statement], answer: ShardRows) -> dict[Statement, list[Rows]]:
        found = {}
        for statement, by_shard in zip(statements, answer.rows, strict=True):
            rows = found[statement] = list(by_shard.values())
            if not answer.missing:
                self.fleet.keep((self.copy.number, _key(statement)), rows)
            else:
                self._answers[_key(statement)] = rows
        return found

    def _open(self) -> None:
        answer = self.fleet.cluster.ask([Statement(_PRESENT, True)], "kebab")
        present = next(iter(answer.rows[0].values()), None)
        if present is None:  # the first server is missing, and nothing is known of the others
            if self.fleet.copy is None:
                raise self.fleet.cluster.missing_error(answer.missing)
            self._copy = self.fleet.copy
            self._took(answer)
        else:
            self._copy = self.fleet.learn(present)

    def _took(self, answer: ShardRows) -> ShardRows:
        self.missing |= answer.missing
        return answer

    # The sources, which every server has

    def sources(self) -> dict[int, Source]:
        """The visible sources by number, without counts; their folders are those of this machine."""

        def read() -> dict[int, Source]:
            rows = self.ask(SOURCES)
            found: dict[int, Source] = {}
            for row in rows[0] if rows else []:
                source = local_rows.to_source(row[1:])
                root = self.fleet.roots.get(source.source_id)
                found[row[0]] = source if root is None else replace(source, root=root)
            return found

        result: dict[int, Source] = self.made_once("sources", read)
        return result

    def totals(self) -> list[int]:
        """The sums of the statistics over what is visible."""

        def read() -> list[int]:
            rows = self.all(STATISTICS)
            return [sum(column) for column in zip(*rows, strict=True)] or [0] * 6

        found: list[int] = self.made_once("totals", read)
        return found

    def made_once(self, name: str, make: Callable[[], Any]) -> Any:
        """A value that belongs to the copy; it is kept unless a shard is missing from it."""
        number = self.likely_copy.number
        known = self.fleet.object(number, name)
        if known is None:
            known = make()
            if not self.missing:
                self.fleet.keep_object(self.copy.number, name, known)
        return known

    def fetch_codes(self, rows: Sequence[int]) -> None:
        """Read the codes of these rows, unless they are known."""
        if self.codes is not None and (wanted := sorted(set(rows) - self.codes.keys())):
            found = self.all(f"SELECT row, part, emb FROM vec WHERE row = ANY({array(wanted, 'bigint')})")
            self.codes |= {row: [] for row in wanted}
            for row, _, code in sorted(found, key=lambda one: one[:2]):
                self.codes[row].append(code)

    def root_of(self, source: str) -> str:
        return next((one.root for one in self.sources().values() if one.source_id == source), "")


SOURCE_COLUMNS = (
    "s.source_id, s.title, s.root, s.description, s.include, s.exclude, s.trust, s.rules, s.version_label, "
    "s.weight, s.stars, s.code, s.use, s.state"
)
SOURCES = f"SELECT src, {SOURCE_COLUMNS} FROM source s ORDER BY number"

STATISTICS = (
    "SELECT coalesce(sum(chunks), 0)::bigint, coalesce(sum(tokens), 0)::bigint, coalesce(sum(hangul), "
    "0)::bigint, "
    "coalesce(sum(vectors), 0)::bigint, coalesce(sum(names), 0)::bigint, coalesce(sum(name_tokens), "
    "0)::bigint FROM stat"
)


def _key(statement: Statement) -> str:
    return f"{statement.first} {statement.sql}"
