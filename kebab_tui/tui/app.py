"""The application: composes the screen, sends queries, routes messages and keys.

Widgets post what the user does, the engine thread posts results; each message has one
handler here. `Commands` performs the actions, `ResultsPresenter` fills the panes. The
application holds no engine: the engine thread does, and indexing runs in a process.
Results of an earlier query are dropped; after an error the last hits stay.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property, partial
from time import monotonic
from typing import TYPE_CHECKING

from textual import events, on
from textual.app import App, ComposeResult
from textual.containers import Container
from textual.content import Content
from textual.filter import ANSIToTruecolor, LineFilter
from textual.geometry import Size
from textual.widgets import Input

from kebab_tui.domain.errors import Failure
from kebab_tui.domain.hit import Notice
from kebab_tui.domain.query import SEARCH_MODES, SearchMode
from kebab_tui.settings.settings import Settings
from kebab_tui.tui import layout, messages
from kebab_tui.tui.actions import Facts, bind, bind_app, first_key
from kebab_tui.tui.choices import Choices, keep, starting_choices
from kebab_tui.tui.commands import Commands
from kebab_tui.tui.current_query import MOVES, PAGE, CurrentQuery, PendingActions
from kebab_tui.tui.engine_thread import EngineThread
from kebab_tui.tui.explain.panel import ExplainPanel
from kebab_tui.tui.explain.what_if import Keys
from kebab_tui.tui.hand_off import HandOff
from kebab_tui.tui.history import History, HistoryRecorder, TypingDebounce
from kebab_tui.tui.hit_diff import Latency
from kebab_tui.tui.indexer import BackgroundIndexing, Indexing
from kebab_tui.tui.keymap import keymap
from kebab_tui.tui.keys import KeysInOrder
from kebab_tui.tui.launch import Options
from kebab_tui.tui.layout import LayoutName, Toggles
from kebab_tui.tui.note_hits import Visits, count_words, note_hit
from kebab_tui.tui.preview.pane import Preview
from kebab_tui.tui.recent_notes import RecentNotes
from kebab_tui.tui.results import Panes, ResultsPresenter
from kebab_tui.tui.scope import Scope
from kebab_tui.tui.screens.why_not_prompt import WhyNotPrompt
from kebab_tui.tui.startup import COLLECT_S, TUNE_AT_LATEST_S, collect, tune_for_typing
from kebab_tui.tui.themes import apply_theme
from kebab_tui.tui.widgets import empty_states
from kebab_tui.tui.widgets.completion_list import CompletionList
from kebab_tui.tui.widgets.empty_states import TextPane
from kebab_tui.tui.widgets.footer import KeysLine
from kebab_tui.tui.widgets.hits_list import HitsList
from kebab_tui.tui.widgets.query_box import QueryBox, QueryLine
from kebab_tui.tui.widgets.query_text import ChipsLine
from kebab_tui.tui.widgets.segments import DOT, ELLIPSIS, one_line
from kebab_tui.tui.widgets.status_line import StatusLine

if TYPE_CHECKING:
    from kebab_tui.domain.citation import Located
    from kebab_tui.domain.hit import SearchHit, SearchResponse
    from kebab_tui.domain.ids import ChunkId, DocId, SourceId
    from kebab_tui.indexing.folder_count import FolderCount
    from kebab_tui.tui.screens.file_states import FileStatesScreen
    from kebab_tui.tui.screens.links_page import LinksPage
    from kebab_tui.tui.suggestions import Suggestion
    from kebab_tui.workspace import Workspace

NOTIFICATION_S = 5.0


class KebabApp(App[tuple[str, ...]]):
    """One query line, three panes, a status line. Returns the picked citations."""

    CSS_PATH = "app.tcss"
    TITLE = "kebab"
    ENABLE_COMMAND_PALETTE = False

    box: QueryBox
    query_line: QueryLine

    def __init__(
        self,
        options: Options,
        settings: Settings,
        *,
        engine: EngineThread | None = None,
        indexing: Indexing | None = None,
        hits: HitsList | None = None,
        latency: Latency | None = None,
        clock: Callable[[], float] = monotonic,
        page: int = PAGE,
    ) -> None:
        """Collaborators that are not given are made from the settings; `page`: hits of one query."""
        super().__init__()
        self.has_vim_keys = settings.screen.keys == "vim"
        self.actions = keymap(settings.keys, vim=self.has_vim_keys, pick=options.pick)
        self._action_of = {action.id: action for action in self.actions}
        bind_app(self, self.actions)
        self._choices = starting_choices(settings.data_dir, settings.screen, options.theme)
        self._fixed_choices: set[str] = set()
        """Choices about which the user knows that the configuration wins at the next start."""
        apply_theme(self, self._choices.theme)
        self.options = options
        self.settings = settings
        self.toggles = Toggles(explain=options.explain)
        self.history = History(settings.data_dir)
        self.recorder = HistoryRecorder(self.history, clock)
        self.clock = clock
        self.interrupt_until = clock()
        """Until then, an interrupt quits."""
        self.recent = RecentNotes(settings.data_dir)
        wanted = options.mode or settings.search.mode
        mode: SearchMode = next((mode for mode in SEARCH_MODES if mode == wanted), "hybrid")
        self.engine = engine or EngineThread(
            self._open_workspace, loads_model=mode != "lexical", folders=_scope_folders(options)
        )
        self.indexing = indexing or BackgroundIndexing(settings.data_dir, options.config)
        self.current_query = CurrentQuery(self.engine, mode, page)
        self.typing = TypingDebounce(self._typing_paused)
        self._resting = TypingDebounce(self._count_links)
        self._collecting = TypingDebounce(collect, COLLECT_S)
        self._counted: dict[DocId, tuple[int, str]] = {}
        """The counts of links of notes, and when they were counted."""
        self._changes = 0
        """How often the counts may have changed."""

        # Attributes, not lookups: a result may arrive after the last widget was removed.
        self.chips = ChipsLine(id="chips")
        self.hits = hits or HitsList(id="hits")
        key = partial(first_key, self.actions)
        self.words = TextPane(accept_key=key("complete"), drop_key=key("drop_filter"), id="words")
        self.preview = Preview(has_footer=True, id="preview")
        self.preview.wraps = self._choices.wrap
        what_if_keys = Keys(
            f"{key('vector_weight_down')} {key('vector_weight_up')}",
            f"{key('rrf_k_down')} {key('rrf_k_up')}",
            key("rerank"),
            key("what_if_reset"),
            key("next_pane"),
        )
        self.explain = ExplainPanel(keys=what_if_keys, id="explain")
        self.panes = Container(self.hits, self.words, self.preview, self.explain, id="panes")
        self.status = StatusLine(id="status")
        self.completion_list = CompletionList(
            accept_key=key("complete"), choose_key=key("next_completion"), take_key=key("take_completion")
        )
        self.footer = KeysLine(self.actions, id="footer")

        self.results = ResultsPresenter(
            Panes(self.chips, self.hits, self.words, self.preview, self.explain, self.status),
            self.current_query,
            self.history,
            self.actions,
            data_folder=settings.data_dir,
            reads_folder=bool(options.folders),
            latency=latency or Latency(),
        )
        self.hand_off = HandOff(
            self,
            self.engine,
            self.hits,
            self.status,
            actions=self.actions,
            editor=settings.editor,
            viewer=settings.viewer,
            options=options,
            is_shared=self.is_shared,
            query=lambda: self.results.marked_query,
            opened=self._files_opened,
            recent=self.recent,
        )
        self._keys_in_order = KeysInOrder(self, vim=self.has_vim_keys)
        self._commands = Commands(self)
        self.recent_commands: list[str] = []
        """Ids of the commands that the palette ran last."""
        self._pending = PendingActions()
        self._held_back: messages.SearchDone | None = None
        """A first response with fewer notes than the list on the screen."""
        self._cursor_is_pinned = False
        """Whether new results keep the cursor on its hit."""
        self._has_news = False
        """Whether a commit changed the index since the last final response."""
        self._arranged: tuple[Size, Toggles, LayoutName, bool, bool] | None = None
        """What the present arrangement of the panes is for."""
        self._jumps = 0
        """How many pages the user has asked to jump ahead of the loaded ones."""
        self._goal: SearchHit | None = None
        """The hit to go to as soon as it is loaded."""
        self.successor: tuple[Options, Settings] | None = None
        """The screen to show after this one."""
        self._has_sources = False
        self._counting = set[str]()
        """The new folders whose notes are counted before they are indexed."""
        self._accepted = set(options.accepted)
        self._asked_about: str | None = None
        """The folder that a question is about."""
        self.scope = Scope()
        """What is searched, as the engine has found it."""
        self.last_scope: tuple[str, ...] = ()
        """The folders that were searched before the present scope."""
        self.visits = Visits()
        self.visited: SearchHit | None = None
        """The note in the preview instead of the selected hit, after a link was followed."""
        self._visited_from: ChunkId | None = None
        """The selected hit meanwhile."""
        self.new_note: tuple[str, str] | None = None
        """The text in the box when a note was created, and the query that shows it once it is indexed."""

    def get_line_filters(self) -> list[LineFilter]:
        """Without the one that computes RGB values for named colours: only the theme `ansi` has such."""
        return [one for one in super().get_line_filters() if not isinstance(one, ANSIToTruecolor)]

    @cached_property
    def is_shared(self) -> bool:
        """Whether the index is on servers, and only read."""
        if not self.settings.index.url:
            return False
        from kebab_tui.workspace import Workspace  # the first paint of a local index does not need it

        return Workspace.is_shared(self.settings.index.url)

    def _open_workspace(self) -> Workspace:
        from kebab_tui.workspace import Workspace  # the first paint does not need it

        return Workspace(self.settings, self.settings.data_dir)

    # Life cycle

    def compose(self) -> ComposeResult:
        # An input can only be made by a running application.
        self.box = QueryBox(self.options.query, history=self.history, id="box")
        self.box.completion_list = self.completion_list
        self.query_line = QueryLine(self.box, id="query")
        self._keys_in_order.box = self.box
        self.hits.border_title = Content("hits")
        self.preview.border_title = Content("preview")
        self.preview.is_shared = self.is_shared
        self.explain.border_title = Content("explain")
        yield from (self.query_line, self.chips, self.panes, self.status, self.footer, self.completion_list)

    def on_mount(self) -> None:
        for pane in (self.hits, self.preview):
            bind(pane, self.actions, "Main", "lists")
        bind(self.explain, self.actions, "Main", "panel")
        bind(self.words, self.actions, "Main", "everywhere")
        self.is_normal = False
        self.show_mode()
        self.current_query.start_clock(self, self._searching)
        self.typing.start_clock(self)
        self._resting.start_clock(self)
        self._collecting.start_clock(self)
        self.indexing.report_to(self.post_message)
        self.box.focus()
        self.arrange()

    def on_ready(self) -> None:
        """Start the engine after the first frame: its imports would delay it."""
        self.set_timer(TUNE_AT_LATEST_S, tune_for_typing)
        self.typing.key_pressed()  # the hits first, then the preview
        self.ask()
        self.engine.start(self.post_message)

    def on_unmount(self) -> None:
        self.engine.close()
        self.indexing.close()

    # Keys and actions

    async def on_event(self, event: events.Event) -> None:
        if not await self._keys_in_order.handle(event):
            await super().on_event(event)

    async def action_act(self, action_id: str) -> None:
        """Perform an action of the registry; the next key waits for a page that it opens."""
        text, response = self.box.value, self.results.response
        is_asked = text == self.current_query.query.text
        is_shown = is_asked and (
            not self.current_query.is_waiting
            or self.current_query.is_again
            or (response is not None and response.query.strip() == text.strip())
        )
        scrolls = action_id in MOVES and self.focused in (self.preview, self.explain, self.words)
        if not scrolls and self._pending.defer(action_id, text, asked=is_asked, shown=is_shown):
            return
        opening = self._commands.perform(action_id)
        if opening is not None:
            await opening

    @property
    def is_normal(self) -> bool:
        """Whether the normal mode of vim keys is on, in which characters are commands."""
        return self._keys_in_order.is_normal

    @is_normal.setter
    def is_normal(self, on: bool) -> None:
        self._keys_in_order.is_normal = self.query_line.is_normal = on
        bind(self.screen_stack[0], self.actions, "Main", "vim" if on else "everywhere")
        # The box would edit its text at some keys of the normal mode.
        bind(self.box, self.actions, "Main", *(("query", "vim") if on else ("query",)))
        self.refresh_bindings()

    @on(events.DescendantFocus)
    def _focus_moved(self, event: events.DescendantFocus) -> None:
        if not isinstance(event.widget, Input):  # an input puts the terminal's cursor into its text
            self.cursor_position = event.widget.content_region.offset

    def tell(self, notice: Notice, seconds: float | None = None) -> None:
        """Show a passing message on the top screen."""
        if len(self.screen_stack) == 1:
            self.status.show_message(notice, seconds)
        else:
            self.notify(notice.text, markup=False, timeout=seconds or NOTIFICATION_S)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action != "act" or not self.is_running:
            return True
        when = self._action_of[str(parameters[0])].when
        # Called for every action after every key: most need no facts.
        return when == "always" or bool(getattr(self.facts, when))

    @property
    def facts(self) -> Facts:
        """The facts that decide which actions are available."""
        hits = self.hits.selected is not None
        return Facts(
            hits=hits,
            moves=hits or self.focused is self.words,
            empty_query=not self.box.value,
            filters=bool(self.scope.folders or self.results.chips or self.results.refused or self.suggests),
            corrected=self.results.is_corrected or self.current_query.query.exact,
            explain=self.toggles.explain and self.explain.has_what_if,
            first_run=self.results.first_run or self.options.own is not None,
            completing=self.completion_list.is_open or self.suggests,
            choosing=self.completion_list.takes_moves or self.suggests,
            chosen=self.completion_list.chosen is not None
            or (self.suggests and self.words.chosen is not None),
        )

    @property
    def suggests(self) -> bool:
        """Whether the page in place of the hits has suggestions for the text in the box."""
        query = self.current_query
        is_answered = self.box.value == query.query.text and (query.is_again or not query.is_waiting)
        return bool(self.words.suggestions) and is_answered and not self.results.has_hits

    def refresh_bindings(self) -> None:
        if self.screen_stack:  # the last result may arrive after the last screen is gone
            super().refresh_bindings()

    # Layout

    def arrange(self) -> None:
        """Place the panes for the present size and toggles; a text replaces missing hits."""
        has_hits = self.results.has_hits
        is_start = has_hits and not self.box.value and not self._cursor_is_pinned
        wanted = self._choices.layout
        state = self.size, self.toggles, wanted, has_hits, is_start
        if state == self._arranged:
            return
        chosen = layout.choose(self.size.width, self.size.height, self.toggles, wanted)
        self._arranged = None if chosen.too_small else state
        for arrangement in ("stacked", "beside", "columns", "single"):
            self.panes.set_class(has_hits and arrangement == chosen.arrangement, f"-{arrangement}")
        self.panes.set_class(len(chosen.panes) < 3, "-pair")
        shows_start = is_start and "preview" in chosen.panes
        self.hits.display = has_hits and "hits" in chosen.panes
        self.words.display = shows_start or not has_hits
        self.preview.display = has_hits and "preview" in chosen.panes and not shows_start
        self.explain.display = has_hits and "explain" in chosen.panes
        self.set_class(chosen.frames, "-framed")
        self.set_class(not chosen.frames, "-plain")
        self.query_line.frame(chosen.frames)
        self.chips.set_class(chosen.frames, "-on-edge")
        self.status.count_passages(not (chosen.frames and self.hits.display))
        self.footer.display = chosen.footer
        if chosen.too_small:
            self.status.show_message(empty_states.TOO_SMALL)
        else:
            self.status.remove_message(empty_states.TOO_SMALL)

    @property
    def choices(self) -> Choices:
        """Theme, layout and wrapping."""
        return self._choices

    @choices.setter
    def choices(self, choices: Choices) -> None:
        """Apply the choices, and keep them for the next start."""
        before, self._choices = self._choices, choices
        if choices.theme != before.theme:
            apply_theme(self, choices.theme)
        self.preview.wraps = choices.wrap
        self.arrange()
        for name in keep(self.settings.data_dir, self.settings.screen, before, choices):
            if name not in self._fixed_choices:
                self._fixed_choices.add(name)
                text = f"[screen] {name} in the configuration wins at the next start"
                self.status.show_message(Notice("fixed_choice", text))

    def on_resize(self) -> None:
        self.call_next(self.arrange)  # Textual stores the new size after this handler

    def show_mode(self) -> None:
        self.query_line.mode = self.results.mode_words

    # Queries

    @on(Input.Changed, "#box")
    def _typed(self) -> None:
        if self.box.value == self.current_query.query.text:
            return  # the initial text of the box
        self._cursor_is_pinned = False
        self._jumps = 0
        self.visited = self._goal = None
        self.typing.key_pressed()
        self._collecting.key_pressed()

        def search() -> None:
            self.recorder.left()
            self.refresh_bindings()
            self.ask()
            if self.box.has_filter:
                self.engine.update_completions()

        self.call_after_refresh(search)  # paint the letter first

    def ask(self, *, again: bool = False) -> None:
        """Search for the text in the box; results of earlier queries are dropped from now on."""
        self.results.latency.asked()
        self.current_query.ask(
            self.box.value, explain=self.toggles.explain, again=again, shown=self.results.response
        )

    @on(messages.SearchDone)
    def _search_done(self, message: messages.SearchDone) -> None:
        if not self.current_query.is_current(message.generation):
            return
        response, selected, again = message.response, self.hits.selected, self.current_query.is_again
        if message.final and not response.hits and self.box.is_value_begun and self.results.has_hits:
            failure = Failure("unfinished_filter", "no note has this value yet")
            self.post_message(messages.Refused(message.generation, failure))
            return
        if message.final:
            self.current_query.finish(answered=True)
        elif self._has_fewer_notes(response) and not self.current_query.is_slow:
            self._held_back = message
            self.engine.painted()  # the hits on the screen stay until the full response is there
            return
        else:
            self.call_after_refresh(self.engine.painted)
        keeps = self._cursor_is_pinned or (again and bool(self.box.value) and not self.results.is_reading)
        self.results.show_response(
            response, selected.chunk_id if keeps and selected else None, message.explained, again=again
        )
        self.arrange()
        self.refresh_bindings()
        if message.final:
            self.show_mode()
            self.explain_selected()
            if self._has_news:
                self._has_news = False
                # A saved note counts as shown once the response is painted.
                self.call_after_refresh(self.results.reload_note)
                if self.visited is not None:
                    self.call_after_refresh(self.preview.reread, self.visited)
            for action_id in self._pending.release(self.current_query.query.text):
                self._commands.perform(action_id)
            self._approach_goal()
        if response.hits:
            self.recorder.shown(response.query)
        elif message.final and response.query.strip():
            self.engine.suggest(message.generation, self.current_query.query)

    def _searching(self, running: bool) -> None:
        """A query has become slow, or is no longer: a first response is not held back any longer."""
        self.results.show_searching(running)
        held, self._held_back = self._held_back, None
        if running and held is not None:
            self._search_done(held)

    def _has_fewer_notes(self, response: SearchResponse) -> bool:
        """Whether a list of hits on the screen would shrink."""
        shown = self.results.response
        if shown is None or not shown.query.strip():
            return False
        notes = len({hit.doc_id for hit in response.hits})
        return notes < min(self.hits.notes, self.hits.notes_per_page)

    @on(messages.SuggestionsReady)
    def _suggestions_ready(self, message: messages.SuggestionsReady) -> None:
        if self.current_query.is_current(message.generation):
            self.results.show_suggestions(message.suggestions)
            self.refresh_bindings()

    @on(messages.Explained)
    def _explained(self, message: messages.Explained) -> None:
        if self.current_query.is_current(message.generation):
            self.current_query.explained()
            self.results.add_explanation(message.explained)

    def explain_selected(self) -> None:
        """Show the scores of the selected hit; request those of its page if they are missing."""
        selected = self.hits.selected
        if selected is not None and self.toggles.explain and not self.results.explain_hit(selected):
            self.current_query.explain(selected.rank)

    @on(HitsList.NearEnd)
    def _load_more(self) -> None:
        response = self.results.response
        if response is not None and not self.typing.is_typing:
            self.current_query.load_more(response)

    @on(messages.MoreFound)
    def _more_found(self, message: messages.MoreFound) -> None:
        response = self.results.response
        if response is None or not self.current_query.is_current(message.generation):
            return
        self.current_query.loaded()
        if message.page.corpus_revision != response.corpus_revision:
            return  # the order may have changed: CorpusChanged requests the whole list again
        was_at_end = self.hits.is_at_end
        self.results.append_page(message.page)
        jumps, self._jumps = self._jumps, 0
        if was_at_end and jumps:
            self._jumps = jumps - 1
            self.hits.move_to_last()
        self._approach_goal()

    def go_to_hit(self, hit: SearchHit) -> None:
        """Move to a hit of the list, loading the pages up to it."""
        self.pin_cursor()
        self._goal = hit
        self._approach_goal()

    def _approach_goal(self) -> None:
        goal, response = self._goal, self.results.response
        if goal is None or response is None or self.current_query.is_waiting:
            return
        if self.hits.select(goal.chunk_id):
            self._goal = None
        elif response.next_offset is None or response.next_offset > goal.rank:
            self._goal = None
            self.tell(Notice("goal", "the list has changed: the passage has another rank now"))
        else:
            self.current_query.load_more(response, goal.rank)

    def go_to_last(self) -> None:
        """Move to the last loaded hit; from there to the end of the next page."""
        self.pin_cursor()
        response = self.results.response
        if self.hits.is_at_end and response is not None and response.next_offset is not None:
            self._jumps += 1
        self.hits.move_to_last()

    @on(messages.Refused)
    def _refused(self, message: messages.Refused) -> None:
        if message.generation != -1:
            if not self.current_query.is_current(message.generation):
                return
            self.current_query.finish()
            self._pending.clear()
            self._jumps = 0
        self.results.show_failure(message.failure)
        self.arrange()
        self.refresh_bindings()
        if message.failure.is_healed_by_ingest:
            self.index(())  # sets the damaged index aside and reads the notes again

    def stop_search(self) -> None:
        """Cancel the current query; a response that still arrives is dropped."""
        self.engine.cancel()
        self.current_query.cancel()
        self._pending.clear()
        self.status.show_message(Notice("stopped", "search stopped"))

    # The engine

    @on(messages.EngineReady)
    def _engine_ready(self, message: messages.EngineReady) -> None:
        self.box.set_parser(message.workspace.parse)
        self.query_line.show_mode()
        self.preview.engine = message.workspace
        self.results.parse = message.workspace.parse

    @on(messages.EngineWarm)
    def _engine_warm(self) -> None:
        tune_for_typing()
        self._changes += 1  # similar notes can be counted now
        self._show_counts()

    @on(messages.SourcesCounted)
    def _sources_counted(self, message: messages.SourcesCounted) -> None:
        self._has_sources = bool(message.count or self.settings.sources)
        if self.options.own is not None:
            key = first_key(self.actions, "add_folder")
            self.tell(Notice("sample", f"sample notes {DOT} {key}: search your own folder"))
        if self.is_shared:
            if not message.count:
                self._show_first_run()
            return
        if self._has_sources and not self.scope.new:
            self.index(())
        elif not self.scope.new:
            self._show_first_run()
            self._commands.ask_folder()
        if message.samples is not None and not self._choices.keeps_samples:
            self._offer_to_remove(message.samples)

    def _offer_to_remove(self, samples: SourceId) -> None:
        """Earlier versions put the sample notes among the user's."""
        from kebab_tui.tui.screens.question import Question  # the first paint does not need it

        def answered(yes: bool | None) -> None:
            self.choices = replace(self.choices, keeps_samples=True)  # asked once
            if yes:
                self.engine.change_source(samples, "removed")

        text = "The sample notes are still among your own notes. Remove them from the index?"
        self.push_screen(Question(self.actions, "sample notes", text, "Remove them", "Keep them"), answered)

    @on(messages.SourceChanged)
    def _source_changed(self, message: messages.SourceChanged) -> None:
        from kebab_tui.tui.screens.file_states import FileStatesScreen  # the first paint does not need it

        for screen in self.screen_stack:
            if isinstance(screen, FileStatesScreen):
                screen.source_changed(message)
        if message.failure is not None:
            self.status.show_error(message.failure.message, message.failure.hint)
        elif message.use == "watched":
            self.index(())

    # The scope

    @on(messages.ScopeFound)
    def _scope_found(self, message: messages.ScopeFound) -> None:
        self.scope = message.scope
        self.results.show_scope(message.scope)
        self.refresh_bindings()
        for folder in message.scope.new:
            if folder in self._accepted:
                self.index((folder,))
            elif folder not in self._counting:
                self._counting.add(folder)
                self.engine.count_folder(folder, partial(self._is_unwanted, folder))

    def _is_unwanted(self, folder: str) -> bool:
        """Whether to stop counting the notes of a folder."""
        return folder not in self._counting

    @on(messages.FolderCounted)
    def _folder_counted(self, message: messages.FolderCounted) -> None:
        """Index a folder once its notes are counted; ask before that if they are many."""
        folder, count = message.folder, message.count
        if folder not in self._counting:
            return
        if message.failure is not None:
            self._counting.discard(folder)
            self._refuse_folder(folder)
            self.status.show_error(message.failure.message, message.failure.hint)
        elif message.must_ask and count is not None:
            self._ask_about(count)
        elif message.done:
            self._accept(folder)
        elif count is not None:
            self.results.show_counting(count.notes)

    def _ask_about(self, count: FolderCount) -> None:
        from kebab_tui.tui.screens.question import Question  # the first paint does not need it

        text = f"{count}{'' if count.complete else f' {ELLIPSIS}'}"
        if isinstance(self.screen, Question) and self._asked_about == count.root:
            self.screen.retell(text)
        elif self._asked_about is None:
            self._asked_about = count.root
            question = Question(self.actions, "a large folder", text, "Index it", "Choose another folder")
            self.push_screen(question, partial(self._answered_about, count.root))

    def _answered_about(self, folder: str, yes: bool | None) -> None:
        self._asked_about = None
        if yes:
            self._accept(folder)
        else:
            self._counting.discard(folder)
            self._refuse_folder(folder)
            self._commands.ask_folder(folder)

    def _accept(self, folder: str) -> None:
        self._counting.discard(folder)
        self._accepted.add(folder)
        self.index((folder,))

    def _refuse_folder(self, folder: str) -> None:
        """Search what was searched before a folder was chosen that is not indexed."""
        self.results.is_reading = False
        self.search_in(tuple(one for one in self.scope.folders if one != folder))
        if not self._has_sources:
            self._show_first_run()

    def open_folder(self, path: str) -> None:
        """Search a folder, which may be new; from the sample notes, in the user's own index."""
        if self.options.own is not None:
            options, settings = self.options.own
            self.leave_for(replace(options, folders=(path,), everywhere=False), settings)
            return
        self.results.expect_reading()
        self.search_in((path,))

    def leave_for(self, options: Options, settings: Settings) -> None:
        """End this screen for another one."""
        self.successor = options, settings
        self.exit(())

    def _show_first_run(self) -> None:
        self.results.show_first_run()
        self.arrange()
        self.refresh_bindings()

    def search_in(self, folders: tuple[str, ...]) -> None:
        """Search only these folders; everything without any."""
        self.last_scope = self.scope.folders
        self.engine.search_in(folders)
        self.ask()

    def take_suggestion(self, suggestion: Suggestion) -> None:
        """Search another query, or in all folders."""
        if suggestion.kind == "everywhere":
            self.search_in(())
        else:
            self.box.write(suggestion.text)

    @on(messages.CompletionsReady)
    def _completions_ready(self, message: messages.CompletionsReady) -> None:
        self.box.know(message.completions)
        self.results.know(message.completions)

    # The notes

    def index(self, folders: tuple[str, ...], *, paths: tuple[str, ...] = (), retry: bool = False) -> None:
        """Index new folders, some files, or else all notes; and keep watching unless --no-watch."""
        if self.is_shared:
            text = "a shared index is read-only: its notes are indexed where it is published"
            self.tell(Notice("read_only", text), NOTIFICATION_S)
        elif not self.options.watch:
            self.indexing.start(folders)
        elif not self.indexing.watcher_pid:
            self.indexing.watch(folders)
        elif folders:
            self.indexing.start(folders)
        else:
            self.engine.rescan(paths, retry=retry)

    @on(messages.CorpusChanged)
    def _corpus_changed(self) -> None:
        self._has_news = True
        self._changes += 1
        self._links_page(lambda page: page.reload())
        if self.new_note is not None:
            (text, query), self.new_note = self.new_note, None
            if self.box.value == text != query:
                self.box.write(query)
                return
        if not self.current_query.is_waiting:  # else the expected response includes the change
            self.ask(again=True)

    @on(messages.LiveChanged)
    def _live_changed(self, message: messages.LiveChanged) -> None:
        self.results.show_live(message.live, self.indexing.watcher_pid)
        self.show_mode()

    @on(messages.IndexingEnded)
    def _indexing_ended(self, message: messages.IndexingEnded) -> None:
        self.results.show_end(message)

    def on_file_states_screen_use_source(self, message: FileStatesScreen.UseSource) -> None:
        self.engine.change_source(message.source, message.use)

    def on_file_states_screen_retry(self) -> None:
        self.index((), retry=True)

    # The selected hit

    @on(HitsList.Moved)
    def _hit_selected(self, message: HitsList.Moved) -> None:
        if message.hit.chunk_id != self._visited_from:
            self.visited = None
        if not self.typing.is_typing:
            self._preview_selected()
        self.explain_selected()

    def _typing_paused(self) -> None:
        self._preview_selected()
        self.hits.fill()

    def _preview_selected(self) -> None:
        if self.visited is None and (hit := self.hits.selected) is not None:
            self.results.show_preview(hit)
            if hit.stale or hit.gone or not self.preview.is_certain:
                self.engine.locate(hit)
            self._show_counts()

    @on(messages.HitLocated)
    def _hit_located(self, message: messages.HitLocated) -> None:
        self._links_page(lambda page: page.located(message.hit, message.located))
        self._show_located(message.hit, message.located)

    def _show_located(self, hit: SearchHit, located: Located) -> None:
        if self.visited is None:
            self.results.show_located(hit, located)
        elif hit == self.visited:
            self.preview.show(hit, located)

    # Visited notes

    @property
    def shown(self) -> SearchHit | None:
        """The visited note, else the selected hit."""
        return self.visited or self.hits.selected

    def show_visited(self, place: SearchHit) -> None:
        """Show another note in the preview; the selected hit stays selected."""
        selected = self.hits.selected
        self.pin_cursor()
        if "preview" not in layout.choose(*self.size, self.toggles, self._choices.layout).panes:
            self.toggles = replace(self.toggles, preview=True, zoomed=None)
            self.arrange()
        if selected is not None and place.chunk_id == selected.chunk_id:
            self.end_visit()
            return
        self.visited, self._visited_from = place, None if selected is None else selected.chunk_id
        self.preview.show(place)
        self.engine.locate(place)
        self._show_counts()

    def end_visit(self) -> None:
        """Show the selected hit again."""
        self.visited = None
        self._preview_selected()

    def _show_counts(self) -> None:
        """Show the counts of links of the note in the preview; count them once the keys rest."""
        if (note := self.shown) is None:
            return
        counted_at, counts = self._counted.get(note.doc_id, (-1, ""))
        if counted_at != self._changes:
            self._resting.key_pressed()
        back = f"{first_key(self.actions, 'visit_back')} back" if self.visited is not None else ""
        self.preview.show_footer(f" {DOT} ".join(filter(None, (counts, back))))

    def _count_links(self) -> None:
        if len(self.screen_stack) > 1:  # a page above may have a long job
            self._resting.key_pressed()
        elif self.shown is not None:
            self.engine.count_links(self.shown)

    @on(messages.LinksCounted)
    def _links_counted(self, message: messages.LinksCounted) -> None:
        self._counted[message.doc_id] = self._changes, count_words(message.counts)
        self._show_counts()

    @on(Preview.FooterClicked)
    async def _footer_clicked(self) -> None:
        await self.action_act("links")

    @on(messages.LinkFollowed)
    def _link_followed(self, message: messages.LinkFollowed) -> None:
        link = message.link
        if message.origin != self.shown:
            return
        if isinstance(link, Failure):
            self.status.show_error(link.message, link.hint)
        elif link is None:
            key = first_key(self.actions, "links")
            self.tell(Notice("follow", f"no link in the cited lines; {key}: all links"))
        elif link.place is None:
            reason = f"a file that is no note: {link.file}" if link.file else "the link is broken"
            self.tell(Notice("follow", f"{reason}: {one_line(str(link.link))}"))
        else:
            cited = link.target_citation if link.span is not None else None
            place = note_hit(link.place, cited, document=link.target)
            self.visits.go(message.origin, place)
            self.show_visited(place)

    @on(messages.LinksFound)
    def _links_found(self, message: messages.LinksFound) -> None:
        self._links_page(lambda page: page.links_found(message))

    def _links_page(self, act: Callable[[LinksPage], None]) -> None:
        """Act on the open links page, if there is one."""
        if len(self.screen_stack) == 1:
            return
        from kebab_tui.tui.screens.links_page import LinksPage  # the first paint does not need it

        for screen in self.screen_stack:  # a help page may be above it
            if isinstance(screen, LinksPage):
                screen.preview.engine = self.preview.engine
                act(screen)

    @on(messages.HitsLocated)
    def _hits_located(self, message: messages.HitsLocated) -> None:
        self.history.add(self.current_query.query.text)
        for place in message.hits:
            if place.located is not None and not self.preview.is_showing(place.hit, place.located):
                self._show_located(place.hit, place.located)
        self.hand_off.resume(message)

    def _files_opened(self, edited: tuple[str, ...]) -> None:
        self.pin_cursor()
        if edited:
            self.index((), paths=edited)

    @on(events.Click, "#hits")
    def _hit_clicked(self) -> None:
        self.pin_cursor()

    @on(HitsList.Chosen)
    def _hit_chosen(self) -> None:
        self._commands.perform("open")

    @on(HitsList.Marked)
    def _hits_marked(self, message: HitsList.Marked) -> None:
        self.results.show_marked(message.count)

    def pin_cursor(self) -> None:
        """Keep the cursor on its hit when new results arrive."""
        if not self._cursor_is_pinned:
            self._cursor_is_pinned = True
            self.arrange()

    # Panes and prompts

    @on(ExplainPanel.Changed)
    def _what_if(self, message: ExplainPanel.Changed) -> None:
        self.hits.show_rank_changes(message.changes)

    @on(ChipsLine.Removed)
    def _filter_removed(self, message: ChipsLine.Removed) -> None:
        from kebab_tui.workspace import Workspace

        if message.chip.start < 0:  # the scope
            self.search_in(())
        else:
            self.box.write(Workspace.remove_chip(self.box.value, message.chip))

    @on(messages.NotesFound)
    def _notes_found(self, message: messages.NotesFound) -> None:
        from kebab_tui.tui.screens.switcher import Switcher  # the first paint does not need it

        for screen in self.screen_stack:  # a help page may be above it
            if isinstance(screen, Switcher):
                screen.preview.engine = self.preview.engine
                screen.notes_found(message)

    @on(CompletionList.CandidateClicked)
    def _completion_clicked(self, message: CompletionList.CandidateClicked) -> None:
        self.box.accept_completion(message.number)

    @on(TextPane.SuggestionClicked)
    def _suggestion_clicked(self, message: TextPane.SuggestionClicked) -> None:
        self.take_suggestion(message.suggestion)

    @on(WhyNotPrompt.Typed)
    def _path_typed(self, message: WhyNotPrompt.Typed) -> None:
        self.engine.find_paths(message.part)

    @on(messages.PathsFound)
    def _paths_found(self, message: messages.PathsFound) -> None:
        if isinstance(self.screen, WhyNotPrompt):
            self.screen.offer(message.part, message.paths)

    @on(WhyNotPrompt.Asked)
    def _why_not(self, message: WhyNotPrompt.Asked) -> None:
        self.engine.why_not(self.current_query.query_for(self.box.value), message.path)

    @on(messages.WhyNotReady)
    def _why_not_ready(self, message: messages.WhyNotReady) -> None:
        if not isinstance(self.screen, WhyNotPrompt):
            return
        if isinstance(message.result, Failure):
            self.screen.fail(message.path, message.result)
        else:
            self.screen.answer(message.path, message.result, message.note)


def _scope_folders(options: Options) -> tuple[str, ...] | None:
    return () if options.everywhere else options.folders or None
