"""The index on disk: SQLite database, writer lock, requests. Only this package imports sqlite3."""
