"""`explanation.v1`: why a hit ranks where it does, with every part that its numbers are made of.

Nothing is rounded: a reader who adds the parts up gets the sums.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict

from kebab_tui.search.explanation import (
    ExplainedHit,
    ExplainedResponse,
    Filtered,
    LexicalExplanation,
    SemanticExplanation,
)
from kebab_tui.search.ranking import NEAR_ENOUGH, OTHER_SCRIPT_SHARE, PLACE_EVERY, Fused, FusionSettings
from kebab_tui.wire.encode import Json


def explanation(explained: ExplainedHit, among: ExplainedResponse) -> Json:
    """One hit of an answer; parts that its mode has not are null."""
    lexical, semantic, fused = explained.lexical, explained.semantic, explained.fused
    settings = among.fusion
    strongest = strongest_bm25(among.candidates)
    return {
        "schema_version": "explanation.v1",
        "lexical": None if lexical is None else _lexical(lexical),
        "semantic": None if semantic is None else _semantic(semantic),
        "fusion": None if fused is None or settings is None else _fusion(fused, settings, strongest),
        "settings": None if settings is None else _settings(settings),
    }


def filtered(value: Filtered) -> Json:
    """What the filters of the whole answer leave of the notes."""
    return {
        "notes": value.notes,
        "passing": value.passing,
        "filters": [{"filter": name, "dropped": count} for name, count in value.dropped],
    }


def strongest_bm25(candidates: Iterable[Fused]) -> float:
    """Of all candidates, as a positive number: what a second look divides by; 0 when no word was found."""
    return max((one.evidence.strength or 0.0 for one in candidates), default=0.0)


def _lexical(explanation: LexicalExplanation) -> Json:
    """The only place of the wire where a raw bm25 appears, named as such."""
    return {
        "bm25": explanation.bm25,
        "score": explanation.score,
        "length": explanation.length,
        "average_length": explanation.average_length,
        "chunks": explanation.chunks,
        "length_norm": explanation.length_norm,
        "weights": asdict(explanation.weights),
        "terms": [
            {
                "term": term.label,
                "tf": term.counts._asdict(),
                "weighted_tf": term.weighted_count,
                "df": term.frequency,
                "idf": term.idf,
                "contribution": term.contribution,
            }
            for term in explanation.terms
        ],
    }


def _semantic(semantic: SemanticExplanation) -> Json:
    return {
        "cosine": semantic.cosine,
        "sentence": semantic.sentence,
        "start": semantic.sentence_start,
        "end": semantic.sentence_end,
        "sentence_cosine": semantic.sentence_cosine,
    }


def _fusion(fused: Fused, settings: FusionSettings, strongest: float) -> Json:
    evidence = fused.evidence
    return {
        "legs": {
            "lexical": {
                "rank": evidence.lexical_rank,
                "bm25": None if evidence.strength is None else -evidence.strength,
                "weight": settings.lexical_weight,
                "share": fused.lexical_part,
            },
            "vector": {
                "rank": evidence.vector_rank,
                "cosine": evidence.cosine,
                "weight": settings.vector_weight,
                "share": fused.vector_part,
                "other_script": evidence.other_script,
            },
        },
        "rrf_raw": fused.rrf_raw,
        "fusion_score": fused.fusion_score,
        "fusion_rank": fused.fusion_rank,
        "look": None if fused.look is None else _look(fused, strongest),
        "look_rank": fused.look_rank,
        "kept_place": fused.kept_place,
        "rank": fused.rank,
    }


def _look(fused: Fused, strongest: float) -> Json:
    return {
        "lexical": fused.look_lexical,
        "vector": fused.look_vector,
        "assumed_cosine": fused.assumed_cosine,
        "sum": fused.look,
        "strongest_bm25": -strongest,
    }


def _settings(settings: FusionSettings) -> Json:
    return {
        **asdict(settings),
        "other_script_share": OTHER_SCRIPT_SHARE,
        "near_enough": NEAR_ENOUGH,
        "place_every": PLACE_EVERY,
    }
