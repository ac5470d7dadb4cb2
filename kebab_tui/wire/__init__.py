"""Versioned JSON: encoders, and one JSON Schema for each object in `schemas/`.

Within v1, fields may be added; none is removed and none changes its meaning.
"""
