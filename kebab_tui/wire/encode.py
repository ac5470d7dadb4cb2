"""Encodes values of the engine as objects of wire v1.

Times are UTC in ISO 8601. Scores of hits are rounded to six digits; the numbers of an explanation are exact,
so that a reader can check the sums. Texts contain no lone surrogates. Control characters and invisible
characters are written as `\\uXXXX`, which a JSON reader decodes to the same text. Prints nothing.
"""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from kebab_tui.domain.citation import Citation
from kebab_tui.domain.document import HEADING_SEPARATOR, Chunk, Document, Source
from kebab_tui.domain.facets import FACETS, values_of
from kebab_tui.domain.hit import Notice, SearchHit, SearchResponse
from kebab_tui.domain.links import is_external
from kebab_tui.domain.pages import cite
from kebab_tui.domain.text import UNSAFE
from kebab_tui.domain.versions import Version, cited_in
from kebab_tui.formats.code_languages import code_language
from kebab_tui.search.explanation import ExplainedHit, ExplainedResponse, Explanation
from kebab_tui.search.headline import HitComparison
from kebab_tui.search.ranking import NEAR_ENOUGH, PLACE_EVERY, Fused, FusionSettings
from kebab_tui.search.why_not import Filtered

if TYPE_CHECKING:
    from kebab_tui.domain.links import LinkedNote, NoteLink, NoteLinks, SimilarNote
    from kebab_tui.search.find_names import FoundNote
    from kebab_tui.search.libraries import FoundLibrary
    from kebab_tui.storage.ports import SqlResult
    from kebab_tui.vector_search import ModelInfo, Switch

Json = dict[str, Any]

_UNSAFE = re.compile(UNSAFE)
_CARD_FIELDS = (
    "folder", "name", "version", "languages", "licence", "dims", "max_tokens", "pooling", "normalise",
    "query_prefix", "passage_prefix", "vector_version",
)  # fmt: skip
_OLD_NAMES = {
    "rerank": "second_look", "rerank_depth": "look_depth", "rerank_keyword": "look_lexical",
    "rerank_name": "look_name",
}  # fmt: skip
_FIXED_SETTINGS = {"near_enough": NEAR_ENOUGH, "place_every": PLACE_EVERY}


def dumps(value: Json) -> str:
    """One line of JSON, valid UTF-8 and safe to print on a terminal."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return _UNSAFE.sub(
        lambda match: json.dumps(match[0])[1:-1], text.encode("utf-8", "replace").decode("utf-8")
    )


def search_hit(hit: SearchHit, full: bool = False) -> Json:
    detail = hit.retrieval
    encoded: Json = {
        "schema_version": "search_hit.v1",
        "rank": hit.rank,
        "score": _score(hit.score),
        "score_kind": hit.score_kind,
        "chunk_id": hit.chunk_id,
        "doc_id": hit.doc_id,
        "source_id": hit.source,
        "version": hit.version,
        "source_title": hit.source_title,
        "doc_path": hit.path,
        "location": hit.location,
        "name": hit.name,
        "title": hit.title,
        "type": hit.type,
        "lang": hit.lang,
        "code_language": code_language(hit.path, hit.type),
        "kind": hit.kind,
        "trust": hit.trust.label,
        "heading_path": _headings(hit.heading_path),
        "section_label": hit.heading_path,
        "snippet": hit.snippet,
        "highlights": [list(mark) for mark in hit.highlights],
        "citation": citation(hit.citation, hit.location),
        "retrieval": {
            "method": detail.method,
            "lexical_score": _score(detail.lexical_score),
            "lexical_rank": detail.lexical_rank,
            "vector_score": _score(detail.vector_score),
            "vector_rank": detail.vector_rank,
            "fusion_score": _score(detail.fusion_score),
            "fusion_rank": detail.fusion_rank,
            "rrf_raw": _score(detail.rrf_raw),
            "look": _score(detail.rerank_score),
        },
        "retrieval_method": hit.retrieval_method,
        "index_version": hit.index_version,
        "chunker_version": hit.chunker_version,
        "embedding_model": hit.embedding_model,
        "indexed_at": timestamp(hit.indexed_ns),
        "relaxed": hit.relaxed,
        "further": hit.further,
        "stale": hit.stale,
        "gone": hit.gone,
        "distant": hit.distant,
    }
    if full:
        encoded["text"] = hit.text
    return encoded


def search_response(response: SearchResponse, full: bool = False, scope: str | None = None) -> Json:
    """`scope`: the source around the working folder, if only that was searched."""
    return {
        "schema_version": "search_response.v1",
        "query": response.query,
        "scope": scope,
        "mode": response.mode,
        "raw": response.raw,
        "hits": [search_hit(hit, full) for hit in response.hits],
        "returned": len(response.hits),
        "total_matches": response.total_matches,
        "next_offset": response.next_offset,
        "notices": [notice(item) for item in response.notices],
        "corrections": [asdict(correction) for correction in response.corrections],
        "timings": [
            {"stage": stage.name, "kept": stage.kept or 0, "ms": round(stage.milliseconds, 3)}
            for stage in response.stages
        ],
        "index_version": response.index_version,
        "corpus_revision": response.corpus_revision,
    }


def citation(value: Citation, location: str) -> Json:
    """`location`: the absolute path of the cited file; of a version, as `git show` takes it."""
    span = value.span
    where: Json = (
        {"kind": "page", "page": span.page, "label": value.label}
        if span.page is not None
        else {"kind": "line", "start": span.first, "end": span.last}
    )
    return {
        "path": value.path,
        "location": location,
        **where,
        "version": value.version,
        "section": value.section,
        "text": str(value),
        "uri": value.uri,
    }


def notice(value: Notice) -> Json:
    return {"code": value.code, "level": value.level, "text": value.text}


def filtered(value: Filtered) -> Json:
    """The numbers of notes that the filters keep and drop."""
    return {
        "notes": value.notes,
        "passing": value.passing,
        "filters": [{"filter": name, "dropped": count} for name, count in value.dropped],
    }


def document(value: Document, location: str) -> Json:
    """`location`: the absolute path of its file; of a version, as `git show` takes it."""
    return {
        "schema_version": "document.v1",
        "doc_id": value.doc_id,
        "source_id": value.source,
        "path": value.path,
        "location": location,
        "title": value.title,
        "type": value.type,
        "lang": value.lang,
        "code_language": code_language(value.path, value.type),
        "trust": value.trust.label,
        **{
            kind.plural: dict(value.counts).get(kind.id, 0)
            if kind.many
            else list(values_of(value.facets, kind.id))
            for kind in FACETS.values()
        },
        "dated": value.dated or None,
        "dated_by": value.dated_by or None,
        "state": value.state,
        "reason": value.reason,
        "flags": list(value.flags),
        "size": value.fingerprint.size,
        "modified_at": timestamp(value.fingerprint.mtime_ns),
        "content_hash": value.content_hash,
        "chunks": value.chunks,
        "indexed_at": timestamp(value.indexed_ns),
    }


def chunk(value: Chunk, of: Document, location: str, version: Version | None = None) -> Json:
    cited = cite(of, value.span, value.heading_path)
    if version is not None:
        cited = cited_in(cited, version)
    return {
        "schema_version": "chunk.v1",
        "chunk_id": value.chunk_id,
        "doc_id": value.doc_id,
        "ordinal": value.ordinal,
        "kind": value.kind,
        "heading_path": _headings(value.heading_path),
        "citation": citation(cited, location),
        "text": value.text,
    }


def source(value: Source, source_score: float, versions: Sequence[str] = ()) -> Json:
    return {
        "schema_version": "source.v1",
        "source_id": value.source_id,
        "title": value.title,
        "description": value.description,
        "root": value.root,
        "include": list(value.include),
        "exclude": list(value.exclude),
        "trust": value.trust.label,
        "rules": list(value.rules),
        "version_label": value.version_label,
        "weight": value.weight,
        "stars": value.stars,
        "code": value.code,
        "source_score": source_score,
        "use": value.use,
        "state": value.state,
        "versions": list(versions),
        "documents": value.documents,
        "chunks": value.chunks,
    }


def error(code: str, message: str, hint: str) -> Json:
    return {"schema_version": "error.v1", "code": code, "message": message, "hint": hint}


def listing(kind: str, items: Iterable[Json], total: int) -> Json:
    """A list of objects, such as `document_list.v1` and `source_list.v1`."""
    found = list(items)
    return {"schema_version": f"{kind}_list.v1", "items": found, "returned": len(found), "total": total}


def found_notes(query: str, notes: Iterable[FoundNote]) -> Json:
    """The notes of `kebab find`, best first."""
    items = [
        {
            "doc_id": note.document.doc_id,
            "source_id": note.document.source,
            "path": note.document.path,
            "location": note.location,
            "name": note.document.name,
            "title": note.document.title,
            "modified_at": timestamp(note.document.fingerprint.mtime_ns),
            "matched": None
            if note.matched is None
            else {
                "kind": note.matched.kind,
                "text": note.matched.text,
                "match": note.matched.match.name.lower(),
                "highlights": [list(one) for one in note.matched.highlights],
            },
        }
        for note in notes
    ]
    return {
        "schema_version": "found_note_list.v1",
        "query": query,
        "items": items,
        "returned": len(items),
    }


def version(value: Version) -> Json:
    return {
        "schema_version": "version.v1",
        "version_id": value.version_id,
        "source_id": value.source,
        "label": value.label,
        "kind": value.kind,
        "place": value.place,
        "prefix": value.prefix,
        "ref": value.ref or None,
        "commit": value.commit or None,
        "now": value.now or None,
        "state": value.health,
        "remark": value.remark,
        "documents": value.notes,
        "chunks": value.passages,
    }


def version_list(values: Sequence[Version]) -> Json:
    """The versions of `kebab source version list`."""
    return listing("version", map(version, values), len(values))


def found_libraries(
    name: str, query: str, found: Iterable[FoundLibrary], versions: Mapping[str, Sequence[str]]
) -> Json:
    """The folders of `kebab source search`, best first: each a source.v1 with more fields."""
    items = [
        source(one.source, one.source_score, versions.get(one.source.source_id, ()))
        | {"score": one.score, "parts": one.parts._asdict(), "content_hits": one.content_hits}
        for one in found
    ]
    return {
        "schema_version": "library_list.v1",
        "name": name,
        "query": query,
        "items": items,
        "returned": len(items),
    }


def link_list(target: str, direction: str, found: NoteLinks) -> Json:
    """The links of `kebab links` in one direction."""
    items = [note_link(one) for one in found.links]
    return {
        "schema_version": "link_list.v1",
        "query": target,
        "direction": direction,
        "items": items,
        "returned": len(items),
        "total": found.total,
    }


def note_link(value: NoteLink) -> Json:
    link, target, cited, place = value.link, value.target, value.target_citation, value.place
    external = link.form == "url" or is_external(link.path)
    return {
        "note": _linked_note(value.note),
        "citation": citation(value.citation, _location(value.note)),
        "column": link.column,
        "form": link.form,
        "text": link.text,
        "written": str(link),
        "url": link.path if external else None,
        "target": None
        if target is None or cited is None or place is None
        else {
            "doc_id": target.doc_id,
            "source_id": target.source,
            "path": target.path,
            "location": _location(place),
            "title": target.title,
            "citation": citation(cited, _location(place)),
        },
        "file": value.file or None,
        "problem": value.problem,
        "candidates": [_linked_note(one) for one in value.candidates],
    }


def _linked_note(value: LinkedNote) -> Json:
    return {
        "doc_id": value.doc_id,
        "source_id": value.source,
        "path": value.path,
        "location": _location(value),
        "title": value.title,
    }


def _location(note: LinkedNote) -> str:
    return os.path.join(note.root, os.fsdecode(note.raw_path))


def similar_list(target: str, notes: Iterable[SimilarNote]) -> Json:
    """The notes of `kebab similar`, the nearest first."""
    items = [
        {
            "doc_id": note.document.doc_id,
            "source_id": note.document.source,
            "path": note.document.path,
            "location": os.path.join(note.root, os.fsdecode(note.document.raw_path)),
            "title": note.document.title,
            "lang": note.document.lang,
            "cosine": _score(note.cosine),
            "citation": citation(note.citation, os.path.join(note.root, os.fsdecode(note.document.raw_path))),
            "text": note.text,
        }
        for note in notes
    ]
    return {"schema_version": "similar_list.v1", "query": target, "items": items, "returned": len(items)}


def sql_result(found: SqlResult) -> Json:
    """The answer of `kebab sql`; a BLOB as hexadecimal digits."""
    rows = [[cell.hex() if isinstance(cell, bytes) else cell for cell in row] for row in found.rows]
    return {
        "schema_version": "sql_result.v1",
        "columns": list(found.columns),
        "rows": [[_finite(cell) for cell in row] for row in rows],
        "returned": len(rows),
        "cut": found.cut or None,
    }


def _finite(cell: object) -> object:
    """JSON has no infinity."""
    return str(cell) if isinstance(cell, float) and not math.isfinite(cell) else cell


def _headings(path: str) -> list[str]:
    return path.split(HEADING_SEPARATOR) if path else []


def _score(value: float | None) -> float | None:
    return None if value is None else round(value, 6)


def timestamp(nanoseconds: int) -> str | None:
    if not nanoseconds:
        return None
    return (
        datetime.fromtimestamp(nanoseconds / 1e9, UTC)
        .isoformat(timespec="milliseconds")
        .replace("+00:00", "Z")
    )


def explanation(explained: ExplainedHit, among: ExplainedResponse) -> Json:
    """One hit of a response: its tree, and older fields that repeat it; null where its mode has none."""
    tree, near, settings = explained.tree, explained.sentence, among.fusion
    encoded: Json = {"schema_version": "explanation.v1", "headline": explained.headline}
    encoded["above"] = None if explained.above is None else hit_comparison(explained.above)
    encoded["tree"] = _tree(tree)
    encoded["date"] = {"day": explained.hit.day, "from": explained.hit.day_from}
    encoded |= dict.fromkeys(("lexical", "semantic", "fusion", "settings"))
    for step in tree.children:
        if step.label == "words" and step.children:
            encoded["lexical"] = _lexical(step)
    if near is not None:
        span = {"sentence": explained.hit.text[near.start : near.end], "start": near.start, "end": near.end}
        encoded["semantic"] = _values(tree, cosine="meaning/cosine") | span | {"sentence_cosine": near.cosine}
    if settings is not None:
        if explained.fused is not None:
            encoded["fusion"] = _fusion(explained.fused, tree, settings, among.strongest_bm25)
        named = {_OLD_NAMES.get(name, name): value for name, value in asdict(settings).items()}
        encoded["settings"] = named | _FIXED_SETTINGS | {"other_script_share": settings.other_script_share}
    return encoded


def hit_comparison(found: HitComparison) -> Json:
    """The losses of the parts sum to the difference."""
    return {
        "text": found.text,
        "other_rank": found.other_rank,
        "score": found.score,
        "other_score": found.other_score,
        "difference": found.difference,
        "decides": found.decides,
        "reason": found.reason,
        "parts": [part._asdict() | {"loss": part.loss} for part in found.parts],
    }


def _tree(node: Explanation) -> Json:
    return node._asdict() | {"children": [_tree(child) for child in node.children]}


def _values(node: Explanation, **paths: str) -> Json:
    """Older fields: the value at each path of labels below a node."""
    return {name: node.at(*path.split("/")).value for name, path in paths.items()}


def _lexical(words: Explanation) -> Json:
    """The only object with a raw bm25."""
    bm25 = words.at("bm25")
    any_term = bm25.children[0]
    fields = [count.label for count in any_term.at("tf").children[::2]]
    return {
        "bm25": -bm25.value,
        "score": words.value,
        **_values(any_term, length="norm/length", average_length="norm/average_length"),
        **_values(any_term, chunks="idf/passages", length_norm="norm"),
        "weights": _values(any_term.at("tf"), **{name: f"{name} weight" for name in fields}),
        "terms": [
            {"term": term.label, "tf": _values(term, **{name: f"tf/{name}" for name in fields})}
            | _values(term, weighted_tf="tf", df="idf/df", idf="idf")
            | {"contribution": term.value}
            for term in bm25.children
        ],
    }


def _fusion(fused: Fused, tree: Explanation, settings: FusionSettings, strongest: float) -> Json:
    evidence, rerank = fused.evidence, None
    if settings.rerank:
        raw = "rerank/rerank_raw"
        rerank = _values(
            tree, lexical=f"{raw}/words", vector=f"{raw}/meaning", name=f"{raw}/name", sum="rerank"
        )
        rerank |= {"assumed_cosine": fused.assumed_cosine, "strongest_bm25": -strongest}

    def leg(label: str, rank: int | None, weight: float, **found: float | None) -> Json:
        return {"rank": rank, **found, "weight": weight} | _values(tree, share=f"fused/rrf_raw/{label}")

    bm25 = None if evidence.strength is None else -evidence.strength
    by_words = leg("words", evidence.lexical_rank, settings.lexical_weight, bm25=bm25)
    by_meaning = leg("meaning", evidence.vector_rank, settings.vector_weight, cosine=evidence.cosine)
    return {
        "legs": {"lexical": by_words, "vector": by_meaning | {"other_script": evidence.other_script}},
        **_values(tree, rrf_raw="fused/rrf_raw", fusion_score="fused"),
        "fusion_rank": fused.fusion_rank,
        "look": rerank,
        "look_rank": fused.rerank_rank,
        "kept_place": fused.kept_place,
        "named": fused.named,
        "name_place": fused.name_place,
        "rank": fused.rank,
    }


def model(info: ModelInfo) -> Json:
    listed, card = info.listed, info.listed.card
    return {
        "schema_version": "model.v1",
        "id": listed.model_id,
        "bundled": listed.bundled,
        "used": info.used,
        "problem": listed.problem,
        "vectors": info.vectors,
        **{name: None if card is None else getattr(card, name) for name in _CARD_FIELDS},
        "sha256": None if card is None else card.checksums,
    }


def model_check(found: Iterable[tuple[str, list[str]]]) -> Json:
    models = [{"id": model_id, "problems": problems} for model_id, problems in found]
    return {
        "schema_version": "model_check.v1",
        "ok": not any(each["problems"] for each in models),
        "models": models,
    }


def model_switch(switch: Switch) -> Json:
    return {
        "schema_version": "model_switch.v1",
        "model": switch.model,
        "before": switch.before,
        "pending": switch.pending,
        "passages": switch.total,
        "seconds": round(switch.seconds, 3),
    }
