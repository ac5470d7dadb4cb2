"""Visual Studio Code as npm packs it: a Korean list by number, and calls of `localize(number, "English")` in the code.

The first archive is the language pack, the others are code. Reads literals only; no code is run.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator, Sequence

from models.build.archives import Archive, find

CALL = re.compile(r"localize2?\(\s*(\d+)\s*,\s*(\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'|`[^`$]*`)")


def read(archives: Sequence[Archive]) -> Iterator[tuple[str, str]]:
    pack, *code = archives
    for name in pack:
        if "/extensions/" in name and name.endswith(".json"):
            bundle: dict[str, str] = json.loads(pack.read(name)).get("contents", {}).get("bundle", {})
            yield from bundle.items()
    main = find(pack, "translations/main.i18n.json.js")
    if main is None:
        raise FileNotFoundError("the Korean strings of the editor")
    korean = numbered(pack.read(main).decode("utf-8"))
    for archive in code:
        for name in archive:
            if name.endswith(".js"):
                yield from calls(archive.read(name).decode("utf-8", "replace"), korean)


def numbered(module: str) -> list[str | None]:
    """The list that the language pack's module exports."""
    items = module[module.index("[") : module.rindex("]") + 1]
    items = re.sub(r"(?m)(^|\[)\s*undefined", r"\1null", items)
    parsed: list[str | None] = json.loads(re.sub(r",\s*\]\s*$", "]", items))
    return parsed


def calls(code: str, korean: Sequence[str | None]) -> Iterator[tuple[str, str]]:
    """English literals of `localize` calls with the Korean text of their number."""
    for call in CALL.finditer(code):
        number = int(call[1])
        translation = korean[number] if number < len(korean) else None
        original = _literal(call[2])
        if translation and original:
            yield original, translation


def _literal(quoted: str) -> str | None:
    if quoted.startswith("`"):
        return quoted[1:-1]
    try:
        value = ast.literal_eval(quoted)
    except (ValueError, SyntaxError):  # an escape that JavaScript knows and Python does not
        return None
    return value if isinstance(value, str) else None
