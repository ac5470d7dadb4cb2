"""What one agent may see of an index: passages that are cited as they are now, within a budget.

Left out, and not even counted: private notes, and notes outside the sources that the agent was given. Each
passage is located in its file, and checked for privacy again, right before it leaves; one whose file is gone
does not leave. Knows no protocol.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import ceil
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote_to_bytes

from kebab_tui.domain.citation import Citation, Located, SourceSpan
from kebab_tui.domain.document import ChunkKind, Source
from kebab_tui.domain.errors import FilterError, NotFoundError, NotIndexedError, StoreError, UsageError
from kebab_tui.domain.facets import TAG
from kebab_tui.domain.hit import Notice, SearchHit
from kebab_tui.domain.ids import SourceId
from kebab_tui.domain.query import SearchFilters, SearchMode, SearchQuery, facet_filters
from kebab_tui.domain.text import display_path, duration

if TYPE_CHECKING:
    from kebab_tui.domain.document import Document
    from kebab_tui.indexing.quote import Quote
    from kebab_tui.search.libraries import FoundLibrary
    from kebab_tui.workspace import Workspace

SCHEME = "kebab://"
_BYTES_A_TOKEN = 3.5
"""Of UTF-8: about 3.5 letters of English or 1.2 of Korean."""
_MOST_RECENT = 50


@dataclass(frozen=True, slots=True)
class QuotedHit:
    """A hit with its present text and citation; `located`: how they compare with the indexed ones."""

    hit: SearchHit
    located: Located


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
    quote: Quote
    first: int
    lines: tuple[str, ...]
    truncated: bool
    next: Citation | None


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
        known = [source.source_id for source in self._workspace.sources()]
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
        kind: ChunkKind | None = None,
        type_: str = "",
        tags: Sequence[str] = (),
        path: str = "",
    ) -> Passages:
        """One page of passages, as many as fit the budget; the first always does."""
        filters = replace(
            self._scope(query, source),
            facets=facet_filters(TAG, "all", tags),
            kinds=() if kind is None else (kind,),
        )
        for key, value in (("type", type_), ("path", path)):
            if value:
                filters = _joined(filters, self._workspace.filter_of(key, value, _spelled))
        asked = SearchQuery(
            text=query,
            mode=mode or self._workspace.settings.search.mode,
            k=limit,
            offset=offset,
            filters=filters,
            exact=bool(self._named),  # a correction could tell a word of another source
        )
        response = self._workspace.search(asked)
        hits: list[QuotedHit] = []
        budget, place, left_out, truncated = float(max_tokens), offset, 0, False
        for hit in response.hits:
            quoted = self._quoted(hit)
            if quoted is None:
                left_out += 1
            else:
                cost = tokens_of(quoted.hit.text)
                if hits and cost > budget:
                    truncated = True
                    break
                budget -= cost
                hits.append(quoted)
            place += 1
        more = truncated or response.next_offset is not None
        notices = [*response.notices, *self._not_watched()]
        if left_out:
            passages = "passage was" if left_out == 1 else "passages were"
            notices.append(
                Notice("left_out", f"{left_out} {passages} left out: the index is older than the notes.")
            )
        return Passages(
            query=query,
            hits=tuple(hits),
            total=response.total_matches - left_out,
            next_offset=place if more else None,
            truncated=truncated,
            notices=tuple(notices),
            corpus_revision=response.corpus_revision,
        )

    def read(self, target: str, *, source: str = "", context: int = 0, max_tokens: int) -> ReadLines:
        """The present lines of a citation with some around them, or of a note from its first line on."""
        scope = self._scope("", source)
        if target.startswith(SCHEME):
            named, target_within = parse_uri(target)
            if named != (source or named) or named not in (scope.sources or (named,)):
                raise _unknown(target)
            scope = replace(scope, sources=(SourceId(named),))
        else:
            target_within = target
        try:
            found = self._workspace.quote_target(target_within, scope)
        except NotFoundError as error:
            if not error.hint:
                raise _unknown(target) from None
            raise
        span, total = found.citation.span, found.total
        first = max(1, span.first - context) if not found.pages else 1
        last = max(1, min(total, span.last + context))
        budget, shown, truncated = max_tokens, list[str](), False
        for line in found.lines[first - 1 : last]:
            cost = tokens_of(line) + 2  # its number
            if cost > budget:
                truncated = True
                if not shown:
                    shown.append(_cut(line, max_tokens))
                break
            budget -= cost
            shown.append(line)
        if span.page is not None:
            following = None
            if span.page < found.pages:
                following = Citation(found.citation.path, SourceSpan(1, 1, page=span.page + 1))
            return ReadLines(target, found, first, tuple(shown), truncated, following)
        end = first + max(len(shown), 1) - 1
        cited = Citation(found.citation.path, SourceSpan(first, end))
        following = None
        if end < total:
            following = Citation(found.citation.path, SourceSpan(end + 1, min(total, 2 * end + 1 - first)))
        return ReadLines(target, replace(found, citation=cited), first, tuple(shown), truncated, following)

    def libraries(self, name: str, query: str = "", limit: int = 10) -> list[FoundLibrary]:
        return self._workspace.find_libraries(name, query, limit, self._scope("", ""))

    def library(self, name: str) -> Source:
        """The source of a library id, such as `notes` or `/notes`."""
        wanted = name.removeprefix("/")
        for source in self.sources():
            if source.source_id == wanted:
                return source
        raise NotFoundError(f"there is no library {name!r}", "resolve-library-id finds the ids of libraries")

    def recent(self) -> Iterator[tuple[Document, str]]:
        """The latest changed notes, each with its URI."""
        for note in self._workspace.find("", _MOST_RECENT, 0, self._scope("", "")):
            if self._workspace.may_share(note.root, note.document.raw_path):
                yield note.document, uri_of(note.document.source, note.document.raw_path)

    def _scope(self, query: str, source: str) -> SearchFilters:
        """The filters that every question of this agent has."""
        named = [*self._workspace.parse(query).filters.sources, *([source] if source else [])]
        known = self._workspace.source_ids() if named else []
        known = [one for one in known if not self._named or one in self._named]
        for name in named:
            if name not in known:
                raise FilterError(
                    f"there is no source named {name!r}", f"the sources are: {', '.join(known)}"
                )
        chosen = (SourceId(source),) if source else () if named else self._named
        return SearchFilters(sources=chosen, shareable=True)

    def _quoted(self, hit: SearchHit) -> QuotedHit | None:
        quote = self._workspace.quote(hit)
        if quote is None:
            return None
        return QuotedHit(replace(hit, text="\n".join(quote.lines), citation=quote.citation), quote.located)

    def _not_watched(self) -> Iterator[Notice]:
        if self._workspace.live() is None:
            try:
                seconds = time.time() - self._workspace.last_indexed_ns() / 1e9
            except (NotIndexedError, StoreError):
                return
            text = f"No process watches the notes; they were indexed {duration(max(0.0, seconds))} ago."
            yield Notice("not_watched", text)


def tokens_of(text: str) -> int:
    """About as many tokens as a language model reads."""
    return ceil(len(text.encode("utf-8", "surrogatepass")) / _BYTES_A_TOKEN)


def uri_of(source: str, raw_path: bytes, span: SourceSpan | None = None) -> str:
    """`kebab://SOURCE/PATH#L3-L9`, or `#p=4`."""
    ending = "" if span is None else Citation("", span).uri
    return f"{SCHEME}{quote(source, safe='')}/{quote(raw_path)}{ending}"


def parse_uri(uri: str) -> tuple[str, str]:
    """The source, and the path or citation within it."""
    name, _, rest = uri.removeprefix(SCHEME).partition("/")
    path, _, span = rest.partition("#")
    source = unquote_to_bytes(name).decode("utf-8", "replace")
    within = display_path(unquote_to_bytes(path).decode("utf-8", "surrogateescape"))
    return source, f"{within}#{span}" if span else within


def _unknown(target: str) -> NotFoundError:
    """One answer to all that an agent may not know to exist."""
    return NotFoundError(
        f"not in the index: {target}",
        "give a path or a citation as a search prints it, such as infra/port.md:L23",
    )


def _joined(a: SearchFilters, b: SearchFilters) -> SearchFilters:
    return replace(a, types=(*a.types, *b.types), paths=(*a.paths, *b.paths))


def _spelled(key: str, value: str) -> str:
    return f"{key} {value or repr(value)}"


def _cut(line: str, tokens: int) -> str:
    data = line.encode("utf-8", "surrogatepass")[: int(tokens * _BYTES_A_TOKEN)]
    return data.decode("utf-8", "ignore") + "…"
