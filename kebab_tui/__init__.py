"""kebab: a keyboard-first reader's search over folders of notes.

The package root stays empty so that `kebab --version` costs no engine import.
"""

__version__ = "1.0.0"
