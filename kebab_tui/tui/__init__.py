"""`kebab-tui`, the screen. This version has none yet and says what to use instead."""


def main() -> None:
    """The console script: refuses, and points to the same search without a screen."""
    import sys

    sys.stderr.write('error: this version has no screen yet\n  hint: kebab search "a few words"\n')
    sys.exit(2)
