"""The names of notes: which file names are names, and when two names are equal.

The name of a note is the stem of its file. `index`, `_index` and `README` are called after their folder.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

_CALLED_AFTER_THEIR_FOLDER = frozenset({"index", "_index", "readme"})
_SEPARATORS = re.compile(r"[\s\-_.]+")
EXTENSION = re.compile(r"\.(?:md|markdown|mdown|mkd|mdx|txt|text|pdf)$", re.IGNORECASE)
"""At the end of the name of a note's file."""
_LONGEST = 1_000
"""Characters of a typed name, and of the names of a note that are searched as words."""


def stem_of(path: str) -> str:
    """The name of the file without its extension; `.md` is all stem."""
    name = path.rpartition("/")[2]
    return name[: name.rfind(".")] if name.rfind(".") > 0 else name


def is_called_after_its_folder(path: str) -> bool:
    return stem_of(path).casefold() in _CALLED_AFTER_THEIR_FOLDER


def name_of(path: str, root: str = "") -> str:
    """The name of the note at `path`, relative to the folder `root`."""
    stem = stem_of(path)
    if not is_called_after_its_folder(path):
        return stem
    folder = path.rpartition("/")[0] or root.rstrip("/")
    return folder.rpartition("/")[2] or stem


def name_key(text: str) -> str:
    """Key for the comparison of names: case, normalisation and the kind of separator do not matter."""
    folded = unicodedata.normalize("NFC", text).casefold()
    return _SEPARATORS.sub(" ", folded).strip() or folded.strip()


def distinct_names(names: Iterable[str]) -> str:
    """Names one a line, without empty ones and equals of an earlier one; at most 1,000 characters."""
    by_key: dict[str, str] = {}
    for name in filter(None, names):
        by_key.setdefault(name_key(name), name)
    kept: list[str] = []
    length = 0
    for name in by_key.values():
        length += len(name) + 1
        if length > _LONGEST and kept:
            break
        kept.append(name)
    return "\n".join(kept)


def typed_name(text: str) -> str:
    """A typed or pasted name without the marks of a link: `port conflict` of `[[port conflict|ports]]`."""
    text = text[:_LONGEST].strip().removeprefix("!")
    if text.startswith("[["):
        text = re.split(r"[|#]", text[2:].removesuffix("]]"))[0]
    return text.strip()


def typed_name_key(text: str) -> str:
    """The key of a typed or pasted name: `infra/Port conflict.md` and `[[port conflict|ports]]` are one."""
    text = typed_name(text)
    if EXTENSION.search(text):
        return name_key(name_of(text))
    return name_key(text.strip("/").rpartition("/")[2])
