"""The command line program `kebab`. Importing the package loads nothing else."""


def main() -> None:
    """Entry point of the console script: run the verb and exit with its code."""
    import os

    try:
        import gc
        import sys

        from kebab_tui.cli.interrupt import CtrlC

        # OpenBLAS starts a spinning thread for each processor: a third of a cold search by meaning.
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
        gc.set_threshold(100_000)  # a short run makes little garbage, but imports trigger many collections
        with CtrlC():
            from kebab_tui.cli.edge import run
            from kebab_tui.cli.main import cli

            code = run(cli, sys.argv[1:])
            # Everything is written and closed; a normal interpreter exit would take as long as a search.
            os._exit(code)
    except BaseException as error:
        if not isinstance(error.__cause__ or error, KeyboardInterrupt):
            raise
        os._exit(130)  # pressed while the imports above were still running
