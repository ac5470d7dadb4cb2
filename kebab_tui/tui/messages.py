"""Messages to the application from the engine thread and the indexing processes.

Messages carry frozen values. A `StateMessage` replaces an unread one of its kind.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from textual.message import Message

if TYPE_CHECKING:
    from kebab_tui.domain.citation import Located, TextPosition
    from kebab_tui.domain.document import SourceUse
    from kebab_tui.domain.errors import Failure
    from kebab_tui.domain.hit import SearchHit, SearchResponse
    from kebab_tui.domain.ids import DocId, SourceId
    from kebab_tui.domain.links import NoteLink, SimilarNote
    from kebab_tui.indexing.folder_count import FolderCount
    from kebab_tui.indexing.status import LiveState
    from kebab_tui.search.completions import Completions
    from kebab_tui.search.explanation import ExplainedResponse
    from kebab_tui.search.find_names import FoundNote
    from kebab_tui.search.why_not import WhyNot
    from kebab_tui.tui.scope import Scope
    from kebab_tui.tui.suggestions import Suggestion
    from kebab_tui.workspace import Workspace


@dataclass
class SearchDone(Message):
    """The response to query `generation`; not `final` if a better one follows."""

    generation: int
    response: SearchResponse
    final: bool
    explained: ExplainedResponse | None = None
    """The scores of its hits, if requested."""


@dataclass
class MoreFound(Message):
    """The next page of query `generation`."""

    generation: int
    page: SearchResponse


@dataclass
class Explained(Message):
    """The scores of one page of query `generation`."""

    generation: int
    explained: ExplainedResponse


@dataclass
class Refused(Message):
    """A query or another job failed; the last hits stay. `generation` is -1 for other jobs."""

    generation: int
    failure: Failure


@dataclass
class HitLocated(Message):
    """The present position of a hit's passage in its file."""

    hit: SearchHit
    located: Located


@dataclass(frozen=True, slots=True)
class LocatedHit:
    """A hit and the present position of its passage, or why that is unknown."""

    hit: SearchHit
    located: Located | None
    failure: Failure | None = None
    position: TextPosition | None = None
    """Where an editor begins: at the best match."""
    copy: str = ""
    """Of a version: the path of a read-only copy, which is opened instead."""


@dataclass
class HitsLocated(Message):
    """The present positions of the passages of request `number`."""

    number: int
    hits: tuple[LocatedHit, ...]
    context: str = ""
    """The passages as context for a model, if requested."""


@dataclass
class SuggestionsReady(Message):
    """Queries that find something, in place of query `generation`; best first."""

    generation: int
    suggestions: tuple[Suggestion, ...]


@dataclass
class EngineReady(Message):
    """The engine is open."""

    workspace: Workspace


class EngineWarm(Message):
    """Everything that the first query would load is loaded, as far as possible."""


@dataclass
class SourcesCounted(Message):
    """How many folders the index covers."""

    count: int
    samples: SourceId | None = None
    """The source of the sample notes among others, from earlier versions."""


@dataclass
class ScopeFound(Message):
    """What is searched from now on, after a change of the folders or of the index."""

    scope: Scope


@dataclass
class FolderCounted(Message):
    """How many notes a folder has, so far or at last (`done`); or why that is unknown."""

    folder: str
    count: FolderCount | None
    """None for a folder that is in the index already."""
    must_ask: bool = False
    done: bool = False
    failure: Failure | None = None


@dataclass
class CompletionsReady(Message):
    """New completions for the query box."""

    completions: Completions


@dataclass
class PathsFound(Message):
    """Paths of the notes with a name or path like the text typed at "why not"."""

    part: str
    paths: tuple[str, ...]


@dataclass
class NotesFound(Message):
    """At most `limit` notes with a name like `typed`, or why they are unknown."""

    typed: str
    limit: int
    result: tuple[FoundNote, ...] | Failure
    home: tuple[str, str] | None = None
    """The root of a source and the folder in it for new notes, if requested."""


LinkSection = Literal["out", "in", "similar", "broken", "external"]
"""What a note is related to: its links, those to it, notes of a near meaning, broken links, addresses."""


@dataclass(frozen=True, slots=True)
class LinksPart:
    """Some links of a note from place `first` on, of `total`; or why they are unknown."""

    section: LinkSection
    first: int
    found: tuple[NoteLink, ...] | tuple[SimilarNote, ...]
    total: int
    failure: Failure | None = None


@dataclass
class LinksFound(Message):
    """Parts of the answer to request `number`."""

    number: int
    parts: tuple[LinksPart, ...]


@dataclass
class LinksCounted(Message):
    """How many links a note has; `counts` lacks what is unknown."""

    doc_id: DocId
    counts: dict[LinkSection, int]


@dataclass
class LinkFollowed(Message):
    """The first link in the lines of a hit: one to a note if there is one; or why it is unknown."""

    origin: SearchHit
    link: NoteLink | Failure | None


@dataclass
class WhyNotReady(Message):
    """Why a note is not among the hits, or why that is unknown."""

    path: str
    result: WhyNot | Failure
    note: SearchHit | None = None
    """The note, if it is indexed and no passage of it is in the list."""


@dataclass
class SourceChanged(Message):
    """A source is used so now, or why not."""

    source: SourceId
    use: SourceUse
    failure: Failure | None = None


class StateMessage(Message):
    """Describes the latest state of something."""

    def can_replace(self, message: Message) -> bool:
        return isinstance(message, type(self))


class CorpusChanged(StateMessage):
    """A commit changed the index; the current query runs again."""


@dataclass
class LiveChanged(StateMessage):
    """The indexing process changed its status; None without such a process."""

    live: LiveState | None


@dataclass
class IndexingEnded(StateMessage):
    """This screen's own indexing has ended, or cannot write to its disk."""

    failed: int = 0
    """Files that it could not read."""
    failure: Failure | None = None
    """What ended it."""
