"""The steps from pairs to a folder with a finished model, in order. Decides nothing about its quality: see `gates`."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

from models.build import corpus, graph, kiwi, paper, vocabulary
from models.build.embeddings import BilingualTable, PlainTable
from models.build.encoder import Encoder
from models.build.fetch import checksum
from models.build.manifest import Manifest
from models.build.minilm import Floats, MiniLM
from models.build.narration import say
from models.build.pairs import Pair
from models.build.sources import Gathered

MODEL, TOKENIZER, PIECES = "model.onnx", "tokenizer.json", "pieces.txt"
CARD, NOTICE = "model.toml", "NOTICE"
VERSION = "1"
MAX_TOKENS = 256
TEACHER_TOKENS = 128


def build(pinned: Manifest, english: MiniLM, gathered: Gathered, folder: Path, threads: int) -> None:
    """Train the model and write its five files into the folder."""
    say("laying out the vocabulary")
    vectors = kiwi.morpheme_vectors(kiwi.model_file(pinned.morphemes))
    words = vocabulary.build(english.vocabulary, kiwi.form_vectors(kiwi.morphemes(), vectors))
    tokenizer = vocabulary.tokenizer_json(words)
    say(f"{len(words.ids):,} tokens, {words.row_count:,} rows; asking the teacher")
    data = corpus.build(gathered.pairs, teach(english, gathered.pairs, threads), words, tokenizer)
    rows = train(data, words, english, threads)
    say("writing the model")
    model = graph.encoder(english.shape, english.weights, BilingualTable(words, rows), "int8")
    write(folder, model, tokenizer, paper.notice(gathered.contributions, english.licence))


def teach(english: MiniLM, pairs: Sequence[Pair], threads: int) -> Floats:
    """MiniLM's vector of every English side."""
    distinct: dict[str, int] = {}
    index = [distinct.setdefault(pair.english, len(distinct)) for pair in pairs]
    teacher = Encoder(english_graph(english, "int8"), english.tokenizer, TEACHER_TOKENS, threads)
    vectors: Floats = teacher.encode(list(distinct))[index]
    return vectors


def english_graph(english: MiniLM, precision: graph.Precision) -> bytes:
    """MiniLM alone, with its own embeddings."""
    return graph.encoder(english.shape, english.weights, PlainTable(english.words), precision)


def train(data: corpus.Corpus, words: vocabulary.Vocabulary, english: MiniLM, threads: int) -> Floats:
    """The input embedding of every row."""
    import torch  # 2 s; `--check` does without it

    from models.build import alignment, hangul_rows

    torch.set_num_threads(threads)
    torch.use_deterministic_algorithms(True)
    say("aligning a static table with the teacher")
    aligned = alignment.align(data, words, english.words)
    say("training the Hangul rows under the frozen body")
    return hangul_rows.learn(data, words, english, aligned)


def write(folder: Path, model: bytes, tokenizer: str, notice: str) -> None:
    """The five files, the card last: it names the checksums of the others."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / MODEL).write_bytes(model)
    (folder / TOKENIZER).write_text(tokenizer, encoding="utf-8")
    (folder / PIECES).write_text(vocabulary.piece_lines(tokenizer), encoding="utf-8", newline="\n")
    (folder / NOTICE).write_text(notice, encoding="utf-8")
    card = paper.card(VERSION, {name: checksum(folder / name) for name in (MODEL, TOKENIZER, PIECES)})
    (folder / CARD).write_text(card, encoding="utf-8")


def publish(candidate: Path, folder: Path) -> None:
    """Copy a model that kept its gates to where it is shipped from."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in (MODEL, TOKENIZER, PIECES, NOTICE, CARD):
        shutil.copyfile(candidate / name, folder / name)
