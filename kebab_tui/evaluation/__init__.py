"""Judging a search by questions with known answers. Is handed the search; never opens an index."""
