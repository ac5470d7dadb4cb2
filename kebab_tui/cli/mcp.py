"""`kebab mcp`: serves the index to an agent over stdin and stdout, or prints how a client starts it."""

from __future__ import annotations

import gc
import json
import os
import re
import shlex
import sys
from importlib.util import find_spec

import click

from kebab_tui.cli.command import command, option
from kebab_tui.cli.edge import PROGRAM, Invocation, pass_invocation, shared_flag, shared_options
from kebab_tui.cli.output import notify, write
from kebab_tui.domain.errors import UsageError
from kebab_tui.workspace import Workspace

_PLACES = {
    "claude-code": "run this command",
    "claude-desktop": "put this into claude_desktop_config.json",
    "codex": "put this into ~/.codex/config.toml",
    "cursor": "put this into ~/.cursor/mcp.json",
    "gemini": "put this into ~/.gemini/settings.json",
    "vscode": "put this into .vscode/mcp.json",
    "zed": "put this into settings.json",
}
"""Client -> where its registration goes."""
_ANY = "claude-desktop"
"""Most clients read this form."""


@command(
    examples=(
        ("kebab mcp --print-config claude-code", "how a client starts it"),
        ("kebab mcp --source work", "only one source"),
    )
)
@option(
    "--source", "sources", multiple=True, metavar="NAME",
    help="Show the agent only this source; repeat it for several.",
)  # fmt: skip
@option(
    "--print-config", "client", is_flag=False, flag_value=_ANY, type=click.Choice(list(_PLACES)),
    metavar="[CLIENT]",
    help=f"Print how a client starts this server: {', '.join(_PLACES)}.",
)  # fmt: skip
@shared_options
@pass_invocation
def mcp_command(invocation: Invocation, /, sources: tuple[str, ...], client: str | None) -> int:
    """Let an agent search the notes, through the Model Context Protocol.

    An agent's client starts this command and talks to it through stdin and stdout. The agent can only
    read. It never sees notes with `private: true` in their front matter, or listed in a .kebabprivate file.
    """
    if find_spec("mcp") is None:
        raise UsageError("the MCP server is not installed", "pip install 'kebab-tui[mcp]'")
    from kebab_tui.server.view import AgentView

    workspace = Workspace(invocation.settings, invocation.data_dir)
    view = AgentView(workspace, sources)
    view.check_sources()
    if client is not None:
        name = re.sub(r"[^A-Za-z0-9_-]+", "-", "-".join((PROGRAM, *sources)))
        write(_registration(client, name, _command(invocation, sources)))
        notify(_PLACES[client])
        return 0
    if sys.stdin is not None and sys.stdin.isatty():
        notify("waiting for an MCP client on stdin; Ctrl+D quits. --print-config prints a client setup")
    from kebab_tui.server.stdio import Wire

    wire = Wire.take()  # before an import that might print
    from kebab_tui.server.mcp import serve

    gc.set_threshold(700, 10, 10)  # Python's default: the server runs longer than a command
    serve(workspace, view, wire)
    return 0  # without closing the workspace: its thread may still load the model


def _command(invocation: Invocation, sources: tuple[str, ...]) -> list[str]:
    """The command line with absolute paths: a client passes on neither its folder nor all variables."""
    ctx = click.get_current_context()
    program = os.path.abspath(sys.argv[0])
    is_installed = os.path.basename(program) == PROGRAM and os.access(program, os.X_OK)
    command = [program] if is_installed else [sys.executable, "-m", "kebab_tui"]
    command += ["mcp", "--data-dir", os.path.abspath(invocation.data_dir)]
    if invocation.settings.index.url:
        command += ["--index", invocation.settings.index.url]
    from kebab_tui.settings.load import config_path

    config = config_path(os.environ, shared_flag(ctx, "config"))
    if os.path.exists(config):
        command += ["--config", os.path.abspath(config)]
    return [*command, *(word for name in sources for word in ("--source", name))]


def _registration(client: str, name: str, command: list[str]) -> str:
    start = {"command": command[0], "args": command[1:]}
    match client:
        case "claude-code":
            return shlex.join(["claude", "mcp", "add", "--scope", "user", name, "--", *command])
        case "codex":
            words = ", ".join(json.dumps(word, ensure_ascii=False) for word in command[1:])
            program = json.dumps(command[0], ensure_ascii=False)
            return f"[mcp_servers.{name}]\ncommand = {program}\nargs = [{words}]"
        case "vscode":
            found: dict[str, object] = {"servers": {name: {"type": "stdio", **start}}}
        case "zed":
            found = {"context_servers": {name: {"source": "custom", **start, "env": {}}}}
        case _:
            found = {"mcpServers": {name: start}}
    return json.dumps(found, indent=2, ensure_ascii=False)
