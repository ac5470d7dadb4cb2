"""Reads the files of a commit from a git repository: no checkout, no write, no network.

Runs `git` with an environment of its own: no configuration but the repository's, which cannot name a
program that these commands run; no hooks, filters or replaced objects; no protocol, so that a partial
clone reports a missing file instead of fetching it. Names of refs never reach a command line.

A commit is named like a folder, by a `TreeRoot`. The other modules of this package take such a root as
they take the path of a folder.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import select
import shutil
import subprocess
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import IO, NamedTuple

from kebab_tui.domain.document import Fingerprint
from kebab_tui.domain.errors import SourceError, UnreadableFileError, UnsuitableFileError
from kebab_tui.files.tree_root import SEPARATOR, TreeRoot

_SECONDS = 60.0
"""For one answer of git; a tree of a million files takes about 10."""
_MOST_BYTES = 256 << 20
"""Of the names in a tree: those of about two million files."""
_FLAGS = (
    "--no-pager", "--no-replace-objects", "--literal-pathspecs",
    "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-c", "protocol.allow=never",
)  # fmt: skip
_FILE, _EXECUTABLE, _LINK, _SUBMODULE = b"100644", b"100755", b"120000", b"160000"
_POINTER = b"version https://git-lfs"
_UNSAFE_STEPS = frozenset({b"", b".", b"..", b".git"})
_COMMITTED = re.compile(rb"^committer .*> (-?\d+) [+-]\d{4}$", re.MULTILINE)
_SKIP = 1 << 20
_OID = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_ABBREVIATED = re.compile(r"[0-9a-f]{7,64}")
_OTHERWISE = re.compile(r"[A-Z_]*HEAD|@|[0-9a-f]{40}|[0-9a-f]{64}")
"""Names that git understands as something else, whatever refs there are."""
_SHORT = 12
_SHORT_NAMES = ("refs/tags/", "refs/heads/", "refs/remotes/", "refs/")
"""As git resolves a short name: the tag before the branch."""


class GitRef(NamedTuple):
    """What a version is read from. `ref`: its full name; empty if a commit was named by its hash."""

    label: str
    ref: str
    commit: str


class _Blob(NamedTuple):
    oid: str
    mode: bytes


@dataclass(frozen=True, slots=True)
class Repository:
    """The repository that a folder belongs to. `prefix`: the folder in it, with a slash unless empty."""

    git_dir: str
    prefix: str
    folder: str

    @classmethod
    def of(cls, folder: str) -> Repository:
        answer = _run(folder, "rev-parse", "--absolute-git-dir", "--show-prefix")
        git_dir, prefix, *_ = os.fsdecode(answer).split("\n")
        return cls(git_dir, prefix, folder)

    def refs(self) -> dict[str, str]:
        """The commit of each ref that leads to one, by its full name, in the order of version numbers."""
        form = "%(objecttype) %(objectname) %(*objecttype) %(*objectname) %(refname)"
        given = ("for-each-ref", "--sort=version:refname", f"--format={form}")
        found: dict[str, str] = {}
        for line in _run(self.git_dir, "-c", "versionsort.suffix=-", *given).splitlines():
            kind, oid, inner, target, ref = os.fsdecode(line).split(" ", 4)
            if kind == "commit":
                found[ref] = oid
            elif inner == "commit":
                found[ref] = target
            elif inner == "tag" and (commit := self._commit(oid)):  # a tag of a tag
                found[ref] = commit
        return found

    def resolve(self, name: str, refs: Mapping[str, str]) -> GitRef:
        """A tag, a branch, or a commit by its hash; raises SourceError."""
        for front in ("", *_SHORT_NAMES):
            ref = front + name
            if ref.startswith("refs/") and ref in refs:
                return GitRef(self._label_of(ref, refs), ref, refs[ref])
        if _ABBREVIATED.fullmatch(name) and (commit := self._commit(name)):
            return GitRef(commit[:_SHORT], "", commit)
        shown = [self._label_of(ref, refs) for ref in refs if ref.startswith("refs/tags/")]
        hint = f"its tags are: {', '.join(shown[-8:])}" if shown else "it has no tags; a branch will do, too"
        raise SourceError(f"no tag, branch or commit {name!r} in {self.git_dir}", hint)

    @staticmethod
    def _label_of(ref: str, refs: Mapping[str, str]) -> str:
        """The shortest name that git understands as this ref."""
        for front in _SHORT_NAMES:
            short = ref.removeprefix(front)
            if short == ref or _OTHERWISE.fullmatch(short):
                continue
            meant = next((f + short for f in _SHORT_NAMES if f + short in refs), ref)
            if meant == ref:
                return short
        return ref

    def _commit(self, name: str) -> str:
        try:
            answer = _run(
                self.git_dir, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}"
            )
        except SourceError:
            return ""
        commit = answer.decode().strip()
        return commit if _OID.fullmatch(commit) else ""

    def root(self, found: GitRef) -> TreeRoot:
        """The name of a commit as a root; raises SourceError for a path that cannot be part of one."""
        if SEPARATOR in f"{self.git_dir}{self.prefix}{self.folder}":
            raise SourceError("the path has a control character", "rename the folder")
        return TreeRoot(found.commit, found.label, found.ref, self.prefix, self.git_dir, self.folder)


@dataclass(frozen=True, slots=True)
class TreeStatus:
    """What `os.stat` says of a file, as far as a commit knows it."""

    st_size: int
    st_mtime_ns: int
    st_ctime_ns: int
    st_ino: int


@dataclass(frozen=True, slots=True)
class TreeEntry:
    """An entry of a folder in a commit, as `os.scandir` has them."""

    name: str
    blob: _Blob | None
    committed_ns: int

    def is_dir(self, **_: bool) -> bool:
        return self.blob is None

    def is_file(self, **_: bool) -> bool:
        return self.blob is not None and self.blob.mode in (_FILE, _EXECUTABLE)

    def stat(self, **_: bool) -> TreeStatus:
        oid = self.blob.oid if self.blob else "0"
        return TreeStatus(0, self.committed_ns, self.committed_ns, int(oid[:15], 16))


class GitTree:
    """The files below a folder of one commit. The names are read once; they never change."""

    def __init__(self, root: TreeRoot) -> None:
        self._root = root
        self._folders: dict[bytes, dict[str, _Blob | None]] = {b"": {}}
        self.links = self.submodules = 0
        self.committed_ns = self._when()
        self._list()
        self._reader: _BlobReader | None = None

    def _when(self) -> int:
        header = _run(self._root.git_dir, "cat-file", "commit", self._root.commit)
        found = _COMMITTED.search(header.partition(b"\n\n")[0])
        seconds = int(found[1]) if found else 0
        return max(-(2**33), min(seconds, 2**33)) * 1_000_000_000

    def _list(self) -> None:
        place = f"{self._root.commit}:{self._root.prefix}"
        try:
            listed = _run(self._root.git_dir, "ls-tree", "-r", "-z", "--full-tree", place)
        except SourceError as error:
            if self._root.prefix and "not a valid object name" in error.hint.lower():
                folder = self._root.prefix.rstrip("/")
                raise SourceError(
                    f"{self._root.label} has no folder {folder}", "it was added later, or has moved since"
                ) from None
            raise
        for line in listed.split(b"\0"):
            facts, _, path = line.partition(b"\t")
            if not path:
                continue
            mode, _, oid = facts.split(b" ")[:3]
            self.links += mode == _LINK
            self.submodules += mode == _SUBMODULE
            steps = path.split(b"/")
            if not _UNSAFE_STEPS.isdisjoint(steps):
                continue
            above, _, name = path.rpartition(b"/")
            self._folder(above)[os.fsdecode(name)] = _Blob(oid.decode(), mode)

    def _folder(self, path: bytes) -> dict[str, _Blob | None]:
        known = self._folders.get(path)
        if known is None:
            known = self._folders[path] = {}
            above, _, name = path.rpartition(b"/")
            self._folder(above)[os.fsdecode(name)] = None
        return known

    def entries(self, folder: str) -> list[TreeEntry]:
        """What is in a folder (empty for the top, else it ends with a slash)."""
        found = self._folders.get(os.fsencode(folder.rstrip("/")), {})
        return [TreeEntry(name, blob, self.committed_ns) for name, blob in found.items()]

    def blob(self, path: str) -> str:
        """The id of the content of a regular file; empty if there is none."""
        folder, _, name = path.rpartition("/")
        found = self._folders.get(os.fsencode(folder), {}).get(name)
        return found.oid if found is not None and found.mode in (_FILE, _EXECUTABLE) else ""

    def exists(self, path: str) -> bool:
        folder, _, name = path.rpartition("/")
        return name in self._folders.get(os.fsencode(folder), {})

    def read(self, path: str, most: int) -> tuple[bytes, Fingerprint]:
        """At most so many bytes of a file; raises UnreadableFileError."""
        oid = self.blob(path)
        if not oid:
            raise UnreadableFileError(f"{self._root.label} has no such file")
        if self._reader is None:
            data = _one_blob(self._root.git_dir, oid)
            size = len(data or b"")
        else:
            data, size = self._reader.read(oid, most)
        if data is None:
            raise UnreadableFileError(
                "this clone of the repository lacks the file",
                "fetch it with git, then run `kebab source version refresh`",
            )
        if data.startswith(_POINTER):
            raise UnsuitableFileError("a Git LFS pointer, not the file itself")
        stamp = Fingerprint(size, self.committed_ns, self.committed_ns, int(oid[:15], 16))
        return data[:most], stamp

    @contextlib.contextmanager
    def reading(self) -> Iterator[None]:
        """Read many files through one process."""
        with contextlib.closing(_BlobReader(self._root.git_dir)) as reader:
            self._reader = reader
            try:
                yield
            finally:
                self._reader = None


@lru_cache(maxsize=8)
def tree_at(root: str) -> GitTree:
    """The tree of a `TreeRoot` as text; raises SourceError."""
    found = TreeRoot.parse(root)
    if found is None:
        raise SourceError(f"not a version: {root!r}")
    return GitTree(found)


class _BlobReader:
    """One `git cat-file --batch`, begun again when it dies of a missing file."""

    def __init__(self, git_dir: str) -> None:
        self._git_dir = git_dir
        self._process: subprocess.Popen[bytes] | None = None
        self._rest = bytearray()
        self._present = _present_objects(git_dir)

    def read(self, oid: str, most: int) -> tuple[bytes | None, int]:
        """At most so many bytes of a blob, and its size; None if the repository lacks it."""
        if self._present is not None and oid not in self._present:
            return None, 0
        if self._process is None:
            self._rest.clear()
            self._process = _start(self._git_dir, ("cat-file", "--batch"), stdin=True)
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(f"{oid}\n".encode())
            self._process.stdin.flush()
            header = self._take_line().split(b" ")
            if len(header) < 3:  # `… missing`
                return None, 0
            size = int(header[2])
            data = self._take(min(size, most))
            left = size + 1 - len(data)
            while left > 0:
                left -= len(self._take(min(left, _SKIP)))
        except (OSError, EOFError):
            self.close()
            return None, 0
        return data, size

    def _take_line(self) -> bytes:
        while (end := self._rest.find(b"\n")) < 0:
            self._fill()
        return bytes(self._take(end + 1)[:-1])

    def _take(self, size: int) -> bytes:
        while len(self._rest) < size:
            self._fill()
        taken = bytes(self._rest[:size])
        del self._rest[:size]
        return taken

    def _fill(self) -> None:
        assert self._process is not None
        assert self._process.stdout is not None
        self._rest += _read_some(self._process.stdout, _SECONDS)

    def close(self) -> None:
        if self._process is not None:
            _end(self._process)
            self._process = None


@lru_cache(maxsize=4)
def _one_blob(git_dir: str, oid: str) -> bytes | None:
    """A blob by a process of its own; the last ones are kept, for who shows, locates and opens a note."""
    try:
        return _run(git_dir, "cat-file", "blob", oid)
    except SourceError:
        return None


def _present_objects(git_dir: str) -> frozenset[str] | None:
    """The objects that a partial clone has; None for a clone that has them all.

    Asking a partial clone for a missing object would make git try to fetch it, each time.
    """
    pattern = r"^(remote\..*\.promisor|extensions\.partialclone)$"
    try:
        _run(git_dir, "config", "--local", "--get-regexp", pattern)
    except SourceError:
        return None
    form = ("--batch-all-objects", "--unordered", "--batch-check=%(objectname)")
    return frozenset(_run(git_dir, "cat-file", *form, seconds=10 * _SECONDS).decode().split())


def git_blob_id(data: bytes) -> str:
    """The id that git gives to a content."""
    return hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()


# Running git


@cache
def _program() -> str:
    found = shutil.which("git")
    if found is None or not os.path.isabs(found):
        raise SourceError("git is not installed", "install git, or add the version as a folder: --folder")
    return found


def _environment() -> dict[str, str]:
    kept = ("PATH", "HOME", "TMPDIR", "SYSTEMROOT")
    return {name: os.environ[name] for name in kept if name in os.environ} | {
        "LC_ALL": "C",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_ALLOW_PROTOCOL": "none",  # stronger than `protocol.NAME.allow` of the repository
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_TERMINAL_PROMPT": "0",
    }


def _start(place: str, arguments: tuple[str, ...], *, stdin: bool = False) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(
            [_program(), *_FLAGS, *_safe(), "-C", place, *arguments],
            stdin=subprocess.PIPE if stdin else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL if stdin else subprocess.PIPE,
            env=_environment(),
        )
    except OSError as error:
        raise SourceError(f"cannot run git: {error.strerror}", "check the installation of git") from error


def _run(place: str, *arguments: str, seconds: float = _SECONDS) -> bytes:
    """What git answers; raises SourceError with its message as the hint."""
    process = _start(place, arguments)
    assert process.stdout is not None
    assert process.stderr is not None
    answer, deadline = bytearray(), time.monotonic() + seconds
    try:
        with contextlib.suppress(EOFError):
            while len(answer) <= _MOST_BYTES:
                answer += _read_some(process.stdout, deadline - time.monotonic())
            raise SourceError(
                f"git answers more than {_MOST_BYTES >> 20} MB", f"git {arguments[0]} in {place}"
            )
        problem = process.stderr.read(10_000).decode("utf-8", "replace").strip()
        if process.wait(max(1.0, deadline - time.monotonic())) != 0:
            raise _failed(place, problem)
    except (TimeoutError, subprocess.TimeoutExpired):
        raise SourceError(f"git does not answer: {place}", f"git {arguments[0]} took too long") from None
    finally:
        _end(process)
    return bytes(answer)


def _read_some(stream: IO[bytes], seconds: float) -> bytes:
    """What there is to read; raises EOFError at the end, TimeoutError if nothing comes."""
    if os.name != "nt" and not select.select([stream], [], [], max(0.0, seconds))[0]:
        raise TimeoutError  # Windows can wait for sockets only
    found = os.read(stream.fileno(), 1 << 20)
    if not found:
        raise EOFError
    return found


def _end(process: subprocess.Popen[bytes]) -> None:
    for stream in (process.stdin, process.stdout, process.stderr):
        if stream is not None:
            with contextlib.suppress(OSError):
                stream.close()
    if process.poll() is None:
        process.kill()
    process.wait()


def _failed(place: str, problem: str) -> SourceError:
    """The error for a message of git."""
    if "dubious ownership" in problem or "unsafe repository" in problem:
        return SourceError(
            f"the repository belongs to another user: {place}",
            "if you trust it: git config --global --add safe.directory FOLDER (with its path)",
        )
    if "not a git repository" in problem:
        return SourceError(
            f"not in a git repository: {place}", "add the version as a folder: --folder PATH --label NAME"
        )
    return SourceError(f"git cannot read {place}", problem.splitlines()[-1] if problem else "")


@cache
def _safe() -> tuple[str, ...]:
    """The folders of other users that the user's own settings of git trust, as options."""
    environment = {key: value for key, value in _environment().items() if not key.startswith("GIT_CONFIG")}
    try:
        found = subprocess.run(
            [_program(), "config", "--includes", "--get-all", "safe.directory"],
            env=environment, cwd="/", capture_output=True, timeout=_SECONDS, check=False,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return ()
    values = os.fsdecode(found.stdout).splitlines()
    return tuple(part for value in values for part in ("-c", f"safe.directory={value}"))
