"""A source that is gone is left out and named; one that changed its version is used and named."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from models.build import sources
from models.build.fetch import Fetched, UnavailableError
from models.build.manifest import Package, Source


def source(name: str, version: str = "1.0") -> Source:
    return Source(name, "MIT", ("gettext",), (Package("debian", name, version, "0" * 64),))


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    path = tmp_path / "thing.zip"
    with zipfile.ZipFile(path, "w") as made:
        entries = "".join(
            f'msgid "word number {index}"\nmsgstr "낱말 번호 {index}"\n\n' for index in range(30)
        )
        made.writestr("x/ko/LC_MESSAGES/x.po", entries)
    return path


def test_what_differs_from_the_manifest_is_said(
    archive: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def fetch(package: Package, cache: Path) -> Fetched:
        if package.name == "gone":
            raise UnavailableError("debian gone 1.0: no such version")
        return Fetched(
            archive, "1.1" if package.name == "moved" else package.version, package.name != "moved"
        )

    monkeypatch.setattr(sources, "fetch", fetch)
    found = sources.gather_all([source("here"), source("gone"), source("moved")], tmp_path)
    assert [given.name for given in found.contributions] == ["here", "moved"]
    assert [given.pairs for given in found.contributions] == [30, 0]
    assert found.contributions[1].packages == ("moved 1.1 (debian)",)
    assert found.deviations == (
        "gone left out: debian gone 1.0: no such version",
        "moved 1.0 is gone from debian; 1.1 taken instead",
    )
    assert all(line in capsys.readouterr().err for line in found.deviations[:1])


def test_passages_follow_the_strings(archive: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sources, "fetch", lambda package, cache: Fetched(archive, "1.0", pinned=True))
    pairs = sources.gather_all([source("here")], tmp_path).pairs
    assert len(pairs) > 30
    assert pairs[30].english.startswith("word number 0. word number 1")
