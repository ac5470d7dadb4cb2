"""Distributes search results and the indexing status to the panes; keeps the last response.

Sends no query and arranges no panes: the application does.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from textual.content import Content

from kebab_tui.domain.citation import Located
from kebab_tui.domain.errors import Failure
from kebab_tui.domain.hit import CORRECTED, Notice, SearchHit, SearchResponse, append_page
from kebab_tui.domain.ids import ChunkId
from kebab_tui.domain.query import MODE_WORDS, SearchMode
from kebab_tui.tui.actions import Actions, first_key
from kebab_tui.tui.current_query import CurrentQuery
from kebab_tui.tui.explain.panel import ExplainPanel
from kebab_tui.tui.history import History
from kebab_tui.tui.hit_diff import Latency
from kebab_tui.tui.messages import IndexingEnded
from kebab_tui.tui.preview.pane import Preview
from kebab_tui.tui.scope import Scope
from kebab_tui.tui.suggestions import Suggestion
from kebab_tui.tui.widgets import empty_states
from kebab_tui.tui.widgets.empty_states import TextPane
from kebab_tui.tui.widgets.hits_list import FRESH_S, HitsList
from kebab_tui.tui.widgets.query_text import ChipsLine
from kebab_tui.tui.widgets.segments import DOT, ELLIPSIS, cut, sanitize_line
from kebab_tui.tui.widgets.status_line import LiveWords, StatusLine, changed_words, live_words, passages

if TYPE_CHECKING:
    from kebab_tui.indexing.status import LastChange, LiveState
    from kebab_tui.search.completions import Completions
    from kebab_tui.search.explanation import ExplainedResponse
    from kebab_tui.search.query_language import Chip, ParsedQuery

_QUERY_ERRORS = ("bad_filter", "bad_raw_query", "unfinished_filter")
_NO_VECTORS = {"no_vectors", "no_model"}
_LONGEST_TITLE = 40


@dataclass(frozen=True, slots=True)
class Panes:
    """The widgets that show results."""

    chips: ChipsLine
    hits: HitsList
    words: TextPane
    preview: Preview
    explain: ExplainPanel
    status: StatusLine


class ResultsPresenter:
    def __init__(
        self,
        panes: Panes,
        query: CurrentQuery,
        history: History,
        actions: Actions,
        *,
        data_folder: str,
        reads_folder: bool,
        latency: Latency,
    ) -> None:
        """`reads_folder`: a folder will be read at once."""
        self._panes = panes
        self._query = query
        self._history = history
        self._actions = actions
        self._data_folder = data_folder
        self.latency = latency
        self.response: SearchResponse | None = None
        self.explained: ExplainedResponse | None = None
        self.parse: Callable[[str], ParsedQuery] | None = None
        self.chips: tuple[Chip, ...] = ()
        self.refused: Chip | None = None
        """The filter because of which the query has no response."""
        self.scope = Scope()
        self._known: Completions | None = None
        self.suggestions: tuple[Suggestion, ...] | None = None
        """Queries in place of one without hits or with an error; None while unknown."""
        self.first_run = False
        self.is_reading = reads_folder
        """Whether a folder is being read: better hits may follow."""
        self._is_awaited = self.is_reading
        """Whether the indexing process has not yet begun to read."""
        self._files_read = (0, 0)
        self._counted = 0
        """Notes of a new folder, before it is read."""
        self._error: Failure | None = None
        self._last_change: LastChange | None = None
        self._live = LiveWords()
        self._end: IndexingEnded | None = None
        """How our own process ended, until the live file reports its successor."""
        self._vector_share: int | None = None
        """Percent of the passages that are found by meaning; None while unknown."""
        self._is_embedding = False

    # Results

    def show_response(
        self,
        response: SearchResponse,
        keep: ChunkId | None,
        explained: ExplainedResponse | None = None,
        *,
        again: bool = False,
    ) -> None:
        """Show a response; the cursor stays on the passage `keep`. After a repeated query, mark news."""
        panes = self._panes
        self.explained = explained
        again = again and self.response is not None
        if not again or self._error is not None:
            panes.status.clear_message()
        if not again or self.has_hits or response.hits:  # else they stay until they are counted again
            self.suggestions = None
        self.response, self.first_run, self._error = response, False, None
        self.refused = None
        news = panes.hits.show(response, keep, again=again)
        if again and response.query.strip() and str(news):
            panes.status.show_message(Notice("news", f"hits: {news}"), FRESH_S)
        self.chips = self.parse(response.query).chips if self.parse is not None else ()
        self._show_chips()
        self._show_status(response)
        if not response.hits:
            panes.preview.clear()
            panes.explain.clear("No hit is selected.")
        if not response.hits or not response.query.strip():
            self.update_words()

    def show_scope(self, scope: Scope) -> None:
        """Show what is searched, as a chip before the filters."""
        self.scope = scope
        self._show_chips()
        if not self.has_hits:
            self.update_words()

    def _show_chips(self, wrong: Chip | None = None) -> None:
        from kebab_tui.workspace import Workspace  # not loaded before the first paint

        label = self.scope.label
        scope = (Workspace.scope_chip(label),) if label else ()
        self._panes.chips.show((*scope, *self.chips), wrong)

    def append_page(self, page: SearchResponse) -> None:
        if self.response is not None:
            self.response = append_page(self.response, page)
            self._panes.hits.append(self.response)
            self._show_status(self.response)

    def reload_note(self) -> None:
        """After a commit: show the selected note as it is now."""
        self.latency.shown()
        self._show_last_change()
        if (hit := self._panes.hits.selected) is not None:
            self._panes.preview.reread(hit)

    def show_suggestions(self, suggestions: tuple[Suggestion, ...]) -> None:
        """Show what to search instead of a query without hits."""
        self.suggestions = suggestions
        self.update_words()

    def show_failure(self, failure: Failure) -> None:
        """Show why there is no response.

        Present hits stay unless the query is wrong or the index is lost: they would pass for an answer.
        While a filter is being typed they stay too, under the query that they answer.
        """
        panes = self._panes
        if failure.code == "not_indexed":
            self.show_first_run()
            return
        no_count = {"hits": None, "total": 0, "notices": ()}
        if failure.code == "unfinished_filter" and self.response is not None:
            answered = cut(sanitize_line(self.response.query), _LONGEST_TITLE)
            title = f"hits for {answered}" if answered else "recently changed"
            panes.hits.border_title = Content(title)
            self._update_status(**no_count)
            panes.status.clear_message()
            panes.status.show_message(Notice(failure.code, f"{failure.message} {DOT} {title}"))
            return
        self._error = failure
        self.suggestions = None
        if self.has_hits and not failure.is_healed_by_ingest and failure.code not in _QUERY_ERRORS:
            panes.status.show_error(failure.message, failure.hint)
            return
        # The page in place of the hits shows the error.
        self.response = self.explained = None
        panes.hits.clear()
        panes.status.clear_message()
        text = self._query.query.text
        parsed = self.parse(text) if self.parse is not None else None
        self.chips = parsed.chips if parsed is not None else ()
        self.refused = None
        if parsed is not None and failure.code in _QUERY_ERRORS:
            # The engine refuses a source that it does not know.
            sources = (chip for chip in self.chips if chip.label.lower().startswith("in:"))
            self.refused = parsed.refused or next(sources, None)
            self.suggestions = self._corrections(failure, text, parsed.raw)
        self._show_chips(None if failure.code == "unfinished_filter" else self.refused)
        self._update_status(**no_count)
        self.update_words()

    def _corrections(self, failure: Failure, text: str, raw: str | None) -> tuple[Suggestion, ...]:
        """Valid queries in place of one with a wrong filter or wrong raw syntax."""
        if raw is not None:
            return (Suggestion("instead", raw, raw),)
        if (wrong := self.refused) is None:
            return ()
        from kebab_tui.workspace import Workspace  # not loaded before the first paint

        others = []
        if self._known is not None and failure.code != "unfinished_filter":  # else the list completes it
            others = self._known.replacements(wrong.label)
        made = [
            Suggestion("instead", other, text[: wrong.start] + other + text[wrong.end :]) for other in others
        ]
        return (*made, Suggestion("without filter", wrong.label, Workspace.remove_chip(text, wrong)))

    def know(self, completions: Completions) -> None:
        """Offer these values in place of wrong ones, from now on."""
        self._known = completions
        if self._error is not None and self.refused is not None:
            self.suggestions = self._corrections(self._error, self._query.query.text, None)
            self.update_words()

    def expect_reading(self) -> None:
        """A folder will be read."""
        self.first_run = False
        self.is_reading = self._is_awaited = True
        self._counted = 0
        self.update_words()

    def show_counting(self, notes: int) -> None:
        """Show how many notes of a new folder are counted so far."""
        self._counted = notes
        if not self.has_hits:
            self.update_words()

    def show_first_run(self) -> None:
        """Show how to start: nothing is indexed yet."""
        self.first_run = not self.is_reading
        self.response = None
        self.update_words()

    @property
    def has_hits(self) -> bool:
        return bool(self.response and self.response.hits)

    @property
    def is_corrected(self) -> bool:
        return bool(self.response and self.response.corrections)

    # The selected hit

    def add_explanation(self, explained: ExplainedResponse) -> None:
        """Add the scores of one page to those of the other pages."""
        before, selected = self.explained, self._panes.hits.selected
        if before is not None and before.response.corpus_revision == explained.response.corpus_revision:
            explained = replace(explained, hits=(*before.hits, *explained.hits))
        self.explained = explained
        if selected is not None:
            self.explain_hit(selected)

    def explain_hit(self, hit: SearchHit) -> bool:
        """Show the scores of a hit, if they are loaded; until then, those of the hit before."""
        panel = self._panes.explain
        explained = self.explained.hits if self.explained is not None else ()
        found = next((one for one in explained if one.hit.chunk_id == hit.chunk_id), None)
        if found is not None and self.explained is not None:
            panel.show(found, self.explained)
        elif panel.explained is None:
            panel.clear(f"Explaining{ELLIPSIS}")
        return found is not None

    @property
    def marked_query(self) -> str:
        """The query whose words are marked in the hits."""
        response = self.response
        return (response.corrected or response.query) if response else ""

    def show_preview(self, hit: SearchHit, located: Located | None = None) -> None:
        self._panes.preview.show(hit, located, self.marked_query)

    def show_located(self, hit: SearchHit, located: Located) -> None:
        """Badge a hit with the state of its passage; if it is selected, show its present lines."""
        hits = self._panes.hits
        hits.show_location(hit, located)
        selected = hits.selected
        if selected is not None and selected.chunk_id == hit.chunk_id:
            self.show_preview(selected, located)

    # The text shown instead of hits

    def update_words(self) -> None:
        self._panes.words.show(self._words(), self.suggestions or ())

    def _words(self) -> empty_states.Words:
        response = self.response
        done, total = self._files_read
        if response is not None:
            if response.query.strip() and "no_passages" not in {notice.code for notice in response.notices}:
                return partial(
                    empty_states.no_hits,
                    query=response.query,
                    suggestions=self.suggestions,
                    mode=response.mode,
                    mode_key=self._key("mode"),
                )
            if response.hits:
                recent = self._history.queries
                return partial(empty_states.start, recent=recent, recall_key=self._key("recall_query"))
        elif self._error is not None:
            error = self._error
            if self.is_reading and error.is_healed_by_ingest:
                return partial(empty_states.rebuilding, message=error.message, done=done, total=total)
            corrects = self.refused is not None and [one.kind for one in self.suggestions or ()][:1] == [
                "instead"
            ]
            return partial(empty_states.failed, message=error.message, hint=error.hint, corrects=corrects)
        if self.is_reading:
            return partial(empty_states.indexing, done=done, total=total, counted=self._counted)
        if self._end is not None and self._end.failure is not None:
            return partial(empty_states.failed, message=_not_indexed(self._end.failure), hint="")
        if response is not None:
            from kebab_tui.workspace import Workspace  # not loaded before the first paint

            return partial(
                empty_states.no_notes,
                rescan_key=self._key("rescan"),
                folder_key=self._key("add_folder"),
                folders=self.scope.folders or self._live.folders,
                other_files=self.scope.other_files if self.scope.folders else self._live.other_files,
                extensions=Workspace.note_extensions(),
            )
        return partial(
            empty_states.first_run,
            folder_key=self._key("add_folder"),
            sample_key=self._key("sample_vault"),
            quit_key=self._key("quit"),
            data_folder=self._data_folder,
        )

    def _key(self, action_id: str) -> str:
        return first_key(self._actions, action_id)

    # The status line

    def show_searching(self, running: bool) -> None:
        """Show or hide that a slow query is running."""
        self._update_status(searching=running)

    def show_marked(self, count: int) -> None:
        self._update_status(marked=count)

    def show_end(self, message: IndexingEnded) -> None:
        """Show how our own indexing process ended."""
        self._end = message
        self.is_reading = self._is_awaited = False
        self._show_indexing()

    def show_live(self, live: LiveState | None, own_pid: int) -> None:
        """Show the status of the process that keeps the index up to date."""
        self._live = live_words(live, own_pid)
        if live is not None:
            self._last_change = live.last
            reads = live.phase.kind == "reading"
            # At first it has no folder yet, then one that it has not begun to read.
            self._is_awaited &= not (reads or (live.folders and not live.pending))
            self.is_reading = reads or self._is_awaited
            self._files_read = (live.phase.done, live.phase.total)
            if own_pid:
                self._end = None
            if live.phase.kind == "embedding" and live.phase.total:
                self._is_embedding, self._vector_share = True, 100 * live.phase.done // live.phase.total
            elif self._is_embedding:
                self._is_embedding, self._vector_share = False, None
        self._show_last_change()
        self._show_indexing()

    @property
    def mode_words(self) -> str:
        """The search mode, and how many of the passages it finds by meaning so far."""
        return mode_words(self._query.mode, self._vector_share)

    @property
    def is_read_only(self) -> bool:
        """Whether nothing can be indexed here."""
        failure = self._end.failure if self._end is not None else None
        return failure is not None and failure.code == "readonly"

    def _show_indexing(self) -> None:
        """The error of our own process takes precedence over the status of other processes."""
        live, end = self._live, self._end
        failure = end.failure if end is not None else None
        error = _not_indexed(failure) if failure is not None and not self.is_read_only else ""
        self._update_status(
            index="read-only" if self.is_read_only else live.index,
            progress=live.progress,
            trouble=error or live.trouble,
            failed=end.failed if end is not None else live.failed,
            other_files=live.other_files and f"{live.other_files} ({self._key('health')})",
        )
        if not self.has_hits:
            self.update_words()

    def _show_last_change(self) -> None:
        last = self._last_change
        if last is not None:
            self._update_status(changed=changed_words(last.path, self.latency.of(last)))

    def _show_status(self, response: SearchResponse) -> None:
        has_query = bool(response.query.strip())
        self._panes.hits.border_title = Content(self._counts(response) if has_query else "recently changed")
        if response.complete and (response.vector_share or _NO_VECTORS & {n.code for n in response.notices}):
            self._vector_share = response.vector_share
        key, notices = self._key("exact"), []
        for notice in response.notices:
            if notice.code == CORRECTED:
                notice = replace(notice, text=f"{notice.text}; {key}: as typed")
            notices.append(notice)
        if self._query.query.exact:
            notices.append(Notice(CORRECTED, f"searched as typed; {key}: corrected"))
        self._update_status(
            hits=len(response.hits) if has_query else None,
            total=response.total_matches,
            complete=response.complete,
            notices=tuple(notices),
        )

    def _counts(self, response: SearchResponse) -> str:
        """How many notes and passages the list has; `+` if there are more notes."""
        notes, found = self._panes.hits.notes, passages(response.total_matches, complete=response.complete)
        more = "+" if response.next_offset is not None else ""
        return f"{notes:,}{more} {'note' if notes == 1 else 'notes'} {DOT} {found}" if notes else found

    def _update_status(self, **changes: Any) -> None:
        self._panes.status.show(replace(self._panes.status.status, **changes))


def mode_words(mode: SearchMode, vector_share: int | None) -> str:
    """The mode, and how many percent of the passages it finds by meaning unless those are all."""
    name = MODE_WORDS[mode]
    if mode == "lexical" or vector_share is None or vector_share >= 100:
        return name
    if mode == "vector":
        return f"{name} {vector_share} %"
    return f"{name} {DOT} semantic {vector_share} %" if vector_share else f"{name} (keyword only so far)"


def _not_indexed(failure: Failure) -> str:
    return f"not indexed: {failure.message}" + (f" ({failure.hint})" if failure.hint else "")
