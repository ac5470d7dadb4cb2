"""Asks every question in every mode and measures the answers. The search is handed in.

A mode counts as available when the search answers in it: a search that falls back to
another one says so in its response. Questions whose raw syntax is refused have found
nothing; every other error ends the run.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from kebab_tui.domain.errors import KebabError, NotIndexedError, RawQueryError, UsageError
from kebab_tui.domain.hit import Notice, SearchHit, SearchResponse
from kebab_tui.domain.query import SearchMode, SearchQuery
from kebab_tui.evaluation.metrics import measured
from kebab_tui.evaluation.questions import Question
from kebab_tui.evaluation.runs import Answer, ModeRun

Search = Callable[[SearchQuery], SearchResponse]
_NO_MEANING = ("no_model", "no_vectors")
"""How a search says why it fell back to words."""
_PROBED = 5
"""Some queries are answered by words alone in any mode: raw ones, filters without words."""
_PAGE = 50
"""How many passages are asked for at a time: a note may hold several, so more pages may be needed."""


@dataclass(frozen=True, slots=True)
class Task:
    """A question and how hits become the items it judges."""

    question: Question
    ranking: Callable[[Sequence[SearchHit]], list[str]]


@dataclass(slots=True)
class Measuring:
    """One run over some tasks; `notices` are what the reader of its figures should know."""

    search: Search
    depth: int
    progress: Callable[[SearchMode, int], None] = lambda _mode, _done: None
    notices: list[Notice] = field(default_factory=list)

    def modes(
        self, tasks: Sequence[Task], wanted: Sequence[SearchMode], *, insist: bool
    ) -> dict[SearchMode, ModeRun]:
        """Every wanted mode; one that the search does not have is left out, or refused when insisted on."""
        found: dict[SearchMode, ModeRun] = {}
        for mode in wanted:
            reason = self._missing(tasks, mode)
            if reason is None:
                found[mode] = self._mode(tasks, mode)
            elif insist:
                raise UsageError(f"there is no {mode} search here: {reason}", "leave it out of --modes")
            else:
                self.notices.append(Notice("mode_unavailable", f"no {mode} search here: {reason}"))
        return found

    def _missing(self, tasks: Sequence[Task], mode: SearchMode) -> str | None:
        """Why nothing is answered in this mode; judged by the first few questions of each language."""
        if mode == "lexical":
            return None
        reason = "another mode answers"
        for task in _first_of_each_language(tasks):
            try:
                response = self.search(SearchQuery(task.question.text, mode=mode))
                if response.mode == mode:
                    return None
                reason = next((said.text for said in response.notices if said.code in _NO_MEANING), reason)
            except NotIndexedError:
                raise
            except RawQueryError:
                continue
            except KebabError as error:
                reason = error.message
        return reason

    def _mode(self, tasks: Sequence[Task], mode: SearchMode) -> ModeRun:
        answers, version, degraded = [], "", 0
        warnings: dict[str, Notice] = {}
        for done, task in enumerate(tasks, 1):
            ranked, response = self._ranked(task, mode)
            if response is not None:
                degraded += response.mode != mode
                version = response.index_version if response.mode == mode else version
                warnings |= {notice.code: notice for notice in response.notices if notice.level == "warning"}
            answers.append(_answer(task.question, ranked, self.depth))
            self.progress(mode, done)
        self.notices += self._told(mode, degraded, warnings)
        return ModeRun(index_version=version, answers=tuple(answers))

    def _ranked(self, task: Task, mode: SearchMode) -> tuple[list[str], SearchResponse | None]:
        """The first `depth` items, read page by page, and the first page's response."""
        hits: list[SearchHit] = []
        first, offset = None, 0
        while True:
            query = SearchQuery(task.question.text, mode=mode, k=_PAGE, offset=offset)
            try:
                response = self.search(query)
            except RawQueryError as error:
                what = f"{task.question.id}: {error.message}"
                self.notices.append(Notice("query_refused", what, "warning"))
                return [], None
            first = first or response
            hits += response.hits
            ranked = task.ranking(hits)
            if len(ranked) >= self.depth or response.next_offset is None:
                return ranked[: self.depth], first
            offset = response.next_offset

    @staticmethod
    def _told(mode: SearchMode, degraded: int, warnings: dict[str, Notice]) -> Iterator[Notice]:
        if degraded:
            text = f"{mode}: {degraded} of the queries were answered in another mode"
            yield Notice("degraded", text, "warning")
        for notice in warnings.values():
            yield Notice(notice.code, f"{mode}: {notice.text}", notice.level)


def _first_of_each_language(tasks: Sequence[Task]) -> Iterator[Task]:
    seen: Counter[str] = Counter()
    for task in tasks:
        seen[task.question.lang] += 1
        if seen[task.question.lang] <= _PROBED:
            yield task


def _answer(question: Question, ranked: list[str], depth: int) -> Answer:
    return Answer(
        id=question.id,
        query=question.text,
        lang=question.lang,
        probe=question.probe,
        ranked=tuple(ranked),
        metrics=measured(ranked, question.relevant, depth),
    )
