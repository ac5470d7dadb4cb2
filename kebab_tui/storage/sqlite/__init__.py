"""The local index: one SQLite database."""
