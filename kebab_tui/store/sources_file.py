"""A copy of the list of folders beside the database.

The notes can rebuild everything but this: which folders they are in. Written on every
change of a source, read only when a lost or damaged database is made anew.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import time
from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

from kebab_tui import own_files
from kebab_tui.domain.document import Source
from kebab_tui.store.connection import write_error

_DERIVED = ("state", "documents", "chunks")
_MOST_BYTES = 64 << 20
_SHOWN = 5


def write(path: str, sources: Iterable[Source]) -> None:
    """Replace the file as a whole or not at all."""
    facts = [{key: value for key, value in asdict(s).items() if key not in _DERIVED} for s in sources]
    try:
        own_files.replace(path, json.dumps(facts, indent=1).encode("ascii"))
    except OSError as error:
        raise write_error(error, path) from error


def read(path: str) -> list[Source]:
    """The sources as last written; none when there is no file or it is unreadable."""
    return examine(path)[0]


def examine(path: str) -> tuple[list[Source], str]:
    """The sources of all valid entries, and what is wrong with the file; empty when nothing is."""
    try:
        entries = own_files.read_json(path, _MOST_BYTES)
    except FileNotFoundError:
        return [], ""
    except OSError as error:
        return [], f"cannot be read: {error.strerror}"
    except ValueError:
        return [], "is not valid JSON"
    if not isinstance(entries, list):
        return [], "is not a list of folders"
    sources: list[Source] = []
    bad: list[int] = []
    for number, source in enumerate(map(_to_source, entries), 1):
        if source is None or any(s.source_id == source.source_id or s.root == source.root for s in sources):
            bad.append(number)
        else:
            sources.append(source)
    return sources, f"has {_invalid(bad)}" if bad else ""


def set_aside(path: str) -> str:
    """Keep a list that cannot be read as a whole under another name; gives that name."""
    aside = f"{path}.unusable-{time.strftime('%Y%m%d-%H%M%S')}"
    with contextlib.suppress(OSError):  # it stays until the next list is written
        os.replace(path, aside)
    return aside


def _invalid(numbers: list[int]) -> str:
    shown = ", ".join(map(str, numbers[:_SHOWN]))
    more = f" and {len(numbers) - _SHOWN} more" if numbers[_SHOWN:] else ""
    return f"{'invalid entries' if numbers[1:] else 'an invalid entry'} ({shown}{more})"


def _to_source(entry: Any) -> Source | None:
    """None for an entry that is invalid, or could not be stored."""
    import msgspec  # only whoever has lost a database needs it

    try:
        facts = {key: value for key, value in entry.items() if key not in _DERIVED}
        source = msgspec.convert(facts, Source)
        root = os.fsencode(source.root)
        f"{source.source_id}{source.version_label}".encode()
    except (AttributeError, ValueError, msgspec.ValidationError):
        return None
    is_sound = source.source_id and os.path.isabs(root) and b"\0" not in root and math.isfinite(source.weight)
    return source if is_sound else None
