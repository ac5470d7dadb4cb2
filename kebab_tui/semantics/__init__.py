"""Searching by meaning, wired: the model of an index, its encoder, its vectors, and how they are."""
