"""Archives of the registries as one thing: names of files, and the bytes of each.

Reads wheels, zips (also Mozilla's .xpi and .ja), npm tarballs and Debian packages. Writes nothing to disk and runs
nothing that an archive holds.
"""

from __future__ import annotations

import gzip
import io
import subprocess
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol


class Archive(Protocol):
    """Files by name, in the archive's own order."""

    def __iter__(self) -> Iterator[str]: ...

    def __contains__(self, name: object) -> bool: ...

    def read(self, name: str) -> bytes: ...


class ZipArchive:
    """A zip file, on disk or in memory."""

    def __init__(self, file: Path | bytes) -> None:
        self._zip = zipfile.ZipFile(io.BytesIO(file) if isinstance(file, bytes) else file)
        self._names = dict.fromkeys(name for name in self._zip.namelist() if not name.endswith("/"))

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def read(self, name: str) -> bytes:
        return self._zip.read(name)


class TarArchive:
    """An unpacked tar stream, held in memory: seeking back in a compressed one would be far slower."""

    def __init__(self, stream: bytes) -> None:
        self._tar = tarfile.TarFile(fileobj=io.BytesIO(stream))
        self._members = {member.name.removeprefix("./"): member for member in self._tar if member.isfile()}

    def __iter__(self) -> Iterator[str]:
        return iter(self._members)

    def __contains__(self, name: object) -> bool:
        return name in self._members

    def read(self, name: str) -> bytes:
        file = self._tar.extractfile(self._members[name])
        if file is None:
            raise FileNotFoundError(name)
        return file.read()


class UnknownArchiveError(ValueError):
    """The file's name says it is no archive this build can read."""


def open_archive(path: Path) -> Archive:
    """Open an archive by what its name says it is."""
    if path.suffix in {".whl", ".zip"}:
        return ZipArchive(path)
    if path.suffix == ".tgz":
        return TarArchive(gzip.decompress(path.read_bytes()))
    if path.suffix == ".deb":
        unpacked = subprocess.run(["dpkg-deb", "--fsys-tarfile", str(path)], capture_output=True, check=True)
        return TarArchive(unpacked.stdout)
    raise UnknownArchiveError(path.name)


def find(archive: Archive, ending: str) -> str | None:
    """The first file whose name ends so."""
    return next((name for name in archive if name.endswith(ending)), None)
