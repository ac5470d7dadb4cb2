"""What the panes and the status line say of the answers; the one who remembers the last of them.

Takes what the engine answered and what runs behind the screen, and gives each pane its
part. Asks nothing: the application does.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from kebab_tui.domain.hit import Notice, joined
from kebab_tui.tui.actions import action_of
from kebab_tui.tui.hit_diff import Latency
from kebab_tui.tui.keys import shown
from kebab_tui.tui.widgets import empty_states
from kebab_tui.tui.widgets.hits_list import FRESH_S
from kebab_tui.tui.widgets.status_line import LiveWords, StatusContent, changed_words, live_words

if TYPE_CHECKING:
    from kebab_tui.domain.citation import Located
    from kebab_tui.domain.hit import SearchHit, SearchResponse
    from kebab_tui.domain.ids import ChunkId
    from kebab_tui.domain.query import SearchMode
    from kebab_tui.indexing.status import LastChange, LiveState
    from kebab_tui.search.explanation import ExplainedResponse
    from kebab_tui.search.query_language import Chip, ParsedQuery
    from kebab_tui.tui.app import KebabApp
    from kebab_tui.tui.engine_thread import RelaxedQuery
    from kebab_tui.tui.messages import IndexingProgress


_LOST = ("store_damaged", "store_lost")


class ResultsPresenter:
    def __init__(self, app: KebabApp, mode: SearchMode) -> None:
        self._app = app
        self.response: SearchResponse | None = None
        self.explained: ExplainedResponse | None = None
        self.parse: Callable[[str], ParsedQuery] | None = None
        self.chips: tuple[Chip, ...] = ()
        self.costs: tuple[RelaxedQuery, ...] | None = None
        """What each part of a query without hits costs; None while that is not known."""
        self.first_run = False
        self._refusal: tuple[str, str] | None = None
        self._read = (0, 0)
        self._is_reading = self._is_awaited = bool(app.options.folders)
        self._lateness = Latency()
        self._last_change: LastChange | None = None
        self._live = LiveWords()
        self._run: IndexingProgress | None = None
        """What a process of our own told last, until one that keeps the index in step tells more."""
        self._status = StatusContent(mode=mode)

    # Answers

    def answer(
        self,
        response: SearchResponse,
        keep: ChunkId | None,
        explained: ExplainedResponse | None = None,
        *,
        again: bool = False,
    ) -> None:
        """Show an answer; the passage `keep` stays under the cursor. `again`: what is new in it is said."""
        app = self._app
        self.explained = explained
        again = again and self.response is not None
        if not again or self._refusal is not None:
            app.status.hush()
        self.response, self.costs, self.first_run, self._refusal = response, None, False, None
        found = app.hits.show(response, keep, again=again)
        if again and str(found):
            app.status.say(Notice("news", str(found)), FRESH_S)
        app.hits.border_title = "hits" if response.query else "changed lately"
        self._show_chips()
        self.write_words()
        app.arrange()
        self._show_status(response)
        if not response.hits:
            app.preview.clear()
            app.explain.clear("No hit is selected.")
        app.refresh_bindings()

    def append(self, page: SearchResponse) -> None:
        """Show the next page behind the hits that are shown."""
        if self.response is not None:
            self.response = joined(self.response, page)
            self._app.hits.append(self.response)
            self._show_status(self.response)

    def ask(self) -> None:
        """A question is on its way."""
        self._lateness.asked()

    def follow_file(self) -> None:
        """The index has changed: show the selected note as it is now."""
        self._lateness.shown()
        self._show_last_change()
        self._show()
        if (hit := self._app.hits.selected) is not None:
            self._app.preview.reread(hit)

    def weigh(self, costs: tuple[RelaxedQuery, ...]) -> None:
        """Say what keeps hits away."""
        self.costs = costs
        self.write_words()
        self._app.refresh_bindings()

    def explain(self, explained: ExplainedResponse) -> None:
        """Show the figures behind a page, beside those behind other pages."""
        before, selected = self.explained, self._app.hits.selected
        if before is not None and before.response.corpus_revision == explained.response.corpus_revision:
            explained = replace(explained, hits=(*before.hits, *explained.hits))
        self.explained = explained
        if selected is not None:
            self.explain_hit(selected)

    def explain_hit(self, hit: SearchHit) -> bool:
        """Whether the figures behind a hit are there to be shown."""
        if self.explained is None:
            return False
        found = next((one for one in self.explained.hits if one.hit.chunk_id == hit.chunk_id), None)
        if found is not None:
            self._app.explain.show(found, self.explained)
        return found is not None

    def preview(self, hit: SearchHit, located: Located | None) -> None:
        self._app.preview.show(hit, located, self.response.query if self.response else "")

    def locate(self, hit: SearchHit, located: Located) -> None:
        """Badge a hit with what became of it, and show the passage where it is now."""
        app = self._app
        app.hits.badge_located(hit, located)
        selected = app.hits.selected
        if selected is not None and selected.chunk_id == hit.chunk_id:
            self.preview(selected, located)

    def refuse(self, code: str, message: str, hint: str) -> None:
        """There is no answer; hits that are there stay."""
        if code == "not_indexed":
            self.begin()
            return
        self._refusal = (message, hint)
        self.costs = None
        self.fail(message, hint)
        if not self.has_hits or code in _LOST:
            self.response = None
            self.write_words()
        self._app.arrange()

    def begin(self) -> None:
        """Nothing is indexed yet."""
        self.first_run = True
        self.response = None
        self.write_words()
        self._app.arrange()
        self._app.refresh_bindings()

    @property
    def is_reading(self) -> bool:
        """Whether a folder is being read: the best hits are still to come."""
        return self._is_reading

    @property
    def has_hits(self) -> bool:
        return bool(self.response and self.response.hits)

    # Words where no hits are

    def write_words(self) -> None:
        self._app.words.show(self._words())

    def _words(self) -> empty_states.Words:
        response = self.response
        if response is None:
            return self._words_without_an_index()
        if response.query.strip() and "no_passages" not in {notice.code for notice in response.notices}:
            drop, mode = self._key("drop_filter"), self._key("mode")
            return partial(
                empty_states.nothing_found,
                query=response.query,
                costs=self.costs,
                drop_key=drop,
                mode_key=mode,
            )
        if response.hits:
            recent = self._app.history.queries
            return partial(empty_states.start, recent=recent, recall_key=self._key("recall_query"))
        if self._is_reading:
            return self._words_while_reading()
        if self._run is not None and self._run.code:
            return partial(empty_states.refused, message=self._run.text, hint="")
        return partial(empty_states.nothing_there, rescan_key=self._key("rescan"))

    def _words_without_an_index(self) -> empty_states.Words:
        if self._refusal is not None:
            message, hint = self._refusal
            if self._is_reading:
                done, total = self._read
                return partial(empty_states.healing, message=message, done=done, total=total)
            return partial(empty_states.refused, message=message, hint=hint)
        if self._is_reading:
            return self._words_while_reading()
        if self._run is not None and self._run.code:
            return partial(empty_states.refused, message=self._run.text, hint="")
        return partial(
            empty_states.first_run,
            sample_key=self._key("sample_vault"),
            quit_key=self._key("quit"),
            data_folder=self._app.settings.data_dir,
        )

    def _words_while_reading(self) -> empty_states.Words:
        return partial(empty_states.indexing, done=self._read[0], total=self._read[1])

    def _key(self, action_id: str) -> str:
        keys = action_of(self._app.actions, action_id).keys("query")
        return shown(keys[0]) if keys else ""

    # The status line

    def say(self, notice: Notice) -> None:
        self._app.status.say(notice)

    def say_how_to_quit(self) -> None:
        self.say(Notice("quit", f"{self._key('quit')} leaves"))

    def fail(self, message: str, hint: str = "") -> None:
        self._app.status.fail(message, hint)

    def search(self, running: bool) -> None:
        """Say that an answer takes its time, or does so no more."""
        self._status = replace(self._status, searching=running)
        self._show()

    def mark(self, count: int) -> None:
        self._status = replace(self._status, marked=count)
        self._show()

    def progress(self, message: IndexingProgress) -> None:
        """Say how far the indexing is."""
        self._run = message
        self._is_reading, self._is_awaited = message.running, False
        self._read = (message.done, message.total)
        self._show_keeping()

    def live(self, live: LiveState | None, own_pid: int) -> None:
        """Say what whoever keeps the index in step is at."""
        self._live = live_words(live, own_pid)
        if live is not None:
            self._last_change = live.last
            is_at_work = live.phase.kind == "reading"
            # At first it holds no folder yet, then one that it has not begun to read.
            self._is_awaited &= not (is_at_work or (live.folders and not live.pending))
            self._is_reading = is_at_work or self._is_awaited
            self._read = (live.phase.done, live.phase.total)
            if own_pid:
                self._run = None
        self._show_last_change()
        self._show_keeping()

    @property
    def is_read_only(self) -> bool:
        """Whether nothing can be indexed here."""
        return self._run is not None and self._run.code == "readonly"

    def _show_keeping(self) -> None:
        """Why our own process had to end stays said, whatever others do."""
        live, run = self._live, self._run
        is_read_only = self.is_read_only
        told = run.text if run is not None and not run.code else ""
        refused = run.text if run is not None and run.code and not is_read_only else ""
        self._status = replace(
            self._status,
            index="read-only" if is_read_only else live.index,
            progress=told or live.progress,
            trouble=refused or live.trouble,
            failed=run.failed if run is not None else live.failed,
        )
        self._show()
        if not self.has_hits:
            self.write_words()

    def _show_last_change(self) -> None:
        last = self._last_change
        if last is not None:
            self._status = replace(self._status, changed=changed_words(last.path, self._lateness.of(last)))

    def _show_status(self, response: SearchResponse) -> None:
        asked = bool(response.query.strip())
        self._status = replace(
            self._status,
            hits=len(response.hits) if asked else None,
            total=response.total_matches,
            milliseconds=sum(stage.milliseconds for stage in response.stages) if asked else None,
            mode=response.mode if asked else self._app.mode,
            raw=response.raw,
            complete=response.complete,
            notices=response.notices,
        )
        self._show()

    def _show(self) -> None:
        self._app.status.show(self._status)

    def _show_chips(self) -> None:
        self.chips = self.parse(self._app.box.value).chips if self.parse is not None else ()
        self._app.chips.show(self.chips)
