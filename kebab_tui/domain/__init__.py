"""Values and rules. Does no I/O and imports no other package of the project."""
