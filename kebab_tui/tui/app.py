"""The screen at work: who asks whom, and who hears the answer.

Widgets post what the user does, the asker posts what the engine answers; every message has
its one handler here, every action of the registry its method in `performing`. What an
answer looks like is for `showing` to say. Holds no engine: that lives in the asker's
thread, and indexing in a process of its own. An answer to an older question is dropped; an
engine's error leaves the last hits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from textual import on
from textual.app import ComposeResult
from textual.containers import Container
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Input

from kebab_tui.domain.hit import Notice
from kebab_tui.domain.query import SEARCH_MODES, SearchMode
from kebab_tui.tui import layout
from kebab_tui.tui.actions import Actions, Facts, action_of, bind, bind_app
from kebab_tui.tui.commands import Commands
from kebab_tui.tui.current_query import MOVES, CurrentQuery, PendingActions, query_of
from kebab_tui.tui.engine_thread import EngineThread
from kebab_tui.tui.explain.panel import ExplainPanel
from kebab_tui.tui.explain.what_if import Keys
from kebab_tui.tui.hand_off import HandOff
from kebab_tui.tui.history import History, HistoryRecorder, TypingDebounce
from kebab_tui.tui.indexer import BackgroundIndexing
from kebab_tui.tui.keymap import keymap
from kebab_tui.tui.keys import KeysInOrder, shown
from kebab_tui.tui.launch import AT_LAST_S, tune_for_typing
from kebab_tui.tui.layout import Toggles, dress
from kebab_tui.tui.messages import (
    CompletionsReady,
    CorpusChanged,
    EngineReady,
    EngineWarm,
    Explained,
    HitLocated,
    HitsLocated,
    IndexingProgress,
    LiveChanged,
    MoreFound,
    PathsFound,
    Refused,
    SearchDone,
    SourcesCounted,
    SuggestionsReady,
    WhyNotReady,
)
from kebab_tui.tui.preview.pane import Preview
from kebab_tui.tui.results import ResultsPresenter
from kebab_tui.tui.screens.why_not_prompt import WhyNotPrompt
from kebab_tui.tui.widgets import empty_states
from kebab_tui.tui.widgets.empty_states import WordsPane
from kebab_tui.tui.widgets.footer import KeysLine
from kebab_tui.tui.widgets.hits_list import HitsList
from kebab_tui.tui.widgets.query_box import QueryBox, QueryLine
from kebab_tui.tui.widgets.query_text import ChipsLine
from kebab_tui.tui.widgets.status_line import StatusLine

if TYPE_CHECKING:
    from kebab_tui.domain.hit import SearchHit
    from kebab_tui.settings.settings import Settings
    from kebab_tui.tui.launch import Options
    from kebab_tui.tui.layout import Layout
    from kebab_tui.workspace import Workspace


# What the screen is made of, where each part stands, and whose a key is.
#
# Knows no engine and no message.

Pane = TypeVar("Pane", bound=Widget)


class Composition(KeysInOrder[tuple[str, ...]]):
    """One query line, three panes, a status line."""

    CSS_PATH = "app.tcss"
    TITLE = "kebab"
    ENABLE_COMMAND_PALETTE = False

    def __init__(self, actions: Actions, history: History, query: str) -> None:
        super().__init__()
        bind_app(self, actions)
        self.actions = actions
        self.history = history
        self._query_at_first = query

    # Held and not looked up: an answer may come when the last widget is already gone.
    box: QueryBox
    query_line: QueryLine
    chips: ChipsLine
    hits: HitsList
    words: WordsPane
    preview: Preview
    explain: ExplainPanel
    panes: Container
    status: StatusLine
    footer: KeysLine

    def compose(self) -> ComposeResult:
        self.box = QueryBox(self._query_at_first, actions=self.actions, history=self.history, id="box")
        self.query_line = QueryLine(self.box, id="query")
        self.chips = ChipsLine(id="chips")
        self.hits = _titled(HitsList(id="hits"), "hits")
        self.words = WordsPane(id="words")
        self.preview = _titled(Preview(id="preview"), "preview")
        self.explain = _titled(ExplainPanel(keys=self._knobs, id="explain"), "explain")
        self.panes = Container(self.hits, self.words, self.preview, self.explain, id="panes")
        self.status = StatusLine(id="status")
        self.footer = KeysLine(id="footer")
        yield from (self.query_line, self.chips, self.panes, self.status, self.footer)

    @property
    def _knobs(self) -> Keys:
        """The user's keys for the what-if strip."""
        return Keys(
            f"{self._key('rrf_k_down')} {self._key('rrf_k_up')}",
            f"{self._key('vector_weight_down')} {self._key('vector_weight_up')}",
            self._key("second_look"),
            self._key("what_if_reset"),
        )

    def _key(self, action_id: str) -> str:
        return next(map(shown, action_of(self.actions, action_id).keys("lists")), "")

    def bind_panes(self) -> None:
        """Give the panes their keys; the box has brought its own."""
        for pane in (self.hits, self.preview, self.explain):
            bind(pane, self.actions, "lists")

    def typing_box(self) -> Input | None:
        """What is typed in a list and means nothing there belongs to the query."""
        return self.box if len(self.screen_stack) == 1 else super().typing_box()

    def refresh_bindings(self) -> None:
        if self.screen_stack:  # at the end the last answer may come when there is none any more
            super().refresh_bindings()

    def place(self, chosen: Layout, has_hits: bool, starting: bool) -> None:
        """Put the panes where a layout wants them; words stand in for hits that are not there."""
        for arrangement in ("stacked", "beside", "columns", "single"):
            self.panes.set_class(has_hits and arrangement == chosen.arrangement, f"-{arrangement}")
        self.panes.set_class(len(chosen.panes) < 3, "-pair")
        starting = starting and "preview" in chosen.panes
        self.hits.display = has_hits and "hits" in chosen.panes
        self.words.display = starting or not has_hits
        self.preview.display = has_hits and "preview" in chosen.panes and not starting
        self.explain.display = has_hits and "explain" in chosen.panes
        self.set_class(chosen.frames, "-framed")
        self.set_class(not chosen.frames, "-plain")
        self.query_line.frame(chosen.frames)
        self.footer.display = chosen.footer


def _titled(pane: Pane, title: str) -> Pane:
    pane.border_title = Content(title)
    return pane


# The talk with the prompt that asks why a note is not among the hits: paths to offer, then an answer.


class WhyNotTalk(Composition):
    """Whoever shows the prompt asks through `asker`, about what stands in the box."""

    asker: EngineThread
    mode: SearchMode

    @on(WhyNotPrompt.Typed)
    def _paths_wanted(self, message: WhyNotPrompt.Typed) -> None:
        self.asker.find_paths(message.part)

    @on(PathsFound)
    def _paths_found(self, message: PathsFound) -> None:
        if isinstance(self.screen, WhyNotPrompt):
            self.screen.offer(message.part, message.paths)

    @on(WhyNotPrompt.Asked)
    def _why_not(self, message: WhyNotPrompt.Asked) -> None:
        self.asker.judge(query_of(self.box.value, self.mode), message.path)

    @on(WhyNotReady)
    def _judged(self, message: WhyNotReady) -> None:
        if not isinstance(self.screen, WhyNotPrompt):
            return
        if message.why is not None:
            self.screen.answer(message.path, message.why)
        else:
            self.screen.fail(message.path, message.error, message.hint)


class KebabApp(WhyNotTalk):
    """Asks what is typed, shows what is answered, does what is pressed."""

    def __init__(self, options: Options, settings: Settings) -> None:
        super().__init__(keymap(settings.keys), History(settings.data_dir), options.query)
        dress(self, options.theme)
        self.options = options
        self.settings = settings
        self.mode = _mode(options.mode, settings.search.mode)
        self.toggles = Toggles(explain=options.explain)
        by_meaning = self.mode != "lexical"
        self.asker = EngineThread(self.open_workspace, self.post_message, by_meaning=by_meaning)
        self.indexing = BackgroundIndexing(settings.data_dir, options.config, self.post_message)
        self.remembering = HistoryRecorder(self.history)
        self.showing = ResultsPresenter(self, self.mode)
        self.leaving = HandOff(self)
        self._performer = Commands(self)
        self.rhythm = TypingDebounce(self._preview_selected)
        self.questions = CurrentQuery(self.asker, self.showing.search)
        self._held = PendingActions()
        self._moved = False
        self._has_news = False
        self._jumps = 0
        """How often the end of the list was asked for while the next page was on its way."""

    # Coming and going

    def on_mount(self) -> None:
        self.bind_panes()
        self.query_line.mode = self.mode
        self.questions.start_clock(self)
        self.rhythm.start_clock(self)
        self.box.focus()
        self.arrange()

    def on_ready(self) -> None:
        """The first frame is on the screen: the engine's imports no longer delay it."""
        self.set_timer(AT_LAST_S, tune_for_typing)
        self.rhythm.key()  # the hits first, then the preview
        self.ask()
        self.asker.start()
        if self.options.folders:
            self.index(self.options.folders)

    def on_unmount(self) -> None:
        self.asker.close()
        self.indexing.close()

    @property
    def facts(self) -> Facts:
        """What decides which actions make sense now."""
        return Facts(
            hits=self.hits.selected is not None,
            empty_query=not self.box.value,
            filters=bool(self.showing.chips or self.showing.costs),
            explain=self.toggles.explain and self.explain.can_turn,
            first_run=self.showing.first_run,
        )

    # Keys

    async def action_act(self, action_id: str) -> None:
        """Perform an action of the registry; the next key waits for the page that it opens."""
        if self._is_held(action_id):
            return
        opening = self._performer.perform(action_id)
        if opening is not None:
            await opening

    def _is_held(self, action_id: str) -> bool:
        if action_id in MOVES and self.focused in (self.preview, self.explain):
            return False  # there they scroll
        text, response = self.box.value, self.showing.response
        is_asked = text == self.questions.text
        is_shown = is_asked and (
            not self.questions.is_waiting
            or self.questions.is_again
            or (response is not None and response.query.strip() == text.strip())
        )
        return self._held.take(action_id, text, asked=is_asked, shown=is_shown)

    def action_help_quit(self) -> None:
        """What the library does at ctrl+c, where nothing is selected that could be copied."""
        self.showing.say_how_to_quit()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action != "act" or not self.is_running:
            return True
        asked = action_of(self.actions, str(parameters[0]))
        # Asked for every action after every key: most need no facts.
        return asked.when == "always" or asked.is_available(self.facts)

    # Layout

    def arrange(self) -> None:
        """Put the panes where the size and the toggles want them."""
        chosen = layout.choose(self.size.width, self.size.height, self.toggles)
        has_hits = self.showing.has_hits
        self.place(chosen, has_hits, starting=has_hits and not self.box.value and not self._moved)
        if chosen.too_small:
            self.status.say(empty_states.TOO_SMALL)
        else:
            self.status.take_back(empty_states.TOO_SMALL)

    def on_resize(self) -> None:
        self.call_next(self.arrange)  # the library writes the new size down after this

    # Asking

    @on(Input.Changed, "#box")
    def _typed(self) -> None:
        if self.box.value == self.questions.text:
            return  # what the box began with
        self._moved = False
        self._jumps = 0
        self.rhythm.key()
        self.call_after_refresh(self._go_on)  # what was typed is painted before anything else has its turn

    def _go_on(self) -> None:
        self.remembering.left()
        self.refresh_bindings()
        self.ask()

    def ask(self, *, again: bool = False) -> None:
        """Ask the engine what stands in the box; only this question's answer will be shown."""
        self.showing.ask()
        shown = self.showing.response
        self.questions.ask(self.box.value, self.mode, explain=self.toggles.explain, again=again, shown=shown)

    @on(SearchDone)
    def _answered(self, message: SearchDone) -> None:
        if not self.questions.is_open(message.generation):
            return
        response, selected, again = message.response, self.hits.selected, self.questions.is_again
        if message.final:
            self.questions.settle(answered=True)
        else:
            self.call_after_refresh(self.asker.painted)
        stays = self._moved or (again and bool(self.box.value) and not self.showing.is_reading)
        self.showing.answer(
            response, selected.chunk_id if stays and selected else None, message.explained, again=again
        )
        if message.final:
            self.explain_selected()
        if message.final and self._has_news:
            self._has_news = False
            # Only once it is painted does a saved note stand on the screen.
            self.call_after_refresh(self.showing.follow_file)
        if message.final:
            for action_id in self._held.give(self.questions.text or ""):
                self._performer.perform(action_id)
        if response.hits:
            self.remembering.shown(response.query)
        elif message.final and response.query.strip():
            self.asker.weigh(message.generation, self.questions.query)

    @on(SuggestionsReady)
    def _weighed(self, message: SuggestionsReady) -> None:
        if self.questions.is_open(message.generation):
            self.showing.weigh(message.costs)

    @on(Explained)
    def _explained(self, message: Explained) -> None:
        if self.questions.is_open(message.generation):
            self.questions.explained()
            self.showing.explain(message.explained)

    def explain_selected(self) -> None:
        """Show the figures behind the selected hit; those of its page are asked for if need be."""
        selected = self.hits.selected
        if selected is not None and not self.showing.explain_hit(selected) and self.toggles.explain:
            self.questions.explain(selected.rank)

    @on(HitsList.NearEnd)
    def _load_more(self) -> None:
        if (shown := self.showing.response) is not None:
            self.questions.load_more(shown)

    @on(MoreFound)
    def _more_found(self, message: MoreFound) -> None:
        shown = self.showing.response
        if shown is None or not self.questions.is_open(message.generation):
            return
        self.questions.loaded()
        if message.page.corpus_revision != shown.corpus_revision:
            return  # the order may be another one: with the news as many hits are asked for again
        was_at_end = self.hits.is_at_end
        self.showing.append(message.page)
        jumps, self._jumps = self._jumps, 0
        if was_at_end and jumps:
            self._jumps = jumps - 1
            self.hits.move_to_last()

    def go_to_last(self) -> None:
        """To the last hit that is there; from there to the last one of the next page."""
        self.moved_by_hand()
        shown = self.showing.response
        if self.hits.is_at_end and shown is not None and shown.next_offset is not None:
            self._jumps += 1
        self.hits.move_to_last()

    @on(Refused)
    def _refused(self, message: Refused) -> None:
        if message.generation != -1:  # not an errand of the question
            if not self.questions.is_open(message.generation):
                return
            self.questions.settle()
            self._held.give("")
            self._jumps = 0
        self.showing.refuse(message.code, message.message, message.hint)
        if message.code in ("store_damaged", "store_lost"):
            self.index(())  # it sets aside what is damaged and reads the notes again

    @on(EngineReady)
    def _engine_ready(self, message: EngineReady) -> None:
        self.box.understand(message.workspace.parse)
        self.preview.engine = message.workspace
        self.showing.parse = message.workspace.parse

    @on(EngineWarm)
    def _engine_warm(self) -> None:
        tune_for_typing()

    @on(SourcesCounted)
    def _sources_counted(self, message: SourcesCounted) -> None:
        if not self.options.folders:
            if message.count:
                self.index(())
            else:
                self.showing.begin()

    @on(CompletionsReady)
    def _completed(self, message: CompletionsReady) -> None:
        self.box.know(message.completions)

    # The notes

    def index(self, folders: tuple[str, ...], *, paths: tuple[str, ...] = (), retry: bool = False) -> None:
        """Bring new folders, some files, or else all notes up to date, and keep them so from now on."""
        if not self.options.watch:
            self.indexing.start(folders)
        elif not self.indexing.keeper_pid:
            self.indexing.keep(folders)
        elif folders:
            self.indexing.start(folders)
        else:
            self.asker.rescan(paths, retry=retry)

    @on(CorpusChanged)
    def _changed(self) -> None:
        self._has_news = True
        if not self.questions.is_waiting:  # else the answer to come knows it already, or news follow it
            self.ask(again=True)

    @on(LiveChanged)
    def _live(self, message: LiveChanged) -> None:
        self.showing.live(message.live, self.indexing.keeper_pid)

    def on_health_page_retry(self) -> None:
        """What could not be read is tried again."""
        self.index((), retry=True)

    @on(IndexingProgress)
    def _progressed(self, message: IndexingProgress) -> None:
        self.showing.progress(message)

    # The selected hit

    @on(HitsList.Moved)
    def _moved_to(self, message: HitsList.Moved) -> None:
        if not self.rhythm.is_typing:
            self._preview(message.hit)
        self.explain_selected()

    def _preview(self, hit: SearchHit) -> None:
        self.showing.preview(hit, None)
        self.asker.locate(hit)

    def _preview_selected(self) -> None:
        if (hit := self.hits.selected) is not None:
            self._preview(hit)

    @on(HitLocated)
    def _located(self, message: HitLocated) -> None:
        self.showing.locate(message.hit, message.located)

    @on(HitsLocated)
    def _placed(self, message: HitsLocated) -> None:
        self.leaving.go_on(message)

    @on(HitsList.Chosen)
    def _chosen(self) -> None:
        self._performer.perform("open")

    @on(HitsList.Marked)
    def _marked(self, message: HitsList.Marked) -> None:
        self.showing.mark(message.count)

    @on(ExplainPanel.Changed)
    def _what_if(self, message: ExplainPanel.Changed) -> None:
        self.hits.badge_ranks(message.changes)

    @on(ChipsLine.Removed)
    def _drop_filter(self, message: ChipsLine.Removed) -> None:
        from kebab_tui.workspace import Workspace

        self.box.write(Workspace.remove_chip(self.box.value, message.chip))

    def stop_search(self) -> None:
        """Ask no more; an answer that still comes is dropped."""
        self.asker.forget()
        self.questions.drop()
        self._held.give("")
        self.showing.say(Notice("stopped", "the search was stopped"))

    def moved_by_hand(self) -> None:
        """From now on the list does not jump under the cursor."""
        if not self._moved:
            self._moved = True
            self.arrange()

    def open_workspace(self) -> Workspace:
        from kebab_tui.workspace import Workspace

        return Workspace(self.settings, self.settings.data_dir)


def _mode(asked: str, usual: str) -> SearchMode:
    return next((mode for mode in SEARCH_MODES if mode == (asked or usual)), "hybrid")
