"""Opening, copying and picking: always the lines where the passage stands now."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from kebab_tui.domain.citation import Located
from kebab_tui.domain.document import Source
from kebab_tui.domain.errors import StoreError
from kebab_tui.domain.hit import SearchHit
from kebab_tui.domain.ids import SourceId
from kebab_tui.editor import Launch, OpenResult
from kebab_tui.settings.settings import Settings
from kebab_tui.tui import hand_off
from kebab_tui.tui.app import KebabApp
from kebab_tui.tui.hand_off import misread
from kebab_tui.tui.screens.copy_menu import CopyMenu
from kebab_tui.workspace import Callbacks, Workspace
from tests.repositories import commit, needs_git
from tests.tui.screen import WIDE, Proxy, found, kebab, painted, until

pytestmark = pytest.mark.slow

PASSAGE = "The spindle turns seven times before it stops.\n"


@dataclass
class Desk:
    """A folder with one note, its index, and an editor that only takes notes of what it was asked."""

    folder: Path
    opened: list[tuple[str, ...]] = field(default_factory=list)

    @property
    def notes(self) -> Path:
        return self.folder / "notes"

    @property
    def data(self) -> Path:
        return self.folder / "data"

    def write(self, name: str, text: str) -> None:
        (self.notes / name).write_text(text)

    def index(self) -> None:
        workspace = Workspace(Settings(), str(self.data))
        workspace.ingest([str(self.notes)], Callbacks())
        workspace.close()

    def screen(self, query: str = "spindle", **options: Any) -> KebabApp:
        return kebab(self.data, query=query, mode="lexical", **options)

    def take(self, app: object, made: Launch, path: str, *, is_new: bool) -> OpenResult:
        self.opened.append(made.argv)
        return OpenResult(True, "")

    @property
    def lines(self) -> list[str]:
        return [part for argv in self.opened for part in argv if part.startswith("+") and part[1:].isdigit()]


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    made = Desk(tmp_path)
    made.notes.mkdir()
    made.write("a.md", f"# Wheel\n\n{PASSAGE}")
    made.index()
    (tmp_path / "vim").touch(0o755)
    monkeypatch.setenv("KEBAB_EDITOR", str(tmp_path / "vim"))
    monkeypatch.setattr(hand_off, "open_in_editor", made.take)
    return made


async def test_a_passage_that_moved_is_opened_where_it_is_now(desk: Desk) -> None:
    desk.write("a.md", "new line\n" * 5 + f"# Wheel\n\n{PASSAGE}")
    app = desk.screen()
    async with app.run_test(size=WIDE) as pilot:
        await found(pilot)
        await pilot.press("enter")
        await until(pilot, lambda: desk.opened)
        await until(pilot, lambda: "moved +5" in painted(app).splitlines()[-2])
    assert desk.lines == ["+8"]


@needs_git
async def test_a_version_is_opened_as_a_read_only_copy_and_cited_as_git_does(desk: Desk) -> None:
    commit(desk.notes, tag="v1", old=f"# Old\n\n{PASSAGE}")
    commit(desk.notes, old=None)
    desk.index()
    with closing(Workspace(Settings(), str(desk.data))) as workspace:
        list(workspace.add_versions(SourceId("notes"), ["v1"], "", 0, Callbacks()))
    app = desk.screen("version:v1 spindle path:old*", pick=True, pick_as="citation")
    async with app.run_test(size=WIDE) as pilot:
        await found(pilot)
        await pilot.press("enter")
    assert app.return_value == ("v1:old.md:L1-L3",)
    app = desk.screen("version:v1 spindle path:old*")
    async with app.run_test(size=WIDE) as pilot:
        await found(pilot)
        await pilot.press("enter")
        await until(pilot, lambda: desk.opened)
        await until(pilot, lambda: "v1 is read-only" in painted(app).splitlines()[-2])
    (argv,) = desk.opened
    assert argv[1] == "-R"
    copy = Path(argv[-1])
    assert (copy.name, copy.stat().st_mode & 0o777) == ("old.md", 0o400)
    assert copy.read_text() == f"# Old\n\n{PASSAGE}"
    assert not copy.is_relative_to(desk.notes)


async def test_the_editor_begins_at_the_line_with_the_most_words(desk: Desk) -> None:
    desk.write(
        "a.md", "# Wheel 물레\n\nA spindle.\n\n🙂 돌 때 물레의 spindle stops.\nIts 물레 and spindle.\n"
    )
    desk.index()
    app = desk.screen("spindle 물레 돌")
    async with app.run_test(size=WIDE) as pilot:
        await found(pilot)
        await pilot.press("enter")
        await until(pilot, lambda: desk.opened)
    (argv,) = desk.opened
    assert argv[1:3] == ("+5", "+normal! 02l")


async def test_code_is_opened_at_the_line_that_matches(desk: Desk) -> None:
    source = Source(SourceId("notes"), "notes", str(desk.notes), code=True)
    with closing(Workspace(Settings(), str(desk.data))) as workspace:
        workspace.remove_source(source.source_id, Callbacks())
        workspace.add_source(source, Callbacks())
    desk.write("wheel.py", "def __spin__():\n    # the xylem\n    return 1\n")
    desk.index()
    app = desk.screen("xylem")
    async with app.run_test(size=WIDE) as pilot:
        await found(pilot)
        await until(pilot, lambda: "wheel.py › __spin__" in " ".join(painted(app).split()))
        await pilot.press("enter")
        await until(pilot, lambda: desk.opened)
    assert desk.lines == ["+2"]


async def test_a_note_found_by_its_name_is_opened_at_its_top(desk: Desk) -> None:
    desk.write("zebra.md", "An animal.\n\nThe zebra has stripes.\n")
    desk.index()
    app = desk.screen("zebra")
    async with app.run_test(size=WIDE) as pilot:
        await found(pilot)
        await pilot.press("enter")
        await until(pilot, lambda: desk.opened)
    assert desk.lines == ["+1"]


@pytest.mark.parametrize(("picked_as", "picked"), [("line", "a.md:3"), ("citation", "a.md:L1-L3")])
async def test_a_picked_line_is_the_matching_one_and_a_citation_the_passage(
    desk: Desk, picked_as: str, picked: str
) -> None:
    app = desk.screen(pick=True, pick_as=picked_as)
    async with app.run_test(size=WIDE) as pilot:
        await found(pilot)
        await pilot.press("enter")
        await until(pilot, lambda: app.return_value)
    assert app.return_value == (f"{desk.notes}/{picked}",)


async def test_after_the_editor_the_same_passage_is_shown_at_its_new_lines(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    def edit(app: object, made: Launch, path: str, *, is_new: bool) -> OpenResult:
        desk.write("a.md", "new line\n" * 4 + f"# Wheel\n\n{PASSAGE}")
        return desk.take(app, made, path, is_new=is_new)

    monkeypatch.setattr(hand_off, "open_in_editor", edit)
    desk.write("b.md", f"# Spindle\n\n{PASSAGE}")
    desk.index()
    app = desk.screen()
    async with app.run_test(size=WIDE) as pilot:
        await found(pilot)
        app.hits.move_to(next(place for place, hit in enumerate(app.hits._hits) if hit.path == "a.md"))
        await pilot.pause()
        await pilot.press("enter")
        await until(pilot, lambda: desk.opened)
        desk.index()
        await until(pilot, lambda: "5▌ # Wheel" in painted(app))
        assert app.hits.selected is not None and app.hits.selected.path == "a.md"
    assert desk.lines == ["+3"]


async def test_the_query_of_an_opened_hit_is_added_to_the_history_at_once(desk: Desk) -> None:
    app = desk.screen()
    async with app.run_test(size=WIDE) as pilot:
        await found(pilot)
        await pilot.press("enter")
        await until(pilot, lambda: desk.opened)
    assert app.history.queries == ("spindle",)


async def test_a_file_that_moves_on_between_preview_and_enter_is_looked_up_again(desk: Desk) -> None:
    app = desk.screen()
    async with app.run_test(size=WIDE) as pilot:
        await found(pilot)
        await until(pilot, lambda: "seven times" in painted(app))
        desk.write("a.md", "new line\n" * 3 + f"# Wheel\n\n{PASSAGE}")
        await pilot.press("enter")
        await until(pilot, lambda: desk.opened)
    assert desk.lines == ["+6"]


async def test_marked_hits_that_were_never_previewed_are_looked_up_too(desk: Desk) -> None:
    desk.write("b.md", f"# Second\n\n{PASSAGE * 2}")
    desk.index()
    app = desk.screen()
    async with app.run_test(size=WIDE) as pilot:
        await found(pilot)
        await pilot.press("ctrl+@", "ctrl+@")
        for name in ("a.md", "b.md"):
            desk.write(name, "new line\n\n" + (desk.notes / name).read_text())
        await pilot.press("enter")
        await until(pilot, lambda: desk.opened)
        await until(pilot, lambda: "2 moved" in painted(app))
    (argv,) = desk.opened
    assert argv[2] == "silent 2argument|silent! 5|silent 1argument|silent! 5"


async def test_a_changed_passage_is_opened_with_a_remark(desk: Desk) -> None:
    desk.write("a.md", "# Wheel\n\nNothing of that is true any more.\n")
    app = desk.screen()
    async with app.run_test(size=WIDE) as pilot:
        await found(pilot)
        await pilot.press("enter")
        await until(pilot, lambda: desk.opened)
        await until(pilot, lambda: "changed since it was indexed" in painted(app).splitlines()[-2])


async def test_a_missing_note_is_an_error_and_no_editor_starts(desk: Desk) -> None:
    app = desk.screen()
    async with app.run_test(size=WIDE) as pilot:
        await found(pilot)
        os.unlink(desk.notes / "a.md")
        await pilot.press("enter")
        await until(pilot, lambda: "the file is gone: a.md" in painted(app))
    assert not desk.opened


async def test_after_editing_the_note_is_indexed_again(desk: Desk) -> None:
    app = desk.screen()
    async with app.run_test(size=WIDE) as pilot:
        await found(pilot)
        asked = app.indexing.asked  # type: ignore[attr-defined]
        before = len(asked)
        await pilot.press("enter")
        await until(pilot, lambda: len(asked) > before)


async def test_an_editor_that_is_not_there_is_a_message(desk: Desk) -> None:
    os.unlink(desk.folder / "vim")
    app = desk.screen()
    async with app.run_test(size=WIDE) as pilot:
        await found(pilot)
        await pilot.press("enter")
        await until(pilot, lambda: "error: " in painted(app) and "vim" in painted(app).splitlines()[-2])
    assert not desk.opened


@pytest.fixture
def copied(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """What reached the terminal's clipboard: no program is there to take it."""
    texts: list[str] = []
    monkeypatch.setattr(KebabApp, "copy_to_clipboard", lambda _, text: texts.append(text))
    monkeypatch.setenv("PATH", "")
    return iter([texts])


async def test_the_copied_lines_are_the_present_ones(desk: Desk, copied: Iterator[list[str]]) -> None:
    texts = next(copied)
    desk.write("a.md", "new line\n" * 5 + f"# Wheel\n\n{PASSAGE}")
    app = desk.screen()
    async with app.run_test(size=WIDE) as pilot:
        await found(pilot)
        await pilot.press("ctrl+y")
        await until(pilot, lambda: texts)
        await until(pilot, lambda: "moved +5" in painted(app))
    assert texts == ["a.md:L6-L8"]


async def test_an_ambiguous_path_is_copied_as_an_absolute_path(
    desk: Desk, copied: Iterator[list[str]]
) -> None:
    texts = next(copied)
    other = desk.folder / "other"
    other.mkdir()
    (other / "a.md").write_text(f"# Wheel\n\n{PASSAGE}")
    with closing(Workspace(Settings(), str(desk.data))) as workspace:
        workspace.ingest([str(other)], Callbacks())
    app = desk.screen()
    async with app.run_test(size=WIDE) as pilot:
        await found(pilot)
        assert "in notes" in painted(app) and "in other" in painted(app)
        await pilot.press("ctrl+y")
        await until(pilot, lambda: texts)
    assert texts[0] in (f"{desk.notes}/a.md:L1-L3", f"{other}/a.md:L1-L3")


async def test_the_copy_menu_copies_the_first_form_by_enter_and_each_by_its_letter(
    desk: Desk, copied: Iterator[list[str]]
) -> None:
    texts = next(copied)
    desk.write("a.md", "new line\n" * 5 + f"# Wheel\n\n{PASSAGE}")
    (desk.notes / ".obsidian").mkdir()
    app = desk.screen()
    note = f"{desk.notes}/a.md"
    async with app.run_test(size=WIDE) as pilot:
        await found(pilot)

        async def copied_by(*keys: str) -> str:
            texts.clear()
            await pilot.press("alt+y")
            await until(pilot, lambda: isinstance(app.screen, CopyMenu))
            await pilot.press(*keys)
            await until(pilot, lambda: texts)
            return texts[0]

        by_enter = await copied_by("enter")
        assert by_enter.startswith("> # Wheel\n>\n> ") and "seven times" in by_enter
        assert by_enter.endswith(f"> — [Wheel](file://{note}#L6-L8)")
        assert await copied_by("alt+y") == await copied_by("q") == by_enter
        assert await copied_by("down", "enter") == await copied_by("c") == "a.md:L6-L8"
        assert await copied_by("ㅊ") == "a.md:L6-L8", "the same key under the Korean layout"
        assert await copied_by("p") == f"{note}:8"
        assert await copied_by("u") == f"file://{note}#L6-L8"
        assert await copied_by("o") == "obsidian://open?vault=notes&file=a"
        context = await copied_by("x")
        assert context.startswith("### Wheel\n") and "\na.md:L6-L8\n" in context
        await pilot.press("alt+y")
        await until(pilot, lambda: isinstance(app.screen, CopyMenu))
        texts.clear()
        await pilot.press("escape")
        await until(pilot, lambda: not isinstance(app.screen, CopyMenu))
        assert texts == []


async def test_a_pick_names_the_line_of_now(desk: Desk) -> None:
    desk.write("a.md", "new line\n" * 5 + f"# Wheel\n\n{PASSAGE}")
    app = desk.screen(pick=True)
    async with app.run_test(size=WIDE) as pilot:
        await found(pilot)
        await pilot.press("enter")
        await until(pilot, lambda: app.return_value)
    assert app.return_value == ("+8", f"{desk.notes}/a.md")


async def test_a_missing_note_cannot_be_picked(desk: Desk) -> None:
    app = desk.screen(pick=True)
    async with app.run_test(size=WIDE) as pilot:
        await found(pilot)
        os.unlink(desk.notes / "a.md")
        await pilot.press("enter")
        await until(pilot, lambda: "the file is gone" in painted(app))
        assert app.return_value is None


async def test_a_pick_is_whole_or_waits(desk: Desk) -> None:
    desk.write("b.md", f"# Second\n\n{PASSAGE}")
    desk.index()
    app = desk.screen(pick=True)
    async with app.run_test(size=WIDE) as pilot:
        await found(pilot)
        await pilot.press("ctrl+@", "ctrl+@")
        os.unlink(desk.notes / "b.md")
        await pilot.press("enter")
        await until(pilot, lambda: "the file is gone: b.md" in painted(app))
        assert app.return_value is None
        await pilot.press("enter")
        await until(pilot, lambda: app.return_value)
    assert app.return_value == ("+3", f"{desk.notes}/a.md")


@pytest.mark.parametrize(
    ("picked_as", "name", "sign"),
    [
        ("editor", "notes +:silent!!touch${IFS}PWNED x.md", "a blank"),
        ("line", "a\n+:silent!!touch PWNED\nb.md", "a line break"),
    ],
)
async def test_a_path_that_would_be_misread_is_not_printed_and_the_pick_stays(
    desk: Desk, picked_as: str, name: str, sign: str
) -> None:
    desk.write(name, f"# Second\n\n{PASSAGE}")
    desk.index()
    app = desk.screen(pick=True, pick_as=picked_as)
    async with app.run_test(size=WIDE) as pilot:
        await found(pilot)
        await pilot.press("ctrl+@", "ctrl+@", "enter")
        await until(pilot, lambda: f"a path with {sign} needs --pick -0: " in painted(app))
        assert app.return_value is None
        assert {hit.raw_path for hit in app.hits.marked} == {b"a.md", os.fsencode(name)}


async def test_with_nul_characters_any_path_is_printed(desk: Desk) -> None:
    name = "a b*\n+:q\x9b.md"
    desk.write(name, f"# Second\n\n{PASSAGE}")
    desk.index()
    app = desk.screen(pick=True, print0=True)
    async with app.run_test(size=WIDE) as pilot:
        await found(pilot)
        await pilot.press("ctrl+@", "ctrl+@", "enter")
        await until(pilot, lambda: app.return_value)
    assert app.return_value is not None
    assert app.return_value[0] == "+3"
    assert sorted(app.return_value[1:]) == [f"{desk.notes}/{name}", f"{desk.notes}/a.md"]


@pytest.mark.parametrize(
    ("path", "for_an_editor", "for_a_script"),
    [
        ("/n/a-b+c,d@e%f^g=h_i.j:k/한글.md", "", ""),
        ("/n/\udcff\udc9b.md", "", ""),
        *[(f"/n/a{sign}.md", sign, "") for sign in "*?[]{}$`\"'\\;&|<>()!#~"],
        ("/my notes/a.md", "a blank", ""),
        ("/n/a\u3000b.md", "U+3000", ""),
        ("/n/a\tb.md", "a tab", "a tab"),
        *[
            (f"/n/{sign}", f"U+{ord(sign):04X}", f"U+{ord(sign):04X}")
            for sign in "\r\x1b\x7f\x85\u2028\u202e"
        ],
    ],
)
def test_characters_that_prevent_printing_a_path(path: str, for_an_editor: str, for_a_script: str) -> None:
    assert misread(path, "editor") == for_an_editor
    assert misread(path, "line") == misread(path, "citation") == for_a_script


async def test_a_passage_that_cannot_be_located_is_an_error(desk: Desk) -> None:
    def locate(real: Workspace, hit: SearchHit) -> Located:
        raise StoreError("the disk is on fire")

    app = kebab(desk.data, lambda: Proxy(desk.data, locate=locate), query="spindle", mode="lexical")
    async with app.run_test(size=WIDE) as pilot:
        await found(pilot)
        await pilot.press("enter")
        await until(pilot, lambda: "a.md: the disk is on fire" in painted(app))
    assert not desk.opened


# History


def remembered(desk: Desk) -> list[str]:
    path = desk.data / "queries.txt"
    return path.read_text().splitlines() if path.exists() else []


@pytest.mark.parametrize("key", ["enter", "ctrl+y"])
async def test_a_query_is_added_to_the_history_when_a_hit_is_used(
    desk: Desk, copied: Iterator[list[str]], key: str
) -> None:
    async with desk.screen().run_test(size=WIDE) as pilot:
        await found(pilot)
        assert remembered(desk) == []
        await pilot.press(key)
        assert remembered(desk) == ["spindle"]


@pytest.mark.parametrize(("seconds", "kept"), [(1.9, []), (2.1, ["spindle"])])
async def test_a_query_whose_hits_were_read_is_remembered_when_another_takes_its_place(
    desk: Desk, seconds: float, kept: list[str]
) -> None:
    now = [100.0]
    app = desk.screen(clock=Clock(now))
    async with app.run_test(size=WIDE) as pilot:
        await found(pilot)
        now[0] += seconds
        await pilot.press("s")
        assert remembered(desk) == kept


@dataclass
class Clock:
    now: list[float]

    def __call__(self) -> float:
        return self.now[0]


async def test_an_editor_gets_an_argument_a_line_and_a_line_for_its_first_file(desk: Desk) -> None:
    desk.write("b.md", f"# Other\n\n{PASSAGE}")
    desk.index()
    app = desk.screen(pick=True)
    async with app.run_test(size=WIDE) as pilot:
        await found(pilot)
        await pilot.press("ctrl+@", "ctrl+@", "enter")
        await until(pilot, lambda: app.return_value)
    line, *paths = app.return_value or ()
    assert line == "+3"
    assert sorted(paths) == [f"{desk.notes}/a.md", f"{desk.notes}/b.md"]


async def test_marked_notes_are_opened_by_one_editor(desk: Desk) -> None:
    desk.write("b.md", f"# Other\n\n{PASSAGE}")
    desk.index()
    app = desk.screen()
    async with app.run_test(size=WIDE) as pilot:
        await found(pilot)
        await pilot.press("ctrl+@", "ctrl+@", "enter")
        await until(pilot, lambda: desk.opened)
        await pilot.pause()
    (argv,) = desk.opened
    assert sorted(word for word in argv if word.endswith(".md")) == [f"{desk.notes}/{one}.md" for one in "ab"]


async def test_a_note_with_two_marked_passages_is_opened_once_at_the_first(desk: Desk) -> None:
    desk.write("a.md", f"# Wheel\n\n{PASSAGE}\n" + "filler\n" * 400 + f"\n# Loom\n\n{PASSAGE}")
    desk.index()
    app = desk.screen()
    async with app.run_test(size=WIDE) as pilot:
        await found(pilot)
        await pilot.press("ctrl+@", "ctrl+@", "enter")
        await until(pilot, lambda: desk.opened)
        await pilot.pause()
    assert len(desk.opened) == 1


async def test_a_missing_note_loses_its_mark(desk: Desk) -> None:
    desk.write("b.md", f"# Other\n\n{PASSAGE}")
    desk.index()
    app = desk.screen()
    async with app.run_test(size=WIDE) as pilot:
        await found(pilot)
        await pilot.press("ctrl+@")
        (marked,) = app.hits.marked
        os.unlink(desk.notes / marked.path)
        await pilot.press("enter")
        await until(pilot, lambda: "the file is gone" in painted(app))
        assert painted(app).count("the file is gone") == 1
        assert not app.hits.marked


async def test_a_missing_folder_is_named(desk: Desk) -> None:
    app = desk.screen()
    async with app.run_test(size=WIDE) as pilot:
        await found(pilot)
        desk.notes.rename(desk.folder / "elsewhere")
        await pilot.press("enter")
        await until(pilot, lambda: "the folder is not available" in painted(app))


async def test_an_earlier_error_does_not_hide_the_copy_message(
    desk: Desk, copied: Iterator[list[str]]
) -> None:
    texts = next(copied)
    app = desk.screen()
    async with app.run_test(size=WIDE) as pilot:
        await found(pilot)
        app.status.show_error("something old")
        await pilot.press("ctrl+y")
        await until(pilot, lambda: texts and "clipboard" in painted(app))
        assert "something old" not in painted(app)
