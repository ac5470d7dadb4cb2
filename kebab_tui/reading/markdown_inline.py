"""The plain text of a heading: what a reader sees, without the marks that make it look so.

It is not an inline parser. It takes away the marks that occur in headings, leaves what it
does not know as it stands, and is linear in the length of the heading. A heading longer
than `LONGEST` is cut: it names a place, it is not the text.
"""

from __future__ import annotations

import html
import re

LONGEST = 400

_MARKUP = re.compile(r"[\\`*_~\[\]<&{]")
_ANCHOR = re.compile(r"[ \t]*\{#[^{}]*\}[ \t]*\Z")
_LITERAL = re.compile(r"\\([!-/:-@\[-`{-~])|(?<!`)(`++)([^`]++)\2(?!`)")
_WIKI = re.compile(r"!?\[\[([^\[\]|]*+)(?:\|([^\[\]]*+))?\]\]")
_FOOTNOTE = re.compile(r"\[\^[^\[\]\s]++\]")
_LINK = re.compile(r"!?\[([^\[\]]*+)\](?:\((?:[^()]|\([^()]*+\))*+\)|\[[^\[\]]*+\])")
_AUTOLINK = re.compile(r"<([A-Za-z][A-Za-z0-9+.-]{1,31}:[^\s<>]*+|[^\s<>@]++@[^\s<>]++)>")
_TAG = re.compile(
    r"<!--[^<>]*+-->|</?(?:a|abbr|b|big|br|center|cite|code|del|em|font|i|img|ins|kbd|mark|q|s|samp|small"
    r"|span|strong|sub|sup|tt|u|var|wbr)(?=[\s/>])[^<>]*+>",
    re.IGNORECASE,
)
_STARS = re.compile(r"(?<!\*)(\*{1,3}+)(?![\s*])([^*]*+)(?<!\s)\1(?!\*)")
_UNDERSCORES = re.compile(r"(?<![\w])(_{1,3}+)(?![\s_])((?:[^_]|(?<=[^\W_])_(?=[^\W_]))*+)(?<!\s)\1(?!\w)")
_STRUCK = re.compile(r"~~(?![\s~])([^~]++)~~")

_SPECIAL = "\\`*_~[]<>&{}!|#"
_HIDE = {ord(mark): 0xFDD0 + place for place, mark in enumerate(_SPECIAL)}
_SHOW = {stand_in: mark for mark, stand_in in _HIDE.items()}
"""Characters that are text and no marks wait as Unicode noncharacters, which no note can mean."""


def plain_text(raw: str) -> str:
    """Strip a heading's inline markup: `**Use** [x](y)` becomes `Use x`."""
    text = " ".join(raw[:LONGEST].split())
    if not _MARKUP.search(text):
        return text
    text = _ANCHOR.sub("", text)
    text = _LITERAL.sub(_hidden, text)
    text = _WIKI.sub(_wiki_name, text)
    text = _FOOTNOTE.sub("", text)
    text = _LINK.sub(r"\1", _LINK.sub(r"\1", text))  # twice: an image may stand inside a link
    text = _AUTOLINK.sub(r"\1", text)
    text = _TAG.sub("", text)
    text = _STARS.sub(r"\2", _STARS.sub(r"\2", text))  # twice: `**a *b* c**`
    text = _UNDERSCORES.sub(r"\2", text)
    text = _STRUCK.sub(r"\1", text)
    if "&" in text:
        text = html.unescape(text)
    return " ".join(text.translate(_SHOW).split())


def _hidden(match: re.Match[str]) -> str:
    return (match[1] or match[3].strip()).translate(_HIDE)


def _wiki_name(match: re.Match[str]) -> str:
    return match[2] or match[1]
