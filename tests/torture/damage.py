"""What may happen to a file of the index while nobody looks, and which files there are."""

from __future__ import annotations

import contextlib
import functools
import os
import random
import shutil
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass

from kebab_tui.vectors.sync import FILE_NAME

Harm = Callable[[str, random.Random], None]

_PAGE = 4096
DATABASE, LOG, VECTORS = "kebab.sqlite", "kebab.sqlite-wal", FILE_NAME
MODEL = "models/tiny"


def missing(path: str, _: random.Random) -> None:
    os.remove(path)


def emptied(path: str, _: random.Random) -> None:
    os.truncate(path, 0)


def cut_short(path: str, dice: random.Random) -> None:
    os.truncate(path, dice.randrange(1, os.path.getsize(path)))


def page_of_zeros(path: str, dice: random.Random) -> None:
    pages = max(1, os.path.getsize(path) // _PAGE)
    _overwrite(path, dice.randrange(pages) * _PAGE, bytes(min(_PAGE, os.path.getsize(path))))


def flipped_bit(path: str, dice: random.Random) -> None:
    place = dice.randrange(os.path.getsize(path))
    with open(path, "rb") as handle:
        handle.seek(place)
        byte = handle.read(1)[0]
    _overwrite(path, place, bytes([byte ^ 1 << dice.randrange(8)]))


def random_bytes(path: str, dice: random.Random) -> None:
    _overwrite(path, 0, dice.randbytes(os.path.getsize(path)))


def a_folder(path: str, _: random.Random) -> None:
    os.remove(path)
    os.mkdir(path)


def unreadable(path: str, _: random.Random) -> None:
    """A link to itself: not even the superuser opens it."""
    os.remove(path)
    os.symlink(path, path)


def other_file(name: str) -> Harm:
    """Another file in its place."""
    return functools.partial(_put, name)


def _put(name: str, path: str, _: random.Random) -> None:
    shutil.copyfile(os.path.join(os.path.dirname(path), name), path)


def text(content: str) -> Harm:
    return functools.partial(_write, content)


def _write(content: str, path: str, _: random.Random) -> None:
    with open(path, "w", encoding="utf-8") as handle:
        handle.write(content)


def sql(statement: str) -> Harm:
    """What another version of the program, or another program, would have left."""
    return functools.partial(_run, statement)


def _run(statement: str, path: str, _: random.Random) -> None:
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.executescript(statement)


def _overwrite(path: str, place: int, data: bytes) -> None:
    with open(path, "r+b") as handle:
        handle.seek(place)
        handle.write(data)


@dataclass(frozen=True, slots=True)
class Damage:
    """`tries`: at so many different places."""

    file: str
    name: str
    harm: Harm
    tries: int = 1


_ANY: tuple[tuple[str, Harm, int], ...] = (
    ("missing", missing, 1),
    ("emptied", emptied, 1),
    ("cut short", cut_short, 4),
    ("page of zeros", page_of_zeros, 6),
    ("flipped bit", flipped_bit, 12),
    ("random bytes", random_bytes, 1),
    ("a folder", a_folder, 1),
    ("unreadable", unreadable, 1),
)


def _each(file: str, *extra: Damage, times: int = 1, leaving_out: tuple[str, ...] = ()) -> tuple[Damage, ...]:
    usual = [
        Damage(file, name, harm, tries if tries == 1 else tries * times)
        for name, harm, tries in _ANY
        if name not in leaving_out
    ]
    return (*usual, *extra)


DAMAGES: tuple[Damage, ...] = (
    *_each(
        DATABASE,
        Damage(DATABASE, "of another program", sql("PRAGMA application_id = 77")),
        Damage(DATABASE, "of a newer version", sql("PRAGMA user_version = 99")),
        Damage(DATABASE, "an older one", other_file("older.sqlite")),
        times=5,
    ),
    *_each(LOG),
    *_each(
        VECTORS,
        Damage(VECTORS, "of another model", other_file("other-model.kebabvec")),
        Damage(VECTORS, "of another index", other_file("other-index.kebabvec")),
        Damage(VECTORS, "of a newer database", other_file("newer.kebabvec")),
    ),
    *_each(
        f"{MODEL}/model.onnx",
        Damage(f"{MODEL}/model.onnx", "of another model", other_file("../tiny-other/model.onnx")),
        Damage(
            f"{MODEL}/model.onnx", "a pointer to it", text("version https://git-lfs.github.com/spec/v1\n")
        ),
    ),
    *_each(f"{MODEL}/tokenizer.json"),
    *_each(
        f"{MODEL}/model.toml", Damage(f"{MODEL}/model.toml", "unknown keys", text("id = 'tiny'\nx = 1\n"))
    ),
    *_each("sources.json", Damage("sources.json", "no list", text("{}"))),
    *_each("writer.lock", leaving_out=("emptied", "cut short", "page of zeros", "flipped bit")),
    *_each("live.json", leaving_out=("cut short", "page of zeros", "flipped bit")),
)
