"""`kebab-tui`, the screen. The package root imports nothing until it is called."""


def main() -> None:
    """The console script: runs the screen and exits with its code."""
    import os

    # NumPy's algebra would start a thread per processor, which spins while somebody types.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from kebab_tui.tui.settling import hold

    hold()
    from kebab_tui.tui.launch import main as launch

    launch()
