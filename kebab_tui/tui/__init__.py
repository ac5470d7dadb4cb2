"""`kebab-tui`, the screen. The package root imports nothing until it is called."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def main(argv: Sequence[str] | None = None) -> None:
    """The console script: runs the screen and exits with its code."""
    import os

    # NumPy would start a thread per processor, which spins while the user types.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # Textual paints at this rate. At its default of 60, a key right after a paint is shown up to
    # 33 ms later.
    os.environ.setdefault("TEXTUAL_FPS", "250")
    try:
        from kebab_tui.tui.startup import prepare_startup

        prepare_startup()
        from kebab_tui.tui.launch import main as launch

        launch(argv)
    except KeyboardInterrupt:  # before the screen starts; later Ctrl+C is a key
        os._exit(130)
