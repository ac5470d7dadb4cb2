"""Measures PDF files through the child process: pages a second, reading order, memory.

    python -m tests.benchmarks.bench_pdf [FOLDER]      default: /usr/share, with the documentation of Debian

The order is compared with that of `pdftotext` (poppler), on pages that it shows as one column: those where
hardly a line of `pdftotext -layout` has a wide gap. It is the share of its words that a longest common
subsequence keeps. The memory is that of a process that indexes notes, with and without PDF files among them.
"""

from __future__ import annotations

import gzip
import re
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import pairwise
from pathlib import Path

from kebab_tui.domain.checkpoint import UNLIMITED
from kebab_tui.domain.document import ParsedNote
from kebab_tui.domain.errors import UnreadableFileError
from kebab_tui.formats import isolated
from kebab_tui.formats.registry import FORMATS
from tests.benchmarks.measuring import Figure, machine, report

PAGES = 300
_PDF = FORMATS["pdf"]
_MOST_FILES = 40
_LARGEST = 8 << 20
_WIDE_GAP = re.compile(r"\S {3,}\S")
_INGEST = """
import resource, sys
from kebab_tui.settings.settings import ReadingSettings, Settings
from kebab_tui.workspace import Callbacks, Workspace
workspace = Workspace(Settings(reading=ReadingSettings(pdf=sys.argv[3] == "pdf")), sys.argv[2])
workspace.ingest([sys.argv[1]], Callbacks())
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
"""


@dataclass(frozen=True, slots=True)
class Order:
    """On one-column pages: the words of pdftotext, and those of them that we have in its order."""

    pages: int
    words: int
    kept: int

    @property
    def share(self) -> float:
        return self.kept / max(self.words, 1)


def documents(folder: str) -> Iterator[bytes]:
    """The documents in a folder, also compressed ones; not the very large ones."""
    found = sorted(path for path in Path(folder).rglob("*.pdf*") if path.suffix in (".pdf", ".gz"))
    for path in found:
        if path.is_file() and path.stat().st_size <= _LARGEST:
            data = path.read_bytes()
            yield gzip.decompress(data) if path.suffix == ".gz" else data


def parsed(folder: str) -> Iterator[tuple[bytes, ParsedNote]]:
    count = 0
    for data in documents(folder):
        try:
            note = _PDF.parse(data, "a.pdf", UNLIMITED)
        except UnreadableFileError:
            continue
        if len(note.pages) >= 10:
            yield data, note
            count += 1
            if count == _MOST_FILES:
                return


def pages_a_second(folder: str) -> tuple[int, float]:
    """The number of pages, and how many the child and this process parse in a second of CPU time."""
    found = [data for data, _ in parsed(folder)]
    isolated.close()
    before = _cpu_seconds()
    pages = sum(len(_PDF.parse(data, "a.pdf", UNLIMITED).pages) for data in found)
    isolated.close()
    return pages, pages / (_cpu_seconds() - before)


def _cpu_seconds() -> float:
    used = [resource.getrusage(whose) for whose in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


def order(folder: str, pages: int = PAGES) -> Order:
    """Compare the first one-column pages of each document, `pages` in all."""
    found = list(parsed(folder))
    each = -(-pages // max(len(found), 1)) * 2
    total = Order(0, 0, 0)
    for data, note in found:
        with tempfile.NamedTemporaryFile(suffix=".pdf") as file:
            file.write(data)
            file.flush()
            reference, layout = _pdftotext(file.name), _pdftotext("-layout", file.name)
        taken = 0
        shown = pairwise((*note.pages, len(note.lines) + 1))
        for (first, end), theirs, rows in zip(shown, reference, layout, strict=False):
            if taken == each or total.pages == pages:
                break
            if _is_one_column(rows):
                taken += 1
                words = _words(theirs)
                kept = _in_order(words, _words("\n".join(note.lines[first - 1 : end - 1])))
                total = Order(total.pages + 1, total.words + len(words), total.kept + kept)
    return total


def _pdftotext(*arguments: str) -> list[str]:
    argv = ["pdftotext", "-enc", "UTF-8", *arguments, "-"]
    return subprocess.run(argv, capture_output=True, text=True, check=True).stdout.split("\f")


def _is_one_column(page: str) -> bool:
    lines = [line for line in page.split("\n") if line.strip()]
    return len(lines) >= 10 and sum(bool(_WIDE_GAP.search(line)) for line in lines) <= len(lines) / 20


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text)


def _in_order(theirs: Sequence[str], ours: Sequence[str]) -> int:
    matcher = SequenceMatcher(None, theirs, ours, autojunk=False)
    return sum(block.size for block in matcher.get_matching_blocks())


def peak_megabytes(folder: str) -> tuple[float, float]:
    """The peak memory of a process that indexes 2,000 notes, without and with PDF files beside them."""
    with tempfile.TemporaryDirectory() as place:
        notes = Path(place, "notes")
        notes.mkdir()
        for number in range(2_000):
            (notes / f"{number}.md").write_text(f"# Note {number}\n\n" + "words of a note\n" * 60)
        for number, (data, _) in enumerate(parsed(folder)):
            (notes / f"{number}.pdf").write_bytes(data)
        peaks = []
        for kind in ("notes", "pdf"):
            argv = [sys.executable, "-c", _INGEST, str(notes), str(Path(place, kind)), kind]
            peaks.append(float(subprocess.run(argv, capture_output=True, text=True, check=True).stdout))
    return peaks[0], peaks[1]


def main() -> int:
    folder = sys.argv[1] if len(sys.argv) > 1 else "/usr/share"
    print(machine())
    pages, rate = pages_a_second(folder)
    compared = order(folder)
    before, after = peak_megabytes(folder)
    report(
        f"PDF files of {folder}",
        [
            Figure("pages", pages, ""),
            Figure("CPU time of a page, with the start of the child", 1_000 / rate, "ms", 1_000 / 400),
            Figure("one-column pages compared", compared.pages, ""),
            Figure("words of pdftotext that are out of its order", 100 * (1 - compared.share), "%", 1.0),
            Figure("memory of the indexer for PDF files", after - before, "MB", 50),
        ],
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
