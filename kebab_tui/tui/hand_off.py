"""Taking citations out of the screen: into the editor, onto the clipboard, to whoever called.

The engine is asked first where the passages stand now, and what was wanted goes on with
its answer; a later wish takes the place of one that waits. A passage that moved is taken
where it is, and that it moved, changed or is gone is said. A pick is printed whole or not
at all: while a chosen note is gone, or has a path that the reader of the output would take
for something else, the screen stays open and says which and why.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from textual.app import SuspendNotSupported

from kebab_tui.domain.errors import KebabError
from kebab_tui.domain.hit import Notice, twins
from kebab_tui.domain.text import visible
from kebab_tui.editor import OpenResult, open_note
from kebab_tui.tui.clipboard import citations_text, copy, quotations_text
from kebab_tui.tui.widgets.segments import clean

if TYPE_CHECKING:
    from textual.app import App

    from kebab_tui.domain.hit import SearchHit
    from kebab_tui.editor import Launch
    from kebab_tui.tui.app import KebabApp
    from kebab_tui.tui.launch import PickedAs
    from kebab_tui.tui.messages import HitsLocated, PlacedHit


Places = Sequence["PlacedHit"]

_MISREAD_BY_A_SHELL = re.compile(r"""[\s*?\[\]{}$`"'\\;&|<>()!#~]""")
"""What a shell, or `xargs` without -0, splits a word at, expands or runs."""
_SIGNS = {" ": "a blank", "\n": "a line break", "\t": "a tab"}


class HandOff:
    def __init__(self, app: KebabApp) -> None:
        self._app = app
        self._number = 0
        self._then: Callable[[Places], None] | None = None

    def open(self, hits: Sequence[SearchHit]) -> None:
        """Open the citations in the editor, one after the other."""
        self._place(hits, self._open)

    def pick(self, hits: Sequence[SearchHit]) -> None:
        """End, with the citations for whoever called."""
        self._place(hits, self._pick)

    def copy(self, hits: Sequence[SearchHit], *, with_text: bool) -> None:
        self._place(hits, partial(self._copy, with_text=with_text))

    def go_on(self, message: HitsLocated) -> None:
        """The places are known: do what was wanted of them."""
        for place in message.places:
            if place.located is not None:
                self._app.showing.locate(place.hit, place.located)
        then, self._then = (self._then, None) if message.number == self._number else (None, self._then)
        if then is not None:
            then(message.places)

    def _place(self, hits: Sequence[SearchHit], then: Callable[[Places], None]) -> None:
        if hits:
            self._app.status.hush()  # what went wrong before is not of this
            self._app.remembering.used(self._app.box.value)
            self._number += 1
            self._then = then
            self._app.asker.place(self._number, hits)

    def _open(self, places: Places) -> None:
        self._complain(places)
        remarks = [remark(_there(places))]
        for place in _one_a_note(_there(places)):
            try:
                remarks.append(self.edit(path_of(place.hit), line_of(place)))
            except KebabError as error:
                self._app.showing.fail(error.message, error.hint)
        if any(remarks):
            self._app.showing.say(Notice("opened", " · ".join(dict.fromkeys(filter(None, remarks)))))
        if len(remarks) > 1:
            self._app.moved_by_hand()
            self._app.index((), paths=tuple(path_of(place.hit) for place in _there(places)))

    def edit(self, path: str, line: int = 1) -> str:
        """Run the editor; gives what the user should know of it, raises what went wrong."""
        from kebab_tui.editor import choose, line_hint

        made = choose(self._app.settings.editor, os.environ, shutil.which).at(path, line)
        outcome = open_in_editor(self._app, made, path)
        self._app.refresh(layout=True)
        if not outcome.ok:
            raise KebabError(outcome.message)
        return line_hint(made) or ""

    def _pick(self, places: Places) -> None:
        self._complain(places)
        options = self._app.options
        if len(_there(places)) < len(places):
            return
        for place in () if options.print0 else places:
            if sign := misread(path_of(place.hit), options.pick_as):
                where = place.hit.path if misread(place.hit.path, options.pick_as) else place.hit.root
                self._app.showing.fail(f"a path with {sign} needs --pick -0: {where}")
                return
        self._app.exit(tuple(picked(places, options.pick_as)))

    def _copy(self, places: Places, *, with_text: bool) -> None:
        shared = self._app.hits.twins | twins([place.hit for place in places])
        hits = [_whole(place.hit) if place.hit.path in shared else place.hit for place in places]
        texts = [(hit, place.located) for hit, place in zip(hits, places, strict=True)]
        text = quotations_text(texts) if with_text else citations_text(texts)
        copied = copy(text, self._app.copy_to_clipboard, os.environ)
        said = " · ".join(part for part in (remark(places), copied.message) if part)
        self._app.showing.say(Notice("copied", said))

    def _complain(self, places: Places) -> None:
        for place in places:
            if place.located is None:
                self._app.showing.fail(f"{place.hit.path}: {place.problem}")
            elif place.located.state == "gone":
                self._app.showing.fail(*_gone(place.hit))
        self._app.hits.unmark([place.hit for place in places if place not in _there(places)])


def _gone(hit: SearchHit) -> tuple[str, str]:
    if not os.path.isdir(hit.root):
        return f"the folder is away: {hit.root}", "its notes are kept until it is there again"
    return f"the file is gone: {hit.path}", "F5 looks for changed notes"


def remark(places: Places) -> str:
    """What became of the passages since they were indexed; nothing where all are as they were."""
    states = [place.located.state for place in places if place.located is not None]
    if len(places) == 1:
        return _remark_on(places[0])
    words = (("moved", "moved"), ("changed", "changed"), ("gone", "gone"))
    return ", ".join(f"{states.count(state)} {word}" for state, word in words if state in states)


def _remark_on(place: PlacedHit) -> str:
    located = place.located
    match located.state if located else "same":
        case "moved" if located is not None:
            return f"moved {located.shift:+d} since it was indexed: now line {located.span.first}"
        case "changed":
            return "changed since it was indexed: this is what resembles it most"
        case "gone":
            return "the file is gone"
    return ""


def _whole(hit: SearchHit) -> SearchHit:
    """The hit with its whole path, for where another folder has a note of the same one."""
    path = path_of(hit)
    return replace(hit, path=path, citation=replace(hit.citation, path=path))


def path_of(hit: SearchHit) -> str:
    """Where the file is, as the file system spells it."""
    return os.fsdecode(os.path.join(os.fsencode(hit.root), hit.raw_path))


def line_of(place: PlacedHit) -> int:
    return (place.located or place.hit.citation).span.first


def picked(places: Places, picked_as: PickedAs) -> Iterator[str]:
    """Citations by their absolute paths, in the form that an editor, a reader or a script takes."""
    if picked_as != "editor":
        yield from (_cited(place, picked_as) for place in places)
        return
    # An argument a line. Editors take a line for their first file only.
    for number, place in enumerate(_one_a_note(places)):
        if not number and place.hit.citation.span.page is None:
            yield f"+{line_of(place)}"
        yield path_of(place.hit)


def misread(path: str, picked_as: PickedAs) -> str:
    """The first sign of a path that keeps it off a line; empty for none. Bytes that are no text stay.

    A line for an editor must also survive a shell that splits and expands its words.
    """
    text = os.fsencode(path).decode("utf-8", "replace")
    for character, shown in zip(text, clean(text), strict=True):
        if character != shown or (picked_as == "editor" and _MISREAD_BY_A_SHELL.match(character)):
            code = character if character.isprintable() else f"U+{ord(character):04X}"
            return _SIGNS.get(character, code)
    return ""


def _cited(place: PlacedHit, picked_as: PickedAs) -> str:
    if place.hit.citation.span.page is not None or picked_as == "citation":
        span = (place.located or place.hit.citation).span
        return str(replace(place.hit.citation, path=path_of(place.hit), span=span))
    return f"{path_of(place.hit)}:{line_of(place)}"


def _one_a_note(places: Places) -> list[PlacedHit]:
    """A note is opened once, at the first of its passages."""
    firsts: dict[str, PlacedHit] = {}
    for place in places:
        firsts.setdefault(path_of(place.hit), place)
    return list(firsts.values())


def _there(places: Places) -> list[PlacedHit]:
    return [place for place in places if place.located is not None and place.located.state != "gone"]


# Lends the terminal to an editor, and takes it back whole.
#
# An editor with a window of its own leaves the screen up. Inside `suspend` nothing may be
# raised and nothing awaited: Textual would leave a live screen in a cooked terminal, or
# paint over the editor. What happened is returned, for a toast.

Result = TypeVar("Result")

_TERMINAL = "/dev/tty"


def open_in_editor(app: App[Result], made: Launch, path: str) -> OpenResult:
    """Open an existing file; returns when a terminal editor has ended, at once for one with a window."""
    if made.kind == "gui":
        return open_note(made, path)
    try:
        with app.suspend():
            return _inside(made, path)
    except SuspendNotSupported:
        return OpenResult(
            False, f"this terminal cannot be lent to {made.program}; the file is {visible(path)}"
        )


def _inside(made: Launch, path: str) -> OpenResult:
    try:
        with _terminal() as descriptor:
            return open_note(made, path, descriptor)
    except Exception as error:  # noqa: BLE001 - past this block the screen would be lost
        return OpenResult(False, visible(f"{made.program} could not be run: {error}"))


@contextlib.contextmanager
def _terminal() -> Iterator[int | None]:
    """The terminal itself: stdout may lead to a pipe that waits for the pick, stderr to the log."""
    try:
        descriptor = os.open(_TERMINAL, os.O_RDWR)
    except OSError:
        yield None
        return
    try:
        yield descriptor
    finally:
        os.close(descriptor)
