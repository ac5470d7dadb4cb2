"""Models on the wire: `model.v1`, `model_check.v1`, `model_switch.v1`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from kebab_tui.wire.encode import Json

if TYPE_CHECKING:
    from kebab_tui.vector_search import ModelInfo, Switch

_FACTS = (
    "folder", "name", "version", "languages", "licence", "dims", "max_tokens", "pooling", "normalise",
    "query_prefix", "passage_prefix", "vector_version",
)  # fmt: skip


def model(shelved: ModelInfo) -> Json:
    card = shelved.listed.card
    return {
        "schema_version": "model.v1",
        "id": shelved.listed.model_id,
        "bundled": shelved.listed.bundled,
        "used": shelved.used,
        "problem": shelved.listed.problem,
        "vectors": shelved.vectors,
        **{fact: None if card is None else getattr(card, fact) for fact in _FACTS},
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
