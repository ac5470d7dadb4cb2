"""Every state of the screen, painted: what one sees is compared with what was looked at and approved.

The engine is the real one, without a model; times stand still, and what differs from
machine to machine is not shown. `pytest --snapshot-update` after a change that is meant;
then look at the pictures.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

import pytest
from pytest_textual_snapshot import SVGImageExtension  # type: ignore[import-untyped]
from syrupy.assertion import SnapshotAssertion

from kebab_tui.domain.document import OtherFiles, Source, SourceUse
from kebab_tui.domain.errors import Failure, StoreDamagedError, StoreError
from kebab_tui.domain.hit import Notice, RetrievalDetail, SearchHit, SearchResponse
from kebab_tui.domain.ids import ChunkId, DocId, SourceId
from kebab_tui.domain.query import SearchQuery
from kebab_tui.indexing.folder_count import FolderCount
from kebab_tui.indexing.status import FolderState, LastChange, LiveState, Phase, Trouble
from kebab_tui.indexing.watcher import WatchKind
from kebab_tui.search import answer
from kebab_tui.search.explanation import ExplainedResponse
from kebab_tui.search.ranking import Evidence, FusionSettings
from kebab_tui.settings.settings import Settings
from kebab_tui.tui import results
from kebab_tui.tui.app import KebabApp
from kebab_tui.tui.hit_diff import Latency
from kebab_tui.tui.messages import CorpusChanged, IndexingEnded, LiveChanged
from kebab_tui.tui.preview.syntax import Lexers
from kebab_tui.tui.widgets import hits_list
from kebab_tui.workspace import Callbacks, Workspace
from tests.command_line import ROOT, SAMPLE
from tests.repositories import commit, needs_git
from tests.tui.explaining import with_evidence
from tests.tui.screen import WIDE, Proxy, Screen, SharedScreen, found, kebab, painted, until

pytestmark = pytest.mark.slow


class Picture(SVGImageExtension):  # type: ignore[misc]
    file_extension = "svg"


USUAL = ((120, 36),)
SIZES = ((80, 24), *USUAL, (200, 50))
"""For the most used states."""
TOO_SMALL = ((20, 5), (38, 9), (60, 12))
"""And one that is just large enough."""
_WRITTEN = 1_767_225_600
_NOW = _WRITTEN * 1_000_000_000
Step = Callable[[Screen, KebabApp], Awaitable[None]]
Sizes = tuple[tuple[int, int], ...]


class Look(Protocol):
    async def __call__(
        self, opened: AbstractAsyncContextManager[Screen], bring_about: Step, sizes: Sizes = USUAL
    ) -> None: ...


class Still:
    """A clock that stands still."""

    @staticmethod
    def perf_counter() -> float:
        return 0.0


@pytest.fixture(autouse=True)
def _no_time_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answer, "time", Still)


PLAN = """---
aliases: [이사 계획]
---
# Moving house

The mover comes at nine.

## Before

> [!warning] Boxes
> Glass goes into the *small* boxes, never below books.

- [x] Call the mover
- [ ] Read [[on-call]] and [[disk-full|the runbook]]
- [ ] ==Pay the deposit==

| Room    | Boxes |
|---------|------:|
| 부엌    |    12 |
| Library |    31 |

```python
boxes = {"kitchen": 12, "library": 31}
```

%%Ask about the piano.%%

## After

""" + " ".join(f"Box {number} stands below the shelf that is screwed to the wall." for number in range(1, 20))
"""A note with Obsidian's syntax and a line that is much longer than the preview."""


@pytest.fixture(scope="module")
def vault(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The index of the sample notes, of `PLAN` and of a file that is no text, each with a time of its own."""
    place = tmp_path_factory.mktemp("snapshots")
    shutil.copytree(SAMPLE, place / "notes")
    (place / "notes" / "ideas" / "moving.md").write_text(PLAN)
    (place / "notes" / "ideas" / "scan.md").write_bytes(bytes(range(256)))
    for number, path in enumerate(sorted((place / "notes").rglob("*"))):
        os.utime(path, (_WRITTEN + number * 3600,) * 2)
    index(place)
    return place


def index(place: Path) -> None:
    workspace = Workspace(Settings(), str(place / "data"))
    workspace.ingest([str(place / "notes")], Callbacks())
    workspace.close()


@pytest.fixture(scope="module")
def screen(vault: Path) -> SharedScreen:
    """The screen on that index, for one state after the other."""
    return SharedScreen(vault / "data")


@pytest.fixture
def look_at(snapshot: SnapshotAssertion) -> Look:
    """Bring a screen into a state and compare it with its pictures."""
    pictures = snapshot.use_extension(Picture)

    async def look(
        opened: AbstractAsyncContextManager[Screen], bring_about: Step, sizes: Sizes = USUAL
    ) -> None:
        wrong = []
        async with opened as pilot:
            app = pilot.app
            assert isinstance(app, KebabApp)
            await bring_about(pilot, app)
            for width, height in sizes:
                if app.size != (width, height):
                    await pilot.resize_terminal(width, height)
                await until(pilot, lambda: app.size == (width, height) == app.screen.size)  # noqa: B023
                await settle(pilot, app)
                if pictures(name=f"{width}x{height}") != picture_of(app):
                    wrong.append(painted(app))
        assert not wrong, "\n".join(wrong)

    return look


async def settle(pilot: Screen, app: KebabApp) -> None:
    """Until nothing changes any more: scrollbars come and go a layout later."""
    before, same = "", 0
    while same < 4:
        await pilot.pause(0.01)
        now = painted(app)
        same, before = same + 1 if now == before else 0, now


def picture_of(app: KebabApp) -> str:
    """An SVG with neither fonts nor clipping: a tenth of the bytes, and a change shows where it is."""
    svg = app.export_screenshot(simplify=True)
    svg = re.sub(r"@font-face \{.*?\}|<clipPath .*?</clipPath>|<defs>\s*</defs>", "", svg, flags=re.DOTALL)
    svg = re.sub(r' (clip-path|shape-rendering)="[^"]*"', "", svg)
    svg = re.sub(r"terminal-\d+-", "", svg)
    return re.sub(r"(?<=>)(?=<(rect|text|g|/g))|\n\s+", "\n", svg)


async def answered(pilot: Screen, app: KebabApp) -> None:
    await found(pilot)
    await until(pilot, lambda: app.results.response and (app.preview._note or not app.results.has_hits))
    await located(pilot, app)


async def located(pilot: Screen, app: KebabApp) -> None:
    """Until it is known where the selected hit is."""
    selected = app.hits.selected
    if selected is not None:
        key = (selected.chunk_id, selected.indexed_ns)
        await until(pilot, lambda: key in app.hits._located or app.preview.is_certain)
        if len(app.screen_stack) == 1 and selected.root:
            await until(pilot, lambda: app._counted.get(selected.doc_id, (-1,))[0] == app._changes)


def in_both_lists(real: Workspace, query: SearchQuery, first_answer: bool = False) -> SearchResponse:
    """An answer as with a model: hits found by both, by words, by meaning."""
    response = real.search(replace(query, mode="lexical"), first_answer)
    hits = tuple(_found_by(hit, number % 4) for number, hit in enumerate(response.hits))
    return replace(response, hits=hits, mode="hybrid", notices=())


def _found_by(hit: SearchHit, number: int) -> SearchHit:
    by_words, by_meaning = ((1, 1), (1, None), (1, 1), (1 if hit.relaxed else None, 1))[number]
    detail = RetrievalDetail("hybrid", lexical_rank=by_words, vector_rank=by_meaning)
    return replace(hit, retrieval=detail)


def with_further_matches(real: Workspace, query: SearchQuery, first_answer: bool = False) -> SearchResponse:
    """As with a model that says of some notes only that they have the words."""
    response = in_both_lists(real, query, first_answer)
    further = response.total_matches * 2 // 3
    hits = tuple(replace(hit, further=number >= further) for number, hit in enumerate(response.hits))
    return replace(response, hits=hits)


def explained(real: Workspace, query: SearchQuery) -> ExplainedResponse:
    """The same with the figures of a fusion."""
    response = real.explain(replace(query, mode="lexical"))
    rows = [hit.hit.row for hit in response.hits]
    evidence = [
        Evidence(rows[0], lexical_rank=1, strength=9.0, vector_rank=2, cosine=0.61),
        Evidence(rows[1], lexical_rank=2, strength=7.0, vector_rank=1, cosine=0.66),
    ]
    changed = with_evidence(response, evidence, FusionSettings())[1]
    return replace(changed, response=replace(changed.response, mode="hybrid"))


# Without an index, and while there is none yet


def nowhere() -> Workspace:
    return Workspace(Settings(), "/nonexistent/kebab")


async def test_first_run(look_at: Look, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    for folder in ("notes", "Documents"):
        (tmp_path / folder).mkdir()
    (tmp_path / "notes" / "a.md").write_text("alpha")
    monkeypatch.chdir(tmp_path / "notes")

    async def begun(pilot: Screen, app: KebabApp) -> None:
        await until(pilot, lambda: "Sample notes" in painted(app))

    app = kebab(Path("~/.local/share/kebab"), nowhere)
    await look_at(app.run_test(size=WIDE), begun, SIZES)


async def test_the_first_folder_is_being_read(look_at: Look, tmp_path: Path) -> None:
    async def reading(pilot: Screen, app: KebabApp) -> None:
        await until(pilot, lambda: app.results.parse)
        app.post_message(LiveChanged(LiveState(OWN, phase=Phase("reading", 312, 4031))))
        await until(pilot, lambda: "312 of 4,031" in painted(app))

    app = kebab(tmp_path / "data", nowhere, folders=("/notes",), accepted=("/notes",))
    await look_at(app.run_test(size=WIDE), reading)


async def test_a_large_folder_is_asked_about(look_at: Look, vault: Path) -> None:
    found = FolderCount("/usr", 12_431, OtherFiles(110_202), 236.0, complete=True)

    is_painted = threading.Event()

    def count(*_: object) -> FolderCount:
        assert is_painted.wait(120)
        return found

    def workspace() -> Proxy:
        return Proxy(vault / "data", count_folder=count, must_ask=lambda *_: True)

    async def asked(pilot: Screen, app: KebabApp) -> None:
        await until(pilot, lambda: "Reading your notes" in painted(app) and "quit" in painted(app))
        is_painted.set()
        await until(pilot, lambda: "about 4 min" in painted(app))

    app = kebab(vault / "data", workspace, folders=("/usr",))
    await look_at(app.run_test(size=WIDE), asked)


# With an index


@dataclass(frozen=True)
class Case:
    query: str = ""
    search: Callable[..., Any] | None = None
    end: IndexingEnded | None = None
    live: LiveState | None = None
    keys: tuple[str, ...] = ()
    awaited: str = ""
    """The screen has this text in the end."""
    theme: str = "dark"
    vim: bool = False
    sizes: Sizes = USUAL


HYBRID = in_both_lists
OWN = 0
"""The indexer of a screen that has none: what it says is not said to be another's."""
LIMIT = "the system's limit of watched folders is reached (fs.inotify.max_user_watches)"


def watched(kind: WatchKind, reason: str = "") -> FolderState:
    return FolderState(SourceId("notes"), "/notes", kind, reason, 12)


CASES = {
    "hits": Case("rust errors", HYBRID, sizes=SIZES),
    "too_small": Case("rust errors", sizes=TOO_SMALL),
    "no_query": Case(sizes=SIZES),
    "expanded": Case("rust", HYBRID, keys=("alt+e", "down"), awaited="less", sizes=SIZES),
    "further_matches": Case("rust errors", with_further_matches, awaited="further keyword matches"),
    "corrected": Case("owernship errosr", sizes=SIZES),
    "no_hits": Case("ownership tag:요리 lang:ko", awaited="without tag", sizes=SIZES),
    "as_typed": Case("owernship errosr", keys=("alt+x",), awaited="Did you mean"),
    "korean": Case("김치찌개", HYBRID, sizes=SIZES),
    "marked_and_filtered": Case("tag:rust errors", HYBRID, keys=("ctrl+@", "ctrl+@", "down")),
    "light_theme": Case("rust errors", HYBRID, theme="light"),
    "ansi_theme": Case("rust errors", HYBRID, theme="ansi"),
    "vim_normal_mode": Case("rust errors", HYBRID, keys=("escape", "j"), awaited="NORMAL", vim=True),
    "wrapped": Case("screwed", keys=("tab", "tab"), awaited="Box 3 "),
    "rendered": Case("mover deposit", keys=("tab", "tab", "alt+m"), awaited="☐"),
    "zoomed": Case("tokio", HYBRID, keys=("tab", "tab", "f11")),
    "completion_list": Case("rust ", HYBRID, keys=tuple("tag:"), awaited="infra"),
    "switcher": Case("rust", keys=("ctrl+g",), awaited="Recently changed", sizes=SIZES),
    "links_page": Case("restore drill", keys=("f9",), awaited="no vectors yet", sizes=SIZES),
    "new_note": Case("rust", keys=("ctrl+g", *"oners"), awaited="New note"),
    "palette": Case("rust", keys=("f2",), awaited="esc close"),
    "theme_preview": Case("rust", keys=("f2", *"theme nord"), awaited="Theme: nord"),
    "help": Case("rust", keys=("tab", "f1"), awaited="What a query can say", sizes=SIZES),
    "health": Case("rust", live=LiveState(OWN, (watched("live"),)), keys=("f12",), awaited="searchable"),
    "why_not": Case("rust errors", keys=("alt+w", *"infra/dns.txt", "enter"), awaited="no match"),
    "indexing": Case("rust", HYBRID, live=LiveState(OWN, phase=Phase("reading", 312, 4031)), sizes=SIZES),
    "upgrading": Case(
        "rust",
        HYBRID,
        live=LiveState(4711, (watched("live"),), phase=Phase("reading", 12, 900), upgrading=(312, 4031)),
    ),
    "making_vectors": Case(
        "rust",
        HYBRID,
        live=LiveState(OWN, (watched("live"),), phase=Phase("embedding", 81, 2200, 64.0, 33.0)),
    ),
    "failed_files": Case("rust", HYBRID, IndexingEnded(failed=3)),
    "read_only": Case("rust", HYBRID, IndexingEnded(failure=Failure("readonly", "cannot write there"))),
    "partial_watch": Case(
        "rust", HYBRID, live=LiveState(OWN, (watched("live"), watched("partial", LIMIT)), pending=3)
    ),
    "another_writes": Case(
        "rust",
        HYBRID,
        live=LiveState(OWN, (watched("live"),), given_way_to="pid 4711 (ingest, since 12:00:00)"),
    ),
    "disk_full": Case(
        "rust",
        HYBRID,
        live=LiveState(
            OWN,
            (watched("live"),),
            pending=12,
            error=Trouble("disk_full", "no room left on the disk of ~/.local/share/kebab", "free some space"),
        ),
    ),
}


@pytest.mark.parametrize("name", CASES)
async def test_with_an_index(look_at: Look, screen: SharedScreen, name: str) -> None:
    case = CASES[name]

    async def bring_about(pilot: Screen, app: KebabApp) -> None:
        app.history.queries = ("docker compose", "서버 백업", "ownership")
        await answered(pilot, app)
        app.recent.notes = tuple(dict.fromkeys(hit.doc_id for hit in app.hits._hits))[:3]
        if case.end is not None:
            app.post_message(case.end)
        if case.live is not None:
            app.post_message(LiveChanged(case.live))
        await pilot.press(*case.keys)
        await until(pilot, lambda: case.awaited in painted(app))
        await located(pilot, app)

    mode = "hybrid" if case.search else "lexical"
    verbs: dict[str, Callable[..., Any]] = {"sources": without_place}
    if name == "health":
        verbs = {"sources": three_folders, "removed_sources": lambda _: [folder("journal", "removed")]}
    if case.search is not None:
        verbs["search"] = case.search
    await look_at(
        screen(case.query, mode=mode, theme=case.theme, vim=case.vim, verbs=verbs), bring_about, case.sizes
    )


def folder(name: str, use: SourceUse = "watched", **facts: Any) -> Source:
    return Source(SourceId(name), name, f"/home/me/{name}", use=use, **facts)


def three_folders(real: Workspace) -> list[Source]:
    return [
        *without_place(real),
        folder("work", "paused", state="indexed", documents=1_204, chunks=9_310, stars=1_500),
        folder("archive", state="paused", documents=88, chunks=412),
    ]


def without_place(real: Workspace) -> list[Source]:
    return [replace(source, root="/home/me/notes") for source in real.sources()]


async def test_what_a_saved_note_changes_is_marked(
    look_at: Look, screen: SharedScreen, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One hit is new, one has another text, one is gone; and the note was seen in 0.31 s."""
    for module in (hits_list, results):
        monkeypatch.setattr(module, "FRESH_S", 1000)
    saved = False
    time_ns = _NOW - 1_000_000_000

    def search(real: Workspace, query: SearchQuery, first_answer: bool = False) -> SearchResponse:
        response = in_both_lists(real, query, first_answer)
        new, changed, gone, *rest = response.hits
        older, other = replace(changed, chunk_id=ChunkId("older")), replace(gone, doc_id=DocId("other"))
        before = (older, replace(other, chunk_id=ChunkId("gone")), *rest)
        return replace(response, hits=(new, changed, *rest) if saved else before)

    async def save(pilot: Screen, app: KebabApp) -> None:
        nonlocal saved, time_ns
        time_ns = _NOW
        await answered(pilot, app)
        saved = True
        app.post_message(CorpusChanged())
        last = LastChange("rust/lifetimes.md", "changed", _NOW - 310_000_000, _NOW)
        app.post_message(LiveChanged(LiveState(OWN, (watched("live"),), last=last)))
        await until(pilot, lambda: "1 new, 1 changed, 1 gone" in painted(app))
        await until(pilot, lambda: app.status.status.changed == "lifetimes.md updated in 0.3 s")
        await located(pilot, app)

    latency = Latency(lambda: time_ns, lambda: time_ns)
    opened = screen("rust errors", mode="hybrid", verbs={"search": search}, latency=latency)
    await look_at(opened, save)


async def test_without_colours(look_at: Look, vault: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    app = kebab(vault / "data", lambda: Proxy(vault / "data", search=in_both_lists), query="rust errors")
    await look_at(app.run_test(size=WIDE), answered)


async def test_explain(look_at: Look, screen: SharedScreen) -> None:
    async def explaining(pilot: Screen, app: KebabApp) -> None:
        await answered(pilot, app)
        await until(pilot, lambda: app.explain.has_what_if)

    verbs: dict[str, Callable[..., Any]] = {"search": in_both_lists, "explain": explained}
    opened = screen("rust errors", mode="hybrid", explain=True, verbs=verbs)
    await look_at(opened, explaining, SIZES)


async def test_no_model(look_at: Look, screen: SharedScreen) -> None:
    def search(real: Workspace, query: SearchQuery, first_answer: bool = False) -> SearchResponse:
        response = real.search(replace(query, mode="lexical"), first_answer)
        notice = Notice("no_model", "The model kebab-ko-en is not complete.", "warning")
        return replace(response, notices=(notice,))

    async def fell_back(pilot: Screen, app: KebabApp) -> None:
        await until(pilot, lambda: "is not complete" in painted(app))
        await located(pilot, app)

    await look_at(screen("rust", mode="hybrid", verbs={"search": search}), fell_back)


@pytest.mark.parametrize(
    ("query", "sizes"), [("'rust AND'", USUAL), ("rust after:lastweek", SIZES)], ids=["raw", "filter"]
)
async def test_a_wrong_query_is_explained_in_place_of_the_hits(
    look_at: Look, screen: SharedScreen, query: str, sizes: Sizes
) -> None:
    async def mistyped(pilot: Screen, app: KebabApp) -> None:
        await answered(pilot, app)
        app.box.write(query)
        await until(pilot, lambda: app.suggests)

    await look_at(screen("rust"), mistyped, sizes)


async def test_an_engine_error_keeps_the_last_hits(look_at: Look, screen: SharedScreen) -> None:
    def search(real: Workspace, query: SearchQuery, first_answer: bool = False) -> SearchResponse:
        if query.text == "rusty":
            raise StoreError("the index could not be read: disk I/O error", "kebab doctor")
        return in_both_lists(real, query, first_answer)

    async def failed(pilot: Screen, app: KebabApp) -> None:
        await answered(pilot, app)
        await pilot.press("y")
        await until(pilot, lambda: "disk I/O" in painted(app))

    await look_at(screen("rust", mode="hybrid", verbs={"search": search}), failed)


async def test_a_damaged_index_is_healed(look_at: Look, vault: Path) -> None:
    def search(real: Workspace, query: SearchQuery, first_answer: bool = False) -> SearchResponse:
        raise StoreDamagedError("the index is damaged (file is not a database)", "run `kebab ingest`")

    async def healing(pilot: Screen, app: KebabApp) -> None:
        await until(pilot, lambda: "is damaged" in painted(app))
        app.post_message(LiveChanged(LiveState(OWN, phase=Phase("reading", 12, 75))))
        await until(pilot, lambda: "12 of 75" in painted(app))

    app = kebab(vault / "data", lambda: Proxy(vault / "data", search=search), query="rust", mode="lexical")
    await look_at(app.run_test(size=WIDE), healing)


CHANGES: dict[str, Callable[[Path], object]] = {
    "moved": lambda note: note.write_text("A new line\n" * 7 + note.read_text()),
    "changed": lambda note: note.write_text("# Wheel\n\nNothing of that is true any more.\n"),
    "gone": os.unlink,
}


@pytest.mark.parametrize("name", CHANGES)
async def test_a_file_that_is_not_what_was_indexed(look_at: Look, tmp_path: Path, name: str) -> None:
    (tmp_path / "notes").mkdir()
    note = tmp_path / "notes" / "wheel.md"
    note.write_text("# Wheel\n\nThe spindle turns seven times before it stops.\n")
    index(tmp_path)
    CHANGES[name](note)

    async def looked_up(pilot: Screen, app: KebabApp) -> None:
        await found(pilot)
        await located(pilot, app)

    app = kebab(tmp_path / "data", query="spindle", mode="lexical")
    await look_at(app.run_test(size=WIDE), looked_up)


@needs_git
async def test_a_version_is_read_only(look_at: Look, tmp_path: Path) -> None:
    commit(tmp_path / "notes", tag="v1.2", guide__kettle="# Kettle\n\nIt boils in four minutes.\n")
    commit(tmp_path / "notes", guide__kettle="# Kettle\n\nIt boils in two minutes.\n")
    index(tmp_path)
    workspace = Workspace(Settings(), str(tmp_path / "data"))
    list(workspace.add_versions(SourceId("notes"), ["v1.2"], "", 0, Callbacks()))
    workspace.close()

    async def looked_up(pilot: Screen, app: KebabApp) -> None:
        await answered(pilot, app)
        await located(pilot, app)

    app = kebab(tmp_path / "data", query="version:v1.2 boils", mode="lexical")
    await look_at(app.run_test(size=WIDE), looked_up)


@pytest.mark.parametrize("query", ["wax moths", "희귀본 습도"], ids=["english", "korean"])
async def test_a_page_of_a_document(look_at: Look, tmp_path: Path, query: str) -> None:
    shutil.copytree(ROOT / "fixtures" / "pdf", tmp_path / "notes")
    index(tmp_path)

    async def read(pilot: Screen, app: KebabApp) -> None:
        await answered(pilot, app)
        await until(pilot, lambda: app.preview.is_certain)

    app = kebab(tmp_path / "data", query=query, mode="lexical")
    await look_at(app.run_test(size=WIDE), read)


IN_ASCII = """
import asyncio, sys
from kebab_tui.tui.glyphs import use_ascii
use_ascii()
from tests.tui import test_snapshots
asyncio.run(test_snapshots.print_hits(sys.argv[1]))
"""


async def print_hits(data: str) -> None:
    for name in ("markdown", "rust"):
        Lexers().named(name)
    app = kebab(Path(data), lambda: Proxy(Path(data), search=in_both_lists), query="rust errors")
    async with app.run_test(size=WIDE) as pilot:
        await answered(pilot, app)
        await settle(pilot, app)
        print(picture_of(app))


def test_ascii(vault: Path, snapshot: SnapshotAssertion) -> None:
    """In another process: the glyphs are chosen before any widget is imported."""
    argv = [sys.executable, "-c", IN_ASCII, str(vault / "data")]
    done = subprocess.run(argv, check=True, capture_output=True, text=True)
    assert snapshot.use_extension(Picture) == done.stdout.removesuffix("\n")
