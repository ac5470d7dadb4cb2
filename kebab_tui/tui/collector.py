"""Keeps the garbage collector out of the way of a frame.

What the start makes (modules, classes, styles) lives as long as the screen. A look at all
of it takes 30 ms, ten times as long as the echo of a key, and would come again and again.
"""

from __future__ import annotations

import gc

SETTLED_S = 2.0
"""After this time the engine is there, too."""


def hold() -> None:
    """Collect nothing while the screen starts."""
    gc.disable()


def settle() -> None:
    """Collect again, but leave alone what is there by now; nothing where nothing was held."""
    if not gc.isenabled():
        gc.freeze()
        gc.enable()
