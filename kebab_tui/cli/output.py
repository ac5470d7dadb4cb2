"""How verbs write: data to stdout, narration to stderr, text from outside always made visible.

Nothing here knows a verb. Data for people is given as lines; a line that goes through
`field` cannot break out of its row.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from kebab_tui.domain.text import visible

if TYPE_CHECKING:
    from kebab_tui.wire.encode import Json

_ROW_BREAKERS = str.maketrans({"\n": "␊", "\t": "␉"})


def write(line: str) -> None:
    """One line of data."""
    if sys.stdout is not None:  # None: whoever started us has closed it
        sys.stdout.write(line + "\n")


def write_json(value: Json) -> None:
    """One object on one line."""
    from kebab_tui.wire.encode import dumps

    write(dumps(value))


def say(line: str) -> None:
    """One line for whoever watches; data never goes this way."""
    if sys.stderr is not None:
        sys.stderr.write(line + "\n")


def field(text: str) -> str:
    """Text from outside as one cell of a row: nothing in it ends the cell or moves the cursor."""
    return visible(text).translate(_ROW_BREAKERS)


def plural(count: int, noun: str) -> str:
    """`1 note`, `2 notes`, `1,234 passages`."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"
