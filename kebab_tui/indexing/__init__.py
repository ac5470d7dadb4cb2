"""Keeps the store in step with the folders of notes."""
