"""Judging a search: questions with known answers, metrics, and what a difference is worth. Imports nothing here."""
