"""The vector index with FAISS: a cache of the stored vectors. Its loss costs time, never a result."""
