"""The pinned inputs of the model, read from `manifest.toml`.

Refuses to guess: a key that is missing or unknown is an error, because a licence or a checksum left out would not be
noticed later.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, cast

Registry = Literal["pypi", "npm", "debian"]
REGISTRIES = ("pypi", "npm", "debian")
MANIFEST = Path(__file__).with_name("manifest.toml")


class ManifestError(ValueError):
    """The manifest says something this build does not understand."""


@dataclass(frozen=True, slots=True)
class Package:
    """One archive of a registry."""

    registry: Registry
    name: str
    version: str
    sha256: str


@dataclass(frozen=True, slots=True)
class Source:
    """Packages that together hold the same strings in Korean and in English."""

    name: str
    licence: str
    readers: tuple[str, ...]
    packages: tuple[Package, ...]


@dataclass(frozen=True, slots=True)
class Morphemes:
    """The installed Python package that carries Kiwi's vectors, and the file in it that holds them."""

    package: str
    version: str
    file: str
    sha256: str


@dataclass(frozen=True, slots=True)
class Manifest:
    """Everything the model is made of."""

    weights: Package
    morphemes: Morphemes
    sources: tuple[Source, ...]


def load(path: Path = MANIFEST) -> Manifest:
    """Read and check the manifest."""
    table = tomllib.loads(path.read_text(encoding="utf-8"))
    morphemes = _table(table, "morphemes")
    sources = tuple(_source(entry) for entry in cast(list[dict[str, object]], table["source"]))
    names = [source.name for source in sources]
    if len(set(names)) != len(names):
        raise ManifestError("two sources have the same name")
    return Manifest(
        weights=_package(_table(table, "weights")),
        morphemes=Morphemes(
            package=_text(morphemes, "package"),
            version=_text(morphemes, "version"),
            file=_text(morphemes, "file"),
            sha256=_text(morphemes, "sha256"),
        ),
        sources=sources,
    )


def _source(entry: dict[str, object]) -> Source:
    _only(entry, {"name", "licence", "readers", "package"})
    packages = tuple(_package(package) for package in cast(list[dict[str, object]], entry["package"]))
    readers = tuple(cast(list[str], entry["readers"]))
    if not packages or not readers:
        raise ManifestError(f"{_text(entry, 'name')}: a source needs a package and a reader")
    return Source(_text(entry, "name"), _text(entry, "licence"), readers, packages)


def _package(entry: dict[str, object]) -> Package:
    _only(entry, {"registry", "name", "version", "sha256"})
    registry = _text(entry, "registry")
    if registry not in REGISTRIES:
        raise ManifestError(f"unknown registry {registry!r}; known: {', '.join(REGISTRIES)}")
    return Package(
        cast(Registry, registry), _text(entry, "name"), _text(entry, "version"), _text(entry, "sha256")
    )


def _only(entry: dict[str, object], known: set[str]) -> None:
    unknown = sorted(entry.keys() - known)
    if unknown:
        raise ManifestError(f"unknown key in the manifest: {', '.join(unknown)}")


def _table(entry: dict[str, object], key: str) -> dict[str, object]:
    value = entry.get(key)
    if not isinstance(value, dict):
        raise ManifestError(f"[{key}] is missing from the manifest")
    return cast(dict[str, object], value)


def _text(entry: dict[str, object], key: str) -> str:
    value = entry.get(key)
    if not isinstance(value, str) or not value:
        raise ManifestError(f"{key!r} is missing or empty in {entry.get('name', 'the manifest')}")
    return value
