"""From the words and flags of `kebab search` to the query that the workspace is asked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kebab_tui.cli.options import filters_from
from kebab_tui.domain.errors import UsageError
from kebab_tui.domain.hit import Notice, SearchResponse
from kebab_tui.domain.query import SearchMode, SearchQuery
from kebab_tui.domain.text import is_hangul

if TYPE_CHECKING:
    from kebab_tui.cli.options import Given
    from kebab_tui.settings.settings import SearchSettings, Settings
    from kebab_tui.workspace import Workspace


def query_from(words: tuple[str, ...], given: Given, workspace: Workspace) -> SearchQuery:
    filters = filters_from(given, workspace)
    if not words and not filters.active:
        raise UsageError("there is nothing to search for", "`kebab search WORDS`, or a filter such as --tag")
    return SearchQuery(
        text=" ".join(words),
        mode=_mode(given, workspace.settings),
        k=given["limit"] or workspace.settings.search.default_k,
        offset=given["offset"],
        filters=filters,
        strict=given["strict"],
        min_score=given["min_score"],
        threshold=given["threshold"],
        second_look=given["second_look"],
    )


def _mode(given: Given, settings: Settings) -> SearchMode:
    wanted: dict[str, SearchMode] = {}
    if given["fts_only"]:
        wanted["--fts-only"] = "lexical"
    if given["vec_only"]:
        wanted["--vec-only"] = "vector"
    if given["mode"]:
        wanted[f"--mode {given['mode']}"] = given["mode"]
    if len(set(wanted.values())) > 1:
        raise UsageError(f"{' and '.join(wanted)} exclude each other", "leave one of them out")
    return next(iter(wanted.values()), settings.search.mode)


def threshold_notices(asked: SearchQuery, answer: SearchResponse, settings: SearchSettings) -> list[Notice]:
    """Say what a hit can reach, where a `--threshold` keeps nothing or the answer is a single list."""
    if asked.threshold is None:
        return []
    lowest = settings.rrf_k + 1
    if answer.mode != "hybrid":
        reachable, most = f"first in this single list has 1/({settings.rrf_k}+1)", 1 / lowest
    else:
        weight = settings.vector_weight_hangul if is_hangul(answer.read) else settings.vector_weight
        reachable, most = (
            f"first in both lists has (1+{weight:g})/({settings.rrf_k}+1)",
            (1 + weight) / lowest,
        )
    if asked.threshold > round(most, 6):
        text = f"No hit can reach --threshold {asked.threshold:g}: the {reachable} = {most:.6f}."
        return [Notice("threshold_unreachable", text, "warning")]
    if answer.mode != "hybrid":
        return [Notice("threshold_single_list", f"Raw RRF: the {reachable} = {most:.6f}.")]
    return []
