"""`kebab mcp` before a client is connected: the registration, and what is wrong."""

from __future__ import annotations

import json
import os
import shlex
import tomllib
from collections.abc import Sequence
from pathlib import Path

import pytest

from kebab_tui.cli import mcp
from tests.command_line import Kebab


def command_in(client: str, text: str) -> Sequence[str]:
    if client == "claude-code":
        words = shlex.split(text)
        assert words[:7] == ["claude", "mcp", "add", "--scope", "user", "kebab-notes", "--"]
        return words[7:]
    found = tomllib.loads(text)["mcp_servers"] if client == "codex" else json.loads(text)
    for key in ("mcpServers", "servers", "context_servers"):
        found = found.get(key, found)
    return [found["kebab-notes"]["command"], *found["kebab-notes"]["args"]]


@pytest.mark.parametrize(
    "client", ["claude-code", "claude-desktop", "codex", "cursor", "gemini", "vscode", "zed"]
)
def test_the_registration_has_absolute_paths(
    kebab: Kebab, notes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, client: str
) -> None:
    kebab("ingest", str(notes))
    monkeypatch.chdir(tmp_path)
    Path("my config.toml").write_text("")
    done = kebab("mcp", "--source", "notes", "--print-config", client, "--config", "my config.toml")
    assert (done.code, len(done.err.splitlines())) == (0, 1)
    command = command_in(client, done.out)
    assert os.path.isabs(command[0])
    assert command[command.index("mcp") + 1 :] == [
        "--data-dir", str(kebab.data), "--config", str(tmp_path / "my config.toml"), "--source", "notes",
    ]  # fmt: skip


def test_the_form_that_most_clients_read(kebab: Kebab) -> None:
    assert "mcpServers" in kebab("mcp", "--print-config").json


def test_a_source_that_does_not_exist(kebab: Kebab, notes: Path) -> None:
    kebab("ingest", str(notes))
    done = kebab("mcp", "--source", "nots")
    assert done.code == 2
    assert "nots" in done.err
    assert "notes" in done.err


def test_without_the_extra(kebab: Kebab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mcp, "find_spec", lambda name: None)
    done = kebab("mcp")
    assert done.code == 2
    assert done.err == "error: the MCP server is not installed\n  hint: pip install 'kebab-tui[mcp]'\n"
