"""Parses Markdown with Obsidian's syntax into the tokens of markdown-it.

Known beside CommonMark, tables and strikethrough: `[[links|alias]]`, `![[embeds]]`, `==marks==`,
`%%comments%%`, `#tags`, `^block-ids`, `[^footnotes]` and `$math$`. Callouts and task boxes are
recognized in the tokens of quotes and lists. Each rule looks at most as far as its own end, so
that hostile text costs linear time.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock, paragraph
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token

from kebab_tui.tui.glyphs import glyph
from kebab_tui.tui.widgets.segments import STEP

_MOST_NESTED = 60
"""Levels of blocks; what lies deeper is not shown. A list in a list is two levels."""
_WIKILINK = re.compile(r"(!?)\[\[([^\[\]\n]{1,500})\]\]")
_FOOTNOTE = re.compile(r"\[\^[^\[\]\s]{1,100}\]")
_FOOTNOTE_TEXT = re.compile(r"\[\^[^\[\]\s]{1,100}\]:")
_MATH = re.compile(r"\$\$[^$]+\$\$|\$(?! )[^$\n]+(?<! )\$(?!\d)")
_TAG = re.compile(r"#(?=[\d/]*[^\W\d])[\w/-]+")
_BLOCK_ID = re.compile(r"\^[\w-]+[ \t]*(?=\n|\Z)")
_CALLOUT = re.compile(r"\[!([^\[\]\n]{1,100})\][+-]?[ \t]*(.*)")
_TASK = re.compile(r"\[(.)\](?:[ \t]+|\Z)")
_INLINE_TAG = re.compile(r"(?i)</?(?:a|abbr|b|code|em|i|kbd|mark|s|small|span|strong|sub|sup|u)\b[^<>]*>")
_OTHER_TAG = re.compile(r"<(?!!--)[^<>]*>")
_IMAGE_NAME = re.compile(r"(?i)\.(?:avif|bmp|gif|jpe?g|png|svg|webp)\Z")
_TASK_BOXES = {
    " ": glyph("☐", "[ ]"),
    "x": glyph("☑", "[x]"),
    "X": glyph("☑", "[x]"),
    "/": glyph("◐", "[/]"),
    "-": glyph("☒", "[-]"),
    ">": glyph("▷", "[>]"),
    "<": glyph("◁", "[<]"),
}


class Callout(NamedTuple):
    kind: str
    title: str
    rest: str
    """The text of the first paragraph after its line with the title."""


def block_tokens(text: str) -> tuple[list[Token], dict[str, Any]]:
    """The blocks of a text, and the environment that parsing their inline texts needs."""
    env: dict[str, Any] = {}
    return _BLOCKS.parse(text, env), env


def inline_tokens(text: str, env: dict[str, Any]) -> list[Token]:
    """The tokens of an inline text.

    A "span" has the style that its `meta` names, if any; "mark_open" and "mark_close" enclose a mark.
    """
    return _INLINE.inline.parse(text, _INLINE, env, [])


def callout_of(content: str) -> Callout | None:
    """The callout that a quote beginning with this text is."""
    line, _, rest = content.partition("\n")
    found = _CALLOUT.fullmatch(line)
    return Callout(found[1].partition("|")[0].strip().lower(), found[2].strip(), rest) if found else None


def task_of(content: str) -> tuple[str, str] | None:
    """The box of a task and its text, of a list item with this text."""
    found = _TASK.match(content)
    return (_TASK_BOXES.get(found[1], f"[{found[1]}]"), content[found.end() :]) if found else None


def without_tags(html: str) -> str:
    """The text of a line of HTML; comments stay."""
    return " ".join(_OTHER_TAG.sub(" ", _INLINE_TAG.sub("", html)).split())


def image_label(name: str) -> str:
    return f"[image: {name}]"


def _link_text(inner: str, *, is_embed: bool) -> str:
    target, _, alias = inner.replace("\\|", "|").partition("|")
    name = f" {STEP} ".join(part.strip() for part in target.split("#") if part.strip()) or target
    if not is_embed:
        return alias.strip() or name
    return image_label(name) if _IMAGE_NAME.search(name) else f"[embedded: {name}]"


# Inline rules: a rule reads at the place of `state`, and moves the place if it matches.


def _bracketed(state: StateInline, silent: bool) -> bool:
    if found := _WIKILINK.match(state.src, state.pos, state.posMax):
        return _span(state, found, "link", silent, _link_text(found[2], is_embed=bool(found[1])))
    if found := _FOOTNOTE.match(state.src, state.pos, state.posMax):
        return _span(state, found, "link", silent)
    return False


def _math(state: StateInline, silent: bool) -> bool:
    return _span(state, _MATH.match(state.src, state.pos, state.posMax), "", silent)


def _tag(state: StateInline, silent: bool) -> bool:
    found = _TAG.match(state.src, state.pos, state.posMax) if _is_after_blank(state) else None
    return _span(state, found, "name", silent)


def _block_id(state: StateInline, silent: bool) -> bool:
    found = _BLOCK_ID.match(state.src, state.pos) if _is_after_blank(state) else None
    return _span(state, found, "", silent, "")


def _comment(state: StateInline, silent: bool) -> bool:
    if (end := _closing(state, "%%")) < 0:
        return False
    if not silent:
        _push_span(state, state.src[state.pos : end + 2], "comment")
    state.pos = end + 2
    return True


def _mark(state: StateInline, silent: bool) -> bool:
    start, most = state.pos + 2, state.posMax
    end = _closing(state, "==")
    if end <= start or state.src[start].isspace() or state.src[end - 1].isspace():
        return False
    if not silent:
        state.pos, state.posMax = start, end
        state.push("mark_open", "mark", 1)
        state.md.inline.tokenize(state)
        state.push("mark_close", "mark", -1)
    state.pos, state.posMax = end + 2, most
    return True


def _closing(state: StateInline, mark: str) -> int:
    """The place of the closing mark if an opening one is here; else -1."""
    if not state.src.startswith(mark, state.pos):
        return -1
    return state.src.find(mark, state.pos + len(mark), state.posMax)


def _is_after_blank(state: StateInline) -> bool:
    return state.pos == 0 or state.src[state.pos - 1].isspace()


def _span(
    state: StateInline, found: re.Match[str] | None, name: str, silent: bool, text: str | None = None
) -> bool:
    if found is None:
        return False
    if not silent:
        _push_span(state, found[0] if text is None else text, name)
    state.pos = found.end()
    return True


def _push_span(state: StateInline, text: str, name: str) -> None:
    token = state.push("span", "", 0)
    token.content, token.meta = text, {"name": name}


# Block rules


def _plain_block(state: StateBlock, first: int, last: int, silent: bool) -> bool:
    """`%%` or `$$` up to the line that closes it, or to the end; on one line it is inline text."""
    line = _line(state, first)
    mark = line[:2]
    if mark not in ("%%", "$$") or mark in line[2:] or state.is_code_block(first):
        return False
    if silent:
        return True
    end = first + 1
    while end < last and (state.isEmpty(end) or state.sCount[end] >= state.blkIndent):
        end += 1
        if mark in _line(state, end - 1):
            break
    state.line = end
    token = state.push("plain", "", 0)
    token.map, token.meta = [first, end], {"name": "comment" if mark == "%%" else ""}
    token.content = state.getLines(first, end, state.blkIndent, True)
    return True


def _footnote_text(state: StateBlock, first: int, last: int, silent: bool) -> bool:
    """A footnote is a paragraph: CommonMark would hide one of a single word, as a reference."""
    if not _FOOTNOTE_TEXT.match(_line(state, first)) or state.is_code_block(first):
        return False
    return paragraph(state, first, last, silent)


def _line(state: StateBlock, number: int) -> str:
    return state.src[state.bMarks[number] + state.tShift[number] : state.eMarks[number]]


def _as_typed(url: str) -> str:
    return url


def _parser(most_nested: int) -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"maxNesting": most_nested}).enable(["strikethrough", "table"])
    # The text of a link is shown and never followed: the address stays as typed.
    parser.normalizeLink = parser.normalizeLinkText = _as_typed  # type: ignore[method-assign, assignment]
    parser.validateLink = lambda _: True  # type: ignore[method-assign, assignment]
    parser.core.ruler.enableOnly(["normalize", "block"])
    for name, rule in (
        ("bracketed", _bracketed),
        ("math", _math),
        ("tag", _tag),
        ("block_id", _block_id),
        ("comment", _comment),
        ("marked", _mark),
    ):
        parser.inline.ruler.before("link", name, rule)
    parser.block.ruler.before(
        "fence", "plain", _plain_block, {"alt": ["paragraph", "reference", "blockquote", "list"]}
    )
    parser.block.ruler.before("reference", "footnote_text", _footnote_text)
    return parser


_BLOCKS, _INLINE = _parser(_MOST_NESTED), _parser(10)
