"""Dates as they are typed in a filter: `2026`, `2026-01`, `2026-01-31`, `7d`, `2w`, `today`.

A date stands for its first instant in the clock's own time zone (the machine's, when
the clock names none).
"""

from __future__ import annotations

import re
from datetime import datetime, timedelta

_DATE = re.compile(r"([0-9]{4})(?:-([0-9]{1,2})(?:-([0-9]{1,2}))?)?")
_AGO = re.compile(r"([0-9]{1,5})([dw])")
_DAYS = {"d": 1, "w": 7}


def instant(text: str, now: datetime) -> int | None:
    """Read a date as nanoseconds since the epoch; None when it is none."""
    try:
        moment = _moment(text.strip().lower(), now)
        return None if moment is None else int(moment.timestamp()) * 1_000_000_000
    except (ValueError, OverflowError, OSError):
        return None


def _moment(text: str, now: datetime) -> datetime | None:
    midnight = now.replace(hour=0, minute=0, second=0, microsecond=0)
    if text in {"today", "yesterday"}:
        return midnight - timedelta(days=text == "yesterday")
    if ago := _AGO.fullmatch(text):
        return now - timedelta(days=int(ago[1]) * _DAYS[ago[2]])
    if date := _DATE.fullmatch(text):
        return datetime(int(date[1]), int(date[2] or 1), int(date[3] or 1), tzinfo=now.tzinfo)
    return None
