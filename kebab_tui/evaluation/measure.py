"""Asks every question in every mode and measures the answers. The search is handed in.

A mode counts as available when the search answers in it: a search that falls back to
another one says so in its response. Questions whose raw syntax is refused have found
nothing; every other error ends the run.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import log2
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct, ValidationError, convert, to_builtins

from kebab_tui.domain.errors import KebabError, NotIndexedError, RawQueryError, UsageError
from kebab_tui.domain.hit import Notice, SearchHit, SearchResponse
from kebab_tui.domain.query import SearchMode, SearchQuery
from kebab_tui.evaluation.golden import JudgedQuery, QueryLanguage, SetKind, read_text, refusal

# A run: what was asked, how it was answered, what that is worth; and the file that keeps it.
#
# The file is JSON, `eval_run.v1`, and is read back as strictly as any other input. A run
# holds no time and no place: the same index and questions give the same bytes.

_HINT = "`kebab eval … --save FILE` writes such a file"

Share = Annotated[float, Meta(ge=0, le=1)]
Count = Annotated[int, Meta(ge=0)]


class QuestionSet(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which questions were asked of what."""

    kind: SetKind
    name: str
    split: str
    digest: str
    queries: Count
    documents: Count


class QueryResult(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One question, its ranked items and the metrics of that list."""

    id: str
    query: str
    lang: QueryLanguage
    probe: str
    ranked: tuple[str, ...]
    metrics: dict[str, Share]


class ModeRun(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    index_version: str
    answers: Annotated[tuple[QueryResult, ...], Meta(min_length=1)]


class EvalRun(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    schema_version: Literal["eval_run.v1"] = "eval_run.v1"
    version: str
    """Of the program."""
    set: QuestionSet
    depth: Count
    settings: dict[str, Any]
    modes: Annotated[dict[SearchMode, ModeRun], Meta(min_length=1)]


def save_run(run: EvalRun, path: str) -> None:
    """Write the file beside itself first: a full disk, or a signal, leaves the old one alone."""
    text = json.dumps(to_builtins(run), ensure_ascii=False, indent=1)
    unfinished = f"{path}.unfinished"
    try:
        with open(unfinished, "wb") as file:
            file.write(text.encode("utf-8", "replace"))
        os.replace(unfinished, path)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise UsageError(f"cannot write {path}: {reason}", "name another file") from None
    finally:
        _discard(unfinished)


def load_run(path: str) -> EvalRun:
    text = read_text(path, _HINT)
    try:
        run = convert(json.loads(text), EvalRun)
    except json.JSONDecodeError as error:
        raise refusal(path, error.lineno, f"not JSON: {error.msg}", _HINT) from None
    except RecursionError:
        raise UsageError(f"{path}: nested too deeply for a saved run", _HINT) from None
    except ValidationError as error:
        what, _, place = str(error).partition(" - at `$.")
        where = f" at {place.rstrip('`')}" if place else ""
        raise UsageError(f"{path}: not a saved run:{where} {what}", _HINT) from None
    _check(run, path)
    return run


def _check(run: EvalRun, path: str) -> None:
    """What the types cannot say: every answer once, and all with the same metrics."""
    names = {frozenset(answer.metrics) for mode in run.modes.values() for answer in mode.answers}
    if len(names) != 1:
        raise UsageError(f"{path}: not a saved run: its answers have different metrics", _HINT)
    for mode, found in run.modes.items():
        if len({answer.id for answer in found.answers}) != len(found.answers):
            raise UsageError(f"{path}: not a saved run: modes.{mode} answers a query twice", _HINT)


def _discard(path: str) -> None:
    try:
        os.unlink(path)
    except (OSError, ValueError):
        return


# How good one ranked list is, by the usual measures. Every value lies in 0..1, best high.
#
# Definitions are those of trec_eval: nDCG with linear gain and a discount of log2(rank + 1)
# against the best possible order of all relevant items; whatever is graded is relevant.
# A ranking names no relevant item twice, and something is always relevant.

Relevant = Mapping[str, int]
"""Item -> grade, above 0."""
_Measure = Callable[[Sequence[str], Relevant, int], float]


def hit(ranked: Sequence[str], relevant: Relevant, cutoff: int) -> float:
    """Whether anything relevant is in the list."""
    return float(any(item in relevant for item in ranked[:cutoff]))


def reciprocal_rank(ranked: Sequence[str], relevant: Relevant, cutoff: int) -> float:
    return next((1 / rank for rank, item in enumerate(ranked[:cutoff], 1) if item in relevant), 0.0)


def recall(ranked: Sequence[str], relevant: Relevant, cutoff: int) -> float:
    """The share of what is relevant that is in the list."""
    return sum(item in relevant for item in ranked[:cutoff]) / len(relevant)


def ndcg(ranked: Sequence[str], relevant: Relevant, cutoff: int) -> float:
    best = sorted(relevant.values(), reverse=True)
    return _gained([relevant.get(item, 0) for item in ranked[:cutoff]]) / _gained(best[:cutoff])


def _gained(grades: Sequence[int]) -> float:
    return sum(grade / log2(rank + 1) for rank, grade in enumerate(grades, 1))


METRICS: dict[str, tuple[_Measure, int]] = {
    "ndcg@10": (ndcg, 10),
    "recall@10": (recall, 10),
    "recall@100": (recall, 100),
    "mrr@10": (reciprocal_rank, 10),
    "hit@1": (hit, 1),
    "hit@3": (hit, 3),
    "hit@5": (hit, 5),
    "hit@10": (hit, 10),
}
"""Name -> the measure and how many places of the list it looks at; in the order of reports."""

HEADLINE = "ndcg@10"
"""The one figure by which modes and runs are compared."""
FOUND = "hit@10"
"""What "it was found" means in a comparison of runs."""


def measured(ranked: Sequence[str], relevant: Relevant, depth: int) -> dict[str, float]:
    """Every metric that a list of `depth` places can answer."""
    return {
        name: measure(ranked, relevant, cutoff)
        for name, (measure, cutoff) in METRICS.items()
        if cutoff <= depth
    }


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

    question: JudgedQuery
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


def _answer(question: JudgedQuery, ranked: list[str], depth: int) -> QueryResult:
    return QueryResult(
        id=question.id,
        query=question.text,
        lang=question.lang,
        probe=question.probe,
        ranked=tuple(ranked),
        metrics=measured(ranked, question.relevant, depth),
    )
