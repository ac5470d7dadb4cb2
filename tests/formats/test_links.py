"""Links in the prose of a note: which there are, and at which line."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kebab_tui.domain.facets import LINK, URL
from kebab_tui.domain.links import WrittenLink
from kebab_tui.formats.markdown import parse
from tests.effort import cpu_seconds, sizes


def links(text: str) -> list[tuple[str, str]]:
    """Target and text of each link to a file, then of each address."""
    facets = parse(text.encode("utf-8", "surrogatepass"), "a.md").facets
    found = [WrittenLink.of(facet) for kind in (LINK.id, URL.id) for facet in facets if facet.kind == kind]
    return [(str(link), link.text) for link in found]


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("see [[a]]", [("a", "a")]),
        ("[[a#h]] [[a#h1#h2]] [[a#^b]]", [("a#h", "a#h"), ("a#h1#h2", "a#h1#h2"), ("a#^b", "a#^b")]),
        ("[[#heading]]", [("#heading", "#heading")]),
        ("[[ a | shown ]]", [("a", "shown")]),
        ("[[folder/a.md|x]]", [("folder/a.md", "x")]),
        ("![[a]] ![[image.png|300]]", [("a", "a"), ("image.png", "image.png")]),
        ("[text](b.md) [text](<b c.md>)", [("b.md", "text"), ("b c.md", "text")]),
        ("[t](../d/b%20c.md#A%20b 'title')", [("../d/b c.md#A b", "t")]),
        ("[a [nested] text](b.md)", [("b.md", "a [nested] text")]),
        ("[![alt](i.png)](b.md)", [("b.md", "![alt](i.png)"), ("i.png", "alt")]),
        ("[x](#here)", [("#here", "x")]),
        ("[[a|b]](`code`) [[c]](d)", [("a", "b"), ("c", "c")]),
        ("[[한국어 노트#제목|보기]]", [("한국어 노트#제목", "보기")]),
        ("a\\[b](c.md) \\[[a]] !\\[[b]]", []),
        ("[x](a(b)c.md) [y](a\\)b.md)", [("a(b)c.md", "x"), ("a)b.md", "y")]),
        ("[o](o.md?query#frag)", [("o.md#frag", "o")]),
        ("`[[a]]` ``[b](c.md) ` `` [[d]]", [("d", "d")]),
        ("it`s [[a]]\n\nthat`s [[b]]", [("a", "a"), ("b", "b")]),
        ("- it`s [[a]]\n- that`s [[b]]", [("a", "a"), ("b", "b")]),
        ("\\`[[a]]\\`", [("a", "a")]),
        ("%%[[a]]%% <!-- [[b]] --> [[c]]", [("c", "c")]),
        ("`%%` [[a]] `%%`", [("a", "a")]),
        ("%%\n\nsecret [[a]]\n\n%%\n[[b]]", [("b", "b")]),
        ("100%% of [[a]]", [("a", "a")]),
        ("```\n[[a]]\n```\n    [[b]]\n\n[[c]]", [("c", "c")]),
        ("[[]] [[ ]] [[|x]] [a]() [] ()", []),
        ("[[a]", []),
        ("x = a[b[0]] + [[1, 2], [3, 4]]", []),
        ("[t][Ref] [Ref][] [ref] [no]\n\n[ref]: b.md 'x'", [("b.md", "t"), ("b.md", "Ref"), ("b.md", "ref")]),
        ("[a][long\n  label]", []),
        ("[^1] [x][^1]\n\n[^1]: b.md", []),
        ("[unused]: b.md", []),
        (
            "https://example.org/a_(b). <https://q.io/x>, [t](https://r.io) [m](mailto:x@y.z)",
            [
                ("https://example.org/a_(b)", "https://example.org/a_(b)"),
                ("https://q.io/x", "https://q.io/x"),
                ("https://r.io", "t"),
                ("mailto:x@y.z", "m"),
            ],
        ),
        ("[https://shown.org](https://r.io)", [("https://r.io", "https://shown.org")]),
        ("[r]: https://r.io\n\n[a][r]", [("https://r.io", "a")]),
        ("![x](data:image/png;base64,AAAA)", []),
        ("//cdn.example.org xhttps://no.org", []),
        ("[x](//cdn.example.org/y)", [("//cdn.example.org/y", "x")]),
    ],
)  # fmt: skip
def test_links_are_found(line: str, found: list[tuple[str, str]]) -> None:
    assert links(line) == found


def test_each_link_has_its_line_and_column() -> None:
    text = (
        '---\nup: "[[home]]"\n---\n# 가 [[a]]\n\n| x |\n|---|\n| [[b\\|c]] |\n\ntwo\nlines [of\ntext](d.md)\n'
    )
    found = [WrittenLink.of(one) for one in parse(text.encode(), "a.md").facets if one.kind == LINK.id]
    assert [(link.path, link.text, link.line, link.column) for link in found] == [
        ("home", "home", 2, 6),
        ("a", "a", 4, 7),
        ("b", "c", 8, 3),
        ("d.md", "of text", 11, 7),
    ]


def test_ten_thousand_links_are_kept_and_more_are_said_to_be_left_out() -> None:
    for count, kept, flags in ((10_000, 10_000, ()), (25_000, 20_000, ("values_left_out",))):
        for joint in (" ", "\n"):
            note = parse(joint.join(["[[same]]"] * count).encode(), "a.md")
            assert sum(facet.kind == "link" for facet in note.facets) == kept
            assert note.flags == flags


@sizes(50_000, 250_000)
@pytest.mark.parametrize(
    "piece",
    [
        "[[", "](", "[", "]", "](a", "[a](", "](<", "`", "`` ` ", "``` ", "%%", "<!--", "[a]: b\n", "[a][b]",
        "://", "\\", "https://a", "((", "[x](a(", '](a "', "[[a]", "![", "](a\n", "- [ ] a\n", "a:: b\n",
        "[a::", "(a:: ", "- TODO ",
    ],
)  # fmt: skip
def test_no_text_can_make_the_search_for_links_hang(piece: str, size: int) -> None:
    texts = (piece * (size // len(piece)), "".join(f"{'`' * (n % 700)}{piece}" for n in range(size // 350)))
    for text in texts:
        assert cpu_seconds(lambda text=text: parse(text.encode(), "a.md")) < 5  # type: ignore[misc]


@given(st.text(alphabet="[]()`#|!\\<>%:/. a\n-", max_size=200))
def test_any_text_can_be_searched_for_links(text: str) -> None:
    for target, _ in links(text):
        assert target.strip()
