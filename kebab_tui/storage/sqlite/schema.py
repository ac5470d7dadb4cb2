"""The SQL schema of the database, its versions and its migrations.

`chunks.id` is the rowid of `chunks_fts` and is never reused. `chunks_fts` stores no text: it reads
`chunks`, and three triggers keep it up to date by rowid. `chunks.title` and `chunks.grams` repeat
data of the document and the text, because an external-content index needs all indexed columns in
one table. The first line of `chunks.title` is the indexed title, the others are further names, tags
and dates of the note. `facets.ordinal` keeps the order of the note. `note_names` has the names of
each note, one a line, and `names_fts` indexes them. The key of `embeddings` is the hash of the
embedded text, so a vector outlives its chunk. A vector of a long text is several, one behind the other:
of its beginning, then of each part of the rest. `parts_version` is the PARTS_VERSION that made them, 0
for a vector of the beginning alone.
`words` lists every whole word ever indexed, for completions: the full text stores only stems.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING
from zlib import crc32

from kebab_tui.domain.text import RECIPE_VERSION
from kebab_tui.storage.sqlite import step_0008, step_0009, step_0010

if TYPE_CHECKING:
    from sqlite_utils import Database

_STEPS = (step_0008, step_0009, step_0010)
SCHEMA_VERSION = _STEPS[-1].VERSION
APPLICATION_ID = 0x6B656261  # "keba"
GRAMS_VERSION = 2

TOKENIZER = "porter unicode61 remove_diacritics 2"
PLAIN_TOKENIZER = "unicode61 remove_diacritics 2"
FTS_COLUMNS = ("heading_path", "text", "title", "grams")
FTS_HASH_BYTES = 64 << 20
"""Memory that FTS5 fills before it writes a segment; the default, 2 MB, makes bulk loads 1.6x slower."""

CHUNKS_BY_NAME = "CREATE INDEX chunks_by_name ON chunks(substr(chunk_id, 1, 8))"
CHUNKS_BY_VECTOR = "CREATE INDEX chunks_by_vector ON chunks(embed_hash)"
FACETS_BY_VALUE = "CREATE INDEX facets_by_value ON facets(kind, folded, doc_id)"
"""Indexes with random keys, which a first load leaves out and its end makes (`first_load`)."""

TABLES = f"""
CREATE TABLE meta(
  key TEXT PRIMARY KEY,
  value NOT NULL
) WITHOUT ROWID;

CREATE TABLE sources(
  source_id TEXT PRIMARY KEY,
  title TEXT NOT NULL,
  description TEXT NOT NULL,
  root BLOB NOT NULL UNIQUE,
  include TEXT NOT NULL,
  exclude TEXT NOT NULL,
  trust INTEGER NOT NULL,
  rules TEXT NOT NULL,
  version_label TEXT NOT NULL,
  weight REAL NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('new', 'indexed', 'paused')),
  added_ns INTEGER NOT NULL,
  root_id TEXT NOT NULL DEFAULT ''
);

CREATE TABLE documents(
  doc_id TEXT PRIMARY KEY,
  source_id TEXT NOT NULL REFERENCES sources(source_id) ON DELETE CASCADE,
  raw_path BLOB NOT NULL,
  path TEXT NOT NULL,
  title TEXT NOT NULL,
  type TEXT NOT NULL,
  lang TEXT NOT NULL,
  trust INTEGER,
  aliases TEXT NOT NULL,
  flags TEXT NOT NULL,
  size INTEGER NOT NULL,
  mtime_ns INTEGER NOT NULL,
  ctime_ns INTEGER NOT NULL,
  inode INTEGER NOT NULL,
  content_hash TEXT NOT NULL,
  made_by TEXT NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('ok', 'failed', 'skipped')),
  reason TEXT NOT NULL,
  indexed_ns INTEGER NOT NULL,
  checked_ns INTEGER NOT NULL,
  UNIQUE (source_id, raw_path)
);

CREATE TABLE document_tags(
  doc_id TEXT NOT NULL REFERENCES documents(doc_id) ON DELETE CASCADE,
  folded TEXT NOT NULL,
  tag TEXT NOT NULL,
  PRIMARY KEY (doc_id, folded)
) WITHOUT ROWID;
CREATE INDEX document_tags_by_tag ON document_tags(folded, doc_id);

CREATE TABLE chunks(
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  chunk_id TEXT NOT NULL,
  doc_id TEXT NOT NULL REFERENCES documents(doc_id) ON DELETE CASCADE,
  ordinal INTEGER NOT NULL,
  kind TEXT NOT NULL CHECK (kind IN ('info', 'code')),
  line_first INTEGER NOT NULL,
  line_last INTEGER NOT NULL,
  page INTEGER,
  heading_path TEXT NOT NULL,
  text TEXT NOT NULL,
  title TEXT NOT NULL,
  grams TEXT NOT NULL,
  embed_hash BLOB NOT NULL,
  hangul INTEGER NOT NULL
);
CREATE INDEX chunks_by_document ON chunks(doc_id, kind, hangul);
{CHUNKS_BY_NAME};
{CHUNKS_BY_VECTOR};

CREATE TABLE embeddings(
  text_hash BLOB NOT NULL,
  model TEXT NOT NULL,
  vector BLOB NOT NULL,
  PRIMARY KEY (text_hash, model)
) WITHOUT ROWID;

CREATE TABLE changes(
  revision INTEGER NOT NULL,
  chunk INTEGER NOT NULL,
  op TEXT NOT NULL CHECK (op IN ('add', 'remove', 'vector')),
  PRIMARY KEY (revision, chunk, op)
) WITHOUT ROWID;

CREATE TABLE runs(
  run_id INTEGER PRIMARY KEY,
  kind TEXT NOT NULL,
  started_ns INTEGER NOT NULL,
  finished_ns INTEGER NOT NULL,
  report TEXT NOT NULL
);

CREATE TABLE words(
  word TEXT PRIMARY KEY,
  stem TEXT NOT NULL,
  seen INTEGER NOT NULL
) WITHOUT ROWID;
"""

CREATE_FACETS = """
CREATE TABLE facets(
  doc_id TEXT NOT NULL REFERENCES documents(doc_id) ON DELETE CASCADE,
  ordinal INTEGER NOT NULL,
  kind TEXT NOT NULL,
  folded TEXT NOT NULL,
  value TEXT NOT NULL,
  line INTEGER,
  target TEXT,
  extra TEXT,
  PRIMARY KEY (doc_id, ordinal)
) WITHOUT ROWID
""".strip()
FACETS_TABLE = f"{CREATE_FACETS};\n{FACETS_BY_VALUE};\n"
"""`facets_by_value` finds the notes of a value, and of all values that begin with one."""

MOVE_TO_FACETS = """
INSERT INTO facets(doc_id, ordinal, kind, folded, value)
SELECT doc_id, row_number() OVER (PARTITION BY doc_id ORDER BY folded) - 1, 'tag', folded, tag
FROM document_tags;
INSERT INTO facets(doc_id, ordinal, kind, folded, value)
SELECT d.doc_id, (SELECT count(*) FROM document_tags t WHERE t.doc_id = d.doc_id) + a.key, 'alias',
  kebab_fold(a.value), a.value
FROM documents d, json_each(d.aliases) a;
DROP TABLE document_tags;
ALTER TABLE documents DROP COLUMN aliases;
"""

NAMES_TABLE = """
CREATE TABLE note_names(
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  doc_id TEXT NOT NULL UNIQUE REFERENCES documents(doc_id) ON DELETE CASCADE,
  names TEXT NOT NULL,
  grams TEXT NOT NULL
);
"""

NAMES_FTS_TABLE = f"""
CREATE VIRTUAL TABLE names_fts USING fts5(
  names, grams, content='note_names', content_rowid='id', tokenize='{TOKENIZER}'
);
"""

_FORGET_NAMES = (
    "INSERT INTO names_fts(names_fts, rowid, names, grams) VALUES ('delete', old.id, old.names, old.grams);"
)
_INDEX_NAMES = "INSERT INTO names_fts(rowid, names, grams) VALUES (new.id, new.names, new.grams);"
NAMES_TRIGGERS = (
    f"CREATE TRIGGER note_names_ai AFTER INSERT ON note_names BEGIN {_INDEX_NAMES} END;",
    f"CREATE TRIGGER note_names_ad AFTER DELETE ON note_names BEGIN {_FORGET_NAMES} END;",
    f"CREATE TRIGGER note_names_au AFTER UPDATE ON note_names BEGIN {_FORGET_NAMES} {_INDEX_NAMES} END;",
)

# The stated titles and the dates come when the notes are read again.
FIND_NAMES = """
UPDATE facets SET folded = kebab_name_key(value) WHERE kind = 'alias';
INSERT INTO facets(doc_id, ordinal, kind, folded, value)
SELECT doc_id, ordinal, 'name', kebab_name_key(name), name FROM (
  SELECT d.doc_id, kebab_name(d.path, s.root) AS name,
    (SELECT coalesce(max(f.ordinal), -1) + 1 FROM facets f WHERE f.doc_id = d.doc_id) AS ordinal
  FROM documents d JOIN sources s ON s.source_id = d.source_id WHERE d.state <> 'skipped'
);
INSERT INTO note_names(doc_id, names, grams)
SELECT doc_id, names, kebab_grams('', '', names) FROM (
  SELECT doc_id, kebab_names(json_group_array(value)) AS names
  FROM (
    SELECT doc_id, value FROM facets WHERE kind IN ('name', 'alias') ORDER BY doc_id, kind = 'alias', ordinal
  )
  GROUP BY doc_id
);
DROP TRIGGER chunks_au;
UPDATE chunks SET title = kebab_names(json_array(chunks.title, w.name, w.stem, w.words)) FROM (
  SELECT d.doc_id, kebab_name(d.path, s.root) AS name, kebab_name(d.path, NULL) AS stem, coalesce((
    SELECT group_concat(value, char(10)) FROM (
      SELECT value FROM facets WHERE doc_id = d.doc_id AND kind IN ('alias', 'tag') ORDER BY kind, ordinal
    )
  ), '') AS words
  FROM documents d JOIN sources s ON s.source_id = d.source_id
) w WHERE w.doc_id = chunks.doc_id;
"""
"""The writer then finds that the full text is of an older form and rebuilds it."""

FTS_TABLE = f"""
CREATE VIRTUAL TABLE chunks_fts USING fts5(
  chunk_id UNINDEXED, doc_id UNINDEXED, {", ".join(FTS_COLUMNS)},
  content='chunks', content_rowid='id', tokenize='{TOKENIZER}'
);
"""

_COLUMNS = "chunk_id, doc_id, heading_path, text, title, grams"
_NEW = ", ".join(f"new.{name}" for name in _COLUMNS.split(", "))
_OLD = ", ".join(f"old.{name}" for name in _COLUMNS.split(", "))
_FORGET_OLD = f"INSERT INTO chunks_fts(chunks_fts, rowid, {_COLUMNS}) VALUES ('delete', old.id, {_OLD});"
_INDEX_NEW = f"INSERT INTO chunks_fts(rowid, {_COLUMNS}) VALUES (new.id, {_NEW});"

INSERT_TRIGGER = f"CREATE TRIGGER chunks_ai AFTER INSERT ON chunks BEGIN {_INDEX_NEW} END;"
DELETE_TRIGGER = f"CREATE TRIGGER chunks_ad AFTER DELETE ON chunks BEGIN {_FORGET_OLD} END;"
UPDATE_TRIGGER = (
    "CREATE TRIGGER chunks_au AFTER UPDATE OF heading_path, text, title, grams ON chunks "
    "WHEN old.heading_path <> new.heading_path OR old.text <> new.text "
    "OR old.title <> new.title OR old.grams <> new.grams "
    f"BEGIN {_FORGET_OLD} {_INDEX_NEW} END;"
)
DROP_INSERT_TRIGGER = "DROP TRIGGER chunks_ai"

SAME_INDEXES = """
DROP INDEX IF EXISTS chunks_by_script;
DROP INDEX IF EXISTS documents_by_path;
DROP INDEX IF EXISTS chunks_by_document;
CREATE INDEX chunks_by_document ON chunks(doc_id, kind, hangul);
"""

DATES = """
ALTER TABLE documents ADD COLUMN dated TEXT NOT NULL DEFAULT '';
ALTER TABLE documents ADD COLUMN dated_by TEXT NOT NULL DEFAULT '';
"""

_NOTE = "FROM facets f JOIN documents d ON d.doc_id = f.doc_id WHERE f.kind"
_NUMERIC = "p.value GLOB '*[0-9]*' AND p.value NOT GLOB '*[^0-9.eE+-]*' AND p.value NOT GLOB '[eE]*'"
_NAMED = "replace(f.folded, rtrim(f.folded, replace(f.folded, '/', '')), '')"
SQL_VIEWS = f"""
CREATE VIEW notes AS
SELECT d.doc_id AS id, d.source_id AS source, d.path, d.title,
  (SELECT f.value FROM facets f WHERE f.doc_id = d.doc_id AND f.kind = 'name') AS name,
  d.type, d.lang, d.state, d.reason, d.size,
  CASE coalesce(d.trust, s.trust) WHEN 3 THEN 'primary' WHEN 2 THEN 'secondary' ELSE 'generated' END AS trust,
  strftime('%Y-%m-%dT%H:%M:%SZ', d.mtime_ns / 1000000000, 'unixepoch') AS modified,
  CASE d.dated WHEN '' THEN date(d.mtime_ns / 1000000000, 'unixepoch', 'localtime') ELSE d.dated END AS day,
  CASE d.dated WHEN '' THEN 'modified' ELSE d.dated_by END AS day_from,
  instr(d.flags, '"private') > 0 AS private,
  (SELECT count(*) FROM chunks c WHERE c.doc_id = d.doc_id) AS passages
FROM documents d JOIN sources s ON s.source_id = d.source_id;
CREATE VIEW passages AS
SELECT c.chunk_id AS id, c.doc_id AS note_id, d.path, c.ordinal AS number, c.kind, c.heading_path AS heading,
  c.line_first AS first_line, c.line_last AS last_line, c.page, c.text, c.id AS row
FROM chunks c JOIN documents d ON d.doc_id = c.doc_id;
CREATE VIEW names AS
SELECT f.doc_id AS note_id, d.path, f.kind, f.value AS name, f.line {_NOTE} IN ('name', 'alias', 'title');
CREATE VIEW tags AS
SELECT f.doc_id AS note_id, d.path, f.value AS tag, f.line {_NOTE} = 'tag';
CREATE VIEW links AS
SELECT f.doc_id AS note_id, d.path, f.line, json_extract(f.extra, '$[2]') AS "column",
  json_extract(f.extra, '$[0]') AS form, f.value AS target, f.target AS anchor,
  json_extract(f.extra, '$[1]') AS text, f.kind = 'url' AS external,
  CASE f.kind WHEN 'url' THEN f.folded ELSE {_NAMED} END AS name
{_NOTE} IN ('link', 'url');
CREATE VIEW properties AS
SELECT p.*, CASE WHEN {_NUMERIC} THEN CAST(p.value AS REAL) END AS number FROM (
  SELECT f.doc_id AS note_id, d.path, substr(f.value, 1, instr(f.value, '=') - 1) AS key,
    substr(f.value, instr(f.value, '=') + 1) AS value, f.line {_NOTE} = 'prop'
) p;
CREATE VIEW tasks AS
SELECT f.doc_id AS note_id, d.path, f.value AS state, f.extra AS text, f.line {_NOTE} = 'task';
"""
"""The tables of `kebab sql`, by stock SQLite 3.40 alone: other programs open the file, too."""

VIEWS: Mapping[int, str] = {
    3: """
CREATE TEMP VIEW facets AS
SELECT doc_id, 0 AS ordinal, 'tag' AS kind, folded, tag AS value,
  NULL AS line, NULL AS target, NULL AS extra
FROM main.document_tags
UNION ALL
SELECT d.doc_id, 1 + a.key, 'alias', kebab_fold(a.value), a.value, NULL, NULL, NULL
FROM main.documents d, json_each(d.aliases) a;
""",
    4: """
CREATE TEMP VIEW note_names AS
SELECT d.rowid AS id, d.doc_id, '' AS grams, kebab_name(d.path, s.root) || coalesce(
  (SELECT char(10) || group_concat(f.value, char(10)) FROM facets f
    WHERE f.doc_id = d.doc_id AND f.kind = 'alias'), '') AS names
FROM main.documents d JOIN main.sources s ON s.source_id = d.source_id;
""",
    5: "CREATE TEMP VIEW sources AS SELECT *, 0 AS stars, 0 AS code, 'watched' AS use FROM main.sources;\n",
    6: "CREATE TEMP VIEW IF NOT EXISTS sources AS SELECT *, 0 AS code, 'watched' AS use FROM main.sources;\n"
    "CREATE TEMP VIEW documents AS SELECT *, '' AS dated, '' AS dated_by FROM main.documents;\n"
    + SQL_VIEWS.replace("CREATE VIEW", "CREATE TEMP VIEW"),
    7: "CREATE TEMP VIEW embeddings AS SELECT *, 0 AS parts_version FROM main.embeddings;\n",
    **{step.VERSION: step.VIEW for step in _STEPS},
}
"""For each step that changed tables: TEMP views that give a reader of the schema before it those after it.

They may select from `main.TABLE`; a view with the name of a table stands in its place.
"""

INDEX_CHUNKS_AFTER = f"""
INSERT INTO chunks_fts(rowid, {_COLUMNS})
SELECT id, {_COLUMNS} FROM chunks WHERE id > ? ORDER BY id
"""


def statements_of(script: str) -> list[str]:
    """The statements of a script, to be executed one by one: `executescript` would commit."""
    return [statement for statement in script.split(";\n") if statement.strip()]


def fts_signature() -> str:
    """8 hex digits of all settings that decide how the full-text index stores a text."""
    from _blake2 import blake2b  # hashlib would also load OpenSSL: 2 ms of a search

    facts = [TOKENIZER, PLAIN_TOKENIZER, FTS_COLUMNS, GRAMS_VERSION]
    return blake2b(json.dumps(facts).encode(), digest_size=4).hexdigest()


def lexical_version(signature: str, made_by: str) -> str:
    """The version in keyword results: schema, index configuration, parser and chunker."""
    mixed = crc32(f"{signature}/{made_by}".encode())
    return f"fts{SCHEMA_VERSION}-{mixed:08x}"


def _step(version: int, tables: str) -> Callable[[Database], None]:
    def apply(db: Database) -> None:
        for statement in statements_of(tables):
            db.execute(statement)
        db.execute(f"PRAGMA user_version = {version}")

    return apply


def migrate(connection: sqlite3.Connection) -> None:
    """Migrate to the present schema; each step is one transaction, so a killed migration goes on later.

    Readers and a writer of a current database never call this: importing sqlite_utils pulls in NumPy
    and costs more than a whole search. A released step is never edited; a new schema is a new step.
    A killed first load leaves tables that a step about facets must complete first (`first_load.complete`).
    """
    from sqlite_utils import Database
    from sqlite_utils.migrations import Migrations

    steps = Migrations("kebab")

    @steps(name="0001_notes_and_words")
    def first(db: Database) -> None:
        for statement in statements_of(TABLES):
            db.execute(statement)
        db.execute(FTS_TABLE)
        db.execute("INSERT INTO chunks_fts(chunks_fts, rank) VALUES ('hashsize', ?)", [FTS_HASH_BYTES])
        for trigger in (INSERT_TRIGGER, DELETE_TRIGGER, UPDATE_TRIGGER):
            db.execute(trigger)
        db.execute(
            "INSERT INTO meta(key, value) "
            "VALUES ('corpus_revision', 0), ('changes_after', 0), ('fts_signature', ?), ('embed_recipe', ?)",
            [fts_signature(), RECIPE_VERSION],
        )
        db.execute("PRAGMA user_version = 1")

    @steps(name="0002_same_tables")
    def same(db: Database) -> None:
        """Early programs made other columns and indexes under the first version."""
        columns = {row[1] for row in db.execute("PRAGMA table_info(sources)")}
        if "root_id" not in columns:
            db.execute("ALTER TABLE sources ADD COLUMN root_id TEXT NOT NULL DEFAULT ''")
        if "scanned_ns" in columns:
            db.execute("ALTER TABLE sources DROP COLUMN scanned_ns")
        for statement in statements_of(SAME_INDEXES):
            db.execute(statement)
        db.execute("PRAGMA user_version = 2")

    @steps(name="0003_facets")
    def facets(db: Database) -> None:
        for statement in statements_of(FACETS_TABLE + MOVE_TO_FACETS):
            db.execute(statement)
        db.execute("PRAGMA user_version = 3")

    @steps(name="0004_names")
    def names(db: Database) -> None:
        moves = statements_of(FIND_NAMES)
        for statement in (NAMES_TABLE, NAMES_FTS_TABLE, *NAMES_TRIGGERS, *moves, UPDATE_TRIGGER):
            db.execute(statement)
        db.execute("PRAGMA user_version = 4")

    @steps(name="0005_stars")
    def stars(db: Database) -> None:
        db.execute("ALTER TABLE sources ADD COLUMN stars INTEGER NOT NULL DEFAULT 0")
        db.execute("PRAGMA user_version = 5")

    @steps(name="0006_code_dates_and_views")
    def code_and_dates(db: Database) -> None:
        db.execute("ALTER TABLE sources ADD COLUMN code INTEGER NOT NULL DEFAULT 0")
        for statement in statements_of(DATES + SQL_VIEWS):
            db.execute(statement)
        db.execute("PRAGMA user_version = 6")

    @steps(name="0007_parts")
    def parts(db: Database) -> None:
        db.execute("ALTER TABLE embeddings ADD COLUMN parts_version INTEGER NOT NULL DEFAULT 0")
        db.execute("PRAGMA user_version = 7")

    for step in _STEPS:
        steps(name=step.NAME)(_step(step.VERSION, step.TABLES))

    # Always our own connection: sqlite_utils might choose another SQLite.
    steps.apply(Database(connection))
