"""Distributes search results and the indexing status to the panes; keeps the last response.

Sends no query: the application does.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from kebab_tui.domain.citation import Located
from kebab_tui.domain.hit import Notice, SearchHit, SearchResponse, append_page
from kebab_tui.domain.ids import ChunkId
from kebab_tui.domain.query import SearchMode
from kebab_tui.tui.actions import action_of
from kebab_tui.tui.hit_diff import Latency
from kebab_tui.tui.keys import shown
from kebab_tui.tui.messages import IndexingEnded
from kebab_tui.tui.widgets import empty_states
from kebab_tui.tui.widgets.hits_list import FRESH_S
from kebab_tui.tui.widgets.status_line import LiveWords, StatusContent, changed_words, live_words

if TYPE_CHECKING:
    from kebab_tui.indexing.status import LastChange, LiveState
    from kebab_tui.search.explanation import ExplainedResponse
    from kebab_tui.search.query_language import Chip, ParsedQuery
    from kebab_tui.tui.app import KebabApp
    from kebab_tui.tui.engine_thread import RelaxedQuery

INDEX_LOST = ("store_damaged", "store_lost")
"""The errors after which the index must be built again."""


class ResultsPresenter:
    def __init__(self, app: KebabApp, mode: SearchMode) -> None:
        self._app = app
        self.response: SearchResponse | None = None
        self.explained: ExplainedResponse | None = None
        self.parse: Callable[[str], ParsedQuery] | None = None
        self.chips: tuple[Chip, ...] = ()
        self.suggestions: tuple[RelaxedQuery, ...] | None = None
        """Shorter queries that find something, after a query without hits; None while unknown."""
        self.first_run = False
        self.is_reading = bool(app.options.folders)
        """Whether a folder is being read: better hits may follow."""
        self._is_awaited = self.is_reading
        """Whether the indexing process has not yet begun to read."""
        self._files_read = (0, 0)
        self._error: tuple[str, str] | None = None
        self._latency = Latency()
        self._last_change: LastChange | None = None
        self._live = LiveWords()
        self._end: IndexingEnded | None = None
        """How our own process ended, until the live file reports its successor."""
        self._status = StatusContent(mode=mode)

    # Results

    def query_sent(self) -> None:
        self._latency.asked()

    def show_response(
        self,
        response: SearchResponse,
        keep: ChunkId | None,
        explained: ExplainedResponse | None = None,
        *,
        again: bool = False,
    ) -> None:
        """Show a response; the cursor stays on the passage `keep`. After a repeated query, mark news."""
        app = self._app
        self.explained = explained
        again = again and self.response is not None
        if not again or self._error is not None:
            app.status.clear_message()
        self.response, self.suggestions, self.first_run, self._error = response, None, False, None
        news = app.hits.show(response, keep, again=again)
        if again and str(news):
            app.status.show_message(Notice("news", str(news)), FRESH_S)
        app.hits.border_title = "hits" if response.query else "changed lately"
        self.chips = self.parse(app.box.value).chips if self.parse is not None else ()
        app.chips.show(self.chips)
        self.update_words()
        app.arrange()
        self._show_status(response)
        if not response.hits:
            app.preview.clear()
            app.explain.clear("No hit is selected.")
        app.refresh_bindings()

    def append_page(self, page: SearchResponse) -> None:
        if self.response is not None:
            self.response = append_page(self.response, page)
            self._app.hits.append(self.response)
            self._show_status(self.response)

    def reload_note(self) -> None:
        """After a commit: show the selected note as it is now."""
        self._latency.shown()
        self._update_last_change()
        self._app.status.show(self._status)
        if (hit := self._app.hits.selected) is not None:
            self._app.preview.reread(hit)

    def show_suggestions(self, suggestions: tuple[RelaxedQuery, ...]) -> None:
        """Show which filters and words exclude all hits."""
        self.suggestions = suggestions
        self.update_words()
        self._app.refresh_bindings()

    def show_error(self, code: str, message: str, hint: str) -> None:
        """Show why there is no response; present hits stay unless the index is lost."""
        if code == "not_indexed":
            self.show_first_run()
            return
        self._error = (message, hint)
        self.suggestions = None
        self._app.status.show_error(message, hint)
        if not self.has_hits or code in INDEX_LOST:
            self.response = None
            self.update_words()
        self._app.arrange()

    def show_first_run(self) -> None:
        """Show how to start: nothing is indexed yet."""
        self.first_run = True
        self.response = None
        self.update_words()
        self._app.arrange()
        self._app.refresh_bindings()

    @property
    def has_hits(self) -> bool:
        return bool(self.response and self.response.hits)

    # The selected hit

    def add_explanation(self, explained: ExplainedResponse) -> None:
        """Add the scores of one page to those of the other pages."""
        before, selected = self.explained, self._app.hits.selected
        if before is not None and before.response.corpus_revision == explained.response.corpus_revision:
            explained = replace(explained, hits=(*before.hits, *explained.hits))
        self.explained = explained
        if selected is not None:
            self.explain_hit(selected)

    def explain_hit(self, hit: SearchHit) -> bool:
        """Show the scores of a hit, if they are loaded."""
        if self.explained is None:
            return False
        found = next((one for one in self.explained.hits if one.hit.chunk_id == hit.chunk_id), None)
        if found is not None:
            self._app.explain.show(found, self.explained)
        return found is not None

    def show_preview(self, hit: SearchHit, located: Located | None) -> None:
        self._app.preview.show(hit, located, self.response.query if self.response else "")

    def show_located(self, hit: SearchHit, located: Located) -> None:
        """Badge a hit with the state of its passage; if it is selected, show its present lines."""
        app = self._app
        app.hits.show_location(hit, located)
        selected = app.hits.selected
        if selected is not None and selected.chunk_id == hit.chunk_id:
            self.show_preview(selected, located)

    # The text shown instead of hits

    def update_words(self) -> None:
        self._app.words.show(self._words())

    def _words(self) -> empty_states.Words:
        response = self.response
        done, total = self._files_read
        if response is not None:
            if response.query.strip() and "no_passages" not in {notice.code for notice in response.notices}:
                return partial(
                    empty_states.no_hits,
                    query=response.query,
                    costs=self.suggestions,
                    drop_key=self._key("drop_filter"),
                    mode_key=self._key("mode"),
                )
            if response.hits:
                recent = self._app.history.queries
                return partial(empty_states.start, recent=recent, recall_key=self._key("recall_query"))
        elif self._error is not None:
            message, hint = self._error
            if self.is_reading:
                return partial(empty_states.rebuilding, message=message, done=done, total=total)
            return partial(empty_states.failed, message=message, hint=hint)
        if self.is_reading:
            return partial(empty_states.indexing, done=done, total=total)
        if self._end is not None and self._end.code:
            return partial(empty_states.failed, message=self._end.text, hint="")
        if response is not None:
            return partial(empty_states.no_notes, rescan_key=self._key("rescan"))
        return partial(
            empty_states.first_run,
            sample_key=self._key("sample_vault"),
            quit_key=self._key("quit"),
            data_folder=self._app.settings.data_dir,
        )

    def _key(self, action_id: str) -> str:
        keys = action_of(self._app.actions, action_id).keys("query")
        return shown(keys[0]) if keys else ""

    # The status line

    def show_how_to_quit(self) -> None:
        self._app.status.show_message(Notice("quit", f"press {self._key('quit')} to quit"))

    def show_searching(self, running: bool) -> None:
        """Show or hide that a slow query is running."""
        self._status = replace(self._status, searching=running)
        self._app.status.show(self._status)

    def show_marked(self, count: int) -> None:
        self._status = replace(self._status, marked=count)
        self._app.status.show(self._status)

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
        self._update_last_change()
        self._show_indexing()

    @property
    def is_read_only(self) -> bool:
        """Whether nothing can be indexed here."""
        return self._end is not None and self._end.code == "readonly"

    def _show_indexing(self) -> None:
        """The error of our own process takes precedence over the status of other processes."""
        live, end = self._live, self._end
        error = end.text if end is not None and not self.is_read_only else ""
        self._status = replace(
            self._status,
            index="read-only" if self.is_read_only else live.index,
            progress=live.progress,
            trouble=error or live.trouble,
            failed=end.failed if end is not None else live.failed,
        )
        self._app.status.show(self._status)
        if not self.has_hits:
            self.update_words()

    def _update_last_change(self) -> None:
        last = self._last_change
        if last is not None:
            self._status = replace(self._status, changed=changed_words(last.path, self._latency.of(last)))

    def _show_status(self, response: SearchResponse) -> None:
        has_query = bool(response.query.strip())
        self._status = replace(
            self._status,
            hits=len(response.hits) if has_query else None,
            total=response.total_matches,
            milliseconds=sum(stage.milliseconds for stage in response.stages) if has_query else None,
            mode=response.mode if has_query else self._app.mode,
            raw=response.raw,
            complete=response.complete,
            notices=response.notices,
        )
        self._app.status.show(self._status)
