"""Values and rules. Does no I/O and imports nothing of ours outside this package."""
