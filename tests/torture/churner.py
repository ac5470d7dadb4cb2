"""Somebody who changes a large folder of notes in every way that editors, sync tools and people do.

The same seed makes the same notes; while indexing runs beside it, only the choice of operations is the
same. No operation cares what is in its way: one that finds nothing to work on does nothing.
"""

from __future__ import annotations

import os
import random
import shutil
import unicodedata
from collections.abc import Callable, Sequence
from typing import Literal

from tests.torture.edits import WORDS

_FOLDERS = ("notes", "ops/run", "ops/deep/er", "일지", "reading list", "2026/11")
_STEMS = ("meeting", "shopping list", "draft", "포트 충돌", "회의록", "café", "README", "x86+arm")
_FORMS: tuple[Literal["NFC", "NFD"], ...] = ("NFC", "NFD")
_BODIES = 300
"""So few that most passages of a large folder share their vectors with others."""
_IGNORED = ("draft*\n", "*.txt\n!keep.txt\n", "reading list/\n")
_RULE_FILES = (".gitignore", ".kebabignore", ".kebabprivate")


class Churner:
    def __init__(self, root: str, seed: int) -> None:
        self._root = root
        self._dice = random.Random(seed)
        self._made = 0
        self._bodies = [self._new_body() for _ in range(_BODIES)]
        self.operations = 0

    def fill(self, notes: int) -> None:
        for _ in range(notes):
            self._save(self._new_path(), self._body())

    def change(self) -> None:
        self.operations += 1
        try:
            self._dice.choice(_OPERATIONS)(self)
        except FileNotFoundError:
            return  # in a folder that has gone since

    # What notes are called and hold

    def _new_path(self) -> str:
        self._made += 1
        stem = f"{self._dice.choice(_STEMS)} {self._made}"
        name = unicodedata.normalize(
            self._dice.choice(_FORMS), stem + self._dice.choice((".md", ".md", ".md", ".txt"))
        )
        return os.path.join(self._root, self._dice.choice(_FOLDERS), name)

    def _words(self, least: int, most: int) -> str:
        return " ".join(self._dice.choices(WORDS, k=self._dice.randint(least, most)))

    def _new_body(self) -> str:
        dice = self._dice
        if dice.random() < 0.2:  # called after its file: a rename changes its title
            return f"{self._words(10, 90)}\n"
        head = f"---\ntags: [{dice.choice(WORDS[:6])}]\n---\n" if dice.random() < 0.3 else ""
        title = f"# {self._words(1, 3)}\n\n" if dice.random() < 0.7 else ""
        parts = [f"## {self._words(1, 2)}\n\n{self._words(10, 90)}\n" for _ in range(dice.randint(1, 4))]
        body = head + title + "\n".join(parts)
        if dice.random() < 0.2:
            body += f"\n```\n{self._words(5, 9)}\n```\n"
        return body.replace("\n", "\r\n") if dice.random() < 0.1 else body

    def _body(self) -> bytes:
        body = self._dice.choice(self._bodies).encode()
        return b"\xef\xbb\xbf" + body if self._dice.random() < 0.05 else body

    def _some(self, count: int) -> Sequence[str]:
        """That many notes, or none."""
        found = [
            os.path.join(folder, name)
            for folder, _, names in os.walk(self._root)
            for name in names
            if not name.startswith(".")
        ]
        chosen = self._dice.sample(sorted(found), count) if len(found) >= count + 3 else ()
        return () if any(map(os.path.islink, chosen)) else chosen

    def _save(self, path: str, data: bytes, how: str = "wb") -> None:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, how) as handle:
            handle.write(data)

    # Contents

    def _write_anew(self) -> None:
        for path in self._some(1):
            self._save(path, self._body())

    def _append(self) -> None:
        for path in self._some(1):
            self._save(path, f"\n## {self._words(1, 2)}\n\n{self._words(3, 30)}\n".encode(), "ab")

    def _insert_above(self) -> None:
        for path in self._some(1):
            with open(path, "rb") as handle:
                data = handle.read()
            above = self._dice.choice(("\n", f"# {self._words(1, 2)}\n\n{self._words(3, 30)}\n\n"))
            self._save(path, above.encode() + data)

    def _replace_whole(self) -> None:
        """As most editors save: another file takes the place."""
        for path in self._some(1):
            self._save(path + ".tmp", self._body())
            os.replace(path + ".tmp", path)

    def _back_up_and_write(self) -> None:
        """As vim saves: the old file is moved away, a new one written, the old one removed."""
        for path in self._some(1):
            os.rename(path, path + "~")
            self._save(path, self._body())
            os.remove(path + "~")

    def _write_slowly(self) -> None:
        """The note is empty, then half written, then whole."""
        for path in self._some(1):
            data = self._body()
            half = len(data) // 2
            with open(path, "wb", buffering=0) as handle:
                handle.writelines((data[:half], data[half:]))

    def _truncate(self) -> None:
        for path in self._some(1):
            os.truncate(path, self._dice.randint(0, os.path.getsize(path)))

    def _same_size_and_time(self) -> None:
        """Other words, but the size and the time of the old ones."""
        for path in self._some(1):
            status = os.stat(path)
            with open(path, "rb") as handle:
                data = handle.read()
            self._save(path, data.swapcase())
            os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))

    def _make_binary(self) -> None:
        for path in self._some(1):
            self._save(path, bytes(range(256)))

    def _touch(self) -> None:
        for path in self._some(1):
            os.utime(path)

    # Names

    def _add(self) -> None:
        self._save(self._new_path(), self._body())

    def _copy(self) -> None:
        for path in self._some(1):
            target = self._new_path()
            os.makedirs(os.path.dirname(target), exist_ok=True)
            shutil.copy2(path, target)

    def _remove(self) -> None:
        for path in self._some(1):
            os.remove(path)

    def _move(self) -> None:
        for path in self._some(1):
            target = self._new_path()
            os.makedirs(os.path.dirname(target), exist_ok=True)
            os.rename(path, target)

    def _spell_otherwise(self) -> None:
        """The same name to read, other bytes."""
        for path in self._some(1):
            folder, name = os.path.split(path)
            composed, decomposed = (unicodedata.normalize(form, name) for form in _FORMS)
            os.rename(path, os.path.join(folder, decomposed if name == composed else composed))

    def _swap(self) -> None:
        for one, two in zip(*[iter(self._some(2))] * 2, strict=True):
            _swap_paths(one, two)

    def _move_over(self) -> None:
        for one, two in zip(*[iter(self._some(2))] * 2, strict=True):
            os.replace(one, two)

    # Folders, links, rules

    def _move_folder(self) -> None:
        self._made += 1
        old = os.path.join(self._root, self._dice.choice(_FOLDERS))
        new = os.path.join(self._root, f"moved {self._made}")
        os.rename(old, new)
        if self._dice.random() < 0.7:
            os.rename(new, old)

    def _swap_folders(self) -> None:
        one, two = self._dice.sample([_FOLDERS[0], *_FOLDERS[3:5]], 2)
        _swap_paths(os.path.join(self._root, one), os.path.join(self._root, two))

    def _link(self) -> None:
        for path in self._some(1):
            self._made += 1
            link = os.path.join(self._root, f"link {self._made}.md")
            os.symlink(self._dice.choice((path, os.path.dirname(path), "/etc")), link)

    def _replace_by_link(self) -> None:
        for one, two in zip(*[iter(self._some(2))] * 2, strict=True):
            os.remove(one)
            os.symlink(two, one)

    def _change_rules(self) -> None:
        folder = os.path.join(self._root, self._dice.choice(("", *_FOLDERS)))
        path = os.path.join(folder, self._dice.choice(_RULE_FILES))
        if os.path.exists(path):
            os.remove(path)
        else:
            self._save(path, self._dice.choice(_IGNORED).encode())


def _swap_paths(one: str, two: str) -> None:
    aside = one + ".tmp"
    os.rename(one, aside)
    try:
        os.rename(two, one)
    finally:
        os.rename(aside, one if not os.path.lexists(one) else two)


_OFTEN: tuple[Callable[[Churner], None], ...] = (
    Churner._write_anew, Churner._append, Churner._insert_above, Churner._replace_whole,
    Churner._back_up_and_write, Churner._write_slowly, Churner._truncate, Churner._same_size_and_time,
    Churner._add, Churner._move, Churner._swap,
)  # fmt: skip
_SELDOM: tuple[Callable[[Churner], None], ...] = (
    Churner._make_binary, Churner._touch, Churner._copy, Churner._remove, Churner._spell_otherwise,
    Churner._move_over, Churner._move_folder, Churner._swap_folders, Churner._link,
    Churner._replace_by_link, Churner._change_rules,
)  # fmt: skip
_OPERATIONS = (*_OFTEN * 3, *_SELDOM)
