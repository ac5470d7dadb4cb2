"""The index in PostgreSQL: one server or several shards, each with pgvector."""
