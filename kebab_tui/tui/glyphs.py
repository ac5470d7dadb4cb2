"""Chooses between Unicode and ASCII glyphs, once for a process.

Modules bind their glyphs when they are imported. So `use_ascii` must be called before the
first widget is imported. Text from notes stays as it is.
"""

from __future__ import annotations

_PLAIN = str.maketrans("×…·→“”–—", 'x~->""--')
_is_ascii = False


def glyph(drawn: str, plain: str) -> str:
    """A glyph of our own, given in Unicode and in ASCII."""
    return plain if _is_ascii else drawn


def own_text(text: str) -> str:
    """A text of the engine, whose signs become ASCII too."""
    return text.translate(_PLAIN) if _is_ascii else text


def use_ascii() -> None:
    """From now on all glyphs, borders and scrollbars are ASCII."""
    from textual._border import BORDER_CHARS, BORDER_LOCATIONS
    from textual.scrollbar import ScrollBarRender

    global _is_ascii
    _is_ascii = True
    # Styles name borders of many kinds, also those of Textual's own widgets.
    for kind in BORDER_CHARS.keys() - {"", "none", "hidden", "blank"}:
        BORDER_CHARS[kind] = BORDER_CHARS["ascii"]
        BORDER_LOCATIONS[kind] = BORDER_LOCATIONS["ascii"]
    ScrollBarRender.VERTICAL_BARS = ScrollBarRender.HORIZONTAL_BARS = [" "] * 8
