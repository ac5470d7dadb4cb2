"""`kebab find`: paths for people, for pipes and as JSON; and notes opened and inspected by name."""

from __future__ import annotations

import os
import subprocess
import unicodedata
from pathlib import Path

import pytest

from tests.cli.test_terminal_output import on_a_terminal
from tests.command_line import Kebab
from tests.test_import_hygiene import ENGINES, FACES, PARSERS, imported_by

pytestmark = pytest.mark.slow

NOTES = {
    "Zebra plan.md": "---\naliases: [Quokka]\n---\n# The striped one\n\ntext\n",
    "infra/kubernetes.md": "pods\n",
    "infra/README.md": "about\n",
    "회의/주간 회의록.md": "말\n",
    unicodedata.normalize("NFD", "여행/제주.md"): "바다\n",
    "-dash.md": "odd\n",
    "old/plan.md": "one\n",
    "new/plan.md": "two\n",
}


@pytest.fixture
def named(kebab: Kebab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Kebab:
    folder = tmp_path / "named"
    for path, text in NOTES.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    kebab("ingest", str(folder))
    monkeypatch.chdir(folder)
    return kebab


@pytest.mark.parametrize(
    ("argv", "lines"),
    [
        (("zebra",), ["Zebra plan.md"]),
        (("plan", "zeb"), ["Zebra plan.md"]),
        (("quoka",), ["Zebra plan.md"]),
        (("kuberntes",), ["infra/kubernetes.md"]),
        (("infra/kub",), ["infra/kubernetes.md"]),
        (("ㅎㅇㄹ",), ["회의/주간 회의록.md"]),
        (("제주",), [unicodedata.normalize("NFD", "여행/제주.md")]),
        (("dash",), ["./-dash.md"]),
        (("plan", "-n", "1", "--offset", "2"), ["Zebra plan.md"]),
        (("plan", "--path-glob", "old/**"), ["old/plan.md"]),
        (("plan", "--in", "named", "-n", "3"), None),
    ],
)
def test_a_pipe_gets_paths_that_open_from_here(
    named: Kebab, argv: tuple[str, ...], lines: list[str] | None
) -> None:
    done = named("find", *argv)
    assert (done.code, done.err) == (0, "")
    assert lines is None or done.lines == lines
    assert all(os.path.exists(line) for line in done.lines)


def test_from_elsewhere_the_paths_are_absolute(named: Kebab, monkeypatch: pytest.MonkeyPatch) -> None:
    here = os.getcwd()
    monkeypatch.chdir("infra")
    assert named("find", "zebra").lines == [f"{here}/Zebra plan.md"]
    assert named("find", "kubernetes").lines == ["kubernetes.md"]


def test_paths_with_control_characters_need_null(named: Kebab) -> None:
    for name in ("odd\nlines.md", "odd\x1b[31m.md"):
        Path(name).write_text("text")
    with open(b"odd \xff.md", "w") as file:
        file.write("text")
    named("ingest")
    done = named("find", "odd")
    assert done.lines == ["odd \udcff.md"]
    assert "left out 2 notes" in done.err and "--null" in done.err
    assert set(named("find", "odd", "-0").out.split("\0")) == {
        "odd\nlines.md", "odd\x1b[31m.md", "odd \udcff.md", ""
    }  # fmt: skip
    assert len(named("find", "odd", "--json").json["items"]) == 3
    _, shown = on_a_terminal(named, "find", "odd")
    assert "\x1b[31m" not in shown and "odd␊lines.md" in shown


def test_nothing_found_is_1_and_names_the_neighbour(named: Kebab) -> None:
    done = named("find", "xylophone")
    assert (done.code, done.out) == (1, "")
    assert "no note has a name like xylophone" in done.err and "`kebab search`" in done.err
    done = named("find", "xylophone", "--json")
    assert (done.code, done.json["items"]) == (1, [])


def test_without_a_name_the_latest_changed_notes_come_first(named: Kebab) -> None:
    os.utime("infra/kubernetes.md", (4_000_000_000, 4_000_000_000))
    named("ingest")
    assert named("find", "-n", "1").lines == ["infra/kubernetes.md"]
    assert named("find", "-n", "1", "--json").json["items"][0]["matched"] is None


def test_a_terminal_also_shows_the_name_that_matched(named: Kebab) -> None:
    _, shown = on_a_terminal(named, "find", "quokka", NO_COLOR="1")
    assert shown == "Zebra plan.md  Quokka\n"
    _, shown = on_a_terminal(named, "find", "zebra", NO_COLOR="1")
    assert shown == "Zebra plan.md\n"


def test_errors_are_2(named: Kebab, tmp_path: Path) -> None:
    assert named("find", "plan", "--in", "nowhere").code == 2
    assert named("find", "plan", "-0", "--json").code == 2
    empty = Kebab(tmp_path / "none", named.home)
    done = empty("find", "plan")
    assert (done.code, done.out) == (2, "") and "kebab ingest" in done.err


def test_notes_of_a_missing_folder_are_found(named: Kebab, monkeypatch: pytest.MonkeyPatch) -> None:
    here = os.getcwd()
    monkeypatch.chdir("/usr")
    os.rename(here, f"{here}-away")
    assert named("find", "zebra").lines == [f"{here}/Zebra plan.md"]


def test_a_cold_start_imports_nothing_heavy(named: Kebab, tmp_path: Path) -> None:
    for argv in (("zebra",), ("zbera",), ("infra/kub",), ("ㅎㅇ", "--json"), ("",)):
        modules = imported_by("find", *argv, "--data-dir", str(named.data), home=tmp_path)
        assert not modules & (ENGINES | FACES | (PARSERS - {"msgspec"})), argv


# open, inspect and why-not by name


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("Zebra plan", "Zebra plan.md"),
        ("zebra_plan", "Zebra plan.md"),
        ("[[Zebra plan]]", "Zebra plan.md"),
        ("quokka", "Zebra plan.md"),
        ("the striped one", "Zebra plan.md"),
        ("zebra", "Zebra plan.md"),
        ("kubernets", "infra/kubernetes.md"),
        ("infra", "infra/README.md"),
        ("old/plan", "old/plan.md"),
        ("ㅎㅇㄹ", "회의/주간 회의록.md"),
    ],
)
def test_one_note_is_meant_by_a_name(named: Kebab, name: str, path: str) -> None:
    done = named("open", name, "--print", EDITOR="vim")
    assert done.code == 0, done.err
    assert path in done.out
    assert named("inspect", name, "--json").json["document"]["path"] == path
    why_not = named("search", "pods", "--why-not", name, "--mode", "lexical", "--json").json
    assert why_not["path"] == path


def test_lines_may_follow_a_name(named: Kebab) -> None:
    assert "+4" in named("open", "quokka:L4", "--print", EDITOR="vim").out


def test_a_name_of_several_notes_lists_them(named: Kebab) -> None:
    done = named("open", "plan", "--print")
    assert (done.code, done.out) == (2, "")
    assert "several notes are named plan: named: new/plan.md, named: old/plan.md" in done.err
    assert "give the whole path" in done.err


def test_a_name_like_several_lists_the_nearest(named: Kebab) -> None:
    done = named("open", "lpan", "--print")
    assert done.code == 2
    assert "no note is named lpan; the nearest are" in done.err and "new/plan.md" in done.err


@pytest.mark.parametrize(
    "target", ["zebra.md", "zebra:L3", "./zebra", "/zebra", "xylophone", "infra/nothing"]
)
def test_a_place_that_is_not_there_opens_nothing_similar(named: Kebab, target: str) -> None:
    done = named("open", target, "--print")
    assert (done.code, done.out) == (2, "")
    assert f"not in the index: {target}" in done.err


def test_null_goes_to_xargs(named: Kebab) -> None:
    piped = subprocess.run(
        f"{' '.join(named.argv)} find plan -0 | xargs -0 cat", shell=True, capture_output=True,
        env=named.environ, text=True, check=True,
    )  # fmt: skip
    assert {"one", "two"} <= set(piped.stdout.split())
