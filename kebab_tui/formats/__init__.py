"""File formats: a file of one kind becomes a note of blocks with exact spans."""
