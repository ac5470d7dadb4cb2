"""LibreOffice's help pages, matched by page and by the id of each element."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from models.build.archives import Archive

ELEMENT = re.compile(r'<(h[1-6]|p|td|th|dt|li|pre|div)\b[^>]*?\bid="([^"]+)"[^>]*>(.*?)</\1>', re.DOTALL)
MAC_ONLY = re.compile(r'<span hidden="true"[^>]*class="MAC"[^>]*>.*?</span>')


def read(archives: Sequence[Archive]) -> Iterator[tuple[str, str]]:
    english = {name: archive for archive in archives for name in archive if "/help/en-US/" in name}
    for archive in archives:
        for name in archive:
            counterpart = name.replace("/help/ko/", "/help/en-US/")
            if counterpart == name or not name.endswith(".html") or counterpart not in english:
                continue
            originals = elements(english[counterpart].read(counterpart))
            for key, text in elements(archive.read(name)).items():
                if key in originals:
                    yield originals[key], text


def elements(page: bytes) -> dict[str, str]:
    """The inner markup of each element with an id, without what only Mac readers see."""
    text = page.decode("utf-8", "replace")
    return {key: MAC_ONLY.sub("", inner) for _, key, inner in ELEMENT.findall(text)}
