"""Writes the text of the starter configuration file from the definitions of the settings.

Every key appears with its default and documentation, commented out. Writes no file.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from textwrap import wrap
from typing import Any

from msgspec import NODEFAULT, Struct
from msgspec.structs import fields

from kebab_tui.settings import settings
from kebab_tui.settings.settings import Settings, expectation, is_list, is_mapping, section_of

_HEAD = """\
# Settings of kebab. Every key is shown with its default; delete the `#` before a key to change it.
# A variable overrides this file, a flag overrides both: KEBAB_SEARCH_DEFAULT_K=5 sets default_k in [search].
"""
_EXAMPLE = {"path": "~/notes", "source": "notes"}
"""Shown for the keys without a default."""
_OBVIOUS = ("a string", "a list of strings")
"""Expectations that the default value shows already."""


def starter_text() -> str:
    """A TOML file that changes nothing until a key is uncommented."""
    documents = {}
    for owner in ast.parse(inspect.getsource(settings)).body:
        if isinstance(owner, ast.ClassDef):
            for statement, below in zip(owner.body, owner.body[1:], strict=False):
                match statement, below:
                    case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(
                        value=ast.Constant(value=str(text))
                    ):
                        documents[owner.name, name] = inspect.cleandoc(text)
    return _HEAD + "\n".join(_section(Settings, "", documents)) + "\n"


def _section(owner: type[Struct], header: str, documents: dict[tuple[str, str], str]) -> Iterator[str]:
    """The plain keys first, then the nested sections: TOML allows no other order.

    `documents`: (class, key) -> the string below the key in the source of the settings.
    """
    if header:
        yield ""
        yield from _comment(inspect.cleandoc(owner.__doc__ or ""))
        yield header
    sections = [item for item in fields(owner) if section_of(item) or is_mapping(item)]
    for item in fields(owner):
        if item not in sections:
            allowed = expectation(item)
            text = documents[owner.__name__, item.name]
            yield ""
            yield from _comment(text if allowed in _OBVIOUS else f"{text} ({allowed})")
            default = _EXAMPLE[item.name] if item.default is NODEFAULT else item.default
            yield f"#{item.name} = {_toml(default)}"
    for item in sections:
        path = f"{header.strip('[]')}.{item.name}" if header else item.name
        name = f"[{path}]"
        section = section_of(item)
        if section is None:
            yield ""
            yield from _comment(documents[owner.__name__, item.name])
            yield name
        else:
            yield from _section(section, f"#[[{path}]]" if is_list(item) else name, documents)


def _comment(text: str) -> Iterator[str]:
    return (f"# {line}" for line in wrap(text, 98))


def _toml(value: Any) -> str:
    if isinstance(value, str):
        return f'"{value}"'
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        return "[" + ", ".join(map(_toml, value)) + "]"
    return str(value)
