"""The interpreter leaves a starting screen alone, and works as usual afterwards."""

from __future__ import annotations

import subprocess
import sys

from tests.command_line import ROOT

_SCRIPT = """
import gc
from kebab_tui.tui.startup import prepare_startup, tune_for_typing
tune_for_typing()
assert gc.isenabled() and not gc.get_freeze_count(), "nothing was held"
prepare_startup()
assert not gc.isenabled()
tune_for_typing()
assert gc.isenabled() and gc.get_freeze_count() > 1000
frozen = gc.get_freeze_count()
tune_for_typing()
assert gc.get_freeze_count() == frozen
"""


def test_objects_of_the_start_are_exempt_from_collection() -> None:
    subprocess.run([sys.executable, "-c", _SCRIPT], check=True, cwd=ROOT)


def test_a_key_behind_an_answer_waits_for_no_slow_clock() -> None:
    script = """
from kebab_tui import tui
from kebab_tui.tui import launch
launch.main = lambda argv: None
tui.main()
from textual.screen import UPDATE_PERIOD
assert UPDATE_PERIOD < 0.005, "the library reads this when it is imported"
"""
    subprocess.run([sys.executable, "-c", script], check=True, cwd=ROOT)
