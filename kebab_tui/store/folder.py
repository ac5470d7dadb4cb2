"""The data folder: which file is what. Knows names, opens nothing."""

from __future__ import annotations

import os
from dataclasses import dataclass

_OURS = (
    "kebab.sqlite", "kebab.seal", "vectors.kebabvec", "sources.json", "writer.lock", "requests", "live.json",
    "embedding.lock", "suspect", "model.txt", "models", "sample-notes", "queries.txt", "screen.log",
    "crash.log",
)  # fmt: skip


def is_ours(name: str) -> bool:
    """Whether a file or folder of this name in a data folder is the program's own."""
    return name.lstrip(".").startswith(_OURS)


@dataclass(frozen=True, slots=True)
class DataFolder:
    """Everything that belongs to one index lives in `root`, never among the notes."""

    root: str

    @property
    def database(self) -> str:
        return os.path.join(self.root, "kebab.sqlite")

    @property
    def lock(self) -> str:
        return os.path.join(self.root, "writer.lock")

    @property
    def embedding_lock(self) -> str:
        """Held by the one process that makes vectors, between two times of writing too."""
        return os.path.join(self.root, "embedding.lock")

    @property
    def sources(self) -> str:
        """A copy of the table of sources: what a rebuild of a lost database starts from."""
        return os.path.join(self.root, "sources.json")

    @property
    def suspicion(self) -> str:
        """A file that is there when somebody has met damage: the next writer looks closely."""
        return os.path.join(self.root, "suspect")

    @property
    def seal(self) -> str:
        """Checksums of the database's pages, while nobody writes."""
        return os.path.join(self.root, "kebab.seal")

    @property
    def live(self) -> str:
        """What the process that keeps the index in step tells of itself."""
        return os.path.join(self.root, "live.json")

    def database_bytes(self) -> int:
        """The database with the part of it that is still in the log."""
        files = (self.database, self.database + "-wal")
        return sum(os.path.getsize(file) for file in files if os.path.exists(file))
