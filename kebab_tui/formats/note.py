"""The way every kind of text note is read: decode, head, blocks, and the facts in them.

What differs between kinds is only how lines become blocks, so that is passed in. Lines
of good front matter belong to no block; a bad one stands before the body as prose.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from kebab_tui.domain.checkpoint import UNLIMITED, Checkpoint
from kebab_tui.domain.document import (
    DOCUMENT_TYPES,
    LANGUAGES,
    Block,
    DocumentType,
    Language,
    ParsedNote,
    Trust,
)
from kebab_tui.formats.decode import ReadLimits, decode
from kebab_tui.formats.markdown_lines import plain_text

# What a note is called: its front matter, first H1, first H2, first line of prose, file name.
#
# A title is one line of at most 120 characters, NFC, without control characters, and can
# always be stored as UTF-8. Of headings of a level and of lines of prose,
# the first 1,000 are looked at.

MAX_LENGTH = 120
_LONGEST_LINE = 8_000
"""What is behind is not read: NFC takes quadratic time for a long run of combining marks."""
_LOOKED_AT = 1_000
_UNPRINTABLE = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]+")
_LINE_MARKS = re.compile(r"[\s>]*+(?:(?:[-+*]|\d{1,9}[.)])[ \t]++)?(?:\[[ xX]\][ \t]++)?")
_WORD = re.compile(r"\w")


def one_line(text: str) -> str:
    """Make a name of a text: no control characters, single spaces, NFC; of its first 8,000 characters."""
    bare = _UNPRINTABLE.sub(" ", text[:_LONGEST_LINE])
    return " ".join(unicodedata.normalize("NFC", bare).split())


def title_of(front: str, blocks: Sequence[Block], lines: Sequence[str], path: str) -> str:
    """Take the first source that has anything to say."""
    candidates = _candidates(front, blocks, lines)
    title = next((title for text in candidates if (title := _shortened(text))), "")
    return title or _shortened(_file_name(path)) or "untitled"


def _candidates(front: str, blocks: Sequence[Block], lines: Sequence[str]) -> Iterator[str]:
    yield front
    for level in (1, 2):
        headings = (block.text for block in blocks if block.kind == "heading" and block.level == level)
        yield from islice(headings, _LOOKED_AT)
    prose = (block for block in blocks if block.kind == "prose")
    written = (line for block in prose for line in lines[block.first - 1 : block.last])
    yield from map(_bare, islice(written, _LOOKED_AT))


def _bare(line: str) -> str:
    """A line without what makes it a list item, a quote or emphasis; nothing if no word is left."""
    start = _LINE_MARKS.match(line)
    text = plain_text(line[start.end() if start else 0 :])
    return text if _WORD.search(text) else ""


def _shortened(text: str) -> str:
    line = one_line(text[: 8 * MAX_LENGTH])
    return line if len(line) <= MAX_LENGTH else line[: MAX_LENGTH - 1].rstrip() + "…"


def _file_name(path: str) -> str:
    """The last name without its ending; bytes that are no text become replacement characters."""
    name = path.rsplit("/", 1)[-1]
    stem = name[: name.rfind(".")] if name.rfind(".") > 0 else name
    return stem.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


# Tags: `#so` in the prose, and lists of them in the front matter.
#
# An inline tag stands at the start of a line, after a blank, a comma, `|`, `>`, `*` or an
# opening parenthesis, and holds a letter. So these are no tags: a heading's own marks,
# the fragment of an address or link, code between backticks, `#123`, `C#`, `&#39;`, and a
# colour (three, six or eight hexadecimal digits). `#a/b` is one tag with two levels.
# Tags are NFC, keep their case, and are the same when only their case differs.

MAX_TAGS = 64
_MAX_LENGTH = 100
_MAX_LINE = 4_000
_NOT_PROSE = re.compile(
    r"(?<!`)(?P<ticks>`++)(?:[^`]++|(?!(?P=ticks)(?!`))`++)*+(?P=ticks)(?!`)"  # code
    r"|\[\[[^\[\]]*+\]\]"  # a link of a wiki
    r"|\]\([^()\s]*+"  # the address of a link
    r"|<[^<>]*+>"  # an element or an address
    r"|\b[a-z]{2,8}://\S++"
    r"|^ {0,3}\[[^\]]*+\]:.*"  # a link definition
)
# It begins with the one character that a search can look for fast; what stands before is asked behind it.
_TAG = re.compile(
    r"#(?:(?<![^\s,|>*]#)|(?<=[\s>*]\(#)|(?<=^\(#))(?P<tag>[\w/-]+)",
    re.MULTILINE,
)
_COLOUR = re.compile(r"(?:[0-9a-fA-F]{3}|[0-9a-fA-F]{6}|[0-9a-fA-F]{8})")
_LETTER = re.compile(r"[^\W\d_]")


def inline_tags(lines: Sequence[str], checkpoint: Checkpoint = UNLIMITED) -> tuple[str, ...]:
    """Collect the tags of prose lines, in order; of a line's first 4,000 characters only."""
    if not _TAG.search("\n".join(lines)):
        return ()
    marked = [line[:_MAX_LINE] for line in lines if "#" in line]
    return merge_tags(tag for line in marked for tag in _tags_of_line(line, checkpoint))


def tags_of_text(text: str) -> tuple[str, ...]:
    """Read `a, b`, `a b` and `#a #b`."""
    parts = text.strip("[]").split("," if "," in text else None)
    return tags_of_list(part.strip().strip("\"'") for part in parts)


def tags_of_list(items: Iterable[str]) -> tuple[str, ...]:
    return merge_tags(one_line(item).lstrip("#").strip("/ ") for item in items)


def merge_tags(*groups: Iterable[str]) -> tuple[str, ...]:
    """Join in order, each tag once whatever its case, at most `MAX_TAGS`."""
    known: dict[str, str] = {}
    for group in groups:
        for tag in group:
            normal = unicodedata.normalize("NFC", tag)
            if 0 < len(normal) <= _MAX_LENGTH:
                known.setdefault(normal.casefold(), normal)
            if len(known) == MAX_TAGS:
                return tuple(known.values())
    return tuple(known.values())


def _tags_of_line(line: str, checkpoint: Checkpoint) -> Iterable[str]:
    if not _TAG.search(line):
        return
    checkpoint()
    prose = _NOT_PROSE.sub(".", unicodedata.normalize("NFC", line))
    for match in _TAG.finditer(prose):
        tag = match["tag"].rstrip("/-").lstrip("/")
        if _LETTER.search(tag) and not _COLOUR.fullmatch(tag):
            yield tag


# The YAML block at the head of a note: where it ends and what it says of the note.
#
# It begins with `---` as the very first line and ends with `---` or `...`; without an end
# there is none. Every value is taken as it is written: no dates, numbers or booleans are
# made of it (`title: 1.10` stays `1.10`), no tag makes an object, no merge key is followed.
# Values of an unexpected shape are passed over.
#
# A block that is no mapping or no YAML is `bad`: it still belongs to the head, but its
# lines are to be searched like any prose, and its plain `key: value` lines are still
# understood. A `---` before a blank line is a rule that a note begins with, and no block:
# prose with a colon in it would pass for YAML and be lost.

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


# Tells Korean from English by the letters of a note.
#
# Korean notes about technical things are full of English words, English notes hold
# hardly any Hangul (in the sample vault no note lies between 3 and 24 per cent): a share of
# 15 per cent already makes a note Korean. Without a letter,
# or where most letters belong to neither, the language is undetermined. Looks at a
# bounded sample of a long text.

_HANGUL = re.compile("[가-힣ㄱ-ㆎᄀ-ᇿ]")
_ACCENTED = re.compile("[À-ɏ]")
_ASCII = bytes(range(128))
_NOT_LATIN = bytes(code for code in range(256) if code > 127 or not chr(code).isalpha())
_KOREAN_SHARE = 0.15
_SAMPLE = 20_000


def language_of(lines: Iterable[str]) -> Language:
    """Judge by the first lines that hold about 20,000 characters."""
    text = "".join(lines)[:_SAMPLE]
    if text.isascii():
        return "en" if _LETTER.search(text) else "und"
    # Bytes are counted and taken out many times faster than characters, and most letters are ASCII.
    data = text.encode("utf-8", "surrogatepass")
    latin = len(data.translate(None, _NOT_LATIN))
    rest = data.translate(None, _ASCII).decode("utf-8", "surrogatepass")
    letters = latin + len(_LETTER.findall(rest))
    hangul = len(_HANGUL.findall(rest))
    if hangul and hangul >= _KOREAN_SHARE * letters:
        return "ko"
    latin += len(_ACCENTED.findall(rest))
    return "en" if latin and latin >= letters / 2 else "und"


Scan = Callable[[Sequence[str], int, Checkpoint], tuple[Block, ...]]


def read_note(
    data: bytes, path: str, limits: ReadLimits, type_: DocumentType, scan: Scan, checkpoint: Checkpoint
) -> ParsedNote:
    """Make a note of a file's bytes; raises UnsuitableFileError for what is no text or too large."""
    limits.check(len(data))
    text = decode(data)
    lines = text.lines
    checkpoint()
    front = read_front_matter(lines)
    checkpoint()
    body = scan(lines, front.length, checkpoint)
    for_people = _read_by_people(body, lines)
    checkpoint()
    return ParsedNote(
        title=title_of(front.title, body, lines, path),
        type=front.type or type_,
        lang=front.lang or language_of(for_people),
        lines=lines,
        blocks=(*_searchable_head(front), *body),
        trust=front.trust,
        tags=merge_tags(front.tags, inline_tags(for_people, checkpoint)),
        aliases=front.aliases,
        flags=(*(("bad_front_matter",) if front.bad else ()), *text.flags),
    )


def _searchable_head(front: FrontMatter) -> tuple[Block, ...]:
    return (Block("prose", 1, front.length),) if front.bad else ()


def _read_by_people(blocks: Sequence[Block], lines: Sequence[str]) -> list[str]:
    """The lines that are neither code nor comment."""
    read: list[str] = []
    for block in blocks:
        if block.kind not in ("code", "comment"):
            read += lines[block.first - 1 : block.last]
    return read
