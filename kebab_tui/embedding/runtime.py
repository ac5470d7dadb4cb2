"""onnxruntime, told before it starts that it must not tell anybody.

From 1.29 on its packages collect what machine, program and model they run with, keep
that in the user's cache folder and send it away unless this is set when the library
starts: `disable_telemetry_events` comes too late for the first report.
"""

from __future__ import annotations

import os

os.environ["ORT_DISABLE_TELEMETRY"] = "1"

import onnxruntime as ort

ort.disable_telemetry_events()  # what other systems than POSIX listen to

__all__ = ["ort"]
