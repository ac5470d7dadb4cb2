"""An archive is taken only as pinned; a Debian version that is gone is replaced, and said to be."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest

from models.build import fetch as fetching
from models.build.fetch import UnavailableError, WrongChecksumError, fetch
from models.build.manifest import Package, Registry

Client = Callable[[str, str | None], Sequence[str]]
CONTENT = "an archive"
RIGHT = hashlib.sha256(CONTENT.encode()).hexdigest()


def package(registry: Registry = "npm", version: str = "1.0", sha256: str = RIGHT) -> Package:
    return Package(registry, "thing", version, sha256)


@pytest.fixture
def registry(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """Versions a registry holds, with their content; its client is a real process."""
    held = {"1.0": CONTENT}

    def client(name: str, version: str | None) -> Sequence[str]:
        wanted = version or max(held, default="")
        if wanted not in held:
            return (sys.executable, "-c", "import sys; sys.exit('no such version')")
        return (sys.executable, "-c", f"open('{name}_{wanted}_all.deb', 'w').write({held[wanted]!r})")

    clients: Mapping[str, Client] = dict.fromkeys(("npm", "debian"), client)
    monkeypatch.setattr(fetching, "COMMANDS", clients)
    return held


def test_a_pinned_archive_is_downloaded_once(registry: dict[str, str], tmp_path: Path) -> None:
    first = fetch(package(), tmp_path)
    registry.clear()
    assert fetch(package(), tmp_path) == first
    assert first.pinned and first.path.read_text() == CONTENT


def test_other_bytes_than_pinned_stop_the_build(registry: dict[str, str], tmp_path: Path) -> None:
    with pytest.raises(WrongChecksumError, match=r"thing 1\.0"):
        fetch(package(sha256="0" * 64), tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_damaged_copy_in_the_cache_is_fetched_again(registry: dict[str, str], tmp_path: Path) -> None:
    fetch(package(), tmp_path).path.write_text("damaged")
    assert fetch(package(), tmp_path).path.read_text() == CONTENT


def test_a_version_that_is_gone_is_named(registry: dict[str, str], tmp_path: Path) -> None:
    with pytest.raises(UnavailableError, match=r"npm thing 2\.0: no such version"):
        fetch(package(version="2.0"), tmp_path)


def test_debian_gives_its_present_version_instead(registry: dict[str, str], tmp_path: Path) -> None:
    registry["1.1"] = "a newer archive"
    found = fetch(package("debian", version="0.9"), tmp_path)
    assert (found.version, found.pinned) == ("1.1", False)
    assert found.path.read_text() == "a newer archive"


def test_a_missing_client_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(fetching, "COMMANDS", {"npm": lambda name, version: ("no-such-client",)})
    with pytest.raises(UnavailableError, match="no-such-client is not installed"):
        fetch(package(), tmp_path)
