"""The sample notes: a copy in the data folder, so that a newcomer may edit them."""

from __future__ import annotations

import os
import shutil

FOLDER = "sample-notes"


def sample_folder(data_folder: str) -> str | None:
    """The folder of the copy, made when it is not there; None where no samples came along."""
    target = os.path.join(data_folder, FOLDER)
    if os.path.isdir(target):
        return target
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    for source in (os.path.join(package, "_sample"), os.path.join(package, "..", "fixtures", "notes")):
        if os.path.isdir(source):
            scratch = target + ".new"
            if os.path.islink(scratch):
                os.unlink(scratch)
            shutil.copytree(source, scratch, dirs_exist_ok=True)
            os.replace(scratch, target)
            return target
    return None
