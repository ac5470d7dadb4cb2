"""Embedding: turns texts into vectors; model cards, model folders and the encoder.

Importing this package, the card or the model folders loads neither onnxruntime nor tokenizers.
"""
