"""`kebab` for scripts and the command line. The package root imports nothing until it is called."""


def main() -> None:
    """The console script: runs the verb named on the command line and exits with its code."""
    import os

    try:
        import gc
        import sys

        from kebab_tui.cli.progress import CtrlC

        # NumPy's algebra starts a thread per processor that spins a while: a third of a cold search by
        # meaning.
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
        gc.set_threshold(100_000)  # a short run makes little garbage, but imports set the collector off often
        with CtrlC():
            from kebab_tui.cli.edge import run
            from kebab_tui.cli.main import cli

            code = run(cli, sys.argv[1:])
            # Everything is written and closed; taking the interpreter apart would cost as much as a search.
            os._exit(code)
    except BaseException as error:
        if not isinstance(error.__cause__ or error, KeyboardInterrupt):
            raise
        os._exit(130)  # pressed while the imports above were still running
