"""The actions of the registry: one short method each, named `do_<id>`. Holds no state."""

from __future__ import annotations

from collections.abc import Awaitable
from dataclasses import replace
from typing import TYPE_CHECKING

from kebab_tui.domain.hit import Notice, SearchHit
from kebab_tui.domain.query import SEARCH_MODES
from kebab_tui.tui.actions import Section, name_of
from kebab_tui.tui.layout import Pane, swapped
from kebab_tui.tui.screens.why_not_prompt import WhyNotPrompt
from kebab_tui.tui.widgets.query_text import ChipsLine

if TYPE_CHECKING:
    from kebab_tui.tui.app import KebabApp


READ_ONLY = Notice("read_only", "the data folder is read-only: changed notes cannot be indexed")


class Commands:
    def __init__(self, app: KebabApp) -> None:
        self._app = app

    def perform(self, action_id: str) -> Awaitable[None] | None:
        """Perform an action. Awaiting the result waits until the page that it opens is ready."""
        opening: Awaitable[None] | None = getattr(self, f"do_{action_id}")()
        return opening

    # Hits

    def do_open(self) -> None:
        """Open the chosen hits; with --pick, exit with their citations instead."""
        hand_off = self._app.hand_off
        (hand_off.pick if self._app.options.pick else hand_off.open)(self._chosen())

    def do_next_hit(self) -> None:
        self._move_or_scroll(down=True)

    def do_previous_hit(self) -> None:
        self._move_or_scroll(down=False)

    def _move_or_scroll(self, *, down: bool) -> None:
        app = self._app
        if app.focused in (app.preview, app.explain, app.words):
            (app.focused.scroll_down if down else app.focused.scroll_up)(animate=False)
        else:
            app.pin_cursor()
            app.hits.move_to(app.hits.cursor + (1 if down else -1))

    def do_next_page(self) -> None:
        self._move_or_scroll_pages(1)

    def do_previous_page(self) -> None:
        self._move_or_scroll_pages(-1)

    def _move_or_scroll_pages(self, pages: int) -> None:
        app = self._app
        if (pane := app.focused) is app.preview:
            app.preview.scroll_by_pages(pages)
        elif pane in (app.explain, app.words):
            pane.scroll_relative(y=pages * max(pane.size.height - 1, 1), animate=False)
        else:
            app.pin_cursor()
            app.hits.move_by_pages(pages)

    def do_first_hit(self) -> None:
        if self._app.focused is self._app.preview:
            self._app.preview.action_scroll_home()
        elif self._app.focused is self._app.explain:
            self._app.explain.scroll_home(animate=False)
        else:
            self._app.hits.move_to(0)

    def do_last_hit(self) -> None:
        if self._app.focused is self._app.preview:
            self._app.preview.action_scroll_end()
        elif self._app.focused is self._app.explain:
            self._app.explain.scroll_end(animate=False)
        else:
            self._app.go_to_last()

    def do_mark(self) -> None:
        self._app.pin_cursor()
        self._app.hits.toggle_mark()

    def do_copy(self) -> None:
        self._app.hand_off.copy(self._chosen(), with_text=False)

    def do_copy_text(self) -> None:
        self._app.hand_off.copy(self._chosen(), with_text=True)

    def _chosen(self) -> tuple[SearchHit, ...]:
        hits = self._app.hits
        if hits.marked:
            return hits.marked
        return (hits.selected,) if hits.selected is not None else ()

    # Query

    def do_focus_query(self) -> None:
        self._app.screen.set_focus(self._app.box)  # synchronous: the next key may already be queued

    def do_mode(self) -> None:
        app = self._app
        modes = ("hybrid", *(mode for mode in SEARCH_MODES if mode != "hybrid"))
        mode = modes[(modes.index(app.current_query.mode) + 1) % len(modes)]
        app.current_query.mode = SEARCH_MODES[SEARCH_MODES.index(mode)]
        app.show_mode()
        app.ask()

    def do_drop_filter(self) -> None:
        """Remove the last filter; a wrong one first; without hits, the part that excludes most."""
        app = self._app
        if app.results.refused is not None:
            app.chips.post_message(ChipsLine.Removed(app.results.refused))
        elif app.results.suggestions:
            app.box.write(app.results.suggestions[0].text)
        else:
            app.chips.drop_last()

    def do_exact(self) -> None:
        self._app.current_query.toggle_exact()
        self._app.ask()

    def do_older_query(self) -> None:
        self._app.box.older_query()

    do_recall_query = do_older_query

    def do_newer_query(self) -> None:
        self._app.box.newer_query()

    # Preview

    def do_preview(self) -> None:
        self._toggle(preview=not self._app.toggles.preview)

    def do_scroll_down(self) -> None:
        self._app.preview.scroll_down(animate=False)

    def do_scroll_up(self) -> None:
        self._app.preview.scroll_up(animate=False)

    def do_wrap(self) -> None:
        self._app.choices = replace(self._app.choices, wrap=not self._app.choices.wrap)

    def do_scroll_left(self) -> None:
        self._app.preview.action_scroll_left()

    def do_scroll_right(self) -> None:
        self._app.preview.action_scroll_right()

    def do_half_page_down(self) -> None:
        self._app.preview.scroll_relative(y=self._app.preview.size.height // 2, animate=False)

    def do_half_page_up(self) -> None:
        self._app.preview.scroll_relative(y=-(self._app.preview.size.height // 2), animate=False)

    def do_next_match(self) -> None:
        self._app.preview.next_match()

    def do_previous_match(self) -> None:
        self._app.preview.previous_match()

    def do_render(self) -> None:
        self._app.preview.toggle_rendered()

    # Explain

    def do_explain(self) -> None:
        self._toggle(explain=not self._app.toggles.explain)
        if self._app.toggles.explain:
            self._app.explain_selected()  # for a query without a response, once it arrives

    def do_rrf_k_down(self) -> None:
        self._app.explain.step_rrf_k(up=False)

    def do_rrf_k_up(self) -> None:
        self._app.explain.step_rrf_k(up=True)

    def do_vector_weight_down(self) -> None:
        self._app.explain.step_vector_weight(up=False)

    def do_vector_weight_up(self) -> None:
        self._app.explain.step_vector_weight(up=True)

    def do_rerank(self) -> None:
        self._app.explain.toggle_rerank()

    def do_what_if_reset(self) -> None:
        self._app.explain.reset_what_if()

    def do_why_not(self) -> Awaitable[None]:
        return self._app.push_screen(WhyNotPrompt(self._app.actions, self._app.box.value))

    # Screen

    def do_layout(self) -> None:
        app = self._app
        app.toggles = replace(app.toggles, zoomed=None)
        app.choices = replace(app.choices, layout=swapped(app.size.width, app.choices.layout))

    def _toggle(self, **changes: bool) -> None:
        self._app.toggles = replace(self._app.toggles, zoomed=None, **changes)
        self._app.arrange()

    def do_zoom(self) -> None:
        app = self._app
        panes: dict[object, Pane] = {app.preview: "preview", app.explain: "explain"}
        zoomed = None if app.toggles.zoomed else panes.get(app.focused, "hits")
        app.toggles = replace(app.toggles, zoomed=zoomed)
        app.arrange()

    def do_next_pane(self) -> None:
        self._app.screen.focus_next()

    def do_previous_pane(self) -> None:
        self._app.screen.focus_previous()

    def do_rescan(self) -> None:
        self._app.index((), retry=True)
        self._app.pin_cursor()
        is_read_only = self._app.results.is_read_only
        self._app.ask(again=is_read_only)  # a repeated query does not hide the notice
        if is_read_only:
            self._app.status.show_message(READ_ONLY)

    def do_health(self) -> Awaitable[None]:
        from kebab_tui.tui.screens.file_states import FileStatesScreen  # the first paint does not need it

        app = self._app
        if isinstance(app.screen, FileStatesScreen):
            return app.screen.dismiss()
        return app.push_screen(FileStatesScreen(app.actions, app.engine, app.hand_off.edit))

    def do_sample_vault(self) -> None:
        from kebab_tui.tui.widgets.empty_states import sample_folder

        folder = sample_folder(self._app.settings.data_dir)
        if folder is None:
            self._app.status.show_error("this installation has no sample notes", "kebab-tui FOLDER")
        else:
            self._app.status.show_message(Notice("sample", "reading the sample notes"))
            self._app.index((folder,))

    def do_help(self) -> Awaitable[None]:
        from kebab_tui.tui.screens.help import HelpSheet  # the first paint does not need it

        app = self._app
        if isinstance(app.screen, HelpSheet):
            return app.screen.dismiss()
        screen = name_of(app.screen)
        sections: dict[object, Section] = {app.preview: "Preview", app.explain: "Explain", app.hits: "Hits"}
        section = sections.get(app.focused, "Query") if screen == "Main" else screen
        return app.push_screen(HelpSheet(app.actions, section))

    def do_palette(self) -> Awaitable[None]:
        from kebab_tui.tui.screens.help import palette  # the first paint does not need it

        return self._app.push_screen(palette())

    def do_back(self) -> None:
        """Take the first possible step. No step loses more than the text of the query."""
        app = self._app
        app.screen.clear_selection()  # Textual does so only without a binding
        if app.current_query.is_slow:
            app.stop_search()
        elif app.focused is not app.box:
            app.screen.set_focus(app.box)
        elif app.hits.marked:
            app.hits.clear_marks()
        elif app.box.value:
            app.box.clear()
        else:
            app.results.show_how_to_quit()

    def do_quit(self) -> None:
        self._app.exit(())
