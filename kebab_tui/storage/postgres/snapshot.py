"""The reads of a search: implements `search.ports.Snapshot` over the servers of a shared index.

One SQL text for each call goes to every shard at once; the rows are merged here. What the next call is
going to
need is often asked in the same trip: such answers are kept with the copy.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any as Anything

from kebab_tui.domain.document import chunker_of
from kebab_tui.domain.facets import NAME_KINDS, Facet
from kebab_tui.domain.hit import Notice
from kebab_tui.domain.ids import ChunkRow, DocId, SourceId
from kebab_tui.domain.links import LinkedNote
from kebab_tui.domain.query import SearchFilters
from kebab_tui.domain.text import embedded_text
from kebab_tui.domain.tokens import stem
from kebab_tui.search.match import All, Any, Match, Not, Raw, Term, Word, any_of
from kebab_tui.search.name_pattern import NamePattern
from kebab_tui.search.ports import (
    Among,
    CalledNote,
    Collection,
    FieldCounts,
    FieldWeights,
    Forecast,
    FoundChunk,
    NamedNote,
    Scored,
)
from kebab_tui.storage.postgres import schema
from kebab_tui.storage.postgres.filter_sql import conditions, passing
from kebab_tui.storage.postgres.match_sql import (
    NAMES,
    UP,
    Index,
    Leaf,
    Scores,
    array,
    leaf_of,
    leaves_of,
    literal,
    matched,
    passages,
    rows_of_leaf,
)
from kebab_tui.storage.postgres.session import Session
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
STATISTICS = (
    "SELECT coalesce(sum(chunks), 0)::bigint, coalesce(sum(tokens), 0)::bigint, coalesce(sum(hangul), "
    "0)::bigint, "
    "coalesce(sum(vectors), 0)::bigint, coalesce(sum(names), 0)::bigint, coalesce(sum(name_tokens), "
    "0)::bigint FROM stat"
)


class PostgresSnapshot:
    """Valid while its session lasts."""

    def __init__(self, session: Session, weights: FieldWeights) -> None:
        self._session = session
        self._index = passages((weights.heading, weights.text, weights.title, weights.grams))
        self._listed: dict[str, int] = {}
        """Words that were looked up; 0 for one that is not in the list."""
        self._strict: dict[Match, tuple[set[int], set[int]]] = {}
        """For a match: rows that were looked at, and those of them that match."""

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

    def expect(self, forecast: Forecast) -> None:
        session, filters = self._session, forecast.filters
        leaves = list(dict.fromkeys(map(leaf_of, forecast.terms)))
        wanted = [(STATISTICS, False)]
        wanted += [(self._count_of(leaf, self._index), False) for leaf in leaves]
        wanted += [(self._count_of(leaf, NAMES), False) for leaf in leaves if not _has_columns(leaf)]
        wanted += [(_named_sql(key, filters, NAMESAKES), False) for key in forecast.names]
        wanted += [(_unfinished_sql(prefix, UNFINISHED), True) for prefix in forecast.prefixes]
        if forecast.words:
            wanted.append((_listed(forecast.words), True))
        ranked = []
        for one in forecast.rankings:
            sql = self._ranked_sql(one.among, one.limit, one.scored)
            wanted += [(sql, False), (self._counted(one.among, ()), False)]
            if one.strict is not None and one.strict != one.among.match:
                ranked.append((one.strict, sql))
                wanted.append((self._strict_sql(one.strict, sql), False))
        if forecast.similar is not None:
            wanted.append((self._similar_sql(forecast.similar, filters, SIMILAR), False))
        session.together(wanted)
        if forecast.words:
            self._learn(forecast.words)
        for strict, sql in ranked:
            looked_at = {row[0] for row in session.all(sql)}
            self._strict[strict] = looked_at, {row for (row,) in session.all(self._strict_sql(strict, sql))}

    def _count_of(self, leaf: Leaf, index: Index) -> str:
        return f"SELECT count(*) FROM ({rows_of_leaf(leaf, index)}) f"

    def _strict_sql(self, strict: Match, ranked: str) -> str:
        """Which rows of a ranking match."""
        few = f"p0.row = ANY(ARRAY(SELECT f.row FROM ({ranked}) f))"
        return matched(strict, self._index, within=few)

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
            found = self._scored(among, scored, leaving_out)
            newest_rows = f"SELECT row, s FROM ({found}) f ORDER BY row DESC LIMIT {int(newest)}"
            rows = sorted(self._session.all(_with_ids(newest_rows)), reverse=True)[:newest]
        else:
            sql = self._ranked_sql(among, limit + len(leaving_out), scored)
            rows = list(self._session.all(sql, self._counted(among, leaving_out)))
            self._session.candidates.update(row[0] for row in rows)
            self._session.is_hangul |= {row[0]: row[3] for row in rows}
        out = set(leaving_out)
        rows = sorted((one for one in rows if one[0] not in out), key=lambda one: (one[1], one[2]))
        return [Scored(ChunkRow(row), score) for row, score, *_ in rows[:limit]]

    def _ranked_sql(self, among: Among, limit: int, scored: Match | None) -> str:
        """The best rows; some more than `limit`, so that the next page has the same text."""
        found, least = self._scored(among, scored, ()), _LEAST_RANKED
        while least < limit:
            least *= 2
        return _with_ids(f"SELECT row, s FROM ({found}) f ORDER BY s FETCH FIRST {least} ROWS WITH TIES")

    def count(
        self,
        among: Among,
        *,
        scored: Match | None = None,
        leaving_out: Sequence[ChunkRow] = (),
        worst: float | None = None,
    ) -> int:
        if among.match is None:
            return self._number(f"SELECT count(*) FROM ({self._chosen(among)}) f")
        if worst is None:
            match = among.match
            if (
                among == Among(match=match)
                and not leaving_out
                and not isinstance(match, Any | All | Not | Raw)
            ):
                return self.frequency(match)
            return self._number(self._counted(among, leaving_out))
        found = self._scored(among, scored, leaving_out)
        return self._number(f"SELECT count(*) FROM ({found}) f WHERE s <= {literal(worst)}")

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
        few = array(list(rows), "bigint")
        if among.match is None:
            statement = f"{self._chosen(among)} AND c.row = ANY({few})"
        else:
            found = matched(_wanted(among), self._index, within=f"p0.row = ANY({few})")
            statement = (
                f"SELECT f.row FROM ({found}) f WHERE {self._allowed('f', among)} AND f.row = ANY({few})"
            )
        return {ChunkRow(row) for (row,) in self._session.all(statement)}

    def _known(self, rows: Sequence[ChunkRow], among: Among) -> set[ChunkRow] | None:
        """The answer of `which`, if rankings brought it along."""
        is_hangul = self._session.is_hangul
        if among == Among(script=among.script) and is_hangul.keys() >= set(rows):
            wanted = {None: (True, False), "hangul": (True,), "other": (False,)}[among.script]
            return {row for row in rows if is_hangul[row] in wanted}
        if among.match in self._strict and among == Among(match=among.match):
            looked_at, found = self._strict[among.match]
            if looked_at >= set(rows):
                return {row for row in rows if row in found}
        return None

    def passes(self, rows: Sequence[ChunkRow], filters: SearchFilters) -> bool:
        return bool(self.which(rows, Among(filters)))

    def _matching(self, among: Among, leaving_out: Sequence[ChunkRow] = ()) -> str:
        """A SELECT of the rows."""
        assert among.match is not None
        return (
            f"SELECT m.row FROM ({matched(_wanted(among), self._index)}) m WHERE "
            f"{self._allowed('m', among, leaving_out)}"
        )

    def _counted(self, among: Among, leaving_out: Sequence[ChunkRow]) -> str:
        return f"SELECT count(*) FROM ({self._matching(among, leaving_out)}) f"

    def _scored(self, among: Among, scored: Match | None, leaving_out: Sequence[ChunkRow]) -> str:
        """A SELECT of the rows and their scores."""
        assert among.match is not None
        scores = Scores(self.collection(), self._frequencies(leaves_of(scored or among.match)))
        found = matched(_wanted(among), self._index, scored=scored, scores=scores)
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
        rows = self._session.all(STATISTICS)
        return [sum(column) for column in zip(*rows, strict=True)] or [0] * 6

    def has_both_scripts(self) -> bool:
        chunks, _, hangul, *_ = self._totals()
        return 0 < hangul < chunks

    def _frequencies(self, leaves: Sequence[Leaf], names: bool = False) -> dict[Leaf, int]:
        """How many rows have each phrase; all in one trip."""
        index = NAMES if names else self._index
        statements = {leaf: self._count_of(leaf, index) for leaf in leaves}
        self._session.together([(STATISTICS, False), *((one, False) for one in statements.values())])
        found = {leaf: self._number(statement) for leaf, statement in statements.items()}
        if not names:
            index.rarity.update(found)
        return found

    def frequency(self, term: Term) -> int:
        leaf = leaf_of(term)
        return self._frequencies([leaf])[leaf]

    def lengths(self, rows: Sequence[ChunkRow]) -> Mapping[ChunkRow, int]:
        few = array(list(rows), "bigint")
        return dict(self._session.all(f"SELECT row, dl FROM chunk WHERE row = ANY({few})"))

    def occurrences(self, term: Term, rows: Sequence[ChunkRow]) -> Mapping[ChunkRow, FieldCounts]:
        few = array(list(rows), "bigint")
        found = rows_of_leaf(leaf_of(term), self._index, f"p0.row = ANY({few})")
        read = self._session.all(f"SELECT row, h::int, x::int, t::int, g::int FROM ({found}) f")
        return {ChunkRow(row): FieldCounts(*counts) for row, *counts in read}

    # Passages and notes

    def chunk_ids(self, rows: Sequence[ChunkRow]) -> dict[ChunkRow, str]:
        few = array(list(rows), "bigint")
        return dict(self._session.all(f"SELECT row, chunk_id FROM chunk WHERE row = ANY({few})"))

    def browse(
        self, filters: SearchFilters, limit: int, offset: int, *, without: Sequence[Match] = ()
    ) -> tuple[list[ChunkRow], int]:
        found = conditions(filters)
        first, where = "d.first_row", [found.note or "true", "d.first_row > 0"]
        if found.chunk:
            first = f"(SELECT min(c.row) FROM chunk c WHERE c.doc_id = d.doc_id AND {found.chunk})"
            where.append(f"EXISTS (SELECT 1 FROM chunk c WHERE c.doc_id = d.doc_id AND {found.chunk})")
        if without:
            out = matched(any_of(tuple(without)), self._index)
            where.append(f"d.doc_id NOT IN (SELECT c.doc_id FROM chunk c JOIN ({out}) x ON x.row = c.row)")
        notes = f"FROM doc d WHERE {' AND '.join(where)}"
        total = f"SELECT count(*) {notes}"
        page = self._session.all(
            f"SELECT d.mtime_ns, {first} AS row {notes} ORDER BY d.mtime_ns DESC, row LIMIT "
            f"{int(offset + limit)}",
            total,
        )
        page.sort(key=lambda one: (-one[0], one[1]))
        return [ChunkRow(row) for _, row in page[offset : offset + limit]], self._number(total)

    def hydrate(self, rows: Sequence[ChunkRow]) -> dict[ChunkRow, FoundChunk]:
        if not rows:
            return {}
        few = array(list(rows), "bigint")
        found = {}
        for row in self._session.all(
            f"SELECT {CHUNK}, d.made_by, {DOCUMENT}d.hit_facets, '[]' FROM chunk c JOIN doc d ON d.doc_id "
            f"= c.doc_id "
            f"WHERE c.row = ANY({few})"
        ):
            chunk = local_rows.to_chunk(row[:_CHUNK_WIDTH])
            document = local_rows.to_document(row[_CHUNK_WIDTH + 1 :])
            source = self._source(document.source)
            found[chunk.row] = FoundChunk(
                chunk, document, source[0], source[1], chunker_of(row[_CHUNK_WIDTH])
            )
        return {row: found[row] for row in rows if row in found}

    def _source(self, source_id: SourceId) -> tuple[str, str]:
        for one in self._session.sources().values():
            if one.source_id == source_id:
                return one.root, one.title
        return "", ""

    def embedded_texts(self, rows: Sequence[ChunkRow]) -> dict[ChunkRow, str]:
        few = array(list(rows), "bigint")
        read = self._session.all(f"SELECT row, title, heading_path, text FROM chunk WHERE row = ANY({few})")
        return {ChunkRow(row): embedded_text(*parts) for row, *parts in read}

    def chunk_rows(self, doc: DocId) -> list[ChunkRow]:
        read = self._session.all(f"SELECT row, ordinal FROM chunk WHERE doc_id = {literal(doc)}")
        return [ChunkRow(row) for row, _ in sorted(read, key=lambda one: one[1])]

    def notes_of(self, rows: Sequence[ChunkRow]) -> dict[ChunkRow, DocId]:
        few = array(list(rows), "bigint")
        return dict(self._session.all(f"SELECT row, doc_id FROM chunk WHERE row = ANY({few})"))

    def chunks_of(self, docs: Sequence[DocId]) -> dict[ChunkRow, DocId]:
        few = array(list(docs), "text")
        statement = f"SELECT row, doc_id, kind, hangul FROM chunk WHERE doc_id = ANY({few})"
        self._session.fetch_codes(statement)
        read = self._session.all(statement)
        self._session.is_hangul |= {row[0]: row[3] for row in read}
        # In the order of SQLite: sums of vectors depend on it in the last digit.
        ordered = sorted(read, key=lambda one: (one[1], one[2], one[3], one[0]))
        return {ChunkRow(row): doc for row, doc, *_ in ordered}

    def sources(self) -> list[str]:
        return sorted(one.source_id for one in self._session.sources().values())

    def removed_sources(self) -> tuple[SourceId, ...]:
        return ()  # they are not copied

    # Names

    def named(self, key: str, filters: SearchFilters, limit: int) -> list[NamedNote]:
        rows = self._session.all(_named_sql(key, filters, limit))
        rows = sorted(rows, key=lambda one: (-one[3], one[0]))[:limit]
        self._session.candidates.update(row[6] for row in rows)
        return [_named_note(row) for row in rows]

    def names_with(self, match: Match, filters: SearchFilters, limit: int) -> list[NamedNote]:
        read = self._session.all(self._similar_sql(match, filters, limit))
        if not filters.active:
            read = sorted(read, key=lambda one: (one[7], one[5]))[:limit]
        read = [one for one in read if one[6] is not None]
        read.sort(key=lambda one: (one[7], -one[3], one[0]))
        self._session.candidates.update(row[6] for row in read[:limit])
        return [_named_note(row[:7]) for row in read[:limit]]

    def _similar_sql(self, match: Match, filters: SearchFilters, limit: int) -> str:
        leaves = leaves_of(match)
        frequencies = self._frequencies(leaves, names=True)
        *_, names, tokens = self._totals()
        scores = Scores(Collection(names, tokens / names if names else 0.0), frequencies)
        found = matched(match, NAMES, scores=scores)
        passes = conditions(filters)
        if not filters.active:  # notes without passages take places, too
            found = f"SELECT row, s FROM ({found}) f ORDER BY s, row LIMIT {int(limit)}"
        lateral = _FIRST.format(f" AND {passes.chunk}" if passes.chunk else "")
        return (
            f"SELECT {_NOTE}, c.row, f.s FROM ({found}) f JOIN doc d ON d.name_id = f.row {lateral} "
            f"WHERE {passes.note or 'true'} ORDER BY f.s, d.mtime_ns DESC, d.doc_id"
            + ("" if not filters.active else f" LIMIT {int(limit)}")
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

        found: NameList = self._session.fleet.kept_object(self._session.copy.number, "names", read)
        return found

    def _path_list(self) -> PathList:
        def read() -> PathList:
            rows = self._session.all("SELECT name_id, path FROM doc WHERE name_lines <> ''")
            return PathList(sorted(rows, reverse=True))

        found: PathList = self._session.fleet.kept_object(self._session.copy.number, "paths", read)
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
        return self._words(
            f"SELECT word FROM ({_begun(prefix)}) w ORDER BY seen DESC, word LIMIT {int(limit)}"
        )

    def listed(self, words: Sequence[str]) -> Mapping[str, int]:
        if not words:
            return {}
        if not self._listed.keys() >= set(words):
            self._learn(words)
        return {word: seen for word in words if (seen := self._listed[word])}

    def _learn(self, words: Sequence[str]) -> None:
        found: dict[str, int] = dict(self._session.first(_listed(words)))
        self._listed |= {word: found.get(word, 0) for word in words}

    def alike(self, word: str, edits: int) -> Mapping[str, int]:
        parts = " OR ".join(f"strpos(word, {literal(part)}) > 0" for part in word_parts(word, edits))
        read = self._session.first(
            f"SELECT word, seen FROM ({_begun(word[0])}) w "
            f"WHERE length(word) BETWEEN {len(word) - edits} AND {len(word) + edits} AND ({parts})"
        )
        return dict(read)

    def _number(self, statement: str) -> int:
        return sum(row[0] for row in self._session.all(statement))

    def _words(self, statement: str) -> list[str]:
        return [word for (word,) in self._session.first(statement)]


NAMESAKES, SIMILAR, UNFINISHED = 50, 30, 48
"""How much a search asks for of notes of one name, notes of similar names, and completions of a word."""
_LEAST_RANKED = 16


def _has_columns(leaf: Leaf) -> bool:
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


def _with_ids(found: str) -> str:
    """The rows of a SELECT with the ids that order equal scores."""
    return f"SELECT r.row, r.s, c.chunk_id, c.hangul FROM ({found}) r JOIN chunk c ON c.row = r.row"


def _named_sql(key: str, filters: SearchFilters, limit: int) -> str:
    passes = conditions(filters)
    kinds = array(list(NAME_KINDS), "text")
    chunk = f" AND {passes.chunk}" if passes.chunk else ""
    return (
        f"SELECT {_NOTE}, c.row FROM doc d {_FIRST.format(chunk)} WHERE c.row IS NOT NULL AND d.doc_id IN "
        f"(SELECT f.doc_id FROM facet f WHERE f.kind = ANY({kinds}) AND f.folded = {literal(key)}) "
        f"AND {passes.note or 'true'} ORDER BY d.mtime_ns DESC, d.doc_id LIMIT {int(limit)}"
    )


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


def _listed(words: Sequence[str]) -> str:
    return (
        f"SELECT word, sum(seen)::bigint FROM word WHERE word = ANY({array(list(words), 'text')}) "
        f"GROUP BY word"
    )
