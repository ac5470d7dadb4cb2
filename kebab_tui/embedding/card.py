"""Reads, checks and writes model cards: `model.toml`, the description of the files beside it.

    id = "kebab-ko-en"          lower-case letters, digits, . _ -
    name = "Kebab Korean-English"
    version = "1"
    languages = ["ko", "en"]    two- or three-letter codes, or "multi"
    licence = "Apache-2.0"
    dims = 384                  length of a vector
    max_tokens = 256            including special tokens; longer texts are cut
    pooling = "none"            of token states into one vector: "mean", "cls", or "none" if the graph does it
    normalise = false           true: scale vectors to length 1; false: the graph does it
    floor = 0.2                 optional; passages with a lower cosine with the query are not hits

    [prefixes]                  optional; put before each text unchanged
    query = ""
    passage = ""

    [sha256]                    of the files; the names are fixed
    "model.onnx" = "64 hex digits"
    "tokenizer.json" = "64 hex digits"
    "pieces.txt" = "64 hex digits"        optional, like the file

`pieces.txt` lists the pieces of a WordPiece tokenizer as `piece<tab>id`, sorted by bytes: the
vocabulary of tokenizer.json in a form that is searched instead of loaded. It changes no token
and no vector. This module does not open the model files.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

from kebab_tui import own_files
from kebab_tui.domain import toml
from kebab_tui.domain.errors import ModelError
from kebab_tui.domain.ids import canonical_id
from kebab_tui.domain.text import did_you_mean, has_hangul
from kebab_tui.domain.toml import TomlFile

Pooling = Literal["mean", "cls", "none"]

CARD, ONNX, TOKENIZER, PIECES = "model.toml", "model.onnx", "tokenizer.json", "pieces.txt"
_LARGEST = 1 << 16
_KOREAN = ("ko", "multi")


@dataclass(frozen=True, slots=True)
class ModelCard:
    """The contents of a card.

    A checksum is empty only before `ModelCatalogue.add` computes it; `pieces_sha256` is empty if there
    is no `pieces.txt`.
    """

    folder: str
    model_id: str
    name: str
    version: str
    languages: tuple[str, ...]
    licence: str
    dims: int
    max_tokens: int
    pooling: Pooling
    normalise: bool
    floor: float
    query_prefix: str
    passage_prefix: str
    onnx_sha256: str
    tokenizer_sha256: str
    pieces_sha256: str

    @property
    def onnx(self) -> str:
        return os.path.join(self.folder, ONNX)

    @property
    def tokenizer(self) -> str:
        return os.path.join(self.folder, TOKENIZER)

    @property
    def pieces(self) -> str:
        return os.path.join(self.folder, PIECES)

    @property
    def checksums(self) -> dict[str, str]:
        """The checksum of each file of the model, by name."""
        sums = {ONNX: self.onnx_sha256, TOKENIZER: self.tokenizer_sha256}
        return sums | {PIECES: self.pieces_sha256} if self.pieces_sha256 else sums

    @property
    def fingerprint(self) -> str:
        """16 hex digits of everything that a vector depends on."""
        facts: dict[str, str | int] = {
            "id": self.model_id,
            "onnx": self.onnx_sha256,
            "tokenizer": self.tokenizer_sha256,
            "dims": self.dims,
            "max_tokens": self.max_tokens,
            "pooling": self.pooling,
            "normalise": self.normalise,
            "query_prefix": self.query_prefix,
            "passage_prefix": self.passage_prefix,
        }
        return canonical_id(facts)[:16]

    @property
    def vector_version(self) -> str:
        return f"vec-{self.model_id}-{self.dims}-{self.fingerprint[:8]}"

    def answers(self, text: str) -> bool:
        """Return whether the model supports the language of a query: only Korean models answer Hangul."""
        return any(code in _KOREAN for code in self.languages) or not has_hangul(text)


Key = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _FieldRule:
    field: str
    expected: str
    accepts: Callable[[Any], bool]
    default: str | float | None = None


def _matching(pattern: str) -> Callable[[Any], bool]:
    regex = re.compile(pattern)
    return lambda value: isinstance(value, str) and regex.fullmatch(value) is not None


def _within(low: int, high: int) -> Callable[[Any], bool]:
    return lambda value: type(value) is int and low <= value <= high


_is_language = _matching("[a-z]{2,3}|multi")
_is_line = _matching(r"[^\x00-\x1f\x7f]{1,200}")
_is_prefix = _matching(r"(?s)[^\x00\x7f]{0,1000}")
_is_sha256 = _matching("[0-9a-f]{64}")
_is_id = _matching("[a-z0-9][a-z0-9._-]{0,63}")
_A_LINE, _A_PREFIX = "a string without line breaks, up to 200 characters", "a string of up to 1000 characters"
_A_SHA256 = "64 hexadecimal digits"
_AN_ID = "up to 64 lower-case letters, digits and . _ -, starting with a letter or digit"
_CODES = 'a list of language codes such as ["ko", "en"], or ["multi"]'
_RULES: dict[Key, _FieldRule] = {
    ("id",): _FieldRule("model_id", _AN_ID, _is_id),
    ("name",): _FieldRule("name", _A_LINE, _is_line),
    ("version",): _FieldRule("version", _A_LINE, _is_line),
    ("languages",): _FieldRule(
        "languages",
        _CODES,
        lambda value: isinstance(value, list) and bool(value) and all(map(_is_language, value)),
    ),
    ("licence",): _FieldRule("licence", _A_LINE, _is_line),
    ("dims",): _FieldRule("dims", "an integer from 1 to 8192", _within(1, 8192)),
    ("max_tokens",): _FieldRule("max_tokens", "an integer from 8 to 8192", _within(8, 8192)),
    ("pooling",): _FieldRule("pooling", 'one of "mean", "cls", "none"', _matching("mean|cls|none")),
    ("normalise",): _FieldRule("normalise", "true or false", lambda value: type(value) is bool),
    ("floor",): _FieldRule(
        "floor",
        "a number from 0 to less than 1",
        lambda value: type(value) in (int, float) and 0 <= value < 1,
        default=0.2,
    ),
    ("prefixes", "query"): _FieldRule("query_prefix", _A_PREFIX, _is_prefix, default=""),
    ("prefixes", "passage"): _FieldRule("passage_prefix", _A_PREFIX, _is_prefix, default=""),
    ("sha256", ONNX): _FieldRule("onnx_sha256", _A_SHA256, _is_sha256),
    ("sha256", TOKENIZER): _FieldRule("tokenizer_sha256", _A_SHA256, _is_sha256),
    ("sha256", PIECES): _FieldRule("pieces_sha256", _A_SHA256, _is_sha256, default=""),
}
_TABLES = {key[0] for key in _RULES if len(key) > 1}


def read_card(folder: str, *, unsigned: bool = False) -> ModelCard:
    """Read and check the card in `folder`; with `unsigned`, checksums may be missing."""
    path = os.path.join(folder, CARD)
    file = toml.parse(_read(path), path, ModelError)
    values = dict(_flat(file))
    for key, rule in _RULES.items():
        if key not in values:
            default = "" if unsigned and key[0] == "sha256" else rule.default
            if default is None:
                raise ModelError(f"{path}: {_dotted(key)} is missing", f"expected {rule.expected}")
            values[key] = default
        elif not rule.accepts(values[key]):
            shown = json.dumps(values[key], ensure_ascii=False, default=str)
            if len(shown) > 60:
                shown = shown[:59] + "…"
            raise ModelError(
                f"{file.where(key)}: invalid {_dotted(key)}: {shown}", f"expected {rule.expected}"
            )
    facts = {rule.field: values[key] for key, rule in _RULES.items()}
    return ModelCard(**facts | {"folder": os.path.abspath(folder), "languages": tuple(facts["languages"])})


def card_text(card: ModelCard) -> str:
    """Return the text of a card; `read_card` restores the card from it."""
    sections: dict[str, list[str]] = {}
    for key, rule in _RULES.items():
        if key == ("sha256", PIECES) and not card.pieces_sha256:
            continue
        value = json.dumps(getattr(card, rule.field), ensure_ascii=False)
        sections.setdefault("".join(key[:-1]), []).append(f"{_quoted(key[-1])} = {value}\n")
    return "\n".join((f"[{name}]\n" if name else "") + "".join(lines) for name, lines in sections.items())


def _read(path: str) -> bytes:
    try:
        with open(own_files.open_regular(path, follow=True), "rb") as file:
            data = file.read(_LARGEST + 1)
    except FileNotFoundError:
        folder = os.path.dirname(path)
        what = f"no {CARD} in {folder}" if os.path.isdir(folder) else f"folder not found: {folder}"
        raise ModelError(what, f"a model is a folder with {CARD}, {ONNX} and {TOKENIZER}") from None
    except OSError as error:
        raise ModelError(f"cannot read {path}: {error.strerror}") from None
    if len(data) > _LARGEST:
        raise ModelError(f"{path} is too large: a card has at most {_LARGEST >> 10} KB")
    return data


def _flat(file: TomlFile) -> Iterator[tuple[Key, Any]]:
    """Yield each key with its value; raise on unknown keys."""
    for name, value in file.values.items():
        if name not in _TABLES:
            yield _check_key((name,), file), value
        elif not isinstance(value, dict):
            raise ModelError(f"{file.where((name,))}: {name} must be a table", f"write [{name}]")
        else:
            for inner, leaf in value.items():
                yield _check_key((name, inner), file), leaf


def _check_key(key: Key, file: TomlFile) -> Key:
    if key in _RULES:
        return key
    here = {known[len(key) - 1] for known in _RULES if known[: len(key) - 1] == key[:-1]}
    hint = did_you_mean(key[-1], here) or "known keys: " + ", ".join(sorted(here))
    raise ModelError(f"{file.where(key)}: unknown key {_dotted(key)}", hint)


def _dotted(key: Key) -> str:
    return ".".join(_quoted(name) for name in key)


def _quoted(name: str) -> str:
    return name if re.fullmatch(r"[\w-]+", name) else json.dumps(name, ensure_ascii=False)
