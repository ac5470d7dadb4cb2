"""From the words and flags of `kebab search` to the query that the workspace is asked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kebab_tui.cli.options import filters_from
from kebab_tui.domain.errors import UsageError
from kebab_tui.domain.hit import Notice
from kebab_tui.domain.query import SearchQuery

if TYPE_CHECKING:
    from kebab_tui.cli.options import Given
    from kebab_tui.settings.model import Settings
    from kebab_tui.workspace import Workspace


def query_from(
    words: tuple[str, ...], given: Given, workspace: Workspace
) -> tuple[SearchQuery, tuple[Notice, ...]]:
    """The query, and what must be said of how it is going to be answered."""
    filters = filters_from(given, workspace)
    if not words and not filters.active:
        raise UsageError("there is nothing to search for", "`kebab search WORDS`, or a filter such as --tag")
    notices = _mode_notices(given, workspace.settings)
    asked = SearchQuery(
        text=" ".join(words),
        mode="lexical",
        k=given["limit"] or workspace.settings.search.default_k,
        offset=given["offset"],
        filters=filters,
        strict=given["strict"],
    )
    return asked, notices


def _mode_notices(given: Given, settings: Settings) -> tuple[Notice, ...]:
    """This version has no model: `hybrid` falls back to words and says so, `vector` is refused."""
    flags = {"--fts-only": given["fts_only"] and "lexical", "--vec-only": given["vec_only"] and "vector"}
    flags[f"--mode {given['mode']}"] = given["mode"]
    wanted = {flag: mode for flag, mode in flags.items() if mode}
    if len(set(wanted.values())) > 1:
        raise UsageError(f"{' and '.join(wanted)} exclude each other", "leave one of them out")
    mode = next(iter(wanted.values()), settings.search.mode)
    if mode == "vector":
        raise UsageError(
            "this version cannot search by meaning: it has no model", "search by words with --mode lexical"
        )
    if mode == "hybrid":
        return (Notice("no_model", "This version has no model: searched by words only.", "warning"),)
    return ()
