"""Versions of a source: their names, their state, and hits in them.

A version is a child source: `SOURCE@LABEL`. No source has an `@` in its name; a label may have one.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from kebab_tui.domain.citation import Citation
from kebab_tui.domain.document import Source
from kebab_tui.domain.errors import FilterError, UnfinishedFilterError
from kebab_tui.domain.hit import SearchHit
from kebab_tui.domain.ids import DocId, SourceId
from kebab_tui.domain.query import SearchFilters

MOST_LABEL = 100
_MOST_LISTED = 12
VersionKind = Literal["git", "folder"]
VersionHealth = Literal["ok", "moved", "ref gone", "unreadable", "unfinished"]
"""`moved`: its tag or branch leads to another commit by now. `unfinished`: not all of it is indexed."""


@dataclass(frozen=True, slots=True)
class Version:
    """A version of a source, and how it compares with its repository now.

    `place`: the repository, or the folder. `now`: where its ref leads now, if that is another commit.
    """

    source: SourceId
    label: str
    kind: VersionKind
    place: str
    prefix: str = ""
    ref: str = ""
    commit: str = ""
    notes: int = 0
    passages: int = 0
    health: VersionHealth = "ok"
    now: str = ""
    reason: str = ""

    @property
    def version_id(self) -> SourceId:
        return version_id(self.source, self.label)

    @property
    def remark(self) -> str:
        """What has become of it, in words; empty if nothing has."""
        match self.health:
            case "ok":
                return ""
            case "moved":
                return f"{self.label} moved: {self.commit[:7]} → {self.now[:7]}"
            case "ref gone":
                return f"{self.ref} is gone; what was read of it is kept"
            case "unfinished":
                return "not read to its end: `kebab source version refresh`"
        return self.reason


def version_id(source: str, label: str) -> SourceId:
    return SourceId(f"{source}@{label}")


def source_of(version: str) -> SourceId:
    """The source that a version is of; a source is its own."""
    return SourceId(version.partition("@")[0])


def label_problem(label: str) -> str:
    """Why a text cannot be the label of a version; empty if it can."""
    if not label or len(label) > MOST_LABEL:
        return f"expected 1 to {MOST_LABEL} characters"
    if label.startswith("-"):
        return "it begins with a dash: git and kebab would read it as an option"
    if any(not sign.isprintable() or sign.isspace() or sign in ':"(),\\' for sign in label):
        return "expected no blanks, colons, commas, quotes, backslashes or parentheses"
    return ""


def with_versions(filters: SearchFilters, known: Sequence[Source], *, begun: str = "") -> SearchFilters:
    """The filters with the versions that are meant; raises FilterError with the known labels.

    `known`: the versions of all sources. `begun`: the end of a text that is being typed.
    """
    limits = (filters.within, filters.sources, tuple(part.source for part in filters.scope))
    near = [one for one in known if all(not of or source_of(one.source_id) in of for of in limits)]
    labels = list(dict.fromkeys(_normal(one.version_label) for one in near))
    typed = [_normal(label) for label in filters.versions]
    for label in typed:
        if label in labels:
            continue
        if begun.endswith(label) and any(one.startswith(label) for one in labels):
            raise UnfinishedFilterError(f"version: expects one of {_listed(labels)}")
        hint = f"the versions are: {_listed(labels)}" if labels else "`kebab source version add` reads one"
        raise FilterError(f"invalid version:{label}; no such version", hint)
    meant = tuple(one.source_id for one in near if _normal(one.version_label) in typed)
    return replace(filters, versions=(), version_ids=meant, sources=(), within=(), scope=())


def _listed(labels: Sequence[str]) -> str:
    """The last labels, and how many more there are."""
    more = len(labels) - _MOST_LISTED
    return ", ".join(labels[-_MOST_LISTED:]) + (f" and {more} more" if more > 0 else "")


def _normal(label: str) -> str:
    return unicodedata.normalize("NFC", label)


def labelled(hits: Sequence[SearchHit], meant: Mapping[DocId, tuple[str, Version]]) -> tuple[SearchHit, ...]:
    """The hits as hits of versions; `meant` has the root and the version of each note."""
    found = []
    for hit in hits:
        root, version = meant[hit.doc_id]
        cited = cited_in(hit.citation, version)
        found.append(replace(hit, source=version.source, root=root, version=version.label, citation=cited))
    return tuple(found)


def cited_in(citation: Citation, version: Version) -> Citation:
    """The citation as git spells it: with the path in the repository."""
    return replace(citation, path=version.prefix + citation.path, version=version.label)
