"""The map of the house names rooms, modules and functions that are there."""

from __future__ import annotations

import ast
import re
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
MAP = (ROOT / "docs" / "architecture.md").read_text("utf-8")
ROOMS = {path.name for path in (ROOT / "kebab_tui").iterdir() if (path / "__init__.py").exists()}

_PLACE = re.compile(r"`((?:kebab_tui|tests|fixtures|models)/[^`:]*)(?:::([\w.]+))?`")
_VERSION = re.compile(r"`([A-Z]+_VERSION)`")


def defined(body: list[ast.stmt], name: str) -> list[ast.stmt]:
    """The statements of what is called `name`, a class's body being of use; empty where nothing is."""
    for statement in body:
        targets = (
            statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]
        )
        if getattr(statement, "name", None) == name or any(getattr(t, "id", None) == name for t in targets):
            return [statement, *getattr(statement, "body", [])]
    return []


def resolves(file: Path, names: str) -> bool:
    body = ast.parse(file.read_text("utf-8")).body
    for name in names.split("."):
        body = defined(body, name)
    return bool(body)


@pytest.mark.parametrize(("path", "names"), sorted(set(_PLACE.findall(MAP))))
def test_what_the_map_names_is_there(path: str, names: str) -> None:
    assert (ROOT / path).exists()
    assert not names or resolves(ROOT / path, names)


def test_the_map_shows_every_room() -> None:
    assert set(re.findall(r"^\| `kebab_tui/(\w+)/`", MAP, re.MULTILINE)) == ROOMS - {"cli", "tui"}
    assert all(f"`kebab_tui/{face}/`" in MAP for face in ("cli", "tui"))


@pytest.mark.parametrize("name", sorted(set(_VERSION.findall(MAP))))
def test_the_versions_that_the_map_says_to_raise_are_there(name: str) -> None:
    assert any(
        resolves(file, name)
        for file in (ROOT / "kebab_tui").glob("*/*.py")
        if name in file.read_text("utf-8")
    )


@pytest.mark.parametrize("verb", sorted(set(re.findall(r"`make (\w+)", MAP))))
def test_what_the_map_says_to_make_can_be_made(verb: str) -> None:
    assert re.search(rf"^{verb}:", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)


def test_every_package_that_is_required_is_imported() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    required = {re.split("[<>=~]", entry)[0].lower() for entry in project["dependencies"]}
    source = "\n".join(path.read_text("utf-8") for path in (ROOT / "kebab_tui").rglob("*.py"))
    imported = set(re.findall(r"^\s*(?:from|import) (\w+)", source, re.MULTILINE))
    owners = {module: set(map(str.lower, names)) for module, names in packages_distributions().items()}
    used = set().union(*(owners.get(module, set()) for module in imported))
    assert required - used == set()
