"""`kebab tui`: another name for `kebab-tui`. Every argument is the screen's, `--help` included."""

from __future__ import annotations

import click

from kebab_tui.cli.context import shared_flag


class _Verbatim(click.Command):
    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        ctx.params["arguments"] = tuple(args)
        return args


@click.command(cls=_Verbatim)
@click.argument("arguments", nargs=-1, type=click.Path())
@click.pass_context
def command(ctx: click.Context, arguments: tuple[str, ...]) -> None:
    """Open the screen, as `kebab-tui` does."""
    import gc

    from kebab_tui.tui import main

    gc.set_threshold(700, 10, 10)  # Python's default: a screen lives longer than a command
    shared = [("--data-dir", shared_flag(ctx, "data_dir")), ("--config", shared_flag(ctx, "config"))]
    main([*(word for option, value in shared if value for word in (option, value)), *arguments])
