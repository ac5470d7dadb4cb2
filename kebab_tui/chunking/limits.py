"""How large passages are, and where a run of small parts may be cut.

Sizes are characters of the cited text, line ends included. A cut between small parts is
chosen by what the parts say, not by counting from the top: so an edit moves the cuts
beside it and leaves those further down alone, and unchanged passages keep their ids.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from zlib import crc32

_CUT_ONE_IN = 3


@dataclass(frozen=True, slots=True)
class ChunkLimits:
    target: int = 1200
    """What parts are gathered up to; a section up to a quarter larger is left whole."""
    cap: int = 4000
    """No passage is larger."""
    small: int = 300
    """Smaller sections share a passage with their small neighbours; Hangul counts double here."""
    long_code: int = 15
    """Code of more lines is a passage by itself."""

    whole: int = field(init=False)
    """The largest section or gathering that is not cut for its size alone."""
    enough: int = field(init=False)
    """From this size on a passage may end where the text allows."""

    def __post_init__(self) -> None:
        if not 0 < self.small <= self.target <= self.cap:
            raise ValueError(f"not 0 < small <= target <= cap: {self.small}, {self.target}, {self.cap}")
        object.__setattr__(self, "whole", min(self.target + self.target // 4, self.cap))
        object.__setattr__(self, "enough", self.target * 2 // 3)


def is_cut(line: str) -> bool:
    """Whether a passage that has enough ends before a part that begins with `line`."""
    return crc32(line.encode("utf-8", "surrogatepass")) % _CUT_ONE_IN == 0
