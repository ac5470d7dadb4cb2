"""`kebab serve`: serves the index over HTTP on this machine, or prints how an agent's client connects."""

from __future__ import annotations

import contextlib
import gc
import json
import os
import re
import shlex
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from typing import TYPE_CHECKING

import click

from kebab_tui import own_files
from kebab_tui.cli.command import command, option
from kebab_tui.cli.edge import PROGRAM, Invocation, pass_invocation, shared_flag, shared_options
from kebab_tui.cli.interrupt import Interrupt
from kebab_tui.cli.output import field, notify, write
from kebab_tui.domain.errors import KebabError, UsageError
from kebab_tui.workspace import Workspace

if TYPE_CHECKING:
    from kebab_tui.tui.messages import IndexingEnded

_PORT = 7411
_LAST_INDEXING_S = 10.0
"""For the indexing process of --watch to end."""
_PLACES = {
    "claude-code": "run this command",
    "codex": "put this into ~/.codex/config.toml",
    "cursor": "put this into ~/.cursor/mcp.json",
    "gemini": "put this into ~/.gemini/settings.json",
    "vscode": "put this into .vscode/mcp.json",
    "zed": "put this into settings.json",
}
"""Client -> where its registration goes."""


@command(
    examples=(
        ("kebab serve", "MCP and REST on this machine, with a token"),
        ("kebab serve --watch", "also follow the notes"),
        ("kebab serve --print-config claude-code", "how an agent's client connects"),
    )
)
@option("--host", default="127.0.0.1", metavar="HOST", help="127.0.0.1 (default), ::1 or localhost.")
@option(
    "--port", type=click.IntRange(0, 65_535), default=_PORT, metavar="PORT",
    help=f"The port, {_PORT} by default; 0 takes a free one.",
)  # fmt: skip
@option(
    "--source", "sources", multiple=True, metavar="NAME",
    help="Clients see only this source; repeated: only these.",
)  # fmt: skip
@option(
    "--token-file", type=click.Path(), metavar="FILE",
    help="The file with the token; made if missing. Default: serve.token in the data folder.",
)  # fmt: skip
@option("--no-token", is_flag=True, help="Let every program and user of this machine ask.")
@option("--watch", is_flag=True, help="Keep the index up to date as well, as `kebab watch` does.")
@option(
    "--timeout", "call_s", type=click.FloatRange(0.1, 3_600), default=30.0, metavar="SECONDS",
    help="The longest time for an answer (default 30).",
)  # fmt: skip
@option(
    "--print-config", "client", type=click.Choice(list(_PLACES)), metavar="CLIENT",
    help=f"Print how an agent's client connects: {', '.join(_PLACES)}.",
)  # fmt: skip
@shared_options
@pass_invocation
def serve_command(
    invocation: Invocation,
    /,
    host: str,
    port: int,
    sources: tuple[str, ...],
    token_file: str | None,
    no_token: bool,
    watch: bool,
    call_s: float,
    client: str | None,
) -> int:
    """Serve search on this machine over HTTP: to agents (MCP) and to programs (REST).

    MCP is at /mcp, REST at /api/v1/search, read, related, libs/search, context and status, its description at
    /openapi.json. Clients can only read. They never get notes with `private: true` in their front matter, or
    named by a .kebabprivate file. Each request needs the token: `Authorization: Bearer TOKEN`. Prints the
    address once it answers; Ctrl+C or SIGTERM ends it.
    """
    if find_spec("mcp") is None:
        raise UsageError("the server is not installed", "pip install 'kebab-tui[mcp]'")
    from kebab_tui.server.access import LOOPBACK, TOKEN_FILE, read_token
    from kebab_tui.server.view import AgentView

    if host not in LOOPBACK:
        raise UsageError(
            f"cannot serve on {host!r}: notes are served on this machine only, without encryption",
            f"the hosts are {', '.join(LOOPBACK)}; for another machine use a tunnel, such as `ssh -L`",
        )
    if no_token and token_file is not None:
        raise UsageError("--no-token and --token-file contradict each other", "leave one out")
    workspace = Workspace(invocation.settings, invocation.data_dir)
    view = AgentView(workspace, sources)
    view.check_sources()
    path = os.path.abspath(token_file or os.path.join(invocation.data_dir, TOKEN_FILE))
    token = None
    if not no_token:
        if token_file is None:
            own_files.make_folder(invocation.data_dir)
        token = read_token(path)
    if client is not None:
        name = re.sub(r"[^A-Za-z0-9_-]+", "-", "-".join((PROGRAM, *sources)))
        write(_registration(client, name, f"{_address(host, port)}/mcp", path, token))
        notify(_PLACES[client] + ("; the token is in it" if token and client not in _NAMING else ""))
        return 0
    if watch and not (invocation.settings.sources or workspace.sources()):
        raise UsageError("there is no folder to watch yet", "run `kebab ingest FOLDER` first")
    with Interrupt() as interrupt:
        interrupt.work_began()
        from kebab_tui.server.calls import Calls
        from kebab_tui.server.http import HttpLimits
        from kebab_tui.server.listener import listen, serve

        sockets = listen(host, port)
        gc.set_threshold(700, 10, 10)  # Python's default: the server runs longer than a command
        write(_address(host, sockets[0].getsockname()[1]))
        if sys.stdout is not None:
            sys.stdout.flush()  # a program that started this one reads the port here
        notify(
            f"token: {field(path)}"
            if token
            else "warning: without a token, every user of this machine may ask"
        )
        if not workspace.has_index:
            notify("nothing is indexed yet: run `kebab ingest FOLDER`")
        with _indexing(invocation, workspace) if watch else contextlib.nullcontext():
            serve(Calls(workspace, view), sockets, token, HttpLimits(call_s), interrupt.asked, _report)
    notify("stopped")
    return 0  # without closing the workspace: its thread may still work


def _report(line: str) -> None:
    notify(f"error: {field(line)}")


@contextlib.contextmanager
def _indexing(invocation: Invocation, workspace: Workspace) -> Iterator[None]:
    """Keeps the index up to date in another process, as the screen does."""
    from kebab_tui.tui.indexer import BackgroundIndexing

    with contextlib.suppress(KebabError):
        if (live := workspace.live()) is not None and not live.once:
            notify(f"process {live.pid} keeps the index up to date; this one takes over when that ends")
    if invocation.settings.index.url:
        os.environ["KEBAB_INDEX"] = invocation.settings.index.url  # for the process
    config = shared_flag(click.get_current_context(), "config")
    indexing = BackgroundIndexing(invocation.data_dir, os.path.abspath(config) if config else "")

    def ended(message: IndexingEnded) -> None:
        if message.failure is not None:
            notify(f"indexing failed: {field(message.failure.message)}")

    indexing.report_to(ended)  # type: ignore[arg-type]  # the one message that it posts
    indexing.watch(())
    try:
        yield
    finally:
        indexing.close(_LAST_INDEXING_S)


def _address(host: str, port: int) -> str:
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


_NAMING = ("claude-code", "codex")
"""Clients whose registration names the place of the token instead of the token."""


def _registration(client: str, name: str, url: str, path: str, token: bytes | None) -> str:
    headers = {"headers": {"Authorization": f"Bearer {token.decode()}"}} if token else {}
    match client:
        case "claude-code":
            command = shlex.join(
                ["claude", "mcp", "add", "--scope", "user", "--transport", "http", name, url]
            )
            quoted = shlex.quote(path)
            return f'{command} --header "Authorization: Bearer $(cat {quoted})"' if token else command
        case "codex":
            variable = '\nbearer_token_env_var = "KEBAB_TOKEN"' if token else ""
            return f'[mcp_servers.{name}]\nurl = "{url}"{variable}'
        case "vscode":
            found: dict[str, object] = {"servers": {name: {"type": "http", "url": url, **headers}}}
        case "zed":
            found = {"context_servers": {name: {"url": url, **headers}}}
        case "gemini":
            found = {"mcpServers": {name: {"httpUrl": url, **headers}}}
        case _:
            found = {"mcpServers": {name: {"url": url, **headers}}}
    return json.dumps(found, indent=2)
