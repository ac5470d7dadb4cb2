"""What the list, the preview and the explanation scroll in.

A longer or shorter text is a matter of the view and its scrollbar: the library would lay
out the whole screen anew and repaint every scrollbar on it, at each move of the cursor.
"""

from __future__ import annotations

from textual.geometry import Size
from textual.reactive import Reactive
from textual.scroll_view import ScrollView


class LineView(ScrollView):
    """A scroll view whose text may change its size without a new layout."""

    virtual_size: Reactive[Size] = Reactive(Size(0, 0), layout=False)
    """Width and height of all the text; a scrollbar that comes or goes still makes a layout."""

    def watch_virtual_size(self, size: Size) -> None:
        if self.is_attached and self.size:
            self._scroll_update(size)
        elif self.is_attached and size.height > self.app.size.height:
            self.show_vertical_scrollbar = True  # found out while laying out, it would mean to do that again
