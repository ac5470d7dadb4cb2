"""FAISS, a rebuildable cache of the truth: losing it costs time, never an answer."""
