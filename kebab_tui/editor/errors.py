"""The one failure of this package."""

from __future__ import annotations

from kebab_tui.domain.errors import KebabError


class EditorError(KebabError):
    """No editor is there, or the one that was chosen could not open the note."""

    code = "editor_failed"
