"""What the parts of the screen tell the application: its whole vocabulary.

Messages carry frozen values. Those that describe the latest state replace an older one
of their kind that has not been read yet.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from textual.message import Message

if TYPE_CHECKING:
    from kebab_tui.domain.citation import Located
    from kebab_tui.domain.hit import SearchHit, SearchResponse
    from kebab_tui.indexing.status import LiveState
    from kebab_tui.search.explanation import ExplainedResponse
    from kebab_tui.search.filter_keys import Completions
    from kebab_tui.search.why_not import WhyNot
    from kebab_tui.tui.engine_thread import RelaxedQuery
    from kebab_tui.workspace import Workspace


class SearchDone(Message):
    """The engine's answer to question number `generation`; `final` unless a better one follows.

    `explained` are the figures behind its hits, where they were asked for.
    """

    def __init__(
        self,
        generation: int,
        response: SearchResponse,
        final: bool,
        explained: ExplainedResponse | None = None,
    ) -> None:
        super().__init__()
        self.generation = generation
        self.response = response
        self.final = final
        self.explained = explained


class MoreFound(Message):
    """The next page of the answer to question number `generation`."""

    def __init__(self, generation: int, page: SearchResponse) -> None:
        super().__init__()
        self.generation = generation
        self.page = page


class Explained(Message):
    """The figures behind one page of the answer to question number `generation`."""

    def __init__(self, generation: int, explained: ExplainedResponse) -> None:
        super().__init__()
        self.generation = generation
        self.explained = explained


class Refused(Message):
    """The question could not be answered: what to say instead. The last hits stay."""

    def __init__(self, generation: int, code: str, message: str, hint: str) -> None:
        super().__init__()
        self.generation = generation
        self.code = code
        self.message = message
        self.hint = hint


class HitLocated(Message):
    """Where a hit's passage stands in its file now."""

    def __init__(self, hit: SearchHit, located: Located) -> None:
        super().__init__()
        self.hit = hit
        self.located = located


@dataclass(frozen=True, slots=True)
class PlacedHit:
    """A hit and where its passage stands now; None and a problem where that cannot be said."""

    hit: SearchHit
    located: Located | None
    problem: str = ""


class HitsLocated(Message):
    """Where the passages of request number `number` stand now: it can go on."""

    def __init__(self, number: int, places: tuple[PlacedHit, ...]) -> None:
        super().__init__()
        self.number = number
        self.places = places


class SuggestionsReady(Message):
    """What question number `generation` would find without each filter and word, the most first."""

    def __init__(self, generation: int, costs: tuple[RelaxedQuery, ...]) -> None:
        super().__init__()
        self.generation = generation
        self.costs = costs


class EngineReady(Message):
    """The engine is open."""

    def __init__(self, workspace: Workspace) -> None:
        super().__init__()
        self.workspace = workspace


class EngineWarm(Message):
    """What the first question would have waited for is loaded, as far as it can be."""


class SourcesCounted(Message):
    """The index has notes of so many folders."""

    def __init__(self, count: int) -> None:
        super().__init__()
        self.count = count


class CompletionsReady(Message):
    """What the query box can offer, as of now."""

    def __init__(self, completions: Completions) -> None:
        super().__init__()
        self.completions = completions


class PathsFound(Message):
    """Paths that hold what was typed at "why not"."""

    def __init__(self, part: str, paths: tuple[str, ...]) -> None:
        super().__init__()
        self.part = part
        self.paths = paths


class WhyNotReady(Message):
    """Why a note is not among the hits; None and an error's words when it cannot be said."""

    def __init__(self, path: str, why: WhyNot | None, error: str = "", hint: str = "") -> None:
        super().__init__()
        self.path = path
        self.why = why
        self.error = error
        self.hint = hint


class CorpusChanged(Message):
    """Something was committed: the open question is asked again."""

    def __init__(self, revision: int, passages: int) -> None:
        super().__init__()
        self.revision = revision
        self.passages = passages

    def can_replace(self, message: Message) -> bool:
        return isinstance(message, CorpusChanged)


class LiveChanged(Message):
    """Whoever keeps the index in step tells something new of itself; None: nobody does."""

    def __init__(self, live: LiveState | None) -> None:
        super().__init__()
        self.live = live

    def can_replace(self, message: Message) -> bool:
        return isinstance(message, LiveChanged)


class IndexingProgress(Message):
    """How far the indexing behind the screen is; `text` is for the status line.

    `done` of `total` files while notes are read, `failed` files that could not be read by the
    last run, `code` of the error that ended it.
    """

    def __init__(
        self, text: str, running: bool, *, done: int = 0, total: int = 0, failed: int = 0, code: str = ""
    ) -> None:
        super().__init__()
        self.text = text
        self.running = running
        self.done = done
        self.total = total
        self.failed = failed
        self.code = code

    def can_replace(self, message: Message) -> bool:
        return isinstance(message, IndexingProgress)
