"""Our block scanner against a full CommonMark parser: same headings, same code.

Runs on the sample notes and on cases written by hand; with `KEBAB_CORPUS=FOLDER` also on
every Markdown file below that folder, where 999 of 1,000 files must agree entirely.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from markdown_it import MarkdownIt
from markdown_it.token import Token

from kebab_tui.domain.document import Block
from kebab_tui.formats.markdown import scan_markdown
from kebab_tui.formats.markdown_lines import LONGEST

NOTES = Path(__file__).parents[2] / "fixtures" / "notes"
PARSER = MarkdownIt("commonmark", {"maxNesting": 100}).enable("table")
Heading = tuple[int, int, int, str]
Code = tuple[int, int]

SAME = (
    "- a\n  # nested\n# top",
    "1. a\n\n   ```\n   # x\n   ```\n2. b\n   text\n\n       code",
    "1. a\n\n    ```sh\n    x\n    ```\n    text\n    ```\n    y\n    ```\n",
    "- a\n  - b\n    ~~~\n    # c\n    ~~~\n\n  after\n\n# top",
    "- a\n\ntext\n    lazy\n\n    code\n",
    "text\n2. no item\n---\n",
    "-\n\n   # top\n",
    "-\nparagraph\n-\n",
    "10) ten\n-\n   # nested",
    "* * *\n    code\n- - -\ntext\n***\ntitle\n===",
    "> quote\n> ```\n> # x\n> ```\n# top",
    "> quote\nlazy\n---\ntext\n===",
    "<div>\n```\n</div>\n\n```\nx\n```",
    "- <!-- a\n  # b\n  -->\n# top",
    "<!-- a --> text\n# top\n<!--\n```\n-->\n```\nx",
    "| a |\n|---|\n| # b |\n# top\n",
    "a\n| b | c |\n|---|---|\n    code?\n\n    code",
    "text\n`````\n```\n`````\n",
    "\t# code\n\n \ttext\n",
    "#\n##\n### ###\n# a #b\n",
    "[x]: /url\ntitle\n===\n",
    "-\ta\n\n\t# nested\n\n\t```\n\tx\n\t```\n# top",
    "-a\n*b\n+c\n---",
)

DIFFERENT = {
    "a code line behind a quote stays with the quote's prose": ">\n    code",
    "a code line behind a link definition stays prose": "[x]: /url\n    code",
    "a lone tag below an item without text hides no heading": "-\n<span>\n# top",
    "a fence that no list item holds, four columns off the margin, is lazy text by the specification": (
        "   1. x\n    ```"
    ),
    "white space that is not a space or tab is blank": "text\n\u3000\n---\n# top",
}


def plain(inline: Token) -> str:
    """The plain text of a heading from the parser, without `{#anchor}`, which only we remove."""
    text = re.sub(r"\s*\{#[^{}]*\}$", "", "".join(leaf_texts(inline)))
    return "".join(re.findall(r"\w+", text))[: LONGEST // 2]


def leaf_texts(token: Token) -> Iterator[str]:
    if token.type in ("text", "code_inline"):
        yield token.content
    for child in token.children or ():
        yield from leaf_texts(child)


def expected(text: str) -> tuple[list[Heading], list[Code]]:
    """Top-level headings, all fences and top-level indented code; nothing inside of quotes."""
    lines = text.split("\n")
    headings: list[Heading] = []
    code: list[Code] = []
    quotes = 0
    tokens = PARSER.parse(text)
    for at, token in enumerate(tokens):
        quotes += (token.type == "blockquote_open") - (token.type == "blockquote_close")
        if token.map is None or quotes:
            continue
        first, last = token.map
        while last > first + 1 and not lines[last - 1].strip():
            last -= 1
        if token.type == "heading_open" and token.level == 0:
            headings.append((first + 1, last, int(token.tag[1:]), plain(tokens[at + 1])))
        elif token.type == "fence" or (token.type == "code_block" and token.level == 0):
            code.append((first + 1, last))
    return headings, sorted(code)


def found(text: str) -> tuple[list[Heading], list[Code]]:
    lines = text.split("\n")
    blocks = scan_markdown(lines)

    def is_html(block: Block) -> bool:
        return re.match(" {0,3}<", lines[block.first - 1]) is not None

    headings = [
        (block.first, block.last, block.level, "".join(re.findall(r"\w+", block.text))[: LONGEST // 2])
        for block in blocks
        if block.kind == "heading"
    ]
    return headings, [(b.first, b.last) for b in blocks if b.kind == "code" and not is_html(b)]


def body(path: Path) -> str:
    text = path.read_bytes().decode("utf-8", "replace").replace("\r\n", "\n").replace("\x00", "")
    end = text.find("\n---\n", 3) if text.startswith("---\n") else -1
    return text[end + 5 :] if end >= 0 else text


@pytest.mark.parametrize("text", SAME)
def test_we_agree_on_cases_written_by_hand(text: str) -> None:
    assert found(text) == expected(text)


@pytest.mark.parametrize("why", DIFFERENT)
def test_these_differences_are_known(why: str) -> None:
    assert found(DIFFERENT[why]) != expected(DIFFERENT[why])


@pytest.mark.parametrize("path", sorted(NOTES.rglob("*.md")), ids=lambda path: path.name)
def test_we_agree_on_the_sample_notes(path: Path) -> None:
    assert found(body(path)) == expected(body(path))


@pytest.mark.skipif("KEBAB_CORPUS" not in os.environ, reason="KEBAB_CORPUS names no folder of real notes")
def test_we_agree_on_real_notes() -> None:
    paths = [path for path in Path(os.environ["KEBAB_CORPUS"]).rglob("*.md") if path.is_file()]
    assert paths
    odd = [path for path in paths if found(body(path)) != expected(body(path))]
    print(f"{len(paths) - len(odd)} of {len(paths)} files agree; not:", *odd, sep="\n")
    assert len(odd) <= len(paths) / 1000
