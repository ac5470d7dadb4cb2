"""`kebab init`: puts a commented configuration file in place. Never overwrites one."""

from __future__ import annotations

import os
from typing import TextIO

import click

from kebab_tui.cli.context import shared_flag, shared_options
from kebab_tui.domain.errors import ConfigError

NEXT = """\
next:
  kebab ingest ~/notes         index a folder of notes
  kebab search "a few words"   find passages and their exact lines
"""
NAME_ANOTHER = "name another file: kebab init --path FILE"


@click.command()
@click.option("--path", type=click.Path(), metavar="FILE", help="Write it here instead of the usual place.")
@shared_options
@click.pass_context
def command(ctx: click.Context, path: str | None) -> None:
    """Write a configuration file in which every setting stands with its default, commented out.

    Prints the file's path. A file that is already there is left as it is.
    """
    from kebab_tui.settings.load import absolute, config_path

    target = absolute(path) if path else config_path(os.environ, shared_flag(ctx, "config"))
    written = _write_new(target)
    click.echo(target)
    click.echo(
        "written; every setting is commented out" if written else "already there; left as it is", err=True
    )
    click.echo(NEXT, err=True, nl=False)


def _write_new(path: str) -> bool:
    """False when a file is there already."""
    from kebab_tui.settings.starter import starter_text

    text = starter_text()
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "x", encoding="utf-8") as file:
            _fill(file, text)
    except FileExistsError:
        if os.path.isfile(path):
            return False
        raise ConfigError(f"cannot write {path}: something else has that name", NAME_ANOTHER) from None
    except OSError as error:
        raise ConfigError(f"cannot write {path}: {error.strerror}", NAME_ANOTHER) from None
    return True


def _fill(file: TextIO, text: str) -> None:
    """All of the text, or no file: half a file would count as "already there" next time."""
    try:
        file.write(text)
        file.flush()
    except OSError:
        os.unlink(file.name)
        raise
