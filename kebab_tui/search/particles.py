"""Korean endings, so that `충돌을 해결하는` also finds `충돌이` and `해결했다`.

A list and not a grammar: an ending is taken off where two syllables remain. Where it
was none (고양이) the shorter word is merely looked for as well, and ranks lower.
"""

from __future__ import annotations

_PARTICLES = """
    은 는 이 가 을 를 의 에 도 로 과 와 만 나 에서 에게 에는 에도 에서는 에서도 에게는 으로 으로는 으로도 로는
    로도 로서 로써 으로서 으로써 까지 까지는 부터 부터는 처럼 보다 이나 이란 이라 이라는 라는 이라고 라고 한테
    께서 마다 조차 밖에 들 들은 들이 들을 들의 이다 입니다 이고 이며 이면 인가 인지 이랑 랑 하고
""".split()  # noqa: SIM905 - a list of a hundred quoted syllables is hard to read
_VERBS = """
    하는 하기 하기가 하기는 하고 하면 하며 하다 한다 하여 해서 해야 하지 하려면 하려고 하게 하도록 했다 했는데
    했던 합니다 했습니다 하세요 할 한 해 되는 되고 되면 되며 되다 된다 되어 돼서 되지 됐다 되었다 됩니다 된
""".split()  # noqa: SIM905 - a list of a hundred quoted syllables is hard to read
_PARTICLE_SET = frozenset(_PARTICLES)
_ENDINGS = tuple(sorted({*_PARTICLES, *_VERBS}, key=lambda ending: (-len(ending), ending)))
_SHORTEST_STEM = 2


def is_particle(run: str) -> bool:
    """Whether a run glued to another script is only grammar: 로 of `Rust로`."""
    return run in _PARTICLE_SET


def without_ending(run: str) -> str:
    """Take the longest known ending off a word that stays a word without it."""
    for ending in _ENDINGS:
        if len(run) - len(ending) >= _SHORTEST_STEM and run.endswith(ending):
            return run[: -len(ending)]
    return run
