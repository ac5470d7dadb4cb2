"""Paints the README's picture: the real screen on the sample notes, with the explanation open.

python docs/picture.py          writes docs/screen.svg
"""

from __future__ import annotations

import asyncio
import re
import sys
import tempfile
from pathlib import Path

from kebab_tui.settings.settings import Settings
from kebab_tui.tui.app import KebabApp
from kebab_tui.tui.launch import Options
from kebab_tui.workspace import Callbacks, Workspace

_HERE = Path(__file__).parent
_NOTES = _HERE.parent / "fixtures" / "notes"
_SIZE = (160, 42)
_QUERY = "포트 충돌 해결"
_WEB_FONT = re.compile(r"@font-face \{[^}]*\}\s*")


async def paint(data_folder: str) -> str:
    """The screen as SVG, once the answer and its explanation are on it."""
    settings = Settings(data_dir=data_folder)
    app = KebabApp(Options(query=_QUERY, explain=True), settings)
    async with app.run_test(size=_SIZE) as pilot:
        for _ in range(200):
            await pilot.pause(0.05)
            if app.explain.lines and len(app.explain.lines) > 20:
                break
        await pilot.pause(0.5)
        svg = app.export_screenshot(title="kebab-tui")
    return _WEB_FONT.sub("", svg)


def main() -> None:
    with tempfile.TemporaryDirectory() as data_folder:
        workspace = Workspace(Settings(data_dir=data_folder), data_folder)
        workspace.ingest([str(_NOTES)], Callbacks())
        workspace.embed(Callbacks())
        workspace.close()
        svg = asyncio.run(paint(data_folder))
    (_HERE / "screen.svg").write_text(svg, encoding="utf-8")
    sys.stdout.write(f"{_HERE / 'screen.svg'}: {len(svg):,} characters\n")


if __name__ == "__main__":
    main()
