"""From a match tree to the text of an FTS5 query. No other module writes FTS5 syntax."""

from __future__ import annotations

from kebab_tui.search.match import All, Any, Gram, Match, Not, Prefix, Raw

_OR, _AND, _NOT, _LEAF = range(4)


def fts5(match: Match, level: int = _OR) -> str:
    """The text for MATCH, in parentheses if operators around it bind as tightly as `level`.

    A leaf is always quoted, so that nothing in it is syntax.
    """
    if isinstance(match, Any):
        own, text = _OR, " OR ".join(fts5(part, _AND) for part in match.parts)
    elif isinstance(match, All):
        own, text = _AND, " AND ".join(fts5(part, _NOT) for part in match.parts)
    elif isinstance(match, Not):
        own, text = _NOT, f"{fts5(match.part, _NOT)} NOT {fts5(match.without, _LEAF)}"
    elif isinstance(match, Raw):
        own, text = _OR, match.text
    else:
        own, text = _LEAF, _quoted(match.text)
        if isinstance(match, Gram):
            text = f"grams : {text}"
        elif match.columns:
            text = f"{{{' '.join(map(_quoted, match.columns))}}} : {text}"
        if isinstance(match, Prefix) or (isinstance(match, Gram) and match.prefix):
            text += " *"
    return f"({text})" if own < level else text


def _quoted(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'
