"""Decodes the bytes of a file into lines, and limits the size of a file.

The encoding is, in this order: that of a byte order mark; UTF-16 without a mark if there
are NUL bytes and the text is readable (otherwise the file is binary); UTF-8; Korean CP949
if all bytes decode and the letters are Hangul, because old Korean text files have no mark;
else UTF-8 with replacement characters and the flag `lossy_decoding`.

A line ends at a line feed, with or without a carriage return before it. Form feeds, lone
carriage returns and Unicode separators stay inside their line, as in an editor. The text is
not normalised.
"""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass

from kebab_tui.domain.document import DocumentFlag
from kebab_tui.domain.errors import UnsuitableFileError
from kebab_tui.domain.text import MODERN_HANGUL

MEGABYTE = 1024 * 1024
_BINARY_SAMPLE = 8 * 1024
_GUESS_SAMPLE = 64 * 1024
_MARKS = (
    # UTF-32 first: its little-endian mark begins with that of UTF-16.
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_HANGUL = re.compile(f"[{MODERN_HANGUL}]")
_FOREIGN_LETTER = re.compile(r"[^\W\d_\x00-\x7f]")
_READABLE = re.compile(f"[\t\n\r -~{MODERN_HANGUL}]")
_SHARE_OF_HANGUL = 0.9
_SHARE_OF_READABLE = 0.9


@dataclass(frozen=True, slots=True)
class DecodedText:
    lines: tuple[str, ...]
    flags: tuple[DocumentFlag, ...] = ()


def decode(data: bytes) -> DecodedText:
    """Decode a file; raise UnsuitableFileError if it is binary."""
    encoding, body = _encoding_of(data)
    flags: tuple[DocumentFlag, ...] = ()
    try:
        text = body.decode(encoding)
    except UnicodeDecodeError:
        korean = _decode_korean(body) if body is data and encoding == "utf-8" else None
        if korean is None:
            flags = ("lossy_decoding",)
        text = body.decode(encoding, "replace") if korean is None else korean
    if "\r" in text:
        text = text.replace("\r\n", "\n")
    lines = text.split("\n")
    if not lines[-1]:  # as in an editor: a line feed at the end of the text starts no further line
        lines.pop()
    return DecodedText(tuple(lines), flags)


def _encoding_of(data: bytes) -> tuple[str, bytes]:
    """Return the encoding by mark or NUL bytes, and the bytes without the mark."""
    sample = data[:_BINARY_SAMPLE]
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            body = data[len(mark) :]
            if encoding == "utf-8" and b"\0" in body[:_BINARY_SAMPLE]:
                raise _binary()
            return encoding, body
    if b"\0" not in sample:
        return "utf-8", data
    for encoding in ("utf-16-le", "utf-16-be"):
        text = sample.decode(encoding, "ignore")
        if len(_READABLE.findall(text)) >= _SHARE_OF_READABLE * len(sample) / 2:
            return encoding, data
    raise _binary()


def _binary() -> UnsuitableFileError:
    return UnsuitableFileError("binary file", "only text can be searched; exclude the file in .kebabignore")


def _decode_korean(data: bytes) -> str | None:
    """Decode as CP949 if nearly all non-ASCII letters become Hangul; other encodings become Hanja."""
    try:
        text = data.decode("cp949")
    except UnicodeDecodeError:
        return None
    letters = _FOREIGN_LETTER.findall(text[:_GUESS_SAMPLE])
    hangul = _HANGUL.findall(text[:_GUESS_SAMPLE])
    return text if letters and len(hangul) >= _SHARE_OF_HANGUL * len(letters) else None


@dataclass(frozen=True, slots=True)
class ReadLimits:
    max_bytes: int = 8 * MEGABYTE

    def check(self, size: int) -> None:
        if size > self.max_bytes:
            raise UnsuitableFileError(
                f"larger than {self.max_bytes / MEGABYTE:.3g} MB",
                "split the note, or raise the limit in the settings",
            )
