"""Identifies the root folder of a source: which folder, on which file system.

An unmounted disk leaves an empty folder under the same name; only the identity distinguishes it from a
folder whose notes were all deleted.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass

from kebab_tui.domain.errors import SourceError

_MOUNTS = "/proc/self/mountinfo"
_OCTAL = re.compile(rb"\\([0-7]{3})")
_REMOTE = re.compile(
    r"nfs4?|cifs|smb3?|smbfs|9p|virtiofs|ceph|glusterfs|lustre|afs|coda|davfs|ncpfs|vboxsf|prl_fs|vmhgfs"
    r"|fuse\..*"  # not `fuseblk`: a local disk
)


@dataclass(frozen=True, slots=True)
class Mount:
    number: int
    point: bytes
    kind: str

    @property
    def is_remote(self) -> bool:
        """Whether other computers can change its files without an event here."""
        return _REMOTE.fullmatch(self.kind) is not None


@dataclass(frozen=True, slots=True)
class RootIdentity:
    """Equal as long as the path leads to the same folder with the same file systems in it."""

    device: int
    inode: int
    mount: Mount
    mounts_inside: frozenset[Mount] = frozenset()

    @classmethod
    def of(cls, root: str) -> RootIdentity:
        """Raises OSError unless the root is a readable folder. Reads the mount table."""
        with os.scandir(root):
            here = os.stat(root)
        path = os.path.realpath(os.fsencode(root))
        outer, inside = Mount(0, b"/", ""), set()
        for mount in _mounts():
            if mount.point != path and _contains(path, mount.point):
                inside.add(mount)
            elif _contains(mount.point, path) and len(mount.point) >= len(outer.point):
                outer = mount  # of several mounts on one point, the last one is visible
        return cls(here.st_dev, here.st_ino, outer, frozenset(inside))

    @property
    def stored(self) -> str:
        """The part that the index remembers: the folder itself; mounts change with every boot."""
        return f"{self.device}:{self.inode}"

    def has_lost_its_disk(self, now: RootIdentity) -> bool:
        """Whether `now`, under the same path, is the folder below the former mount point."""
        return now.mount.point != self.mount.point and _contains(now.mount.point, self.mount.point)


def check_root(root: str) -> RootIdentity:
    """Raise SourceError unless `root` is a folder that can be listed."""
    try:
        return RootIdentity.of(root)
    except FileNotFoundError:
        raise SourceError(
            f"folder not found: {root}",
            "check the spelling and whether its drive is mounted; notes indexed earlier are kept",
        ) from None
    except NotADirectoryError:
        raise SourceError(f"not a folder: {root}", "pass the folder that contains the note") from None
    except PermissionError:
        raise SourceError(f"permission denied: {root}", "check the permissions of the folder") from None
    except (OSError, ValueError) as error:
        raise SourceError(f"cannot read the folder: {root}", str(error)) from error


def is_empty(root: str) -> bool:
    """Whether a folder has no entries, or cannot be listed any more."""
    try:
        with os.scandir(root) as entries:
            return next(entries, None) is None
    except OSError:
        return True


def _contains(folder: bytes, path: bytes) -> bool:
    return path == folder or path.startswith(folder.rstrip(b"/") + b"/")


def _mounts() -> Iterator[Mount]:
    """Parse lines such as `36 35 98:0 /root /point options [optional…] - kind source options`."""
    try:
        descriptor = os.open(_MOUNTS, os.O_RDONLY)  # once a second: a buffered file costs twice the calls
    except OSError:
        return  # not Linux, or no /proc: treat everything as one file system
    try:
        table = b"".join(iter(lambda: os.read(descriptor, 1 << 16), b""))
    finally:
        os.close(descriptor)
    for line in filter(None, table.split(b"\n")):
        fields = line.split()
        point = _OCTAL.sub(lambda match: bytes([int(match[1], 8)]), fields[4])
        yield Mount(int(fields[0]), point, fields[fields.index(b"-", 6) + 1].decode())
