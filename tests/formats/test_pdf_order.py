"""The reading order of real documents, compared with that of poppler."""

from __future__ import annotations

import shutil

import pytest

from tests.benchmarks.bench_pdf import PAGES, order, pages_a_second

FOLDER = "/usr/share"


@pytest.mark.program
@pytest.mark.skipif(shutil.which("pdftotext") is None, reason="pdftotext (poppler) is not installed")
def test_words_of_one_column_pages_are_in_the_order_of_poppler(capsys: pytest.CaptureFixture[str]) -> None:
    found = order(FOLDER)
    if found.pages < 10:
        pytest.skip(f"{FOLDER} has no PDF documents; the packages debian-reference-en and valgrind have some")
    pages, rate = pages_a_second(FOLDER)
    with capsys.disabled():
        print(
            f"\nPDF: {100 * found.share:.2f} % of words in order on {found.pages} of {PAGES} pages; ", end=""
        )
        print(f"{pages:,} pages at {rate:,.0f} pages/s")
    assert found.share >= 0.99
