"""Measures versions of a folder in git against the same files in a folder.

    python -m tests.benchmarks.bench_versions REPOSITORY [REF …]      default: HEAD

REPOSITORY: a clone, also a bare one; nothing is written into it. The first REF is indexed as a folder, then
as a version, and the times are compared. Then come the others; the sizes show what each adds.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from kebab_tui.domain.ids import SourceId
from kebab_tui.files.git_tree import Repository, tree_at
from kebab_tui.files.read import read_file
from kebab_tui.files.walk import FoundFile, PathScanner, WalkRules
from kebab_tui.formats.decode import ReadLimits
from kebab_tui.settings.settings import Settings
from kebab_tui.workspace import Callbacks, Workspace
from tests.benchmarks.measuring import Figure, machine, report

GOAL = 2.0
_LIB = SourceId("lib")


def write_files(place: Path, ref: str) -> int:
    """Write the notes of a commit into the folder; returns their number."""
    repository = Repository.of(str(place))
    root = str(repository.root(repository.resolve(ref, repository.refs())))
    found = [one for one in PathScanner(root, WalkRules()).walk() if isinstance(one, FoundFile)]
    with tree_at(root).reading():
        for one in found:
            file = place / one.path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(read_file(root, one.path, ReadLimits()).data)
    return len(found)


def size_of(folder: Path) -> float:
    """MB of the database."""
    return sum(file.stat().st_size for file in folder.glob("kebab.sqlite*")) / 1e6


def clocks() -> tuple[float, float]:
    """Wall and CPU seconds, those of child processes that ended included."""
    used = os.times()
    return time.perf_counter(), used.user + used.system + used.children_user + used.children_system


def main() -> int:
    if not sys.argv[1:]:
        print(__doc__)
        return 2
    asked = ["git", "-C", sys.argv[1], "rev-parse", "--absolute-git-dir", "HEAD"]
    answer = subprocess.run(asked, capture_output=True, check=True, text=True).stdout
    git_dir, head = answer.split("\n")[:2]
    refs = sys.argv[2:] or [head]
    print(machine())
    with tempfile.TemporaryDirectory() as name:
        lib, data = Path(name) / "lib", Path(name) / "data"
        lib.mkdir()
        (lib / ".git").write_text(f"gitdir: {git_dir}\n")
        notes = write_files(lib, refs[0])
        workspace = Workspace(Settings(), str(data))
        wall, cpu = clocks()
        workspace.ingest([str(lib)], Callbacks())
        folder_wall, folder_cpu = (now - then for now, then in zip(clocks(), (wall, cpu), strict=True))
        folder_size = size_of(data)
        figures = [
            Figure("notes", notes, ""),
            Figure("as a folder", folder_wall, "s"),
            Figure("index of the folder", folder_size, "MB"),
        ]
        for number, ref in enumerate(refs):
            before = size_of(data / "versions")
            wall, cpu = clocks()
            (one,) = workspace.add_versions(_LIB, [ref], "", 0, Callbacks())
            took, used = (now - then for now, then in zip(clocks(), (wall, cpu), strict=True))
            added = size_of(data / "versions") - before
            label = f"{ref[:12]}: {one.version.notes:,} notes, {one.read:,} read"
            figures.append(Figure(f"{label}: time", took, "s"))
            figures.append(Figure(f"{label}: added to the index", added, "MB"))
            if not number:
                figures.append(Figure("first version / folder, wall time", took / folder_wall, "x", GOAL))
                figures.append(Figure("first version / folder, CPU time", used / folder_cpu, "x", GOAL))
        whole = size_of(data / "versions")
        figures.append(Figure(f"{len(refs)} versions / index of the folder", whole / folder_size, "x"))
        workspace.close()
    report(f"versions of {os.path.basename(os.path.dirname(git_dir)) or git_dir}", figures)
    return 0


if __name__ == "__main__":
    sys.exit(main())
