"""The forms in which passages are copied: for a mail, a note, an editor, a browser, Obsidian, a model.

Pure, except for a look for Obsidian's folder above a note. A form is one `CopyFormat` here and one action of
the copy menu. `copy` sanitises the text.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import quote

from kebab_tui.domain.citation import SourceSpan
from kebab_tui.tui.messages import LocatedHit
from kebab_tui.tui.note_hits import is_whole, path_of
from kebab_tui.tui.widgets.segments import STEP, sanitize_line

_MARKUP = re.compile(r"([\\`*_\[\]<>|])")
_NOT_IN_OBSIDIAN_HEADINGS = re.compile(r"[#|^:\\\[\]]+|%%")
_VAULT = ".obsidian"


@dataclass(frozen=True, slots=True)
class CopyFormat:
    """`text`: one passage in this form, empty if it has none; `between`: what separates several."""

    id: str
    text: Callable[[LocatedHit], str]
    between: str = "\n"


def citation_text(place: LocatedHit) -> str:
    """`path:L12-L34` with the present lines of the passage; always one line."""
    return sanitize_line(str(replace(place.hit.citation, span=_span(place))))


def quote_text(place: LocatedHit) -> str:
    """The passage as a quotation, with its title, headings and link below."""
    lines = [f"> {line}".rstrip() for line in place.hit.text.split("\n")] if place.hit.text else []
    return "\n".join((*lines, *([">"] if lines else []), f"> — {link_text(place)}"))


def link_text(place: LocatedHit) -> str:
    """A Markdown link: `[title › heading](file:///…#L12-L34)`; a version has no URL, but a citation."""
    title = _MARKUP.sub(r"\\\1", sanitize_line(title_text(place)))
    return f"{title} ({citation_text(place)})" if place.hit.version else f"[{title}]({url_text(place)})"


def title_text(place: LocatedHit) -> str:
    return f" {STEP} ".join((place.hit.title or place.hit.name, *place.hit.headings))


def path_text(place: LocatedHit) -> str:
    """`/path/to/note.md:12`, as editors and terminals open it; a document with pages has no line."""
    span = _span(place)
    path = sanitize_line(place.hit.location)
    if span.page is not None or is_whole(place.hit):
        return path
    return f"{path}:{place.position.line if place.position else span.first}"


def url_text(place: LocatedHit) -> str:
    """Empty for a version."""
    if place.hit.version:
        return ""
    span = _span(place)
    anchor = f"#page={span.page}" if span.page is not None else "" if is_whole(place.hit) else _lines(span)
    return Path(path_of(place.hit)).as_uri() + anchor


def _lines(span: SourceSpan) -> str:
    return f"#L{span.first}" if span.first == span.last else f"#L{span.first}-L{span.last}"


def obsidian_text(place: LocatedHit) -> str:
    """`obsidian://open?vault=…&file=…`, at the heading; empty outside of a vault."""
    path = path_of(place.hit)
    vault = "" if place.hit.version else vault_of(path)
    if not vault:
        return ""
    inner = os.path.relpath(path, vault).removesuffix(".md")
    heading = place.hit.headings[-1:] if place.hit.type == "markdown" else ()
    for one in heading:
        inner += f"#{' '.join(_NOT_IN_OBSIDIAN_HEADINGS.sub(' ', one).split())}"
    name = os.path.basename(vault)
    return f"obsidian://open?vault={_encoded(name)}&file={_encoded(inner)}"


def vault_of(path: str) -> str:
    """The nearest folder above a file that Obsidian manages; empty if there is none."""
    folder = os.path.dirname(path)
    while not os.path.isdir(os.path.join(folder, _VAULT)):
        above = os.path.dirname(folder)
        if above == folder:
            return ""
        folder = above
    return folder


def _encoded(text: str) -> str:
    return quote(os.fsencode(text), safe="")


def _span(place: LocatedHit) -> SourceSpan:
    return (place.located or place.hit.citation).span


CONTEXT = "context"
"""Made by the engine: it needs the rules of the sources."""

COPY_FORMATS = (
    CopyFormat("quote", quote_text, between="\n\n"),
    CopyFormat("citation", citation_text),
    CopyFormat("link", link_text),
    CopyFormat("path", path_text),
    CopyFormat("url", url_text),
    CopyFormat("obsidian", obsidian_text),
)


def copy_forms(places: Sequence[LocatedHit], context: str) -> dict[str, str]:
    """The text of each form that all the passages have, the first one by default."""
    texts = {form: [form.text(place) for place in places] for form in COPY_FORMATS}
    forms = {form.id: form.between.join(parts) for form, parts in texts.items() if all(parts)}
    return forms | ({CONTEXT: context} if context else {})
