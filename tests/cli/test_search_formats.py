"""The output formats other than JSON."""

from __future__ import annotations

import os
import re
import subprocess
import unicodedata
from dataclasses import replace
from pathlib import Path
from urllib.parse import quote

import pytest

from kebab_tui.cli.line_formats import write_quickfix
from kebab_tui.cli.search import FORMATS
from kebab_tui.cli.search_output import shown_score
from kebab_tui.search.matching_line import matching_line
from tests.command_line import Kebab
from tests.tui.hits import hit

# for people


def test_each_hit_is_four_lines(kebab: Kebab, notes: Path) -> None:
    kebab("ingest", str(notes))
    done = kebab("search", "listeners", "--format", "human")
    assert re.sub(r"\[0\.\d\d\]", "[0.00]", done.out).splitlines() == [
        "1. [0.00] Two listeners collide.",
        "   doc: port.md",
        "   citation: port.md:L4-L6",
        "   heading: Port conflict",
    ]


def test_a_passage_without_a_heading_keeps_its_four_lines(kebab: Kebab, notes: Path) -> None:
    (notes / "bare.txt").write_text("pomegranate molasses\n")
    kebab("ingest", str(notes))
    lines = kebab("search", "pomegranate", "--format", "human").lines
    assert lines[1:] == ["   doc: bare.txt", "   citation: bare.txt:L1", "   heading:"]


def test_a_score_too_small_for_two_digits_is_not_shown_as_nothing() -> None:
    assert [shown_score(score) for score in (0.82, 0.004, 0.0, 0.999)] == ["0.82", "<0.01", "0.00", "1.00"]


def test_the_whole_passage_is_shown_below_its_hit(kebab: Kebab, notes: Path) -> None:
    kebab("ingest", str(notes))
    shown = kebab("search", "listeners", "--full").lines
    assert [line[5:] for line in shown if line.startswith("   │ ")] == [
        "# Port conflict",
        "",
        "Two listeners collide.",
    ]


def test_what_a_note_or_its_name_holds_never_commands_the_terminal(kebab: Kebab, notes: Path) -> None:
    evil = "# \x1b]0;owned\x07 head\n\nzanzibar \x1b[2J\x9b1m \u202e text\n"
    name = "e\x1b[31mvil\n\x9bn\u2066a\u2028m\x7f\U000e0041e.md"
    (notes / name).write_text(evil)
    kebab("ingest", str(notes))
    searches = [["search", "zanzibar", "--full", "--explain", "--format", form] for form in FORMATS]
    others = (["list", "--json"], ["inspect", name, "--json"], ["open", "gone" + name, "--json"])
    for argv in (*searches, *others, ["inspect", "gone" + name, "--json"]):
        done = kebab(*argv)
        assert not re.search(
            "[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u202e\u2066\U000e0041]", done.out + done.err
        ), argv
    assert kebab("list", "--json", "e*").json["items"][0]["path"] == name


# for editors


def opened_by_vim(listing: str, folder: Path) -> list[list[str]]:
    """File, line and column of every entry of vim's quickfix list."""
    (folder / "list").write_bytes(listing.encode("utf-8", "surrogateescape"))
    script = "call writefile(map(getqflist(), {_, e -> bufname(e.bufnr).'\t'.e.lnum.'\t'.e.col}), 'out')"
    argv = ["vim", "-u", "NONE", "-N", "-es", "-q", "list", "-c", script, "-c", "qa!"]
    environ = {**os.environ, "LC_ALL": "C.UTF-8", "HOME": str(folder)}
    subprocess.run(argv, cwd=folder, env=environ, stdin=subprocess.DEVNULL, timeout=60, check=False)
    return [line.split("\t") for line in (folder / "out").read_text("utf-8", "surrogateescape").splitlines()]


@pytest.mark.program
@pytest.mark.skipif(not os.path.exists("/usr/bin/vim"), reason="no vim here")
def test_vim_opens_the_lines_that_match(kebab: Kebab, notes: Path, tmp_path: Path) -> None:
    texts = {
        "spaced name.md": "# A\n\nfirst\n\n밥 zanzibar here\n",
        "colon: 12.md": 'zanzibar said "hello" at line 3: stop\n',
        "한글.md": "# 제목\n\n한 줄\n두 줄 zanzibar\n",
        "`touch ran` |!touch ran.md": "zanzibar\n",
        "$(touch ran) a~ 5$ #1 %.md": "zanzibar\n",
    }
    for name, text in texts.items():
        (notes / name).write_text(text)
    kebab("ingest", str(notes))
    done = kebab("search", "zanzibar", "--format", "vimgrep")
    (tmp_path / "vim").mkdir()
    found = {
        (Path(path).name, int(line), int(col))
        for path, line, col in opened_by_vim(done.out, tmp_path / "vim")
    }
    assert found == {
        ("spaced name.md", 5, 5),
        ("colon: 12.md", 1, 1),
        ("한글.md", 4, 9),
        ("`touch ran` |!touch ran.md", 1, 1),
        ("$(touch ran) a~ 5$ #1 %.md", 1, 1),
    }
    assert not (tmp_path / "vim/ran").exists()


def test_the_path_is_relative_below_the_working_folder(
    kebab: Kebab, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kebab("ingest", str(notes))
    assert kebab("search", "listeners", "--format", "vimgrep").out.startswith(
        f"{notes}/port.md:6:5:Two listeners"
    )
    monkeypatch.chdir(notes.parent)
    assert (
        kebab("search", "listeners", "--format", "vimgrep").out
        == "notes/port.md:6:5:Two listeners collide.\n"
    )


@pytest.mark.parametrize(
    "name", ["new\nline.md", 'quo"te.md', "a:12:b.md", "esc\x1b.md", "$HOME.md", "a ~.md"]
)
def test_a_path_that_the_format_cannot_express_is_left_out_and_counted(
    kebab: Kebab, notes: Path, name: str
) -> None:
    (notes / name).write_text("zanzibar\n")
    kebab("ingest", str(notes))
    done = kebab("search", "zanzibar", "--format", "vimgrep")
    assert (done.code, done.out) == (0, "")
    assert "left out 1 hit: the path" in done.err


def test_a_name_that_is_no_text_leaves_as_its_bytes(kebab: Kebab, notes: Path) -> None:
    with open(os.fsencode(notes) + b"/\xff.md", "w") as file:
        file.write("zanzibar\n")
    kebab("ingest", str(notes))
    done = kebab("search", "zanzibar", "--format", "vimgrep")
    assert done.out == f"{notes}/\udcff.md:1:1:zanzibar\n"


def test_a_terminal_gets_no_byte_of_a_name_that_is_no_text(capsys: pytest.CaptureFixture[str]) -> None:
    named = replace(hit(), root="/notes", raw_path=b"\x9b2J.md", text="zanzibar", highlights=())
    write_quickfix([(named, matching_line(named, named.text, 1, "zanzibar"))], terminal=True)
    assert capsys.readouterr().out.startswith("/notes/\ufffd2J.md:")


# for pasting


def test_markdown_quotes_the_cited_lines_and_names_them(kebab: Kebab, notes: Path) -> None:
    kebab("ingest", str(notes))
    assert kebab("search", "숯불", "--format", "markdown").out == (
        "> # 케밥\n>\n> 숯불에 구운 고기.\n>\n> — [케밥.md:L1-L3](%EC%BC%80%EB%B0%A5.md#L1-L3) · 케밥\n"
    )


def test_a_link_leads_to_the_name_that_the_file_system_has(kebab: Kebab, notes: Path) -> None:
    apart = unicodedata.normalize("NFD", "꼬치.md")
    (notes / apart).write_text("zanzibar\n")
    kebab("ingest", str(notes))
    quoted = kebab("search", "zanzibar", "--format", "markdown").out
    assert f"[꼬치.md:L1]({quote(apart)}#L1)" in quoted


def test_context_is_rules_then_passages_with_lines_between(kebab: Kebab, notes: Path) -> None:
    rules = ("--rule", "Cite what you use.", "--rule", "Answer briefly.")
    kebab("source", "add", str(notes), *rules)
    kebab("ingest")
    assert kebab("search", "owner OR listeners", "--format", "context").out in (
        RULES + PORT + "\n---\n\n" + RUST,
        RULES + RUST + "\n---\n\n" + PORT,
    )


RULES = "## Library Rules\n- Cite what you use.\n- Answer briefly.\n\n---\n\n"


def test_the_column_is_that_of_the_match_in_the_note_with_its_markup(kebab: Kebab, notes: Path) -> None:
    (notes / "links.md").write_text(
        "intro quokka-free\n\n- see [the **wombat** page](https://x.y/wombat) now\n"
    )
    kebab("ingest", str(notes))
    found = kebab("search", "wombat", "--format", "vimgrep").out
    assert found == f"{notes}/links.md:3:14:- see [the **wombat** page](https://x.y/wombat) now\n"


PORT = "### Port conflict\n*Port conflict*\nport.md:L4-L6\n# Port conflict\n\nTwo listeners collide.\n"
RUST = (
    "### Rust\n*Rust > Ownership*\nrust.md:L1-L9\n"
    "# Rust\n\n## Ownership\n\nA value has one owner.\n\n```rust\nlet a = b;\n```\n"
)


def test_code_cut_out_of_its_fence_gets_a_longer_one(kebab: Kebab, notes: Path) -> None:
    lines = "\n".join(f"let zanzibar_{number} = ````;" for number in range(400))
    (notes / "long.md").write_text(f"`````rust\n{lines}\n`````\n")
    kebab("ingest", str(notes))
    out = kebab("search", "zanzibar_200", "--format", "context").out
    assert re.search("\n`````(rust)?\n", out)
    assert out.count("`````") >= 2
