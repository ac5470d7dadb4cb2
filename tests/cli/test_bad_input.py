"""Every wrong flag, value, folder or file: exit code 2, a message, a hint, never a traceback."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.command_line import Kebab

WRONG = [
    ("search", "nothing to search for"),
    ("search x --mode fuzzy", "'fuzzy' is not one of"),
    ("search x --fts-only --vec-only", "cannot be combined"),
    ("search x --fts-only --mode vector", "cannot be combined"),
    ("search x --mode vector", "kebab index --embed"),
    ("search x --vec-only", "kebab index --embed"),
    ("search x -n 0", "range"),
    ("search x --top -3", "range"),
    ("search x --limit many", "'many'"),
    ("search x --offset -1", "range"),
    ("search x --offset 99999999999999999999", "range"),
    ("search x --type info", "--kind info"),
    ("search x --type book", "invalid --type book; expected one of markdown, note,"),
    ("search x --kind prose", "did you mean --kind info?"),
    ("search x --lang fr", "invalid --lang fr; expected one of ko, en, und"),
    ("search x --trust-min 7", "invalid --trust-min 7; expected one of generated,"),
    ("search x --after yesteryear", "invalid --after yesteryear; expected a date: 2026,"),
    ("search x --before 2026-13", "invalid --before 2026-13; expected a date: 2026,"),
    ("search x --type nte", "did you mean --type note?"),
    ("search x --after yesterdy", "did you mean --after yesterday?"),
    ("search x --tag #", "invalid --tag #; expected a tag"),
    ("search x --no-tag #", "expected a tag"),
    ("search x --path-glob a[b", "never closed"),
    ("search x --path-glob ../up/**", "leads out"),
    ("search x --in nowhere", "no source named 'nowhere'"),
    ("search x --min-score 2", "a score from 0 to 1"),
    ("search x --min-score nan", "a score from 0 to 1"),
    ("search x --threshold -0.1", "a number from 0"),
    ("search x --threshold nan", "a number from 0"),
    ("search x --threshold inf", "a number from 0"),
    ("search x --format xml", "'xml' is not one of"),
    ("search x --json --format markdown", "cannot be combined"),
    ("search x --thresold 3", "--thresold"),
    ("search 'AND('", "FTS5"),
    ("list --state lost", "'lost' is not one of"),
    ("list a[b", "never closed"),
    ("list --limit 0", "range"),
    ("list --format vimgrep", "'vimgrep' is not one of"),
    ("inspect", "Missing argument"),
    ("inspect nowhere.md", "not in the index"),
    ("inspect ffffffffffffffff", "not in the index"),
    ("index", "one of --status, --embed"),
    ("index --status --rebuild-fts", "one of --status, --embed"),
    ("index --embed --rebuild-vectors", "one of --status, --embed"),
    ("model", "Usage"),
    ("model info", "Missing argument"),
    ("model use nothing --yes", "no such model: 'nothing'"),
    ("model add {tmp}/none", "folder not found: {tmp}/none"),
    ("model add {tmp}", "no model.toml"),
    ("source", "Usage"),
    ("source add", "Missing argument"),
    ("source add {tmp}/none", "{tmp}/none"),
    ("source add {tmp}/file", "{tmp}/file"),
    ("source add {tmp} --id a:b", "'a:b'"),
    ("source add {tmp} --weight inf", "a weight from 0 to 100"),
    ("source add {tmp} --trust full", "'full' is not one of"),
    ("source remove nowhere", "no source named 'nowhere'"),
    ("source remove notes", "cannot ask for confirmation (not a terminal)"),
    ("ingest {tmp}/none", "{tmp}/none"),
    ("ingest {tmp}/file", "{tmp}/file"),
    ("ingest {tmp}/file --quiet", "{tmp}/file"),
    ("doctor now", "unexpected extra argument"),
]


@pytest.mark.parametrize(("line", "told"), WRONG, ids=[line for line, _ in WRONG])
def test_wrong_input_is_2_with_a_message_and_a_hint(
    indexed: Kebab, tmp_path: Path, line: str, told: str
) -> None:
    (tmp_path / "file").touch()
    done = indexed(*line.format(tmp=tmp_path).split())
    assert done.code == 2
    assert told.format(tmp=tmp_path) in done.err
    assert done.out == ""
    assert "Traceback" not in done.err
    assert "internal error" not in done.err
    assert line in ("source", "model") or re.search(r'^  hint: .|"hint":".', done.err, re.MULTILINE)


@pytest.mark.parametrize(
    "argv", [("search", "x", "--in", "nowhere"), ("ingest", "/nowhere"), ("inspect", "x.md")]
)
def test_asked_for_json_the_error_is_json(indexed: Kebab, argv: tuple[str, ...]) -> None:
    done = indexed(*argv, "--json")
    told = json.loads(done.err)
    assert (done.code, done.out) == (2, "")
    assert told["schema_version"] == "error.v1"
    assert told["message"]
    assert told["hint"]


@pytest.mark.parametrize("argv", [("ingest", ""), ("source", "add", "")])
def test_an_unset_variable_of_the_shell_does_not_mean_the_working_folder(
    kebab: Kebab, argv: tuple[str, ...]
) -> None:
    done = kebab(*argv)
    assert done.code == 2
    assert "is a shell variable unset?" in done.err
    assert not kebab.data.exists()


@pytest.mark.parametrize(
    "verb", [("list",), ("inspect", "x"), ("index", "--status"), ("search", "x"), ("ingest",)]
)
def test_without_an_index_every_verb_names_the_next_command(kebab: Kebab, verb: tuple[str, ...]) -> None:
    done = kebab(*verb)
    assert done.code == 2
    assert "kebab ingest FOLDER" in done.err


def test_a_data_folder_that_is_a_file_is_an_error(kebab: Kebab, notes: Path) -> None:
    kebab.data.touch()
    for verb in (("ingest", str(notes)), ("source", "add", str(notes))):
        done = kebab(*verb)
        assert done.code == 2
        assert "--data-dir" in done.err


def test_folders_do_not_nest(kebab: Kebab, notes: Path) -> None:
    kebab("ingest", str(notes))
    done = kebab("ingest", str(notes.parent))
    assert done.code == 2
    assert "kebab source remove notes" in done.err
    assert kebab("source", "add", str(notes)).code == 2
