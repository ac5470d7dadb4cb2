"""How the parts of the preview look: its component classes and the styles made of them.

Only the theme's own colours, and no meaning by colour alone: cited lines have a mark in
the gutter, matches are bold and underlined, the match that was jumped to is reversed.
"""

from __future__ import annotations

from rich.style import Style
from textual.widget import Widget

from kebab_tui.tui.preview_syntax import KINDS

_PARTS = ("header", "path", "title", "state", "gutter", "mark", "cited", "cut", "match", "current", *KINDS)
COMPONENT_CLASSES = {f"preview--{part}" for part in _PARTS}

CSS = """
PreviewPane {
    overflow-x: hidden;
    scrollbar-gutter: stable;
    scrollbar-size-vertical: 1;
    & > .preview--header { background: $surface; }
    &:focus > .preview--header { background: $primary 30%; text-style: underline; }
    & > .preview--path { text-style: bold; }
    & > .preview--title { color: $text-muted; }
    & > .preview--state { color: $warning; text-style: bold; }
    & > .preview--gutter { color: $text-muted; }
    & > .preview--mark { color: $accent; text-style: bold; }
    & > .preview--cited { background: $primary 14%; }
    & > .preview--cut { color: $accent; text-style: bold; }
    & > .preview--match { color: $accent; text-style: bold underline; }
    & > .preview--current { color: $accent; text-style: bold reverse; }
    & > .preview--heading { color: $primary; text-style: bold; }
    & > .preview--strong { text-style: bold; }
    & > .preview--emphasis { text-style: italic; }
    & > .preview--comment { color: $text-muted; text-style: italic; }
    & > .preview--keyword { color: $primary; }
    & > .preview--string { color: $success; }
    & > .preview--number { color: $warning; }
    & > .preview--name { color: $secondary; }
    & > .preview--link { color: $secondary; text-style: underline; }
    &:ansi > .preview--header, &:ansi > .preview--cited { background: $background; }
    &:ansi:focus > .preview--header { background: $background; text-style: underline; }
}
"""

_MARKDOWN = {
    "h1": "heading", "h2": "heading", "h3": "heading", "h4": "heading", "h5": "heading", "h6": "heading",
    "code": "string", "code_block": "string", "block_quote": "emphasis", "list": "gutter",
    "item.bullet": "mark", "item.number": "mark", "hr": "gutter", "link": "link", "link_url": "link",
    "table.border": "gutter", "table.header": "strong", "kbd": "strong",
}  # fmt: skip


def look_of(preview: Widget) -> dict[str, Style]:
    """The styles by name; all but "text", "cited" and "header" are to be laid over one of these."""
    styles = {part: _ink(preview.get_component_rich_style(f"preview--{part}")) for part in _PARTS}
    styles["text"] = preview.rich_style
    for ground in ("cited", "header"):
        styles[ground] = preview.get_component_rich_style(f"preview--{ground}")
    return styles | {f"markdown.{element}": styles[part] for element, part in _MARKDOWN.items()}


def _ink(style: Style) -> Style:
    """The style without its ground; a muted colour is only known once it is mixed with one."""
    return Style(
        color=style.color,
        bold=style.bold,
        dim=style.dim,
        italic=style.italic,
        underline=style.underline,
        reverse=style.reverse,
    )
