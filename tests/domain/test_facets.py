"""A kind of facet is one entry of the registry; everything else follows from it."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

from kebab_tui.domain.facets import FACETS


@pytest.fixture(scope="module")
def mood(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """What each place makes of the kind `mood` and of three notes that have one."""
    argv = [sys.executable, "-m", "tests.toy_facet", str(tmp_path_factory.mktemp("mood"))]
    return json.loads(subprocess.run(argv, check=True, capture_output=True).stdout)


def test_values_are_read_from_front_matter_with_their_line(mood: Any) -> None:
    assert mood["facets"] == [["mood", "happy", 3], ["mood", "Calm", 3]]


def test_the_query_filters_by_it(mood: Any) -> None:
    assert mood["typed"] == {
        "mood:happy": ["happy.md"],
        "mood:HAPPY,sad": ["happy.md", "sad.md"],
        "alpha -mood:calm": ["plain.md", "sad.md"],
    }
    assert "mood:, links:, linkedby:, has: and path: can be excluded" in mood["notice"]


def test_options_filter_by_it(mood: Any) -> None:
    assert mood["options"] == {
        "--mood sad": ["sad.md"],
        "--moods calm,happy": ["happy.md"],
        "--no-mood calm": ["plain.md", "sad.md"],
    }
    for line in ("--mood MOOD", "--moods A,B", "--no-mood MOOD", "With all of these moods."):
        assert line in mood["help"]


def test_a_note_without_the_value_is_left_out_by_the_filter_as_typed(mood: Any) -> None:
    assert "left out by mood:happy" in mood["why-not"]


def test_json_and_inspect_name_its_values(mood: Any) -> None:
    assert mood["list"]["happy.md"] == ["happy", "Calm"]
    assert mood["list"]["plain.md"] == []
    assert "moods: happy, Calm" in mood["inspect"]


def test_the_screen_and_the_shell_complete_it(mood: Any) -> None:
    assert mood["screen"] == [["mood:"], ["mood:"], ["happy"], ["Calm", "happy", "sad"]]
    assert "plain,--mood" in mood["shell"]


def test_the_help_of_the_screen_explains_it(mood: Any) -> None:
    rows = mood["help on the screen"]
    assert (rows["mood:a,b"], rows["mood:a mood:b"]) == ("With either mood", "With both moods")


def test_no_two_kinds_share_a_name() -> None:
    names = [name for kind in FACETS.values() for name in (kind.id, kind.plural)]
    keys = [key for kind in FACETS.values() for key in kind.front_matter]
    assert len(set(names)) == len(names)
    assert len(set(keys)) == len(keys)
