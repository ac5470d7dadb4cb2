"""Mozilla's Fluent and `.properties` files: a Korean language pack against the program's own English.

The first archive holds the language pack (`.xpi`), the second the program (`omni.ja`). Fluent messages with selectors
are left out: their variants do not line up.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from models.build.archives import Archive, ZipArchive, find

FORMATS = (".ftl", ".properties")
FLUENT_MESSAGE = re.compile(r"(-?[a-zA-Z][\w-]*)\s*=\s*(.*)$")
FLUENT_ATTRIBUTE = re.compile(r"\s+\.([\w-]+)\s*=\s*(.*)$")
FLUENT_VARIANT = re.compile(r"\s*(\*?\[|\})")
PROPERTY = re.compile(r"^\s*([^#!=\s][^=\n]*?)\s*=\s*(.*)$", re.MULTILINE)


def read(archives: Sequence[Archive]) -> Iterator[tuple[str, str]]:
    pack, program = archives
    xpi = find(pack, ".xpi")
    if xpi is None:
        raise FileNotFoundError("the Korean language pack")
    korean = ZipArchive(pack.read(xpi))
    english = _english([ZipArchive(program.read(name)) for name in program if name.endswith("omni.ja")])
    for name in korean:
        path = _below(name, "ko")
        if path is None:
            continue
        translations = parse(name, korean.read(name))
        for archive, original_name in english.get(path, ()):
            originals = parse(original_name, archive.read(original_name))
            for key, translation in translations.items():
                if originals.get(key, translation) != translation:
                    yield originals[key], translation


def _english(archives: Sequence[Archive]) -> dict[str, list[tuple[Archive, str]]]:
    found: dict[str, list[tuple[Archive, str]]] = {}
    for archive in archives:
        for name in archive:
            path = _below(name, "en-US")
            if path is not None:
                found.setdefault(path, []).append((archive, name))
    return found


def _below(name: str, language: str) -> str | None:
    match = re.search(rf"(?:^|/){language}/(.*)$", name)
    return match[1] if match and name.endswith(FORMATS) else None


def parse(name: str, data: bytes) -> dict[str, str]:
    """Messages by key, in the format the name says."""
    text = data.decode("utf-8", "replace")
    return parse_fluent(text) if name.endswith(".ftl") else parse_properties(text)


def parse_fluent(text: str) -> dict[str, str]:
    """Messages and their attributes (`message.attribute`), continued lines joined."""
    values: dict[str, str] = {}
    message = key = None
    for line in text.split("\n"):
        if not line.strip():
            key = None
        elif line.startswith("#"):
            continue
        elif found := FLUENT_MESSAGE.match(line):
            message = key = found[1]
            values[key] = found[2]
        elif key is not None and (found := FLUENT_ATTRIBUTE.match(line)):
            key = f"{message}.{found[1]}"
            values[key] = found[2]
        elif key is not None and line.startswith(" ") and not FLUENT_VARIANT.match(line):
            values[key] += " " + line.strip()
    return {key: value for key, value in values.items() if "->" not in value}


def parse_properties(text: str) -> dict[str, str]:
    r"""Java properties, `\uXXXX` escapes resolved."""
    return {key: _unescape(value) for key, value in PROPERTY.findall(text)}


def _unescape(value: str) -> str:
    return re.sub(r"\\u([0-9a-fA-F]{4})", lambda match: chr(int(match[1], 16)), value)
