"""The screen: composes the parts, and is the one that knows them all.

Widgets post what the user does, the asker posts what the engine answers; every piece of
state has its one handler here, every action of the registry its method in `performing`.
Holds no engine: that lives in the asker's thread, and indexing in a process of its own.
An answer to an older question is dropped; an engine's error leaves the last hits.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from textual import events, on
from textual.app import App, ComposeResult
from textual.containers import Container
from textual.widgets import Footer, Input, Static

from kebab_tui.domain.hit import Notice
from kebab_tui.domain.query import SEARCH_MODES, SearchMode, SearchQuery
from kebab_tui.tui import layout, states
from kebab_tui.tui.actions import Actions, Facts, action_of
from kebab_tui.tui.asking import Asker
from kebab_tui.tui.background import BackgroundIndexing
from kebab_tui.tui.bindings import bind, bind_app
from kebab_tui.tui.chips import ChipsLine
from kebab_tui.tui.explain_panel import ExplainPanel
from kebab_tui.tui.history import History
from kebab_tui.tui.hits_list import HitsList
from kebab_tui.tui.keymap import keymap
from kebab_tui.tui.layout import Toggles
from kebab_tui.tui.messages import (
    Answered,
    Completed,
    CorpusChanged,
    EngineReady,
    Explained,
    HitLocated,
    IndexingProgress,
    Judged,
    PathsFound,
    Refused,
)
from kebab_tui.tui.performing import Performer
from kebab_tui.tui.preview import Preview
from kebab_tui.tui.query_box import QueryBox, QueryLine
from kebab_tui.tui.status_line import Status, StatusLine
from kebab_tui.tui.text import clean
from kebab_tui.tui.why_not_prompt import WhyNotPrompt

if TYPE_CHECKING:
    from kebab_tui.domain.hit import SearchHit, SearchResponse
    from kebab_tui.domain.identity import ChunkId
    from kebab_tui.domain.located import Located
    from kebab_tui.settings.model import Settings
    from kebab_tui.tui.launch import Options
    from kebab_tui.workspace import Chip, ExplainedResponse, ParsedQuery, Workspace

_PAGE = 50


class KebabApp(App[tuple[str, ...]]):
    """One query line, three panes, a status line."""

    CSS_PATH = "app.tcss"
    TITLE = "kebab"
    ENABLE_COMMAND_PALETTE = False

    def __init__(self, options: Options, settings: Settings) -> None:
        super().__init__()
        self.options = options
        self.settings = settings
        self.actions: Actions = keymap(settings.keys)
        bind_app(self, self.actions)
        self.mode: SearchMode = _mode(options.mode, settings.search.mode)
        self.toggles = Toggles(explain=options.explain)
        self.asker = Asker(self._open_workspace, self.post_message)
        self.indexing = BackgroundIndexing(settings.data_dir, options.config, self.post_message)
        self._performer = Performer(self)
        self._generation = 0
        self._response: SearchResponse | None = None
        self._explained: ExplainedResponse | None = None
        self._chips: tuple[Chip, ...] = ()
        self._parse: Callable[[str], ParsedQuery] | None = None
        self._places: dict[ChunkId, Located] = {}
        self._first_run = False
        self._moved = False
        self._status = Status(mode=self.mode)

    # Composition

    def compose(self) -> ComposeResult:
        history = History(self.settings.data_dir)
        box = QueryBox(self.options.query, actions=self.actions, history=history, id="box")
        yield QueryLine(box, id="query")
        yield ChipsLine(id="chips")
        with Container(id="panes"):
            yield HitsList(id="hits")
            yield Static(id="words")
            yield Preview(id="preview")
            yield ExplainPanel(id="explain")
        yield StatusLine(id="status")
        yield Footer(id="footer", compact=True, show_command_palette=False)

    def on_mount(self) -> None:
        if self.options.theme:
            self.theme = self.options.theme
        for pane in (self.hits, self.preview, self.explain):
            bind(pane, self.actions, "lists")
        self.query_line.mode = self.mode
        self.box.focus()
        self.arrange()
        # The engine's imports would delay the first paint: they start once it is on the screen.
        self.call_after_refresh(self._start)

    def _start(self) -> None:
        self.asker.start()
        if self.options.folders:
            self.indexing.start(self.options.folders)

    def on_unmount(self) -> None:
        self.asker.close()
        self.indexing.close()

    @property
    def box(self) -> QueryBox:
        return self.query_one("#box", QueryBox)

    @property
    def query_line(self) -> QueryLine:
        return self.query_one("#query", QueryLine)

    @property
    def hits(self) -> HitsList:
        return self.query_one("#hits", HitsList)

    @property
    def preview(self) -> Preview:
        return self.query_one("#preview", Preview)

    @property
    def explain(self) -> ExplainPanel:
        return self.query_one("#explain", ExplainPanel)

    @property
    def status(self) -> StatusLine:
        return self.query_one("#status", StatusLine)

    @property
    def facts(self) -> Facts:
        """What decides which actions make sense now."""
        return Facts(
            hits=self.hits.selected is not None,
            empty_query=not self.box.value,
            filters=bool(self._chips),
            explain=self.toggles.explain and self.explain.can_turn,
            first_run=self._first_run,
        )

    # Keys

    def action_act(self, action_id: str) -> None:
        """Perform an action of the registry."""
        self._performer.perform(action_id)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action != "act" or not self.is_running:
            return True
        return action_of(self.actions, str(parameters[0])).is_available(self.facts)

    def on_key(self, event: events.Key) -> None:
        """What is typed in a list and means nothing there belongs to the query."""
        if event.is_printable and event.character and not isinstance(self.focused, Input):
            event.stop()
            self.box.take(event.character)

    # Layout

    def arrange(self) -> None:
        """Put the panes where the size and the toggles want them."""
        chosen = layout.choose(self.size.width, self.size.height, self.toggles)
        panes = self.query_one("#panes")
        for arrangement in ("stacked", "beside", "columns", "single"):
            panes.set_class(arrangement == chosen.arrangement, f"-{arrangement}")
        empty = not (self._response and self._response.hits)
        self.hits.display = "hits" in chosen.panes and not empty
        self.query_one("#words").display = empty
        self.preview.display = "preview" in chosen.panes and not empty
        self.explain.display = "explain" in chosen.panes and not empty
        self.set_class(chosen.frames, "-framed")
        self.query_line.frame(chosen.frames)
        self.query_one("#footer").display = chosen.footer
        if chosen.too_small:
            self.status.say(Notice("too_small", states.too_small()))

    def on_resize(self) -> None:
        self.arrange()

    # Asking

    @on(Input.Changed, "#box")
    def _typed(self) -> None:
        self._moved = False
        self.refresh_bindings()
        self.ask()

    def ask(self) -> None:
        """Ask the engine what stands in the box; only this question's answer will be shown."""
        self._generation += 1
        text = self.box.value
        query = None
        if text.strip():
            query = SearchQuery(text, self.mode, k=_PAGE, typing=not text.endswith(" "))
        self.asker.ask(self._generation, query, explain=self.toggles.explain)

    @on(Answered)
    def _answered(self, message: Answered) -> None:
        if message.generation != self._generation:
            return
        selected = self.hits.selected
        keep: ChunkId | None = selected.chunk_id if self._moved and selected else None
        self._response = message.response
        self._first_run = False
        self.status.hush()
        self.hits.show(message.response, keep)
        self._say_words(message.response)
        self.arrange()
        self._show_status(message.response)
        if not message.response.hits:
            self.preview.clear()
            self.explain.clear("No hit is selected.")
        self.refresh_bindings()

    @on(Explained)
    def _explained_now(self, message: Explained) -> None:
        if message.generation == self._generation:
            self._explained = message.explained
            self._show_explanation(self.hits.selected)

    @on(Refused)
    def _refused(self, message: Refused) -> None:
        if message.generation not in (-1, self._generation):
            return
        if message.code == "not_indexed":
            self._show_first_run()
        else:
            self.status.fail(message.message, message.hint)

    @on(EngineReady)
    def _engine_ready(self, message: EngineReady) -> None:
        self.box.understand(message.workspace.parse)
        self.preview.engine = message.workspace
        self._parse = message.workspace.parse
        self.ask()
        if message.sources and not self.options.folders:
            self.indexing.start(())
        elif not message.sources and not self.options.folders:
            self._show_first_run()

    @on(Completed)
    def _completed(self, message: Completed) -> None:
        self.box.know(message.completions)

    @on(WhyNotPrompt.Typed)
    def _paths_wanted(self, message: WhyNotPrompt.Typed) -> None:
        self.asker.find_paths(message.part)

    @on(PathsFound)
    def _paths_found(self, message: PathsFound) -> None:
        if isinstance(self.screen, WhyNotPrompt):
            self.screen.offer(message.part, message.paths)

    @on(WhyNotPrompt.Asked)
    def _why_not(self, message: WhyNotPrompt.Asked) -> None:
        self.asker.judge(SearchQuery(self.box.value, self.mode, k=_PAGE), message.path)

    @on(Judged)
    def _judged(self, message: Judged) -> None:
        if not isinstance(self.screen, WhyNotPrompt):
            return
        if message.why is not None:
            self.screen.answer(message.path, message.why)
        else:
            self.screen.fail(message.path, message.error, message.hint)

    @on(CorpusChanged)
    def _changed(self) -> None:
        self._moved = True
        self.ask()

    @on(IndexingProgress)
    def _progressed(self, message: IndexingProgress) -> None:
        self._status = replace(self._status, progress=message.text)
        self.status.show(self._status)

    # The selected hit

    @on(HitsList.Moved)
    def _moved_to(self, message: HitsList.Moved) -> None:
        query = self._response.query if self._response else ""
        self.preview.show(message.hit, None, query)
        self.asker.locate(message.hit)
        self._show_explanation(message.hit)

    @on(HitLocated)
    def _located(self, message: HitLocated) -> None:
        self._places[message.hit.chunk_id] = message.located
        self.hits.badge_located(message.hit, message.located)
        selected = self.hits.selected
        if selected is not None and selected.chunk_id == message.hit.chunk_id:
            self.preview.show(selected, message.located, self._response.query if self._response else "")

    @on(HitsList.Chosen)
    def _chosen(self) -> None:
        self._performer.perform("open")

    @on(HitsList.Marked)
    def _marked(self, message: HitsList.Marked) -> None:
        self._status = replace(self._status, marked=message.count)
        self.status.show(self._status)

    @on(ExplainPanel.Changed)
    def _what_if(self, message: ExplainPanel.Changed) -> None:
        self.hits.badge_ranks(message.changes)

    @on(ChipsLine.Removed)
    def _drop_filter(self, message: ChipsLine.Removed) -> None:
        from kebab_tui.workspace import Workspace

        self.box.write(Workspace.remove_chip(self.box.value, message.chip))

    def place_of(self, hit: SearchHit) -> Located | None:
        """Where the passage was last seen in its file."""
        return self._places.get(hit.chunk_id)

    def moved_by_hand(self) -> None:
        """From now on the list does not jump under the cursor."""
        self._moved = True

    # Saying

    def _show_explanation(self, hit: SearchHit | None) -> None:
        if self._explained is None or hit is None:
            return
        found = next((one for one in self._explained.hits if one.hit.chunk_id == hit.chunk_id), None)
        self.explain.show(found, self._explained)

    def _say_words(self, response: SearchResponse) -> None:
        """What stands in the place of the hits when there are none."""
        drop = action_of(self.actions, "drop_filter").keys("query")[0]
        self._chips = self._parse(self.box.value).chips if self._parse is not None else ()
        self.query_one("#chips", ChipsLine).show(self._chips)
        if response.hits:
            return
        filters = [chip.label for chip in self._chips]
        lines = (
            states.nothing_found(response.query, filters, drop) if response.query else states.nothing_typed()
        )
        self._write(lines)

    def _show_first_run(self) -> None:
        self._first_run = True
        self._response = None
        running = bool(self.options.folders)
        key = action_of(self.actions, "sample_vault").keys("query")[0]
        self._write(states.indexing() if running else states.first_run(key))
        self.arrange()
        self.refresh_bindings()

    def _write(self, lines: tuple[str, ...]) -> None:
        from textual.content import Content

        self.query_one("#words", Static).update(Content("\n".join(map(clean, lines))))

    def _show_status(self, response: SearchResponse) -> None:
        asked = bool(response.query.strip())
        self._status = replace(
            self._status,
            hits=len(response.hits) if asked else None,
            total=response.total_matches,
            milliseconds=sum(stage.milliseconds for stage in response.stages) if asked else None,
            mode=response.mode if asked else self.mode,
            raw=response.raw,
            complete=response.complete,
            notices=response.notices,
        )
        self.status.show(self._status)

    def _open_workspace(self) -> Workspace:
        from kebab_tui.workspace import Workspace

        return Workspace(self.settings, self.settings.data_dir)


def _mode(asked: str, usual: str) -> SearchMode:
    return next((mode for mode in SEARCH_MODES if mode == (asked or usual)), "hybrid")
