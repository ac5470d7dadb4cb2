"""JSON catalogues, one file for each language, matched by key path. A list of words counts as one string."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence

from models.build.archives import Archive

KOREAN = re.compile(r"(?:^|[/._-])ko(?:-KR|_KR)?(?:/|\.json|-[0-9a-f]{32}\.json)")
LANGUAGE = re.compile(r"(?<=[/._-])ko(?:-KR|_KR)?(?=[/.])")
HASHED = re.compile(r"/ko-[0-9a-f]{32}\.json$")
ENGLISH = ("en", "en-US", "en_US")
LANGUAGE_KEYS = frozenset({"ko", "en", "ko-KR", "en-US", "main"})

KeyPath = tuple[str, ...]


def read(archives: Sequence[Archive]) -> Iterator[tuple[str, str]]:
    for archive in archives:
        hashed = {
            english_of_hashed(name): name for name in archive if re.search(r"/en-[0-9a-f]{32}\.json$", name)
        }
        for name in archive:
            if not KOREAN.search(name) or not name.endswith(".json") or name.endswith(".min.json"):
                continue
            english = hashed.get(english_of_hashed(name)) or _english(name, archive)
            if english is not None:
                yield from pairs(archive.read(english), archive.read(name))


def english_of_hashed(name: str) -> str:
    """A file name without its language and the hash of its content."""
    return re.sub(r"/(?:ko|en)-[0-9a-f]{32}\.json$", "/*.json", name)


def _english(name: str, archive: Archive) -> str | None:
    candidates = (LANGUAGE.sub(language, name) for language in ENGLISH)
    return next((candidate for candidate in candidates if candidate != name and candidate in archive), None)


def pairs(english: bytes, korean: bytes) -> Iterator[tuple[str, str]]:
    """The strings both files keep under the same keys."""
    originals = strings(english)
    for path, translation in strings(korean).items():
        if path in originals:
            yield originals[path], translation


def strings(data: bytes) -> dict[KeyPath, str]:
    """Every string of a JSON file by its key path, keys that only name the language left out."""
    try:
        tree = json.loads(data.decode("utf-8"))
    except ValueError:
        return {}
    return {tuple(key for key in path if key not in LANGUAGE_KEYS): text for path, text in _leaves(tree, ())}


def _leaves(node: object, path: KeyPath) -> Iterator[tuple[KeyPath, str]]:
    if isinstance(node, str):
        yield path, node
    elif isinstance(node, dict):
        for key, child in node.items():
            yield from _leaves(child, (*path, str(key)))
    elif isinstance(node, list):
        if node and all(isinstance(item, str) for item in node):
            yield path, ", ".join(node)
        else:
            for index, child in enumerate(node):
                yield from _leaves(child, (*path, str(index)))
