"""Builds the wheel and the sdist, installs each with all extras into an empty environment, and uses it there.

python -m tests.dist [FOLDER]          writes into FOLDER, or into dist/

Needs a package registry, and about 1 GB in the folder for temporary files.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from email.parser import Parser
from pathlib import Path

from tests.command_line import ROOT, SAMPLE
from tests.tui.pty_screen import PtyScreen

_GOAL_MB = 100
_QUERY = "포트 충돌 해결"


def main(folder: Path) -> int:
    shutil.rmtree(folder, ignore_errors=True)
    _run(sys.executable, "-m", "hatchling", "build", "-d", str(folder), cwd=ROOT)
    wheel, sdist = next(folder.glob("*.whl")), next(folder.glob("*.tar.gz"))
    for file in (wheel, sdist):
        size = file.stat().st_size / 1e6
        print(f"{file.name}: {size:.1f} MB (goal < {_GOAL_MB}): {'met' if size < _GOAL_MB else 'MISSED'}")
    extras = _extras(wheel)
    for file in (wheel, sdist):
        with tempfile.TemporaryDirectory() as home:
            _try_out(file, extras, Path(home))
    return 0 if all(file.stat().st_size < _GOAL_MB * 1e6 for file in (wheel, sdist)) else 1


def _extras(wheel: Path) -> list[str]:
    with zipfile.ZipFile(wheel) as files:
        metadata = next(name for name in files.namelist() if name.endswith(".dist-info/METADATA"))
        return Parser().parsestr(files.read(metadata).decode()).get_all("Provides-Extra", [])


def _try_out(file: Path, extras: list[str], home: Path) -> None:
    """Install, index, search, check and open the screen, far from the clone."""
    started = time.monotonic()
    bin_folder = _installed(f"{file}[{','.join(extras)}]", home / "env")
    size = sum(path.lstat().st_size for path in (home / "env").rglob("*")) / 1e6
    print(
        f"{file.name} with {', '.join(extras)}: {size:.0f} MB installed in {time.monotonic() - started:.0f} s"
    )

    notes = shutil.copytree(SAMPLE, home / "notes")
    kebab = str(bin_folder / "kebab")
    print(_run(kebab, "--version", home=home).strip())
    _run(kebab, "ingest", "--wait", str(notes), home=home)
    answer = json.loads(_run(kebab, "search", _QUERY, "--json", home=home))
    first = answer["hits"][0]["citation"]["text"]
    assert answer["mode"] == "hybrid" and first.startswith("infra/"), answer
    print(f"kebab search: {answer['total_matches']} passages, first {first}")
    _run(kebab, "doctor", home=home)
    _run(kebab, "mcp", "--help", home=home)

    screen = PtyScreen(
        "--query", _QUERY, home=home, program=(str(bin_folder / "kebab-tui"),), environ={"PYTHONPATH": ""}
    )  # fmt: skip
    screen.wait_for("sport = :8080")
    screen.send(b"\x11")  # ctrl+q
    screen.end()
    assert screen.process.returncode == 0, screen.text
    print("kebab-tui: the note is on the screen")


def _installed(requirement: str, folder: Path) -> Path:
    python = folder / "bin" / "python"
    if uv := shutil.which("uv"):
        _run(uv, "venv", "--quiet", "--python", sys.executable, str(folder))
        _run(uv, "pip", "install", "--quiet", "--python", str(python), requirement)
    else:
        _run(sys.executable, "-m", "venv", str(folder))
        _run(str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", requirement)
    return folder / "bin"


def _run(*argv: str, cwd: Path | None = None, home: Path | None = None) -> str:
    """The standard output; a failure ends the whole run with what the program said."""
    environ = dict(os.environ) if home is None else {"PATH": os.environ["PATH"], "HOME": str(home)}
    done = subprocess.run(argv, cwd=cwd or home, env=environ, stdout=subprocess.PIPE, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(argv)}: exit code {done.returncode}\n{done.stdout}")
    return done.stdout


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "dist").resolve()))
