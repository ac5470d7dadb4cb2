"""Markdown as plain text: what a reader sees of a passage, without its markup.

Removes fences, rulers, bullets, quote and heading marks, HTML tags, comments, link targets and
emphasis; the text of links, the alias of wikilinks, the host of a bare URL, and all code stay.
Every pattern is bounded: the time is linear in the text.
"""

from __future__ import annotations

import re

_FENCE = re.compile(r"^[ \t>]*(?:`{3,}|~{3,})[^`\n]*$", re.MULTILINE)
_LINE = re.compile(
    r"""^[ \t>]*(?:
        (?:-{3,}|={3,}|\*{3,}|_{3,}|\+{3}|(?:[-*_][ ]){2,3}[-*_])[ \t]*$  # rules, underlines
      | :{3,}[^\n]*$                                                      # admonitions
      | \[(?!\^)[^\]\n]{1,200}\]:[ \t]+\S[^\n]*$                          # targets of links
      | (?:\[![\w-]{1,40}\][-+]?)?                                        # callout
        (?:(?:[-*+]|\d{1,9}[.)])[ \t]+(?::[ \t]+)?)?                      # list item
        (?:\[[ \w/-]\][ \t]+)?                                            # task
        (?:\#{1,6}(?:[ \t]+|$))?                                          # heading
    )""",
    re.MULTILINE | re.VERBOSE,
)
_LINE_END = re.compile(r"(?:[ \t]#+|[ \t]\^[\w-]{1,40}|[ \t]\{[#.:][^{}\n]{0,80}\})[ \t]*$", re.MULTILINE)
"""Closing heading marks, block names, attributes."""
_INLINE = re.compile(  # each alternative begins with a literal: the search for it is quick
    r"""
      ``?(?P<code>[^`\n]{1,400})``?
    | !(?=\[)
    | \[\[(?P<target>[^\[\]|\n]{1,300})(?:\|(?P<alias>[^\[\]\n]{0,300}))?\]\]
    | \[\^[^\]\s]{1,40}\]:?
    | \[(?P<link>(?:[^\[\]]|\[[^\[\]\n]{0,200}\](?:\([^()\n]{0,300}\))?){0,400})\]
        (?:\((?:[^()\n]|\([^()\n]{0,200}\)){0,800}\)|\[[^\[\]\n]{0,100}\])
    | <https?://(?P<auto>[^\s/<>?\#]{1,200})[^<>\s]{0,800}>
    | https?://(?:www\.)?(?P<host>[^\s/<>()\[\]"'`?\#|]{1,200})(?:[/?\#][^\s<>\[\]"'`|]{0,800})?(?<![.,;:!)])
    | <(?P<tag>[A-Za-z/][^<>]{0,400})>
    | \{\{[<%](?P<shortcode>[^{}]{0,300})[>%]\}\}
    | \{%[^{}]{0,300}%\}
    | \{\{\s?\w{1,40}\(["'](?P<argument>[^"'\n]{0,200})["'][^{}\n]{0,300}\)\s?\}\}
    | \*\*\*(?=[^\s*])(?P<both>[^*\n]{1,300})(?<=\S)\*\*\*
    | \*\*(?=[^\s*])(?P<bold>[^\n]{1,400}?)(?<=\S)\*\*
    | \*(?=[^\s*])(?P<italic>[^*\n]{1,300})(?<=[^\s(])\*(?![\w*.])
    | __(?=[^\s_])(?P<strong>[^\n]{1,400}?)(?<=[^\s_])__(?!\w)
    | _(?=[^\s_])(?P<emphasis>[^_\n]{1,300})(?<=\S)_(?!\w)
    | ~~(?=\S)(?P<struck>[^~\n]{1,300})(?<=\S)~~
    | ==(?=\S)(?P<marked>[^=\n]{1,300})(?<=\S)==
    | \\(?P<escaped>[][\\`*_{}()\#+.!|<>~=$&-])
    | &(?P<entity>amp|lt|gt|quot|apos|nbsp|\#39);
    """,
    re.VERBOSE,
)
_UNDERLINED = ("strong", "emphasis")
_NESTING = ("link", "both", "bold", "italic", "struck", "marked", *_UNDERLINED)
_ENTITIES = {"amp": "&", "lt": "<", "gt": ">", "quot": '"', "apos": "'", "nbsp": " ", "#39": "'"}
_TAG = re.compile(
    r"(?i)(?:a|abbr|article|aside|audio|b|big|blockquote|br|button|caption|center|cite|code|col|dd|del"
    r"|details|dfn|div|dl|dt|em|embed|figcaption|figure|font|footer|form|h1|h2|h3|h4|h5|h6"
    r"|header|hr|i|iframe|img|input|ins|kbd|label|li|link|main|mark|nav|object|ol|p|path"
    r"|picture|pre|q|s|samp|script|section|small|source|span|strike|strong|style|sub|summary"
    r"|sup|svg|table|tbody|td|tfoot|th|thead|time|tr|tt|u|ul|var|video|wbr)(?![\w-])"
)
"""Other names in angle brackets, such as `<name>`, are text."""
_SAID = re.compile(r"""\s(?:text|term_id)=["']([^"']+)|\A\s*\w+\s+["']([^"'./]+)["']\s*\Z""")
"""The words in a shortcode that its page shows, or that stand for them."""
_RULER = re.compile(r"^[ \t]*\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-*:?[ \t]*)+$", re.MULTILINE)
_CELLS = " · "


def strip_markup(text: str) -> str:
    """The text without markup; each line that is left is trimmed, and none is blank.

    A text that is nothing but markup stays as it is.
    """
    if "```" in text or "~~~" in text:
        parts = _FENCE.split(text)
        parts[::2] = map(_prose, parts[::2])  # the others are code
        shown = "\n".join(parts)
    else:
        shown = _prose(text)
    return trim_lines(shown) or trim_lines(text)


def strip_inline_markup(text: str) -> str:
    """One line, such as a title, without the markup inside it."""
    return _INLINE.sub(_shown, text).strip() or text


def trim_lines(text: str) -> str:
    """The lines that are not blank, with single spaces."""
    return "\n".join(" ".join(words) for line in text.split("\n") if (words := line.split()))


def _prose(text: str) -> str:
    if "%%" in text:
        text = _without(text, "%%", "%%")
    if "<!--" in text:
        text = _without(text, "<!--", "-->")
    if has_table := "|" in text:
        rulers = _RULER.search(text) is not None
        text = _RULER.sub("", text)
    text = _INLINE.sub(_shown, _LINE.sub("", text))
    if "^" in text or "#" in text or "{" in text:
        text = _LINE_END.sub("", text)
    if has_table:
        text = "\n".join(
            _CELLS.join(cell for part in line.split("|") if (cell := part.strip()))
            if line.lstrip().startswith("|") or (rulers and "|" in line)
            else line
            for line in text.split("\n")
        )
    return text


def _without(text: str, opening: str, closing: str) -> str:
    """The text without the ranges between two marks; one that is not closed stays."""
    kept, at = [], 0
    while (
        (start := text.find(opening, at)) >= 0
        and (end := text.find(closing, start + len(opening))) >= 0
    ):  # fmt: skip
        kept.append(text[at:start])
        at = end + len(closing)
    return "".join((*kept, text[at:]))


def _shown(match: re.Match[str]) -> str:
    """What a reader sees of one piece of markup."""
    kind = match.lastgroup
    if kind is None:
        return ""
    content = match[kind]
    if kind == "alias":
        return match["target"] if content.isdecimal() or not content else content  # a number is a width
    if kind == "tag":
        if content[:2].lower() == "br":
            return " "
        is_markup = content[0] == "/" or content[-1] == "/" or "=" in content
        return "" if is_markup or _TAG.match(content) else match.group()
    if kind == "shortcode":
        said = _SAID.search(content)
        return said[1] or said[2] if said else ""
    if kind == "entity":
        return _ENTITIES[content]
    if kind in _UNDERLINED and match.start() and match.string[match.start() - 1].isalnum():
        return match.group()  # a name with underscores
    if kind in _NESTING:
        return _INLINE.sub(_shown, content)
    return content
