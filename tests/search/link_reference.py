"""A plain reference for links: reads every file, compares every path, and looks at the disk.

What it finds broken must be what `kebab links --broken` finds broken.
"""

from __future__ import annotations

import os
import posixpath
import re
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote

from kebab_tui.domain.facets import values_of
from kebab_tui.formats.markdown import parse

_FENCE = re.compile(r"^([ \t>]*(?:(?:[-*+]|\d+[.)])[ \t]+)*)(```+|~~~+)")
_LINK = re.compile(
    r"(!?)\[\[([^\[\]\n]+)\]\]|\]\((?:<([^<>\n]*)>|([^\s()<]*(?:\([^\s()]*\)[^\s()]*)*))(?:\s+\"[^\"]*\")?\)"
)
_CODE = re.compile(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)", re.DOTALL)


def folded(text: str) -> str:
    return unicodedata.normalize("NFC", text).casefold()


def targets(text: str) -> Iterator[str]:
    """The paths of the links in a note, in order; a fence, a code span or a comment hides what is inside."""
    kept, fence = [], ""
    for line in text.split("\n"):
        mark = _FENCE.match(line)
        if fence:
            if mark and mark[2].startswith(fence) and not line.strip().strip("`~"):
                fence = ""
            kept.append("")
        elif mark:
            fence = mark[2]
            kept.append("")
        else:
            kept.append(line)
    paragraphs = [
        _CODE.sub(lambda match: " " * len(match[0]), paragraph)
        for paragraph in re.split(r"\n(?=[ \t>]*(?:\n|[-+*|#]|\d{1,9}[.)]))", "\n".join(kept))
    ]
    bare = re.sub(r"(?s)<!--.*?-->|%%.*?%%", "", "\n".join(paragraphs))
    for match in _LINK.finditer(bare):
        if bare[: match.start()].endswith("\\"):
            continue
        if match[2] is not None:
            target = match[2].replace("\\|", "|").split("|")[0].split("#")[0].strip()
        else:
            written = match[3] if match[3] is not None else match[4] or ""
            if re.match(r"[A-Za-z][A-Za-z0-9+.-]+:|//", written):
                continue
            target = unquote(written.split("#")[0].split("?")[0]).strip()
        if target and not re.match(r"[A-Za-z][A-Za-z0-9+.-]+:|//", target):
            yield target


class Reference:
    def __init__(self, root: Path) -> None:
        self.root = root
        self.texts: dict[str, str] = {}
        self.others: set[str] = set()
        self.names: set[str] = set()
        for at, folders, files in os.walk(root):
            folders[:] = [name for name in folders if not name.startswith(".")]
            for name in files:
                path = os.path.relpath(os.path.join(at, name), root)
                self.others.add(path)
                if name.endswith((".md", ".txt")):
                    self.texts[path] = Path(at, name).read_text("utf-8")
        self.forms = {form for path in self.texts for form in self._forms(folded(path))}
        for path, text in self.texts.items():
            facets = parse(text.encode(), path).facets
            self.names |= {folded(one) for kind in ("title", "alias") for one in values_of(facets, kind)}
        self.ends = {form[at:] for form in self.forms for at in self._starts(form)}

    @staticmethod
    def _forms(path: str) -> set[str]:
        stem = path.rpartition(".")[0]
        folder = posixpath.dirname(path)
        is_index = posixpath.basename(stem) in ("index", "_index", "readme")
        return {path, stem} | ({folder} if folder and is_index else set())

    @staticmethod
    def _starts(form: str) -> list[int]:
        return [0, *(at + 1 for at, letter in enumerate(form) if letter == "/")]

    def broken(self) -> list[tuple[str, str]]:
        """The note and the target of each link that leads to no note and no file."""
        return sorted(
            (unicodedata.normalize("NFC", path), target)
            for path, text in self.texts.items()
            for target in targets(text)
            if not self.leads(path, target)
        )

    def leads(self, path: str, target: str) -> bool:
        folder = posixpath.dirname(path)
        places = [] if target.startswith("/") else [posixpath.normpath(posixpath.join(folder, target))]
        if not target.startswith(("./", "../")):
            places.append(posixpath.normpath(target.lstrip("/")))
        if any(folded(place) in self.forms for place in places):
            return True
        is_name = not target.startswith(("/", "./", "../"))
        if is_name and (folded(target).strip("/") in self.ends or folded(target) in self.names):
            return True
        inside = (place for place in places if not place.startswith(".."))
        if any(os.path.lexists(self.root / place) for place in inside):
            return True
        has_name = "/" not in target and os.path.splitext(target)[1]
        return bool(has_name) and folded(target) in {folded(os.path.basename(one)) for one in self.others}
