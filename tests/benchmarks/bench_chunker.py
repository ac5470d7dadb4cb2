"""Measures scanning and chunking against markdown-it-py on real notes, in one process.

    python tests/benchmarks/bench_chunker.py --corpus FOLDER [--rounds 3] [--sample 3000]

Both sides get the decoded text of the same notes without front matter; ours includes the
split into lines. They take turns batch by batch, so that a busy machine slows both alike;
the rates are of the fastest round, the ratio is of the summed times.
"""

from __future__ import annotations

import argparse
import os
import platform
import random
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import markdown_it
from markdown_it import MarkdownIt

from kebab_tui import __version__
from kebab_tui.chunking.chunker import chunk
from kebab_tui.domain.document import CHUNKER_VERSION, ParsedNote
from kebab_tui.formats.markdown import scan_markdown

BATCH = 100
_MARKDOWN = MarkdownIt("commonmark").enable("table")


def scan(text: str) -> None:
    scan_markdown(text.split("\n"))


def scan_and_chunk(text: str) -> None:
    lines = tuple(text.split("\n"))
    chunk(ParsedNote("", "markdown", "und", lines, scan_markdown(lines)))


def parse(text: str) -> None:
    _MARKDOWN.parse(text)


SIDES: dict[str, Callable[[str], None]] = {
    "scan": scan,
    "scan + chunk": scan_and_chunk,
    "markdown-it-py": parse,
}


def bodies(corpus: Path) -> Iterator[str]:
    """The notes' texts without their front matter, which neither side is asked to read."""
    for path in sorted(corpus.rglob("*.md")):
        if path.is_file():
            text = path.read_text("utf-8", "replace").replace("\r\n", "\n")
            end = text.find("\n---\n", 3) if text.startswith("---\n") else -1
            yield text[end + 5 :] if end >= 0 else text


def take(side: Callable[[str], None], batch: Sequence[str]) -> float:
    begin = time.perf_counter()
    for text in batch:
        side(text)
    return time.perf_counter() - begin


def measure(texts: Sequence[str], rounds: int) -> dict[str, list[float]]:
    """Seconds that each side took in each round."""
    seconds: dict[str, list[float]] = {name: [] for name in SIDES}
    for _ in range(rounds):
        for times in seconds.values():
            times.append(0.0)
        for begin in range(0, len(texts), BATCH):
            for name, side in SIDES.items():
                seconds[name][-1] += take(side, texts[begin : begin + BATCH])
    return seconds


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    options.add_argument("--corpus", type=Path, required=True)
    options.add_argument("--rounds", type=int, default=3)
    options.add_argument("--sample", type=int, default=0, help="only so many notes, chosen by a fixed seed")
    given = options.parse_args()
    texts = list(bodies(given.corpus))
    if not texts:
        print(f"no Markdown in {given.corpus}", file=sys.stderr)
        return 2
    if 0 < given.sample < len(texts):
        texts = random.Random(1).sample(texts, given.sample)
    megabytes = sum(len(text.encode()) for text in texts) / 1e6
    print(f"kebab {__version__}, chunker {CHUNKER_VERSION}, markdown-it-py {markdown_it.__version__}")
    print(f"Python {platform.python_version()}, {platform.platform()}, {os.cpu_count()} cores")
    print(f"{len(texts)} notes, {megabytes:.1f} MB, {given.rounds} rounds, load {os.getloadavg()[0]:.1f}")
    seconds = measure(texts, given.rounds)
    reference = sum(seconds["markdown-it-py"])
    for name, times in seconds.items():
        best = min(times)
        print(
            f"{name:15} {len(texts) / best:9,.0f} files/s {megabytes / best:8.1f} MB/s"
            f"   {reference / sum(times):5.1f} x markdown-it-py"
        )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
