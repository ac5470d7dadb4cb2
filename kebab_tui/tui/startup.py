"""Garbage collector and thread switch interval, for the start and for typing. Loaded before all else."""

from __future__ import annotations

import gc
import sys

TUNE_AT_LATEST_S = 15.0
"""The collector starts again after this time, even without an engine."""
_SWITCH_AT_START_S, _SWITCH_S = 0.0005, 0.0001
"""How long a thread runs while another one waits."""
_THRESHOLDS = (700, 10, 100)
"""Python's own but the last, which is 10: a full collection takes 30 ms, and came every ten keys."""
COLLECT_S = 2.0
"""Pause after the last key before all garbage is collected."""


def prepare_startup() -> None:
    """Disable the garbage collector, and switch threads less often, until `tune_for_typing`.

    Modules, classes and styles live as long as the screen; a full collection takes 30 ms, ten
    times as long as the echo of a key. Frequent thread switches slow the engine's imports by
    a tenth.
    """
    gc.disable()
    sys.setswitchinterval(_SWITCH_AT_START_S)


def tune_for_typing() -> None:
    """Enable the collector but exempt all present objects; keys do not wait for the engine's thread."""
    if not gc.isenabled():
        gc.freeze()
        gc.set_threshold(*_THRESHOLDS)
        gc.enable()
        sys.setswitchinterval(_SWITCH_S)


def collect() -> None:
    """Collect all garbage, while nobody types."""
    if gc.isenabled():
        gc.collect()
