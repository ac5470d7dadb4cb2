"""Paints the README's pictures of the real screen on the sample notes: one still, and one that moves.

python docs/picture.py          writes docs/screen.svg and docs/demo.svg

The frames of the moving picture are what the screen showed after each key; only their durations are made up.
A row that stays the same over several frames is written once, so the file stays small.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from html import escape
from pathlib import Path

from rich.color import ColorTriplet
from rich.style import Style
from rich.terminal_theme import DEFAULT_TERMINAL_THEME
from textual.pilot import Pilot
from textual.strip import Strip

from kebab_tui.settings.settings import Settings
from kebab_tui.tui.app import KebabApp
from kebab_tui.tui.launch import Options
from kebab_tui.workspace import Callbacks, Workspace

_HERE = Path(__file__).parent
_NOTES = _HERE.parent / "fixtures" / "notes"
_STILL_SIZE = (160, 42)
_DEMO_SIZE = (112, 30)
_CELL = (8.4, 18)
_MARGIN = 12
_FONTS = (
    "ui-monospace, 'Cascadia Mono', 'DejaVu Sans Mono', Menlo, Consolas, 'Noto Sans Mono CJK KR', monospace"
)


@dataclass(frozen=True, slots=True)
class Frame:
    strips: list[Strip]
    seconds: float


# ------------------------------------------------------------------------------------------------ recording


@asynccontextmanager
async def opened(
    data_folder: str, size: tuple[int, int], options: Options
) -> AsyncIterator[tuple[KebabApp, Pilot[None]]]:
    app = KebabApp(options, Settings(data_dir=data_folder))
    async with app.run_test(size=size) as pilot:
        yield app, pilot


def shown(app: KebabApp) -> list[Strip]:
    return app.screen._compositor.render_strips()


async def settled(
    app: KebabApp, pilot: Pilot[None], *, ready: Callable[[], bool] = lambda: True
) -> list[Strip]:
    """The screen once `ready` and unchanged for half a second."""
    before: list[Strip] = []
    same = 0
    for _ in range(400):
        await pilot.pause(0.05)
        now = shown(app)
        same = same + 1 if now == before and ready() else 0
        if same == 10:
            break
        before = now
    return before


async def still(data_folder: str) -> str:
    """The hits, the source and the explanation of one query."""
    async with opened(data_folder, _STILL_SIZE, Options(query="포트 충돌 해결", explain=True)) as (
        app,
        pilot,
    ):
        strips = await settled(app, pilot, ready=lambda: len(app.explain.lines) > 20)
    return svg([Frame(strips, 1.0)], _STILL_SIZE)


async def demo(data_folder: str) -> str:
    """Type a query, go through the hits, ask why, jump to a note by name, look at its links."""
    frames: list[Frame] = []
    async with opened(data_folder, _DEMO_SIZE, Options()) as (app, pilot):

        async def key(name: str, seconds: float) -> None:
            await pilot.press(name)
            frames.append(Frame(await settled(app, pilot), seconds))

        async def typed(text: str, last: float) -> None:
            for letter in text:
                await key("space" if letter == " " else letter, 0.16)
            frames[-1] = replace(frames[-1], seconds=last)

        frames.append(Frame(await settled(app, pilot), 1.2))
        await typed("port conflict", 2.2)
        await key("down", 0.7)
        await key("down", 1.5)
        await key("f4", 3.0)
        await key("f4", 0.5)
        await key("ctrl+g", 1.0)
        await typed("ㅎㅇ", 2.0)
        await key("escape", 0.5)
        await key("f9", 2.6)
    return svg(frames, _DEMO_SIZE)


# ------------------------------------------------------------------------------------------------ painting


def svg(frames: list[Frame], size: tuple[int, int]) -> str:
    """Each row of the terminal in as many versions as it had, each visible while it was there."""
    columns, rows = size
    width, height = columns * _CELL[0] + 2 * _MARGIN, rows * _CELL[1] + 2 * _MARGIN
    paper = _paper(frames[0])
    total = round(sum(frame.seconds for frame in frames), 3)
    rules: list[str] = []
    body: list[str] = []
    for row in range(rows):
        for number, (painted, spans) in enumerate(_versions(frames, row, paper).items()):
            name = f"r{row}-{number}"
            if spans == [(0.0, total)]:
                body.append(f"<g>{painted}</g>")
            else:
                rules.append(_rule(name, spans, total))
                last = "" if spans[-1][1] == total else " past"
                body.append(f'<g class="{name}{last}">{painted}</g>')
    styles = [
        f"text{{font:14px {_FONTS};white-space:pre}}",
        ".b{font-weight:bold}.u{text-decoration:underline}",
        *rules,
        "@media (prefers-reduced-motion:reduce){g{animation:none!important}.past{visibility:hidden}}",
    ]
    return "\n".join(
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" role="img">',
            "<style>",
            *styles,
            "</style>",
            f'<rect width="{width:g}" height="{height:g}" rx="8" fill="{paper}"/>',
            *body,
            "</svg>\n",
        )
    )


def _versions(frames: list[Frame], row: int, base: str) -> dict[str, list[tuple[float, float]]]:
    """What the row looked like, and when: from, until."""
    versions: dict[str, list[tuple[float, float]]] = {}
    now = 0.0
    for frame in frames:
        end = round(now + frame.seconds, 3)
        spans = versions.setdefault(_row(frame.strips[row], row, base), [])
        if spans and spans[-1][1] == now:
            spans[-1] = (spans[-1][0], end)
        else:
            spans.append((now, end))
        now = end
    return versions


def _rule(name: str, spans: list[tuple[float, float]], seconds: float) -> str:
    changes = {0.0: "hidden"}
    for start, end in spans:
        changes[start] = "visible"
        changes[end] = "hidden"
    steps = "".join(
        f"{at / seconds * 100:.2f}%{{visibility:{state}}}" for at, state in changes.items() if at < seconds
    )
    return f"@keyframes {name}{{{steps}}}.{name}{{animation:{name} {seconds:g}s step-end infinite}}"


def _row(strip: Strip, row: int, base: str) -> str:
    """Backgrounds first, then the texts; each text is as wide as its cells, whatever the font."""
    papers: list[str] = []
    texts: list[str] = []
    cell, y = 0, _MARGIN + row * _CELL[1]
    for segment in strip.simplify():
        text, style, cells = segment.text, segment.style or Style(), segment.cell_length
        ink, paper = _colours(style)
        if paper not in (None, base):
            papers.append(
                f'<rect x="{_x(cell)}" y="{y}" width="{cells * _CELL[0] + 0.3:.4g}"'
                f' height="{_CELL[1] + 0.3}" fill="{paper}"/>'
            )
        if words := text.strip(" "):
            indent = len(text) - len(text.lstrip(" "))
            wide = cells - (len(text) - len(words))
            kinds = " ".join(name for name, on in (("b", style.bold), ("u", style.underline)) if on)
            kind = f' class="{kinds}"' if kinds else ""
            texts.append(
                f'<text x="{_x(cell + indent)}" y="{y + 13}" textLength="{wide * _CELL[0]:g}"'
                f' fill="{ink}"{kind}>{escape(words)}</text>'
            )
        cell += cells
    return "".join((*papers, *texts))


def _x(cell: int) -> str:
    return f"{_MARGIN + cell * _CELL[0]:g}"


def _colours(style: Style) -> tuple[str, str | None]:
    theme = DEFAULT_TERMINAL_THEME
    ink = style.color.get_truecolor(theme) if style.color else theme.foreground_color
    paper = style.bgcolor.get_truecolor(theme) if style.bgcolor else None
    if style.reverse:
        ink, paper = paper or theme.background_color, ink
    if style.dim and paper:
        ink = ColorTriplet(*((one + other) // 2 for one, other in zip(ink, paper, strict=True)))
    return ink.hex, paper.hex if paper else None


def _paper(frame: Frame) -> str:
    """The colour of the first cell."""
    return next((paper for one in frame.strips[0] if (paper := _colours(one.style or Style())[1])), "#16171f")


def main() -> None:
    with tempfile.TemporaryDirectory() as data_folder:
        workspace = Workspace(Settings(data_dir=data_folder), data_folder)
        workspace.ingest([str(_NOTES)], Callbacks())
        workspace.embed(Callbacks())
        workspace.close()
        for name, paint in (("screen.svg", still), ("demo.svg", demo)):
            picture = asyncio.run(paint(data_folder))
            (_HERE / name).write_text(picture, encoding="utf-8")
            sys.stdout.write(f"{_HERE / name}: {len(picture):,} characters\n")


if __name__ == "__main__":
    main()
