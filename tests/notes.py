"""Small notes for tests, made without files."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence

from kebab_tui.domain.change import SaveNote
from kebab_tui.domain.citation import SourceSpan
from kebab_tui.domain.document import Document, Fingerprint, Passage, Source, Trust
from kebab_tui.domain.facets import Facet
from kebab_tui.domain.ids import SourceId, document_id

SOURCE = SourceId("notes")
MADE_BY = "parser@1/chunker"


def a_source(root: str = "/notes", name: str = "notes") -> Source:
    return Source(SourceId(name), name, root)


def passages_of(texts: Sequence[str], heading: str = "Heading") -> tuple[Passage, ...]:
    """One passage for each text, one below the other with a blank line between."""
    made, line = [], 1
    for text in texts:
        height = text.count("\n") + 1
        made.append(Passage("info", heading, text, SourceSpan(line, line + height - 1)))
        line += height + 1
    return tuple(made)


def a_note(
    path: str,
    *texts: str,
    title: str = "A title",
    heading: str = "Heading",
    tags: tuple[str, ...] = (),
    names: Mapping[str, str] | None = None,
    trust: Trust | None = None,
    mtime_ns: int = 1_000,
    source: SourceId = SOURCE,
) -> SaveNote:
    """What the pipeline would make of a note whose passages are `texts`; `names` by kind of facet."""
    content = hashlib.sha256("\n\n".join(texts).encode()).hexdigest()
    document = Document(
        doc_id=document_id(source, path, "first", 0),
        source=source,
        path=path,
        raw_path=path.encode(),
        title=title,
        type="markdown",
        lang="en",
        trust=trust or Trust.PRIMARY,
        fingerprint=Fingerprint(len(texts), mtime_ns, mtime_ns, 7),
        content_hash=content,
        facets=tuple(Facet(*one) for one in (*(("tag", tag) for tag in tags), *(names or {}).items())),
    )
    return SaveNote(document, passages_of(texts, heading), trust, "chunker", MADE_BY)
