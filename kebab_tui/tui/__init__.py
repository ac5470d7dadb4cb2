"""`kebab-tui`, the screen. The package root imports nothing until it is called."""


def main() -> None:
    """The console script: runs the screen and exits with its code."""
    from kebab_tui.tui.launch import main as launch

    launch()
