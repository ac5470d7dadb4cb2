"""Versioned JSON: one encoder for each object, one JSON Schema beside it in `schemas/`.

Additive within v1: a field may be added, none changes its meaning or goes.
"""
