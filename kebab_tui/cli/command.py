"""Commands whose help lists each option once, under a heading, and ends with examples.

Other spellings of an option are parsed, and appear neither in help nor in errors.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from click.types import OptionHelpExtra

GENERAL = "General"
"""The heading of the options that every command has; the last one."""
Example = tuple[str, str]
"""A command line with its purpose."""


class CliOption(click.Option):
    """`group`: its heading in the help. `also`: other spellings, of which the help is silent."""

    def __init__(self, *args: Any, group: str = "Options", also: Sequence[str] = (), **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.group = group
        self._also = also

    def add_to_parser(self, parser: Any, ctx: click.Context) -> None:
        shown = self.opts
        self.opts = [*shown, *self._also]
        super().add_to_parser(parser, ctx)
        self.opts = shown

    def get_error_hint(self, ctx: click.Context | None) -> str:
        return f"'{max(self.opts, key=len)}'"

    def get_help_extra(self, ctx: click.Context) -> OptionHelpExtra:
        """Nothing: a text names the range if it matters."""
        return {}


option = partial(click.option, cls=CliOption)


class CliCommand(click.Command):
    def __init__(self, *args: Any, examples: Sequence[Example] = (), **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.examples = examples

    def grouped_options(self, ctx: click.Context) -> dict[str, list[tuple[str, str]]]:
        """Heading -> spelling and text of each option."""
        groups: dict[str, list[tuple[str, str]]] = {}
        for param in self.get_params(ctx):
            record = None if isinstance(param, click.Argument) else param.get_help_record(ctx)
            if record is not None:
                groups.setdefault(getattr(param, "group", GENERAL), []).append(record)
        groups[GENERAL] = groups.pop(GENERAL, [])
        return groups

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for title, records in self.grouped_options(ctx).items():
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)
        if self.examples:
            with formatter.section("Examples"):
                formatter.write_dl(self.examples, col_max=44)


class CliGroup(CliCommand, click.Group):
    """The help of a group of commands lists them first."""

    command_class = CliCommand

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        self.format_commands(ctx, formatter)
        CliCommand.format_options(self, ctx, formatter)


command = partial(click.command, cls=CliCommand)
