"""How the answers of tools read: as text for a model, and as JSON for programs; both have the passages.

A passage stands in a fence longer than any fence inside it, below a line with its citation, its source, how
far the note is trusted, and its title. No text of a note begins a line outside of a fence, so that none can
imitate a line of ours. Characters that a reader would not see are made visible.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kebab_tui import __version__
from kebab_tui.domain.citation import Citation, Located
from kebab_tui.domain.document import Source
from kebab_tui.domain.errors import Failure, NotIndexedError
from kebab_tui.domain.note_uri import uri_of
from kebab_tui.domain.text import one_line, sanitize
from kebab_tui.server.view import Passages, ReadLines, RelatedLink, RelatedNotes, ViewStatus
from kebab_tui.wire import llm_text
from kebab_tui.wire.encode import Json, notice, timestamp

if TYPE_CHECKING:
    from kebab_tui.indexing.quote import QuotedHit, QuotedNote
    from kebab_tui.search.libraries import FoundLibrary

_DIGITS = 6
_NOTHING = "No passages found."


@dataclass(frozen=True, slots=True)
class ToolAnswer:
    """For the model, and for programs."""

    text: str
    data: Json


def visible(value: Any) -> Any:
    """JSON with sanitized texts: some clients show it to the model, too."""
    if isinstance(value, str):
        return sanitize(value)
    if isinstance(value, list):
        return [visible(one) for one in value]
    if isinstance(value, dict):
        return {key: visible(one) for key, one in value.items()}
    return value


def passages(found: Passages) -> ToolAnswer:
    noun = "passage" if found.total == 1 else "passages"
    parts = [f"{len(found.hits)} of {found.total:,} {noun}:" if found.hits else _NOTHING]
    for number, quoted in enumerate(found.hits, 1):
        hit = quoted.hit
        head = f"{number}. {llm_text.cited(hit.citation)} ({_facts(quoted)})"
        title = one_line(" > ".join((hit.title, *hit.headings)))
        parts.append(f"{head} {title}\n{llm_text.fenced(hit.text)}")
    data: Json = {"schema_version": "mcp_search.v1", "query": found.query, **_page(found)}
    return ToolAnswer("\n\n".join((*parts, *_remarks(found))), data)


def docs(found: Passages, library: Source, version: str = "") -> ToolAnswer:
    facts = {quoted.hit.chunk_id: _facts(quoted) for quoted in found.hits}
    text = llm_text.passages([quoted.hit for quoted in found.hits], [library], facts)
    data: Json = {
        "schema_version": "mcp_docs.v1",
        "library_id": library.source_id,
        "version": version,
        "rules": list(library.rules),
        "query": found.query,
        **_page(found),
    }
    return ToolAnswer("\n\n".join((text or _NOTHING, *_remarks(found))), data)


def lines(found: ReadLines) -> ToolAnswer:
    document, note = found.note.document, found.note
    numbered = "\n".join(f"{number}: {line}" for number, line in enumerate(found.lines, found.first))
    size = f"page of {note.pages:,}" if note.pages else f"{len(note.lines):,} lines in all"
    facts = " · ".join((document.source, document.trust.label, *_state(note.located), size))
    head = f"Lines of {llm_text.cited(found.citation)} ({facts}) {one_line(document.title)}"
    parts = [head, llm_text.fenced(numbered)]
    data: Json = {
        "schema_version": "mcp_read.v1",
        "asked": found.asked,
        **_citation(document.source, document.raw_path, found.citation, note.located),
        "title": document.title,
        "trust": document.trust.label,
        "total_lines": len(note.lines),
        "text": numbered,
        "truncated": found.truncated,
    }
    if found.truncated:
        parts.append("Note: the budget of tokens is spent.")
    if found.next is not None:
        data["next"] = str(found.next)
        parts.append(f"To read on: {llm_text.cited(found.next)}")
    return ToolAnswer("\n".join(parts), data)


def related(found: RelatedNotes) -> ToolAnswer:
    note = found.note
    parts = [f"Related to {_cited(note)}"]
    parts += _section("Links", found.links, found.total_links)
    parts += _section("Linked from", found.backlinks, found.total_backlinks)
    if found.similar:
        parts += ["", "Similar notes, by the cosine of their vectors:"]
        parts += [f"- {cosine:.2f} {_cited(quoted)}" for quoted, cosine in found.similar]
    parts += [f"\nNote: {one_line(one.text)}" for one in found.notices]
    data: Json = {
        "schema_version": "mcp_related.v1",
        **_note(note),
        "links": [_link(one) for one in found.links],
        "total_links": found.total_links,
        "backlinks": [_link(one) for one in found.backlinks],
        "total_backlinks": found.total_backlinks,
        "similar": [_note(quoted) | {"cosine": round(cosine, _DIGITS)} for quoted, cosine in found.similar],
        "notices": [notice(one) for one in found.notices],
    }
    return ToolAnswer("\n".join(parts), data)


def _section(title: str, links: Sequence[RelatedLink], total: int) -> Iterable[str]:
    if total:
        yield ""
        yield f"{title}, {len(links)} of {total:,}:"
    for one in links:
        arrow = "" if one.target is None else f" → {_cited(one.target)}"
        yield f"- {_cited(one.place)}: {one_line(str(one.link))}{arrow}"


def _cited(note: QuotedNote) -> str:
    return f"{llm_text.cited(note.citation)} ({note.document.source}) {one_line(note.document.title)}"


def _link(one: RelatedLink) -> Json:
    found = _note(one.place) | {"written": str(one.link), "text": one.link.text}
    return found if one.target is None else found | {"target": _note(one.target)}


def _note(note: QuotedNote) -> Json:
    document = note.document
    found = _citation(document.source, document.raw_path, note.citation, note.located)
    return found | {"title": document.title, "trust": document.trust.label}


def libraries(found: Sequence[FoundLibrary], versions: Mapping[str, Sequence[str]]) -> ToolAnswer:
    listed = [
        {
            "library_id": one.source.source_id,
            "title": one.source.title,
            "description": one.source.description,
            "snippets": one.source.chunks,
            "source_score": one.source_score,
            "score": round(one.score, _DIGITS),
            "versions": [
                *filter(None, (one.source.version_label,)),
                *versions.get(one.source.source_id, ()),
            ],
        }
        for one in found
    ]
    return ToolAnswer(
        llm_text.library_list(found, versions), {"schema_version": "mcp_libraries.v1", "libraries": listed}
    )


def status(found: ViewStatus) -> Json:
    status: Json = {
        "schema_version": "serve_status.v1",
        "version": __version__,
        "state": "ready",
        "corpus_revision": found.corpus_revision,
        "is_watched": found.is_watched,
        "sources": [
            {"source": one.source.source_id, "title": one.source.title, "passages": one.source.chunks}
            for one in found.libraries
        ],
    }
    if found.indexed_ns:
        status["indexed_at"] = timestamp(found.indexed_ns)
    return status


def no_status(failure: Failure) -> Json:
    """The status of a server whose index cannot answer."""
    return {
        "schema_version": "serve_status.v1",
        "version": __version__,
        "state": "not_indexed" if failure.code == NotIndexedError.code else "unavailable",
        "sources": [],
        "problem": failure.message,
    }


def _page(found: Passages) -> Json:
    page: Json = {
        "hits": [_hit(quoted) for quoted in found.hits],
        "returned": len(found.hits),
        "total_matches": found.total,
        "truncated": found.truncated,
        "notices": [notice(one) for one in found.notices],
        "corpus_revision": found.corpus_revision,
    }
    if found.next_offset is not None:
        page["next_offset"] = found.next_offset
    return page


def _hit(quoted: QuotedHit) -> Json:
    hit = quoted.hit
    return {
        **_citation(hit.source, hit.raw_path, hit.citation, quoted.located),
        "title": hit.title,
        "heading": hit.heading_path,
        "kind": hit.kind,
        "type": hit.type,
        "trust": hit.trust.label,
        "score": round(hit.score, _DIGITS),
        "score_kind": hit.score_kind,
        "chunk_id": hit.chunk_id,
        "text": hit.text,
    }


def _citation(source: str, raw_path: bytes, citation: Citation, located: Located) -> Json:
    return {
        "citation": str(citation),
        "uri": uri_of(source, raw_path, citation.span, citation.version),
        "source": source,
        "version": citation.version,
        "state": located.state,
        "shift": located.shift,
    }


def _facts(quoted: QuotedHit) -> str:
    return " · ".join((quoted.hit.source, quoted.hit.trust.label, *_state(quoted.located)))


def _state(located: Located) -> Iterable[str]:
    if located.state == "moved":
        unit = "lines" if located.span.page is None else "pages"
        yield f"moved {located.shift:+,} {unit} since it was indexed"
    elif located.state == "changed":
        yield "changed since it was indexed"


def _remarks(found: Passages) -> Iterable[str]:
    remarks = [one_line(one.text) for one in found.notices]
    if found.next_offset is not None:
        why = "the budget of tokens is spent; " if found.truncated else ""
        remarks.append(f"{why}more passages from offset {found.next_offset} on")
    if remarks:
        yield "\n".join(f"Note: {one}" for one in remarks)
