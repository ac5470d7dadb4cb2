"""A process killed anywhere leaves a sound index, and damage is found before it is used.

One kill of each kind, and each damage at one place; `make torture N=2000` does it all.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.torture.damage import DAMAGES, Damage
from tests.torture.damaging import Sound, sound_index, try_damage
from tests.torture.harness import Score, killed_and_judged
from tests.torture.points import POINTS

pytestmark = pytest.mark.slow

SAMPLE = (
    "after Batch.finish",
    "before COMMIT, first ingest",
    "first load: before it is complete",
    "between setting aside",
    "embed: after save_vectors",
    "embed: file written, not in place",
    "use model: after the old file is gone",
    "rebuild: before forgetting",
    "search: before compaction",
    "embed, real model: after save_vectors",
    "watch: after save_vectors",
    "watch: random time, first look",
    "watch beside a writer: after release",
    "watch beside a second indexer: after Batch.finish",
    "ingest beside an indexer: request in place",
    "embed before two writers: after save_vectors",
    "screen: random time",
)
"""One of each kind: the others differ in the place, not in what is looked at afterwards."""


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Sound:
    return sound_index(str(tmp_path_factory.mktemp("sound")), most=3)


@pytest.mark.parametrize("name", SAMPLE)
def test_nothing_is_lost_by_a_kill(name: str) -> None:
    score: Score = killed_and_judged(name, seed=2026)
    assert score.complaints == []
    assert score.kills == 1, "the point was never reached"


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: f"{damage.file} {damage.name}")
def test_damage_is_found_before_it_is_used_and_mended_or_told(
    damage: Damage, sound: Sound, tmp_path: Path
) -> None:
    outcome = try_damage(sound, replace(damage, tries=1), str(tmp_path), seed=2026)
    assert outcome.complaints == []
    assert outcome.mended + outcome.told == 1


def test_every_point_has_a_name_of_its_own() -> None:
    names = [point.name for point in POINTS]
    assert len(set(names)) == len(names)
    assert set(SAMPLE) <= set(names)
