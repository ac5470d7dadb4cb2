"""The table of verbs and the group that loads each of them only when it is called.

`kebab --help` and `kebab --version` import no verb: names and one-line descriptions
stand in the table. A verb is a module of this package whose `command` is a click
command; what it returns is its exit code (None is 0).
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

import click

from kebab_tui import __version__
from kebab_tui.cli.context import shared_options
from kebab_tui.domain.errors import UsageError

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

VERBS: dict[str, tuple[str, str, str]] = {
    "tui": ("kebab_tui.cli.tui", "command", "Open the screen; the same as `kebab-tui`."),
    "init": ("kebab_tui.cli.init", "command", "Write a commented configuration file to start from."),
    "source": ("kebab_tui.cli.source", "command", "Add, list or remove folders of notes."),
    "ingest": ("kebab_tui.cli.ingest", "command", "Bring the index up to date with the notes."),
    "watch": ("kebab_tui.cli.watch", "command", "Keep the index up to date as notes change."),
    "search": ("kebab_tui.cli.search", "command", "Find passages and cite their exact lines."),
    "list": ("kebab_tui.cli.list", "command", "List the notes of the index and their state."),
    "inspect": ("kebab_tui.cli.inspect", "command", "Show all that is known of one note or passage."),
    "open": ("kebab_tui.cli.open", "command", "Open a citation in your editor, at its line."),
    "index": ("kebab_tui.cli.index", "command", "Show, complete or rebuild the index."),
    "model": (
        "kebab_tui.cli.model",
        "command",
        "List, check, add or choose the models for search by meaning.",
    ),
    "doctor": ("kebab_tui.cli.doctor", "command", "Check that everything is sound, and say how to mend it."),
    "eval": ("kebab_tui.cli.eval", "command", "Judge the search by questions with known answers."),
    "completion": (
        "kebab_tui.cli.completion",
        "command",
        "Print the script that completes commands in a shell.",
    ),
}
"""Verb -> module, attribute, one line of help; in the order of `kebab --help`."""


class LazyGroup(click.Group):
    """A group of the verbs in the table."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in VERBS:
            return None
        module, attribute, _ = VERBS[cmd_name]
        command = getattr(import_module(module), attribute)
        assert isinstance(command, click.Command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] not in VERBS and not ctx.resilient_parsing:  # a shell that completes wants no error
            raise UsageError(f"there is no verb {args[0]!r}", _nearest_verb(args[0]))
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Verbs"):
            formatter.write_dl([(name, line) for name, (_, _, line) in VERBS.items()])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        from click.shell_completion import CompletionItem

        verbs = [(name, line) for name, (_, _, line) in VERBS.items() if name.startswith(incomplete)]
        found = [CompletionItem(name, help=line) for name, line in verbs]
        return found + click.Command.shell_complete(self, ctx, incomplete)


def _nearest_verb(word: str) -> str:
    from difflib import get_close_matches

    if near := get_close_matches(word, VERBS, 1):
        return f"did you mean `kebab {near[0]}`?"
    return "`kebab search WORDS` searches; `kebab --help` lists the verbs"


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="kebab", message="%(prog)s %(version)s")
@shared_options
def cli() -> None:
    """Search folders of notes, with exact citations, in Korean and English."""
