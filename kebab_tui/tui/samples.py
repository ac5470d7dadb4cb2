"""The sample notes: copied into a data folder of their own, so that they never mix with other notes."""

from __future__ import annotations

import os
import shutil

import kebab_tui
from kebab_tui import own_files

SAMPLE_FOLDER = "sample-notes"
_DATA = "samples"


def sample_data(data_folder: str) -> str:
    """The data folder of the sample notes, within that of the user's notes."""
    return os.path.join(data_folder, _DATA)


def sample_folder(data_folder: str) -> str | None:
    """Copy the sample notes into the data folder, once; None if the installation lacks them."""
    own_files.make_folder(data_folder)
    target = os.path.join(data_folder, SAMPLE_FOLDER)
    if os.path.isdir(target):
        return target
    package = kebab_tui.__path__[0]
    for source in (os.path.join(package, "_sample"), os.path.join(package, "..", "fixtures", "notes")):
        if os.path.isdir(source):
            scratch = target + ".new"
            if os.path.islink(scratch):
                os.unlink(scratch)
            shutil.copytree(source, scratch, dirs_exist_ok=True)
            os.replace(scratch, target)
            return target
    return None
