"""A model of a few kilobytes that knows the words of the vault, so that kills come by the thousand.

Its vectors are as good as any where it matters here: another text, another vector.
"""

from __future__ import annotations

import json
from pathlib import Path

from tests.embedding.tiny_models import Tiny, card, tokenizer
from tests.torture.edits import WORDS

TINY, OTHER = "tiny", "tiny-other"
REAL = ""
"""No name: the bundled one."""
_DIMS = {TINY: 32, OTHER: 24}


def write_models(data: str) -> None:
    for name in _DIMS:
        write_model(data, name)


def write_model(data: str, name: str) -> Path:
    folder = Path(data, "models", name)
    folder.mkdir(parents=True)
    known = ("[UNK]", *dict.fromkeys(WORDS))
    onnx = Tiny(dims=_DIMS[name], known=len(known)).onnx()
    facts = json.loads(tokenizer())
    facts["model"]["vocab"] = {word: number for number, word in enumerate(known)}
    tokens = json.dumps(facts)
    (folder / "model.onnx").write_bytes(onnx)
    (folder / "tokenizer.json").write_text(tokens, "utf-8")
    facts = {"id": name, "dims": _DIMS[name], "max_tokens": 256}
    (folder / "model.toml").write_text(card(onnx, tokens, **facts), "utf-8")
    return folder
