"""Texts become vectors: model cards, the catalogue of models, and the encoder.

This root is empty on purpose: importing it, the card or the catalogue loads no engine.
"""
