"""Asks every question in every mode, measures the answers, and saves and loads the results.

A mode is available if the search answers in it: a search that falls back to another mode reports that in its
response. A refused query counts as no hits; every other error ends the run. A saved run is a JSON file,
`eval_run.v1`, without times and paths: the same index and questions give the same bytes.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import log2
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct, ValidationError, convert, to_builtins

from kebab_tui import own_files
from kebab_tui.domain.errors import FilterError, KebabError, NotIndexedError, RawQueryError, UsageError
from kebab_tui.domain.hit import Notice, SearchHit, SearchResponse
from kebab_tui.domain.query import SearchMode, SearchQuery
from kebab_tui.evaluation.golden import JudgedQuery, QueryLanguage, SetKind, read_text, refusal

_HINT = "`kebab eval … --save FILE` writes such a file"
_NO_VECTORS = ("no_model", "no_vectors")
"""Codes of the notices of a search that falls back to words."""
_REFUSED = (RawQueryError, FilterError)
_PROBED = 5
"""Tested queries per language: some queries are answered by words in any mode, such as raw ones."""
_PAGE = 50
"""Passages per request; a note may have several, so that more pages may be needed."""

Share = Annotated[float, Meta(ge=0, le=1)]
Count = Annotated[int, Meta(ge=0)]
Search = Callable[[SearchQuery], SearchResponse]
Relevant = Mapping[str, int]
"""Item -> grade, above 0."""
_Measure = Callable[[Sequence[str], Relevant, int], float]


class QuestionSet(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The identity of a set of questions and its documents."""

    kind: SetKind
    name: str
    split: str
    digest: str
    queries: Count
    documents: Count


class QueryResult(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One question, its ranked items and their metrics."""

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
    """The version of the program."""
    set: QuestionSet
    depth: Count
    settings: dict[str, Any]
    modes: Annotated[dict[SearchMode, ModeRun], Meta(min_length=1)]


@dataclass(frozen=True, slots=True)
class Task:
    """A question, and the conversion of hits to its items."""

    question: JudgedQuery
    ranking: Callable[[Sequence[SearchHit]], list[str]]


@dataclass(slots=True)
class Measuring:
    """Runs tasks; collects notices about the results."""

    search: Search
    depth: int
    progress: Callable[[SearchMode, int], None] = lambda _mode, _done: None
    notices: list[Notice] = field(default_factory=list)

    def modes(
        self, tasks: Sequence[Task], wanted: Sequence[SearchMode], *, insist: bool
    ) -> dict[SearchMode, ModeRun]:
        """Run every wanted mode. An unavailable one is skipped, or an error with `insist`."""
        found: dict[SearchMode, ModeRun] = {}
        for mode in wanted:
            reason = self._missing(tasks, mode)
            if reason is None:
                found[mode] = self._mode(tasks, mode)
            elif insist:
                raise UsageError(f"{mode} search is not available: {reason}", "leave it out of --modes")
            else:
                self.notices.append(Notice("mode_unavailable", f"{mode} search is not available: {reason}"))
        return found

    def _missing(self, tasks: Sequence[Task], mode: SearchMode) -> str | None:
        """Why this mode is not available, tested with the first questions of each language; else None."""
        if mode == "lexical":
            return None
        reason = "another mode answers"
        seen: Counter[str] = Counter()
        for task in tasks:
            seen[task.question.lang] += 1
            if seen[task.question.lang] > _PROBED:
                continue
            try:
                response = self.search(SearchQuery(task.question.text, mode=mode))
                if response.mode == mode:
                    return None
                reason = next((one.text for one in response.notices if one.code in _NO_VECTORS), reason)
            except NotIndexedError:
                raise
            except _REFUSED:
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
            question = task.question
            answers.append(
                QueryResult(
                    id=question.id,
                    query=question.text,
                    lang=question.lang,
                    probe=question.probe,
                    ranked=tuple(ranked),
                    metrics=measured(ranked, question.relevant, self.depth),
                )
            )
            self.progress(mode, done)
        if degraded:
            text = f"{mode}: {degraded} of the queries were answered in another mode"
            self.notices.append(Notice("degraded", text, "warning"))
        self.notices += [Notice(n.code, f"{mode}: {n.text}", n.level) for n in warnings.values()]
        return ModeRun(index_version=version, answers=tuple(answers))

    def _ranked(self, task: Task, mode: SearchMode) -> tuple[list[str], SearchResponse | None]:
        """The first `depth` items, and the response of the first page; None for a refused query."""
        hits: list[SearchHit] = []
        first, offset = None, 0
        while True:
            query = SearchQuery(task.question.text, mode=mode, k=_PAGE, offset=offset)
            try:
                response = self.search(query)
            except _REFUSED as error:
                what = f"{task.question.id}: {error.message}" + (f" ({error.hint})" if error.hint else "")
                self.notices.append(Notice("query_refused", what, "warning"))
                return [], None
            first = first or response
            hits += response.hits
            ranked = task.ranking(hits)
            if len(ranked) >= self.depth or response.next_offset is None:
                return ranked[: self.depth], first
            offset = response.next_offset


def hit(ranked: Sequence[str], relevant: Relevant, cutoff: int) -> float:
    """Whether a relevant item is in the list."""
    return float(any(item in relevant for item in ranked[:cutoff]))


def reciprocal_rank(ranked: Sequence[str], relevant: Relevant, cutoff: int) -> float:
    return next((1 / rank for rank, item in enumerate(ranked[:cutoff], 1) if item in relevant), 0.0)


def recall(ranked: Sequence[str], relevant: Relevant, cutoff: int) -> float:
    """The share of the relevant items that is in the list."""
    return sum(item in relevant for item in ranked[:cutoff]) / len(relevant)


def ndcg(ranked: Sequence[str], relevant: Relevant, cutoff: int) -> float:
    """As in trec_eval: linear gain and a discount of log2(rank + 1), divided by the best possible order."""

    def gain(grades: Sequence[int]) -> float:
        return sum(grade / log2(rank + 1) for rank, grade in enumerate(grades[:cutoff], 1))

    found = [relevant.get(item, 0) for item in ranked]
    return gain(found) / gain(sorted(relevant.values(), reverse=True))


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
"""Name -> the measure and its cutoff, in the order of reports. Every value is between 0 and 1."""

HEADLINE = "ndcg@10"
"""The metric that compares modes and runs."""
FOUND = "hit@10"
"""The metric that defines "found" in a comparison of runs."""


def measured(ranked: Sequence[str], relevant: Relevant, depth: int) -> dict[str, float]:
    """Every metric with a cutoff up to `depth`; no relevant item may be in the list twice."""
    return {
        name: measure(ranked, relevant, cutoff)
        for name, (measure, cutoff) in METRICS.items()
        if cutoff <= depth
    }


def save_run(run: EvalRun, path: str) -> None:
    """Save a run; a full disk or a signal leaves the old file unchanged."""
    text = json.dumps(to_builtins(run), ensure_ascii=False, indent=1)
    try:
        own_files.replace(path, text.encode("utf-8", "replace"), mode=0o666)  # a file of the user
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise UsageError(f"cannot write {path}: {reason}", "name another file") from None


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
    names = {frozenset(answer.metrics) for mode in run.modes.values() for answer in mode.answers}
    if len(names) != 1:
        raise UsageError(f"{path}: not a saved run: its answers have different metrics", _HINT)
    for mode, found in run.modes.items():
        if len({answer.id for answer in found.answers}) != len(found.answers):
            raise UsageError(f"{path}: not a saved run: modes.{mode} answers a query twice", _HINT)
    return run
