"""Search: query language, keyword and semantic retrieval, fusion, explanations. Knows only its own ports."""
