"""The preview pane: the source of a hit at the cited lines."""
