"""Links between notes: as written, as found, and the key by which both ends know each other.

A link is stored as it is written and resolved when it is read, so that a note that appears later resolves it
at once. Its key is the written path, folded, without the extension of a note and without leading `./`, `../`
and `/`; the keys of a note are its names, and its path with any number of its folders.
"""

from __future__ import annotations

import json
import posixpath
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from json.encoder import encode_basestring
from typing import TYPE_CHECKING, Literal, NamedTuple

from kebab_tui.domain.citation import Citation, SourceSpan
from kebab_tui.domain.names import EXTENSION, is_called_after_its_folder, stem_of

if TYPE_CHECKING:
    from kebab_tui.domain.document import Document
    from kebab_tui.domain.facets import Facet
    from kebab_tui.domain.ids import DocId, SourceId

LinkForm = Literal["wiki", "embed", "markdown", "image", "reference", "url"]
LinkDirection = Literal["out", "in", "broken", "external"]
LINK_DIRECTIONS: tuple[LinkDirection, ...] = ("out", "in", "broken", "external")
LinkProblem = Literal["no_note", "no_file", "no_heading", "no_block"]
PROBLEMS: dict[LinkProblem, str] = {
    "no_note": "no such note",
    "no_file": "no such file",
    "no_heading": "no such heading",
    "no_block": "no such block",
}
_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:|//")
_HOST = re.compile(r"(?i)[a-z][a-z0-9+.-]*:(?://(?:[^/@?#]*@)?([^/:?#]*)|)")


def folded_path(path: str) -> str:
    """Key for the comparison of paths: NFC, case-folded."""
    return unicodedata.normalize("NFC", path).casefold()


def without_extension(path: str) -> str:
    """The path of a note as links write it."""
    return EXTENSION.sub("", path)


def link_key(written: str) -> str:
    """The key of a written link; empty for a link to a place in its own note."""
    path = folded_path(written).strip().replace("\\", "/")
    if not path:
        return ""
    path = re.sub(r"\A(?:\.{0,2}/)+", "", posixpath.normpath(path) + "/" * path.endswith("/"))
    return without_extension(path.rstrip("/"))


def path_forms(path: str) -> list[str]:
    """How a link may write a path, folded: with and without its extension, and as the folder of an index."""
    whole = folded_path(path)
    folder = whole.rpartition("/")[0]
    forms = [whole, without_extension(whole), posixpath.join(folder, stem_of(whole))]
    if folder and is_called_after_its_folder(whole):
        forms.append(folder)
    return list(dict.fromkeys(forms))


def path_keys(path: str) -> Iterator[str]:
    """The keys of links that may mean a path: the ends of its forms."""
    for form in path_forms(path):
        yield form
        at = form.find("/")
        while at >= 0:
            yield form[at + 1 :]
            at = form.find("/", at + 1)


def host_of(address: str) -> str:
    """The host of an address, else its scheme."""
    found = _HOST.match(address)
    return (found[1] or address.partition(":")[0]).lower() if found else ""


def is_external(target: str) -> bool:
    """Whether a written target is an address and not a path."""
    return _ADDRESS.match(target) is not None


class WrittenLink(NamedTuple):
    """A link as it stands in a note. A tuple, because a note may have thousands.

    `path` is empty for a link to a place in the same note.

    `column`: where it begins in its line, in bytes of UTF-8, from 1.
    """

    path: str
    anchor: str
    text: str
    form: LinkForm
    line: int
    column: int

    @classmethod
    def of(cls, facet: Facet) -> WrittenLink:
        """A link from the facet that stores it."""
        form, text, column = json.loads(facet.extra or '["wiki","",1]')
        return cls(facet.value, facet.target or "", text, form, facet.line or 1, column)

    @property
    def extra(self) -> str:
        """What its facet stores beside path, anchor and line."""
        return f'["{self.form}",{encode_basestring(self.text)},{self.column}]'  # 6 times as fast as dumps

    def __str__(self) -> str:
        """The target as written: `note#heading`."""
        return f"{self.path}#{self.anchor}" if self.anchor else self.path


class LinkedNote(NamedTuple):
    """A note at one end of a link."""

    doc_id: DocId
    source: SourceId
    root: str
    path: str
    raw_path: bytes
    title: str


@dataclass(frozen=True, slots=True)
class NoteLink:
    """A link with the note that has it, and what it leads to.

    `target` is None for an address, a broken link and a file that is not a note. `span`: the lines of the
    heading or block that it names. `candidates`: the notes that it could mean equally well, the nearest
    first, `target` among them; empty unless there are several. `file`: the path of a file that is no note.
    `place`: where `target` is.
    """

    note: LinkedNote
    link: WrittenLink
    target: Document | None = None
    span: SourceSpan | None = None
    candidates: tuple[LinkedNote, ...] = ()
    problem: LinkProblem | None = None
    file: str = ""
    place: LinkedNote | None = None

    @property
    def citation(self) -> Citation:
        """The line of the link."""
        return Citation(self.note.path, SourceSpan(self.link.line, self.link.line))

    @property
    def target_citation(self) -> Citation | None:
        """The lines that the link names, else the first line or page of its note."""
        if self.target is None:
            return None
        return Citation(self.target.path, self.span or self.target.beginning)


@dataclass(frozen=True, slots=True)
class NoteLinks:
    """One page of links, and their total number."""

    links: tuple[NoteLink, ...]
    total: int


@dataclass(frozen=True, slots=True)
class SimilarNote:
    """A note of a near meaning. `cosine` compares the notes; `citation` and `text` are a passage."""

    document: Document
    root: str
    cosine: float
    citation: Citation
    text: str
