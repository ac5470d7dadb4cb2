"""How readable the list of hits is at 120x36, over many queries, and what painting it costs.

Shares are printed as what is missing: a figure meets its goal if it is at most that.

    python -m tests.benchmarks.screen.readable NOTES

NOTES: a folder of real notes. The queries are words of their titles.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing
from statistics import mean

from rich.cells import cell_len
from textual.app import App, ComposeResult

from kebab_tui.domain.hit import SearchResponse
from kebab_tui.domain.query import SearchQuery
from kebab_tui.settings.settings import Settings
from kebab_tui.tui.widgets.hit_rows import hit_lines
from kebab_tui.tui.widgets.hits_list import HitsList
from kebab_tui.tui.widgets.segments import ELLIPSIS
from kebab_tui.workspace import Callbacks, Workspace
from tests.benchmarks.measuring import Figure, median, report, seconds

QUERIES = 60
_PANE = (52, 29)
"""The inside of the hits' frame at 120x36, its scrollbar included."""


class _Pane(App[None]):
    def compose(self) -> ComposeResult:
        yield HitsList()


def measure(data: str) -> list[Figure]:
    with closing(Workspace(Settings(), data)) as workspace:
        responses = list(_responses(workspace))
    return asyncio.run(_measured(responses))


def _responses(workspace: Workspace) -> Iterator[SearchResponse]:
    hits = workspace.recent(2000, 0).hits
    for number, hit in enumerate(hits[:: max(1, len(hits) // QUERIES)][:QUERIES]):
        words = hit.title.replace("`", "").split()
        yield workspace.search(SearchQuery(" ".join(words[: 1 + number % 3]), "lexical", k=50))


async def _measured(responses: list[SearchResponse]) -> list[Figure]:
    snippets: list[float] = []
    lines: list[float] = []
    titles: list[bool] = []
    painting: list[float] = []
    app = _Pane()
    async with app.run_test(size=_PANE) as pilot:
        hits = app.query_one(HitsList)
        for response in responses:
            hits.show(response)
            await pilot.pause()
            hits.notify_style_update()  # forgets the painted rows
            painting.append(1000 * seconds(lambda: [hits.render_line(y) for y in range(hits.size.height)]))
            for row in hits._rows:
                first, second = hit_lines(row.hit, hits.style_of(row, hits.scrollable_content_region.width))
                titles.append(not any(text.endswith(ELLIPSIS) for text, role in first if role == "title"))
                if cell_len(row.hit.snippet) >= 2 * _PANE[0]:
                    shown = "".join(text for text, role in second if role in ("text", "match"))
                    snippets.append(cell_len(shown.strip()) / _PANE[0])
                    lines.append(cell_len("".join(text for text, _ in second).strip()) / _PANE[0])
    return [
        Figure(f"titles that are cut, of {len(titles):,}", 100 * (1 - mean(titles)), "%", 5),
        Figure(f"width without snippet, mean of {len(snippets):,}", 100 * (1 - mean(snippets)), "%", 10),
        Figure("width without snippet or count of passages, mean", 100 * (1 - mean(lines)), "%", 10),
        Figure("painting a page of hits anew, p50", median(painting), "ms"),
    ]


def main() -> None:
    with tempfile.TemporaryDirectory() as data:
        with closing(Workspace(Settings(), data)) as workspace:
            workspace.ingest([sys.argv[1]], Callbacks())
        report("the rows of hits", measure(data))


if __name__ == "__main__":
    main()
