"""What the interpreter does otherwise while the screen starts than while somebody types.

What the start makes (modules, classes, styles) lives as long as the screen. A look at all
of it by the garbage collector takes 30 ms, ten times as long as the echo of a key, and
would come again and again. And while the engine is imported, changing threads often costs
a tenth of the time to the first hits; later a key must not wait for the engine's thread.
"""

from __future__ import annotations

import gc
import sys

AT_LAST_S = 15.0
"""After this time nothing is held any more, even when the engine has not come."""

_TURN_AT_START_S, _TURN_S = 0.0005, 0.0001
"""How long a thread works on while another one waits."""


def hold() -> None:
    """Collect nothing while the screen starts."""
    gc.disable()
    sys.setswitchinterval(_TURN_AT_START_S)


def settle() -> None:
    """Collect again, but leave alone what is there by now; nothing where nothing was held."""
    if not gc.isenabled():
        gc.freeze()
        gc.enable()
        sys.setswitchinterval(_TURN_S)
