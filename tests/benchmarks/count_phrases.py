"""Counts phrases that idiomatic technical English hardly uses, over README, docs, help and messages.

python -m tests.benchmarks.count_phrases
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import click

from kebab_tui.cli.main import cli
from tests.command_line import ROOT

_GOAL = 2.0
_VERBS = (
    "is has goes waits types asks looks takes opens keeps writes reads cancels only gives searches follows "
    "commits holds"
)
_THINGS = (
    "is was are were has had there stands can cannot could goes came went takes would it they others else"
)
_PHRASE = re.compile(
    r"\b(?:whoever|whomever|nobody|somebody|everybody)\b"
    rf"|\bwho (?:{'|'.join(_VERBS.split())})\b"
    rf"|\bwhat (?:{'|'.join(_THINGS.split())})\b"
    r"|\bwhere (?:it|that|there|they|the|one|a|none|no)\b"
    r"|\b(?:is|are|was|be) (?:told|said)\b|\bby now\b|\bfor want of\b|\bis at\b|\bas ever\b"
    r"|\bby itself\b|\bof its own\b",
    re.IGNORECASE,
)


def main() -> None:
    texts = {
        "README": [(ROOT / "README.md").read_text("utf-8")],
        "docs": [page.read_text("utf-8") for page in (ROOT / "docs").rglob("*.md")],
        "changelog": [(ROOT / "CHANGELOG.md").read_text("utf-8")],
        "help": list(_help(click.Context(cli, info_name="kebab"))),
        "messages": list(_messages()),
    }
    words = found = 0
    for name, parts in texts.items():
        in_words = sum(len(part.split()) for part in parts)
        in_found = sum(len(_PHRASE.findall(part)) for part in parts)
        print(f"{name:12} {in_words:7,} words  {1000 * in_found / in_words:5.2f} phrases per 1,000")
        words, found = words + in_words, found + in_found
    share = 1000 * found / words
    verdict = "met" if share <= _GOAL else "MISSED"
    print(f"{'all':12} {words:7,} words  {share:5.2f} phrases per 1,000   goal <= {_GOAL:g} {verdict}")


def _help(context: click.Context) -> Iterator[str]:
    yield context.get_help()
    if isinstance(context.command, click.Group):
        for name in context.command.list_commands(context):
            if command := context.command.get_command(context, name):
                yield from _help(click.Context(command, info_name=name, parent=context))


def _messages() -> Iterator[str]:
    """Strings of several words in the package that are not docstrings."""
    for module in (ROOT / "kebab_tui").rglob("*.py"):
        tree = ast.parse(module.read_text("utf-8"))
        statements = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        for node in ast.walk(tree):
            text = node.value if isinstance(node, ast.Constant) and id(node) not in statements else None
            if isinstance(text, str) and len(text.split()) > 2:
                yield text


if __name__ == "__main__":
    main()
