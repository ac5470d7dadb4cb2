"""The starter file lists every setting and changes none."""

from __future__ import annotations

import re
from pathlib import Path

from msgspec.structs import fields

from kebab_tui.settings.load import load_settings
from kebab_tui.settings.settings import Settings, SourceSettings, plain_keys
from kebab_tui.settings.starter import starter_text


def loaded(text: str, folder: Path) -> Settings:
    file = folder / "config.toml"
    file.write_text(text, encoding="utf-8")
    return load_settings(str(file), {"HOME": str(folder)}, {})


def uncommented(text: str) -> str:
    return re.sub(r"(?m)^#(?! )", "", text)


def defaults(folder: Path) -> Settings:
    return load_settings(None, {"HOME": str(folder)}, {})


def test_as_written_it_changes_nothing(tmp_path: Path) -> None:
    assert loaded(starter_text(), tmp_path) == defaults(tmp_path)


def test_every_key_uncommented_gives_the_defaults(tmp_path: Path) -> None:
    settings_only, _, _ = starter_text().partition("#[[sources]]")
    settings_only = re.sub(r"(?ms)^#\[\[index\.roots\]\].*?^#path = [^\n]*\n", "", settings_only)
    assert loaded(uncommented(settings_only), tmp_path) == defaults(tmp_path)


def test_the_example_of_a_folder_can_be_uncommented_too(tmp_path: Path) -> None:
    [source] = loaded(uncommented(starter_text()), tmp_path).sources
    assert source.path.endswith("/notes")
    assert source == SourceSettings(path=source.path)


def test_every_key_is_there_under_its_documentation() -> None:
    lines = starter_text().splitlines()
    names = [key[-1] for key in plain_keys()] + [item.name for item in fields(SourceSettings)]
    for name in names:
        at = next(number for number, line in enumerate(lines) if line.startswith(f"#{name} = "))
        assert re.match(r"# \S", lines[at - 1]), name


def test_ranges_and_choices_are_shown() -> None:
    text = " ".join(starter_text().replace("\n# ", " ").split())
    assert "(an integer from 1 to 1000)" in text
    assert 'one of "lexical", "vector", "hybrid"' in text


def test_no_line_is_wider_than_a_terminal_beside_an_editor() -> None:
    assert max(map(len, starter_text().splitlines())) <= 110
