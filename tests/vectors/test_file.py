"""The vector file: read back to the bit, rejected if a bit differs."""

from __future__ import annotations

import contextlib
import errno
import os
import random
import struct
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from kebab_tui.vectors import file as index_file
from kebab_tui.vectors import segment
from kebab_tui.vectors.faiss_index import FaissIndex, VectorSnapshot
from kebab_tui.vectors.file import Saved, UnusableFileError, read, read_header, write
from kebab_tui.vectors.segment import FaissSegment
from tests.vectors.making import DIMS, EXACT, MODEL, codes, index_of, resolved, unit

HEADER_BYTES = 128
PAYLOAD = 128
PAGE = 4096
CHECKED = ".checked"


def some_snapshot() -> VectorSnapshot:
    """A base with deleted rows, and a delta."""
    index = index_of(range(1, 1_001), unit(1_000))
    index.change([2_000, 17], unit(2, 5), range(30, 60))
    return index.snapshot


@pytest.fixture
def path(tmp_path: Path) -> str:
    name = str(tmp_path / "vectors")
    write(name, MODEL, Saved(some_snapshot(), 42))
    return name


def refusal(path: str, model: str = MODEL, dims: int = DIMS) -> str:
    with pytest.raises(UnusableFileError) as raised:
        read(path, model, dims)
    return raised.value.message


def test_what_was_written_is_read_to_the_bit(path: str) -> None:
    saved, contents = read(path, MODEL, DIMS), some_snapshot()
    rows = contents.live_rows()
    assert saved.revision == 42
    assert saved.snapshot.live_rows().tolist() == rows.tolist()
    assert saved.snapshot.codes_of(rows) == contents.codes_of(rows)
    assert (saved.snapshot.deleted, saved.snapshot.count) == (31, 971)


def test_an_empty_index_is_a_file_too(tmp_path: Path) -> None:
    name = str(tmp_path / "vectors")
    write(name, MODEL, Saved(index_of([], unit(0)).snapshot, 7))
    assert read(name, MODEL, DIMS).snapshot.count == 0


def test_the_same_contents_make_the_same_file(path: str) -> None:
    before = Path(path).read_bytes()
    write(path, MODEL, Saved(some_snapshot(), 42))
    assert Path(path).read_bytes() == before


def test_a_file_that_is_cut_short_or_goes_on_is_refused(path: str) -> None:
    whole = Path(path).read_bytes()
    dice = random.Random(1)
    lengths = {0, 1, 8, HEADER_BYTES - 1, HEADER_BYTES, HEADER_BYTES + 1, len(whole) - 1}
    for length in sorted(lengths | {dice.randrange(len(whole)) for _ in range(100)}):
        Path(path).write_bytes(whole[:length])
        assert refusal(path)
    Path(path).write_bytes(whole + b"\0")
    assert "length" in refusal(path)


def test_a_page_of_zeros_is_refused_wherever_it_is(path: str) -> None:
    whole = Path(path).read_bytes()
    for begin in range(0, len(whole), PAGE):
        hole = whole[begin : begin + PAGE]
        Path(path).write_bytes(whole[:begin] + bytes(len(hole)) + whole[begin + PAGE :])
        assert refusal(path)


def flipped(whole: bytes, bit: int) -> bytes:
    changed = bytearray(whole)
    changed[bit // 8] ^= 1 << bit % 8
    return bytes(changed)


def test_each_flipped_bit_is_refused(path: str) -> None:
    whole = Path(path).read_bytes()
    dice = random.Random(2)
    for bit in [*range(HEADER_BYTES * 8), *(dice.randrange(len(whole) * 8) for _ in range(200))]:
        Path(path).write_bytes(flipped(whole, bit))
        assert refusal(path), bit


def test_faiss_is_given_no_byte_of_a_file_with_a_flipped_bit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = str(tmp_path / "coarse")
    write(name, MODEL, Saved(index_of(range(1, 2_001), unit(2_000), exact_up_to=1_000).snapshot, 1))
    whole, parsed = Path(name).read_bytes(), []
    monkeypatch.setattr(FaissSegment, "load_coarse", lambda _, data: parsed.append(data))
    dice = random.Random(3)
    for _ in range(200):
        Path(name).write_bytes(flipped(whole, dice.randrange(len(whole) * 8)))
        assert refusal(name)
    assert parsed == []


def resigned(whole: bytes) -> bytes:
    """The bytes with a valid checksum, as in a file made on purpose."""
    header, payload = whole[: PAYLOAD - 40], whole[PAYLOAD:]
    checksum = index_file._Checksum(header)
    checksum.add(memoryview(payload))
    return header + checksum.digest() + bytes(8) + payload


def place_of(part: int, path: str) -> int:
    """Where a part of the payload begins."""
    sizes = read_header(path, MODEL, DIMS).sizes()
    return PAYLOAD + sum(map(index_file._aligned, sizes[:part]))


BASE_ROWS, BASE_CODES, DELETED, DELTA_ROWS, DELTA_CODES, COARSE = range(6)


@pytest.mark.parametrize("slot", [1_000, -1, 2**62, -(2**62)])
def test_a_gone_slot_that_is_none_is_refused(path: str, slot: int) -> None:
    whole = Path(path).read_bytes()
    assert resigned(whole) == whole
    place = place_of(DELETED, path)
    Path(path).write_bytes(resigned(whole[:place] + struct.pack("<q", slot) + whole[place + 8 :]))
    assert "not in order" in refusal(path)


@pytest.mark.parametrize("part", [BASE_ROWS, DELTA_ROWS], ids=["base", "fresh"])
def test_rows_that_are_not_in_order_are_refused(path: str, part: int) -> None:
    whole, place = Path(path).read_bytes(), place_of(part, path)
    Path(path).write_bytes(resigned(whole[:place] + struct.pack("<q", 9_999) + whole[place + 8 :]))
    assert "not in order" in refusal(path)


def test_a_file_of_another_program_is_refused(path: str) -> None:
    whole = Path(path).read_bytes()
    Path(path).write_bytes(resigned(b"otherone" + whole[8:]))
    assert "another format" in refusal(path)


@pytest.mark.parametrize("number", [np.nan, -np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("slot", ["first of the base", "last of the fresh"])
def test_a_vector_that_is_not_finite_is_refused(path: str, number: float, slot: str) -> None:
    """Such a vector could get any rank, and a result could have the score NaN."""
    whole = Path(path).read_bytes()
    place = place_of(BASE_CODES if slot == "first of the base" else COARSE, path)
    place -= 0 if slot == "first of the base" else 2
    Path(path).write_bytes(resigned(whole[:place] + np.float16(number).tobytes() + whole[place + 2 :]))
    assert "not finite" in refusal(path)


def test_the_greatest_and_the_least_numbers_are_finite(path: str) -> None:
    whole, place = Path(path).read_bytes(), place_of(BASE_CODES, path)
    numbers = np.array([65504, -65504, 6e-8, -0.0], np.float16).tobytes()
    Path(path).write_bytes(resigned(whole[:place] + numbers + whole[place + len(numbers) :]))
    assert read(path, MODEL, DIMS).revision == 42


def test_no_bytes_of_a_coarse_index_upset_faiss(tmp_path: Path) -> None:
    """Given to FAISS's own parser, 8 of 400 such files ended the process."""
    name, count = str(tmp_path / "coarse"), 2_049
    write(name, MODEL, Saved(index_of(range(1, count + 1), unit(count), exact_up_to=1_000).snapshot, 1))
    whole, dice = Path(name).read_bytes(), random.Random(6)
    start = place_of(COARSE, name)
    for _ in range(40):
        changed = bytearray(whole)
        for _ in range(dice.choice((1, 8, 500))):
            changed[dice.randrange(start, len(whole))] = dice.randrange(256)
        Path(name).write_bytes(resigned(bytes(changed)))
        with contextlib.suppress(UnusableFileError):
            index = FaissIndex(read(name, MODEL, DIMS).snapshot, 1_000, resolved)
            assert index.snapshot.base.is_coarse
            assert len(index.nearest(unit(1, 7)[0], 5)) == 5


def test_a_coarse_index_of_another_size_is_refused() -> None:
    made = FaissSegment(np.arange(2_000), DIMS)
    made.codes[:] = codes(unit(2_000))
    made.make_coarse(lambda: False)
    data = made.coarse_bytes()
    others = (
        data[:0],
        data[:-1],
        np.append(data, np.uint8(0)),
        data[:20],
        np.append(data[:16], ~data[16:] | 255),
    )
    for wrong in others:
        with pytest.raises(ValueError, match="coarse index"):
            made.load_coarse(wrong)


def test_a_pipe_in_its_place_does_not_block(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert "not a regular file" in refusal(str(tmp_path / "pipe"))


def test_random_bytes_are_refused(path: str) -> None:
    for size in (1, HEADER_BYTES, 5_000):
        Path(path).write_bytes(random.Random(4).randbytes(size))
        assert refusal(path)


def test_a_file_of_another_model_is_refused(path: str) -> None:
    assert "another model" in refusal(path, model="vec-other-16-00000000")
    assert "another model" in refusal(path, dims=DIMS * 2)


def test_a_coarse_index_packed_by_another_faiss_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = str(tmp_path / "coarse")
    write(path, MODEL, Saved(index_of(range(1, 2_001), unit(2_000), exact_up_to=1_000).snapshot, 1))
    monkeypatch.setattr(segment, "_packed_by", lambda version: b"0.0.0".ljust(16))
    assert "another FAISS" in refusal(path)


def test_a_file_of_a_later_format_is_refused(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index_file, "_VERSION", index_file._VERSION + 1)
    assert "format" in refusal(path)


def test_no_file_and_an_unreadable_one_are_told_apart(tmp_path: Path) -> None:
    assert "no file" in refusal(str(tmp_path / "missing"))
    (tmp_path / "folder").mkdir()
    assert "cannot be read" in refusal(str(tmp_path / "folder"))


def test_an_error_of_the_disk_while_reading_is_a_refusal(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> object:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(index_file, "_filled", fails)
    os.unlink(path + CHECKED)
    assert "Input/output error" in refusal(path)


@pytest.mark.parametrize("room", [0, 50, HEADER_BYTES, 10_000])
def test_a_full_disk_leaves_the_old_file_and_no_scratch(
    path: str, room: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, left, real = Path(path).read_bytes(), [room], os.write

    def full(descriptor: int, data: memoryview) -> int:
        if left[0] == 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        written = real(descriptor, data[: left[0]])
        left[0] -= written
        return written

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(OSError, match="No space"):
        write(path, MODEL, Saved(index_of(range(1, 501), unit(500)).snapshot, 43))
    assert Path(path).read_bytes() == before
    assert sorted(os.listdir(os.path.dirname(path))) == [Path(path).name, Path(path + CHECKED).name]


KILLED = """
import os, signal, sys
from tests.vectors.making import *
from kebab_tui.vectors.file import Saved; from kebab_tui.vectors.file import write
path, point, after = sys.argv[1], sys.argv[2], int(sys.argv[3])
real, calls = getattr(os, point), [0]
def dies(*args, **options):
    calls[0] += 1
    if calls[0] > after:
        os.kill(os.getpid(), signal.SIGKILL)
    return real(*args, **options)
setattr(os, point, dies)
write(path, MODEL, Saved(index_of(range(1, 4001), unit(4000)).snapshot, 99))
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("point", "after"),
    [("open", 0), *(("write", n) for n in range(4)), ("fsync", 0), ("replace", 0), ("fsync", 1)],
)
def test_a_process_killed_while_writing_leaves_the_old_file_or_the_new(
    path: str, point: str, after: int
) -> None:
    argv = [sys.executable, "-c", KILLED, path, point, str(after)]
    done = subprocess.run(argv, check=False, cwd=Path(__file__).parents[2])
    assert done.returncode == -9
    renamed = (point, after) == ("fsync", 1)
    assert read(path, MODEL, DIMS).revision == (99 if renamed else 42)
    write(path, MODEL, Saved(some_snapshot(), 100))
    assert read(path, MODEL, DIMS).revision == 100
    assert sorted(os.listdir(os.path.dirname(path))) == [Path(path).name, Path(path + CHECKED).name]


def test_thousands_of_vectors_are_read_in_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index_file, "_BLOCK", 1_000)
    name, vectors = str(tmp_path / "vectors"), unit(3_000)
    write(name, MODEL, Saved(index_of(range(1, 3_001), vectors, EXACT).snapshot, 1))
    contents = read(name, MODEL, DIMS).snapshot
    assert (contents.base.codes == codes(vectors)).all()
