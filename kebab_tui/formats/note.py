"""Parses a text file into a note: front matter, title, tags, language and blocks.

The scanner that splits lines into blocks is passed in; everything else is the same for all
formats. Valid front matter belongs to no block, unless the note has nothing else; invalid front
matter becomes prose.

- Titles: front matter and the first H1. The indexed title, which ranking and the model read, is
  the first of these, else the first H2, first line of prose, or file name. One line of at most
  120 characters, NFC, without control characters.
- Front matter: a block between `---` in the first line and `---` or `...`. All values are
  strings (`title: 1.10` stays `1.10`); no tags, no merge keys. Values of an unexpected type
  are ignored. If the YAML is invalid, its plain `key: value` lines are still read. A `---`
  before a blank line is a rule, not front matter.
- Private: front matter that states `private` with any value but those of `_PUBLIC`, whatever keeps
  it from being front matter otherwise: invalid YAML, a blank line first, no end, `+++`, `;;;` or
  JSON instead of `---`. Looks at the first 64 K characters of a file, so that the head of a file
  tells the same.
- Facets: values of front matter by the keys of each kind, tags, links, tasks and inline properties in
  prose, each with its line. A note that states more values than are kept has the flag `values_left_out`.
- Properties: every key of front matter, nested ones as `a.b`; each value of a list.
- Date: the first valid one of `updated`, `date` and `created` in front matter.
- Tags: `#tag` in prose after a line start, space, comma, `|`, `>`, `*` or parenthesis, with
  at least one letter, and not a colour; not in code, links or addresses. NFC, unique
  regardless of case.
- Language: Korean from 15 % of Hangul letters on. Korean notes contain many English words,
  English notes hardly any Hangul (no sample note lies between 3 and 24 %). Undetermined
  without letters, or if most letters belong to neither language.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice

from kebab_tui.domain.checkpoint import UNLIMITED, Checkpoint
from kebab_tui.domain.document import (
    LANGUAGES,
    Block,
    DocumentType,
    Language,
    ParsedNote,
    Trust,
)
from kebab_tui.domain.facets import (
    ALIAS,
    FACETS,
    LINK,
    PROPERTY,
    TAG,
    TASK,
    TITLE,
    URL,
    Facet,
    FacetKind,
    clean_date,
)
from kebab_tui.domain.names import stem_of
from kebab_tui.domain.text import KOREAN_SHARE, MODERN_HANGUL
from kebab_tui.formats.decode import decode
from kebab_tui.formats.fields import inline_properties, properties, property_values, tasks_of
from kebab_tui.formats.links import links_of, wikilinks_of
from kebab_tui.formats.markdown_lines import plain_text
from kebab_tui.formats.prose import Prose
from kebab_tui.formats.registry import document_types

ScanLines = Callable[[Sequence[str], int, Checkpoint], tuple[Block, ...]]

MAX_LENGTH = 120
_LONGEST_LINE = 8_000
"""The rest is ignored: NFC takes quadratic time for a long run of combining marks."""
_MAX_CANDIDATES = 1_000
"""The number of headings of a level, and of lines of prose, that a title is searched in."""
_UNPRINTABLE = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]+")
_LINE_MARKS = re.compile(r"[\s>]*+(?:(?:[-+*]|\d{1,9}[.)])[ \t]++)?(?:\[[ xX]\][ \t]++)?")
_WORD = re.compile(r"\w")

_MAX_LINE = 4_000
_NOT_PROSE = re.compile(
    r"(?<!`)(?P<ticks>`++)(?:[^`]++|(?!(?P=ticks)(?!`))`++)*+(?P=ticks)(?!`)"  # code
    r"|\[\[[^\[\]]*+\]\]"  # a link of a wiki
    r"|\]\([^()\s]*+"  # the address of a link
    r"|<[^<>]*+>"  # an element or an address
    r"|\b[a-z]{2,8}://\S++"
    r"|^ {0,3}\[[^\]]*+\]:.*"  # a link definition
)
# Begins with `#`, which the search finds fast; the character before it is checked afterwards.
_TAG = re.compile(
    r"#(?:(?<![^\s,|>*]#)|(?<=[\s>*]\(#)|(?<=^\(#))(?P<tag>[\w/-]+)",
    re.MULTILINE,
)
_COLOUR = re.compile(r"(?:[0-9a-fA-F]{3}|[0-9a-fA-F]{6}|[0-9a-fA-F]{8})")
_LETTER = re.compile(r"[^\W\d_]")

_MAX_YAML = 64 * 1024
_MAX_OPENED = 500
_OPENED_IN_A_LINE = re.compile(r"(?<!\S)[-?](?!\S)")
_PLAIN_LINE = re.compile(r"(?P<key>[A-Za-z_]+)[ \t]*:[ \t]+(?P<value>\S.*)")
_ABSENT = ("", "~", "null")
_DATED_BY = ("updated", "date", "created")
_MAX_NODES = 10_000
"""Nodes of front matter that are read for properties: an alias may stand for many."""
_DEEPEST = 8
_PUBLIC = (*_ABSENT, "false", "no", "off", "0")
_PRIVATE_LINE = re.compile(
    r"(?P<indent>[\s{,?-]*)(?P<quote>[\"']?)private(?P=quote)\s*[:=\uff1a](?P<value>.*)",
    re.IGNORECASE | re.DOTALL,
)
_FENCES = {"---": "---", "+++": "+++", ";;;": ";;;", "{": "}"}
"""What other programs take as front matter counts, too, when a note might be private."""
_UNSEEN = re.compile("[\u200b-\u200f\u2060-\u2064\ufeff\u00ad]")
_COMMENT = re.compile(r"(?:^|(?<=\s))#.*")
PRIVACY_BYTES = 8 * _MAX_YAML + 4
"""So many bytes of a file tell whether it is private, in any encoding, with any ends of lines."""

_HANGUL = re.compile(f"[{MODERN_HANGUL}\u1100-\u11ff]")
_ACCENTED = re.compile("[À-ɏ]")
_ASCII = bytes(range(128))
_NOT_LATIN = bytes(code for code in range(256) if code > 127 or not chr(code).isalpha())
_LANGUAGE_SAMPLE = 20_000


def read_note(
    data: bytes, path: str, type_: DocumentType, scan: ScanLines, checkpoint: Checkpoint
) -> ParsedNote:
    """Parse the bytes of a file; raise UnsuitableFileError if it is binary."""
    text = decode(data)
    lines = text.lines
    checkpoint()
    front = read_front_matter(lines)
    checkpoint()
    body = scan(lines, front.length, checkpoint)
    prose: list[str] = []
    numbers: list[int] = []
    for block in body:
        if block.kind not in ("code", "comment"):
            prose += lines[block.first - 1 : block.last]
            numbers += range(block.first, block.last + 1)
    checkpoint()
    is_shown = front.bad or (front.length and not body)
    head = (Block("prose", 1, front.length),) if is_shown else ()
    written = Prose(prose, numbers, checkpoint)
    fields = [
        (key, value, line)
        for key, text, line in inline_properties(written)
        for value in property_values(text)
    ]
    left_out: set[str] = set()

    def stated(kind: FacetKind, *groups: Iterable[Facet]) -> Iterable[Facet]:
        front_matter = (facet for facet in front.facets if facet.kind == kind.id)
        return distinct(kind, front_matter, *groups, left_out=left_out).values()

    def inline(kind: FacetKind) -> Iterator[Facet]:
        for key, value, line in fields:
            if key.lower() in kind.front_matter:
                yield from (Facet(kind.id, part, line) for part in kind.split(value))

    tags = stated(TAG, inline(TAG), inline_tags(prose, numbers, checkpoint))
    stated_properties = [*front.properties, *((key, one_line(value), line) for key, value, line in fields)]
    titles = distinct(TITLE, _stated_titles(front, body))
    linked = chain(wikilinks_of(lines[: front.length], 1), links_of(written, checkpoint))
    many = list(chain(tasks_of(written), linked))
    facets = (
        *sorted(tags, key=lambda facet: TAG.fold(facet.value)),
        *stated(ALIAS, inline(ALIAS)),
        *(facet for facet in front.facets if facet.kind not in (TAG.id, ALIAS.id)),
        *titles.values(),
        *properties(stated_properties, left_out),
        *(facet for kind in (TASK, LINK, URL) for facet in _enough(kind, many, left_out)),
    )
    return ParsedNote(
        title=next((facet.value for facet in titles.values()), ""),
        indexed_title=title_of(front.title, body, lines, path),
        type=front.type or type_,
        lang=front.lang or language_of(prose),
        lines=lines,
        blocks=(*head, *body),
        trust=front.trust,
        facets=facets,
        flags=(
            *(("bad_front_matter",) if front.bad else ()),
            *(("values_left_out",) if left_out or front.left_out else ()),
            *text.flags,
            *(("private",) if states_private(lines) else ()),
        ),
        dated=front.dated,
        dated_by=front.dated_by,
    )


def _enough(kind: FacetKind, facets: Iterable[Facet], left_out: set[str]) -> list[Facet]:
    """The values of one kind, equal ones too, as many as are kept."""
    known = [facet for facet in facets if facet.kind == kind.id]
    kept = [facet for facet in known if len(facet.value) <= kind.longest][: kind.most]
    if len(kept) < len(known):
        left_out.add(kind.id)
    return kept


def one_line(text: str) -> str:
    """Normalise to one line: no control characters, single spaces, NFC; the first 8,000 characters."""
    if text.isascii() and text.isprintable() and "  " not in text and len(text) <= _LONGEST_LINE:
        return text.strip()
    bare = _UNPRINTABLE.sub(" ", text[:_LONGEST_LINE])
    return " ".join(unicodedata.normalize("NFC", bare).split())


def title_of(front: str, blocks: Sequence[Block], lines: Sequence[str], path: str) -> str:
    """The indexed title: the first candidate that is not empty, shortened to `MAX_LENGTH`."""
    titles = map(_shortened, _title_candidates(front, blocks, lines, path))
    return next(filter(None, titles), "untitled")


def _stated_titles(front: FrontMatter, blocks: Sequence[Block]) -> Iterator[Facet]:
    yield Facet(TITLE.id, _shortened(front.title), front.title_line)
    first = (block for block in blocks if block.kind == "heading" and block.level == 1)
    for block in islice(first, _MAX_CANDIDATES):
        if title := _shortened(block.text):
            yield Facet(TITLE.id, title, block.first)
            return


def _shortened(text: str) -> str:
    title = one_line(text[: 8 * MAX_LENGTH])
    return title if len(title) <= MAX_LENGTH else title[: MAX_LENGTH - 1].rstrip() + "…"


def _title_candidates(front: str, blocks: Sequence[Block], lines: Sequence[str], path: str) -> Iterator[str]:
    yield front
    for level in (1, 2):
        headings = (block.text for block in blocks if block.kind == "heading" and block.level == level)
        yield from islice(headings, _MAX_CANDIDATES)
    prose = (block for block in blocks if block.kind == "prose")
    prose_lines = (line for block in prose for line in lines[block.first - 1 : block.last])
    for line in islice(prose_lines, _MAX_CANDIDATES):
        start = _LINE_MARKS.match(line)
        text = plain_text(line[start.end() if start else 0 :])
        if _WORD.search(text):
            yield text
    yield stem_of(path).encode("utf-8", "surrogateescape").decode("utf-8", "replace")


@dataclass(frozen=True, slots=True)
class FrontMatter:
    """`length` is the number of lines including both fences; 0 if there is no front matter."""

    length: int = 0
    bad: bool = False
    title: str = ""
    title_line: int | None = None
    facets: tuple[Facet, ...] = ()
    properties: tuple[tuple[str, str, int | None], ...] = ()
    """Every value of every key, with its line."""
    trust: Trust | None = None
    lang: Language | None = None
    type: DocumentType | None = None
    dated: str = ""
    dated_by: str = ""
    left_out: bool = False
    """Whether it states more values than are kept."""


def read_front_matter(lines: Sequence[str]) -> FrontMatter:
    """Parse the front matter of a note; never raises."""
    if len(lines) < 2 or lines[0].rstrip() != "---" or not lines[1].strip():
        return FrontMatter()
    fences = (number for number, line in enumerate(lines[1:], 2) if line.rstrip() in ("---", "..."))
    length = next(fences, 0)
    if not length:
        return FrontMatter()
    inside = lines[1 : length - 1]
    values = _load("\n".join(inside))
    bad = values is None
    if values is None:
        found = (_PLAIN_LINE.fullmatch(line.rstrip()) for line in inside)
        values = {match["key"].lower(): match["value"].strip("\"'") for match in found if match}
    lang = _scalar(values, "lang", "language").lower().replace("_", "-").split("-")[0]
    type_ = _scalar(values, "type").lower()
    left_out: set[str] = set()
    facets = tuple(_front_facets(values, inside, left_out))
    days = ((clean_date(_scalar(values, key)), key) for key in _DATED_BY)
    dated, dated_by = next((found for found in days if found[0]), ("", ""))
    return FrontMatter(
        length=length,
        bad=bad,
        title=_scalar(values, "title"),
        title_line=next((n for n, line in enumerate(inside, 2) if line[:6].lower() == "title:"), None),
        facets=facets,
        properties=tuple(_properties(values, inside, left_out)),
        trust=Trust.parse(_scalar(values, "trust", "trust_level")),
        lang=next((language for language in LANGUAGES if language == lang), None),
        type=next((kind for kind in document_types() if kind == type_), None),
        dated=dated,
        dated_by=dated_by,
        left_out=bool(left_out),
    )


def states_private(lines: Iterable[str]) -> bool:
    """Whether the front matter in these lines, the first of a file, makes the note private."""
    inside: list[str] | None = None
    fence, left = "", _MAX_YAML
    for line in chain.from_iterable(line[: _MAX_YAML + 1].split("\r") for line in lines):
        left -= len(line) + 1
        if left < 0:
            break
        line = _UNSEEN.sub("", line).replace("\xa0", " ")
        bare = line.strip() if inside is None else line.rstrip()
        if inside is None:
            opened = next((start for start in _FENCES if bare.startswith(start)), "")
            if bare and not opened:
                return False
            inside, fence = ([bare] if opened == "{" else [], opened) if bare else (None, "")
            if opened == "{" and bare.endswith("}"):
                break
        elif bare == _FENCES[fence] or (bare == "..." and fence == "---"):
            break
        else:
            inside.append(line)
    text = "\n".join(inside or ())
    if "private" not in text.lower():
        return False
    values = _load(text) if fence == "---" else None
    if values is not None and "private" in values and _is_set(values["private"]):
        return True
    # Also if the YAML is valid: of two lines with the key, it has the last one only.
    for at, line in enumerate(inside or ()):
        stated = _PRIVATE_LINE.match(line)
        if stated and (values is None or not stated["indent"]):
            below = inside[at + 1][:1] if inside and at + 1 < len(inside) else ""
            value = _COMMENT.sub("", stated["value"]).partition(",")[0].strip(" \t}").strip("\"'")
            if _is_set(value) or (values is None and not value and below in (" ", "\t", "-")):
                return True
    return False


def _is_set(value: object) -> bool:
    return not isinstance(value, str) or value.strip().lower() not in _PUBLIC


def _front_facets(values: Mapping[str, object], lines: Sequence[str], left_out: set[str]) -> Iterator[Facet]:
    for kind in FACETS.values():
        if values.keys().isdisjoint(kind.front_matter):
            continue
        line_of = _line_finder(kind, lines)
        lists = (value for key in kind.front_matter if isinstance(value := values.get(key), list))
        items = (item for item in chain.from_iterable(lists) if isinstance(item, str))
        listed = [Facet(kind.id, one_line(item)) for item in items if item.strip().lower() not in _ABSENT]
        written = (
            Facet(kind.id, text) for key in kind.front_matter for text in kind.split(_scalar(values, key))
        )
        found = distinct(kind, listed, left_out=left_out) or distinct(kind, written, left_out=left_out)
        for folded, facet in found.items():
            yield Facet(kind.id, facet.value, line_of(folded))


def _properties(
    values: Mapping[str, object], lines: Sequence[str], left_out: set[str]
) -> Iterator[tuple[str, str, int | None]]:
    line_of: dict[str, int] = {}
    for number, line in enumerate(lines, 2):
        line_of.setdefault(line.partition(":")[0].strip("\"' ").lower(), number)
    nodes = 0

    def flat(key: str, value: object, line: int | None, depth: int) -> Iterator[tuple[str, str, int | None]]:
        nonlocal nodes
        nodes += 1
        if nodes > _MAX_NODES or depth > _DEEPEST:
            left_out.add(PROPERTY.id)
        elif isinstance(value, str):
            for part in property_values("" if value.lower() in _ABSENT else one_line(value)):
                yield key, part, line
        elif isinstance(value, dict) and value:
            for name, inner in value.items():
                yield from flat(f"{key}.{name}", inner, line, depth + 1)
        elif isinstance(value, list) and value:
            for inner in value:
                yield from flat(key, inner, line, depth + 1)
        else:
            yield key, "", line

    for key, value in values.items():
        if isinstance(value, str) and "[[" not in value:  # most are: no need to look deeper
            yield key, "" if value.lower() in _ABSENT else one_line(value), line_of.get(key)
        else:
            yield from flat(key, value, line_of.get(key), 0)


def _line_finder(kind: FacetKind, lines: Sequence[str]) -> Callable[[str], int | None]:
    """Finds the line of a list item by its folded value, else the line of the first key of the kind."""
    items: dict[str, int] = {}
    first = None
    inside = False
    for number, line in enumerate(lines, 2):
        if line[:1].strip(" \t-#"):
            inside = line.partition(":")[0].strip("\"' ").lower() in kind.front_matter
            if inside and first is None:
                first = number
        elif inside:
            item = one_line(line.lstrip(" \t-")).strip("\"'")
            items.setdefault(kind.fold(kind.clean(item)), number)
    return lambda folded: items.get(folded, first)


def _load(text: str) -> Mapping[str, object] | None:
    """Load YAML with strings for all scalars; None if it is invalid, not a mapping or too deep."""
    if not text.strip():
        return {}
    # libyaml overflows the stack at about 20,000 levels of nesting.
    opened = text.count("[") + text.count("{")
    long_lines = (line for line in text.split("\n") if len(line) > _MAX_OPENED)
    if (
        len(text) > _MAX_YAML
        or opened > _MAX_OPENED
        or any(len(_OPENED_IN_A_LINE.findall(line)) > _MAX_OPENED for line in long_lines)
    ):
        return None
    # Slow to import, and only notes with front matter need it.
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


def _scalar(values: Mapping[str, object], *keys: str) -> str:
    """Return the first of these values that is not empty, on one line."""
    for key in keys:
        value = values.get(key)
        if isinstance(value, str) and value.strip().lower() not in _ABSENT:
            return one_line(value)
    return ""


def inline_tags(
    lines: Sequence[str], numbers: Sequence[int], checkpoint: Checkpoint = UNLIMITED
) -> Iterator[Facet]:
    """The tags of prose, in order, from the first 4,000 characters of each line; `numbers` of the lines."""
    if not _TAG.search("\n".join(lines)):
        return
    for number, line in zip(numbers, lines, strict=True):
        if "#" not in line or not _TAG.search(line[:_MAX_LINE]):
            continue
        checkpoint()
        prose = _NOT_PROSE.sub(".", unicodedata.normalize("NFC", line[:_MAX_LINE]))
        for match in _TAG.finditer(prose):
            tag = match["tag"].rstrip("/-").lstrip("/")
            if _LETTER.search(tag) and not _COLOUR.fullmatch(tag):
                yield Facet(TAG.id, tag, number)


def distinct(kind: FacetKind, *groups: Iterable[Facet], left_out: set[str] | None = None) -> dict[str, Facet]:
    """Join in order, by folded value, clean and in NFC; as many as are kept.

    `left_out` gets the kind if there are more.
    """
    known: dict[str, Facet] = {}
    for facet in chain(*groups):
        value = unicodedata.normalize("NFC", kind.clean(facet.value))
        if not value or (key := kind.fold(value)) in known:
            continue
        if len(value) <= kind.longest and len(known) < kind.most:
            known[key] = facet if value == facet.value else replace(facet, value=value)
        elif left_out is not None and len(value) <= kind.longest:
            left_out.add(kind.id)
        if len(known) == kind.most and left_out is None:
            break
    return known


def language_of(lines: Iterable[str]) -> Language:
    """Detect the language by the letters of the first 20,000 characters."""
    text = "".join(lines)[:_LANGUAGE_SAMPLE]
    if text.isascii():
        return "en" if _LETTER.search(text) else "und"
    # Counting and removing bytes is many times faster than characters, and most letters are ASCII.
    data = text.encode("utf-8", "surrogatepass")
    latin = len(data.translate(None, _NOT_LATIN))
    rest = data.translate(None, _ASCII).decode("utf-8", "surrogatepass")
    letters = latin + len(_LETTER.findall(rest))
    hangul = len(_HANGUL.findall(rest))
    if hangul and hangul >= KOREAN_SHARE * letters:
        return "ko"
    latin += len(_ACCENTED.findall(rest))
    return "en" if latin and latin >= letters / 2 else "und"
