"""No text takes more than linear time to read and cut, whatever it is made of.

The cases are built by a seeded generator: some text many times, something in the middle, other
text many times. `python -m tests.formats.test_linear_time SECONDS SEED` searches for as long as wanted.
"""

import random
import sys
import time
from collections.abc import Iterator

import pytest

from kebab_tui.chunking.chunker import chunk
from kebab_tui.formats import markdown, plain_text

FRAGMENTS = (
    *("- ", "* ", "+ ", "-", "*", "_", "1. ", "10) ", "- - -", "***\n", "-\n", "- a\n", "1.\n", "   - "),
    *("> ", ">", "```", "```\n", "~~~\n", "  ```\n", "`", "``", "` ", "    x\n", "\t", " ", "  ", "    "),
    *("|", "|-", "|-|-|\n", "|a|b|\n", "a|b\n", ":-", "===\n", "---\n", "=", "--", "# ", "#", "## h\n"),
    *("<!--\n", "-->", "<div>\n", "</div>\n", "<a ", "<b>\n", "<a b='", "<pre>\n", "<?", "<![CDATA[", "&"),
    *("[", "]", "[x]: y\n", "[[", "](", "(", ")", "![", "[^", "\\", "*a ", "**", "__", "~~", "{#", "\\|"),
    *("x", "x ", "x\n", "a: b\n", "- [ ] ", "#t ", "#t/", "#", "\n", "\n\n", " \n", "\r\n", "\f", "\x01"),
    *("가", "가나 ", "\u0301\u0323", "e\u0301", "\u3000", "c++ ", "http://", "...\n", "? ", "{", "&a ", "*a"),
)
HEADS = ("", "", "", "---\na: b\n", "---\n", "# h\n", "x\n", "- ", "# ", "\n")
LINEAR_UP_TO = 10.0
"""Four times the text in less than ten times the CPU time: quadratic is sixteen times."""


def cases(seed: int) -> Iterator[tuple[str, str, str, str, bool]]:
    pick = random.Random(seed)

    def some(most: int) -> str:
        return "".join(pick.choices(FRAGMENTS, k=pick.randint(1, most)))

    while True:
        yield pick.choice(HEADS), some(3), some(3), pick.choice(("", some(3))), pick.random() < 0.15


def text_of(case: tuple[str, str, str, str, bool], size: int) -> str:
    """Return about `size` characters; some cases grow from unit to unit."""
    head, before, middle, after, growing = case
    if growing:
        steps = range(1, int((size / len(before)) ** 0.5) + 1)
        return head + middle.join(before * step for step in steps) + after * (size // 2 // max(1, len(after)))
    return head + before * (size // 2 // len(before)) + middle + after * (size // 2 // max(1, len(after)))


def read(text: str) -> None:
    data = text.encode()
    chunk(markdown.parse(data, "a.md"))
    chunk(plain_text.parse(data, "a.txt"))


def cost(case: tuple[str, str, str, str, bool], size: int, tries: int = 3) -> float:
    text = text_of(case, size)
    found = []
    for _ in range(tries):
        begin = time.process_time()
        read(text)
        found.append(time.process_time() - begin)
    return min(found)


def is_linear(case: tuple[str, str, str, str, bool], size: int, small: float) -> bool:
    """One run is enough for cheap cases; others are measured at two or three sizes."""
    if cost(case, size, 1) < small:
        return True
    for larger in (size, 2 * size):
        whole = cost(case, larger)
        if whole < small or whole < LINEAR_UP_TO * cost(case, larger // 4):
            return True
    return False


@pytest.mark.parametrize(
    "case",
    [
        ("", "- ", "x ```y\n", "x\n", False),
        ("", "- ", "x ```\n", "   # h\n", False),
        ("", "1. ", "x ***\n", "===\n", False),
        ("---\ntitle: ", "\u0301\u0323", "\n---\n", "x\n", False),
    ],
)
def test_cases_that_were_quadratic_take_linear_time(case: tuple[str, str, str, str, bool]) -> None:
    assert is_linear(case, 40_000, 0.06)


def test_no_combination_takes_more_than_linear_time() -> None:
    made = cases(seed=1)
    assert [case for case in (next(made) for _ in range(250)) if not is_linear(case, 16_000, 0.04)] == []


if __name__ == "__main__":
    seconds, seed = float(sys.argv[1]), int(sys.argv[2])
    begin, tried = time.process_time(), 0
    slowest: tuple[float, object] = (0.0, None)
    for case in cases(seed):
        tried += 1
        one = cost(case, 40_000, 1)
        slowest = max(slowest, (one, case), key=lambda found: found[0])
        if one > 0.1 and not is_linear(case, 40_000, 0.1):
            print("not linear:", case, f"{cost(case, 40_000, 1):.2f} s for 40,000 characters", flush=True)
        if time.process_time() - begin > seconds:
            break
    print(f"{tried:,} cases; slowest for 40,000 characters: {slowest[0]:.3f} s {slowest[1]!r}")
