"""A folder of files becomes notes: walking, ignoring, decoding, parsing by kind."""
