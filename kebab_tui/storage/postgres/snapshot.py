"""The reads of a search: implements `search.ports.Snapshot` over the servers of a shared index.

One SQL text for each call goes to every shard at once; the rows are merged here. What the next call is
going to
need is often asked in the same trip: such answers are kept with the copy.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any as Anything
from typing import NamedTuple

from kebab_tui.domain.document import chunker_of
from kebab_tui.domain.facets import NAME_KINDS, Facet
from kebab_tui.domain.hit import Notice
from kebab_tui.domain.ids import ChunkRow, DocId, SourceId
from kebab_tui.domain.links import LinkedNote
from kebab_tui.domain.query import SearchFilters
from kebab_tui.domain.text import embedded_text
from kebab_tui.domain.tokens import CJK, stem
from kebab_tui.search.match import All, Any, Match, Not, Raw, Term, Word, any_of
from kebab_tui.search.name_pattern import NamePattern
from kebab_tui.search.ports import (
    Among,
    CalledNote,
    Collection,
    Counted,
    FieldCounts,
    FieldWeights,
    Forecast,
    FoundChunk,
    NamedNote,
    Ranking,
    Scored,
)
from kebab_tui.storage.postgres import schema
from kebab_tui.storage.postgres.cluster import Rows, Statement
from kebab_tui.storage.postgres.filter_sql import conditions, passing
from kebab_tui.storage.postgres.match_sql import (
    NAMES,
    UP,
    Scores,
    TokenRun,
    WordTable,
    array,
    leaf_of,
    leaves_of,
    literal,
    matched,
    passages,
    rows_of_leaf,
)
from kebab_tui.storage.postgres.read_session import SOURCES, STATISTICS, ReadSession
from kebab_tui.storage.sqlite import rows as local_rows
from kebab_tui.storage.sqlite.name_list import NameList, PathList
from kebab_tui.storage.sqlite.snapshot import word_parts

Row = tuple[Anything, ...]
DOCUMENT = (
    "d.doc_id, d.source_id, d.path, d.raw_path, d.title, d.type, d.lang, d.trust, d.size, d.mtime_ns, "
    "d.ctime_ns, "
    "d.inode, d.content_hash, d.state, d.reason, d.flags, d.indexed_ns, d.dated, d.dated_by, d.chunks, "
)
CHUNK = (
    "c.row, c.chunk_id, c.doc_id, c.ordinal, c.kind, c.heading_path, c.text, c.line_first, "
    "c.line_last, c.page"
)
_CHUNK_WIDTH = 10
_LINKED = "d.doc_id, d.source_id, d.path, d.raw_path, d.title"
_NOTE = "d.doc_id, d.source_id, d.path, d.mtime_ns, d.names, d.name_id"
_FIRST = (
    "LEFT JOIN LATERAL (SELECT c.row FROM chunk c WHERE c.doc_id = d.doc_id{} ORDER BY c.ordinal "
    "LIMIT 1) c ON true"
)
_COMMONPLACE_CHUNKS = 2_000
_COMMONPLACE_SHARE = 0.04


class PostgresSnapshot:
    """Valid while its session lasts."""

    def __init__(self, session: ReadSession, weights: FieldWeights) -> None:
        self._session = session
        self._index = passages((weights.heading, weights.text, weights.title, weights.grams))
        self._listed: dict[str, int] = {}
        """Words that were looked up; 0 for one that is not in the list."""
        self._frequency: dict[tuple[str, TokenRun], int] = {}
        """By table and phrase."""
        self._counting: list[_Counting] = []
        """Statements that are going to tell frequencies."""
        self._rankings: dict[tuple[Among, Match | None], _Ranking] = {}
        self._totals_of: dict[Among, int] = {}
        self._strict: dict[Among, tuple[set[int], set[int]]] = {}
        """Rows that were looked at, and those of them that match."""
        self._listing: list[tuple[str, ...]] = []
        """Words that are being looked up."""
        self._notes: dict[ChunkRow, DocId] = {}
        self._chunks: dict[ChunkRow, _Read] = {}
        """Passages that were read."""
        self._pages: list[tuple[set[ChunkRow], str]] = []
        """Passages that are on their way, and the statement that reads them."""
        self._chunks_of: dict[str, list[tuple[int, str, bool]]] = {}
        """The passages of notes that were found by name: row, kind, script."""

    @property
    def revision(self) -> int:
        return self._session.copy.facts.revision

    @property
    def lexical_version(self) -> str:
        return self._session.copy.facts.lexical_version

    @property
    def notices(self) -> tuple[Notice, ...]:
        return self._session.notices

    @property
    def remote(self) -> bool:
        return True

    def expect(self, forecast: Forecast, *, later: bool = False) -> None:
        session, filters = self._session, forecast.filters
        if forecast.by_meaning and session.codes is None:
            session.codes = {}
        if forecast.terms and self._counting:
            self._learn_frequencies()
        wanted = []
        if session.fleet.object(session.likely_copy.number, "totals") is None:
            wanted.append(Statement(STATISTICS))
        if session.fleet.object(session.likely_copy.number, "sources") is None:
            wanted.append(Statement(SOURCES))
        leaves = list(dict.fromkeys(map(leaf_of, forecast.terms)))
        counting = self._counts_of(leaves, self._index)
        counting += self._counts_of([leaf for leaf in leaves if not _has_columns(leaf)], NAMES)
        self._counting += counting
        wanted += [Statement(one.sql) for one in counting]
        wanted += [Statement(self._named_sql(key, filters, NAMESAKES)) for key in forecast.names]
        wanted += [Statement(_unfinished_sql(prefix, UNFINISHED), True) for prefix in forecast.prefixes]
        wanted += [Statement(_begun_sql(prefix, limit), True) for prefix, limit in forecast.begun]
        wanted += [Statement(_alike_sql(word, edits), True) for word, edits in forecast.alike]
        if forecast.words:
            self._listing.append(forecast.words)
            wanted.append(Statement(_listed(forecast.words), True))
        for ranking in forecast.rankings:
            if ranking.newest is not None:
                wanted.append(Statement(self._newest_sql(ranking.among, ranking.scored, (), ranking.newest)))
                continue
            planned = self._planned(ranking)
            self._rankings[ranking.among, ranking.scored] = planned
            wanted.append(Statement(planned.sql))
        for count in forecast.counts:
            wanted += map(Statement, self._count_sql(count))
        if forecast.similar is not None:
            wanted.append(Statement(self._similar_sql(forecast.similar, filters, SIMILAR)))
        for browsed in forecast.browsed:
            wanted += map(Statement, self._browse_sql(*browsed))
        if missing := [row for row in forecast.passages if row not in self._chunks]:
            self._pages.append((set(missing), self._hydrate_sql(missing)))
            wanted.append(Statement(self._pages[-1][1]))
        wanted += [Statement(self._occurrences_sql(term, rows)) for term, rows in forecast.occurrences]
        session.expect(wanted, later=later)

    # Ranking

    def rank(
        self,
        among: Among,
        limit: int,
        *,
        scored: Match | None = None,
        leaving_out: Sequence[ChunkRow] = (),
        newest: int | None = None,
    ) -> list[Scored]:
        if among.match is None:
            raise ValueError("nothing to match")
        if limit <= 0:
            return []
        if newest is not None:
            read = self._session.all(self._newest_sql(among, scored, leaving_out, newest))
            rows = sorted((one for one in read if one[0] not in leaving_out), reverse=True)[:newest]
        else:
            needed = limit + len(leaving_out)
            known = self._rankings.get((among, scored))
            if known is None or known.least < needed:
                known = self._rankings[among, scored] = self._planned(Ranking(among, needed, scored))
            rows = self._take(known)
        out = set(leaving_out)
        rows = sorted((one for one in rows if one[0] not in out), key=lambda one: (one[1], one[2]))
        return [Scored(ChunkRow(row), score) for row, score, *_ in rows[:limit]]

    def _newest_sql(
        self, among: Among, scored: Match | None, leaving_out: Sequence[ChunkRow], newest: int
    ) -> str:
        few = leaving_out if len(leaving_out) > _FEW else ()
        found = self._scored(among, scored, few)
        latest = f"SELECT row, s FROM ({found}) f ORDER BY row DESC LIMIT {int(newest) + _FEW}"
        return f"SELECT r.row, r.s, c.chunk_id FROM ({latest}) r JOIN chunk c ON c.row = r.row"

    def _planned(self, wanted: Ranking) -> _Ranking:
        """A statement for the best rows; for some more than wanted, so that the next page has the same text.

        Every row has its id, script and note, and the number of all; as far as they are going to be asked,
        also whether it matches `strict`, and its codes.
        """
        among, least = wanted.among, _LEAST_RANKED
        while least < wanted.limit < _MOST_ROUNDED:
            least *= 2
        least = max(least, wanted.limit)
        strict = wanted.strict if wanted.strict != among.match else None
        is_strict = codes = "NULL"
        joined = ""
        if strict is not None:
            is_strict = "x.row IS NOT NULL"
            within = "p0.row = ANY(ARRAY(SELECT r.row FROM r))"
            joined = f" LEFT JOIN ({matched(strict, self._index, within=within)}) x ON x.row = r.row"
        if self._session.codes is not None:
            codes = _CODES.format("r.row")
        sql = (
            f"WITH f AS MATERIALIZED ({self._scored(among, wanted.scored, ())}), r AS MATERIALIZED "
            f"(SELECT row, s FROM f ORDER BY s FETCH FIRST {least} ROWS WITH TIES) "
            "SELECT r.row, r.s, c.chunk_id, c.hangul, (SELECT count(*) FROM f), "
            f"{is_strict}, {codes} "
            f"FROM r JOIN chunk c ON c.row = r.row{joined}"
        )
        return _Ranking(among, least, strict, sql)

    def _take(self, ranking: _Ranking) -> Rows:
        """The rows of a ranking; what came with them is kept."""
        session, found = self._session, self._session.ask(ranking.sql)
        rows = [row for of_shard in found for row in of_shard]
        if ranking.is_taken:
            return rows
        ranking.is_taken = True
        self._totals_of[ranking.among] = sum(of_shard[0][4] for of_shard in found if of_shard)
        session.chunk_ids |= {row[0]: row[2] for row in rows}
        session.is_hangul |= {row[0]: row[3] for row in rows}
        if ranking.strict is not None:
            strict = Among(match=ranking.strict, without=ranking.among.without)
            self._strict[strict] = {row[0] for row in rows}, {row[0] for row in rows if row[5]}
        if session.codes is not None:
            session.codes |= {row[0]: self._split(row[6]) for row in rows}
        return rows

    def count(
        self,
        among: Among,
        *,
        scored: Match | None = None,
        leaving_out: Sequence[ChunkRow] = (),
        worst: float | None = None,
    ) -> int:
        if among.match is None or worst is not None:
            return self._number(self._count_sql(Counted(among, scored, tuple(leaving_out), worst))[0])
        return self._count_all(among) - len(self.which(leaving_out, among))

    def _count_all(self, among: Among) -> int:
        match = among.match
        if among == Among(match=match) and not isinstance(match, Any | All | Not | Raw | None):
            return self.frequency(match)
        for one in self._rankings.values():
            if one.among == among:
                self._take(one)
        if among not in self._totals_of:
            self._totals_of[among] = self._number(self._counted(among))
        return self._totals_of[among]

    def _count_sql(self, wanted: Counted) -> list[str]:
        """What `count` asks."""
        among, worst = wanted.among, wanted.worst
        if among.match is None:
            return [f"SELECT count(*) FROM ({self._chosen(among)}) f"]
        if worst is not None:
            found = self._scored(among, wanted.scored, wanted.leaving_out)
            return [f"SELECT count(*) FROM ({found}) f WHERE s <= {literal(worst)}"]
        is_known = any(one.among == among for one in self._rankings.values())
        asked = [] if is_known else [self._counted(among)]
        return asked + ([self._which_sql(wanted.leaving_out, among)] if wanted.leaving_out else [])

    def count_by_source(self, among: Among) -> dict[str, int]:
        found = self._chosen(among) if among.match is None else self._matching(among)
        counts: Counter[str] = Counter()
        sources = self._session.sources()
        statement = f"SELECT c.src, count(*) FROM ({found}) f JOIN chunk c ON c.row = f.row GROUP BY c.src"
        for src, number in self._session.all(statement):
            counts[sources[src].source_id] += number
        return dict(counts)

    def better(self, among: Among, than: Scored, *, scored: Match | None = None) -> int:
        own = self.chunk_ids([than.row]).get(than.row, "")
        found = self._scored(among, scored, ())
        score = literal(than.bm25)
        return self._number(
            f"SELECT count(*) FROM ({found}) f WHERE s < {score} OR (s = {score} AND "
            f"(SELECT c.chunk_id FROM chunk c WHERE c.row = f.row) < {literal(own)})"
        )

    def has(self, match: Match, *, shareable: bool = False) -> bool:
        if isinstance(match, Any):
            return any(self.has(part) for part in match.parts)
        if not isinstance(match, All | Not | Raw):
            return self.frequency(match) > 0
        found = matched(match, self._index)
        return any(row[0] for row in self._session.all(f"SELECT EXISTS (SELECT 1 FROM ({found}) f)"))

    def has_private(self) -> bool:
        return False  # private notes are never copied

    def which(self, rows: Sequence[ChunkRow], among: Among) -> set[ChunkRow]:
        if not rows:
            return set()
        if (known := self._known(rows, among)) is not None:
            return known
        return {ChunkRow(row) for (row,) in self._session.all(self._which_sql(rows, among))}

    def _which_sql(self, rows: Sequence[ChunkRow], among: Among) -> str:
        few = array(list(rows), "bigint")
        if among.match is None:
            return f"{self._chosen(among)} AND c.row = ANY({few})"
        found = matched(_wanted(among), self._index, within=f"p0.row = ANY({few})")
        return f"SELECT f.row FROM ({found}) f WHERE {self._allowed('f', among)} AND f.row = ANY({few})"

    def _known(self, rows: Sequence[ChunkRow], among: Among) -> set[ChunkRow] | None:
        """The answer of `which`, if rankings brought it along."""
        is_hangul = self._session.is_hangul
        if among == Among(script=among.script) and is_hangul.keys() >= set(rows):
            wanted = {None: (True, False), "hangul": (True,), "other": (False,)}[among.script]
            return {row for row in rows if is_hangul[row] in wanted}
        if among in self._strict:
            looked_at, found = self._strict[among]
            if looked_at >= set(rows):
                return {row for row in rows if row in found}
        return None

    def passes(self, rows: Sequence[ChunkRow], filters: SearchFilters) -> bool:
        return bool(self.which(rows, Among(filters)))

    def _matching(self, among: Among) -> str:
        """A SELECT of the rows."""
        found = matched(_wanted(among), self._index, within=_within(among))
        return f"SELECT m.row FROM ({found}) m WHERE {self._allowed('m', among)}"

    def _counted(self, among: Among) -> str:
        return f"SELECT count(*) FROM ({self._matching(among)}) f"

    def _scored(self, among: Among, scored: Match | None, leaving_out: Sequence[ChunkRow]) -> str:
        """A SELECT of the rows and their scores."""
        assert among.match is not None
        scores = Scores(self.collection(), self._frequencies(leaves_of(scored or among.match)))
        found = matched(_wanted(among), self._index, scored=scored, scores=scores, within=_within(among))
        return f"SELECT m.row, m.s FROM ({found}) m WHERE {self._allowed('m', among, leaving_out)}"

    def _allowed(self, alias: str, among: Among, leaving_out: Sequence[ChunkRow] = ()) -> str:
        """The condition on rows that match."""
        found = []
        if among.filters.active or among.script is not None:
            passes = conditions(among.filters, among.script)
            if passes.note or passes.chunk:
                found.append(f"{alias}.row IN ({passing(among.filters, among.script)})")
        if leaving_out:
            found.append(f"NOT {alias}.row = ANY({array(list(leaving_out), 'bigint')})")
        return " AND ".join(found) or "true"

    def _chosen(self, among: Among) -> str:
        """A SELECT of all of them, for an `among` without a match."""
        statement = passing(among.filters, among.script)
        if among.without:
            out = matched(any_of(tuple(among.without)), self._index)
            statement += f" AND NOT EXISTS (SELECT 1 FROM ({out}) x WHERE x.row = c.row)"
        return statement

    # Statistics

    def collection(self) -> Collection:
        chunks, tokens, *_ = self._totals()
        return Collection(chunks, tokens / chunks) if chunks else Collection(0, 0.0)

    def _totals(self) -> list[int]:
        return self._session.totals()

    def has_both_scripts(self) -> bool:
        chunks, _, hangul, *_ = self._totals()
        return 0 < hangul < chunks

    def _counts_of(self, leaves: Sequence[TokenRun], index: WordTable) -> list[_Counting]:
        """Statements that count phrases; one for all that are a word."""
        unknown = [leaf for leaf in leaves if (index.table, leaf) not in self._frequency]
        words = [leaf for leaf in unknown if _is_word(leaf)]
        begun = [leaf for leaf in unknown if len(leaf.tokens) == 1 and leaf.prefix]
        others = [leaf for leaf in unknown if not _is_word(leaf)]
        found = []
        if len(begun) > _FEW:
            others = [leaf for leaf in others if leaf not in begun]
            for fields in {leaf.fields for leaf in begun}:
                some = tuple(leaf for leaf in begun if leaf.fields == fields)
                found.append(_Counting(index.table, some, _count_begun_sql(some, index)))
        found += [_Counting(index.table, (leaf,), _count_sql(leaf, index)) for leaf in others]
        if words:
            terms = array(sorted({leaf.tokens[0] for leaf in words}), "text")
            sql = (
                "SELECT p.term, count(*), count(*) FILTER (WHERE p.g > 0) "
                f"FROM {index.table} p WHERE p.term = ANY({terms}) GROUP BY p.term"
            )
            found.append(_Counting(index.table, tuple(words), sql))
        return found

    def _frequencies(self, leaves: Sequence[TokenRun], index: WordTable | None = None) -> dict[TokenRun, int]:
        """How many rows have each phrase; all in one trip."""
        index = index or self._index
        if any((index.table, leaf) not in self._frequency for leaf in leaves):
            self._learn_frequencies()
        if missing := self._counts_of(leaves, index):
            self._session.expect([Statement(one.sql) for one in missing])
            self._counting += missing
            self._learn_frequencies()
        found = {leaf: self._frequency[index.table, leaf] for leaf in leaves}
        index.rarity.update(found)
        return found

    def _learn_frequencies(self) -> None:
        counting, self._counting = self._counting, []
        for table, leaves, sql in counting:
            rows = self._session.all(sql)
            if not _is_word(leaves[0]):
                self._frequency |= dict.fromkeys(((table, leaf) for leaf in leaves), 0)
                for number, place in rows:
                    self._frequency[table, leaves[place]] += number
                continue
            counts: Counter[tuple[str, bool]] = Counter()
            for term, number, in_grams in rows:
                counts[term, False] += number
                counts[term, True] += in_grams
            self._frequency |= {(table, leaf): counts[leaf.tokens[0], bool(leaf.fields)] for leaf in leaves}

    def frequency(self, term: Term) -> int:
        leaf = leaf_of(term)
        return self._frequencies([leaf])[leaf]

    def lengths(self, rows: Sequence[ChunkRow]) -> Mapping[ChunkRow, int]:
        self.hydrate(rows)
        return {row: self._chunks[row].length for row in rows if row in self._chunks}

    def occurrences(self, term: Term, rows: Sequence[ChunkRow]) -> Mapping[ChunkRow, FieldCounts]:
        read = self._session.all(self._occurrences_sql(term, rows))
        return {ChunkRow(row): FieldCounts(*counts) for row, *counts in read}

    def _occurrences_sql(self, term: Term, rows: Sequence[ChunkRow]) -> str:
        few = array(list(rows), "bigint")
        found = rows_of_leaf(leaf_of(term), self._index, f"p0.row = ANY({few})")
        return f"SELECT row, h::int, x::int, t::int, g::int FROM ({found}) f"

    # Passages and notes

    def chunk_ids(self, rows: Sequence[ChunkRow]) -> dict[ChunkRow, str]:
        known = self._session.chunk_ids
        if missing := sorted(set(rows) - known.keys()):
            few = array(missing, "bigint")
            known |= dict(self._session.all(f"SELECT row, chunk_id FROM chunk WHERE row = ANY({few})"))
        return {row: known[row] for row in rows if row in known}

    def browse(
        self, filters: SearchFilters, limit: int, offset: int, *, without: Sequence[Match] = ()
    ) -> tuple[list[ChunkRow], int]:
        page, total = self._browse_sql(filters, limit, offset, tuple(without))
        self._session.expect([Statement(page), Statement(total)])
        rows = sorted(self._session.all(page), key=lambda one: (-one[0], one[1]))[offset : offset + limit]
        self._notes |= {ChunkRow(row): DocId(doc) for _, row, doc in rows}
        return [ChunkRow(row) for _, row, _ in rows], self._number(total)

    def _browse_sql(
        self, filters: SearchFilters, limit: int, offset: int, without: tuple[Match, ...] = ()
    ) -> tuple[str, str]:
        """What `browse` asks: the page, and the number of notes."""
        found = conditions(filters)
        first, where = "d.first_row", [found.note or "true", "d.first_row > 0"]
        if found.chunk:
            first = f"(SELECT min(c.row) FROM chunk c WHERE c.doc_id = d.doc_id AND {found.chunk})"
            where.append(f"EXISTS (SELECT 1 FROM chunk c WHERE c.doc_id = d.doc_id AND {found.chunk})")
        if without:
            out = matched(any_of(without), self._index)
            where.append(f"d.doc_id NOT IN (SELECT c.doc_id FROM chunk c JOIN ({out}) x ON x.row = c.row)")
        notes = f"FROM doc d WHERE {' AND '.join(where)}"
        page = (
            f"SELECT d.mtime_ns, {first} AS row, d.doc_id {notes} ORDER BY d.mtime_ns DESC, row "
            f"LIMIT {int(offset + limit)}"
        )
        return page, f"SELECT count(*) {notes}"

    def hydrate(self, rows: Sequence[ChunkRow]) -> dict[ChunkRow, FoundChunk]:
        if missing := [row for row in rows if row not in self._chunks]:
            page = next((sql for some, sql in self._pages if some.issuperset(missing)), None)
            for row in self._session.all(page or self._hydrate_sql(missing)):
                chunk = local_rows.to_chunk(row[:_CHUNK_WIDTH])
                made_by, title, length, codes = row[_CHUNK_WIDTH : _CHUNK_WIDTH + 4]
                if self._session.codes is not None:
                    self._session.codes[row[0]] = self._split(codes)
                document = local_rows.to_document(row[_CHUNK_WIDTH + 4 :])
                source = self._source(document.source)
                found = FoundChunk(chunk, document, source[0], source[1], chunker_of(made_by))
                self._chunks[chunk.row] = _Read(found, title, length)
        return {row: self._chunks[row].found for row in rows if row in self._chunks}

    def _hydrate_sql(self, rows: Sequence[ChunkRow]) -> str:
        codes = "NULL" if self._session.codes is None else _CODES.format("c.row")
        return (
            f"SELECT {CHUNK}, d.made_by, c.title, c.dl, {codes}, {DOCUMENT}d.hit_facets, '[]' "
            f"FROM chunk c JOIN doc d ON d.doc_id = c.doc_id WHERE c.row = ANY({array(list(rows), 'bigint')})"
        )

    def _split(self, codes: bytes | None) -> list[bytes]:
        """The codes of one passage as vectors."""
        size = _HEAD + 2 * self._session.copy.facts.dims
        return [] if codes is None else [codes[at : at + size] for at in range(0, len(codes), size)]

    def _source(self, source_id: SourceId) -> tuple[str, str]:
        for one in self._session.sources().values():
            if one.source_id == source_id:
                return one.root, one.title
        return "", ""

    def embedded_texts(self, rows: Sequence[ChunkRow]) -> dict[ChunkRow, str]:
        found = self.hydrate(rows)
        return {
            row: embedded_text(self._chunks[row].title, one.chunk.heading_path, one.chunk.text)
            for row, one in found.items()
        }

    def chunk_rows(self, doc: DocId) -> list[ChunkRow]:
        read = self._session.all(f"SELECT row, ordinal FROM chunk WHERE doc_id = {literal(doc)}")
        return [ChunkRow(row) for row, _ in sorted(read, key=lambda one: one[1])]

    def notes_of(self, rows: Sequence[ChunkRow]) -> dict[ChunkRow, DocId]:
        if missing := sorted(set(rows) - self._notes.keys()):
            few = array(missing, "bigint")
            self._notes |= dict(self._session.all(f"SELECT row, doc_id FROM chunk WHERE row = ANY({few})"))
        return {row: self._notes[row] for row in rows if row in self._notes}

    def chunks_of(self, docs: Sequence[DocId]) -> dict[ChunkRow, DocId]:
        if missing := [doc for doc in docs if doc not in self._chunks_of]:
            few = array(missing, "text")
            found = self._session.all(
                f"SELECT doc_id, row, kind, hangul FROM chunk WHERE doc_id = ANY({few})"
            )
            for doc, *chunk in found:
                self._chunks_of.setdefault(doc, []).append(tuple(chunk))
        # In the order of SQLite: sums of vectors depend on it in the last digit.
        ordered = sorted(
            (doc, kind, hangul, row) for doc in docs for row, kind, hangul in self._chunks_of.get(doc, ())
        )
        self._session.is_hangul |= {row: hangul for _, _, hangul, row in ordered}
        return {ChunkRow(row): DocId(doc) for doc, _, _, row in ordered}

    def sources(self) -> list[str]:
        return sorted(one.source_id for one in self._session.sources().values())

    def removed_sources(self) -> tuple[SourceId, ...]:
        return ()  # they are not copied

    # Names

    def named(self, key: str, filters: SearchFilters, limit: int) -> list[NamedNote]:
        rows = self._session.all(self._named_sql(key, filters, limit))
        return self._notes_named(sorted(rows, key=lambda one: (-one[3], one[0]))[:limit])

    def names_with(self, match: Match, filters: SearchFilters, limit: int) -> list[NamedNote]:
        read = self._session.all(self._similar_sql(match, filters, limit))
        if not filters.active:
            read = sorted(read, key=lambda one: (one[-1], one[5]))[:limit]
        read = [one for one in read if one[6] is not None]
        read.sort(key=lambda one: (one[-1], -one[3], one[0]))
        return self._notes_named(read[:limit])

    def _notes_named(self, rows: Sequence[Row]) -> list[NamedNote]:
        """Notes found by name; what came with them is kept."""
        session = self._session
        for row in rows:
            chunks, kinds, scripts, ids = row[7:11]
            self._chunks_of[row[0]] = list(zip(chunks, kinds, scripts, strict=True))
            session.chunk_ids |= zip(chunks, ids, strict=True)
            if session.codes is not None:
                session.codes[row[6]] = self._split(row[11])
        return [_named_note(row) for row in rows]

    def _similar_sql(self, match: Match, filters: SearchFilters, limit: int) -> str:
        leaves = leaves_of(match)
        frequencies = self._frequencies(leaves, NAMES)
        *_, names, tokens = self._totals()
        scores = Scores(Collection(names, tokens / names if names else 0.0), frequencies)
        found = matched(match, NAMES, scores=scores)
        passes = conditions(filters)
        if not filters.active:  # notes without passages take places, too
            found = f"SELECT row, s FROM ({found}) f ORDER BY s, row LIMIT {int(limit)}"
        lateral = _FIRST.format(f" AND {passes.chunk}" if passes.chunk else "")
        return self._with_chunks(
            f"SELECT {_NOTE}, c.row, f.s FROM ({found}) f JOIN doc d ON d.name_id = f.row {lateral} "
            f"WHERE {passes.note or 'true'} ORDER BY f.s, d.mtime_ns DESC, d.doc_id LIMIT {int(limit)}",
            ", n.s",
        )

    def _named_sql(self, key: str, filters: SearchFilters, limit: int) -> str:
        passes = conditions(filters)
        kinds = array(list(NAME_KINDS), "text")
        chunk = f" AND {passes.chunk}" if passes.chunk else ""
        return self._with_chunks(
            f"SELECT {_NOTE}, c.row FROM doc d {_FIRST.format(chunk)} WHERE c.row IS NOT NULL "
            f"AND d.doc_id IN (SELECT f.doc_id FROM facet f WHERE f.kind = ANY({kinds}) "
            f"AND f.folded = {literal(key)}) AND {passes.note or 'true'} "
            f"ORDER BY d.mtime_ns DESC, d.doc_id LIMIT {int(limit)}"
        )

    def _with_chunks(self, found: str, more: str = "") -> str:
        """Notes that a SELECT names, with all their passages, and the codes of the first that passes."""
        codes = "NULL" if self._session.codes is None else _CODES.format("n.row")
        return (
            f"SELECT n.doc_id, n.source_id, n.path, n.mtime_ns, n.names, n.name_id, n.row, a.rows, a.kinds, "
            f"a.scripts, a.ids, {codes}{more} FROM ({found}) n CROSS JOIN LATERAL (SELECT "
            "coalesce(array_agg(c.row), '{}') AS rows, coalesce(array_agg(c.kind), '{}') AS kinds, "
            "coalesce(array_agg(c.hangul), '{}') AS scripts, coalesce(array_agg(c.chunk_id), '{}') AS ids "
            "FROM chunk c WHERE c.doc_id = n.doc_id) a"
        )

    def find_names(
        self, pattern: NamePattern, filters: SearchFilters, limit: int, enough: int
    ) -> list[NamedNote]:
        passes = conditions(filters)
        where = passes.note or "true"
        if passes.chunk:
            where += f" AND EXISTS (SELECT 1 FROM chunk c WHERE c.doc_id = d.doc_id AND {passes.chunk})"
        if not pattern.words:
            rows = self._session.all(
                f"SELECT {_NOTE}, coalesce(c.row, 0) FROM doc d {_FIRST.format('')} "
                f"WHERE d.name_lines <> '' AND {where} ORDER BY d.mtime_ns DESC, d.path LIMIT {int(limit)}"
            )
            rows.sort(key=lambda one: (-one[3], one[2]))
            return [_named_note(row) for row in rows[:limit]]
        among = None
        if passes.note or passes.chunk:
            read = self._session.all(f"SELECT d.name_id FROM doc d WHERE d.name_lines <> '' AND {where}")
            among = {note for (note,) in read}
        names = self._name_list()
        found = {one.note: one for one in names.propose(pattern, enough, among)}
        if pattern.has_folders or len(found) < enough:
            found = {one.note: one for one in self._path_list().propose(pattern, among)} | found
        notes = [one.note for one in sorted(found.values(), key=lambda one: one.order)[:limit]]
        rows = self._session.all(
            f"SELECT {_NOTE}, coalesce(c.row, 0) FROM doc d {_FIRST.format('')} "
            f"WHERE d.name_lines <> '' AND d.name_id = ANY({array(notes, 'bigint')})"
        )
        known = {row[5]: _named_note(row) for row in rows}
        return [known[note] for note in notes if note in known]

    def _name_list(self) -> NameList:
        def read() -> NameList:
            rows = self._session.all("SELECT name_id, name_lines FROM doc WHERE name_lines <> ''")
            return NameList(sorted(rows, reverse=True))

        found: NameList = self._session.made_once("names", read)
        return found

    def _path_list(self) -> PathList:
        def read() -> PathList:
            rows = self._session.all("SELECT name_id, path FROM doc WHERE name_lines <> ''")
            return PathList(sorted(rows, reverse=True))

        found: PathList = self._session.made_once("paths", read)
        return found

    def called(self, keys: Sequence[str] | None, filters: SearchFilters) -> list[CalledNote]:
        if keys is None:
            return self._called("true", filters)
        kinds = array(list(NAME_KINDS), "text")
        with_key = f"f.kind = ANY({kinds}) AND f.folded = ANY({array(list(keys), 'text')})"
        return self._called(f"d.doc_id IN (SELECT f.doc_id FROM facet f WHERE {with_key})", filters)

    def called_after_folders(self, filters: SearchFilters) -> list[CalledNote]:
        return self._called("d.after_folder", filters)

    def _called(self, condition: str, filters: SearchFilters) -> list[CalledNote]:
        where = conditions(filters).all
        read = self._session.all(f"SELECT {_LINKED}, d.names FROM doc d WHERE {condition} AND {where}")
        return [CalledNote(self._linked(row), _names(row[5])) for row in sorted(read, key=lambda one: one[0])]

    def links(
        self, kinds: Sequence[str], filters: SearchFilters, *, keys: Sequence[str] | None = None
    ) -> list[tuple[LinkedNote, Facet]]:
        where = [f"f.kind = ANY({array(list(kinds), 'text')})", conditions(filters).all]
        if keys is None:
            where.append(f"f.ordinal >= {local_rows.MANY}")
        else:
            where.append(f"f.folded = ANY({array(list(keys), 'text')})")
        read = self._session.all(
            f"SELECT {_LINKED}, f.kind, f.value, f.line, f.target, f.extra, f.ordinal "
            f"FROM facet f JOIN doc d ON d.doc_id = f.doc_id WHERE {' AND '.join(where)}"
        )
        read.sort(key=lambda one: (one[2], one[1], -1 if one[7] is None else one[7], one[10]))
        notes: dict[str, LinkedNote] = {}
        found = []
        for row in read:
            note = notes.get(row[0])
            if note is None:
                note = notes[row[0]] = self._linked(row)
            found.append((note, Facet(*row[5:10])))
        return found

    def _linked(self, row: Row) -> LinkedNote:
        source = SourceId(row[1])
        return LinkedNote(DocId(row[0]), source, self._source(source)[0], row[2], row[3], row[4])

    # Words

    def unfinished(self, prefix: str, limit: int) -> list[str]:
        return self._words(_unfinished_sql(prefix, limit))

    def too_frequent(self, words: Sequence[str]) -> set[str]:
        least = max(_COMMONPLACE_CHUNKS, int(_COMMONPLACE_SHARE * self.collection().chunks))
        often = [word for word, seen in self.listed(words).items() if seen > least]
        frequencies = self._frequencies([leaf_of(Word(word)) for word in often])
        return {word for word in often if frequencies[leaf_of(Word(word))] > least}

    def common_words(self, prefix: str, limit: int) -> list[str]:
        return self._words(_begun_sql(prefix, limit))

    def listed(self, words: Sequence[str]) -> Mapping[str, int]:
        if not words:
            return {}
        self._listed |= {word: 0 for word in words if _CJK.search(word)}
        if not self._listed.keys() >= set(words):
            for some in list(self._listing):
                if not self._listed.keys() >= set(words) & set(some):
                    self._listing.remove(some)
                    self._learn(some)
        if missing := [word for word in words if word not in self._listed]:
            self._learn(missing)
        return {word: seen for word in words if (seen := self._listed[word])}

    def _learn(self, words: Sequence[str]) -> None:
        found: dict[str, int] = dict(self._session.first(_listed(words)))
        self._listed |= {word: found.get(word, 0) for word in words}

    def alike(self, word: str, edits: int) -> Mapping[str, int]:
        read = self._session.first(_alike_sql(word, edits))
        self._listed |= dict(read)
        return dict(read)

    def _number(self, statement: str) -> int:
        return sum(row[0] for row in self._session.all(statement))

    def _words(self, statement: str) -> list[str]:
        return [word for (word,) in self._session.first(statement)]


NAMESAKES, SIMILAR, UNFINISHED = 50, 30, 48
"""How much a search asks for of notes of one name, notes of similar names, and completions of a word."""
_CJK = re.compile(f"[{CJK}]")
_HEAD = 4
"""Bytes of a halfvec before its numbers."""
_FEW = 4
"""So many statements are as quick as one that is longer."""
_LEAST_RANKED, _MOST_ROUNDED = 16, 256
"""How many rows a ranking reads at least, and from where on it reads no more than it was asked for."""
_CODES = "(SELECT string_agg(halfvec_send(v.emb), '' ORDER BY v.part) FROM vec v WHERE v.row = {})"
"""The codes of a passage, one after the other."""


class _Counting(NamedTuple):
    """A statement that counts phrases; of words, all at once."""

    table: str
    leaves: tuple[TokenRun, ...]
    sql: str


@dataclass(slots=True)
class _Ranking:
    """A statement that ranks. `strict`: a match that its rows are compared with."""

    among: Among
    least: int
    strict: Match | None
    sql: str
    is_taken: bool = False


class _Read(NamedTuple):
    """A passage, its title for a model, and its number of words."""

    found: FoundChunk
    title: str
    length: int


def _is_word(leaf: TokenRun) -> bool:
    return len(leaf.tokens) == 1 and not leaf.prefix and leaf.fields in ((), ("grams",))


def _count_sql(leaf: TokenRun, index: WordTable) -> str:
    return f"SELECT count(*), 0 FROM ({rows_of_leaf(leaf, index)}) f"


def _count_begun_sql(leaves: Sequence[TokenRun], index: WordTable) -> str:
    """Counts many beginnings of words, most of which no passage has."""
    fields = leaves[0].fields or index.fields
    kept = " OR ".join(f"p.{index.counts[name]} > 0" for name in index.fields if name in fields) or "false"
    return (
        "SELECT (SELECT count(DISTINCT p.row) "
        f"FROM {index.table} p WHERE p.term >= w.begun AND p.term < w.begun || {literal(UP)} AND ({kept})), "
        f"w.number - 1 FROM unnest({array([leaf.tokens[0] for leaf in leaves], 'text')}) "
        "WITH ORDINALITY w(begun, number)"
    )


def _within(among: Among) -> str:
    """A condition on `p0.row`, if it is about few notes."""
    if not (docs := among.filters.doc_ids):
        return ""
    return f"p0.row = ANY(ARRAY(SELECT c.row FROM chunk c WHERE c.doc_id = ANY({array(list(docs), 'text')})))"


def _has_columns(leaf: TokenRun) -> bool:
    return bool(leaf.fields) and not set(leaf.fields) <= set(schema.NAME_FIELDS)


def _unfinished_sql(prefix: str, limit: int) -> str:
    found = stem(prefix)
    return (
        f"SELECT min(word) FROM ({_begun(prefix)}) w WHERE NOT (stem >= {literal(found)} "
        f"AND stem < {literal(found + UP)}) GROUP BY stem ORDER BY max(seen) DESC, stem LIMIT {int(limit)}"
    )


def _wanted(among: Among) -> Match:
    """The match with the exclusions in it: one pass over the words, which no plan can get wrong."""
    assert among.match is not None
    return Not(among.match, any_of(among.without)) if among.without else among.match


def _named_note(row: Row) -> NamedNote:
    return NamedNote(DocId(row[0]), ChunkRow(row[6]), _names(row[4]), row[1], row[2], row[3])


def _names(listed: str) -> tuple[tuple[str, str], ...]:
    return tuple((kind, name) for kind, name in json.loads(listed))


def _begun(prefix: str) -> str:
    """The words that begin so; of the visible sources together."""
    return (
        "SELECT word, min(stem) AS stem, sum(seen)::bigint AS seen FROM word "
        f"WHERE word >= {literal(prefix)} AND word < {literal(prefix + UP)} GROUP BY word"
    )


def _begun_sql(prefix: str, limit: int) -> str:
    return f"SELECT word FROM ({_begun(prefix)}) w ORDER BY seen DESC, word LIMIT {int(limit)}"


def _alike_sql(word: str, edits: int) -> str:
    parts = " OR ".join(f"strpos(word, {literal(part)}) > 0" for part in word_parts(word, edits))
    return (
        f"SELECT word, seen FROM ({_begun(word[0])}) w "
        f"WHERE length(word) BETWEEN {len(word) - edits} AND {len(word) + edits} AND ({parts})"
    )


def _listed(words: Sequence[str]) -> str:
    return (
        f"SELECT word, sum(seen)::bigint FROM word WHERE word = ANY({array(list(words), 'text')}) "
        f"GROUP BY word"
    )
