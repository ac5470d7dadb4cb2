"""PDF files of our own making: text at places, outlines, labels, and files that harm a reader.

`python -m tests.formats.pdfs` writes the documents of `fixtures/pdf`, the same bytes at each run.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

HELVETICA = "/Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding"
KOREAN = "/Type/Font/Subtype/Type0/BaseFont/HYSMyeongJo-Medium/Encoding/UniKS-UCS2-H/DescendantFonts[5 0 R]"
DESCENDANT = (
    "/Type/Font/Subtype/CIDFontType0/BaseFont/HYSMyeongJo-Medium/DW 1000/FontDescriptor 6 0 R"
    "/CIDSystemInfo<</Registry(Adobe)/Ordering(Korea1)/Supplement 1>>"
)
DESCRIPTOR = (
    "/Type/FontDescriptor/FontName/HYSMyeongJo-Medium/Flags 6/ItalicAngle 0/Ascent 880/Descent -120"
    "/CapHeight 720/StemV 60/FontBBox[0 -148 1001 880]"
)
WIDTH, HEIGHT, MARGIN, LEADING = 595, 842, 60, 14


@dataclass
class Page:
    """`texts`: x, y and text, in the order in which they are drawn."""

    texts: list[tuple[float, float, str]] = field(default_factory=list)
    size: float = 10

    def write(self, lines: Sequence[str], x: float = MARGIN, top: float = HEIGHT - MARGIN) -> Page:
        """Write lines one below the other; an empty one is a gap."""
        self.texts += [(x, top - LEADING * at, line) for at, line in enumerate(lines) if line]
        return self

    def rows(self, left: Sequence[str], right: Sequence[str], top: float = HEIGHT - MARGIN) -> Page:
        """Write two columns row by row, as some programs do."""
        for at, (one, other) in enumerate(zip(left, right, strict=True)):
            self.texts += [(MARGIN, top - LEADING * at, one), (WIDTH / 2 + 15, top - LEADING * at, other)]
        return self

    def content(self) -> bytes:
        parts = []
        for x, y, text in self.texts:
            try:
                font, data = b"/F1", text.encode("cp1252")
            except UnicodeEncodeError:
                font, data = b"/F2", text.encode("utf-16-be")
            parts.append(b"BT %s %g Tf %g %g Td <%s> Tj ET" % (font, self.size, x, y, data.hex().encode()))
        return b"\n".join(parts)


def pdf(
    pages: Sequence[Page],
    *,
    info: dict[str, str] | None = None,
    outline: Sequence[tuple[int, str, int]] = (),
    labels: str = "",
    encrypted: bool = False,
    contents: Sequence[bytes] = (),
) -> bytes:
    """A file. `outline`: depth from 0, title and page from 0; `labels`: the `Nums` of the page labels.

    `contents`: compressed content streams instead of the pages' own.
    """
    objects: dict[int, bytes] = {}
    count = max(len(pages), len(contents))
    first = 10
    kids = " ".join(f"{first + 2 * at} 0 R" for at in range(count))
    catalog = "/Type/Catalog/Pages 2 0 R"
    if labels:
        catalog += f"/PageLabels<</Nums[{labels}]>>"
    marks = first + 2 * count
    if outline:
        catalog += f"/Outlines {marks} 0 R/PageMode/UseOutlines"
        objects |= _outline(outline, marks, first)
    objects[1] = f"<<{catalog}>>".encode()
    objects[2] = f"<</Type/Pages/Count {count}/Kids[{kids}]>>".encode()
    objects[3] = f"<<{HELVETICA}>>".encode()
    objects[4] = f"<<{KOREAN}>>".encode()
    objects[5] = f"<<{DESCENDANT}>>".encode()
    objects[6] = f"<<{DESCRIPTOR}>>".encode()
    facts = (b"/%s %s" % (key.encode(), _string(value)) for key, value in (info or {}).items())
    objects[7] = b"<<%s>>" % b"".join(facts)
    for at in range(count):
        data = contents[at] if contents else zlib.compress(pages[at].content())
        number = first + 2 * at
        objects[number] = (
            f"<</Type/Page/Parent 2 0 R/MediaBox[0 0 {WIDTH} {HEIGHT}]/Contents {number + 1} 0 R"
            "/Resources<</Font<</F1 3 0 R/F2 4 0 R>>>>>>"
        ).encode()
        objects[number + 1] = b"<</Length %d/Filter/FlateDecode>>stream\n%s\nendstream" % (len(data), data)
    trailer = b"/Root 1 0 R/Info 7 0 R/ID[<00><00>]"
    if encrypted:
        objects[8] = b"<</Filter/Standard/V 1/R 2/P -4/O<%s>/U<%s>>>" % (b"11" * 32, b"22" * 32)
        trailer += b"/Encrypt 8 0 R"
    return _file(objects, trailer)


def _file(objects: dict[int, bytes], trailer: bytes) -> bytes:
    data = bytearray(b"%PDF-1.5\n")
    places: dict[int, int] = {}
    for number in sorted(objects):
        places[number] = len(data)
        data += b"%d 0 obj\n%s\nendobj\n" % (number, objects[number])
    start, size = len(data), max(objects) + 1
    data += b"xref\n0 %d\n" % size
    for number in range(size):
        used = number in places
        data += b"%010d %05d %s \n" % (places.get(number, 0), 0 if used else 65535, b"n" if used else b"f")
    data += b"trailer<</Size %d%s>>\nstartxref\n%d\n%%%%EOF\n" % (size, trailer, start)
    return bytes(data)


def _string(text: str) -> bytes:
    return b"<feff" + text.encode("utf-16-be").hex().encode() + b">"


def _outline(entries: Sequence[tuple[int, str, int]], root: int, first: int) -> dict[int, bytes]:
    numbers = {place: root + 1 + place for place in range(len(entries))}
    parents: dict[int, int] = {}
    above: list[tuple[int, int]] = []
    for place, (depth, _, _) in enumerate(entries):
        while above and above[-1][0] >= depth:
            above.pop()
        parents[place] = above[-1][1] if above else -1
        above.append((depth, place))
    children: dict[int, list[int]] = {}
    for place, parent in parents.items():
        children.setdefault(parent, []).append(place)
    objects = {}
    for parent, places in children.items():
        for at, place in enumerate(places):
            _, title, page = entries[place]
            facts = b"/Title %s/Parent %d 0 R/Dest[%d 0 R/Fit]" % (
                _string(title), numbers.get(parent, root), first + 2 * page,
            )  # fmt: skip
            if at:
                facts += b"/Prev %d 0 R" % numbers[places[at - 1]]
            if at + 1 < len(places):
                facts += b"/Next %d 0 R" % numbers[places[at + 1]]
            if place in children:
                facts += b"/First %d 0 R/Last %d 0 R/Count %d" % (
                    numbers[children[place][0]], numbers[children[place][-1]], len(children[place]),
                )  # fmt: skip
            objects[numbers[place]] = b"<<%s>>" % facts
    top = children[-1]
    objects[root] = b"<</Type/Outlines/First %d 0 R/Last %d 0 R/Count %d>>" % (
        numbers[top[0]], numbers[top[-1]], len(top),
    )  # fmt: skip
    return objects


def one_page(*lines: str) -> bytes:
    return pdf([Page().write(lines)])


LEFT = [
    "The left column tells of the making of",
    "barrels: an oak is felled in winter, cleft",
    "along its grain and dried for three sum-",
    "mers under the open sky. The cooper then",
    "shaves the staves and raises them in an",
    "iron hoop over a fire of shavings, until",
    "the wood bends and the barrel closes.",
    "Nothing is glued and nothing is nailed.",
]
RIGHT = [
    "The right column tells of the sailing of",
    "barges: the mast is lowered at every low",
    "bridge, and the leeboard does the work of",
    "a keel in water that reaches to the knee.",
    "A skipper and a boy are enough for eighty",
    "tons of wheat, if the wind stays west and",
    "the tide is taken at the turn. The boy",
    "cooks, and learns the names of the banks.",
]


# Files that harm


def deflate_bomb(megabytes: int = 1_000) -> bytes:
    """A page whose content grows a thousand times."""
    pack = zlib.compressobj(9)
    part = b"BT /F1 10 Tf 60 700 Td (bomb) Tj ET\n" * 29_000
    data = b"".join(pack.compress(part) for _ in range(megabytes)) + pack.flush()
    return pdf([], contents=[data])


def page_loop() -> bytes:
    """A tree of pages that contains itself."""
    objects = {1: b"<</Type/Catalog/Pages 2 0 R>>", 2: b"<</Type/Pages/Count 1/Kids[2 0 R]/Parent 2 0 R>>"}
    return _file(objects, b"/Root 1 0 R")


def outline_loop() -> bytes:
    """An outline whose first entry is next to itself."""
    made = pdf([Page().write(["text"])], outline=[(0, "one", 0), (0, "two", 0)])
    return made.replace(b"/Prev 13 0 R", b"/Next 13 0 R")


def deep_tree(depth: int = 20_000) -> bytes:
    """Arrays in arrays, deeper than a stack."""
    objects = {1: b"<</Type/Catalog/Pages 2 0 R/X " + b"[" * depth + b"]" * depth + b">>"}
    return _file(objects, b"/Root 1 0 R")


def many_pages(count: int) -> bytes:
    """A page that occurs again and again."""
    objects = {
        1: b"<</Type/Catalog/Pages 2 0 R>>",
        2: b"<</Type/Pages/Count %d/Kids[%s]>>" % (count, b"3 0 R " * count),
        3: b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]>>",
    }
    return _file(objects, b"/Root 1 0 R")


# The fixtures


def fixtures() -> dict[str, bytes]:
    """The documents of `fixtures/pdf`, by name."""
    handbook = [
        Page(size=18).write(["Keeping bees", "", "A handbook for the first three years"]),
        Page().write(["Contents", "", "Spring work 1", "Swarms 2", "Winter feed 3"]),
        Page().write(
            ["1 Spring work", "", "Open the hive on the first day above fifteen degrees. Look for eggs,",
             "not for the queen: where there are eggs of this week, she was there. A hive without",
             "brood is joined to its neighbour with a sheet of newspaper between the boxes.", "",
             "1.1 Cleaning the floor", "",
             "Scrape the floor board and burn what falls off it. Wax moths winter in that",
             "debris, and a knife costs less than a treatment."]
        ),
        Page().write(
            ["2 Swarms", "",
             "A colony swarms when it has more bees than room. Queen cells at the lower edge of",
             "the comb announce it nine days before. To prevent it, remove three frames of sealed",
             "brood and give the bees foundation to build. A swarm that hangs in a tree is shaken",
             "into a basket, and stays there if the queen fell in with it."]
        ),
        Page().write(
            ["3 Winter feed", "",
             "Fifteen kilograms of syrup, three parts sugar to two parts water, are fed before the",
             "first of September, so that summer bees store it and winter bees are spared. Fon-",
             "dant is for emergencies in February only. A hive that weighs less than the keeper can",
             "lift with one hand starves in March."]
        ),
    ]  # fmt: skip
    meeting = [
        Page().write(
            ["회의록: 마을 도서관 이전", "", "도서관은 내년 봄에 옛 우체국 건물로 옮긴다. 건물의 보일러는",
             "서른 해가 되었으므로 이사하기 전에 교체한다. 예산은 사천만 원이다."]
        ),
        Page().write(
            ["이사 일정", "", "책은 자원봉사자들이 손수레로 나른다. 하루에 이천 권씩 열흘이 걸린다.",
             "희귀본 서가는 습도를 재면서 마지막 날에 옮긴다."]
        ),
        Page().write(["반대 의견", "", "주차장이 좁다는 의견이 있었다. 우체국 뒤의 공터를 빌리기로 했다."]),
    ]  # fmt: skip
    columns = [
        Page(texts=[(150, 800, "Two crafts in two columns, written row by row")]).rows(LEFT, RIGHT, top=770)
    ]
    return {
        "bees.pdf": pdf(
            handbook,
            info={"Title": "Keeping bees", "Keywords": "bees, garden"},
            outline=[
                (0, "Spring work", 2),
                (1, "Cleaning the floor", 2),
                (0, "Swarms", 3),
                (0, "Winter feed", 4),
            ],
            labels="0<</S/r>>2<</S/D>>",
        ),
        "library-meeting.pdf": pdf(
            meeting,
            info={"Title": "회의록.hwp"},
            outline=[(0, "이사 일정", 1), (0, "반대 의견", 2)],
        ),
        "crafts.pdf": pdf(columns, info={"Title": "untitled"}),
    }


def main() -> None:
    folder = Path(__file__).parents[2] / "fixtures" / "pdf"
    folder.mkdir(exist_ok=True)
    for name, data in fixtures().items():
        (folder / name).write_bytes(data)


if __name__ == "__main__":
    main()
