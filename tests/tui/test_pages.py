"""Documents with pages on the screen: the preview of a page, turning it, opening, copying and picking it."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kebab_tui.domain.citation import Located
from kebab_tui.domain.document import PageText
from kebab_tui.domain.hit import SearchHit
from kebab_tui.editor import Launch, OpenResult
from kebab_tui.settings.settings import Settings, ViewerSettings
from kebab_tui.tui import hand_off
from kebab_tui.tui.app import KebabApp
from kebab_tui.tui.screens.file_states import FileStatesScreen
from kebab_tui.tui.screens.switcher import Switcher
from kebab_tui.workspace import Workspace
from tests.formats import pdfs
from tests.formats.pdfs import Page, fixtures
from tests.tui.pty_screen import Start
from tests.tui.screen import VIM, WIDE, Proxy, Screen, focus, found, kebab, painted, type_at_once, until
from tests.vault import Vault

pytestmark = pytest.mark.slow

VIEWER = """#!/bin/sh
echo noise of the viewer; echo noise of the viewer >&2
printf '%s\\n' "$@" > "$0.part"; mv "$0.part" "$0.args"
"""
SWARMS = ["A colony swarms when it has more bees than room.", "Queen cells announce it."]
LONG = 50
"""Lines of each page of the long document: two views, and the rest."""


def page_of(word: str) -> Page:
    lines = [f"{word} {number}" for number in range(1, LONG + 1)]
    lines[24] = f"the {word} stands here"
    return Page().write(lines)


class Desk:
    """A folder with PDF files and a note, its index, and a viewer that writes down its arguments."""

    def __init__(self, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.vault = Vault(place)
        self.notes, self.data, self.bin = self.vault.root, self.vault.data, place / "bin"
        self.bin.mkdir()
        viewer = self.bin / "zathura"
        viewer.write_text(VIEWER)
        viewer.chmod(0o755)
        self.told = self.bin / "zathura.args"
        monkeypatch.setenv("PATH", f"{self.bin}:{os.environ['PATH']}")
        monkeypatch.setenv("DISPLAY", ":0")
        for name in ("SSH_CONNECTION", "SSH_TTY", "SSH_CLIENT", "TMUX", "WAYLAND_DISPLAY"):
            monkeypatch.delenv(name, raising=False)
        self.vault.write("bees.pdf", fixtures()["bees.pdf"])
        self.vault.write("long.pdf", pdfs.pdf([page_of("alpha"), page_of("beta"), page_of("gamma")]))
        self.vault.write("hive.md", "# Hive\n\nThe wax moths come in spring.\n")
        self.vault.ingest()

    def write_swarms(self, *pages: list[str]) -> None:
        self.vault.write("a.pdf", pdfs.pdf([Page().write(lines) for lines in pages]))

    def screen(self, query: str, **options: Any) -> KebabApp:
        return kebab(self.data, query=query, mode="lexical", **options)

    @property
    def arguments(self) -> list[str]:
        return self.told.read_text().splitlines() if self.told.exists() else []


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    made = Desk(tmp_path, monkeypatch)
    made.vault.workspace.close()
    return made


@pytest.fixture
def copied(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What reached the terminal's clipboard."""
    texts: list[str] = []
    monkeypatch.setattr("kebab_tui.tui.clipboard.tools", lambda *_: iter(()))
    monkeypatch.setattr(KebabApp, "copy_to_clipboard", lambda _, text: texts.append(text))
    return texts


async def shown(pilot: Screen, text: str) -> KebabApp:
    """The screen once the preview's header has this text."""
    app = await found(pilot)
    await until(pilot, lambda: text in header(app))
    return app


def header(app: KebabApp) -> str:
    title = app.preview._border_title
    return "" if title is None else title.plain


def view(app: KebabApp) -> list[str]:
    """The rows of the preview that are not empty."""
    rows = (app.preview.render_line(y).text.rstrip() for y in range(app.preview.size.height))
    return [row for row in rows if row.strip()]


# The preview


async def test_the_cited_page_is_shown_with_its_number_label_and_count(desk: Desk) -> None:
    app = desk.screen("wax type:pdf")
    async with app.run_test(size=WIDE) as pilot:
        await shown(pilot, "page 3 (1) of 5")
        assert header(app).startswith("bees.pdf#p=3 · Keeping bees › Spring work")
        assert view(app)[0] == "▌ 1 Spring work"
        assert all(row.startswith("▌ ") for row in view(app))
        y = next(y for y, row in enumerate(view(app)) if "Wax moths" in row)
        marked = [one.text for one in app.preview.render_line(y) if one.style and one.style.underline]
        assert marked == ["Wax"]


async def test_only_the_cited_passage_of_a_page_is_marked(desk: Desk) -> None:
    lines = [f"Sentence {number} has many words, and ends here." for number in range(50)]
    desk.write_swarms([*lines, "quagga"])
    desk.vault.ingest()
    app = desk.screen("quagga")
    async with app.run_test(size=WIDE) as pilot:
        await shown(pilot, "page 1 of 1")
        assert app.hits.selected is not None
        span = app.hits.selected.citation.span
        assert span.first > 1
        await focus(pilot, app.preview)
        await pilot.press("home")
        assert not view(app)[0].startswith("▌")
        await pilot.press("end")
        assert view(app)[-1] == "▌ quagga"


async def test_pages_follow_one_another_at_their_ends(desk: Desk) -> None:
    app = desk.screen('"beta stands"')
    async with app.run_test(size=WIDE) as pilot:
        await shown(pilot, "page 2 of 3")
        await focus(pilot, app.preview)
        await pilot.press("home")
        seen = []
        for key, there in (
            ("pagedown", "2 of 3"), ("pagedown", "3 of 3"), ("pagedown", "3 of 3"), ("pagedown", "3 of 3"),
            ("pageup", "3 of 3"), ("pageup", "2 of 3"), ("pageup", "2 of 3"), ("pageup", "1 of 3"),
            ("pageup", "1 of 3"), ("pageup", "1 of 3"),
        ):  # fmt: skip
            await pilot.press(key)
            await shown(pilot, f"page {there}")
            seen.append((view(app)[0][2:], view(app)[-1][2:]))
        rows = app.preview.page_rows
        top, bottom = LONG - rows + 1, rows
        assert seen == [
            (f"beta {top}", "beta 50"), ("gamma 1", f"gamma {bottom}"), (f"gamma {top}", "gamma 50"),
            (f"gamma {top}", "gamma 50"), ("gamma 1", f"gamma {bottom}"), (f"beta {top}", "beta 50"),
            ("beta 1", f"beta {bottom}"), (f"alpha {top}", "alpha 50"), ("alpha 1", f"alpha {bottom}"),
            ("alpha 1", f"alpha {bottom}"),
        ]  # fmt: skip
        assert header(app).startswith("long.pdf#p=2 ")  # the citation stays
        assert not any(row.startswith("▌") for row in view(app))


async def test_keys_pressed_while_a_page_is_read_count(desk: Desk) -> None:
    app = desk.screen('"alpha stands"')
    async with app.run_test(size=WIDE) as pilot:
        await shown(pilot, "page 1 of 3")
        await focus(pilot, app.preview)
        await pilot.press("home")
        type_at_once(app, ["pagedown"] * 5)
        await shown(pilot, "page 3 of 3")
        await until(pilot, lambda: view(app)[-1] == "  gamma 50")


async def test_matches_are_found_within_the_page(desk: Desk) -> None:
    app = desk.screen('"beta stands"')
    async with app.run_test(size=WIDE) as pilot:
        await shown(pilot, "page 2 of 3")
        await focus(pilot, app.preview)
        for key, said in (("alt+n", "match 1 of 1"), ("alt+n", "match 1 of 1, from the top")):
            await pilot.press(key)
            await shown(pilot, f"page 2 of 3, {said}")
        await pilot.press("end", "pagedown")
        await shown(pilot, "page 3 of 3")
        await pilot.press("alt+n")
        await shown(pilot, "page 3 of 3, no match")


async def test_half_pages_turn_too_with_vim_keys(desk: Desk) -> None:
    app = kebab(desk.data, settings=VIM, query='"alpha stands"', mode="lexical")
    async with app.run_test(size=WIDE) as pilot:
        await shown(pilot, "page 1 of 3")
        app.is_normal = True
        await focus(pilot, app.preview)
        await pilot.press("G", "ctrl+d")
        await shown(pilot, "page 2 of 3")


async def test_another_hit_on_the_page_is_shown_without_reading_it_again(desk: Desk) -> None:
    read: list[int] = []

    def page(real: Workspace, hit: SearchHit, number: int) -> PageText:
        read.append(number)
        return real.page(hit, number)

    lines = [f"Sentence {number} about quaggas is rather long and ends here." for number in range(55)]
    desk.write_swarms(lines)
    desk.vault.ingest()
    app = kebab(desk.data, lambda: Proxy(desk.data, page=page), query="quaggas", mode="lexical")
    async with app.run_test(size=WIDE) as pilot:
        await shown(pilot, "page 1 of 1")
        await pilot.press("alt+e", "down")
        assert app.hits.selected is not None
        first = app.hits.selected.citation.span.first
        await until(pilot, lambda: app.preview._target.first == first)
    assert read == [1]


async def test_the_markdown_mode_leaves_pages_alone(desk: Desk) -> None:
    app = desk.screen("wax type:pdf")
    async with app.run_test(size=WIDE) as pilot:
        await shown(pilot, "page 3 (1) of 5")
        before = view(app)
        await pilot.press("alt+m")
        await shown(pilot, "page 3 (1) of 5, not Markdown")
        assert view(app) == before


async def test_a_page_without_text_says_so(desk: Desk) -> None:
    desk.vault.write("a.pdf", pdfs.pdf([Page().write(["quagga"]), Page(), Page().write(["end"])]))
    desk.vault.ingest()
    app = desk.screen("quagga")
    async with app.run_test(size=WIDE) as pilot:
        await shown(pilot, "page 1 of 3")
        await focus(pilot, app.preview)
        await pilot.press("pagedown")
        await shown(pilot, "page 2 of 3, no text")
        await pilot.press("home", "end", "alt+n", "pagedown")
        await shown(pilot, "page 3 of 3")


# Files that changed, and files that harm


@pytest.mark.parametrize(
    ("pages", "badge", "state"),
    [
        ([["cover"], ["preface"], SWARMS], "moved", "a.pdf#p=3 · a · page 3 of 3, moved +1 page"),
        ([["cover"], ["x"], ["y"], SWARMS], "moved", "a.pdf#p=4 · a · page 4 of 4, moved +2 pages"),
        ([["cover"], [SWARMS[0], "Give room."]], "changed", "page 2 of 2, changed"),
        ([["new"]], "changed", "a.pdf#p=1 · a · page 1 of 1, changed"),
    ],
)
async def test_a_page_is_shown_where_its_text_is_now(
    desk: Desk, copied: list[str], pages: list[list[str]], badge: str, state: str
) -> None:
    desk.write_swarms(["cover"], SWARMS)
    desk.vault.ingest()
    desk.write_swarms(*pages)
    app = desk.screen("colony swarms")
    async with app.run_test(size=WIDE) as pilot:
        await shown(pilot, state)
        assert badge in painted(app).splitlines()[4]
        assert app.preview.is_certain is (badge == "moved")
        await pilot.press("ctrl+y")
        await until(pilot, lambda: copied)
    assert copied == [f"a.pdf#p={next(page for page in (3, 4, 2, 1) if f'age {page} of' in state)}"]


async def test_a_document_that_is_gone_shows_its_indexed_text(desk: Desk) -> None:
    app = desk.screen("wax type:pdf")
    os.unlink(desk.notes / "bees.pdf")
    async with app.run_test(size=WIDE) as pilot:
        await shown(pilot, "page 3 cannot be shown")
        assert {"the file is no longer there", "Indexed text:"} <= set(view(app))
        assert "gone" in painted(app).splitlines()[4]


@pytest.mark.parametrize(
    ("harm", "reason"),
    [(lambda: b"%PDF-", "damaged or truncated"), (pdfs.deflate_bomb, "its reader died")],
    ids=["damaged", "bomb"],
)
async def test_a_harmful_file_shows_a_reason_and_typing_goes_on(
    desk: Desk, harm: Callable[[], bytes], reason: str
) -> None:
    desk.vault.write("bees.pdf", harm())
    app = desk.screen("wax type:pdf")
    async with app.run_test(size=WIDE) as pilot:
        await shown(pilot, "page 3 cannot be shown")
        assert view(app)[0].startswith(reason)
        assert any("Wax moths" in row for row in view(app))
        app.box.write("spring type:markdown")
        await shown(pilot, "hive.md")


async def test_a_defect_is_shown_and_the_next_page_is_read(desk: Desk) -> None:
    def page(real: Workspace, hit: SearchHit, number: int) -> PageText:
        if hit.path == "bees.pdf":
            raise KeyError("of the reader")
        return real.page(hit, number)

    query = '"beta stands" OR "wax moths winter"'
    app = kebab(desk.data, lambda: Proxy(desk.data, page=page), query=query, mode="lexical")
    async with app.run_test(size=WIDE) as pilot:
        await found(pilot)
        bees = next(place for place, hit in enumerate(app.hits._hits) if hit.path == "bees.pdf")
        app.hits.move_to(bees)
        await shown(pilot, "page 3 cannot be shown")
        assert view(app)[0] == "internal error: KeyError: 'of the reader'"
        app.hits.move_to(1 - bees)
        await shown(pilot, "page 2 of 3")


async def test_search_does_not_wait_for_a_page_that_is_read_slowly(desk: Desk) -> None:
    let = threading.Event()

    def page(real: Workspace, hit: SearchHit, number: int) -> PageText:
        assert let.wait(60)
        return real.page(hit, number)

    def locate(real: Workspace, hit: SearchHit) -> Located:
        assert hit.type != "pdf" or let.wait(60)
        return real.locate(hit)

    app = kebab(
        desk.data, lambda: Proxy(desk.data, page=page, locate=locate), query="wax type:pdf", mode="lexical"
    )
    async with app.run_test(size=WIDE) as pilot:
        await shown(pilot, "page 3 (1), reading page 3")
        assert any("Wax moths" in row for row in view(app))  # as indexed, meanwhile
        await pilot.press("enter")
        app.box.write("spring type:markdown")
        await shown(pilot, "hive.md")
        app.box.write("wax type:pdf")
        await shown(pilot, "page 3 (1)")
        let.set()
        await shown(pilot, "page 3 (1) of 5")


async def test_a_page_that_arrives_late_does_not_replace_another_note(desk: Desk) -> None:
    let, read = threading.Event(), threading.Event()

    def page(real: Workspace, hit: SearchHit, number: int) -> PageText:
        assert let.wait(60)
        try:
            return real.page(hit, number)
        finally:
            read.set()

    app = kebab(desk.data, lambda: Proxy(desk.data, page=page), query="wax", mode="lexical")
    async with app.run_test(size=WIDE) as pilot:
        await found(pilot)
        other = next(place for place, hit in enumerate(app.hits._hits) if hit.type == "pdf")
        app.hits.move_to(other)
        await shown(pilot, "page 3 (1)")
        app.hits.move_to(1 - other)
        await shown(pilot, "hive.md")
        let.set()
        await until(pilot, read.is_set)
        await pilot.pause(0.05)
        assert header(app).startswith("hive.md")


# Opening


async def test_enter_opens_the_page_in_the_viewer_and_the_screen_stays(desk: Desk) -> None:
    app = desk.screen("wax type:pdf")
    async with app.run_test(size=WIDE) as pilot:
        await found(pilot)
        asked = app.indexing.asked  # type: ignore[attr-defined]
        before = len(asked)
        await pilot.press("enter")
        await until(pilot, lambda: desk.arguments)
        await until(pilot, lambda: "page 3 opened in zathura" in painted(app).splitlines()[-2])
        assert len(asked) == before  # nothing was edited
        assert app.hits.selected is not None
        assert app.recent.notes[0] == app.hits.selected.doc_id
    assert desk.arguments == ["-P", "3", f"{desk.notes}/bees.pdf"]


def test_no_output_of_a_viewer_reaches_the_terminal(desk: Desk, idle: Start) -> None:
    where = {"PATH": os.environ["PATH"], "DISPLAY": ":0"}
    screen = idle("--data-dir", desk.data, "--query", "wax type:pdf", environ=where)
    screen.wait_for("page 3 (1) of 5")
    place = len(screen.sent)
    screen.type("\r")
    screen.wait_for_after(place, "page 3 opened in zathura")
    screen.type("\x11")
    screen.process.wait(60)
    assert desk.arguments == ["-P", "3", f"{desk.notes}/bees.pdf"]
    assert "noise" not in screen.text
    assert b"\x1b[?1049l" not in screen.sent[place : screen.sent.rfind(b"\x1b[?1049l")]


async def test_a_page_is_opened_where_its_text_is_now(desk: Desk) -> None:
    desk.write_swarms(["cover"], SWARMS)
    desk.vault.ingest()
    desk.write_swarms(["cover"], ["preface"], SWARMS)
    app = desk.screen("colony swarms")
    async with app.run_test(size=WIDE) as pilot:
        await found(pilot)
        await pilot.press("enter")
        await until(pilot, lambda: desk.arguments)
        said = "moved +1 page since it was indexed: now page 3 · page 3 opened in zathura"
        await until(pilot, lambda: said in painted(app).splitlines()[-2])
    assert desk.arguments == ["-P", "3", f"{desk.notes}/a.pdf"]


async def test_the_viewer_of_the_settings_is_used(desk: Desk) -> None:
    settings = Settings(viewer=ViewerSettings(pdf="zathura --fork {path} {page}"))
    app = kebab(desk.data, settings=settings, query="wax type:pdf", mode="lexical")
    async with app.run_test(size=WIDE) as pilot:
        await found(pilot)
        await pilot.press("enter")
        await until(pilot, lambda: desk.arguments)
    assert desk.arguments == ["--fork", f"{desk.notes}/bees.pdf", "3"]


async def test_a_viewer_that_fails_or_is_missing_is_an_error(desk: Desk) -> None:
    (desk.bin / "zathura").write_text("#!/bin/sh\nexit 7\n")
    app = desk.screen("wax type:pdf")
    async with app.run_test(size=WIDE) as pilot:
        await found(pilot)
        await pilot.press("enter")
        await until(pilot, lambda: "error: zathura ended with exit code 7" in painted(app))
        os.environ["PATH"] = "/nowhere"
        await pilot.press("enter")
        await until(pilot, lambda: "there is no viewer for pdf: install zathura" in painted(app))


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [("SSH_CONNECTION", "a 1 b 2", "over ssh"), ("DISPLAY", "", "without a display")],
)
async def test_without_a_window_the_citations_are_copied(
    desk: Desk, copied: list[str], monkeypatch: pytest.MonkeyPatch, name: str, value: str, reason: str
) -> None:
    monkeypatch.setenv(name, value)
    app = desk.screen('"beta stands" OR "wax moths winter"')
    async with app.run_test(size=WIDE) as pilot:
        await found(pilot)
        assert len(app.hits._hits) == 2
        await pilot.press("enter")
        await until(pilot, lambda: copied)
        last = painted(app).splitlines()[-2]
        assert f"no viewer {reason} · Copied (terminal clipboard): " in last
        assert "[viewer] pdf sets it" in last
        cited = copied.pop()
        assert cited in ("bees.pdf#p=3", "long.pdf#p=2")
        await pilot.press("ctrl+@", "ctrl+@", "enter")
        await until(pilot, lambda: copied)
    assert set(copied.pop().splitlines()) == {"bees.pdf#p=3", "long.pdf#p=2"}
    assert not desk.arguments


async def test_marked_lines_and_pages_open_each_in_its_program(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[tuple[str, ...]] = []

    def take(app: object, made: Launch, path: str, *, is_new: bool = False) -> OpenResult:
        opened.append(made.argv)
        return OpenResult(True, "")

    monkeypatch.setattr(hand_off, "open_in_editor", take)
    monkeypatch.setenv("KEBAB_EDITOR", "vim")
    (desk.bin / "vim").touch(0o755)
    app = desk.screen("wax")
    async with app.run_test(size=WIDE) as pilot:
        await found(pilot)
        await pilot.press("ctrl+@", "ctrl+@", "enter")
        await until(pilot, lambda: len(opened) == 2)
    assert set(opened) == {
        ("zathura", "-P", "3", f"{desk.notes}/bees.pdf"),
        ("vim", "+3", "+normal! 04l", "--", f"{desk.notes}/hive.md"),
    }


# Copying and picking


async def test_the_citation_and_the_text_are_copied(desk: Desk, copied: list[str]) -> None:
    app = desk.screen("wax type:pdf")
    async with app.run_test(size=WIDE) as pilot:
        await found(pilot)
        await pilot.press("ctrl+y")
        await until(pilot, lambda: copied)
        await pilot.press("alt+y")
        await until(pilot, lambda: "quotation with its source" in painted(app))
        await pilot.press("q")
        await until(pilot, lambda: len(copied) == 2)
    assert copied[0] == "bees.pdf#p=3"
    assert copied[1].startswith("> 1 Spring work\n") and "bees.pdf" in copied[1]


async def test_a_page_is_picked_as_a_citation(desk: Desk) -> None:
    app = desk.screen("wax type:pdf", pick=True, pick_as="citation")
    async with app.run_test(size=WIDE) as pilot:
        await found(pilot)
        await pilot.press("enter")
        await until(pilot, lambda: app.return_value)
    assert app.return_value == (f"{desk.notes}/bees.pdf#p=3",)


@pytest.mark.parametrize("picked_as", ["editor", "line"])
async def test_a_page_is_no_line_and_the_pick_stays(desk: Desk, picked_as: str) -> None:
    app = desk.screen("wax", pick=True, pick_as=picked_as, print0=True)
    async with app.run_test(size=WIDE) as pilot:
        await found(pilot)
        await pilot.press("ctrl+@", "ctrl+@", "enter")
        await until(pilot, lambda: "bees.pdf has pages, no lines · --pick-as citation" in painted(app))
        assert app.return_value is None


# The switcher and the files page


async def test_the_switcher_shows_and_opens_the_first_page(desk: Desk) -> None:
    app = desk.screen("")
    async with app.run_test(size=WIDE) as pilot:
        await found(pilot)
        await pilot.press("ctrl+g", *"bees")
        await until(pilot, lambda: isinstance(app.screen, Switcher) and "page 1 (i) of 5" in painted(app))
        assert "A handbook for the first three years" in painted(app)
        await pilot.press("enter")
        await until(pilot, lambda: desk.arguments)
    assert desk.arguments == ["-P", "1", f"{desk.notes}/bees.pdf"]


async def test_the_files_page_has_reasons_and_opens_the_viewer(desk: Desk) -> None:
    desk.vault.write("cut.pdf", pdfs.one_page("word")[:300])
    desk.vault.write("secret.pdf", pdfs.pdf([Page()], encrypted=True))
    desk.vault.write("scan.pdf", pdfs.pdf([Page()] * 3))
    desk.vault.ingest()
    app = desk.screen("wax")
    reasons = {"cut.pdf": "damaged", "secret.pdf": "encrypted", "scan.pdf": "no text on 3 pages (scanned?)"}

    def listed(path: str, reason: str) -> bool:
        return any(path in row and reason in row for row in painted(app).splitlines())

    async with app.run_test(size=WIDE) as pilot:
        await found(pilot)
        await pilot.press("f12")
        await until(pilot, lambda: all(listed(*one) for one in reasons.items()))
        assert isinstance(app.screen, FileStatesScreen)
        await pilot.press(*"secret", "down", "enter")
        await until(pilot, lambda: desk.arguments)
        await until(pilot, lambda: "page 1 opened in zathura" in painted(app))
    assert desk.arguments == ["-P", "1", f"{desk.notes}/secret.pdf"]


def test_which_files_have_pages() -> None:
    has_pages: Callable[[str], bool] = Workspace.has_pages
    assert [has_pages(path) for path in ("a.pdf", "A.PDF", "a.md", "pdf", ".pdf")] == [True, True] + 3 * [
        False
    ]
