"""Imports onnxruntime with telemetry disabled.

Packages of 1.29 and later collect data about the machine, the program and the model, cache it
in the user's cache folder and upload it, unless this variable is set when the library starts:
`disable_telemetry_events` is too late for the first report.
"""

from __future__ import annotations

import os

os.environ["ORT_DISABLE_TELEMETRY"] = "1"

import onnxruntime as ort

ort.disable_telemetry_events()  # used on systems other than POSIX

__all__ = ["ort"]
