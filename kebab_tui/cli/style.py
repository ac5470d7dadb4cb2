"""The few marks that output for people carries, and none where they would not be seen."""

from __future__ import annotations

from dataclasses import dataclass

from kebab_tui.cli.terminal import Terminal, hyperlink

_RESET = "\x1b[0m"


@dataclass(frozen=True, slots=True)
class Style:
    """Paints for one stream. Texts must be visible already: this adds the only escapes there are."""

    terminal: Terminal

    def match(self, text: str) -> str:
        return self._painted("1;4", text)

    def dim(self, text: str) -> str:
        return self._painted("2", text)

    def strong(self, text: str) -> str:
        return self._painted("1", text)

    def file_link(self, text: str, path: bytes) -> str:
        """`text`, leading to the file at an absolute path where the terminal follows links."""
        if not self.terminal.links:
            return text
        from urllib.parse import quote

        return hyperlink(text, "file://" + quote(path))

    def _painted(self, codes: str, text: str) -> str:
        return f"\x1b[{codes}m{text}{_RESET}" if self.terminal.colour and text else text
