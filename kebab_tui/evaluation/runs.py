"""A run: what was asked, how it was answered, what that is worth; and the file that keeps it.

The file is JSON, `eval_run.v1`, and is read back as strictly as any other input. A run
holds no time and no place: the same index and questions give the same bytes.
"""

from __future__ import annotations

import json
import os
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct, ValidationError, convert, to_builtins

from kebab_tui.domain.errors import UsageError
from kebab_tui.domain.query import SearchMode
from kebab_tui.evaluation.input_files import read_text, refusal
from kebab_tui.evaluation.questions import QueryLanguage, SetKind

_HINT = "`kebab eval … --save FILE` writes such a file"

Share = Annotated[float, Meta(ge=0, le=1)]
Count = Annotated[int, Meta(ge=0)]


class QuestionSet(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which questions were asked of what."""

    kind: SetKind
    name: str
    split: str
    digest: str
    queries: Count
    documents: Count


class Answer(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One question, its ranked items and the metrics of that list."""

    id: str
    query: str
    lang: QueryLanguage
    probe: str
    ranked: tuple[str, ...]
    metrics: dict[str, Share]


class ModeRun(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    index_version: str
    answers: Annotated[tuple[Answer, ...], Meta(min_length=1)]


class Run(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    schema_version: Literal["eval_run.v1"] = "eval_run.v1"
    version: str
    """Of the program."""
    set: QuestionSet
    depth: Count
    settings: dict[str, Any]
    modes: Annotated[dict[SearchMode, ModeRun], Meta(min_length=1)]


def save_run(run: Run, path: str) -> None:
    """Write the file beside itself first: a full disk, or a signal, leaves the old one alone."""
    text = json.dumps(to_builtins(run), ensure_ascii=False, indent=1)
    unfinished = f"{path}.unfinished"
    try:
        with open(unfinished, "wb") as file:
            file.write(text.encode("utf-8", "replace"))
        os.replace(unfinished, path)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise UsageError(f"cannot write {path}: {reason}", "name another file") from None
    finally:
        _discard(unfinished)


def load_run(path: str) -> Run:
    text = read_text(path, _HINT)
    try:
        run = convert(json.loads(text), Run)
    except json.JSONDecodeError as error:
        raise refusal(path, error.lineno, f"not JSON: {error.msg}", _HINT) from None
    except RecursionError:
        raise UsageError(f"{path}: nested too deeply for a saved run", _HINT) from None
    except ValidationError as error:
        what, _, place = str(error).partition(" - at `$.")
        where = f" at {place.rstrip('`')}" if place else ""
        raise UsageError(f"{path}: not a saved run:{where} {what}", _HINT) from None
    _check(run, path)
    return run


def _check(run: Run, path: str) -> None:
    """What the types cannot say: every answer once, and all with the same metrics."""
    names = {frozenset(answer.metrics) for mode in run.modes.values() for answer in mode.answers}
    if len(names) != 1:
        raise UsageError(f"{path}: not a saved run: its answers have different metrics", _HINT)
    for mode, found in run.modes.items():
        if len({answer.id for answer in found.answers}) != len(found.answers):
            raise UsageError(f"{path}: not a saved run: modes.{mode} answers a query twice", _HINT)


def _discard(path: str) -> None:
    try:
        os.unlink(path)
    except (OSError, ValueError):
        return
