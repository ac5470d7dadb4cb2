"""Chromium's `.pak` resource packs, matched by resource id. Strings equal in both languages are left out."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from itertools import pairwise

from models.build.archives import Archive, find

UTF8 = 1


def read(archives: Sequence[Archive]) -> Iterator[tuple[str, str]]:
    korean = parse_pak(_only(archives, "locales/ko.pak"))
    english = parse_pak(_only(archives, "locales/en-US.pak"))
    for resource, translation in korean.items():
        original = english.get(resource, translation)
        if original != translation:
            yield original, translation


def _only(archives: Sequence[Archive], ending: str) -> bytes:
    for archive in archives:
        name = find(archive, ending)
        if name is not None:
            return archive.read(name)
    raise FileNotFoundError(ending)


def parse_pak(data: bytes) -> dict[int, str]:
    """The strings of a resource pack of version 4 or 5."""
    version = struct.unpack("<I", data[:4])[0]
    if version == 5:
        encoding, count, alias_count = struct.unpack("<B3xHH", data[4:12])
        table = 12
    else:
        count, encoding = struct.unpack("<IB", data[4:9])
        alias_count, table = 0, 9
    codec = "utf-8" if encoding == UTF8 else "utf-16-le"
    entries = [struct.unpack("<HI", data[table + 6 * i : table + 6 * i + 6]) for i in range(count + 1)]
    texts = {
        resource: data[start:end].decode(codec, "replace")
        for (resource, start), (_, end) in pairwise(entries)
    }
    aliases = table + 6 * (count + 1)
    for i in range(alias_count):
        alias, index = struct.unpack("<HH", data[aliases + 4 * i : aliases + 4 * i + 4])
        texts[alias] = texts[entries[index][0]]
    return texts
