"""Runs the ONNX graph of a model: token ids become a vector.

The only module that runs onnxruntime; only `encoder` imports it, when a model opens. A graph
takes any of the three usual inputs and returns either token states (pooled here, as the card
specifies) or one vector for each text. Every vector is checked: dimensions, finite numbers,
norm.

Runs one text at a time, on the calling thread. Measured on the bundled model, that is 12-17
per cent faster than batches of 8 for texts of 190-256 tokens and 6-10 per cent slower for
30-100. It also ranks better, since 8-bit activations are scaled over a whole batch (nDCG@10 of
vectors alone 0.514 instead of 0.511 and 0.676 instead of 0.671 on two test sets), and a text
always gets the same vector (in batches the cosine between the two fell to 0.99). A session
without threads cannot delay a query in favour of passages.
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
_HINT = "see `kebab model verify`; keyword search still works"


class CancellableRun:
    """Options shared by several runs, to stop them even in the middle of a run."""

    def __init__(self) -> None:
        self.options = ort.RunOptions()
        self.options.log_severity_level = _FATAL

    def stop(self) -> None:
        self.options.terminate = True


class Graph:
    """An open session, checked against its card."""

    def __init__(self, card: ModelCard) -> None:
        self._card = card
        options = ort.SessionOptions()
        options.intra_op_num_threads = 1
        options.inter_op_num_threads = 1
        options.log_severity_level = _FATAL  # warnings go to file descriptor 2, into the middle of a screen
        try:
            self._session = ort.InferenceSession(card.onnx, options, providers=["CPUExecutionProvider"])
        except Exception as error:  # noqa: BLE001 - onnxruntime's errors have no narrower base
            raise ModelError(f"{card.onnx} is not a model: {_first_line(error)}", _HINT) from None
        self._inputs = _inputs(card, self._session)
        self._output = _output(card, self._session)
        self._default_run = CancellableRun()

    def new_run(self) -> CancellableRun:
        return CancellableRun()

    def vector(self, ids: Sequence[int], run: CancellableRun | None = None) -> Vector:
        """Return the vector of one text, of unit norm."""
        tokens = np.array([ids])
        usual = (tokens, np.ones_like(tokens), np.zeros_like(tokens))
        values = dict(zip(_INPUTS, usual, strict=True))
        feed = {name: values[name].astype(kind) for name, kind in self._inputs.items()}
        try:
            (output,) = self._session.run([self._output], feed, (run or self._default_run).options)
        except Exception as error:  # noqa: BLE001 - onnxruntime's errors have no narrower base
            raise self._error(f"failed on {len(ids)} tokens: {_first_line(error)}") from None
        pooling = self._card.pooling
        if output.ndim != (2 if pooling == "none" else 3) or not all(output.shape):
            raise self._error(f'returned an output of shape {output.shape} for pooling = "{pooling}"')
        if pooling == "mean":
            output = output[0].mean(0, dtype=np.float32)
        else:
            output = output[0, 0] if pooling == "cls" else output[0]
        vector: Vector = np.asarray(output).astype(np.float32)
        if vector.shape != (self._card.dims,):
            raise self._error(
                f"returned a vector of {vector.size} dimensions; its card says {self._card.dims}"
            )
        norm = float(np.linalg.norm(vector))
        if not np.isfinite(norm):
            raise self._error("returned a vector with NaN or infinity")
        if self._card.normalise and norm > 0:
            vector = vector / np.float32(norm)
        elif abs(norm - 1) > _NORM_TOLERANCE:
            what = "a vector of zeros" if norm == 0 else f"a vector of length {norm:.3g} instead of 1"
            raise self._error(f"returned {what}", "" if norm == 0 else "write `normalise = true` in its card")
        vector.setflags(write=False)
        return vector

    def _error(self, what: str, hint: str = "") -> ModelError:
        return ModelError(f"the model {self._card.model_id} {what}", hint or _HINT)


def _inputs(card: ModelCard, session: ort.InferenceSession) -> dict[str, type[Any]]:
    """Return the inputs of the graph with their integer types."""
    inputs: dict[str, type[Any]] = {}
    for item in session.get_inputs():
        if item.name not in _INPUTS or item.type not in _INTEGERS or len(item.shape) != 2:
            raise ModelError(
                f"the model {card.model_id} has an unsupported input: {item.name} {item.type}{item.shape}",
                f"supported inputs: {', '.join(_INPUTS)}, as integers [texts, tokens]",
            )
        inputs[item.name] = _INTEGERS[item.type]
    if _INPUTS[0] not in inputs:
        raise ModelError(f"the model {card.model_id} has no input {_INPUTS[0]}")
    return inputs


def _output(card: ModelCard, session: ort.InferenceSession) -> str:
    """Return the first float output whose shape matches the card."""
    floats = [item for item in session.get_outputs() if item.type in _FLOATS]
    rank = 2 if card.pooling == "none" else 3
    fitting = next((item for item in floats if len(item.shape) == rank), None)
    if fitting is None:
        shapes = ", ".join(f"{item.name} {item.shape}" for item in session.get_outputs())
        raise ModelError(
            f'the model {card.model_id} has no float output for pooling = "{card.pooling}" ({shapes})',
            'token states (rank 3) need pooling = "mean" or "cls", one vector for each text (rank 2) "none"',
        )
    dims = fitting.shape[-1]
    if isinstance(dims, int) and dims != card.dims:
        raise ModelError(
            f"the model {card.model_id} returns vectors of {dims} dimensions; its card says {card.dims}",
            f"write dims = {dims} in its card, or use another model: `kebab model use NAME`",
        )
    return str(fitting.name)


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0][:200]
