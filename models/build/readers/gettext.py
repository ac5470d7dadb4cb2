"""gettext catalogues, `.po` and compiled `.mo`. Takes the plural form of a plural; skips fuzzy and obsolete entries."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator, Sequence

from models.build.archives import Archive

KOREAN = re.compile(r"(^|/)ko(_KR)?/LC_MESSAGES/[^/]+\.(mo|po)$")
FIELD = re.compile(r'(msgctxt|msgid_plural|msgid|msgstr(?:\[\d\])?)\s+"(.*)"\s*$')
CONTINUED = re.compile(r'"(.*)"\s*$')
LITTLE_ENDIAN = 0x950412DE


def read(archives: Sequence[Archive]) -> Iterator[tuple[str, str]]:
    for archive in archives:
        catalogues = {name for name in archive if KOREAN.search(name)}
        for name in sorted(catalogues):
            if name.endswith(".po"):
                yield from parse_po(archive.read(name).decode("utf-8", "replace"))
            elif name.removesuffix(".mo") + ".po" not in catalogues:
                yield from parse_mo(archive.read(name))


def parse_mo(data: bytes) -> Iterator[tuple[str, str]]:
    """The pairs of a compiled catalogue; strings that are not UTF-8 are left out."""
    order = "<" if struct.unpack("<I", data[:4])[0] == LITTLE_ENDIAN else ">"
    count, originals, translations = struct.unpack(order + "III", data[8:20])
    for index in range(count):
        try:
            source = _mo_string(data, order, originals + 8 * index)
            target = _mo_string(data, order, translations + 8 * index)
        except UnicodeDecodeError:
            continue
        if source:
            # context \4 singular \0 plural; Korean has one plural form
            yield source.split("\4")[-1].split("\0")[-1], target.split("\0")[0]


def _mo_string(data: bytes, order: str, entry: int) -> str:
    length, start = struct.unpack(order + "II", data[entry : entry + 8])
    return data[start : start + length].decode("utf-8")


def parse_po(text: str) -> Iterator[tuple[str, str]]:
    """The pairs of a catalogue's source."""
    for block in re.split(r"\n\s*\n", text):
        lines = block.split("\n")
        if any(line.startswith("#~") or (line.startswith("#,") and "fuzzy" in line) for line in lines):
            continue
        fields = _po_fields(lines)
        source = fields.get("msgid_plural") or fields.get("msgid")
        target = fields.get("msgstr") or fields.get("msgstr[0]")
        if source and target:
            yield _unescape(source), _unescape(target)


def _po_fields(lines: Sequence[str]) -> dict[str, str]:
    fields: dict[str, str] = {}
    current: str | None = None
    for line in lines:
        if field := FIELD.match(line):
            current = field[1]
            fields[current] = field[2]
        elif current and (continued := CONTINUED.match(line)):
            fields[current] += continued[1]
        elif not line.startswith("#"):
            current = None
    return fields


def _unescape(text: str) -> str:
    return text.replace('\\"', '"').replace("\\n", "\n")
