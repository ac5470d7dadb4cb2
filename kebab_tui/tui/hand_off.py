"""Opens, copies and picks the chosen hits.

First the engine thread locates the passages in their files as they are now; then the
action goes on. A later action replaces a waiting one. A passage that moved, changed or
is gone is reported. Lines are opened in the editor, pages in the viewer; where no window can
be shown, the citation of a page is copied instead. A pick is printed whole or not at all: if
a note is gone, a page is picked as a line, or a path would be misread by the consumer of the
output, the screen stays open with an error.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from textual.app import App, SuspendNotSupported

from kebab_tui.domain.citation import Located, LocatedState, TextPosition
from kebab_tui.domain.errors import KebabError
from kebab_tui.domain.hit import Notice, SearchHit, ambiguous_paths
from kebab_tui.domain.text import sanitize
from kebab_tui.editor import (
    FilePlace,
    Launch,
    NoWindowError,
    OpenResult,
    choose,
    choose_viewer,
    line_hint,
    no_window,
    open_note,
)
from kebab_tui.tui.actions import Actions, first_key
from kebab_tui.tui.clipboard import copy
from kebab_tui.tui.copy_formats import citation_text, copy_forms
from kebab_tui.tui.launch import Options, PickedAs
from kebab_tui.tui.messages import HitsLocated, LocatedHit
from kebab_tui.tui.note_hits import path_of
from kebab_tui.tui.preview.painting import moved_words
from kebab_tui.tui.recent_notes import RecentNotes
from kebab_tui.tui.widgets.segments import DOT, sanitize_line

if TYPE_CHECKING:
    from kebab_tui.settings.settings import EditorSettings, ViewerSettings
    from kebab_tui.tui.engine_thread import EngineThread
    from kebab_tui.tui.widgets.hits_list import HitsList
    from kebab_tui.tui.widgets.status_line import StatusLine

LocatedHits = Sequence[LocatedHit]
Result = TypeVar("Result")

_SHELL_SPECIAL = re.compile(r"""[\s*?\[\]{}$`"'\\;&|<>()!#~]""")
"""Characters that a shell, or `xargs` without -0, splits at, expands or runs."""
_CHARACTER_NAMES = {" ": "a blank", "\n": "a line break", "\t": "a tab"}
_TERMINAL = "/dev/tty"


class HandOff:
    def __init__(
        self,
        app: App[tuple[str, ...]],
        engine: EngineThread,
        hits: HitsList,
        status: StatusLine,
        *,
        actions: Actions,
        editor: EditorSettings,
        viewer: ViewerSettings,
        options: Options,
        is_shared: bool,
        query: Callable[[], str],
        opened: Callable[[tuple[str, ...]], None],
        recent: RecentNotes,
    ) -> None:
        """`app` is suspended, left, and owns the clipboard.

        `query` tells what the hits were found by; `opened` hears after each opening which files were edited.
        """
        self._app = app
        self._engine = engine
        self._hits = hits
        self._status = status
        self._actions = actions
        self._editor = editor
        self._viewer = viewer
        self._options = options
        self._is_shared = is_shared
        self._query = query
        self._opened = opened
        self._recent = recent
        self._number = 0
        self._then: Callable[[LocatedHits], None] | None = None
        self._context = ""

    def open(self, hits: Sequence[SearchHit]) -> None:
        """Open the citations: all lines in one editor, each page in a viewer."""
        self._locate(hits, self._open)

    def pick(self, hits: Sequence[SearchHit]) -> None:
        """Exit and print the citations."""
        self._locate(hits, self._pick)

    def open_note(self, hit: SearchHit) -> None:
        """Open or pick a whole note."""
        self._status.clear_message()
        state: LocatedState = "same" if os.path.isfile(path_of(hit)) else "gone"
        place = LocatedHit(hit, Located(hit.citation.span, state))
        (self._pick if self._options.pick else self._open)([place])

    def create(self, path: str) -> bool:
        """Open the editor on a file that does not exist; returns whether the user saved it."""
        self._status.clear_message()
        launch = None
        try:
            launch = self._run_editor([FilePlace(path)], is_new=True)
        except KebabError as error:
            self._status.show_error(error.message, error.hint)
        is_saved = os.path.isfile(path)
        if launch is not None:
            text = "will be indexed once it is saved" if launch.kind == "gui" else "was not saved"
            self._status.show_message(
                Notice("new_note", f"{os.path.basename(path)} {'created' if is_saved else text}")
            )
        if is_saved:
            self._opened((path,))
        return is_saved

    def copy_path(self, hit: SearchHit) -> None:
        """Copy the path of a whole note."""
        self.copy_line(hit.path)

    def copy_line(self, text: str) -> None:
        """Copy a path or an address."""
        message = copy(sanitize_line(text), self._app.copy_to_clipboard, os.environ)
        self._status.show_message(Notice("copied", message))

    def copy(self, hits: Sequence[SearchHit]) -> None:
        """Copy the citations."""
        self._locate(hits, self._copy)

    def copy_as(self, hits: Sequence[SearchHit]) -> None:
        """Open the copy menu."""
        self._locate(hits, self._copy_as, context=True)

    def _locate(
        self, hits: Sequence[SearchHit], then: Callable[[LocatedHits], None], *, context: bool = False
    ) -> None:
        if hits:
            self._status.clear_message()  # earlier errors do not concern this action
            self._number += 1
            self._then = then
            self._engine.locate_all(self._number, hits, self._query(), context=context)

    def resume(self, message: HitsLocated) -> None:
        """Go on with the waiting action: the passages are located."""
        if message.number == self._number and self._then is not None:
            then, self._then = self._then, None
            self._context = message.context
            then(message.hits)

    def _open(self, places: LocatedHits) -> None:
        self._report_missing(places)
        present = _present(places)
        remarks, edited, unseen = [remark(present)], list[str](), list[LocatedHit]()
        notes = _one_per_note(present)
        lines = [place for place in notes if _page_of(place) is None]
        for place in notes:
            if (page := _page_of(place)) is None:
                continue
            try:
                remarks.append(self._view(_opened(place), page))
            except NoWindowError:
                unseen.append(place)
            except KebabError as error:
                self._status.show_error(error.message, error.hint)
        if lines:
            try:
                files = [FilePlace(_opened(place), *position_of(place)) for place in lines]
                launch = self._run_editor(files, read_only=all(place.copy for place in lines))
                remarks.append(line_hint(launch))
                remarks += [
                    f"{place.hit.version} is read-only: this was a copy" for place in lines if place.copy
                ]
                edited = [path_of(place.hit) for place in lines if not place.copy]
            except KebabError as error:
                self._status.show_error(error.message, error.hint)
        if unseen:  # all their citations at once: a second copy would replace the first one
            remarks += [f"no viewer {no_window(os.environ)}", self._copied(unseen), "[viewer] pdf sets it"]
        if any(remarks):
            self._status.show_message(Notice("opened", f" {DOT} ".join(dict.fromkeys(filter(None, remarks)))))
        if len(remarks) > 1:
            self._recent.add(place.hit.doc_id for place in present if not place.hit.version)
            self._opened(tuple(edited))

    def open_file(self, path: str) -> str:
        """Open a file at its top; returns a message for the user, raises if the program fails."""
        from kebab_tui.workspace import Workspace  # not loaded before the first paint

        return (
            self._view(path, 1)
            if Workspace.has_pages(path)
            else line_hint(self._run_editor([FilePlace(path)]))
        )

    def _view(self, path: str, page: int) -> str:
        """Open a page in the viewer, which has a window of its own; returns a message for the user."""
        launch = choose_viewer(self._viewer, "pdf", os.environ, shutil.which).at(path, page)
        outcome = open_in_editor(self._app, launch, path)
        if not outcome.ok:
            raise KebabError(outcome.message)
        return line_hint(launch) or f"page {page:,} opened in {launch.program}"

    def _run_editor(
        self, files: Sequence[FilePlace], *, is_new: bool = False, read_only: bool = False
    ) -> Launch:
        """Open the files in one editor."""
        launch = choose(self._editor, os.environ, shutil.which).at_all(files, read_only=read_only)
        outcome = open_in_editor(self._app, launch, files[0].path, is_new=is_new)
        self._app.refresh(layout=True)
        if not outcome.ok:
            raise KebabError(outcome.message)
        return launch

    def _pick(self, places: LocatedHits) -> None:
        self._report_missing(places)
        options = self._options
        if len(_present(places)) < len(places):
            return
        if options.pick_as != "citation" and (
            paged := [place.hit.path for place in places if _page_of(place) is not None]
        ):
            self._status.show_error(f"{paged[0]} has pages, no lines", "--pick-as citation picks a page")
            return
        for place in () if options.print0 else places:
            if character := misread(_picked(place, options.pick_as), options.pick_as):
                where = place.hit.path if misread(place.hit.path, options.pick_as) else place.hit.root
                self._status.show_error(f"a path with {character} needs --pick -0: {where}")
                return
        self._recent.add(place.hit.doc_id for place in places if not place.hit.version)
        self._app.exit(tuple(picked(places, options.pick_as)))

    def _copy(self, places: LocatedHits) -> None:
        self._show_copied(places, self._copied(places))

    def _copy_as(self, places: LocatedHits) -> None:
        from kebab_tui.tui.screens.copy_menu import CopyMenu  # the first paint does not need it

        def copy_form(text: str | None) -> None:
            if text is not None:
                self._show_copied(places, copy(text, self._app.copy_to_clipboard, os.environ))

        forms = copy_forms(self._unambiguous(places), self._context)
        self._app.push_screen(CopyMenu(self._actions, forms, len(places)), copy_form)

    def _show_copied(self, places: LocatedHits, message: str) -> None:
        self._status.show_message(Notice("copied", f" {DOT} ".join(filter(None, (remark(places), message)))))

    def _copied(self, places: LocatedHits) -> str:
        """Copy the citations; returns a message for the user."""
        text = "\n".join(map(citation_text, self._unambiguous(places)))
        return copy(text, self._app.copy_to_clipboard, os.environ)

    def _unambiguous(self, places: LocatedHits) -> LocatedHits:
        """The hits, with absolute paths where another folder has a note with the same path."""
        ambiguous = self._hits.twins | ambiguous_paths([place.hit for place in places])
        cited = []
        for place in places:
            if place.hit.path in ambiguous and not place.hit.version:
                path = path_of(place.hit)
                citation = replace(place.hit.citation, path=path)
                cited.append(replace(place, hit=replace(place.hit, path=path, citation=citation)))
            else:
                cited.append(place)
        return cited

    def _report_missing(self, places: LocatedHits) -> None:
        fail = self._status.show_error
        for place in places:
            hit = place.hit
            if place.located is None:
                fail(f"{hit.path}: {place.failure.message if place.failure else ''}")
            elif place.located.state == "gone":
                if self._is_shared:
                    fail(
                        f"the file is not on this machine: {hit.path}",
                        "map its folder with [[index.roots]] in the configuration",
                    )
                elif os.path.isdir(hit.root):
                    key = first_key(self._actions, "rescan")
                    fail(
                        f"the file is gone: {hit.path}",
                        f"press {key} to look for changed notes" if key else "",
                    )
                else:
                    fail(f"the folder is not available: {hit.root}", "its notes stay in the index")
        present = _present(places)
        if len(present) < len(places):
            self._hits.unmark([place.hit for place in places if place not in present])


def remark(places: LocatedHits) -> str:
    """What happened to the passages since they were indexed; empty if nothing did."""
    located = [place.located for place in places if place.located is not None]
    if len(places) == 1 and located:
        match located[0].state:
            case "moved":
                span = located[0].span
                now = span.lines if span.page is None else f"page {span.page:,}"
                return f"{moved_words(located[0])} since it was indexed: now {now}"
            case "changed":
                return "changed since it was indexed: this is the most similar text"
            case "gone":
                return "the file is gone"
    states = [one.state for one in located]
    return ", ".join(f"{states.count(it)} {it}" for it in ("moved", "changed", "gone") if it in states)


def _page_of(place: LocatedHit) -> int | None:
    return (place.located or place.hit.citation).span.page


def position_of(place: LocatedHit) -> TextPosition:
    """Where an editor begins: at the best match in the passage."""
    return place.position or TextPosition((place.located or place.hit.citation).span.first)


def picked(places: LocatedHits, picked_as: PickedAs) -> Iterator[str]:
    """Citations with absolute paths, for an editor, a reader or a script; only a reader takes pages."""
    if picked_as == "editor":
        # One argument per line. Editors take a line number for their first file only.
        for number, place in enumerate(_one_per_note(places)):
            if not number:
                yield f"+{position_of(place).line}"
            yield _opened(place)
        return
    for place in places:
        if picked_as == "citation":
            span = (place.located or place.hit.citation).span
            path = place.hit.citation.path if place.hit.version else path_of(place.hit)
            yield str(replace(place.hit.citation, path=path, span=span))
        else:
            yield f"{_opened(place)}:{position_of(place).line}"


def _opened(place: LocatedHit) -> str:
    """The path of what is opened."""
    return place.copy or path_of(place.hit)


def _picked(place: LocatedHit, picked_as: PickedAs) -> str:
    """The path that is printed."""
    return path_of(place.hit) if picked_as == "citation" else _opened(place)


def misread(path: str, picked_as: PickedAs) -> str:
    """The first character that prevents printing the path on a line; empty if there is none.

    Bytes that are not text are printed. A line for an editor must also survive word
    splitting and expansion by a shell.
    """
    text = os.fsencode(path).decode("utf-8", "replace")
    for character, shown in zip(text, sanitize_line(text), strict=True):
        if character != shown or (picked_as == "editor" and _SHELL_SPECIAL.match(character)):
            code = character if character.isprintable() else f"U+{ord(character):04X}"
            return _CHARACTER_NAMES.get(character, code)
    return ""


def _one_per_note(places: LocatedHits) -> list[LocatedHit]:
    """The first passage of each note."""
    firsts: dict[str, LocatedHit] = {}
    for place in places:
        firsts.setdefault(path_of(place.hit), place)
    return list(firsts.values())


def _present(places: LocatedHits) -> list[LocatedHit]:
    return [place for place in places if place.located is not None and place.located.state != "gone"]


def open_in_editor(app: App[Result], launch: Launch, path: str, *, is_new: bool = False) -> OpenResult:
    """Open an existing file, or a new one: wait for a terminal editor to end, not for a graphical one."""
    if launch.kind == "gui":
        return open_note(launch, path, is_new=is_new)
    try:
        with app.suspend():
            # Nothing may be raised or awaited here: Textual would leave a live screen in a
            # cooked terminal, or paint over the editor.
            descriptor = None
            try:
                # The terminal itself: stdout may be a pipe that awaits the pick, stderr is the log.
                with contextlib.suppress(OSError):
                    descriptor = os.open(_TERMINAL, os.O_RDWR)
                return open_note(launch, path, descriptor, is_new=is_new)
            except Exception as error:  # noqa: BLE001 - reported below the restored screen
                return OpenResult(False, sanitize(f"could not run {launch.program}: {error}"))
            finally:
                if descriptor is not None:
                    os.close(descriptor)
    except SuspendNotSupported:
        return OpenResult(
            False, f"this terminal cannot be suspended for {launch.program}; the file is {sanitize(path)}"
        )
