from __future__ import annotations

import itertools
import os
import sys
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from unittest import mock

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from kebab_tui.domain.errors import ModelError
from kebab_tui.embedding import encoder as encoder_module
from kebab_tui.embedding.card import ModelCard, read_card
from kebab_tui.embedding.encoder import Encoder, lower_priority
from kebab_tui.embedding.integrity import verify
from kebab_tui.embedding.onnx import CancellableRun, Graph
from tests.embedding.tiny_models import Tiny, write_tiny

ODD_TEXTS = {
    "empty": "",
    "blank": " \n\t",
    "emoji": "😀🎉👩‍👩‍👧‍👦",
    "jamo": "ㅋㅋㅋ ㅠㅠ",
    "decomposed": "\u1112\u1161\u11ab\u1100\u1173\u11af",
    "surrogate": "a \ud800 b \udfff",
    "NUL": "a\0b\0",
    "10,000 words": "word 단어 " * 5_000,
    "one long word": "a" * 100_000,
    "controls": "".join(map(chr, range(32))),
    "marks": "a" + "\u0301" * 500,
    "blanks before a word": " " * 100_000 + "port",
}


@pytest.fixture
def tiny(tmp_path: Path) -> ModelCard:
    return read_card(str(write_tiny(tmp_path / "tiny")))


@pytest.mark.parametrize("text", ODD_TEXTS.values(), ids=ODD_TEXTS)
def test_every_text_has_a_vector(encoder: Encoder, text: str) -> None:
    (vectors,) = encoder.passages([text])
    for vector in (encoder.query(text), *vectors):
        assert vector.shape == (384,)
        assert vector.dtype == np.float32
        assert np.linalg.norm(vector) == pytest.approx(1, abs=1e-4)


@pytest.mark.parametrize("text", ODD_TEXTS.values(), ids=ODD_TEXTS)
def test_a_model_without_special_tokens_has_a_vector_for_every_text_too(tiny: ModelCard, text: str) -> None:
    assert np.linalg.norm(Encoder(tiny).query(text)) == pytest.approx(1, abs=1e-4)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(st.characters(), max_size=60))
def test_no_text_breaks_the_encoder(encoder: Encoder, text: str) -> None:
    assert np.isfinite(encoder.query(text)).all()


@pytest.mark.parametrize(
    ("korean", "english", "other", "least"),
    [
        ("포트 충돌 해결 방법", "how to fix a port conflict", "sourdough starter", 0.7),
        ("데이터베이스 백업", "database backup", "hiking in the mountains", 0.9),
    ],
)
def test_a_korean_text_lies_where_its_translation_does(
    encoder: Encoder, korean: str, english: str, other: str, least: float
) -> None:
    query = encoder.query(korean)
    assert float(query @ encoder.query(english)) >= least
    assert float(query @ encoder.query(other)) < 0.4


def test_composed_and_decomposed_hangul_are_the_same(encoder: Encoder) -> None:
    assert (encoder.query("한글") == encoder.query("\u1112\u1161\u11ab\u1100\u1173\u11af")).all()


def test_a_text_is_cut_at_the_models_limit(encoder: Encoder) -> None:
    words = [f"word{i}" for i in range(1000)]
    assert (encoder.query(" ".join(words)) == encoder.query(" ".join([*words[:300], "other"]))).all()


@pytest.mark.parametrize(
    ("text", "understood"),
    [("포트", True), ("port", True), ("😀 port", True), ("😀", False), ("", False), ("ㅋㅋ", False)],
)
def test_the_encoder_recognises_texts_without_known_tokens(
    encoder: Encoder, text: str, understood: bool
) -> None:
    assert encoder.understands(text) is understood


def test_a_passage_has_one_vector_whatever_it_is_embedded_with(encoder: Encoder) -> None:
    texts = ["port conflict", "포트 충돌 해결 " * 30, "backup", ""] * 5
    together = list(encoder.passages(texts))
    alone = [vector for text in texts[:4] for vector in encoder.passages([text])]
    for i, vector in enumerate(together):
        assert vector.tobytes() == alone[i % 4].tobytes()


def test_passages_come_in_the_order_of_their_texts(tiny: ModelCard) -> None:
    texts = ["port " * (i % 7 + 1) + "backup" for i in range(200)]
    with_one, with_four = (list(Encoder(tiny, threads).passages(texts)) for threads in (1, 4))
    assert np.array_equal(np.concatenate(with_one), np.concatenate(with_four))
    assert np.array_equal([vectors[0] for vectors in with_one], [Encoder(tiny).query(text) for text in texts])


def test_prefixes_are_put_before_queries_and_passages(tmp_path: Path) -> None:
    folder = write_tiny(tmp_path, Tiny(), max_tokens=8)
    card = (folder / "model.toml").read_text("utf-8")
    prefixes = '[prefixes]\nquery = "port "\npassage = "backup "\n'
    (folder / "model.toml").write_text(card.replace("[sha256]", prefixes + "[sha256]"), "utf-8")
    plain = Encoder(read_card(str(write_tiny(tmp_path / "plain"))))
    prefixed = Encoder(read_card(str(folder)))
    assert (prefixed.query("conflict") == plain.query("port conflict")).all()
    (passage,) = prefixed.passages(["conflict"])
    assert (passage == plain.query("backup conflict")).all()


def test_a_long_text_has_a_vector_for_each_part_the_first_of_its_beginning(
    encoder: Encoder,
) -> None:
    text = "Port conflicts\n" + "A process uses the port. " * 40 + "The oven is at 180 degrees. " * 40
    (vectors,) = encoder.passages([text])
    assert len(vectors) == len(encoder.parts(text)) == 3
    assert np.array_equal(vectors[0], encoder.query(text))
    baking = encoder.query("how hot is the oven")
    assert int((vectors @ baking).argmax()) > 0
    assert (vectors @ baking).max() > float(vectors[0] @ baking) + 0.2


def test_a_known_beginning_is_not_read_again_unless_it_is_damaged(
    encoder: Encoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    short, long = "port conflict", "Heading\n" + "word " * 400
    ((first,), both) = encoder.passages([short, long])
    runs: list[int] = []
    really = Graph.vector

    def vector(graph: Graph, ids: Sequence[int], run: CancellableRun | None = None) -> NDArray[np.float32]:
        runs.append(len(ids))
        return really(graph, ids, run)

    monkeypatch.setattr(Graph, "vector", vector)
    stored = {short: first.astype("f2").tobytes(), long: both.astype("f2").tobytes()}
    again = list(encoder.passages([short, long], beginnings=stored))
    assert len(runs) == 1
    for before, after in zip((first[np.newaxis], both), again, strict=True):
        assert after.astype("f2").tobytes() == before.astype("f2").tobytes()
    for damaged in (b"\0" * 768, b"x", stored[short][:-2], b"\xff" * 768):
        list(encoder.passages([short], beginnings={short: damaged}))
    assert len(runs) == 5


def test_the_threads_follow_the_processors(monkeypatch: pytest.MonkeyPatch) -> None:
    for processors, threads in ((1, 1), (2, 2), (3, 2), (4, 2), (8, 4), (16, 8)):
        monkeypatch.setattr(os, "sched_getaffinity", lambda _, n=processors: set(range(n)), raising=False)
        monkeypatch.setattr(sys, "platform", "linux")
        assert encoder_module.suitable_threads() == threads


def test_texts_are_taken_only_as_they_are_needed(tiny: ModelCard) -> None:
    taken = 0

    def endless() -> Iterator[str]:
        nonlocal taken
        while True:
            taken += 1
            yield "port"

    passages = Encoder(tiny).passages(endless())
    next(passages)
    passages.close()
    assert taken < 50


def test_no_texts_no_vectors(tiny: ModelCard) -> None:
    assert list(Encoder(tiny).passages([])) == []


def test_a_cancelled_loop_ends_early_with_correct_vectors(tiny: ModelCard) -> None:
    encoder = Encoder(tiny, threads=2)
    came: list[NDArray[np.float32]] = []
    for vector in encoder.passages(["port"] * 1000, lambda: len(came) == 10):
        came.append(vector)  # noqa: PERF402 - the loop's own progress is what cancels it
    assert len(came) == 10
    assert np.array_equal(np.concatenate(came), [encoder.query("port")] * 10)


def test_a_loop_cancelled_before_it_starts_yields_nothing(tiny: ModelCard) -> None:
    assert list(Encoder(tiny).passages(["port"], lambda: True)) == []


def test_a_cancelled_loop_starts_no_further_texts(encoder: Encoder, monkeypatch: pytest.MonkeyPatch) -> None:
    """Cancelled while the threads are in the graph."""
    begun, cancelled = itertools.count(1), threading.Event()
    really = Graph.vector

    def vector(graph: Graph, ids: Sequence[int], run: CancellableRun | None = None) -> NDArray[np.float32]:
        if next(begun) == 5:
            cancelled.set()
        return really(graph, ids, run)

    monkeypatch.setattr(Graph, "vector", vector)
    came = list(encoder.passages(["word " * 256] * 5_000, cancelled.is_set))
    assert len(came) < 5
    assert next(begun) <= 5 + encoder_module._LOOKAHEAD + 2, "two threads"


def test_a_run_can_be_stopped_in_the_middle(tiny: ModelCard) -> None:
    from kebab_tui.embedding.onnx import Graph

    graph = Graph(tiny)
    run = graph.new_run()
    assert graph.vector([1, 2], run).shape == (4,)
    run.stop()
    with pytest.raises(ModelError, match="terminate"):
        graph.vector([1, 2], run)
    assert graph.vector([1, 2]).shape == (4,)


def test_no_thread_outlives_its_loop(tiny: ModelCard) -> None:
    before = set(threading.enumerate())
    encoder = Encoder(tiny, threads=4)
    list(encoder.passages(["port"] * 20))
    abandoned = encoder.passages(["port"] * 500)
    next(abandoned)
    assert set(threading.enumerate()) > before
    abandoned.close()
    assert set(threading.enumerate()) == before


def test_an_error_in_a_thread_reaches_the_caller(tmp_path: Path) -> None:
    encoder = Encoder(read_card(str(write_tiny(tmp_path, Tiny(nan_at=1)))), threads=3)
    with pytest.raises(ModelError, match="NaN or infinity"):
        list(encoder.passages(["backup", "port", "backup"]))


def test_a_query_is_answered_while_passages_are_under_way(encoder: Encoder) -> None:
    under_way = encoder.passages(["포트 충돌 " * 100] * 100)
    next(under_way)
    assert encoder.query("a query in between").shape == (384,)
    under_way.close()


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has priorities by thread")
def test_only_the_calling_thread_gets_a_lower_priority() -> None:
    def niceness() -> int:
        return os.getpriority(os.PRIO_PROCESS, threading.get_native_id())

    before = niceness()
    with ThreadPoolExecutor(1, initializer=lower_priority) as pool:
        assert pool.submit(niceness).result() == max(10, before)
    assert niceness() == before


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has priorities by thread")
def test_a_thread_of_lower_priority_keeps_it() -> None:
    def lowest_then_back() -> int:
        thread = threading.get_native_id()
        os.setpriority(os.PRIO_PROCESS, thread, 19)
        lower_priority()
        return os.getpriority(os.PRIO_PROCESS, thread)

    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(lowest_then_back).result() == 19


def test_a_query_is_embedded_once(tiny: ModelCard) -> None:
    encoder = Encoder(tiny)
    first = encoder.query("port")
    assert encoder.query(" port\n") is first
    with pytest.raises(ValueError, match="read-only"):
        first[0] = 2


def test_the_256_latest_queries_are_cached(tiny: ModelCard) -> None:
    encoder = Encoder(tiny)
    first = encoder.query("0")
    for number in range(1, 256):
        encoder.query(str(number))
    assert encoder.query("0") is first
    for number in range(256, 512):
        encoder.query(str(number))
    assert encoder.query("0") is not first


def test_nothing_is_loaded_before_the_first_text(tmp_path: Path) -> None:
    card = read_card(str(write_tiny(tmp_path)))
    Path(card.onnx).unlink()
    encoder = Encoder(card)
    with pytest.raises(ModelError, match="is missing"):
        encoder.query("port")


def test_many_threads_open_one_session(tiny: ModelCard) -> None:
    encoder = Encoder(tiny)
    wrapped = mock.patch.object(encoder_module, "_load_model", wraps=encoder_module._load_model)
    with wrapped as load_model, ThreadPoolExecutor(8) as pool:
        vectors = list(pool.map(encoder.query, [f"port {i}" for i in range(64)]))
    assert load_model.call_count == 1
    assert len(vectors) == 64


def test_a_model_that_failed_is_not_opened_again(tmp_path: Path) -> None:
    card = read_card(str(write_tiny(tmp_path)))
    Path(card.onnx).write_bytes(b"damaged")
    encoder = Encoder(card)
    with mock.patch.object(encoder_module, "verify", wraps=verify) as checks:
        for _ in range(3):
            with pytest.raises(ModelError, match="damaged"):
                encoder.query("port")
    assert checks.call_count == 1


def test_the_nearest_sentence_is_named_with_its_cosine(encoder: Encoder) -> None:
    text = "# 메모\n오늘은 김치찌개를 끓였다. 포트가 이미 사용 중이면 다른 포트를 쓴다.\n- Buy bread"
    query = encoder.query("how to fix a port conflict")
    nearest = encoder.nearest_sentence(text, query)
    assert nearest is not None
    sentence = text[nearest.start : nearest.end]
    assert sentence == "포트가 이미 사용 중이면 다른 포트를 쓴다."
    ((vector,),) = encoder.passages([sentence])
    assert nearest.cosine == pytest.approx(float(vector @ query), abs=1e-6)


def test_a_passage_without_sentences_has_no_nearest_one(encoder: Encoder) -> None:
    assert encoder.nearest_sentence("---\n😀\n", encoder.query("port")) is None


def test_of_equal_sentences_the_first_is_nearest(tiny: ModelCard) -> None:
    encoder = Encoder(tiny)
    nearest = encoder.nearest_sentence("port.\nport.", encoder.query("port."))
    assert nearest is not None
    assert (nearest.start, nearest.end) == (0, 5)


def test_the_sentences_of_a_passage_are_embedded_once_and_not_too_many(tiny: ModelCard) -> None:
    from kebab_tui.embedding.onnx import Graph

    encoder = Encoder(tiny)
    query = encoder.query("port")
    with mock.patch.object(Graph, "vector", autospec=True, side_effect=Graph.vector) as vector:
        for _ in range(3):
            assert encoder.nearest_sentence("- port\n" * 1000, query) is not None
    assert 1 < vector.call_count <= 64
