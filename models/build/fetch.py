"""Brings the pinned archives onto this machine with the registries' ordinary clients: pip, npm and apt-get.

An archive is kept under its checksum, so a second build downloads nothing. Refuses an archive whose checksum differs
from the manifest's. The one exception is a Debian version that has left the archive (security updates replace them):
then the version the archive holds today is taken, apt-get itself vouching for it, and the caller is told.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from models.build.manifest import Package

CLIENT_TIMEOUT = 900  # seconds; the largest archive has 120 MB


class UnavailableError(Exception):
    """The registry does not hold the package any more."""


class WrongChecksumError(Exception):
    """The registry answered with other bytes than the manifest names."""


@dataclass(frozen=True, slots=True)
class Fetched:
    """An archive on this machine, and the version it really has."""

    path: Path
    version: str
    pinned: bool


def fetch(package: Package, cache: Path) -> Fetched:
    """The archive of one package, from the cache or from its registry."""
    kept = next(iter(sorted((cache / package.sha256).glob("*"))), None)
    if kept is not None and checksum(kept) == package.sha256:
        return Fetched(kept, package.version, pinned=True)
    with tempfile.TemporaryDirectory(dir=_made(cache), prefix="fetch-") as scratch:
        try:
            archive = _download(package, package.version, Path(scratch))
        except UnavailableError:
            if package.registry != "debian":
                raise
            return _fetch_present(package, cache)
        found = checksum(archive)
        if found != package.sha256:
            raise WrongChecksumError(
                f"{package.name} {package.version}: sha256 {found}, the manifest says {package.sha256}"
            )
        return Fetched(_keep(archive, cache / package.sha256), package.version, pinned=True)


def checksum(path: Path) -> str:
    """The sha256 of a file, as hex."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _fetch_present(package: Package, cache: Path) -> Fetched:
    with tempfile.TemporaryDirectory(dir=cache, prefix="fetch-") as scratch:
        archive = _download(package, None, Path(scratch))
        version = archive.name.split("_")[1].replace("%3a", ":")
        return Fetched(_keep(archive, cache / checksum(archive)), version, pinned=False)


def _download(package: Package, version: str | None, folder: Path) -> Path:
    command = COMMANDS[package.registry](package.name, version)
    try:
        answer = subprocess.run(
            command, cwd=folder, capture_output=True, text=True, timeout=CLIENT_TIMEOUT, check=False
        )
    except FileNotFoundError:
        raise UnavailableError(
            f"{command[0]} is not installed, so {package.name} cannot be downloaded"
        ) from None
    except subprocess.TimeoutExpired:
        raise UnavailableError(
            f"{package.registry} {package.name}: no answer in {CLIENT_TIMEOUT} s"
        ) from None
    archive = next(iter(sorted(path for path in folder.iterdir() if path.is_file())), None)
    if answer.returncode != 0 or archive is None:
        reason = (answer.stderr.strip() or "no reason given").splitlines()[-1]
        raise UnavailableError(f"{package.registry} {package.name} {version or '(any version)'}: {reason}")
    return archive


def _pip(name: str, version: str | None) -> Sequence[str]:
    # The archive is only read, never installed, so the interpreter it asks for does not matter.
    options = ("--no-deps", "--only-binary=:all:", "--ignore-requires-python", "--quiet", "--dest", ".")
    return (sys.executable, "-m", "pip", "download", *options, f"{name}=={version}")


def _npm(name: str, version: str | None) -> Sequence[str]:
    return ("npm", "pack", "--silent", "--ignore-scripts", f"{name}@{version}")


def _apt(name: str, version: str | None) -> Sequence[str]:
    return ("apt-get", "download", "--quiet", f"{name}={version}" if version else name)


COMMANDS: dict[str, Callable[[str, str | None], Sequence[str]]] = {"pypi": _pip, "npm": _npm, "debian": _apt}


def _made(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _keep(archive: Path, folder: Path) -> Path:
    return Path(shutil.move(archive, _made(folder) / archive.name))
