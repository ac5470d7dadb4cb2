"""The pinned inputs: complete, known, and without a licence that the weights could not carry."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from models.build.manifest import MANIFEST, ManifestError, load
from models.build.readers import READERS


def test_every_input_is_pinned_and_every_reader_exists() -> None:
    manifest = load()
    for package in (
        manifest.weights,
        *(package for source in manifest.sources for package in source.packages),
    ):
        assert re.fullmatch(r"[0-9a-f]{64}", package.sha256), package.name
    assert {reader for source in manifest.sources for reader in source.readers} <= READERS.keys()


def test_no_source_is_under_a_licence_that_reaches_the_weights() -> None:
    permissive = {"Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "ISC", "MIT", "MPL-2.0", "Unicode-3.0"}
    assert {source.licence for source in load().sources} == permissive


@pytest.mark.parametrize(
    ("line", "changed", "message"),
    [
        ('licence = "Apache-2.0"', "", "'licence' is missing"),
        ('licence = "Apache-2.0"', 'license = "Apache-2.0"', "unknown key in the manifest: license"),
        ('registry = "npm"', 'registry = "cpan"', "unknown registry 'cpan'"),
    ],
)
def test_a_typing_error_is_named(tmp_path: Path, line: str, changed: str, message: str) -> None:
    broken = tmp_path / "manifest.toml"
    broken.write_text(MANIFEST.read_text(encoding="utf-8").replace(line, changed, 1), encoding="utf-8")
    with pytest.raises(ManifestError, match=message):
        load(broken)
