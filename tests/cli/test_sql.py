"""`kebab sql`: one SELECT over stable tables, read-only, within limits."""

from __future__ import annotations

import csv
import io
import re
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from tests.command_line import ROOT, Kebab
from tests.upgrade import COMMITS, unpack, write_notes
from tests.wire.test_schemas import check

TABLES = ("notes", "passages", "names", "tags", "links", "properties", "tasks")
DOCS = (ROOT / "docs/sql.md").read_text("utf-8")
QUERIES = re.findall(r"```sql\n(.*?)```", DOCS, re.DOTALL)
ENDLESS = "WITH RECURSIVE x(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM x) SELECT {} FROM x"


@pytest.fixture
def kebab(tmp_path: Path) -> Kebab:
    made = Kebab(tmp_path / "data", tmp_path / "home")
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "a.md").write_text(
        "---\nrating: 4.5\ndate: 2026-03-01\ntags: [x]\nprivate: yes\n---\n"
        "# A\n\nnote [[B#h|b]] https://x.org/p\n- [ ] do\n"
    )
    (notes / "b.md").write_text("note \x1b[31mred\x1b[0m\n- [x] done\tthen\n")
    assert made("ingest", str(notes)).code == 0
    return made


def rows(kebab: Kebab, statement: str) -> list[list[object]]:
    done = kebab("sql", statement, "--json")
    check(done.json, "sql_result.v1")
    found: list[list[object]] = done.json["rows"]
    return found


def test_there_are_five_queries_in_the_documentation() -> None:
    assert len(QUERIES) == 5


@pytest.mark.parametrize("query", QUERIES, ids=range(len(QUERIES)))
def test_each_query_of_the_documentation_finds_something(indexed: Kebab, kebab: Kebab, query: str) -> None:
    assert kebab("sql", query).code == 0
    assert indexed("sql", query).code in (0, 1)


def test_the_documentation_names_every_column_of_every_table(kebab: Kebab) -> None:
    for table in TABLES:
        columns = kebab("sql", f"SELECT * FROM {table}", "--json").json["columns"]
        (row,) = re.findall(rf"^\| `{table}` \| (.*) \|$", DOCS, re.MULTILINE)
        described = re.sub(r"\([^()]*\)", "", row)
        named = re.findall("`(.*?)`", described)
        assert [name for name in named if name in columns] == columns


def test_the_tables_hold_what_the_notes_state(kebab: Kebab) -> None:
    assert rows(
        kebab, "SELECT path, name, title, day, day_from, private, trust FROM notes WHERE path = 'a.md'"
    ) == [["a.md", "a", "A", "2026-03-01", "date", 1, "primary"]]
    assert rows(
        kebab, "SELECT target, anchor, text, form, line, external, name FROM links ORDER BY external"
    ) == [
        ["B", "h", "b", "wiki", 9, 0, "b"],
        ["https://x.org/p", None, "https://x.org/p", "url", 9, 1, "x.org"],
    ]
    assert rows(kebab, "SELECT value, number, line FROM properties WHERE key = 'rating'") == [["4.5", 4.5, 2]]
    assert rows(kebab, "SELECT number FROM properties WHERE key = 'private'") == [[None]]
    assert rows(kebab, "SELECT state, text FROM tasks ORDER BY path") == [
        ["open", "do"],
        ["done", "done\tthen"],
    ]
    assert rows(kebab, "SELECT tag, line FROM tags") == [["x", 4]]


@pytest.mark.parametrize(
    "statement",
    [
        "INSERT INTO meta VALUES ('a', 1)", "DELETE FROM documents", "UPDATE documents SET path = ''",
        "DROP VIEW notes", "CREATE TABLE t(a)", "CREATE TEMP TABLE t(a)", "ATTACH '{0}/other.sqlite' AS o",
        "VACUUM INTO '{0}/copy.sqlite'", "DETACH main", "PRAGMA journal_mode = DELETE", "BEGIN", "COMMIT",
        "PRAGMA user_version = 0", "PRAGMA writable_schema = 1", "PRAGMA query_only = 0", "SAVEPOINT a",
        "PRAGMA wal_checkpoint", "REINDEX", "ANALYZE", "SELECT load_extension('x')", "SELECT ?",
        "INSERT INTO chunks_fts(chunks_fts) VALUES ('rebuild')", "SELECT 1; DROP VIEW notes",
        "WITH a AS (SELECT 1) DELETE FROM documents",
    ],
)  # fmt: skip
def test_nothing_but_reading_is_allowed(kebab: Kebab, tmp_path: Path, statement: str) -> None:
    files = {path: path.read_bytes() for path in kebab.data.iterdir() if path.is_file()}
    done = kebab("sql", statement.format(tmp_path), "--json")
    assert (done.code, done.out) == (2, "")
    assert '"code":"bad_sql"' in done.err and "docs/sql.md" in done.err
    assert {path: path.read_bytes() for path in files if path.suffix == ".sqlite"} == {
        path: data for path, data in files.items() if path.suffix == ".sqlite"
    }
    assert not list(tmp_path.glob("*.sqlite"))


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("SELEC 1", "syntax error"),
        ("SELECT nowhere FROM notes", "no such column"),
        ("SELECT * FROM nowhere", "no such table"),
        ("SELECT zeroblob(100000000)", "too big"),
        ("/* a comment */", "no result"),
        (" ", "no statement"),
    ],
)
def test_a_wrong_statement_is_an_error_that_says_why(kebab: Kebab, statement: str, message: str) -> None:
    done = kebab("sql", statement)
    assert (done.code, done.out) == (2, "")
    assert message in done.err


def test_an_answer_ends_at_its_limits(kebab: Kebab) -> None:
    done = kebab("sql", ENDLESS.format("n"), "-n", "3")
    assert (done.code, done.lines) == (0, ["1", "2", "3"])
    assert "only the first 3 rows" in done.err
    assert kebab("sql", ENDLESS.format("n"), "-n", "3", "--json").json["cut"] == "rows"
    stopped = kebab("sql", ENDLESS.format("count(*)"), "--timeout", "0.2")
    assert (stopped.code, stopped.out) == (2, "")
    assert "stopped after 0.2 s" in stopped.err
    big = kebab("sql", ENDLESS.format("printf('%1000000d', n)"), "--json")
    assert big.json["cut"] == "bytes"
    assert 10 < big.json["returned"] < 20


@pytest.mark.slow
def test_a_statement_that_needs_too_much_memory_is_stopped(kebab: Kebab) -> None:
    argv = [*kebab.argv, "sql", ENDLESS.format("n") + " ORDER BY random()", "--timeout", "120"]
    done = subprocess.run(argv, capture_output=True, text=True, env=kebab.environ, check=False, timeout=200)
    assert done.returncode == 2
    assert "too much memory" in done.stderr or "stopped after" in done.stderr


def test_cells_are_safe_to_print(kebab: Kebab) -> None:
    statement = "SELECT text, NULL, x'00ff', 1.5 FROM passages WHERE path = 'b.md'"
    for form in ((), ("--table",), ("--csv",)):
        done = kebab("sql", statement, *form)
        assert done.code == 0
        assert "\x1b" not in done.out and "red" in done.out and "00ff" in done.out
    piped = kebab("sql", statement)
    assert len(piped.lines) == 1 and piped.lines[0].count("\t") == 3
    (header, row) = csv.reader(io.StringIO(kebab("sql", statement, "--csv").out))
    assert header[0] == "text" and row[1:] == ["", "00ff", "1.5"] and "\n" in row[0]
    assert kebab("sql", "SELECT 9e999, -9e999", "--json").json["rows"] == [["inf", "-inf"]]
    assert kebab("sql", "SELECT path FROM notes WHERE 0", "--csv").out == "path\n"
    assert kebab("sql", "SELECT path FROM notes WHERE 0").code == 1


def test_full_text_and_table_valued_functions_work(kebab: Kebab) -> None:
    joined = "chunks_fts f JOIN passages p ON p.row = f.rowid"
    found = rows(kebab, f"SELECT p.path FROM {joined} WHERE chunks_fts MATCH 'then'")
    assert found == [["b.md"]]
    assert rows(kebab, "SELECT value FROM json_each('[1, 2]')") == [[1], [2]]
    assert ["private"] in rows(kebab, "SELECT name FROM pragma_table_info('notes')")
    assert kebab("sql", "PRAGMA table_info(notes)").code == 0


def test_without_an_index_it_says_what_to_do(tmp_path: Path) -> None:
    done = Kebab(tmp_path / "data", tmp_path / "home")("sql", "SELECT 1")
    assert done.code == 2
    assert "kebab ingest FOLDER" in done.err


@pytest.mark.parametrize("commit", COMMITS)
def test_an_index_of_an_older_version_has_the_tables_and_is_not_changed(commit: str, tmp_path: Path) -> None:
    kebab = Kebab(tmp_path / "data", tmp_path / "home")
    write_notes(tmp_path / "notes")
    database = unpack(commit, kebab.data, tmp_path / "notes")
    before = database.read_bytes()
    for table in TABLES:
        is_empty = table in ("links", "tasks") or (table == "properties" and commit != "0e7e789")
        assert kebab("sql", f"SELECT * FROM {table}").code == (1 if is_empty else 0)
    assert rows(kebab, "SELECT tag FROM tags ORDER BY 1") == [["kitchen"], ["tea"], ["여행"]]
    assert database.read_bytes() == before


def test_other_programs_open_the_same_file(kebab: Kebab) -> None:
    database = sqlite3.connect(f"file:{kebab.data}/kebab.sqlite?mode=ro", uri=True)
    for query in (*(f"SELECT * FROM {table}" for table in TABLES), *QUERIES):
        database.execute(query).fetchall()
    database.close()
    for argv in (["views", "--csv"], ["query", QUERIES[0], "--csv"]):
        verb, *rest = argv
        command = [sys.executable, "-m", "sqlite_utils", verb, f"{kebab.data}/kebab.sqlite", *rest]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        assert "notes" in done.stdout or "place" in done.stdout
