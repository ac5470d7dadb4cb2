"""The versions of the rules that make passages of files.

An index remembers which of them it was made by. They stand here, and not beside the rules,
because every search compares them and must not load what reads notes.
"""

from __future__ import annotations

PARSER_VERSION = "parse-2"
"""Raise it when the same bytes are to give other facts or blocks: every file is then read again."""

CHUNKER_VERSION = "2"
"""Part of every chunk's id: raise it when the same note is to give other passages."""


def chunker(target: int, cap: int) -> str:
    """The chunker with its settings, as chunk ids and answers carry it."""
    return f"{CHUNKER_VERSION}:{target}-{cap}"


def made_by(chunker: str) -> str:
    """What read and cut a note; a different maker means that the note is read again."""
    return f"{PARSER_VERSION}/{chunker}"


def chunker_of(maker: str) -> str:
    return maker.partition("/")[2]
