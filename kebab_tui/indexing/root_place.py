"""What a root stands on: which folder it is, on which mount, and what is mounted within it.

An unmounted disk leaves an empty folder under the same name; only by this does it
differ from a folder whose notes were all deleted. Reads the mount table and the
folder's own entry, nothing in it.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass

_MOUNTS = "/proc/self/mountinfo"
_OCTAL = re.compile(rb"\\([0-7]{3})")
_REMOTE = re.compile(
    r"nfs4?|cifs|smb3?|smbfs|9p|virtiofs|ceph|glusterfs|lustre|afs|coda|davfs|ncpfs|vboxsf|prl_fs|vmhgfs"
    r"|fuse\..*"  # not `fuseblk`: that is a local disk
)


@dataclass(frozen=True, slots=True)
class Mount:
    number: int
    point: bytes
    kind: str

    @property
    def is_remote(self) -> bool:
        """Whether others can change files on it that our system then does not announce."""
        return _REMOTE.fullmatch(self.kind) is not None


@dataclass(frozen=True, slots=True)
class RootPlace:
    device: int
    inode: int
    holder: Mount
    """The mount that the root lies on."""
    within: frozenset[Mount] = frozenset()

    def has_lost_its_disk(self, now: RootPlace) -> bool:
        """Whether `now`, under the same path, is only what a mount had covered."""
        return now.holder.point != self.holder.point and _holds(now.holder.point, self.holder.point)


_EVERYTHING = Mount(0, b"/", "")


def place_of(root: bytes) -> RootPlace:
    """Look at a root; OSError where it is no folder whose entries can be seen."""
    with os.scandir(root):
        here = os.stat(root)
    holder, within = _EVERYTHING, set()
    path = os.path.realpath(root)
    for mount in _mounts():
        if mount.point != path and _holds(path, mount.point):
            within.add(mount)
        elif _holds(mount.point, path) and len(mount.point) >= len(holder.point):
            holder = mount  # of several on one point the last one lies on top
    return RootPlace(here.st_dev, here.st_ino, holder, frozenset(within))


def _holds(folder: bytes, path: bytes) -> bool:
    return path == folder or path.startswith(folder.rstrip(b"/") + b"/")


def _mounts() -> list[Mount]:
    try:
        descriptor = os.open(_MOUNTS, os.O_RDONLY)  # read each second: a buffered file costs twice the calls
    except OSError:
        return []  # not Linux, or no /proc: one file system then
    try:
        table = b"".join(iter(lambda: os.read(descriptor, 1 << 16), b""))
    finally:
        os.close(descriptor)
    return [_mount(line) for line in table.split(b"\n") if line]


def _mount(line: bytes) -> Mount:
    """`36 35 98:0 /root /point options [optional…] - kind source options`."""
    fields = line.split()
    point = _OCTAL.sub(lambda match: bytes([int(match[1], 8)]), fields[4])
    return Mount(int(fields[0]), point, fields[fields.index(b"-", 6) + 1].decode())
