"""The arguments of each editor for a file and a line, as in the editors' manuals."""

from __future__ import annotations

import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kebab_tui.editor import FAMILIES, Editor, FilePlace, Kind, launch, launch_all, launch_template

PATH = "/notes/a.md"


@pytest.mark.parametrize(
    ("command", "argv", "kind"),
    [
        ("vi", "vi +12 -- /notes/a.md", "terminal"),
        ("vim", "vim +12 -- /notes/a.md", "terminal"),
        ("nvim", "nvim +12 -- /notes/a.md", "terminal"),
        ("lvim", "lvim +12 -- /notes/a.md", "terminal"),
        ("view", "view +12 -- /notes/a.md", "terminal"),
        ("/usr/local/bin/vim -u NONE", "/usr/local/bin/vim -u NONE +12 -- /notes/a.md", "terminal"),
        ("nano", "nano +12,1 /notes/a.md", "terminal"),
        ("micro", "micro +12:1 /notes/a.md", "terminal"),
        ("kak", "kak +12:1 -- /notes/a.md", "terminal"),
        ("hx", "hx /notes/a.md:12:1", "terminal"),
        ("helix", "helix /notes/a.md:12:1", "terminal"),
        ("emacs -nw", "emacs -nw +12:1 /notes/a.md", "terminal"),
        ("emacsclient -t", "emacsclient -t +12:1 /notes/a.md", "terminal"),
        ("emacsclient -n", "emacsclient -n +12:1 /notes/a.md", "gui"),
        ("joe", "joe +12 /notes/a.md", "terminal"),
        ("ne", "ne +12 /notes/a.md", "terminal"),
        ("mg", "mg +12 /notes/a.md", "terminal"),
        ("code", "code -r -g /notes/a.md:12:1", "gui"),
        ("code --wait", "code --wait -g /notes/a.md:12:1", "gui"),
        ("code.cmd -n", "code.cmd -n -g /notes/a.md:12:1", "gui"),
        ("codium", "codium -r -g /notes/a.md:12:1", "gui"),
        ("cursor", "cursor -r -g /notes/a.md:12:1", "gui"),
        ("antigravity", "antigravity -r -g /notes/a.md:12:1", "gui"),
        ("zed", "zed /notes/a.md:12:1", "gui"),
        ("subl --wait", "subl --wait /notes/a.md:12:1", "gui"),
        ("atom", "atom /notes/a.md:12:1", "gui"),
        ("idea", "idea --line 12 --column 1 /notes/a.md", "gui"),
        ("pycharm64.exe", "pycharm64.exe --line 12 --column 1 /notes/a.md", "gui"),
        ("rubymine", "rubymine --line 12 --column 1 /notes/a.md", "gui"),
        ("kate", "kate --line 12 --column 1 /notes/a.md", "gui"),
        ("mate -w", "mate -w --line 12 /notes/a.md", "gui"),
        ("xed", "xed --line 12 /notes/a.md", "gui"),
        ("gvim -f", "gvim -f +12 -- /notes/a.md", "gui"),
        ("mvim", "mvim +12 -- /notes/a.md", "gui"),
        ("gedit", "gedit +12:1 /notes/a.md", "gui"),
        ("bbedit", "bbedit +12 /notes/a.md", "gui"),
        (
            "'C:\\Program Files\\Notepad++.exe'",
            "'C:\\Program Files\\Notepad++.exe' -n12 -c1 /notes/a.md",
            "gui",
        ),
    ],
)
def test_each_editor_gets_the_line_in_its_own_syntax(command: str, argv: str, kind: Kind) -> None:
    made = launch(shlex.split(command), PATH, 12)
    assert (list(made.argv), made.kind, made.at_line) == (shlex.split(argv), kind, True)


@pytest.mark.parametrize(
    ("command", "argv"),
    [
        ("vim", ["vim", "+12", "+normal! 04l", "--", PATH]),
        ("nano", ["nano", "+12,5", PATH]),
        ("hx", ["hx", PATH + ":12:5"]),
        ("joe", ["joe", "+12", PATH]),
    ],
)
def test_the_column_is_passed_to_editors_that_accept_one(command: str, argv: list[str]) -> None:
    assert list(launch([command], PATH, 12, 5).argv) == argv


A, B, C = FilePlace("/n/a.md", 12), FilePlace("/n/b c'd.md", 34), FilePlace("/n/c.md", 7)


@pytest.mark.parametrize(
    ("command", "argv"),
    [
        ("vim", "vim -c TOUR -- A B C"),
        ("gvim -f", "gvim -f -c TOUR -- A B C"),
        ("vi", "vi +12 -- A B C"),
        ("nano", "nano +12,1 A +34,1 B +7,1 C"),
        ("micro", "micro -parsecursor true A:12:1 B:34:1 C:7:1"),
        ("kak", "kak -e KAK"),
        ("hx", "hx A:12:1 B:34:1 C:7:1"),
        ("emacs -nw", "emacs -nw +7:1 C +34:1 B +12:1 A"),
        ("emacsclient -t", "emacsclient -t +12:1 A +34:1 B +7:1 C"),
        ("joe", "joe +12 A +34 B +7 C"),
        ("code", "code -r -g A:12:1 B:34:1 C:7:1"),
        ("code -w", "code -w -g A:12:1 B:34:1 C:7:1"),
        ("subl", "subl A:12:1 B:34:1 C:7:1"),
        ("idea", "idea --line 12 --column 1 A B C"),
        ("unheard-of", "unheard-of A B C"),
        ("foot myed {path}:{line} -x", "foot myed A:12 B:34 C:7 -x"),
        ("myed +{line} {path}", "myed +12 A B C"),
    ],
)
def test_several_files_are_opened_by_one_command(command: str, argv: str) -> None:
    script = "edit -existing '/n/b c''d.md' 34 1; edit -existing '/n/c.md' 7 1; edit -existing '/n/a.md' 12 1"
    tour = "silent 2argument|silent! 34|silent 3argument|silent! 7|silent 1argument|silent! 12"
    names = {"KAK": script, "TOUR": tour, "A": A.path, "B": B.path, "C": C.path}
    expected = [
        names.get(word.partition(":")[0], word.partition(":")[0]) + "".join(word.partition(":")[1:])
        if word.partition(":")[0] in names
        else word
        for word in shlex.split(argv)
    ]
    made = Editor(tuple(shlex.split(command)), "EDITOR").at_all([A, B, C])
    assert list(made.argv) == expected


def test_a_path_that_reads_as_a_place_is_opened_beside_others_without_a_line() -> None:
    odd = FilePlace("/n/a.md:5", 12)
    assert launch_all(("hx",), [odd, C]).argv == ("hx", "/n/a.md:5", "/n/c.md:7:1")
    assert launch_all(("micro",), [C, odd]).argv == ("micro", "+7:1", "/n/c.md", "/n/a.md:5")


@given(
    st.lists(
        st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])), min_size=2, max_size=4
    )
)
def test_no_name_of_several_files_is_a_command(names: list[str]) -> None:
    places = [FilePlace(f"/n/{name}", 3) for name in names]
    for program in FAMILIES:
        argv = launch_all((program,), places).argv
        if program == "kak":
            plain = argv[2].replace("''", "")
            assert plain.count("'") == 2 * len(names), "each name is in one pair of quotes"
            continue
        for place in places:
            escaped = place.path.replace("\\", "\\\\").replace(",", "\\,")
            assert any(word.removesuffix(":3:1") in (place.path, escaped) for word in argv[1:])
        assert not any(word.startswith(("-", "+")) and "/n/" in word for word in argv[1:])


def test_an_unknown_program_gets_the_file_only() -> None:
    made = launch(["scribble", "--dark"], PATH, 12)
    assert made.argv == ("scribble", "--dark", PATH)
    assert (made.kind, made.at_line, made.program) == ("terminal", False, "scribble")


@pytest.mark.parametrize(
    "name", ["a:12", "a:12:3", "a:", "12:5.md:7", "a: 3", "a:1e5", "a:0x1F", "T10:30:00.md"]
)
@pytest.mark.parametrize("command", ["code", "hx", "subl", "zed"])
def test_a_path_that_reads_as_a_place_is_opened_without_a_line(command: str, name: str) -> None:
    made = launch([command], f"/notes/{name}", 5)
    assert made.argv == (command, f"/notes/{name}")
    assert not made.at_line


@pytest.mark.parametrize("name", ["a:b.md", "T10:30.md", "메모: 포트.md"])
def test_a_colon_before_a_name_does_no_harm(name: str) -> None:
    assert launch(["hx"], f"/notes/{name}", 5).argv == ("hx", f"/notes/{name}:5:1")


def test_a_colon_does_no_harm_where_the_line_is_an_option() -> None:
    assert launch(["vim"], "/notes/a:12", 5).argv == ("vim", "+5", "--", "/notes/a:12")


def test_a_template_places_path_line_and_column() -> None:
    made = launch_template(["ed", "--at={line}:{column}", "{path}"], "gui", PATH, 3, 4)
    assert (made.argv, made.kind, made.at_line) == (("ed", "--at=3:4", PATH), "gui", True)
    assert not launch_template(["ed", "{path}"], "terminal", PATH, 3).at_line


def test_braces_in_a_name_are_not_filled_in() -> None:
    path = "/notes/{line} {column}.md"
    assert launch_template(["ed", "{path}", "{other}"], "terminal", path, 3).argv == ("ed", path, "{other}")
    assert launch(["vim"], path, 3).argv[-1] == path


def test_a_relative_path_is_refused_because_it_may_look_like_an_option() -> None:
    with pytest.raises(ValueError, match="absolute"):
        launch(["vim"], "-c quit", 1)


@given(
    st.sampled_from(sorted(FAMILIES)),
    st.text(st.characters(exclude_characters="\0"), min_size=1),
    st.integers(1, 10**9),
    st.integers(1, 10**4),
)
def test_whatever_the_name_it_is_one_word_and_no_option(name: str, file: str, line: int, column: int) -> None:
    path = "/notes/" + file
    made = launch([name], path, line, column)
    if "joe" in name or name in ("jmacs", "jstar", "jpico"):
        path = path.replace("\\", "\\\\").replace(",", "\\,")
    holding = [word for word in made.argv[1:] if path in word]
    assert len(holding) == 1
    assert holding[0].startswith("/")
    assert made.at_line == any(str(line) in word.replace(path, "") for word in made.argv[1:])


def test_commas_and_backslashes_are_escaped_for_joe() -> None:
    assert launch(["joe"], "/notes/a,1\\2.md", 3).argv == ("joe", "+3", "/notes/a\\,1\\\\2.md")
