"""Finds the links in the prose of a note, each with its line.

`[[wikilinks]]` and `![[embeds]]`, `[Markdown](links.md)` and images, `[reference][links]` with a
definition, and addresses. Links in code and comments are text. Takes linear time.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from urllib.parse import unquote

from kebab_tui.domain.checkpoint import OFTEN, Checkpoint
from kebab_tui.domain.facets import LINK, URL, Facet
from kebab_tui.domain.links import LinkForm, WrittenLink, is_external
from kebab_tui.formats.prose import Prose

# Each pattern begins with a literal, which the search finds fast.
_WIKI = re.compile(r"\[\[([^\[\]\n]++)\]\]")
_DESTINATION = (
    r"(?:<(?P<angle>[^<>\n]*+)>"
    r"|(?P<bare>(?!<)(?:[^\s()\\]++|\\.|\((?:[^\s()\\]++|\\.)*+\))*+))"
)
_INLINE = re.compile(
    r"\]\([ \t]*+"
    + _DESTINATION
    + r"""(?:[ \t\n]++(?:"[^"]{0,400}+"|'[^']{0,400}+'|\([^()]{0,400}+\)))?[ \t\n]*+\)"""
)
_REFERENCE = re.compile(r"\]\[([^\[\]\n]{0,200}+)\]")
_SHORTCUT = re.compile(r"\[([^\[\]\n]{1,200}+)\](?![\[(:])")
_DEFINITION = re.compile(
    r"^ {0,3}\[(?!\^)(?P<label>[^\[\]\n]{1,200}+)\]:[ \t]*+(?:<(?P<angle>[^<>\n]*+)>|(?P<bare>\S++))",
    re.MULTILINE,
)
_ADDRESS = re.compile(r"://(?:(?<=http://)|(?<=https://))[^\s<>`\"]++")
_ESCAPED = re.compile(r"\\([!-/:-@\[-`{-~])")
_WIDTH = re.compile(r"[0-9]+(?:x[0-9]+)?")
_LONGEST_TEXT = 2_000
"""Characters in which the bracket is searched that a link begins with."""
_KEPT_TEXT = 200
_AFTER_ADDRESS = ".,;:!?'*_~|]}"


def links_of(prose: Prose, checkpoint: Checkpoint) -> Iterator[Facet]:
    """The links of a text in their order, as facets."""
    text = prose.text
    found: list[tuple[int, int, LinkForm, str, str]] = []
    if "[[" in text:
        found += _wikilinks(text)
    if "](" in text:
        found += _inline(text)
    definitions = dict[str, str]()
    if "]:" in text:
        for match in _DEFINITION.finditer(text):
            definitions.setdefault(_label(match["label"]), _destination(match))
            found.append((match.start(), match.end(), "reference", "", ""))  # addresses in it are no links
    if definitions:
        found += _references(text, definitions)
    if "://" in text:
        found += _addresses(text)
    found.sort(key=lambda one: (one[0], -one[1]))
    end = -1
    for number, (start, stop, form, target, shown) in enumerate(found):
        if not number & OFTEN:
            checkpoint()
        is_within = stop <= end and form not in ("image", "embed")  # an image may be the text of a link
        if not is_within:
            end = max(end, stop)
        if target and not is_within and not prose.is_hidden(start) and not prose.is_hidden(stop - 1):
            yield from _facet(
                target, form, " ".join(shown[: 4 * _KEPT_TEXT].split())[:_KEPT_TEXT], *prose.place(start)
            )


def wikilinks_of(lines: Sequence[str], first: int) -> Iterator[Facet]:
    """The wikilinks of lines that are not prose, such as front matter; `first` is the number of the first."""
    for number, line in enumerate(lines, first):
        if "[[" in line:
            for start, _, form, target, shown in _wikilinks(line):
                yield from _facet(target, form, shown[:_KEPT_TEXT], number, len(line[:start].encode()) + 1)


def _facet(target: str, form: LinkForm, shown: str, line: int, column: int) -> Iterator[Facet]:
    if is_external(target):
        if not target.startswith("data:"):
            yield Facet(URL.id, target, line, None, WrittenLink(target, "", shown, form, line, column).extra)
        return
    path, _, anchor = target.partition("#")
    if form not in ("wiki", "embed"):
        path = path.partition("?")[0]
        path, anchor = (unquote(part) if "%" in part else part for part in (path, anchor))
    path, anchor = path.strip(), anchor.strip()
    if path or anchor:
        extra = WrittenLink(path, anchor, shown, form, line, column).extra
        yield Facet(LINK.id, path, line, anchor or None, extra)


def _wikilinks(text: str) -> Iterator[tuple[int, int, LinkForm, str, str]]:
    for match in _WIKI.finditer(text):
        start = match.start()
        if _is_escaped(text, start):
            continue
        embeds = start > 0 and text[start - 1] == "!" and not _is_escaped(text, start - 1)
        target, _, alias = match[1].replace("\\|", "|").partition("|")
        target, alias = target.strip(), alias.strip()
        shown = target if not alias or _WIDTH.fullmatch(alias) else alias
        yield start - embeds, match.end(), "embed" if embeds else "wiki", target, shown


def _inline(text: str) -> Iterator[tuple[int, int, LinkForm, str, str]]:
    for match in _INLINE.finditer(text):
        start = _opening(text, match.start())
        if start >= 0 and not _WIKI.match(text, start):  # `[[a]](b)` is a wikilink and text
            is_image = start > 0 and text[start - 1] == "!" and not _is_escaped(text, start - 1)
            shown = text[start + 1 : match.start()]
            yield (
                start - is_image,
                match.end(),
                "image" if is_image else "markdown",
                _destination(match),
                shown,
            )


def _references(text: str, definitions: Mapping[str, str]) -> Iterator[tuple[int, int, LinkForm, str, str]]:
    for match in _REFERENCE.finditer(text):
        start = _opening(text, match.start())
        if start >= 0:
            shown = text[start + 1 : match.start()]
            if target := definitions.get(_label(match[1] or shown)):
                yield start, match.end(), "reference", target, shown
    for match in _SHORTCUT.finditer(text):
        start = match.start()
        if (
            (target := definitions.get(_label(match[1])))
            and text[start - 1 : start] != "]"
            and not _is_escaped(text, start)
        ):
            yield start, match.end(), "reference", target, match[1]


def _addresses(text: str) -> Iterator[tuple[int, int, LinkForm, str, str]]:
    for match in _ADDRESS.finditer(text):
        start = match.start() - (5 if text.startswith("https", match.start() - 5) else 4)
        address = text[start : match.end()].rstrip(_AFTER_ADDRESS)
        while address.endswith(")") and address.count(")") > address.count("("):
            address = address[:-1].rstrip(_AFTER_ADDRESS)
        if not text[start - 1 : start].isalnum() or not start:
            yield start, start + len(address), "url", address, address


def _opening(text: str, closing: int) -> int:
    """The bracket that begins the text of a link; -1 if there is none in its paragraph."""
    if _is_escaped(text, closing):
        return -1
    least = max(0, closing - _LONGEST_TEXT, text.rfind("\n\n", 0, closing))
    depth, at = 1, closing
    while depth:
        opens, closes = text.rfind("[", least, at), text.rfind("]", least, at)
        at = max(opens, closes)
        if at < 0:
            return -1
        if not _is_escaped(text, at):
            depth += 1 if at == closes else -1
    return at


def _is_escaped(text: str, at: int) -> bool:
    escapes = 0
    while at > escapes and text[at - escapes - 1] == "\\":
        escapes += 1
    return escapes % 2 == 1


def _destination(match: re.Match[str]) -> str:
    written = match["angle"] or match["bare"] or ""
    return _ESCAPED.sub(r"\1", written) if "\\" in written else written


def _label(text: str) -> str:
    return " ".join(text.split()).casefold()
