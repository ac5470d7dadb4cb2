"""Listed files, and a stand-in for the workspace that lists them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence

from kebab_tui.domain.document import Source
from kebab_tui.domain.errors import NotFoundError
from kebab_tui.domain.ids import SourceId
from kebab_tui.domain.versions import Version
from kebab_tui.indexing.lookup import ListedFile, StateOfFile
from kebab_tui.indexing.status import LiveState
from kebab_tui.search.completions import Completions, completions_of

NOTES = SourceId("notes")


def a_file(
    path: str,
    state: StateOfFile = "ok",
    reason: str = "",
    rule: str = "",
    rule_at: str = "",
    source: str = NOTES,
) -> ListedFile:
    return ListedFile(SourceId(source), path, f"/notes/{path}", state, reason, rule, rule_at)


def some_files() -> list[ListedFile]:
    return [
        a_file("broken.md", "failed", "permission denied"),
        a_file("raw.md", "skipped", "binary file"),
        a_file("new.md", "pending", "not read yet"),
        a_file("build/", "ignored", "ignored by", "build/", ".gitignore:2"),
        *(a_file(f"fine/{number}.md") for number in range(40)),
    ]


class Listing:
    """Stands in for a workspace; `gate` holds the files back that come after `held`."""

    def __init__(self, files: Iterable[ListedFile], held: int | None = None) -> None:
        self.files = list(files)
        self.held = held
        self.gate = threading.Event()
        self.looks = 0
        self.left = threading.Event()
        self.commits = 1
        self.error = ""
        self.has_index = True
        self.state: LiveState | None = None
        self.versions: list[Version] = []
        self.compared: dict[Version, Version] = {}
        self.git = threading.Event()
        self.git.set()

    def sources(self) -> list[Source]:
        return [Source(NOTES, "notes", "/notes", state="indexed")]

    def removed_sources(self) -> list[Source]:
        return []

    @staticmethod
    def source_score(source: Source) -> float:
        return 1.0

    def stored_versions(self) -> list[Version]:
        return self.versions

    def compared_versions(self, versions: Sequence[Version]) -> list[Version]:
        assert self.git.wait(60)
        return [self.compared.get(one, one) for one in versions]

    def live(self) -> LiveState | None:
        return self.state

    def file_states(self) -> Iterator[ListedFile]:
        self.looks += 1
        if self.error:
            raise NotFoundError(self.error)
        try:
            for place, file in enumerate(self.files):
                if place == self.held:
                    assert self.gate.wait(60)
                yield file
        finally:
            self.left.set()

    def revision(self) -> int:
        return self.commits

    def change_check(self) -> Callable[[], bool]:
        return lambda: True

    def watch_changes(self, changed: Callable[[], None]) -> Listing:
        return self

    def keep(self) -> None: ...

    def close(self) -> None: ...

    def warm_up(self, *, by_meaning: bool) -> Iterator[None]:
        return iter(())

    def completions(self) -> Completions:
        return completions_of({}, (), (), {})
