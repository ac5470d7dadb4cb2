"""Which editor opens a note, with which arguments, and how it is run. Knows no screen and no index."""
