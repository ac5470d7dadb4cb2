"""File formats: parse the bytes of a file into a note of blocks with exact line numbers."""
