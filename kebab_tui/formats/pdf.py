"""Reads PDF files: the text of each page in reading order, the outline as headings, metadata.

Runs in the child process of `formats.isolated` only: PDFium is a foreign parser, and it may crash.

- Text: PDFium's own order, which is that of one column. Columns that a program wrote row by row are read one
  after the other. A word broken at the end of a line is one word, without its hyphen, in the line where it
  begins. Ligatures are letters, unusual spaces are spaces, control characters are gone.
- Blocks: paragraphs, guessed by short lines; no block crosses a page. An entry of the outline is a heading at
  the line with its text, else at the top of its page.
- Title: that of the metadata, unless it is a file name or `untitled`; else none. Keywords become tags.
- A document without text is refused with the reason; pages without text are counted.
"""

from __future__ import annotations

import ctypes
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby, islice, pairwise, zip_longest
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
_MAX_ON_PAGE = 100
"""Entries of the outline for a page."""
_MIN_ROWS = 4
_MAX_RECTS = 4_000
"""A page of more pieces of text is a drawing."""

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
        keywords = re.split("[,;]", _said(document.get_metadata_value, "Keywords"))
        labels = [_said(document.get_page_label, number) for number in range(count)]
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
        return PageText(number, count, _said(document.get_page_label, number - 1), tuple(lines))
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

    @property
    def height(self) -> float:
        return self.top - self.bottom

    @property
    def middle(self) -> float:
        return (self.top + self.bottom) / 2


_Row = list[_Box]
_EVERYTHING = _Box(-math.inf, -math.inf, math.inf, math.inf)


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
        rects = _rects(text)
        parts = _parts(rects, _EVERYTHING)
        if len(parts) > 1:
            return _rearranged(text, parts)
        # The first keeps the lines of turned text, the second letters beyond 16 bits.
        whole: str = text.get_text_range() if _is_turned(rects) else text.get_text_bounded()
        return whole
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


def _is_turned(rects: Sequence[_Box]) -> bool:
    """Whether most lines run up or down the page, as on a landscape page."""
    return sum(box.height > 2 * (box.right - box.left) for box in rects) * 2 > len(rects)


def _parts(rects: Sequence[_Box], area: _Box) -> list[_Box]:
    """Cut an area into parts in reading order; only one if the order of the file is right.

    It is wrong where the file jumps from left to right over the same gap in row after row, and both sides are
    filled like columns and unlike cells of a table.
    """
    gap = _gap(rects)
    if gap is None:
        return [area]
    low, high = gap
    parts: list[_Box] = []
    top = area.top
    bands = list(_bands(_rows(rects), low, high))
    for (is_split, band), following in zip_longest(bands, bands[1:]):
        bottom = area.bottom if following is None else (band[-1][0].middle + following[1][0][0].middle) / 2
        part = _Box(area.left, bottom, area.right, top)
        if is_split and _has_columns(band, low, high):
            for side in (part._replace(right=(low + high) / 2), part._replace(left=(low + high) / 2)):
                inside = [box for box in rects if _contains(side, (box.left + box.right) / 2, box.middle)]
                parts += _parts(inside, side)
        elif parts and parts[-1].left == area.left and parts[-1].right == area.right:
            parts[-1] = parts[-1]._replace(bottom=bottom)
        else:
            parts.append(part)
        top = bottom
    return parts


def _gap(rects: Sequence[_Box]) -> tuple[float, float] | None:
    """The gap that most jumps to the right have in common."""
    jumps = [
        (a.right, b.left)
        for a, b in pairwise(rects)
        if b.left - a.right > 0.7 * a.height
        and min(a.top, b.top) - max(a.bottom, b.bottom) > 0.5 * min(a.height, b.height)
    ]
    if len(jumps) < _MIN_ROWS:
        return None
    depth = most = 0
    place = 0.0
    for x, step in sorted([(begin, 1) for begin, _ in jumps] + [(end, -1) for _, end in jumps]):
        depth += step
        if depth > most:
            most, place = depth, x
    common = [(begin, end) for begin, end in jumps if begin <= place < end]
    low, high = max(begin for begin, _ in common), min(end for _, end in common)
    is_wide = high - low > 0.7 * median(box.height for box in rects)
    return (low, high) if len(common) >= _MIN_ROWS and is_wide else None


def _rows(rects: Sequence[_Box]) -> list[_Row]:
    """The rows of a page from top to bottom."""
    height = median(box.height for box in rects)
    rows: list[_Row] = []
    for box in sorted(rects, key=lambda box: -box.middle):
        if rows and rows[-1][0].middle - box.middle < height / 2:
            rows[-1].append(box)
        else:
            rows.append([box])
    return rows


def _bands(rows: Sequence[_Row], low: float, high: float) -> Iterator[tuple[bool, list[_Row]]]:
    """Neighbouring rows that all leave the gap free, or all do not."""
    for is_split, band in groupby(
        rows, lambda row: not any(box.left < high and box.right > low for box in row)
    ):
        yield is_split, list(band)


def _has_columns(band: Sequence[_Row], low: float, high: float) -> bool:
    """Whether the rows on both sides of a gap reach across their side, as the lines of columns do."""
    left = [[box for box in row if box.right <= low] for row in band]
    right = [[box for box in row if box.left >= high] for row in band]
    if sum(bool(one and other) for one, other in zip(left, right, strict=True)) < _MIN_ROWS - 1:
        return False
    height = median(box.height for row in band for box in row)
    for side in (list(filter(None, left)), list(filter(None, right))):
        begins = [min(box.left for box in row) for row in side]
        ends = [max(box.right for box in row) for row in side]
        width = max(ends) - min(begins)
        if width < 12 * height:  # numbers, bullets, names
            return False
        if median(end - begin for begin, end in zip(begins, ends, strict=True)) < 0.8 * width:
            return False
    return True


def _contains(area: _Box, x: float, y: float) -> bool:
    return area.left <= x < area.right and area.bottom <= y < area.top


def _rearranged(text: pdfium.PdfTextPage, parts: Sequence[_Box]) -> str:
    """The text part by part, each in the order of the file; every character once."""
    written: list[list[str]] = [[] for _ in parts]
    left, right, bottom, top = (ctypes.c_double() for _ in range(4))
    at = before = 0
    for place in range(text.count_chars()):
        letter = chr(raw.FPDFText_GetUnicode(text, place))
        # Spaces and line ends that PDFium made have no place of their own.
        if not letter.isspace() and raw.FPDFText_GetCharBox(text, place, left, right, bottom, top):
            x, y = (left.value + right.value) / 2, (bottom.value + top.value) / 2
            at = next((number for number, part in enumerate(parts) if _contains(part, x, y)), at)
        if at != before:
            written[at].append("\n")
            before = at
        written[at].append(letter)
    lines = (line for letters in written for line in "".join(letters).split("\n"))
    return "\n".join(line for line in lines if line.strip())


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


def _said(read: Callable[..., str], *arguments: object) -> str:
    """A string of a document on one line; empty if it is not text."""
    try:
        return one_line(read(*arguments)[: 8 * MAX_LENGTH])
    except UnicodeDecodeError:
        return ""


def _title(document: pdfium.PdfDocument, path: str) -> str:
    title = _said(document.get_metadata_value, "Title")[:MAX_LENGTH]
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
            title = _said(entry.get_title)[:MAX_LENGTH]
            if number is not None and title:
                on_page = found.setdefault(number, [])
                if len(on_page) < _MAX_ON_PAGE:
                    on_page.append(_Entry(min(entry.level + 1, 6), title))
    except pdfium.PdfiumError:
        pass  # a damaged outline: the headings so far
    return found


def _blocks(
    lines: Sequence[str],
    starts: Sequence[int],
    outline: Mapping[int, list[_Entry]],
    checkpoint: Checkpoint,
) -> Iterator[Block]:
    entries: list[_Entry] = []
    for number, (start, end) in enumerate(pairwise([*starts, len(lines) + 1])):
        checkpoint()
        entries += outline.get(number, ())
        if start < end:  # else the entries of an empty page stand above the next text
            headings = list(_headings(lines[start - 1 : end - 1], start, entries[-_MAX_ON_PAGE:], checkpoint))
            at = start
            for heading in headings:
                yield from _paragraphs(lines, at, heading.first - 1)
                yield heading
                at = max(at, heading.last + 1)
            yield from _paragraphs(lines, at, end - 1)
            entries = []


def _headings(
    page: Sequence[str], start: int, entries: Sequence[_Entry], checkpoint: Checkpoint
) -> Iterator[Block]:
    """Each entry at its lines; those that are not found at the top of the page."""
    if not entries:
        return
    keys = [_key(line) for line in page]
    names = [_key(_NUMBERING.sub("", line[:MAX_LENGTH], count=1)) for line in page]
    placed: list[tuple[int, int, int, _Entry]] = []
    at = 0
    for place, entry in enumerate(entries):
        checkpoint()
        first, last = _lines_with(entry.title, keys, names, at) or (-1, -1)
        if first >= 0:
            at = last + 1
        placed.append((first, last, place, entry))
    for first, last, _, entry in sorted(placed, key=lambda one: (max(one[0], 0), one[2])):
        yield Block("heading", start + max(first, 0), start + max(last, 0), entry.level, entry.title)


def _lines_with(title: str, keys: Sequence[str], names: Sequence[str], start: int) -> tuple[int, int] | None:
    """The lines, from `start`, that have exactly this text, with or without numbers before it.

    `names`: the keys of the lines without such numbers.
    """
    wanted = {_key(title), _key(_NUMBERING.sub("", title, count=1))} - {""}
    for first in range(start, len(keys)):
        whole = ""
        for last in range(first, min(first + _HEADING_LINES, len(keys))):
            whole += keys[last]
            if not any(one.startswith(whole) for one in wanted):
                break
            if whole in wanted:
                return first, last
        if names[first] in wanted:
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
