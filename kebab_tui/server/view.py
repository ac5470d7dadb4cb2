"""What one agent may see of an index: passages that are cited as they are now, within a budget.

Left out, and not even counted: private notes, and notes outside the sources that the agent was given. Each
passage is located in its file, and checked for privacy again, right before it leaves; one that is private by
now, or whose file is gone, does not leave. Knows no protocol.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import ceil
from typing import TYPE_CHECKING

from kebab_tui.domain.citation import Citation, SourceSpan
from kebab_tui.domain.document import ChunkKind, Source
from kebab_tui.domain.errors import (
    FilterError,
    ModelError,
    NotFoundError,
    NotIndexedError,
    StoreError,
    UsageError,
)
from kebab_tui.domain.facets import TAG
from kebab_tui.domain.hit import Notice
from kebab_tui.domain.ids import SourceId
from kebab_tui.domain.note_uri import SCHEME, uri_of
from kebab_tui.domain.query import SearchFilters, SearchMode, SearchQuery, facet_filters
from kebab_tui.domain.text import duration

if TYPE_CHECKING:
    from kebab_tui.domain.document import Document
    from kebab_tui.domain.links import LinkedNote, NoteLink, WrittenLink
    from kebab_tui.indexing.quote import QuotedHit, QuotedNote
    from kebab_tui.search.libraries import FoundLibrary
    from kebab_tui.workspace import Workspace

_BYTES_A_TOKEN = 3.5
"""Of UTF-8: about 3.5 letters of English or 1.2 of Korean."""
_MOST_RECENT = 50
_MOST_SOURCES = 1_000
_TOKENS_A_NUMBER = 2
_TOKENS_A_HIT = 130
"""For its citation, source, title and the like, in JSON."""


@dataclass(frozen=True, slots=True)
class Passages:
    """The answer to a search. `truncated`: the budget was spent before the end of the page."""

    query: str
    hits: tuple[QuotedHit, ...]
    total: int
    next_offset: int | None
    truncated: bool
    notices: tuple[Notice, ...]
    corpus_revision: int


@dataclass(frozen=True, slots=True)
class ReadLines:
    """Some present lines of a note. `first`: the number of the first one; `next`: where to read on."""

    asked: str
    note: QuotedNote
    citation: Citation
    first: int
    lines: tuple[str, ...]
    truncated: bool
    next: Citation | None


@dataclass(frozen=True, slots=True)
class RelatedLink:
    """A link, the line where it stands, and what it leads to, if that is a note that the agent may see."""

    link: WrittenLink
    place: QuotedNote
    target: QuotedNote | None


@dataclass(frozen=True, slots=True)
class RelatedNotes:
    """What a note is related to. The totals count links that are not listed, too."""

    note: QuotedNote
    links: tuple[RelatedLink, ...]
    total_links: int
    backlinks: tuple[RelatedLink, ...]
    total_backlinks: int
    similar: tuple[tuple[QuotedNote, float], ...]
    notices: tuple[Notice, ...]


@dataclass(frozen=True, slots=True)
class ViewStatus:
    """What an agent may know of the whole index. `indexed_ns`: the end of the last run; 0 without one."""

    corpus_revision: int
    indexed_ns: int
    is_watched: bool
    libraries: tuple[FoundLibrary, ...]


class AgentView:
    """The sources that an agent was given; all without names."""

    def __init__(self, workspace: Workspace, sources: Sequence[str] = ()) -> None:
        self._workspace = workspace
        self._named = tuple(SourceId(name) for name in sources)

    def sources(self) -> list[Source]:
        known = self._workspace.sources()
        return [source for source in known if not self._named or source.source_id in self._named]

    def check_sources(self) -> None:
        """Raise if a given source does not exist."""
        known = self._workspace.source_ids() if self._named else []
        for name in self._named:
            if name not in known:
                raise UsageError(f"there is no source named {name!r}", f"the sources are: {', '.join(known)}")

    def search(
        self,
        query: str,
        *,
        limit: int,
        offset: int = 0,
        max_tokens: int,
        mode: SearchMode | None = None,
        source: str = "",
        version: str = "",
        kind: ChunkKind | None = None,
        type_: str = "",
        tags: Sequence[str] = (),
        path: str = "",
    ) -> Passages:
        """One page of passages, as many as fit the budget; the first always does."""
        self._refuse_raw(query)
        filters = replace(
            self._scope(source),
            versions=(version,) if version else (),
            facets=facet_filters(TAG, "all", tags),
            kinds=() if kind is None else (kind,),
        )
        if type_:
            filters = replace(filters, types=self._workspace.filter_of("type", type_, _spelled).types)
        if path:
            filters = replace(filters, paths=self._workspace.filter_of("path", path, _spelled).paths)
        asked = SearchQuery(
            text=query,
            mode=mode or self._workspace.settings.search.mode,
            k=limit,
            offset=offset,
            filters=filters,
            exact=bool(filters.within),  # a correction could tell a word of another source
        )
        response = self._workspace.search(asked)
        hits: list[QuotedHit] = []
        budget, place, truncated = max_tokens, offset, False
        for hit in response.hits:
            if (quoted := self._workspace.quote(hit)) is not None:
                cost = tokens_of(quoted.hit.text) + _TOKENS_A_HIT
                if hits and cost > budget:
                    truncated = True
                    break
                budget -= cost
                hits.append(quoted)
            place += 1
        more = truncated or response.next_offset is not None
        notices = [*response.notices, *self._not_watched()]
        return Passages(
            query=query,
            hits=tuple(hits),
            total=response.total_matches,
            next_offset=place if more else None,
            truncated=truncated,
            notices=tuple(notices),
            corpus_revision=response.corpus_revision,
        )

    def read(
        self, target: str, *, source: str = "", version: str = "", context: int = 0, max_tokens: int
    ) -> ReadLines:
        """The present lines of a citation with some around them, or of a note from its first line on.

        In a version: its lines.
        """
        is_named = not version or target.startswith((SCHEME, f"{version}:"))
        found = self._quoted(target if is_named else f"{version}:{target}", self._scope(source))
        span, total = found.citation.span, len(found.lines)
        first, last = 1, total
        if not found.pages:
            first, last = max(1, span.first - context), max(1, min(total, span.last + context))
        shown, truncated = _fitting(found.lines[first - 1 : last], max_tokens)
        end = first + max(len(shown), 1) - 1
        cited, following = found.citation, None
        if not found.pages:
            cited = replace(cited, span=SourceSpan(first, end))
            if end < total:
                following = replace(cited, span=SourceSpan(end + 1, min(total, 2 * end + 1 - first)))
        elif (span.page or 1) < found.pages:
            following = replace(cited, span=SourceSpan(1, 1, page=(span.page or 1) + 1), label="")
        return ReadLines(target, found, cited, first, shown, truncated, following)

    def related(self, target: str, *, source: str = "", limit: int) -> RelatedNotes:
        """Links, backlinks and similar notes, each cited as it is now; of a passage if `target` cites one."""
        scope = self._scope(source)
        found = self._quoted(target, scope)
        document, everywhere = found.document, self._scope()
        whole = uri_of(document.source, document.raw_path)
        is_passage = (
            bool(found.pages) or len(found.lines) > found.citation.span.last - found.citation.span.first + 1
        )
        cited = uri_of(document.source, document.raw_path, found.citation.span) if is_passage else whole
        workspace = self._workspace
        out = workspace.links(whole, "out", everywhere, limit)
        back = workspace.links(whole, "in", everywhere, limit)
        notices: list[Notice] = []
        try:
            near = workspace.similar(cited, limit, everywhere)
        except ModelError as error:
            near, notices = [], [Notice("no_similar", f"{error.message}.", "warning")]

        def place(note: LinkedNote | Document, span: SourceSpan) -> QuotedNote | None:
            """A place in a note as it is now; None if the agent may not see it."""
            try:
                return workspace.quote_target(uri_of(note.source, note.raw_path, span), everywhere)
            except NotFoundError:
                return None

        def target_of(link: NoteLink) -> QuotedNote | None:
            return None if link.target is None else place(link.target, link.span or SourceSpan(1, 1))

        links = [
            RelatedLink(one.link, here, target_of(one))
            for one in out.links
            if (here := place(one.note, one.citation.span)) is not None
        ]
        backlinks = [
            RelatedLink(one.link, there, None)
            for one in back.links
            if (there := place(one.note, one.citation.span)) is not None
        ]
        similar = [
            (quoted, one.cosine)
            for one in near
            if (quoted := place(one.document, one.citation.span)) is not None
        ]
        return RelatedNotes(
            found, tuple(links), out.total, tuple(backlinks), back.total, tuple(similar), tuple(notices)
        )

    def _quoted(self, target: str, scope: SearchFilters) -> QuotedNote:
        try:
            return self._workspace.quote_target(target, scope)
        except NotFoundError as error:
            if not error.hint:
                raise _unknown(target) from None
            raise

    def libraries(self, name: str, query: str = "", limit: int = 10) -> list[FoundLibrary]:
        self._refuse_raw(query)
        return self._workspace.find_libraries(name, query, limit, self._scope())

    def status(self) -> ViewStatus:
        """Raises if the index cannot answer."""
        workspace = self._workspace
        return ViewStatus(
            workspace.revision(),
            workspace.last_indexed_ns(),
            workspace.live() is not None,
            tuple(workspace.find_libraries("", limit=_MOST_SOURCES, filters=self._scope())),
        )

    def versions(self, source: str = "") -> list[str]:
        """The labels of the versions of a source, or of all that the agent may see."""
        allowed = {one.source_id for one in self.sources()} if not source else {source}
        found = self._workspace.stored_versions(source)
        return list(dict.fromkeys(one.label for one in found if one.source in allowed))

    def library(self, name: str, version: str = "") -> tuple[Source, str]:
        """The source of a library id, such as `/notes`, and the version of `/notes/v1.2` or `notes@v1.2`."""
        wanted = name.removeprefix("/")
        named, _, stated = wanted.replace("@", "/", 1).partition("/")
        for source in self.sources():
            if source.source_id != named:
                continue
            if stated and version and stated != version:
                raise UsageError(f"{name!r} is not version {version!r}", "leave out one of the two")
            version = stated or version
            known = self.versions(source.source_id) if version else []
            if version and version not in known:
                hint = f"its versions are: {', '.join(known)}" if known else "it has only present notes"
                raise NotFoundError(f"{named} has no version {version!r}", hint)
            return source, version
        raise NotFoundError(f"there is no library {name!r}", "resolve-library-id finds the ids of libraries")

    def recent(self) -> Iterator[tuple[Document, str]]:
        """The latest changed notes, each with its URI."""
        for note in self._workspace.find("", _MOST_RECENT, 0, self._scope()):
            if self._workspace.may_share(note.root, note.document.raw_path):
                yield note.document, uri_of(note.document.source, note.document.raw_path)

    def _refuse_raw(self, query: str) -> None:
        """A raw query can take minutes, and the next call waits for it."""
        if self._workspace.parse(query).raw is not None:
            raise UsageError("raw queries of FTS5 are not for agents", "leave out the single quotes")

    def _scope(self, source: str = "") -> SearchFilters:
        """The filters that every question of this agent has."""
        if not source:
            return SearchFilters(within=self._named, shareable=True)
        known = self._named or self._workspace.source_ids()
        if source not in known:
            raise FilterError(f"there is no source named {source!r}", f"the sources are: {', '.join(known)}")
        return SearchFilters(within=(SourceId(source),), shareable=True)

    def _not_watched(self) -> Iterator[Notice]:
        if self._workspace.live() is None:
            try:
                seconds = time.time() - self._workspace.last_indexed_ns() / 1e9
            except (NotIndexedError, StoreError):
                return
            text = f"No process watches the notes; they were indexed {duration(max(0.0, seconds))} ago."
            if self._workspace.is_shared(self._workspace.settings.index.url):
                text = f"The shared index was published {duration(max(0.0, seconds))} ago."
            yield Notice("not_watched", text)


def tokens_of(text: str) -> int:
    """About as many tokens as a language model reads."""
    return ceil(len(text.encode("utf-8", "surrogatepass")) / _BYTES_A_TOKEN)


def _unknown(target: str) -> NotFoundError:
    """One answer to all that an agent may not know to exist."""
    return NotFoundError(
        f"not in the index: {target}",
        "give a path or a citation as a search prints it, such as infra/port.md:L23",
    )


def _spelled(key: str, value: str) -> str:
    return f"{key} {value or repr(value)}"


def _fitting(lines: Sequence[str], max_tokens: int) -> tuple[tuple[str, ...], bool]:
    """As many lines as fit the budget, and whether it cut some; the first one is shortened if need be."""
    shown: list[str] = []
    left = max_tokens
    for line in lines:
        left -= tokens_of(line) + _TOKENS_A_NUMBER
        if left < 0:
            if not shown:
                data = line.encode("utf-8", "surrogatepass")[: int(max_tokens * _BYTES_A_TOKEN)]
                shown.append(data.decode("utf-8", "ignore") + "…")
            return tuple(shown), True
        shown.append(line)
    return tuple(shown), False
