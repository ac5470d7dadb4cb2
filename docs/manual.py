"""Writes a manual page for `kebab-tui`, `kebab` and each of its commands, from the commands themselves.

python docs/manual.py          writes docs/man/*.1, which a wheel installs into share/man/man1
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import click

from kebab_tui.cli.command import GENERAL, CliCommand
from kebab_tui.cli.main import VERBS, cli
from kebab_tui.tui.launch import build_parser
from kebab_tui.workspace import Workspace

PAGES = Path(__file__).with_name("man")
_SCREEN = "kebab-tui"
_ESCAPES = {"\\": "\\e", "-": "\\-", "`": "\\(ga", "'": "\\(aq", "^": "\\(ha", "~": "\\(ti"}
_ENVIRONMENT = (
    ("KEBAB_CONFIG", "The configuration file."),
    ("KEBAB_DATA_DIR", "The folder of the index, as --data-dir."),
    ("KEBAB_INDEX", "The index, as --index."),
    ("KEBAB_SECTION_KEY", "Any setting: KEBAB_SEARCH_DEFAULT_K=5 sets default_k in [search]."),
    ("KEBAB_DEBUG", "1 prints the traceback of an internal error."),
    ("NO_COLOR, CLICOLOR_FORCE", "No colours, or colours also in a pipe."),
)
_EXIT = (
    ("0", "Done; a search found something."),
    ("1", "Nothing found, or the user declined."),
    ("2", "An error; one message with a hint on stderr."),
    ("3", "kebab doctor and kebab model verify found problems."),
    ("130", "Interrupted by Ctrl+C."),
)


def pages() -> dict[str, str]:
    """File name -> text."""
    root = click.Context(cli, info_name="kebab", **cli.context_settings)
    names = [f"kebab-{name}" for name in VERBS if name != "tui"]
    commands = [(f"kebab {name}", line) for name, (_, _, line) in VERBS.items()]
    backends = [(f"--index {url}", f"{text}.") for url, text in Workspace.backends()]
    parts = [
        *_command(root, cli), *_titled("Commands", commands), *_titled("Backends", backends),
        *_titled("Environment", _ENVIRONMENT), *_titled("Exit status", _EXIT), *_see([_SCREEN, *names]),
    ]  # fmt: skip
    found = {"kebab.1": _page("kebab", _first_line(cli), parts)}
    for name, (_, _, line) in VERBS.items():
        command = cli.get_command(root, name)
        assert command is not None
        if name != "tui":
            parts = [
                *_command(click.Context(command, info_name=name, parent=root), command),
                *_see(["kebab"]),
            ]
            found[f"kebab-{name}.1"] = _page(f"kebab-{name}", line, parts)
    found[f"{_SCREEN}.1"] = _page(_SCREEN, str(build_parser().description), [*_screen(), *_see(["kebab"])])
    return found


def _page(name: str, line: str, parts: Iterable[str]) -> str:
    title = f'.TH {_escaped(name.upper())} 1 "" "kebab" "Manual of kebab"'
    comment = '.\\" Written by docs/manual.py from the commands: `make manual`.'
    head = [comment, title, ".SH NAME", f"{_escaped(name)} \\- {_escaped(line.rstrip('.'))}"]
    return "\n".join([*head, *parts]) + "\n"


def _command(ctx: click.Context, command: click.Command, title: str = ".SH") -> Iterator[str]:
    """Usage, description, options and examples; of a group also its commands."""
    usage = " ".join([ctx.command_path, *command.collect_usage_pieces(ctx)])
    if title == ".SH":
        yield from (".SH SYNOPSIS", _escaped(usage), ".SH DESCRIPTION")
    else:
        yield f".SS {_escaped(usage)}"
    yield from _prose(command.help or "")
    assert isinstance(command, CliCommand)
    groups = command.grouped_options(ctx)
    if ctx.parent is not None:
        general = groups.pop(GENERAL)
        shared = ", ".join(spelling for spelling, _ in general)
        if title == ".SH":
            groups[GENERAL] = [(shared, "As in kebab(1).")]
    for heading, records in groups.items():
        yield from _titled(heading, records, title if title == ".SH" else "")
    if isinstance(command, click.Group) and ctx.parent is not None:
        yield ".SH COMMANDS"
        for name in command.list_commands(ctx):
            sub = command.get_command(ctx, name)
            assert sub is not None
            yield from _command(click.Context(sub, info_name=name, parent=ctx), sub, ".SS")
    if command.examples:
        yield from _titled("Examples", command.examples, title if title == ".SH" else "")


def _screen() -> Iterator[str]:
    parser = build_parser()
    yield from (
        ".SH SYNOPSIS",
        _escaped(str(parser.usage)),
        ".SH DESCRIPTION",
        *_prose(parser.description or ""),
    )
    for group in parser._action_groups:
        records = []
        for action in group._group_actions:
            value = "" if action.nargs == 0 else f" {action.metavar or action.dest.upper()}"
            records.append((", ".join(action.option_strings) + value, action.help or ""))
        yield from _titled(str(group.title), [(name.strip(), text) for name, text in records])


def _titled(title: str, records: Iterable[tuple[str, str]], heading: str = ".SH") -> Iterator[str]:
    """A list of terms with their descriptions; nothing if it is empty."""
    found = list(records)
    if found and heading:
        yield f"{heading} {_escaped(title.upper())}"
    for term, text in found:
        yield from (".TP", f"\\fB{_escaped(term)}\\fR", _escaped(text))


def _see(names: Iterable[str]) -> Iterator[str]:
    yield from (".SH SEE ALSO", ", ".join(f"\\fB{_escaped(name)}\\fR(1)" for name in names))


def _prose(text: str) -> Iterator[str]:
    """Paragraphs; those that begin with \\b keep their lines."""
    for number, paragraph in enumerate(text.strip().split("\n\n")):
        if number:
            yield ".PP"
        lines = paragraph.split("\n")
        if lines[0] == "\b":
            yield from (".nf", *map(_escaped, lines[1:]), ".fi")
        else:
            yield _escaped(" ".join(line.strip() for line in lines))


def _escaped(text: str) -> str:
    """Text that means nothing to roff; words between backticks are bold."""
    escaped = re.sub(r"[\\`'^~-]", lambda found: _ESCAPES[found[0]], text)
    escaped = re.sub(r"\\\(ga(.+?)\\\(ga", r"\\fB\1\\fR", escaped)
    return re.sub(r"(?m)^(?=[.'])", r"\\&", escaped)


def _first_line(command: click.Command) -> str:
    return (command.help or "").partition("\n")[0]


if __name__ == "__main__":
    PAGES.mkdir(exist_ok=True)
    written = pages()
    for old in PAGES.glob("*.1"):
        if old.name not in written:
            old.unlink()
    for name, text in written.items():
        (PAGES / name).write_text(text, encoding="utf-8")
    sys.stdout.write(f"{len(written)} pages in {PAGES}\n")
