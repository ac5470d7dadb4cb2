"""Reads PDF files: the text of each page in reading order, the outline as headings, metadata.

Runs in the child process of `formats.isolated` only: PDFium is a foreign parser, and it may crash.

- Text: PDFium's own order, which is that of one column. Columns that a program wrote row by row are read one
  after the other (see `_columns`). A word broken at the end of a line is one word, without its hyphen, in the
  line where it begins. Ligatures are letters, unusual spaces are spaces, control characters are gone.
- Blocks: paragraphs, guessed by short lines; no block crosses a page. An entry of the outline is a heading at
  the line with its text, else at the top of its page.
- Title: that of the metadata, unless it is a file name or `untitled`; else none. Keywords become tags.
- A document without text is refused with the reason; pages without text are counted.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice, pairwise
from statistics import median
from typing import NamedTuple

import pypdfium2 as pdfium
import pypdfium2.raw as raw

from kebab_tui.domain.checkpoint import OFTEN, UNLIMITED, Checkpoint
from kebab_tui.domain.document import Block, DocumentFlag, PageText, ParsedNote
from kebab_tui.domain.errors import UnreadableFileError, UnsuitableFileError
from kebab_tui.domain.facets import TAG, TITLE, Facet
from kebab_tui.domain.names import name_of
from kebab_tui.domain.pages import page_facets
from kebab_tui.formats.note import MAX_LENGTH, distinct, language_of, one_line

MAX_PAGES = 10_000
MAX_CHARACTERS = 8_000_000
_MAX_OUTLINE = 10_000
_MAX_RECTS = 4_000
"""A page of more pieces is a drawing, not columns of text."""

_BREAK = re.compile("[\x02\ufffe] ?(?:\r?\n)?|[-\u2010\u2011\xad] ?\r?\n")
"""A hyphen at the end of a line: PDFium marks most of them, and often drops the line feed."""
_REST = re.compile(r"\S{0,80}")
_UNUSUAL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\xa0\xad\u2000-\u200b\ufb00-\ufb06\ufeff\ufffe\uffff]")
_USUAL: Mapping[str, str] = {
    "\x02": "-", "\ufffe": "-", "\xad": "", "\u200b": "", "\ufeff": "", "\uffff": "", "\ufb00": "ff",
    "\ufb01": "fi", "\ufb02": "fl", "\ufb03": "ffi", "\ufb04": "ffl", "\ufb05": "st", "\ufb06": "st",
}  # fmt: skip
_LINE_END = re.compile(r"\r\n?|\n")

_NOT_A_TITLE = re.compile(
    r"(?:untitled|제목 ?없음|무제)\b.*|microsoft (?:word|powerpoint|excel) - .*|(?:/|\\\\|[a-z]:\\|file:).*"
    r"|.*\.(?:docx?|odt|rtf|hwpx?|pages|tex|dvi|e?ps|pdf|indd|qxp|pptx?|odp|xlsx?|ods|key|txt|md|html?|fm|pub)",
    re.IGNORECASE,
)
_ITEM = re.compile(r"(?:[-–*•●▪◦‣·]|\(?(?:\d{1,3}|[a-z])[.)])\s")
_SHORT = 0.8
_LONG = 1_500
_SENTENCE_ENDS = frozenset(".!?:。…)”\"'")
_NOT_LETTERS = re.compile(r"[\W_]+")
_NUMBERING = re.compile(
    r"(?:chapter|appendix|part|section|제)?\s*(?:[\dA-Z]{1,3}\.)*[\dA-Z]{1,3}[.:장절]?\s+"
)
_HEADING_LINES = 3


def parse(data: bytes, path: str, checkpoint: Checkpoint = UNLIMITED) -> ParsedNote:
    """Read all pages; raise UnreadableFileError with the reason if there is no text to be had."""
    document = _opened(data)
    try:
        count = len(document)
        if count > MAX_PAGES:
            raise UnsuitableFileError(f"has more than {MAX_PAGES:,} pages", "split the document")
        lines: list[str] = []
        starts: list[int] = []
        characters = empty = 0
        for number in range(count):
            checkpoint()
            text = _text_of(document, number)
            found = _lines(text)
            empty += not found
            characters += len(text)
            if characters > MAX_CHARACTERS:
                raise UnsuitableFileError(
                    f"has more than {MAX_CHARACTERS // 1_000_000} million characters", "split the document"
                )
            starts.append(len(lines) + 1)
            lines += found
        if not lines:
            pages = "1 page" if count == 1 else f"{count:,} pages"
            raise UnsuitableFileError(
                f"no text on {pages} (scanned?)", "make its text searchable, for example with ocrmypdf"
            )
        outline = _outline(document, checkpoint)
        title = _title(document, path)
        keywords = re.split("[,;]", _metadata(document, "Keywords"))
        labels = [document.get_page_label(number) for number in range(count)]
    finally:
        document.close()
    flags: tuple[DocumentFlag, ...] = ("pages_without_text",) if empty else ()
    return ParsedNote(
        title=title,
        indexed_title=title,
        type="pdf",
        lang=language_of(lines),
        lines=tuple(lines),
        blocks=tuple(_blocks(lines, starts, outline, checkpoint)),
        facets=(
            *distinct(TAG, (Facet(TAG.id, word) for word in keywords)).values(),
            *([Facet(TITLE.id, title)] if title else []),
            *page_facets(labels),
        ),
        flags=flags,
        pages=tuple(starts),
    )


def page(data: bytes, path: str, number: int, checkpoint: Checkpoint = UNLIMITED) -> PageText:  # noqa: ARG001
    """The text of one page, from 1; the last one for a larger number."""
    document = _opened(data)
    try:
        count = len(document)
        number = max(1, min(number, count))
        lines = _lines(_text_of(document, number - 1))
        return PageText(number, count, document.get_page_label(number - 1), tuple(lines))
    finally:
        document.close()


def _opened(data: bytes) -> pdfium.PdfDocument:
    if not data:
        raise UnsuitableFileError("empty file")
    try:
        document = pdfium.PdfDocument(data)
        if len(document):
            return document
        document.close()
    except pdfium.PdfiumError as error:
        match error.err_code:
            case raw.FPDF_ERR_PASSWORD:
                raise UnsuitableFileError("encrypted", "save a copy without a password") from error
            case raw.FPDF_ERR_SECURITY:
                raise UnsuitableFileError("encrypted by an unsupported method") from error
        if b"%PDF-" not in data[:1024]:
            raise UnsuitableFileError("not a PDF file, despite its name") from error
        raise UnreadableFileError("damaged or truncated", "download or export it again") from error
    raise UnreadableFileError("damaged: it has no pages", "download or export it again")


# The text of a page


class _Box(NamedTuple):
    left: float
    bottom: float
    right: float
    top: float


def _text_of(document: pdfium.PdfDocument, number: int) -> str:
    """The text of a page in reading order; empty for a damaged page."""
    try:
        page = document[number]
    except pdfium.PdfiumError:
        return ""
    try:
        text = page.get_textpage()
    except pdfium.PdfiumError:
        page.close()
        return ""
    try:
        parts = _columns(_rects(text))
        if parts is None:
            whole: str = text.get_text_bounded()
            return whole
        return "\n".join(text.get_text_bounded(*part) for part in parts)
    finally:
        text.close()
        page.close()


def _rects(text: pdfium.PdfTextPage) -> list[_Box]:
    """The pieces of text of a page, in the order of the file."""
    count = raw.FPDFText_CountRects(text, 0, -1)
    if count > _MAX_RECTS:
        return []
    left, top, right, bottom = (ctypes.c_double() for _ in range(4))
    found = []
    for place in range(count):
        raw.FPDFText_GetRect(text, place, left, top, right, bottom)
        found.append(_Box(left.value, bottom.value, right.value, top.value))
    return found


def _columns(rects: Sequence[_Box]) -> list[_Box] | None:
    """The parts of a page in reading order; None if the order of the file is right.

    It is wrong where the file jumps from left to right over the same gap in row after row, and both sides are
    filled like columns and unlike cells of a table.
    """
    gutter = _gutter(rects)
    if gutter is None:
        return None
    low, high = gutter
    across = [box for box in rects if box.left < low and box.right > high]
    parts: list[_Box] = []
    found = False
    for band in _bands(rects, across):
        left = [box for box in band if box.right <= high]
        right = [box for box in band if box.left >= low]
        inside = len(left) + len(right) == len(band)
        if inside and _is_filled(left, low, to_right=True) and _is_filled(right, high, to_right=False):
            found = True
            for side in (left, right):
                inner = _columns(side)
                parts += inner or [_around(side)]
        else:
            parts.append(_around(band))
    return parts if found else None


def _gutter(rects: Sequence[_Box]) -> tuple[float, float] | None:
    """The gap that most jumps to the right have in common."""
    jumps = [
        (a.right, b.left)
        for a, b in pairwise(rects)
        if b.left - a.right > 0.7 * (a.top - a.bottom)
        and min(a.top, b.top) - max(a.bottom, b.bottom) > 0.5 * min(a.top - a.bottom, b.top - b.bottom)
    ]
    if len(jumps) < 4:
        return None
    ends = sorted([(begin, -1) for begin, _ in jumps] + [(end, 1) for _, end in jumps])
    depth = most = 0
    place = 0.0
    for x, step in ends:
        depth -= step
        if depth > most:
            most, place = depth, x
    common = [(begin, end) for begin, end in jumps if begin <= place < end]
    if len(common) < 4:
        return None
    return max(begin for begin, _ in common), min(end for _, end in common)


def _bands(rects: Sequence[_Box], across: Sequence[_Box]) -> Iterator[list[_Box]]:
    """Cut a page into bands from top to bottom: the lines across the gap, and the rows between them."""
    crossing = set(across)
    band: list[_Box] = []
    kind = False
    for box in sorted(rects, key=lambda box: -(box.top + box.bottom)):
        if band and (box in crossing) is not kind:
            yield band
            band = []
        kind = box in crossing
        band.append(box)
    if band:
        yield band


def _is_filled(side: Sequence[_Box], edge: float, *, to_right: bool) -> bool:
    """Whether most rows of a side of the gap reach across it, as the lines of a column do."""
    rows: dict[int, tuple[float, float]] = {}
    height = median(box.top - box.bottom for box in side) if side else 0
    for box in side:
        row = round((box.top + box.bottom) / 2 / max(height, 1))
        left, right = rows.get(row, (box.left, box.right))
        rows[row] = min(left, box.left), max(right, box.right)
    if len(rows) < 3:
        return False
    outer = min(left for left, _ in rows.values()) if to_right else max(right for _, right in rows.values())
    width = abs(edge - outer)
    if width < 8 * height:  # numbers of lines, bullets, names of fields
        return False
    return median(right - left for left, right in rows.values()) > 0.6 * width


def _around(boxes: Sequence[_Box]) -> _Box:
    return _Box(
        min(box.left for box in boxes),
        min(box.bottom for box in boxes),
        max(box.right for box in boxes),
        max(box.top for box in boxes),
    )


def _lines(text: str) -> list[str]:
    """The lines of a page, with whole words; without blank lines at either end."""
    text = _with_whole_words(text)
    if _UNUSUAL.search(text):
        text = _UNUSUAL.sub(lambda found: _USUAL.get(found[0], " "), text)
    lines = [line.rstrip() for line in _LINE_END.split(text)]
    while lines and not lines[-1]:
        lines.pop()
    first = next((at for at, line in enumerate(lines) if line), 0)
    return lines[first:]


def _with_whole_words(text: str) -> str:
    """Join words that are broken at the end of a line; the line ends behind the word."""
    parts = []
    done = 0
    for found in _BREAK.finditer(text):
        start, end = found.span()
        if start < done:
            continue
        is_word = text[start - 1 : start].isalpha() and text[end : end + 1].islower()
        if not is_word and found[0][-1] == "\n":
            continue
        begin = max(text.rfind(mark, max(start - 40, 0), start) for mark in " \n")
        keeps_hyphen = not is_word or "-" in text[begin + 1 : start]
        rest = _REST.match(text, end)
        assert rest is not None  # it matches nothing, too
        parts += [text[done:start], "-" if keeps_hyphen else "", rest[0], "\n"]
        done = rest.end()
        done += len(re.match(r"[ \t]*(?:\r?\n)?", text[done : done + 8])[0])  # type: ignore[index]  # the same
    parts.append(text[done:])
    return "".join(parts)


# Metadata and outline


def _metadata(document: pdfium.PdfDocument, key: str) -> str:
    return one_line(document.get_metadata_value(key)[: 8 * MAX_LENGTH])


def _title(document: pdfium.PdfDocument, path: str) -> str:
    title = _metadata(document, "Title")[:MAX_LENGTH]
    if _NOT_A_TITLE.fullmatch(title) or title.casefold() == name_of(path).casefold():
        return ""
    return title


class _Entry(NamedTuple):
    level: int
    title: str


def _outline(document: pdfium.PdfDocument, checkpoint: Checkpoint) -> dict[int, list[_Entry]]:
    """The entries of the outline by page, from 0."""
    found: dict[int, list[_Entry]] = {}
    try:
        for place, entry in enumerate(islice(document.get_toc(), _MAX_OUTLINE)):
            if not place & OFTEN:
                checkpoint()
            target = entry.get_dest()
            number = target.get_index() if target is not None else None
            title = one_line(entry.get_title()[: 8 * MAX_LENGTH])[:MAX_LENGTH]
            if number is not None and title:
                found.setdefault(number, []).append(_Entry(min(entry.level + 1, 6), title))
    except pdfium.PdfiumError:
        pass  # a damaged outline: the headings so far
    return found


def _blocks(
    lines: Sequence[str], starts: Sequence[int], outline: Mapping[int, list[_Entry]], checkpoint: Checkpoint
) -> Iterator[Block]:
    entries: list[_Entry] = []
    for number, (start, end) in enumerate(pairwise([*starts, len(lines) + 1])):
        checkpoint()
        entries += outline.get(number, ())
        if start < end:  # else the entries of an empty page stand above the next text
            headings = list(_headings(lines[start - 1 : end - 1], start, entries))
            at = start
            for heading in headings:
                yield from _paragraphs(lines, at, heading.first - 1)
                yield heading
                at = max(at, heading.last + 1)
            yield from _paragraphs(lines, at, end - 1)
            entries = []


def _headings(page: Sequence[str], start: int, entries: Sequence[_Entry]) -> Iterator[Block]:
    """Each entry at its lines, in their order on the page; those not found above the first one that is."""
    keys = [_key(line) for line in page] if entries else []
    placed: list[tuple[int, int, int, _Entry]] = []
    at = 0
    for place, entry in enumerate(entries):
        first, last = _lines_with(keys, page, entry.title, at) or (-1, -1)
        if first >= 0:
            at = last + 1
        placed.append((first, last, place, entry))
    for first, last, _, entry in sorted(placed, key=lambda one: (max(one[0], 0), one[2])):
        yield Block("heading", start + max(first, 0), start + max(last, 0), entry.level, entry.title)


def _lines_with(keys: Sequence[str], page: Sequence[str], title: str, start: int) -> tuple[int, int] | None:
    """The lines, from `start`, that have exactly this text, with or without numbers before it."""
    wanted = {_key(title), _key(_NUMBERING.sub("", title, count=1))} - {""}
    for first in range(start, len(keys)):
        whole = ""
        for last in range(first, min(first + _HEADING_LINES, len(keys))):
            whole += keys[last]
            if not any(one.startswith(whole) for one in wanted):
                break
            if whole in wanted:
                return first, last
        if _key(_NUMBERING.sub("", page[first][:MAX_LENGTH], count=1)) in wanted:
            return first, first
    return None


def _key(text: str) -> str:
    return _NOT_LETTERS.sub("", text[: 4 * MAX_LENGTH]).casefold()


def _paragraphs(lines: Sequence[str], first: int, last: int) -> Iterator[Block]:
    """Cut lines into paragraphs: at blank lines, behind short lines, before items of lists.

    A long paragraph is cut behind a sentence: a page is often a single one.
    """
    lengths = sorted(len(line) for line in lines[first - 1 : last])
    short = _SHORT * lengths[len(lengths) * 9 // 10] if lengths else 0
    begin, size, ended = first, 0, False
    for at in range(first, last + 1):
        line = lines[at - 1]
        if begin < at and (not line or ended or _ITEM.match(line)):
            yield Block("prose", begin, at - 1)
            begin, size = at, 0
        if not line:
            begin = at + 1
        size += len(line)
        is_sentence = line[-1:] in _SENTENCE_ENDS
        ended = size > _LONG or (is_sentence and (len(line) < short or size > _LONG * 2 // 3))
    if begin <= last:
        yield Block("prose", begin, last)
