"""How much of a file is read at all, and what is said when that is not enough."""

from __future__ import annotations

from dataclasses import dataclass

from kebab_tui.domain.errors import UnsuitableFileError

MEGABYTE = 1024 * 1024


@dataclass(frozen=True, slots=True)
class ReadLimits:
    max_bytes: int = 8 * MEGABYTE

    def check(self, size: int) -> None:
        if size > self.max_bytes:
            raise UnsuitableFileError(
                f"larger than {self.max_bytes / MEGABYTE:.3g} MB",
                "Split the note, or raise the limit in the settings.",
            )
