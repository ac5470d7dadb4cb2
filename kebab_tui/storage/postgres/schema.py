"""The SQL schema of a shared index, its steps and its rights.

The schema `kebab` has what stays: the copies there are, which of them readers use (on the first server),
and who may read what. Each copy of an index is a schema of its own, `kebab_N`, which never changes once it is
published: a newer copy takes over when `kebab.published` names it. A note is whole on one server, by its
bucket: the first two digits of its id.

`post` has one row for each word of a passage: `h`, `x`, `t`, `g` count it in heading, text, title and grams,
`dl` is the passage's length in words, and `pos` are its places. All fields share one row of places, far
apart, so that no phrase crosses two fields. It is a view of `posting`, which takes little space: most words
stand once in a passage, so `places` is an array only if there are several, and `htg` has three small counts.
`vec` is apart from `chunk`, so that a scan reads little.

Every row names its source: row-level security shows a role the sources that `kebab.access` grants it. The
statistics of ranking are sums over the visible sources, so a role searches as if there were no others.
"""

from __future__ import annotations

from typing import Any

import psycopg

from kebab_tui.domain.errors import StoreError
from kebab_tui.storage.postgres.cluster import too_new

SCHEMA_VERSION = 2
BUCKETS = 256
CHANNEL = "kebab"
"""Notified when another copy is published, with its number."""
READER_ROLE = "kebab_reader"
FIELD_STEP = 1 << 24
"""Between the places of two fields: more than any passage has words."""
FIELDS = ("heading_path", "text", "title", "grams")
BASES = {"heading_path": 0, "title": FIELD_STEP, "text": 2 * FIELD_STEP, "grams": 3 * FIELD_STEP}
COUNTS = {"heading_path": "h", "text": "x", "title": "t", "grams": "g"}
NAME_FIELDS = ("names", "grams")
NAME_BASES = {"names": 2 * FIELD_STEP, "grams": 3 * FIELD_STEP}
NAME_COUNTS = {"names": "x", "grams": "g"}

_STEP_1 = f"""
CREATE EXTENSION IF NOT EXISTS vector;
CREATE SCHEMA kebab;
CREATE TABLE kebab.meta(key text PRIMARY KEY, value text NOT NULL);
CREATE TABLE kebab.generation(
  no int PRIMARY KEY, state text NOT NULL CHECK (state IN ('loading', 'ready')),
  identity text NOT NULL, nodes text[] NOT NULL, buckets int2[] NOT NULL, facts text NOT NULL,
  begun timestamptz NOT NULL DEFAULT now(), ended timestamptz);
CREATE TABLE kebab.published(one bool PRIMARY KEY DEFAULT true CHECK (one), generation int NOT NULL);
CREATE TABLE kebab.access(role name NOT NULL, source text NOT NULL, PRIMARY KEY (role, source));
CREATE FUNCTION kebab.may_read(wanted text) RETURNS bool LANGUAGE sql STABLE AS $$
  SELECT EXISTS (SELECT 1 FROM kebab.access a JOIN pg_catalog.pg_roles r ON r.rolname = a.role
    WHERE a.source IN ('*', wanted) AND pg_catalog.pg_has_role(r.oid, 'member')) $$;
DO $$ BEGIN
  IF NOT EXISTS (SELECT 1 FROM pg_catalog.pg_roles WHERE rolname = '{READER_ROLE}') THEN
    CREATE ROLE {READER_ROLE} NOLOGIN;
  END IF;
END $$;
GRANT USAGE ON SCHEMA kebab TO {READER_ROLE};
GRANT SELECT ON ALL TABLES IN SCHEMA kebab TO {READER_ROLE};
ALTER TABLE kebab.access ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON kebab.access FOR SELECT USING (
  EXISTS (SELECT 1 FROM pg_catalog.pg_roles r WHERE r.rolname = role AND pg_catalog.pg_has_role(r.oid,
  'member')));
"""
TOTALS = ("documents", "failed", "skipped", "chunks", "words", "private")
"""What is said of a copy only to roles that may read every source."""
_STEP_2 = f"""
CREATE TABLE kebab.total(
  generation int PRIMARY KEY REFERENCES kebab.generation ON DELETE CASCADE, facts text NOT NULL);
INSERT INTO kebab.total SELECT no, (SELECT json_object_agg(key, value) FROM json_each(facts::json)
  WHERE key = ANY('{{{", ".join(TOTALS)}}}'))::text FROM kebab.generation;
UPDATE kebab.generation SET facts = (facts::jsonb - '{{{", ".join(TOTALS)}}}'::text[])::text;
ALTER TABLE kebab.total ENABLE ROW LEVEL SECURITY;
CREATE POLICY everything ON kebab.total FOR SELECT USING (kebab.may_read('*'));
GRANT SELECT ON kebab.total TO {READER_ROLE};
"""
STEPS = (_STEP_1, _STEP_2)

_POSTING = """
CREATE TABLE {name}ing(
  row {row} NOT NULL, dl int NOT NULL, at int NOT NULL, htg int NOT NULL, src int2 NOT NULL, x int2 NOT NULL,
  term text COLLATE "C" NOT NULL, places int[]) WITH (autovacuum_enabled = false);
CREATE VIEW {name} WITH (security_invoker = true) AS SELECT term, row, src,
  (htg >> 21) & 2047 AS h, x, (htg >> 13) & 255 AS t, htg & 8191 AS g, dl,
  coalesce(places, ARRAY[at]) AS pos FROM {name}ing;"""
MOST_COUNTS = (("h", 2047, 21), ("t", 255, 13), ("g", 8191, 0))
"""The bits of `htg`: the letter, its greatest count and its place. Headings and titles have fewer words."""

TABLES = f"""
CREATE TABLE source(
  src int2 PRIMARY KEY, source_id text COLLATE "C" NOT NULL, title text NOT NULL, root bytea NOT NULL,
  description text NOT NULL, include text NOT NULL, exclude text NOT NULL, trust int NOT NULL, rules text
  NOT NULL,
  version_label text NOT NULL, weight float8 NOT NULL, stars int NOT NULL, code bool NOT NULL, use text
  NOT NULL, state text NOT NULL,
  number int NOT NULL, other_files text NOT NULL);
CREATE TABLE doc(
  doc_id text COLLATE "C" NOT NULL, src int2 NOT NULL, source_id text COLLATE "C" NOT NULL,
  path text COLLATE "C" NOT NULL, path_key text COLLATE "C" NOT NULL, raw_path bytea NOT NULL,
  title text NOT NULL, title_folded text NOT NULL, type text NOT NULL, lang text NOT NULL, trust int NOT NULL,
  size bigint NOT NULL, mtime_ns bigint NOT NULL, ctime_ns bigint NOT NULL, inode bigint NOT NULL,
  content_hash text NOT NULL, state text NOT NULL, reason text NOT NULL, flags text NOT NULL,
  indexed_ns bigint NOT NULL, dated text COLLATE "C" NOT NULL, dated_by text NOT NULL, chunks int NOT NULL,
  facets text NOT NULL, counts text NOT NULL, hit_facets text NOT NULL,
  made_by text NOT NULL, checked_ns bigint NOT NULL, after_folder bool NOT NULL,
  name_id bigint NOT NULL, names text NOT NULL, name_lines text NOT NULL, first_row bigint NOT NULL);
CREATE TABLE chunk(
  row {{row}} NOT NULL, src int2 NOT NULL, chunk_id text COLLATE "C" NOT NULL, doc_id text COLLATE "C" NOT
  NULL,
  ordinal int NOT NULL, kind text NOT NULL, heading_path text NOT NULL, heading_folded text NOT NULL,
  text text NOT NULL, line_first int NOT NULL, line_last int NOT NULL, page int, title text NOT NULL,
  embed_hash bytea NOT NULL, hangul bool NOT NULL, dl int NOT NULL) WITH (autovacuum_enabled = false);
CREATE TABLE facet(
  doc_id text COLLATE "C" NOT NULL, src int2 NOT NULL, ordinal int NOT NULL, kind text COLLATE "C" NOT NULL,
  folded text COLLATE "C" NOT NULL, value text NOT NULL, line int, target text, extra text,
  number float8, compared text COLLATE "C");
{_POSTING.format(name="post", row="{row}")}
{_POSTING.format(name="name_post", row="bigint")}
CREATE TABLE vec(
  row {{row}} NOT NULL, part int2 NOT NULL, src int2 NOT NULL, hangul bool NOT NULL,
  emb halfvec({{dims}}) NOT NULL) WITH (autovacuum_enabled = false);
CREATE TABLE embedded(row {{row}} NOT NULL, src int2 NOT NULL, vector bytea NOT NULL);
CREATE TABLE word(
  src int2 NOT NULL, word text COLLATE "C" NOT NULL, stem text COLLATE "C" NOT NULL, seen bigint NOT NULL);
CREATE TABLE stat(
  src int2 PRIMARY KEY, chunks bigint NOT NULL, tokens bigint NOT NULL, hangul bigint NOT NULL,
  vectors bigint NOT NULL, names bigint NOT NULL, name_tokens bigint NOT NULL, docs bigint NOT NULL);
CREATE TABLE loaded(
  bucket int2 PRIMARY KEY, docs bigint NOT NULL, chunks bigint NOT NULL, posts bigint NOT NULL, vecs bigint
  NOT NULL,
  facets bigint NOT NULL, doc_sum numeric NOT NULL, chunk_sum numeric NOT NULL, post_sum numeric NOT NULL,
  vec_sum numeric NOT NULL);
CREATE TABLE bucket_word(
  bucket int2 NOT NULL, src int2 NOT NULL, word text COLLATE "C" NOT NULL,
  stem text COLLATE "C" NOT NULL, seen bigint NOT NULL);
CREATE FUNCTION visible() RETURNS int2[] LANGUAGE sql STABLE AS $$
  SELECT coalesce(array_agg(s.src), '{{}}') FROM {{schema}}.source s WHERE kebab.may_read(s.source_id) $$;
"""
"""Tables of one copy: `{schema}` is its name, `{dims}` the length of vectors, `{row}` the type of rows.

The large ones are vacuumed once, when they are whole."""

_WORDS = "(term, row) INCLUDE (dl, src, x, htg)"
_INDEXES = (
    ("doc", "(doc_id)"),
    ("doc", "(path)"),
    ("doc", "(mtime_ns)"),
    ("doc", "(name_id)"),
    ("chunk", "(row)"),
    ("chunk", "(doc_id) INCLUDE (row, src)"),
    ("chunk", "(chunk_id)"),
    ("facet", "(kind, folded, doc_id)"),
    ("facet", "(doc_id, ordinal)"),
    ("posting", _WORDS),
    ("name_posting", _WORDS),
    ("vec", "(row)"),
    ("embedded", "(row)"),
    ("word", "(word)"),
)
_UNIQUE = {("doc", "(doc_id)"), ("chunk", "(row)")}
INDEXES = ";\n".join(
    f"CREATE {'UNIQUE ' * (one in _UNIQUE)}INDEX ON {one[0]}{one[1]} WITH (fillfactor = 100)"
    for one in _INDEXES
)
"""Full pages: a copy never changes."""
SECURED = ("doc", "chunk", "facet", "posting", "name_posting", "vec", "embedded", "word", "stat")


def rights(schema: str) -> str:
    """Statements that let readers read, each role its sources."""
    statements = [
        f"GRANT USAGE ON SCHEMA {schema} TO {READER_ROLE}",
        f"GRANT SELECT ON ALL TABLES IN SCHEMA {schema} TO {READER_ROLE}",
        f"REVOKE SELECT ON {schema}.bucket_word, {schema}.loaded FROM {READER_ROLE}",
        f"ALTER TABLE {schema}.source ENABLE ROW LEVEL SECURITY",
        f"CREATE POLICY granted ON {schema}.source FOR SELECT USING (kebab.may_read(source_id))",
    ]
    for table in SECURED:
        visible = f"src = ANY ((SELECT {schema}.visible())::int2[])"
        statements += [
            f"ALTER TABLE {schema}.{table} ENABLE ROW LEVEL SECURITY",
            f"CREATE POLICY granted ON {schema}.{table} FOR SELECT USING ({visible})",
        ]
    return ";\n".join(statements)


def version_of(connection: psycopg.Connection[Any]) -> int:
    """The version of the schema `kebab`; 0 if there is none."""
    found = connection.execute("SELECT to_regclass('kebab.meta')").fetchone()
    if found is None or found[0] is None:
        return 0
    row = connection.execute("SELECT value FROM kebab.meta WHERE key = 'schema_version'").fetchone()
    return int(row[0]) if row else 0


def migrate(connection: psycopg.Connection[Any], place: str) -> None:
    """Bring the schema `kebab` to the present version; each step is one transaction."""
    version = version_of(connection)
    if version > SCHEMA_VERSION:
        raise too_new(place, version, SCHEMA_VERSION)
    for number, step in enumerate(STEPS[version:], version + 1):
        try:
            with connection.transaction():
                connection.execute(step.encode())
                connection.execute(
                    "INSERT INTO kebab.meta VALUES ('schema_version', %s) "
                    "ON CONFLICT (key) DO UPDATE SET value = excluded.value",
                    [str(number)],
                )
        except psycopg.errors.UndefinedFile:
            raise StoreError(
                f"{place}: the extension pgvector is not installed", "install it on the server (0.7 or newer)"
            ) from None


_DIGEST = "('x' || substr(md5({}), 1, 12))::bit(48)::bigint"
CHECKSUMS = f"""
SELECT (SELECT count(*) FROM doc), (SELECT count(*) FROM chunk), (SELECT count(*) FROM posting),
  (SELECT count(*) FROM vec), (SELECT count(*) FROM facet),
  (SELECT coalesce(sum({_DIGEST.format("doc_id || path || title || facets")}), 0) FROM doc),
  (SELECT coalesce(sum({_DIGEST.format("chunk_id || heading_path || text || title")}), 0) FROM chunk),
  (SELECT coalesce(sum(row::bigint + 3 * x + 5 * htg::bigint + 11 * dl + octet_length(term) + CASE
    WHEN places IS NULL THEN at ELSE (SELECT sum(o::bigint) FROM unnest(places) o) END), 0) FROM posting),
  (SELECT coalesce(sum({_DIGEST.format("halfvec_send(emb)")}), 0) FROM vec)
"""
"""What arrived on a server; compared with `LOADED`, what was sent."""
LOADED = """
SELECT coalesce(sum(docs), 0), coalesce(sum(chunks), 0), coalesce(sum(posts), 0), coalesce(sum(vecs), 0),
  coalesce(sum(facets), 0), coalesce(sum(doc_sum), 0), coalesce(sum(chunk_sum), 0), coalesce(sum(post_sum),
  0),
  coalesce(sum(vec_sum), 0) FROM loaded
"""
