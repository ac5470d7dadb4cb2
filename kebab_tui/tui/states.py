"""What the screen says where there are no hits: first run, nothing found, a refused query. Pure text."""

from __future__ import annotations

from collections.abc import Sequence

EXAMPLES = ('"a phrase"', "-word", "tag:rust", "path:notes/**", "lang:ko", "after:7d")


def first_run(key: str) -> tuple[str, ...]:
    """No folder is known yet: what to do, and the one key that needs nothing."""
    return (
        "Nothing is indexed yet.",
        "",
        "kebab-tui FOLDER   search a folder of notes; your files are only read",
        f"{key}   look around in the sample notes that come with kebab",
        "",
        "The index goes to your data folder, never among the notes.",
    )


def indexing() -> tuple[str, ...]:
    return ("Reading your notes. Hits appear as soon as there are some; you can type already.",)


def nothing_found(query: str, filters: Sequence[str], key: str) -> tuple[str, ...]:
    """Which filters are in force, and how to drop one."""
    lines = [f"No hits for {query}", ""]
    if filters:
        lines += [f"In force: {'  '.join(filters)}", f"{key}   drops the last filter"]
    else:
        lines += ["Fewer or other words may help; so may another mode."]
    return tuple(lines)


def nothing_typed() -> tuple[str, ...]:
    return ("Type to search. " + "  ".join(EXAMPLES),)


def refused(message: str, hint: str) -> tuple[str, ...]:
    return (message, hint) if hint else (message,)


def too_small() -> str:
    return "the terminal is too small for more than one pane"
