"""One reader for each way in which packages keep their translations.

A reader takes the archives of one source and yields the same strings in English and in Korean, raw: markup, keyboard
accelerators and placeholders are `cleaning`'s work. Order is the archive's own, so that neighbours stay neighbours.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from models.build.archives import Archive
from models.build.readers import (
    chromium,
    gettext,
    json_catalogue,
    libreoffice_help,
    mozilla,
    typescript,
    vscode,
)

Reader = Callable[[Sequence[Archive]], Iterator[tuple[str, str]]]

READERS: dict[str, Reader] = {
    "chromium": chromium.read,
    "gettext": gettext.read,
    "json": json_catalogue.read,
    "libreoffice-help": libreoffice_help.read,
    "mozilla": mozilla.read,
    "typescript": typescript.read,
    "vscode": vscode.read,
}
