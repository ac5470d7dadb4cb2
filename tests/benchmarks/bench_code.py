"""Measures how fast source code is read, and how well its symbols agree with other programs.

    python -m tests.benchmarks.bench_code FOLDER … [--most-mb 8] [--disagreements 10]

Speed: parsing with the grammar in its child process, and chunking, by the clock, and by the CPU time of both
processes. Agreement: functions, methods, classes, interfaces, enums and structs by file, name and line, with
`ast` for Python and with Universal Ctags for JavaScript, TypeScript, Rust, Go and Java. Precision is the
share of ours that the other program has too, recall the share of its that we have. Ctags 5.9 does not list
most of what is defined inside of functions, nor functions that are values (`const f = () =>`, members of
objects): `as Ctags defines it` leaves these of ours out. A sample of all disagreements in each language is
printed for judgement by hand. Files that are skipped are left out.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import random
import resource
import shutil
import subprocess
import sys
import time
import warnings
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from kebab_tui.chunking.chunker import chunk
from kebab_tui.domain.errors import UnreadableFileError
from kebab_tui.formats import code, isolated
from kebab_tui.formats.code_languages import FUNCTIONS, language_of_file
from kebab_tui.formats.registry import FORMATS

KINDS = {"function", "method", "class", "interface", "enum", "struct", "trait", "record"}
CTAGS_KINDS = {
    "javascript": {"function", "class", "method", "generator", "getter", "setter"},
    "typescript": {"function", "class", "interface", "enum", "method", "generator"},
    "rust": {"function", "struct", "interface", "enum", "method"},
    "go": {"func", "struct", "interface"},
    "java": {"class", "enum", "interface", "method"},
}
_CTAGS_NAMES = {
    "javascript": "JavaScript",
    "typescript": "TypeScript",
    "rust": "Rust",
    "go": "Go",
    "java": "Java",
}
_NAMELESS = ("anonymous", "Anonymous", "__anon")
_AT_ONCE = 500

Found = tuple[str, str, int]
"""The file, the name and the line of a symbol."""


@dataclass
class Language:
    files: list[str] = field(default_factory=list)
    size: int = 0
    seconds: float = 0.0
    cpu: float = 0.0
    symbols: set[Found] = field(default_factory=set)
    outlined: set[Found] = field(default_factory=set)
    """Those that Ctags means to list."""
    skipped: Counter[str] = field(default_factory=Counter)


def paths(folders: Sequence[str]) -> Iterator[str]:
    for top in folders:
        for folder, below, names in os.walk(top):
            below.sort()
            yield from (path for name in sorted(names) if not os.path.islink(path := f"{folder}/{name}"))


def read(folders: Sequence[str], most: int) -> dict[str, Language]:
    found: dict[str, Language] = defaultdict(Language)
    for path in paths(folders):
        language = language_of_file(path)
        if language is None or not language.grammar or found[language.id].size > most:
            continue
        of_language = found[language.id]
        with open(path, "rb") as file:
            data = file.read()
        if len(data) > (FORMATS["code"].max_bytes or 0):
            of_language.skipped["large"] += 1
            continue
        before, cpu = time.perf_counter(), cpu_seconds()
        try:
            note = code.parse(data, path)
            chunk(note)
        except UnreadableFileError as error:
            of_language.skipped[error.message] += 1
            continue
        of_language.seconds += time.perf_counter() - before
        of_language.cpu += cpu_seconds() - cpu
        of_language.size += len(data)
        of_language.files.append(path)
        symbols = code.symbols_of(note.lines, path)
        kinds = {symbol.path: symbol.kind for symbol in symbols}
        for symbol in symbols:
            if symbol.kind in KINDS:
                one = (path, symbol.path[-1], symbol.line)
                of_language.symbols.add(one)
                around = {kinds.get(symbol.path[:end], "") for end in range(1, len(symbol.path))}
                is_value = language.id in ("javascript", "typescript", "tsx") and (
                    "function" not in note.lines[symbol.line - 1]
                    if symbol.kind == "function"
                    else symbol.kind == "method" and not around & {"class", "interface"}
                )
                if not is_value and not around & FUNCTIONS:
                    of_language.outlined.add(one)
    return found


def cpu_seconds() -> float:
    """CPU time of this process and of the running children."""
    total = time.process_time()
    for reader in isolated._readers.values():
        if reader._process is not None:
            with open(f"/proc/{reader._process.pid}/stat") as facts:
                user, system = facts.read().rpartition(")")[2].split()[11:13]
            total += (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")
    return total


def by_ast(files: Sequence[str]) -> Iterator[Found]:
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    for path in files:
        with open(path, "rb") as file, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(file.read())
        yield from ((path, node.name, node.lineno) for node in ast.walk(tree) if isinstance(node, kinds))


def has_syntax(path: str) -> bool:
    try:
        list(by_ast([path]))
    except (SyntaxError, ValueError):
        return False
    return True


def by_ctags(files: Sequence[str], language: str) -> Iterator[Found]:
    for start in range(0, len(files), _AT_ONCE):
        done = subprocess.run(
            ["ctags", "--options=NONE", "--output-format=json", "--fields=+nK", "-f", "-",
             f"--language-force={_CTAGS_NAMES[language]}", *files[start : start + _AT_ONCE]],
            capture_output=True, text=True, check=True, errors="replace",
        )  # fmt: skip
        for line in done.stdout.split("\n"):
            tag = json.loads(line) if line.startswith("{") else {}
            if tag.get("kind") in CTAGS_KINDS[language] and not tag["name"].startswith(_NAMELESS):
                yield tag["path"], tag["name"].strip("\"'"), tag["line"]


def compare(name: str, ours: set[Found], outlined: set[Found], theirs: set[Found], by: str) -> list[str]:
    """Print the agreement; return the disagreements."""
    precision, recall = (len(ours & theirs) / max(len(side), 1) for side in (ours, theirs))
    print(
        f"{name:12} against {by}: {len(ours):6,} ours, {len(theirs):6,} theirs, precision {precision:.3f}, "
        f"recall {recall:.3f}"
        + ("" if by == "ast" else f"; as Ctags defines it {len(outlined & theirs) / len(outlined):.3f}")
    )
    sides = (("only ours  ", ours - theirs), ("only theirs", theirs - ours))
    return [f"{name} {side} {path}:{line} {label}" for side, more in sides for path, label, line in more]


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folders", nargs="+")
    parser.add_argument("--most-mb", type=float, default=8)
    parser.add_argument("--disagreements", type=int, default=0)
    given = parser.parse_args()
    found = read([os.path.abspath(folder) for folder in given.folders], int(given.most_mb * 1e6))
    for name, one in sorted(found.items()):
        skipped = ", ".join(f"{reason} {count}" for reason, count in one.skipped.items())
        print(
            f"{name:12} {len(one.files):6,} files {one.size / 1e6:6.2f} MB "
            f"{one.size / 1e6 / max(one.seconds, 1e-9):5.1f} MB/s "
            f"({one.size / 1e6 / max(one.cpu, 1e-9):5.1f} by CPU)"
            + (f"; skipped: {skipped}" if skipped else "")
        )
    size, seconds = sum(one.size for one in found.values()), sum(one.seconds for one in found.values())
    print(f"{'all':12} {size / 1e6:19.2f} MB {size / 1e6 / max(seconds, 1e-9):5.1f} MB/s")
    disagreements = []
    if python := found.get("python"):
        files = [path for path in python.files if has_syntax(path)]
        ours = {one for one in python.symbols if one[0] in set(files)}
        disagreements += compare("python", ours, ours, set(by_ast(files)), "ast")
    for name in CTAGS_KINDS if shutil.which("ctags") else ():
        if language := found.get(name):
            theirs = set(by_ctags(language.files, name))
            disagreements += compare(name, language.symbols, language.outlined, theirs, "ctags")
    dice = random.Random(17)
    for name in CTAGS_KINDS:
        of_language = sorted(line for line in disagreements if line.startswith(f"{name} "))
        print(*dice.sample(of_language, min(given.disagreements, len(of_language))), sep="\n")
    print(f"peak memory: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10} MB")
    isolated.close()
    print(f"of a child: {resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss >> 10} MB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
