"""An index of each earlier schema, made by the program of its time from `NOTES`.

python -m tests.upgrade        prints what the upgrade of each takes
python -m tests.upgrade FOLDER prints the same for an index of these notes, made by the last of the commits
python -m tests.upgrade COMMIT makes the index of a commit again
"""

from __future__ import annotations

import lzma
import os
import sqlite3
from pathlib import Path

INDEXES = Path(__file__).parent / "indexes"
COMMITS = {
    "8a4d757": "the first that a command made: no identity of the folder",
    "2b6af3a": "an index by script",
    "bc1015a": "the identity of the folder; embedded texts of the second form",
    "4602d6b": "other indexes of chunks and documents",
    "26b846b": "no time of the last scan",
    "5db224c": "Markdown read by the second version",
    "132dc55": "chunks cut by the second version",
    "9fe2ce9": "tags and aliases in one table; no names, no parts of identifiers",
    "f246886": "names, identifiers by their parts; no stars of sources",
    "4863d82": "stars of sources; no links, properties, tasks and dates, no code",
    "0e7e789": "links, properties, tasks, dates, code, vectors by parts; no indexes on time and path",
}
"""Each earlier form of the tables or of what fills them, oldest first."""

NOTES = {
    "kettle.md": "---\ntags: [tea, kitchen]\naliases: [주전자]\n---\n# Kettle\n\nBoil the water first.\n\n"
    "## Descaling\n\nCitric acid dissolves the scale.\n\n```sh\nboil --twice\n```\n",
    "여행/기차.md": "# 기차 여행\n\n부산까지 기차를 탔다. #여행\n\n## 준비물\n\n간식과 지도를 챙긴다.\n",
    "plain.txt": "Shopping\n========\n\nbread and butter\n",
    "long.md": "# Long\n\n"
    + "\n\n".join(f"Paragraph {n} about the number {n * n}. " * 6 for n in range(12))
    + "\n",
    "empty.md": "",
}


def write_notes(root: Path) -> None:
    """Write the notes, all with the times of two days in 2026."""
    for day, (path, text) in enumerate(NOTES.items()):
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        os.utime(file, (1_767_225_600 + day * 86_400,) * 2)


def unpack(commit: str, data: Path, root: Path) -> Path:
    """Put an earlier index of the notes in `root` into a data folder; returns the database."""
    data.mkdir(exist_ok=True)
    database = data / "kebab.sqlite"
    database.write_bytes(lzma.decompress((INDEXES / f"{commit}.sqlite.xz").read_bytes()))
    connection = sqlite3.connect(database)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("UPDATE sources SET root = ?", (os.fsencode(root),))
    for path in NOTES:
        if (root / path).exists():
            status = os.stat(root / path)
            stamp = (status.st_mtime_ns, status.st_ctime_ns, status.st_ino)
            connection.execute(
                "UPDATE documents SET mtime_ns = ?, ctime_ns = ?, inode = ?, checked_ns = ? WHERE path = ?",
                (*stamp, status.st_ctime_ns + 10**10, path),
            )
    connection.commit()
    connection.close()
    return database
