"""How much of the cited passages can be read in the preview by scrolling down only.

Moves the cursor of the real screen from hit to hit, reads the marked rows of the preview,
and scrolls down by a row as long as there are more.
"""

from __future__ import annotations

import asyncio

from msgspec import structs

from kebab_tui.settings.settings import Settings
from kebab_tui.tui.app import KebabApp
from kebab_tui.tui.launch import Options
from kebab_tui.tui.preview.pane import Preview
from kebab_tui.tui.preview.wrapping import expanded
from kebab_tui.tui.widgets.segments import CITED
from tests.benchmarks.measuring import Figure
from tests.benchmarks.screen.keys import queries_of
from tests.tui.screen import WIDE, Idle, Screen, found, until

_HITS_OF_A_QUERY = 10


def measure(data: str, notes: str, hits: int) -> list[Figure]:
    """Read about so many hits of an index of `notes`."""
    return asyncio.run(_measure(data, notes, hits))


async def _measure(data: str, notes: str, hits: int) -> list[Figure]:
    settings = structs.replace(Settings(), data_dir=data)
    app = KebabApp(Options(watch=False, mode="lexical"), settings, indexing=Idle())
    characters = read = count = scrolled = 0
    async with app.run_test(size=WIDE) as pilot:
        await found(pilot)
        for query in queries_of(notes, hits // _HITS_OF_A_QUERY):
            app.box.value = query
            await found(pilot)
            for place in range(min(app.hits.notes, _HITS_OF_A_QUERY)):
                passage, seen, rows = await _read(pilot, app, place)
                count, scrolled = count + 1, scrolled + rows
                characters += len(passage)
                read += len(passage) if passage in seen else 0
    return [
        Figure("passages", count, ""),
        Figure("rows scrolled, of a passage", scrolled / max(count, 1), ""),
        Figure("characters that cannot be read", 100 * (1 - read / max(characters, 1)), "%", 0),
    ]


async def _read(pilot: Screen, app: KebabApp, place: int) -> tuple[str, str, int]:
    """The passage and what the marked rows show, both without blanks; and by how many rows it is scrolled."""
    preview = app.preview
    app.pin_cursor()
    app.hits.move_to(place)
    hit = app.hits.selected
    assert hit is not None
    await until(pilot, lambda: preview._hit == hit and preview.is_certain and not app.typing.is_typing)
    seen = [_marked(preview, y) for y in range(preview.size.height)]
    scrolled = 0
    while seen[-1]:
        before = preview.scroll_offset.y
        preview.scroll_by(1)
        if preview.scroll_offset.y == before:
            break
        scrolled += 1
        seen.append(_marked(preview, preview.size.height - 1))
    passage = "".join(expanded(line)[0] for line in hit.text.split("\n"))
    return passage.replace(" ", ""), "".join(seen).replace(" ", ""), scrolled


def _marked(preview: Preview, y: int) -> str:
    """The text of a row with the mark of the citation; a blank row has at least the blank."""
    before, mark, text = preview.render_line(y).text.partition(CITED)
    return text if mark and not before.strip(" 0123456789") else ""
