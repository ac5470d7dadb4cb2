"""`python -m models.build`: rebuild the bundled model, or check one that exists.

Nothing of the shipped folder changes until every gate is kept. Exit code 0: kept; 1: a gate was missed; 2: an input
could not be had or was not what the manifest names.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from models.build import build, gates, manifest, minilm, sources
from models.build.archives import open_archive
from models.build.encoder import Encoder
from models.build.fetch import UnavailableError, WrongChecksumError, fetch
from models.build.narration import say

HERE = Path(__file__).parent
SHIPPED = HERE.parent / "kebab-ko-en"


def main(arguments: Sequence[str] | None = None) -> int:
    options = parser().parse_args(arguments)
    try:
        return _run(options)
    except (UnavailableError, WrongChecksumError, FileNotFoundError) as error:
        say(f"error: {error}")
        return 2


def parser() -> argparse.ArgumentParser:
    """The command line."""
    made = argparse.ArgumentParser(prog="python -m models.build", description="Rebuild the bundled model.")
    made.add_argument(
        "--out", type=Path, default=SHIPPED, metavar="DIR", help="where the model goes if it keeps the gates"
    )
    made.add_argument(
        "--cache", type=Path, default=HERE / ".cache", metavar="DIR", help="downloads and the candidate"
    )
    made.add_argument(
        "--beir", type=Path, metavar="DIR", help="also gate retrieval on the test sets in this folder"
    )
    made.add_argument(
        "--threads", type=int, default=1, metavar="N", help="threads to train and encode with (1)"
    )
    made.add_argument(
        "--check", type=Path, metavar="DIR", help="build nothing; measure the model in this folder"
    )
    return made


def _run(options: argparse.Namespace) -> int:
    pinned = manifest.load()
    archives = options.cache / "archives"
    say("fetching and reading the sources")
    english = minilm.load(open_archive(fetch(pinned.weights, archives).path))
    gathered = sources.gather_all(pinned.sources, archives)
    say(f"{len(gathered.pairs):,} texts from {len(gathered.contributions)} sources")
    candidate = options.check
    if candidate is None:
        candidate = options.cache / "candidate"
        build.build(pinned, english, gathered, candidate, options.threads)
    say("checking the gates")
    kept = _gates(candidate, english, gathered, options)
    for deviation in gathered.deviations:
        print(f"note  {deviation}")
    if options.check is None and kept:
        build.publish(candidate, options.out)
        say(f"done: {options.out}")
    elif not kept:
        say(f"a gate was missed; {candidate} stays where it is and nothing was shipped")
    return 0 if kept else 1


def _gates(
    folder: Path, english: minilm.MiniLM, gathered: sources.Gathered, options: argparse.Namespace
) -> bool:
    tokenizer = (folder / build.TOKENIZER).read_text(encoding="utf-8")
    built = Encoder((folder / build.MODEL).read_bytes(), tokenizer, build.MAX_TOKENS, options.threads)
    teacher = Encoder(
        build.english_graph(english, "float32"), english.tokenizer, build.MAX_TOKENS, options.threads
    )
    kept = True
    for gate in gates.measure(built, teacher, gates.english_sample(gathered.pairs), options.beir):
        print(gate, flush=True)
        kept = kept and gate.kept
    if options.beir is None:
        print("note  retrieval was not measured: no --beir folder")
    return kept


if __name__ == "__main__":
    sys.exit(main())
