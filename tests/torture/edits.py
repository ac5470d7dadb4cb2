"""A vault, and somebody who keeps changing it; the same seed gives the same history."""

from __future__ import annotations

import os
import random

_TEXT = """
port conflict installation organized 충돌은 포트 백업 restore Rust workspace 설계 connection index
서울특별시 the of running quickly 해결 방법 network café naïve x86 foo_bar node
"""
WORDS = _TEXT.split()
NAMES = ("notes", "ops/run", "ops/deep/er", "일지", "reading")


class Editor:
    """Changes the notes below a folder, one small step at a time."""

    def __init__(self, root: str, seed: int) -> None:
        self._root = root
        self._dice = random.Random(seed)
        self._made = 0

    def fill(self, notes: int) -> None:
        for _ in range(notes):
            self._write(self._new_name())

    def change(self) -> None:
        steps = (self._edit, self._edit, self._add, self._remove, self._rename, self._swap, self._move_over)
        self._dice.choice(steps)()

    def _text(self) -> str:
        parts = []
        for n in range(self._dice.randint(1, 6)):
            words = " ".join(self._dice.choices(WORDS, k=self._dice.randint(3, 160)))
            parts.append(f"{'#' * self._dice.randint(1, 3)} Part {n} {self._dice.choice(WORDS)}\n\n{words}")
        head = f"---\ntags: [{self._dice.choice(WORDS[:6])}]\n---\n" if self._dice.random() < 0.4 else ""
        return head + "\n\n".join(parts) + "\n"

    def _code(self) -> str:
        return f"```\ncode {' '.join(self._dice.choices(WORDS, k=9))}\n```\n"

    def _new_name(self) -> str:
        self._made += 1
        stem = f"{self._dice.choice(NAMES)}-{self._made}-{self._dice.randrange(10**6)}"
        return os.path.join(self._root, stem + self._dice.choice((".md", ".md", ".txt")))

    def _write(self, path: str) -> None:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        # A note without a heading is called after its file: a rename then changes its title.
        text = self._text() if self._dice.random() < 0.8 else self._code()
        with open(path, "w", encoding="utf-8") as handle:
            handle.write(text)

    def _all(self) -> list[str]:
        found = [os.path.join(folder, name) for folder, _, names in os.walk(self._root) for name in names]
        return sorted(found)

    def _some(self, count: int) -> list[str]:
        notes = self._all()
        return self._dice.sample(notes, count) if len(notes) > count + 3 else []

    def _edit(self) -> None:
        for path in self._some(1):
            with open(path, "a", encoding="utf-8") as handle:
                handle.write(f"\n## Added\n\n{self._text()}")

    def _add(self) -> None:
        self._write(self._new_name())

    def _remove(self) -> None:
        for path in self._some(1):
            os.remove(path)

    def _rename(self) -> None:
        for path in self._some(1):
            target = self._new_name()
            os.makedirs(os.path.dirname(target), exist_ok=True)
            os.rename(path, target)

    def _swap(self) -> None:
        if pair := self._some(2):
            one, two = pair
            os.rename(one, one + ".tmp")
            os.rename(two, one)
            os.rename(one + ".tmp", two)

    def _move_over(self) -> None:
        if pair := self._some(2):
            os.replace(*pair)
