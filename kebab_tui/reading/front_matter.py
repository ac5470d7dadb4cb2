"""The YAML block at the head of a note: where it ends and what it says of the note.

It begins with `---` as the very first line and ends with `---` or `...`; without an end
there is none. Every value is taken as it is written: no dates, numbers or booleans are
made of it (`title: 1.10` stays `1.10`), no tag makes an object, no merge key is followed.
Values of an unexpected shape are passed over.

A block that is no mapping or no YAML is `bad`: it still belongs to the head, but its
lines are to be searched like any prose, and its plain `key: value` lines are still
understood. A `---` before a blank line is a rule that a note begins with, and no block:
prose with a colon in it would pass for YAML and be lost.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kebab_tui.domain.document import DOCUMENT_TYPES, LANGUAGES, DocumentType, Language, Trust
from kebab_tui.reading.tags import tags_of_list, tags_of_text
from kebab_tui.reading.title import one_line

_MAX_CHARACTERS = 64 * 1024
_MAX_OPENED = 500
_OPENED_IN_A_LINE = re.compile(r"(?<!\S)[-?](?!\S)")
_PLAIN_LINE = re.compile(r"(?P<key>[A-Za-z_]+)[ \t]*:[ \t]+(?P<value>\S.*)")
_ABSENT = ("", "~", "null")
_MAX_ALIASES = 64


@dataclass(frozen=True, slots=True)
class FrontMatter:
    """`length` counts the lines of the block with both its fences; 0 is no block."""

    length: int = 0
    bad: bool = False
    title: str = ""
    tags: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    trust: Trust | None = None
    lang: Language | None = None
    type: DocumentType | None = None


def read_front_matter(lines: Sequence[str]) -> FrontMatter:
    """Understand the head of a note; never raises."""
    length = _length(lines)
    if not length:
        return FrontMatter()
    inside = lines[1 : length - 1]
    values = _load("\n".join(inside))
    if values is not None:
        return _facts(values, length, bad=False)
    return _facts(_plain_lines(inside), length, bad=True)


def _length(lines: Sequence[str]) -> int:
    if len(lines) < 2 or lines[0].rstrip() != "---" or not lines[1].strip():
        return 0
    for number, line in enumerate(lines[1:], start=2):
        if line.startswith(("---", "...")) and line.rstrip() in ("---", "..."):
            return number
    return 0


def _load(text: str) -> Mapping[str, object] | None:
    """Read YAML with strings for all scalars; None if it is not a mapping or not to be trusted."""
    if not text.strip():
        return {}
    if len(text) > _MAX_CHARACTERS or _too_deep(text):
        return None
    # Imported here: only a note with front matter needs it, and it is slow to import.
    import yaml

    # The base loader knows no types, so a bad date or a huge number cannot fail the note.
    loader = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
    try:
        loaded = yaml.load(text, loader)  # noqa: S506 -- it builds strings, lists and dicts only
    except (yaml.YAMLError, RecursionError, ValueError):
        return None
    if not isinstance(loaded, dict):
        return None
    return {str(key).lower(): value for key, value in loaded.items() if isinstance(key, str)}


def _too_deep(text: str) -> bool:
    """Refuse what could nest deeply: libyaml overruns the stack at some twenty thousand levels."""
    if len(text) <= _MAX_OPENED:
        return False
    if text.count("[") + text.count("{") > _MAX_OPENED:
        return True
    long_lines = (line for line in text.split("\n") if len(line) > _MAX_OPENED)
    return any(len(_OPENED_IN_A_LINE.findall(line)) > _MAX_OPENED for line in long_lines)


def _plain_lines(lines: Sequence[str]) -> Mapping[str, object]:
    """What can still be read of bad YAML, such as a title with a colon in it."""
    found = (_PLAIN_LINE.fullmatch(line.rstrip()) for line in lines)
    return {match["key"].lower(): match["value"].strip("\"'") for match in found if match}


def _facts(values: Mapping[str, object], length: int, bad: bool) -> FrontMatter:
    return FrontMatter(
        length=length,
        bad=bad,
        title=_scalar(values, "title"),
        tags=_tags(values),
        aliases=_aliases(values),
        trust=Trust.parse(_scalar(values, "trust", "trust_level")),
        lang=_language(_scalar(values, "lang", "language")),
        type=_document_type(_scalar(values, "type")),
    )


def _scalar(values: Mapping[str, object], *keys: str) -> str:
    """The first of these that is written down, on one line."""
    for key in keys:
        value = values.get(key)
        if isinstance(value, str) and value.strip().lower() not in _ABSENT:
            return one_line(value)
    return ""


def _strings(value: object) -> list[str]:
    if not isinstance(value, list):
        return []
    return [item for item in value if isinstance(item, str) and item.strip().lower() not in _ABSENT]


def _tags(values: Mapping[str, object]) -> tuple[str, ...]:
    listed = tags_of_list(_strings(values.get("tags")) + _strings(values.get("tag")))
    return listed or tags_of_text(_scalar(values, "tags", "tag"))


def _aliases(values: Mapping[str, object]) -> tuple[str, ...]:
    listed = _strings(values.get("aliases")) + _strings(values.get("alias"))
    alone = _scalar(values, "aliases", "alias")
    names = listed or [name for name in alone.split(",") if name.strip()]
    return tuple(dict.fromkeys(one_line(name) for name in names))[:_MAX_ALIASES]


def _language(text: str) -> Language | None:
    primary = text.lower().replace("_", "-").split("-")[0]
    return next((language for language in LANGUAGES if language == primary), None)


def _document_type(text: str) -> DocumentType | None:
    return next((kind for kind in DOCUMENT_TYPES if kind == text.lower()), None)
