"""docs/architecture.md names only packages, modules, functions and make targets that exist."""

from __future__ import annotations

import ast
import re
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "architecture.md").read_text("utf-8")
PACKAGES = {path.name for path in (ROOT / "kebab_tui").iterdir() if (path / "__init__.py").exists()}

_PLACE = re.compile(r"`((?:kebab_tui|tests|fixtures|models)/[^`:]*)(?:::([\w.]+))?`")
_VERSION = re.compile(r"`([A-Z]+_VERSION)`")


def defined(body: list[ast.stmt], name: str) -> list[ast.stmt]:
    """The definition of `name` and, for a class, its body; empty if there is none."""
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


@pytest.mark.parametrize(("path", "names"), sorted(set(_PLACE.findall(PAGE))))
def test_each_name_on_the_page_exists(path: str, names: str) -> None:
    assert (ROOT / path).exists()
    assert not names or resolves(ROOT / path, names)


def test_the_page_lists_every_package() -> None:
    assert set(re.findall(r"`kebab_tui/(\w+)/`", PAGE)) == PACKAGES


@pytest.mark.parametrize("name", sorted(set(_VERSION.findall(PAGE))))
def test_each_version_to_raise_exists(name: str) -> None:
    assert any(
        resolves(file, name)
        for file in (ROOT / "kebab_tui").glob("*/*.py")
        if name in file.read_text("utf-8")
    )


@pytest.mark.parametrize("verb", sorted(set(re.findall(r"`make (\w+)", PAGE))))
def test_each_make_target_on_the_page_exists(verb: str) -> None:
    assert re.search(rf"^{verb}:", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)


def test_each_dependency_is_imported() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    required = {re.split("[<>=~]", entry)[0].lower() for entry in project["dependencies"]}
    source = "\n".join(path.read_text("utf-8") for path in (ROOT / "kebab_tui").rglob("*.py"))
    imported = set(re.findall(r"^\s*(?:from|import) (\w+)", source, re.MULTILINE))
    imported |= set(re.findall(r'"(tree_sitter_\w+)"', source))  # those are loaded by name
    owners = {module: set(map(str.lower, names)) for module, names in packages_distributions().items()}
    used = set().union(*(owners.get(module, set()) for module in imported))
    assert required - used == set()
