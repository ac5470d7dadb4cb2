"""What every verb shares: the options that stand before or after it, and the settings they lead to.

The settings are loaded once per run, by the first verb that asks; a verb that needs
none (`init`, `completion`) also works when the configuration is broken.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

import click

if TYPE_CHECKING:
    from kebab_tui.settings.settings import Settings

P = ParamSpec("P")
R = TypeVar("R")
Decorated = TypeVar("Decorated", bound=Callable[..., Any])

_FLAGS = "kebab_tui.flags"


@dataclass(frozen=True, slots=True)
class Invocation:
    """One run of `kebab`: what a verb is handed."""

    settings: Settings

    @property
    def data_dir(self) -> str:
        return self.settings.data_dir


def shared_options(command: Decorated) -> Decorated:
    """Add `--data-dir` and `--config`; given both before and after a verb, the later wins."""
    for option in (
        click.option(
            "--config",
            type=click.Path(),
            metavar="FILE",
            expose_value=False,
            callback=_remember,
            help="Read this configuration file.",
        ),
        click.option(
            "--data-dir",
            type=click.Path(),
            metavar="FOLDER",
            expose_value=False,
            callback=_remember,
            help="Keep the index in this folder.",
        ),
    ):
        command = option(command)
    return command


def _remember(ctx: click.Context, param: click.Parameter, value: str | None) -> None:
    if value is not None:
        ctx.meta.setdefault(_FLAGS, {})[param.name] = value


def shared_flag(ctx: click.Context, name: str) -> str | None:
    """What was given for `data_dir` or `config`, wherever it stood."""
    flags: dict[str, str] = ctx.meta.get(_FLAGS, {})
    return flags.get(name)


def invocation(ctx: click.Context) -> Invocation:
    """The run's one `ctx.obj`, made at first sight."""
    root = ctx.find_root()
    if root.obj is None:
        import os

        from kebab_tui.settings.load import load_settings

        overrides = {"data_dir": shared_flag(ctx, "data_dir")}
        root.obj = Invocation(load_settings(shared_flag(ctx, "config"), os.environ, overrides))
    ctx.obj = root.obj
    assert isinstance(root.obj, Invocation)
    return root.obj


def pass_invocation(verb: Callable[Concatenate[Invocation, P], R]) -> Callable[P, R]:
    """Hand the verb the run's `Invocation` as its first argument."""

    @wraps(verb)
    def with_invocation(*args: P.args, **kwargs: P.kwargs) -> R:
        return verb(invocation(click.get_current_context()), *args, **kwargs)

    return with_invocation
