"""Finds tasks and inline properties in the prose of a note, each with its line.

- Tasks: `- [ ] text` and `- [x] text` in any list, and the markers of Logseq (`- TODO text`). Done: `x`,
  `X`, `-` (cancelled), DONE and CANCELED; every other mark is open.
- Properties: `key:: value` at the start of a line or list item, and `[key:: value]` or `(key:: value)`
  within one. A value with wikilinks between commas is a list of names.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from kebab_tui.domain.facets import PROPERTY, TASK, Facet, clean_key, fold
from kebab_tui.formats.prose import Prose

LONGEST_VALUE = 200
"""Characters of a property; the rest is cut, with an ellipsis."""
_LONGEST_TASK = 500
_LONGEST_PREFIX = 200

_BOX = re.compile(r"\[([^\]\n])\][ \t]+(?=\S)")
_ITEM = re.compile(r"[ \t>]*(?:[-+*]|[0-9]{1,9}[.)])[ \t]+")
_OPEN_MARKERS = ("TODO", "DOING", "NOW", "LATER", "WAITING", "IN-PROGRESS")
_DONE_MARKERS = ("DONE", "CANCELED", "CANCELLED")
_MARKER = re.compile(
    rf"^[ \t]*[-*+][ \t]+({'|'.join(_OPEN_MARKERS + _DONE_MARKERS)})[ \t]+(?=\S)", re.MULTILINE
)
_ANY_MARKER = re.compile(r"- (?:TODO|DO|NOW|LATER|WAITING|IN-P|CANCEL)|[*+] (?:TODO|DO|NOW|LATER)")
_DONE = ("x", "X", "-", *_DONE_MARKERS)

_FIELD = re.compile(r"::(?=[ \t\n]|\Z)[ \t]*")
_KEY = r"(?P<key>[^\W\d_][\w /.-]{0,60})"
_LINE_KEY = re.compile(
    rf"[ \t>]*(?:[-+*][ \t]+)?(?:\[.\][ \t]+)?(?P<mark>\*\*|__|\*|_|){_KEY}(?P=mark)[ \t]*"
)
_BARE_KEY = re.compile(_KEY)
_WIKI = re.compile(r"\[\[([^\[\]|#\n]+)[^\[\]\n]*\]\]")
_PART = re.compile(r"(?:\[\[[^\[\]\n]*\]\]|[^,])+")
_CLOSING = {"[": "]", "(": ")"}


def tasks_of(prose: Prose) -> Iterator[Facet]:
    text = prose.text
    for match in _BOX.finditer(text) if "] " in text or "]\t" in text else ():
        start = text.rfind("\n", 0, match.start()) + 1
        if match.start() - start <= _LONGEST_PREFIX and _ITEM.fullmatch(text, start, match.start()):
            yield from _task(prose, match)
    if _ANY_MARKER.search(text):
        for match in _MARKER.finditer(text):
            yield from _task(prose, match)


def _task(prose: Prose, match: re.Match[str]) -> Iterator[Facet]:
    if not prose.is_hidden(match.start(1)):
        end = prose.text.find("\n", match.end())
        shown = prose.text[match.end() : None if end < 0 else end][:_LONGEST_TASK].strip()
        state = "done" if match[1] in _DONE else "open"
        yield Facet(TASK.id, state, prose.place(match.start(1))[0], None, shown)


def inline_properties(prose: Prose) -> Iterator[tuple[str, str, int]]:
    """Key, value and line of each inline property."""
    text = prose.text
    for match in _FIELD.finditer(text) if "::" in text else ():
        line = text.rfind("\n", 0, match.start()) + 1
        start = max(line, match.start() - _LONGEST_PREFIX)
        end = text.find("\n", match.end())
        value = text[match.end() : None if end < 0 else end][: 4 * LONGEST_VALUE]
        if match.end() > match.start() + 2 and text.startswith("\n", match.end() - 1):
            value = ""
        opening = max(text.rfind("[", start, match.start()), text.rfind("(", start, match.start()))
        found = _LINE_KEY.fullmatch(text, start, match.start()) if start == line else None
        if found is None and opening >= 0:
            found = _BARE_KEY.fullmatch(text, opening + 1, match.start())
            value = _up_to_closing(value, text[opening])
        if found is not None and not prose.is_hidden(match.start()):
            yield found["key"].strip(), value.strip(), prose.place(match.start())[0]


def _up_to_closing(value: str, opening: str) -> str:
    depth = 0
    for at, character in enumerate(value):
        if character == opening:
            depth += 1
        elif character == _CLOSING[opening]:
            if not depth:
                return value[:at]
            depth -= 1
    return value


def property_values(text: str) -> list[str]:
    """The values in a text: of `[[a]], [[b|c]], d` three names, of any other text itself."""
    if "[[" not in text:
        return [text]
    names = []
    for part in _PART.findall(text):
        linked = _WIKI.fullmatch(part.strip())
        if linked is None and "[[" in part:
            return [text]
        names.append(linked[1].strip() if linked else part.strip())
    return [name for name in names if name]


def properties(found: Iterable[tuple[str, str, int | None]], left_out: set[str]) -> list[Facet]:
    """The distinct facets of keys and values with their lines, as many as are kept."""
    known: dict[str, Facet] = {}
    for key, value, line in found:
        name = clean_key(key)
        shown = value if len(value) <= LONGEST_VALUE else value[: LONGEST_VALUE - 1].rstrip() + "…"
        text = f"{name}={shown}"
        folded = fold(text)
        if folded in known or not name:
            continue
        if len(known) == PROPERTY.most or len(text) > PROPERTY.longest:
            left_out.add(PROPERTY.id)
        else:
            known[folded] = Facet(PROPERTY.id, text, line)
    return list(known.values())
