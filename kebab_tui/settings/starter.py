"""The configuration file that a newcomer starts from, written out of the settings' own definitions.

Every key stands there with its default and documentation, commented out: deleting the
one `#` before a key puts it in force. Writes no file.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from textwrap import wrap
from typing import Any

from msgspec import NODEFAULT, Struct
from msgspec.structs import FieldInfo, fields

from kebab_tui.settings import settings
from kebab_tui.settings.settings import Settings, expectation, is_list, is_mapping, section_of

_HEAD = """\
# Settings of kebab. Every key is shown with its default; delete the `#` before a key to change it.
# A variable wins over this file, a flag over both: KEBAB_SEARCH_DEFAULT_K=5 sets default_k under [search].
"""
_EXAMPLE = {"path": "~/notes"}
"""Shown for the keys that have no default."""


def starter_text() -> str:
    """A TOML file that changes nothing until a key is uncommented."""
    documents = _documentation()
    return _HEAD + "\n".join(_section(Settings, "", documents)) + "\n"


def _section(owner: type[Struct], header: str, documents: dict[str, dict[str, str]]) -> Iterator[str]:
    """The plain keys first, then the sections within: TOML allows no other order."""
    if header:
        yield ""
        yield from _comment(inspect.cleandoc(owner.__doc__ or ""))
        yield header
    items = fields(owner)
    for item in items:
        if section_of(item) is None and not is_mapping(item):
            yield ""
            yield from _comment(_explained(documents[owner.__name__][item.name], item))
            yield f"#{item.name} = {_toml(_default(item))}"
    for item in items:
        if section := section_of(item):
            yield from _section(section, _header(header, item), documents)
        elif is_mapping(item):
            yield ""
            yield from _comment(documents[owner.__name__][item.name])
            yield _header(header, item)


def _header(parent: str, item: FieldInfo) -> str:
    if is_list(item):
        return f"#[[{item.name}]]"
    return f"[{parent.strip('[]')}.{item.name}]" if parent else f"[{item.name}]"


def _explained(text: str, item: FieldInfo) -> str:
    """The documentation, with the range of a number and the choices of a name."""
    allowed = expectation(item)
    return text if allowed in ("a text", "a list of texts") else f"{text} ({allowed})"


def _comment(text: str) -> Iterator[str]:
    return (f"# {line}" for line in wrap(text, 98))


def _default(item: FieldInfo) -> Any:
    return _EXAMPLE[item.name] if item.default is NODEFAULT else item.default


def _toml(value: Any) -> str:
    if isinstance(value, str):
        return f'"{value}"'
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        return "[" + ", ".join(map(_toml, value)) + "]"
    return str(value)


def _documentation() -> dict[str, dict[str, str]]:
    """Class -> key -> the text literal that stands below the key in the source."""
    classes = (node for node in ast.parse(inspect.getsource(settings)).body if isinstance(node, ast.ClassDef))
    return {node.name: dict(_documented(node)) for node in classes}


def _documented(node: ast.ClassDef) -> Iterator[tuple[str, str]]:
    for statement, below in zip(node.body, node.body[1:], strict=False):
        match statement, below:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(text))):
                yield name, inspect.cleandoc(text)
