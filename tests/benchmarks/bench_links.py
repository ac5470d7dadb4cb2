"""What links cost: reading them, the backlinks of the most linked note of 15,000, similar notes.

    python -m tests.benchmarks.bench_links FOLDER

FOLDER: real notes, for reading. The others are made notes: each of 15,000 links to ten others, a tenth of
them to one; 100,000 passages have random vectors. Processor time of one process, warm cache."""

from __future__ import annotations

import random
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from kebab_tui.domain.change import SaveNote
from kebab_tui.domain.checkpoint import UNLIMITED
from kebab_tui.domain.citation import SourceSpan
from kebab_tui.domain.document import Document, Fingerprint, Passage, Source, Trust
from kebab_tui.domain.facets import Facet
from kebab_tui.domain.ids import DocId, SourceId
from kebab_tui.domain.links import WrittenLink
from kebab_tui.formats.links import links_of
from kebab_tui.formats.markdown import scan_markdown
from kebab_tui.formats.prose import Prose
from kebab_tui.settings.settings import Settings
from kebab_tui.storage.lock import DataFolder
from kebab_tui.storage.sqlite.writer import StoreWriter
from kebab_tui.workspace import Workspace
from tests.benchmarks.measuring import Figure, machine, median, report

_NOTES, _LINKS, _PASSAGES, _ROUNDS = 15_000, 10, 100_000, 21
_DIMS = 384


def reading(folder: Path) -> Figure:
    """Megabytes of files per second of looking for links in their prose."""
    size, proses = 0, list[tuple[list[str], list[int]]]()
    for path in sorted(folder.rglob("*.md"))[:6_000]:
        text = path.read_text("utf-8", "replace")
        size += len(text.encode())
        lines, prose, numbers = text.split("\n"), list[str](), list[int]()
        for block in scan_markdown(lines):
            if block.kind not in ("code", "comment"):
                prose += lines[block.first - 1 : block.last]
                numbers += range(block.first, block.last + 1)
        proses.append((prose, numbers))

    def once() -> int:
        return sum(1 for one in proses for _ in links_of(Prose(*one, UNLIMITED), UNLIMITED))

    best = min(spent(once) for _ in range(5))
    print(f"  {len(proses):,} files, {size / 1e6:.1f} MB, {once():,} links")
    return Figure("reading the links of 50 MB of notes", 50 * best / (size / 1e6), "s", 1)


def spent(action: Callable[[], object]) -> float:
    start = time.process_time()
    action()
    return time.process_time() - start


def made_notes(passages: int) -> Iterator[SaveNote]:
    dice = random.Random(7)
    for number in range(_NOTES):
        name = f"note {number}"
        path = f"{number % 97}/{number % 13}/{name}.md"
        wanted = [0] * (dice.random() < 0.1) + [dice.randrange(_NOTES) for _ in range(_LINKS)]
        links = (WrittenLink(f"note {other}", "", "", "wiki", at + 1, 1) for at, other in enumerate(wanted))
        facets = (
            Facet("name", name),
            *(Facet("link", link.path, link.line, None, link.extra) for link in links),
        )
        texts = [f"passage {number} {part}" for part in range(passages // _NOTES + 1)]
        note = Document(
            DocId(f"{number:032x}"), SourceId("bench"), path, path.encode(), name, "markdown", "en",
            Trust.PRIMARY, Fingerprint(1, number, number, number), "x", facets=facets,
        )  # fmt: skip
        found = tuple(Passage("info", "", text, SourceSpan(at + 1, at + 1)) for at, text in enumerate(texts))
        yield SaveNote(note, found, None, "2:1200-4000", "markdown@3/2:1200-4000")


def measured(action: Callable[[], object]) -> float:
    """The median in milliseconds, after one call that opens what is needed."""
    action()
    return median([spent(action) * 1000 for _ in range(_ROUNDS)])


def main() -> int:
    if len(sys.argv) != 2:
        print(__doc__)
        return 2
    print(machine())
    figures = [reading(Path(sys.argv[1]))]
    with tempfile.TemporaryDirectory() as place:
        writer = StoreWriter(DataFolder(place))
        writer.save_sources([Source(SourceId("bench"), "bench", "/nowhere")])
        changes = list(made_notes(_PASSAGES))
        for start in range(0, len(changes), 1_000):
            writer.apply(changes[start : start + 1_000])
        workspace = Workspace(Settings(), place)
        semantics = workspace._parts.semantics
        model = semantics.card().fingerprint
        with workspace._parts.index.reader.vectors(model) as feed:
            hashes = [one.text_hash for one in feed.pending(_PASSAGES * 2)]
        vectors = np.random.default_rng(7).standard_normal((len(hashes), _DIMS)).astype(np.float32)
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        writer.save_vectors(
            model, [(h, v.astype(np.float16).tobytes()) for h, v in zip(hashes, vectors, strict=True)]
        )
        writer.close()
        hub, other = "0/0/note 0.md", "7/7/note 7.md"
        links = workspace.links(hub, "in").total
        print(
            f"  {links:,} links to the most linked note of {_NOTES:,}; {len(hashes):,} passages with vectors"
        )
        figures += [
            Figure(
                "backlinks of the most linked note", measured(lambda: workspace.links(hub, "in")), "ms", 10
            ),
            Figure("its first 50", measured(lambda: workspace.links(hub, "in", limit=50)), "ms", 10),
            Figure("links of a note", measured(lambda: workspace.links(other, "out")), "ms"),
            Figure("similar notes", measured(lambda: workspace.similar(other)), "ms", 30),
            Figure(
                "similar notes to a passage", measured(lambda: workspace.similar(f"{other}:L2")), "ms", 30
            ),
        ]
        workspace.close()
    report("links", figures)
    return 0


if __name__ == "__main__":
    sys.exit(main())
