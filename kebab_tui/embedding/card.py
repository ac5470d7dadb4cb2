"""The card of a model: `model.toml`, what must be known to use the files beside it.

    id = "kebab-ko-en"          lower-case letters, digits, . _ -
    name = "Kebab Korean-English"
    version = "1"
    languages = ["ko", "en"]    two- or three-letter codes, or "multi"
    licence = "Apache-2.0"
    dims = 384                  length of a vector
    max_tokens = 256            the special tokens counted; longer texts are cut
    pooling = "none"            what makes one vector of token states: "mean", "cls"; "none": the graph does
    normalise = false           true: vectors are brought to length 1; false: the graph does
    floor = 0.2                 may be left out; a passage whose cosine with the query is less is no hit

    [prefixes]                  may be left out; put before a text exactly as they stand
    query = ""
    passage = ""

    [sha256]                    of the files, which always bear these names
    "model.onnx" = "64 hex digits"
    "tokenizer.json" = "64 hex digits"
    "pieces.txt" = "64 hex digits"        may be left out, and the file with it

`pieces.txt` lists the pieces of a WordPiece tokenizer as `piece<tab>id`, ordered by their
bytes: the same that tokenizer.json holds, but looked up instead of loaded. It changes no
token, so no vector depends on it.

Reads and writes cards; opens none of the files.
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
from kebab_tui.domain.toml import TomlFile

Pooling = Literal["mean", "cls", "none"]

CARD, ONNX, TOKENIZER, PIECES = "model.toml", "model.onnx", "tokenizer.json", "pieces.txt"
_LARGEST = 1 << 16
_HANGUL = re.compile("[\u1100-\u11ff\u3131-\u318e\ua960-\ua97c\uac00-\ud7a3\ud7b0-\ud7fb\uffa0-\uffdc]")
_KOREAN = ("ko", "multi")


@dataclass(frozen=True, slots=True)
class ModelCard:
    """A model as its card describes it.

    A checksum is empty only where `add` has yet to fill it in; that of `pieces.txt` where there is none.
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
        """Of every file that the model consists of, by its name."""
        sums = {ONNX: self.onnx_sha256, TOKENIZER: self.tokenizer_sha256}
        return sums | {PIECES: self.pieces_sha256} if self.pieces_sha256 else sums

    @property
    def fingerprint(self) -> str:
        """16 hex digits over everything that a vector depends on: vectors of two are never mixed."""
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
        """Whether a query may be given to this model: one without Korean never answers Hangul."""
        return any(code in _KOREAN for code in self.languages) or not _HANGUL.search(text)


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


def _is_cosine(value: Any) -> bool:
    return type(value) in (int, float) and 0 <= value < 1


def _are_languages(value: Any) -> bool:
    is_language = _matching("[a-z]{2,3}|multi")
    return isinstance(value, list) and bool(value) and all(map(is_language, value))


_is_line = _matching(r"[^\x00-\x1f\x7f]{1,200}")
_is_prefix = _matching(r"(?s)[^\x00\x7f]{0,1000}")
_is_sha256 = _matching("[0-9a-f]{64}")
_is_id = _matching("[a-z0-9][a-z0-9._-]{0,63}")
_A_LINE, _A_PREFIX = "a text of one line", "a text of up to 1000 characters"
_A_SHA256 = "64 hexadecimal digits"
_AN_ID = "up to 64 lower-case letters, digits and . _ -, a letter or digit first"
_CODES = 'a list of language codes such as ["ko", "en"], or ["multi"]'
_RULES: dict[Key, _FieldRule] = {
    ("id",): _FieldRule("model_id", _AN_ID, _is_id),
    ("name",): _FieldRule("name", _A_LINE, _is_line),
    ("version",): _FieldRule("version", _A_LINE, _is_line),
    ("languages",): _FieldRule("languages", _CODES, _are_languages),
    ("licence",): _FieldRule("licence", _A_LINE, _is_line),
    ("dims",): _FieldRule("dims", "a whole number from 1 to 8192", _within(1, 8192)),
    ("max_tokens",): _FieldRule("max_tokens", "a whole number from 8 to 8192", _within(8, 8192)),
    ("pooling",): _FieldRule("pooling", 'one of "mean", "cls", "none"', _matching("mean|cls|none")),
    ("normalise",): _FieldRule("normalise", "true or false", lambda value: type(value) is bool),
    ("floor",): _FieldRule("floor", "a number from 0 to less than 1", _is_cosine, default=0.2),
    ("prefixes", "query"): _FieldRule("query_prefix", _A_PREFIX, _is_prefix, default=""),
    ("prefixes", "passage"): _FieldRule("passage_prefix", _A_PREFIX, _is_prefix, default=""),
    ("sha256", ONNX): _FieldRule("onnx_sha256", _A_SHA256, _is_sha256),
    ("sha256", TOKENIZER): _FieldRule("tokenizer_sha256", _A_SHA256, _is_sha256),
    ("sha256", PIECES): _FieldRule("pieces_sha256", _A_SHA256, _is_sha256, default=""),
}
_TABLES = {key[0] for key in _RULES if len(key) > 1}


def read_card(folder: str, *, unsigned: bool = False) -> ModelCard:
    """Read and check the card in `folder`; `unsigned` lets the checksums be absent."""
    path = os.path.join(folder, CARD)
    file = toml.parse(_read(path), path, ModelError)
    values = dict(_flat(file))
    for key, rule in _RULES.items():
        if key not in values:
            default = "" if unsigned and key[0] == "sha256" else rule.default
            if default is None:
                raise ModelError(f"{path}: {_dotted(key)} is missing", f"it is {rule.expected}")
            values[key] = default
        elif not rule.accepts(values[key]):
            raise ModelError(
                f"{file.where(key)}: {_dotted(key)} = {_shown(values[key])} is not right",
                f"it is {rule.expected}",
            )
    facts = {rule.field: values[key] for key, rule in _RULES.items()}
    return ModelCard(**facts | {"folder": os.path.abspath(folder), "languages": tuple(facts["languages"])})


def card_text(card: ModelCard) -> str:
    """The card as a file that `read_card` gives back."""
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
        what = f"there is no {CARD} in {folder}" if os.path.isdir(folder) else f"there is no folder {folder}"
        raise ModelError(what, f"a model is a folder with {CARD}, {ONNX} and {TOKENIZER}") from None
    except OSError as error:
        raise ModelError(f"cannot read {path}: {error.strerror}") from None
    if len(data) > _LARGEST:
        raise ModelError(f"{path} is too large for a card (more than {_LARGEST >> 10} KB)")
    return data


def _flat(file: TomlFile) -> Iterator[tuple[Key, Any]]:
    """Every key with its value; refuses names that no rule knows."""
    for name, value in file.values.items():
        if name not in _TABLES:
            yield _known((name,), file), value
        elif not isinstance(value, dict):
            raise ModelError(f"{file.where((name,))}: {name} is a table", f"write [{name}]")
        else:
            for inner, leaf in value.items():
                yield _known((name, inner), file), leaf


def _known(key: Key, file: TomlFile) -> Key:
    if key in _RULES:
        return key
    from difflib import get_close_matches

    here = {known[len(key) - 1] for known in _RULES if known[: len(key) - 1] == key[:-1]}
    near = get_close_matches(key[-1], here, 1)
    hint = f"did you mean {near[0]}?" if near else "known here: " + ", ".join(sorted(here))
    raise ModelError(f"{file.where(key)}: unknown key {_dotted(key)}", hint)


def _dotted(key: Key) -> str:
    return ".".join(_quoted(name) for name in key)


def _quoted(name: str) -> str:
    return name if re.fullmatch(r"[\w-]+", name) else json.dumps(name, ensure_ascii=False)


def _shown(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 60 else text[:59] + "…"
