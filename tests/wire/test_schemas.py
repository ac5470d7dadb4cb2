"""Every object of every verb is valid by its schema; the schemas are closed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from referencing import Registry, Resource

from kebab_tui.domain.facets import FACETS
from tests.command_line import Kebab
from tests.embedding.tiny_models import write_tiny
from tests.explanations import FORMULAS

SCHEMAS: dict[str, Any] = {
    entry.name.removesuffix(".json"): json.loads(entry.read_text("utf-8"))
    for entry in (files("kebab_tui.wire") / "schemas").iterdir()
}
REGISTRY: Registry[Any] = Registry().with_resources(
    (schema["$id"], Resource.from_contents(schema)) for schema in SCHEMAS.values()
)


def check(value: Any, name: str) -> None:
    assert value["schema_version"] == name
    Draft202012Validator(SCHEMAS[name], registry=REGISTRY).validate(value)


def one(kebab: Kebab, *argv: str) -> Any:
    """The one object that a command line writes, checked against the schema it names."""
    (line,) = kebab(*argv).lines
    value = json.loads(line)
    check(value, value["schema_version"])
    return value


@pytest.mark.parametrize("name", SCHEMAS)
def test_each_schema_is_one_and_is_called_as_its_file(name: str) -> None:
    Draft202012Validator.check_schema(SCHEMAS[name])
    assert SCHEMAS[name]["$id"] == f"urn:kebab:{name}"
    assert SCHEMAS[name]["$schema"] == "https://json-schema.org/draft/2020-12/schema"


def test_the_schema_names_every_formula_of_a_tree() -> None:
    node = SCHEMAS["explanation.v1"]["$defs"]["tree"]["properties"]
    assert set(node["formula"]["enum"]) == {"given", *FORMULAS}


def objects(schema: Any) -> Iterator[Any]:
    if isinstance(schema, dict):
        if schema.get("type") == "object" and "properties" in schema:
            yield schema
        for part in schema.values():
            yield from objects(part)
    elif isinstance(schema, list):
        for part in schema:
            yield from objects(part)


@pytest.mark.parametrize("name", SCHEMAS)
def test_objects_may_grow_and_name_what_they_require(name: str) -> None:
    for found in objects(SCHEMAS[name]):
        assert set(found["required"]) <= set(found["properties"])
        assert "additionalProperties" not in found


def test_each_kind_of_facet_has_its_field() -> None:
    assert {kind.plural for kind in FACETS.values()} <= set(SCHEMAS["document.v1"]["required"])


# every output of every verb

SEARCHES = [
    ("docker",),
    ("docker", "--full"),
    ("docker sourdough", "--explain"),
    ("포트 충돌",),
    ("'docker OR rust'", "--explain"),
    ("qqqqzzz",),
    ("",),
    ("docker", "--mode", "hybrid", "--min-score", "0.9"),
    ("tag:docker", "--explain"),
    ("tga:x zotero:y serach:x docker",),
    ("docker", "-n", "1", "--offset", "1"),
]


@pytest.mark.parametrize("argv", SEARCHES, ids=" ".join)
def test_an_answer(indexed: Kebab, argv: tuple[str, ...]) -> None:
    answer = one(indexed, "search", *argv, "--json")
    assert answer["returned"] == len(answer["hits"])
    assert all(("text" in hit) == ("--full" in argv) for hit in answer["hits"])
    assert all(("explanation" in hit) == ("--explain" in argv) for hit in answer["hits"])
    lines = indexed("search", *argv, "--format", "jsonl").lines
    assert [json.loads(line) for line in lines] == answer["hits"]
    for line in lines:
        check(json.loads(line), "search_hit.v1")


MEANINGS = [
    ("port conflict", "--explain"),
    ("포트 충돌", "--explain", "--no-rerank"),
    ("docker", "--mode", "vector", "--explain", "--full"),
    ("docker", "--threshold", "0.02"),
    ("docker", "--mode", "lexical", "--threshold", "0.02"),
    ("tag:docker", "--explain"),
    ("🍢", "--explain"),
]


@pytest.mark.parametrize("argv", MEANINGS, ids=" ".join)
def test_an_answer_by_meaning(embedded: Kebab, argv: tuple[str, ...]) -> None:
    answer = one(embedded, "search", *argv, "-n", "4", "--json")
    for hit in answer["hits"]:
        check(hit, "search_hit.v1")
        if "explanation" in hit:
            check(hit["explanation"], "explanation.v1")


def test_models(kebab: Kebab, tmp_path: Path) -> None:
    tiny = str(write_tiny(tmp_path / "tiny"))
    assert one(kebab, "model", "list", "--json")["items"][0]["used"]
    assert one(kebab, "model", "add", tiny, "--json")["id"] == "tiny"
    assert one(kebab, "model", "info", "tiny", "--json")["dims"] == 4
    assert one(kebab, "model", "use", "tiny", "--json")["schema_version"] == "model_switch.v1"
    (kebab.data / "models" / "tiny" / "model.onnx").unlink()
    assert one(kebab, "model", "verify", "--json")["ok"] is False
    (kebab.data / "models" / "tiny" / "model.toml").write_text("nonsense")
    assert one(kebab, "model", "info", "tiny", "--json")["dims"] is None
    assert one(kebab, "model", "list", "--json")["items"][1]["problem"]
    assert one(kebab, "doctor", "--json")["ok"] is False


def test_vectors(embedded: Kebab, tmp_path: Path, kebab: Kebab) -> None:
    assert one(embedded, "index", "--status", "--json")["vector"]["pending"] == 0
    assert one(embedded, "doctor", "--json")["ok"] is True
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "a.md").write_text("# A\n\nword\n")
    assert one(kebab, "ingest", str(tmp_path / "notes"), "--json")["vectors"]["pending"] == 1
    assert one(kebab, "index", "--embed", "--json")["vector"]["made"] == 1
    assert one(kebab, "ingest", "--wait", "--json")["vectors"]["embedded"] == 0
    (kebab.data / "vectors.kebabvec").write_bytes(b"nonsense")
    assert one(kebab, "index", "--status", "--json")["vector"]["file"]["state"] == "unusable"
    assert one(kebab, "doctor", "--json")["ok"] is True


@pytest.mark.parametrize("path", ["infra/docker.md", "요리/sourdough.md", "nowhere.md"])
def test_a_verdict(indexed: Kebab, path: str) -> None:
    assert one(indexed, "search", "docker", "--why-not", path, "--json")["schema_version"] == "why_not.v1"


def test_lists(indexed: Kebab) -> None:
    listed = one(indexed, "list", "--json")
    assert listed["schema_version"] == "document_list.v1"
    for line in indexed("list", "--format", "jsonl").lines:
        check(json.loads(line), "document.v1")
    assert one(indexed, "list", "nowhere/**", "--json")["items"] == []
    assert one(indexed, "source", "list", "--json")["schema_version"] == "source_list.v1"


def test_libraries(indexed: Kebab) -> None:
    for argv in (("notes",), ("", "docker"), ("nothing is called so",)):
        found = one(indexed, "source", "search", *argv, "--json")
        assert len(found["items"]) == found["returned"]
        for library in found["items"]:
            check(library, "source.v1")
            assert library["score"] == pytest.approx(sum(library["parts"].values()), abs=1e-9)


def test_notes_found_by_name(indexed: Kebab) -> None:
    for argv in (("docker",), ("infra/dok",), ("ㅅㅁㄹ",), ()):
        found = one(indexed, "find", *argv, "--json")
        assert len(found["items"]) == found["returned"]


def test_inspections(indexed: Kebab) -> None:
    note = one(indexed, "inspect", "infra/docker.md", "--json")
    assert note["schema_version"] == "inspection.v1"
    assert len(one(indexed, "inspect", note["chunks"][1]["chunk_id"], "--json")["chunks"]) == 1


def test_status_and_doctor(indexed: Kebab) -> None:
    assert one(indexed, "index", "--status", "--json")["schema_version"] == "index_status.v1"
    assert one(indexed, "doctor", "--json")["schema_version"] == "doctor.v1"


def test_what_writing_verbs_report(tmp_path: Path) -> None:
    kebab = Kebab(tmp_path / "data", tmp_path / "home")
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "a.md").write_text("a")
    (folder / "b.md").write_bytes(b"\x00" * 100)
    with open(bytes(folder) + b"/\xff\x1b.md", "w") as file:
        file.write("word \x1b[2J")
    assert one(kebab, "doctor", "--json")["ok"] is False
    assert one(kebab, "source", "list", "--json")["items"] == []
    assert one(kebab, "source", "add", str(folder), "--json")["state"] == "new"
    assert one(kebab, "source", "edit", "notes", "--stars", "9", "--json")["source_score"] == 1.0
    assert one(kebab, "ingest", "--json")["added"] == 2
    assert one(kebab, "search", "word", "--json", "--full")["returned"] == 1
    assert one(kebab, "list", "--json")["total"] == 3
    (folder / "a.md").rename(folder / "c.md")
    assert one(kebab, "ingest", "--json")["moved"] == 1
    folder.rename(tmp_path / "away")
    assert one(kebab, "ingest", "--json")["sources"][0]["paused"]
    assert one(kebab, "index", "--rebuild-fts", "--json")["documents"] == 3


@pytest.mark.parametrize(
    "argv",
    [
        ("search", "--json"),
        ("search", "x", "-n", "0", "--format", "jsonl"),
        ("search", "'AND('", "--json"),
        ("search", "docker after:lastweek", "--json"),
        ("list", "--state", "lost", "--json"),
        ("inspect", "nowhere.md", "--json"),
        ("index", "--json"),
        ("ingest", "/nowhere", "--json"),
        ("source", "add", "/nowhere", "--json"),
        ("nonsense", "--json"),
    ],
    ids=" ".join,
)
def test_an_error_is_one_object_on_stderr(indexed: Kebab, argv: tuple[str, ...]) -> None:
    done = indexed(*argv)
    assert (done.code, done.out) == (2, "")
    check(json.loads(done.err), "error.v1")


# raw bm25 stays inside


def numbers(value: Any) -> Iterator[float]:
    if isinstance(value, dict):
        for key, part in value.items():
            if key != "explanation":
                yield from numbers(part)
    elif isinstance(value, list):
        for part in value:
            yield from numbers(part)
    elif isinstance(value, int | float):
        yield value


def test_no_number_of_a_hit_is_negative_outside_its_explanation(indexed: Kebab) -> None:
    hits = one(indexed, "search", "docker rust kernel 밥", "--explain", "-n", "50", "--json")["hits"]
    assert len(hits) > 10
    assert min(number for hit in hits for number in numbers(hit)) >= 0
    assert all(hit["explanation"]["lexical"]["bm25"] < 0 for hit in hits)


def test_the_contributions_of_an_explanation_add_up_to_its_bm25(indexed: Kebab) -> None:
    for hit in one(indexed, "search", "rust workspace 포트", "--explain", "--json")["hits"]:
        lexical = hit["explanation"]["lexical"]
        total = sum(term["contribution"] for term in lexical["terms"])
        assert total == pytest.approx(-lexical["bm25"], abs=1e-6)
        assert hit["score"] == pytest.approx(total / (1 + total), abs=1e-6)
