"""From what is typed to what is found: query language, expressions, snippets. Knows ports, not engines."""
