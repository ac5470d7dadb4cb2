"""The actions of the registry: one short method each, named `do_<id>`. Holds no state."""

from __future__ import annotations

import os
from collections.abc import Awaitable
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from msgspec import structs
from textual.app import SuspendNotSupported
from textual.widgets import Input

from kebab_tui.domain.hit import Notice, SearchHit
from kebab_tui.domain.names import stem_of
from kebab_tui.domain.query import SEARCH_MODES
from kebab_tui.tui.actions import Section, first_key, name_of
from kebab_tui.tui.clipboard import copy
from kebab_tui.tui.keys import capitalized
from kebab_tui.tui.launch import ABORTED, Options, has_job_control, stop_until_foreground
from kebab_tui.tui.layout import Pane, swapped
from kebab_tui.tui.new_note import NewNote, name_query
from kebab_tui.tui.note_hits import is_whole
from kebab_tui.tui.screens.why_not_prompt import WhyNotChoice, WhyNotPrompt
from kebab_tui.tui.suggestions import first_shorter

if TYPE_CHECKING:
    from kebab_tui.tui.app import KebabApp
    from kebab_tui.tui.screens.links_page import LinkChoice, LinksPage
    from kebab_tui.tui.screens.switcher import Choice


READ_ONLY = Notice("read_only", "the data folder is read-only: changed notes cannot be indexed")

INTERRUPT_S = 2.0
"""Within this time, a second interrupt quits."""


class Commands:
    def __init__(self, app: KebabApp) -> None:
        self._app = app

    def perform(self, action_id: str) -> Awaitable[None] | None:
        """Perform an action. Awaiting the result waits until the page that it opens is ready."""
        opening: Awaitable[None] | None = getattr(self, f"do_{action_id}")()
        return opening

    # Hits

    def do_open(self) -> None:
        self._open(self._chosen())

    def _open(self, hits: tuple[SearchHit, ...]) -> None:
        """Open the hits; with --pick, exit with their citations instead."""
        hand_off = self._app.hand_off
        (hand_off.pick if self._app.options.pick else hand_off.open)(hits)

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

    def do_half_page_down(self) -> None:
        self._move_or_scroll_pages(0.5)

    def do_half_page_up(self) -> None:
        self._move_or_scroll_pages(-0.5)

    def _move_or_scroll_pages(self, pages: float) -> None:
        app = self._app
        if (pane := app.focused) is app.preview:
            app.preview.scroll_by_pages(pages)
        elif pane in (app.explain, app.words):
            pane.scroll_relative(y=round(pages * max(pane.size.height - 1, 1)), animate=False)
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

    def do_expand(self) -> None:
        """Show or fold the other passages of the selected note."""
        self._app.pin_cursor()
        self._app.hits.fold()

    def do_copy(self) -> None:
        self._copy(self._chosen())

    def _copy(self, hits: tuple[SearchHit, ...]) -> None:
        """Copy the citations; the path of a whole note."""
        if len(hits) == 1 and is_whole(hits[0]):
            self._app.hand_off.copy_path(hits[0])
        else:
            self._app.hand_off.copy(hits)

    def do_copy_text(self) -> None:
        """Open the copy menu once the passages are located."""
        self._app.hand_off.copy_as(self._chosen())

    def _chosen(self) -> tuple[SearchHit, ...]:
        """The visited note, else the marked hits, else the selected one."""
        app = self._app
        if app.visited is None and app.hits.marked:
            return app.hits.marked
        return (app.shown,) if app.shown is not None else ()

    # Notes

    def do_switcher(self) -> Awaitable[None]:
        from kebab_tui.tui.screens.switcher import Switcher  # the first paint does not need it

        app = self._app
        response = app.results.response
        is_missing = response is not None and not response.hits and not app.results.chips
        switcher = Switcher(
            app.actions,
            app.engine,
            recent=app.recent,
            selected=app.hits.selected if app.box.value.strip() else None,
            creates=not app.options.pick,
            typed=app.box.value.strip() if is_missing else "",
        )
        switcher.preview.wraps = app.preview.wraps
        return app.push_screen(switcher, self._note_chosen)

    def _note_chosen(self, choice: Choice | None) -> None:
        app = self._app
        if choice is None:
            return
        if isinstance(choice.note, NewNote):
            self._create(choice.note)
        elif choice.verb == "copy":
            app.hand_off.copy_path(choice.note)
        elif choice.verb == "search":
            app.recent.add([choice.note.doc_id])
            app.history.add(app.box.value)
            app.box.write(f"{name_query(choice.note.name)} ")
        else:
            app.hand_off.open_note(choice.note)

    def _create(self, note: NewNote) -> None:
        app = self._app
        if app.hand_off.create(note.path):
            app.new_note = app.box.value, f"{name_query(stem_of(note.path))} "
            if app.results.is_read_only:
                app.status.show_message(READ_ONLY)

    def do_links(self) -> Awaitable[None] | None:
        from kebab_tui.tui.screens.links_page import LinksPage  # the first paint does not need it

        app = self._app
        if (note := app.shown) is None:
            return None
        page = LinksPage(
            app.actions,
            app.engine,
            note,
            visit=app.visits.go,
            step=app.visits.step,
            creates=not app.options.pick,
        )
        page.preview.wraps = app.preview.wraps
        page.preview.engine = app.preview.engine
        return app.push_screen(page, partial(self._link_chosen, page))

    def _link_chosen(self, page: LinksPage, choice: LinkChoice | None) -> None:
        app = self._app
        if app.shown is not None and page.note.chunk_id != app.shown.chunk_id:
            app.show_visited(page.note)
        if choice is None:
            return
        if isinstance(choice.what, NewNote):
            self._create(choice.what)
        elif isinstance(choice.what, str):
            app.hand_off.copy_line(choice.what)
        elif choice.verb == "copy":
            self._copy((choice.what,))
        else:
            self._open((choice.what,))

    def do_follow(self) -> None:
        """Show the note of the first link in the cited lines, when the engine has found it."""
        if self._app.shown is not None:
            self._app.engine.follow(self._app.shown)

    def do_visit_back(self) -> None:
        self._step(-1, "no note before this one")

    def do_visit_forward(self) -> None:
        self._step(1, "no note after this one")

    def _step(self, by: int, otherwise: str) -> None:
        app = self._app
        place = None if app.shown is None else app.visits.step(by, app.shown)
        if place is None:
            app.tell(Notice("visits", otherwise))
        else:
            app.show_visited(place)

    # Query

    def do_focus_query(self) -> None:
        self._app.screen.set_focus(self._app.box)  # synchronous: the next key may already be queued
        self._app.is_normal = False

    def do_mode(self) -> None:
        app = self._app
        modes = ("hybrid", *(mode for mode in SEARCH_MODES if mode != "hybrid"))
        mode = modes[(modes.index(app.current_query.mode) + 1) % len(modes)]
        app.current_query.mode = SEARCH_MODES[SEARCH_MODES.index(mode)]
        app.show_mode()
        app.ask()

    def do_drop_filter(self) -> None:
        """Remove the last filter; without hits or with an error, the part because of which."""
        app = self._app
        if app.suggests and (shorter := first_shorter(app.words.suggestions)) is not None:
            app.box.write(shorter.text)
        else:
            app.chips.drop_last()

    def do_scope(self) -> None:
        """Search everywhere; or again in the folder from before, else in that of the selected hit."""
        app = self._app
        if app.scope.folders:
            app.search_in(())
        elif app.last_scope:
            app.search_in(app.last_scope)
        elif app.shown is not None:
            app.search_in((app.shown.root,))

    def do_exact(self) -> None:
        self._app.current_query.toggle_exact()
        self._app.ask()

    def do_older_query(self) -> None:
        self._app.box.older_query()

    do_recall_query = do_older_query

    def do_complete(self) -> None:
        """Accept a completion; without the list, a suggestion of the page in place of the hits."""
        app = self._app
        if app.completion_list.is_open:
            app.box.accept_completion()
        else:
            app.take_suggestion(app.words.suggestions[app.words.chosen or 0])

    do_take_completion = do_complete

    def do_next_completion(self) -> None:
        self._choose(1)

    def do_previous_completion(self) -> None:
        self._choose(-1)

    def _choose(self, by: int) -> None:
        (self._app.completion_list if self._app.completion_list.is_open else self._app.words).move(by)

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
        self._app.explain.step_meaning(up=False)

    def do_vector_weight_up(self) -> None:
        self._app.explain.step_meaning(up=True)

    def do_rerank(self) -> None:
        self._app.explain.toggle_rerank()

    def do_what_if_reset(self) -> None:
        self._app.explain.reset_what_if()

    def do_why_not(self) -> Awaitable[None]:
        return self._app.push_screen(
            WhyNotPrompt(self._app.actions, self._app.box.value), self._why_not_chosen
        )

    def _why_not_chosen(self, choice: WhyNotChoice | None) -> None:
        if choice is not None:
            (self._app.go_to_hit if choice.in_list else self._app.show_visited)(choice.hit)

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
        return app.push_screen(FileStatesScreen(app.actions, app.engine, app.hand_off.open_file))

    def do_add_folder(self) -> Awaitable[None]:
        """Ask for a folder, to search it."""
        return self.ask_folder()

    def ask_folder(self, typed: str = "") -> Awaitable[None]:
        from kebab_tui.tui.screens.folder_prompt import FolderPrompt  # the first paint does not need it
        from kebab_tui.workspace import Workspace

        app, endings = self._app, Workspace.note_extensions()
        prompt = FolderPrompt(
            app.actions,
            "search a folder of notes",
            lambda name: name.lower().endswith(endings),
            typed=typed,
            samples=app.results.first_run,
        )
        return app.push_screen(prompt, self._folder_chosen)

    def _folder_chosen(self, path: str | None) -> None:
        from kebab_tui.tui.screens.folder_prompt import SAMPLE

        if path == SAMPLE:
            self.do_sample_vault()
        elif path is not None:
            self._app.open_folder(path)

    def do_sample_vault(self) -> None:
        """Show the sample notes, with an index of their own; from there, go back."""
        from kebab_tui.tui.samples import sample_data, sample_folder

        app = self._app
        if app.options.own is not None:
            app.leave_for(*app.options.own)
            return
        data = sample_data(app.settings.data_dir)
        folder = sample_folder(data)
        if folder is None:
            app.status.show_error("this installation has no sample notes", "kebab-tui FOLDER")
            return
        # An empty configuration: the folders that the user's declares stay out.
        options = Options(
            (folder,), config=os.devnull, theme=app.options.theme, watch=app.options.watch,
            own=(app.options, app.settings),
        )  # fmt: skip
        index = structs.replace(app.settings.index, url="")
        app.leave_for(options, structs.replace(app.settings, data_dir=data, index=index, sources=()))

    def do_help(self) -> Awaitable[None]:
        from kebab_tui.tui.screens.help import HelpSheet  # the first paint does not need it

        app = self._app
        if isinstance(app.screen, HelpSheet):
            return app.screen.dismiss()
        screen = name_of(app.screen)
        sections: dict[object, Section] = {app.preview: "Preview", app.explain: "Explain", app.hits: "Hits"}
        section = sections.get(app.focused, "Query") if screen == "Main" else screen
        return app.push_screen(HelpSheet(app.actions, section))

    def do_palette(self) -> Awaitable[None] | None:
        from kebab_tui.tui.screens.palette import (  # the first paint does not need it
            Palette,
            commands,
            themes,
        )

        app = self._app
        if isinstance(app.screen, Palette):
            app.screen.action_close()
            return None
        known = (*commands(app.actions, app.facts, name_of(app.screen)), *themes(app.theme))
        return app.push_screen(Palette(app.actions, known, app.recent_commands, self._keep_theme))

    def _keep_theme(self, theme: str) -> None:
        self._app.choices = replace(self._app.choices, theme=theme)

    def do_back(self) -> None:
        """Take the first possible step. No step loses more than the text of the query."""
        app = self._app
        app.screen.clear_selection()  # Textual does so only without a binding
        if app.completion_list.is_open:
            app.box.close_completions()
        elif app.current_query.is_slow:
            app.stop_search()
        elif app.visited is not None:
            app.end_visit()
        elif app.has_vim_keys and not app.is_normal:
            app.is_normal = True
        elif app.focused is not app.box:
            app.screen.set_focus(app.box)
        elif app.hits.marked:
            app.hits.clear_marks()
        elif app.box.value:
            app.box.clear()
        elif app.options.pick:
            app.exit((), ABORTED)
        else:
            app.tell(Notice("quit", f"Press {self._key('quit')} to quit"))

    def do_interrupt(self) -> None:
        """Copy the selected text; else leave --pick; else quit when pressed twice."""
        app = self._app
        focused = app.focused
        selected = focused.selected_text if isinstance(focused, Input) else ""
        if selected := selected or app.screen.get_selected_text() or "":
            app.tell(Notice("copied", copy(selected, app.copy_to_clipboard, os.environ)))
        elif app.options.pick:
            app.exit((), ABORTED)
        elif app.clock() < app.interrupt_until:
            app.exit(())
        else:
            app.interrupt_until = app.clock() + INTERRUPT_S
            app.tell(Notice("interrupt", f"Press {self._key('interrupt')} again to quit"), INTERRUPT_S)

    def do_suspend(self) -> None:
        """Give the terminal to the shell until it brings the program back."""
        app, reason = self._app, "this terminal has no job control"
        if app.options.pick:
            reason = "--pick cannot be suspended"
        elif has_job_control():
            with suppress(SuspendNotSupported), app.suspend():
                if stop_until_foreground():
                    return
        app.tell(Notice("suspend", f"{self._key('suspend')} is off: {reason}"))

    def do_quit(self) -> None:
        self._app.exit(())

    def _key(self, action_id: str) -> str:
        """The key of an action at the beginning or in the middle of a sentence."""
        return capitalized(first_key(self._app.actions, action_id))
