"""Token ids become a vector: the one place that runs onnxruntime.

Only `encoder` imports this module, and only when a model opens. A graph takes any of
the three usual inputs and gives either token states (pooled here, as the card says) or
one vector for each text. Every vector is checked before it leaves: its length, that it
is finite, and its norm.

One text goes through the graph at a time, on the thread that asks. Measured on the
bundled model, that is 12-17 per cent faster than batches of 8 for texts of 190-256
tokens and 6-10 per cent slower for those of 30-100. Since 8-bit activations are scaled
over a whole batch, it also finds better (nDCG@10 of vectors alone 0.514 instead of 0.511
and 0.676 instead of 0.671 on two test sets), and a text gets the same vector whatever
stands beside it (in batches the cosine between the two fell to 0.99). A session without
threads of its own cannot hold up a query for the sake of passages.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kebab_tui.domain.errors import ModelError
from kebab_tui.embedding.card import ModelCard
from kebab_tui.embedding.runtime import ort

Vector = NDArray[np.float32]

_INPUTS = ("input_ids", "attention_mask", "token_type_ids")
_INTEGERS = {"tensor(int64)": np.int64, "tensor(int32)": np.int32}
_FLOATS = ("tensor(float)", "tensor(float16)")
_FATAL = 4
_NORM_TOLERANCE = 1e-2
_HINT = "see `kebab model verify`; searching by words goes on"


class CancellableRun:
    """A piece of work of several runs, which can be stopped in the middle of a run."""

    def __init__(self) -> None:
        self.options = ort.RunOptions()
        self.options.log_severity_level = _FATAL

    def stop(self) -> None:
        self.options.terminate = True


class Graph:
    """An open session and what the card says about it."""

    def __init__(self, card: ModelCard) -> None:
        self._card = card
        self._session = _opened(card)
        self._inputs = _inputs(card, self._session)
        self._output = _output(card, self._session)
        self._unstopped = CancellableRun()

    def errand(self) -> CancellableRun:
        return CancellableRun()

    def vector(self, ids: Sequence[int], errand: CancellableRun | None = None) -> Vector:
        """The vector of one text, of unit norm."""
        tokens = np.array([ids])
        usual = (tokens, np.ones_like(tokens), np.zeros_like(tokens))
        given = dict(zip(_INPUTS, usual, strict=True))
        feed = {name: given[name].astype(kind) for name, kind in self._inputs.items()}
        try:
            (answer,) = self._session.run([self._output], feed, (errand or self._unstopped).options)
        except Exception as error:  # noqa: BLE001 - onnxruntime's errors have no narrower base
            raise self._error(f"failed on {len(ids)} tokens: {_first_line(error)}") from None
        return self._unit(self._pooled(answer).astype(np.float32))

    def _pooled(self, answer: NDArray[Any]) -> NDArray[Any]:
        pooled = self._card.pooling != "none"
        if answer.ndim != 2 + pooled or not all(answer.shape):
            raise self._error(f'gave an output of shape {answer.shape} for pooling = "{self._card.pooling}"')
        if self._card.pooling == "mean":
            return np.asarray(answer[0].mean(0, dtype=np.float32))
        return np.asarray(answer[0, 0] if pooled else answer[0])

    def _unit(self, vector: Vector) -> Vector:
        if vector.shape != (self._card.dims,):
            raise self._error(f"gave a vector of {vector.size} dimensions, the card says {self._card.dims}")
        norm = float(np.linalg.norm(vector))
        if not np.isfinite(norm):
            raise self._error("gave a vector with numbers that are not finite (NaN or infinity)")
        if self._card.normalise and norm > 0:
            vector = vector / np.float32(norm)
        elif abs(norm - 1) > _NORM_TOLERANCE:
            what = "a vector of zeros" if norm == 0 else f"a vector of length {norm:.3g} instead of 1"
            raise self._error(f"gave {what}", "" if norm == 0 else "write `normalise = true` in its card")
        vector.setflags(write=False)
        return vector

    def _error(self, what: str, hint: str = "") -> ModelError:
        return ModelError(f"the model {self._card.model_id} {what}", hint or _HINT)


def _opened(card: ModelCard) -> ort.InferenceSession:
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.log_severity_level = _FATAL  # its warnings go to file descriptor 2, into the middle of a screen
    try:
        return ort.InferenceSession(card.onnx, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # noqa: BLE001 - onnxruntime's errors have no narrower base
        raise ModelError(f"{card.onnx} is not a model: {_first_line(error)}", _HINT) from None


def _inputs(card: ModelCard, session: ort.InferenceSession) -> dict[str, type[Any]]:
    """The graph's inputs with their kinds of integer."""
    inputs: dict[str, type[Any]] = {}
    for item in session.get_inputs():
        if item.name not in _INPUTS or item.type not in _INTEGERS or len(item.shape) != 2:
            raise ModelError(
                f"the model {card.model_id} wants an input {item.name} of {item.type}{item.shape}",
                f"usable inputs are {', '.join(_INPUTS)}, integers [texts, tokens]",
            )
        inputs[item.name] = _INTEGERS[item.type]
    if _INPUTS[0] not in inputs:
        raise ModelError(f"the model {card.model_id} takes no {_INPUTS[0]}")
    return inputs


def _output(card: ModelCard, session: ort.InferenceSession) -> str:
    """The first output of floats whose shape fits the card."""
    floats = [item for item in session.get_outputs() if item.type in _FLOATS]
    rank = 2 if card.pooling == "none" else 3
    fitting = next((item for item in floats if len(item.shape) == rank), None)
    if fitting is None:
        shapes = ", ".join(f"{item.name} {item.shape}" for item in session.get_outputs())
        raise ModelError(
            f'the model {card.model_id} has no output of floats for pooling = "{card.pooling}" ({shapes})',
            'token states (rank 3) need pooling = "mean" or "cls", one vector for each text (rank 2) "none"',
        )
    dims = fitting.shape[-1]
    if isinstance(dims, int) and dims != card.dims:
        raise ModelError(
            f"the model {card.model_id} gives vectors of {dims} dimensions, its card says {card.dims}",
            f"write dims = {dims} in its card, or use another model: `kebab model use NAME`",
        )
    return str(fitting.name)


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0][:200]
