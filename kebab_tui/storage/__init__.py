"""SQLite, the truth: schema, the one writer, the readers. Nobody else imports sqlite3."""
