"""The commands of `kebab`, loaded on demand; and the three commands `tui`, `completion` and `help`.

`kebab --help` and `kebab --version` load no other command: names and one-line descriptions are in the table.
The return value of a command is the exit code (None is 0).
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

import click

from kebab_tui import __version__
from kebab_tui.cli.command import CliGroup, command
from kebab_tui.cli.edge import COMPLETE_VARIABLE, PROGRAM, shared_flag, shared_options
from kebab_tui.domain.errors import UsageError

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

VERBS: dict[str, tuple[str, str, str]] = {
    "tui": ("kebab_tui.cli.main", "tui_command", "Open the full-screen search; the same as `kebab-tui`."),
    "init": ("kebab_tui.cli.source", "init_command", "Write a commented starter configuration file."),
    "source": (
        "kebab_tui.cli.source",
        "source_command",
        "Add, search, list, edit, pause or remove folders of notes.",
    ),
    "ingest": ("kebab_tui.cli.index", "ingest_command", "Update the index from the notes."),
    "watch": ("kebab_tui.cli.index", "watch_command", "Update the index continuously as notes change."),
    "search": ("kebab_tui.cli.search", "search_command", "Find passages and cite their exact lines."),
    "find": ("kebab_tui.cli.find", "find_command", "Find notes by name, fuzzily."),
    "links": ("kebab_tui.cli.related", "links_command", "Show the links from and to a note."),
    "similar": ("kebab_tui.cli.related", "similar_command", "Find notes with a similar meaning."),
    "list": ("kebab_tui.cli.show", "list_command", "List the indexed notes and their state."),
    "inspect": ("kebab_tui.cli.show", "inspect_command", "Show all details of one note or passage."),
    "open": ("kebab_tui.cli.show", "open_command", "Open a note at its cited line or page."),
    "sql": ("kebab_tui.cli.sql", "sql_command", "Query the index with SQL, read-only."),
    "index": ("kebab_tui.cli.index", "index_command", "Show, complete or rebuild the index."),
    "model": (
        "kebab_tui.cli.model",
        "model_command",
        "List, check, add or select models for semantic search.",
    ),
    "doctor": (
        "kebab_tui.cli.index",
        "doctor_command",
        "Check the index, the model and the folders, and suggest fixes.",
    ),
    "eval": ("kebab_tui.cli.eval", "eval_command", "Measure search quality against a set of known answers."),
    "mcp": ("kebab_tui.cli.mcp", "mcp_command", "Let an agent search the notes (MCP); it only reads."),
    "serve": (
        "kebab_tui.cli.serve",
        "serve_command",
        "Serve search on this machine over HTTP (MCP, REST); read-only.",
    ),
    "completion": (
        "kebab_tui.cli.main",
        "completion_command",
        "Print a shell completion script.",
    ),
    "help": ("kebab_tui.cli.main", "help_command", "Show the help of a command."),
}
"""Command -> module, attribute, one line of help; in the order of `kebab --help`."""


class LazyGroup(CliGroup):
    """Loads a command of the table when it is called."""

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
        if args[0] not in VERBS and not ctx.resilient_parsing:  # no errors during shell completion
            from kebab_tui.domain.text import did_you_mean

            raise UsageError(
                f"unknown command {args[0]!r}",
                did_you_mean(args[0], VERBS, "`kebab {}`")
                or "`kebab search WORDS` searches; `kebab help` lists the commands",
            )
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, _, line) in VERBS.items()])

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        from kebab_tui.workspace import Workspace

        with formatter.section("Backends, for --index"):
            formatter.write_dl(Workspace.backends())

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        verbs = [(name, line) for name, (_, _, line) in VERBS.items() if name.startswith(incomplete)]
        from click.shell_completion import CompletionItem

        found = [CompletionItem(name, help=line) for name, line in verbs]
        return found + click.Command.shell_complete(self, ctx, incomplete)


_EXAMPLES = (
    ("kebab ingest ~/notes", "index a folder of notes"),
    ("kebab search port conflict", "find passages"),
    ("kebab help search", "all options of a command"),
)


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]}, examples=_EXAMPLES)
@click.version_option(__version__, "-V", "--version", prog_name="kebab", message="%(prog)s %(version)s")
@shared_options
def cli() -> None:
    """Search folders of notes, with exact citations, in Korean and English."""


class _Verbatim(click.Command):
    """Passes every argument on unchanged, `--help` included."""

    def get_help(self, ctx: click.Context) -> str:
        from kebab_tui.tui.launch import build_parser

        return build_parser().format_help().rstrip()

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        ctx.params["arguments"] = tuple(args)
        return args


@click.command(cls=_Verbatim)
@click.argument("arguments", nargs=-1, type=click.Path())
@click.pass_context
def tui_command(ctx: click.Context, arguments: tuple[str, ...]) -> None:
    """Open the full-screen search, as `kebab-tui` does."""
    import gc

    from kebab_tui.tui import main

    gc.set_threshold(700, 10, 10)  # Python's default: the screen runs longer than a command
    names = {"--data-dir": "data_dir", "--index": "index", "--config": "config"}
    shared = [(option, shared_flag(ctx, name)) for option, name in names.items()]
    main([*(word for option, value in shared if value for word in (option, value)), *arguments])


@command(examples=(('eval "$(kebab completion bash)"', "for the present shell"),))
@click.argument("shell", metavar="SHELL", type=click.Choice(["bash", "zsh", "fish"]))
@shared_options
@click.pass_context
def completion_command(ctx: click.Context, shell: str) -> None:
    """Print the completion script for SHELL. Installs nothing.

    \b
    bash: eval "$(kebab completion bash)"    in ~/.bashrc
    zsh:  eval "$(kebab completion zsh)"     in ~/.zshrc
    fish: kebab completion fish | source     in ~/.config/fish/config.fish
    """
    from click.shell_completion import get_completion_class

    writer = get_completion_class(shell)
    assert writer is not None
    click.echo(writer(ctx.find_root().command, {}, PROGRAM, COMPLETE_VARIABLE).source())


def _completed_command(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    return [name for name in VERBS if name.startswith(incomplete)]


@command(examples=(("kebab help search", "same as `kebab search --help`"),))
@click.argument("words", nargs=-1, metavar="[COMMAND…]", shell_complete=_completed_command)
@click.pass_context
def help_command(ctx: click.Context, words: tuple[str, ...]) -> None:
    """Show the help of COMMAND; without it, the list of all commands."""
    shown = ctx.find_root()
    for word in words:
        if not isinstance(shown.command, click.Group):
            raise UsageError(
                f"{shown.command_path!r} has no subcommands", f"see `{shown.command_path} --help`"
            )
        _, found, _ = shown.command.resolve_command(shown, [word])
        assert found is not None  # `resolve_command` has raised
        shown = click.Context(found, info_name=word, parent=shown)
    click.echo(shown.get_help())
