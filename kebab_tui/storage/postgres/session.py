"""What one thread reads of a shared index: one copy of it, for as long as its snapshot lasts.

A published copy never changes, so its answers stay valid and are kept, and no transaction is open between two
statements. Which copy is the present one is asked along with the first statement of each snapshot.
"""

from __future__ import annotations

import json
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from kebab_tui.domain.document import Source
from kebab_tui.domain.hit import Notice
from kebab_tui.storage.postgres import schema
from kebab_tui.storage.postgres.address import Parameters, shard_parameters
from kebab_tui.storage.postgres.cluster import Answer, Cluster, Rows, Statement, nothing_published, too_new
from kebab_tui.storage.postgres.match_sql import array
from kebab_tui.storage.postgres.publish import Facts
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
    facts: Facts
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

    def kept_object(self, number: int, name: str, make: Callable[[], Any]) -> Any:
        """A value that belongs to a copy, made once."""
        with self._lock:
            known = self._objects.get((number, name))
        if known is None:
            known = make()
            with self._lock:
                self._objects = {key: one for key, one in self._objects.items() if key[0] == number}
                self._objects[number, name] = known
        return known

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
            self.copy = Copy(number, Facts(**json.loads(facts)), tuple(nodes))
        return self.copy


class Session:
    """One snapshot."""

    def __init__(self, fleet: Fleet) -> None:
        self.fleet = fleet
        self._copy: Copy | None = None
        if time.monotonic() - fleet.checked_at < _FRESH_S:
            self._copy = fleet.copy
        self.missing: dict[int, str] = {}
        """Shards whose part of an answer is missing."""
        self.approximate = False
        self.is_hangul: dict[int, bool] = {}
        """The script of rows that a ranking found."""
        self.candidates: set[int] = set()
        """Rows whose cosines a search by meaning is going to ask for."""
        self.codes: dict[int, list[bytes]] | None = None
        """The codes of rows, if vectors are searched."""

    @property
    def copy(self) -> Copy:
        if self._copy is None:
            self._open()
        assert self._copy is not None
        return self._copy

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

    def ask(self, sql: str, *more: str) -> list[Rows]:
        """The rows of each shard. `more`: statements whose answers will be asked for next, in the same
        trip."""
        return self._answer(sql, False, [(one, False) for one in more])

    def all(self, sql: str, *more: str) -> Rows:
        """The rows of all shards together."""
        return [row for rows in self.ask(sql, *more) for row in rows]

    def first(self, sql: str, *more: str) -> Rows:
        """The rows of the first server, which has what is not spread."""
        found = self._answer(sql, True, [(one, True) for one in more])
        return found[0] if found else []

    def together(self, statements: Sequence[tuple[str, bool]]) -> None:
        """Ask for what is going to be needed in one trip. Each with whether the first server alone has it."""
        wanted = [one for one in statements if self._known(*one) is None]
        if wanted:
            self._fetch([Statement(sql, first) for sql, first in wanted])

    def fetch_codes(self, *more: str, rows: Sequence[int] = ()) -> None:
        """Read the codes of the candidates, and of these rows; and, in the same trip, what `more` says."""
        if self.codes is None:
            return
        wanted = sorted((self.candidates | set(rows)) - self.codes.keys())
        if wanted:
            sql = f"SELECT row, part, emb FROM vec WHERE row = ANY({array(wanted, 'bigint')})"
            self.together([*((one, False) for one in more), (sql, False)])
            self.codes |= {row: [] for row in wanted}
            for row, _, code in sorted(self.all(sql), key=lambda one: one[:2]):
                self.codes[row].append(code)

    def begin(self, statements: Sequence[str]) -> Callable[[], list[list[Rows]]]:
        """Send now; the function waits for the rows of each statement by shard."""
        finish = self.fleet.cluster.begin([Statement(sql) for sql in statements], self.copy.path)

        def rows() -> list[list[Rows]]:
            return [list(one.values()) for one in self._took(finish()).rows]

        return rows

    def _answer(self, sql: str, first: bool, more: Sequence[tuple[str, bool]]) -> list[Rows]:
        known = self._known(sql, first)
        if known is None:
            wanted = [(sql, first), *(one for one in more if self._known(*one) is None)]
            known = self._fetch([Statement(*one) for one in wanted])[0]
        return known

    def _known(self, sql: str, first: bool) -> list[Rows] | None:
        if self._copy is None:
            return None
        return self.fleet.kept.get((self._copy.number, f"{first} {sql}"))

    def _fetch(self, statements: Sequence[Statement]) -> list[list[Rows]]:
        cluster = self.fleet.cluster
        guess = self.fleet.copy
        if self._copy is None and guess is not None:
            # Which copy is the present one is asked in the same trip; it seldom is another than the last one.
            answer = cluster.ask([Statement(_PRESENT, True), *statements], guess.path)
            present = next(iter(answer.rows[0].values()), None)
            self._copy = guess if present is None else self.fleet.learn(present)
            if self._copy.number == guess.number:
                answer.rows.pop(0)
                return self._keep(statements, self._took(answer))
        copy = self.copy
        return self._keep(statements, self._took(cluster.ask(statements, copy.path)))

    def _keep(self, statements: Sequence[Statement], answer: Answer) -> list[list[Rows]]:
        found = []
        for statement, by_shard in zip(statements, answer.rows, strict=True):
            rows = list(by_shard.values())
            found.append(rows)
            if not answer.missing:
                self.fleet.keep((self.copy.number, f"{statement.first} {statement.sql}"), rows)
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

    def _took(self, answer: Answer) -> Answer:
        self.missing |= answer.missing
        return answer

    # The sources, which every server has

    def sources(self) -> dict[int, Source]:
        """The visible sources by number, without counts; their folders are those of this machine."""

        def read() -> dict[int, Source]:
            rows = self.ask(f"SELECT src, {SOURCE_COLUMNS} FROM source s ORDER BY number")
            found: dict[int, Source] = {}
            for row in rows[0] if rows else []:
                source = local_rows.to_source(row[1:])
                root = self.fleet.roots.get(source.source_id)
                found[row[0]] = source if root is None else replace(source, root=root)
            return found

        result: dict[int, Source] = self.fleet.kept_object(self.copy.number, "sources", read)
        return result

    def root_of(self, source: str) -> str:
        return next((one.root for one in self.sources().values() if one.source_id == source), "")


SOURCE_COLUMNS = (
    "s.source_id, s.title, s.root, s.description, s.include, s.exclude, s.trust, s.rules, s.version_label, "
    "s.weight, s.stars, s.code, s.use, s.state"
)
