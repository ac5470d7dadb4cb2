"""`kebab completion`: prints click's completion script for a shell. Installs nothing itself."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from kebab_tui.cli.context import shared_options
from kebab_tui.cli.edge import COMPLETE_VARIABLE, PROGRAM


@click.command()
@click.argument("shell", metavar="SHELL", type=click.Choice(["bash", "zsh", "fish"]))
@shared_options
@click.pass_context
def command(ctx: click.Context, shell: str) -> None:
    """Print the script that completes `kebab` in SHELL.

    \b
    bash: eval "$(kebab completion bash)"    in ~/.bashrc
    zsh:  eval "$(kebab completion zsh)"     in ~/.zshrc
    fish: kebab completion fish | source     in ~/.config/fish/config.fish
    """
    writer = get_completion_class(shell)
    assert writer is not None
    click.echo(writer(ctx.find_root().command, {}, PROGRAM, COMPLETE_VARIABLE).source())
