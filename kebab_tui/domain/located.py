"""Where an indexed passage stands in its file now, next to where the index says it stands.

`same`: at the indexed lines. `moved`: the same text, `shift` lines further down (negative: up).
`changed`: the text is another; `span` is what resembles it most or, where nothing does, the
indexed lines as far as the file has them. `gone`: there is no such file; `span` is the indexed one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from kebab_tui.domain.citation import SourceSpan

LocatedState = Literal["same", "moved", "changed", "gone"]


@dataclass(frozen=True, slots=True)
class Located:
    """Lines of the present file, 1-based and inclusive. `shift` is present first minus indexed first."""

    span: SourceSpan
    state: LocatedState
    shift: int = 0
