"""How quickly notes are found by name among 100,000, while typing and after a note is saved.

    python -m tests.benchmarks.bench_find FOLDER

The names are made of the words in FOLDER's file names and of Korean ones; the queries are beginnings, words,
typos, shortened words and initial consonants. Processor time of one process, warm cache."""

from __future__ import annotations

import os
import random
import re
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from kebab_tui.domain.change import SaveNote
from kebab_tui.domain.document import Document, Fingerprint, Source, Trust
from kebab_tui.domain.facets import Facet
from kebab_tui.domain.ids import DocId, SourceId
from kebab_tui.domain.names import name_of
from kebab_tui.search.name_pattern import LEADS
from kebab_tui.settings.settings import Settings
from kebab_tui.storage.lock import DataFolder
from kebab_tui.storage.sqlite.writer import StoreWriter
from kebab_tui.workspace import Workspace
from tests.benchmarks.measuring import Figure, machine, percentile, report

NOTES, QUERIES = 100_000, 300
_KOREAN = (
    "회의", "회의록", "한글", "계획", "메모", "검색", "일기", "요리", "서버", "배포", "장애", "보고서",
    "정리", "연구", "여행", "독서", "프로젝트", "설계", "데이터", "분석", "주간", "월간", "업무",
    "인수인계", "점검", "목록", "가계부", "김치", "찌개", "네트워크", "보안", "인증", "문서", "번역",
)  # fmt: skip


def names_from(folder: Path, dice: random.Random) -> Iterator[tuple[str, str]]:
    """The file name and the title of a note, without end."""
    stems = (name_of(str(path)) for path in folder.rglob("*.md"))
    words = sorted({word for stem in stems for word in re.findall("[a-z]{2,}", stem)})

    def some(least: int, most: int) -> list[str]:
        return dice.choices(words, k=dice.randint(least, most))

    shapes: list[Callable[[], str]] = [
        lambda: "-".join(some(2, 4)),
        lambda: "_".join(some(1, 3)),
        lambda: " ".join(some(2, 6)).capitalize(),
        lambda: "".join(word.capitalize() for word in some(2, 3)),
        lambda: " ".join(dice.choices(_KOREAN, k=dice.randint(1, 4))),
        lambda: f"{dice.choice(_KOREAN)} {some(1, 1)[0]} {dice.randint(2015, 2026)}-{dice.randint(1, 12):02}",
    ]
    while True:
        yield dice.choice(shapes)(), dice.choice(shapes)()


def change_of(number: int, name: str, title: str) -> SaveNote:
    path = f"{number % 97}/{number % 1009}/{name}.md"
    facets = (Facet("name", name), Facet("title", title))
    stamp = Fingerprint(1, number, number, number)
    note = Document(
        DocId(f"{number:032x}"), SourceId("bench"), path, path.encode(), title, "markdown", "en",
        Trust.PRIMARY, stamp, "", facets=facets,
    )  # fmt: skip
    return SaveNote(note, (), None, "", "")


def query_from(name: str, dice: random.Random) -> str:
    words = re.split("[-_ ]", name)
    word = dice.choice(words)
    match dice.randrange(8):
        case 0 | 1:
            return name[: dice.randint(1, 8)]
        case 2:
            return word[: dice.randint(1, 8)]
        case 3 | 4 if len(word) > 3:
            at = dice.randrange(len(word) - 1)
            swapped = word[:at] + word[at + 1] + word[at] + word[at + 2 :]
            return dice.choice([swapped, word[:at] + word[at + 1 :], word[:at] + "x" + word[at:]])
        case 5 if any("가" <= letter <= "힣" for letter in name):
            return "".join(LEADS[(ord(one) - 0xAC00) // 588] for one in name if "가" <= one <= "힣")[:4]
        case 6:
            return "".join(letter for letter in word if dice.random() < 0.7) or word
        case 7:
            return " ".join(part[: dice.randint(2, 6)] for part in dice.sample(words, min(2, len(words))))
    return name


def spent(action: Callable[[], object]) -> float:
    """Milliseconds of the processor."""
    start = time.process_time()
    action()
    return 1000 * (time.process_time() - start)


def measure(folder: Path) -> list[Figure]:
    dice = random.Random(7)
    made = names_from(folder, dice)
    names = [next(made) for _ in range(NOTES)]
    queries = [query_from(dice.choice(names)[0], dice) for _ in range(QUERIES)]
    with tempfile.TemporaryDirectory() as root:
        writer = StoreWriter(DataFolder(root))
        writer.save_sources([Source(SourceId("bench"), "bench", "/bench")])
        for start in range(0, NOTES, 5_000):
            writer.apply([change_of(n, *names[n]) for n in range(start, start + 5_000)])
        workspace = Workspace(Settings(), root)
        first = spent(lambda: workspace.find("plan"))
        for query in ("pxlan", "ㅎㅇ", "1/plan"):  # what is made when first needed
            workspace.find(query)
        each = sorted(((spent(partial(workspace.find, query)), query) for query in queries), reverse=True)
        writer.apply([change_of(7, "a new name", "zebra")])
        saved = spent(lambda: workspace.find("zebra"))
        assert workspace.find("zebra")[0].document.title == "zebra"
        times = [milliseconds for milliseconds, _ in each]
        workspace.close()
        writer.close()
    return [
        Figure("first find, with all names read", first, "ms"),
        Figure("a find, p50 by processor time", percentile(times, 0.5), "ms"),
        Figure("a find, p95 by processor time", percentile(times, 0.95), "ms", 40.0),
        Figure(f"the slowest: {each[0][1]!r}", times[0], "ms"),
        Figure("the find after a note was saved", saved, "ms"),
    ]


if __name__ == "__main__":
    if len(sys.argv) != 2 or not os.path.isdir(sys.argv[1]):
        sys.exit(__doc__)
    print(machine())
    report(f"find by name among {NOTES:,} notes", measure(Path(sys.argv[1])))
