"""Stable ids: the same facts give the same id everywhere."""

from __future__ import annotations

import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from kebab_tui.domain.ids import DocId, SourceId, canonical_id, chunk_ids, document_id, text_hash

DOC = DocId("0" * 32)
FACTS = st.dictionaries(st.text(), st.text() | st.integers(), max_size=5)


@given(FACTS)
def test_the_order_of_facts_means_nothing(facts: dict[str, str | int]) -> None:
    name = canonical_id(facts)
    assert name == canonical_id(dict(reversed(facts.items())))
    assert len(name) == 32
    assert set(name) <= set("0123456789abcdef")


def test_a_name_is_the_same_on_every_machine() -> None:
    assert canonical_id({"b": 1, "a": "충돌"}) == "cceb7c71dff85b1b170a340c7a5cbae6"


def test_two_spellings_of_a_name_are_one() -> None:
    path = "메모/충돌.md"
    names = {
        document_id(SourceId("notes"), unicodedata.normalize(form, path), "hash", 0)
        for form in ("NFC", "NFD")
    }
    assert len(names) == 1


def test_every_fact_of_a_note_counts() -> None:
    names = {
        document_id(SourceId("notes"), "a.md", "hash", 0),
        document_id(SourceId("other"), "a.md", "hash", 0),
        document_id(SourceId("notes"), "b.md", "hash", 0),
        document_id(SourceId("notes"), "a.md", "else", 0),
        document_id(SourceId("notes"), "a.md", "hash", 1),
    }
    assert len(names) == 5


def test_an_edit_elsewhere_leaves_a_chunk_its_name() -> None:
    before = chunk_ids(DOC, "v1", [("A", "one"), ("A", "two"), ("B", "three")])
    after = chunk_ids(DOC, "v1", [("A", "new"), ("A", "two"), ("B", "three")])
    assert before[1:] == after[1:]
    assert before[0] != after[0]


def test_equal_texts_of_a_section_get_different_ids() -> None:
    ids = chunk_ids(DOC, "v1", [("A", "same"), ("A", "same"), ("B", "same")])
    assert len(set(ids)) == 3
    assert ids[:2] == chunk_ids(DOC, "v1", [("A", "same"), ("A", "same")])


def test_note_and_chunker_are_part_of_a_chunks_name() -> None:
    part = [("A", "one")]
    assert chunk_ids(DOC, "v1", part) != chunk_ids(DOC, "v2", part)
    assert chunk_ids(DOC, "v1", part) != chunk_ids(DocId("1" * 32), "v1", part)


@given(st.text(), st.text(), st.text(st.sampled_from("0123456789abcdef")))
def test_a_chunks_name_is_canonical_json_spelled_out(version: str, heading: str, digest: str) -> None:
    (found,) = chunk_ids(DOC, version, [(heading, digest)])
    facts: dict[str, str | int] = {
        "chunker": version, "doc": DOC, "heading": heading, "ordinal": 0, "text": digest
    }  # fmt: skip
    assert found == canonical_id(facts)


@given(st.text(), st.text())
def test_different_texts_have_different_hashes(a: str, b: str) -> None:
    assert (text_hash(a) == text_hash(b)) is (a == b)
    assert len(text_hash(a)) == 16
