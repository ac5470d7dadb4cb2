"""`Workspace.find` over real notes: names, typos, Korean, folders, and an index that changes."""

from __future__ import annotations

import os
import shutil
import unicodedata
from collections.abc import Iterator
from pathlib import Path

import pytest

from kebab_tui.domain.errors import NotIndexedError
from kebab_tui.domain.ids import SourceId
from kebab_tui.domain.query import SearchFilters
from kebab_tui.storage.sqlite import name_list
from tests.vault import Vault

NOTES = {
    "Zebra plan.md": "---\naliases: [Quokka]\n---\n# The striped one\n",
    "infra/prod/kubernetes.md": "pods\n",
    "infra/README.md": "about this folder\n",
    "code/getUserName.md": "a function\n",
    "회의/주간 회의록.md": "# 주간 보고\n",
    "좋아.md": "요\n",
    unicodedata.normalize("NFD", "여행/제주도 한글.md"): "바다\n",
    "empty.md": "",
    "party 🎉.md": "cake\n",
    "two\nlines.md": "odd\n",
}


@pytest.fixture(scope="module")
def vault(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Vault]:
    made = Vault(tmp_path_factory.mktemp("find"))
    for number, (path, text) in enumerate(NOTES.items()):
        os.utime(made.write(path, text), (1_000_000 + number, 1_000_000 + number))
    made.ingest()
    yield made
    made.workspace.close()


def found(vault: Vault, text: str, limit: int = 20, offset: int = 0) -> list[str]:
    return [note.document.path for note in vault.workspace.find(text, limit, offset)]


@pytest.mark.parametrize(
    ("typed", "path", "kind"),
    [
        ("zebra plan", "Zebra plan.md", "name"),
        ("ZEBRA_PLAN.md", "Zebra plan.md", "name"),
        ("[[Zebra plan]]", "Zebra plan.md", "name"),
        ("plan zeb", "Zebra plan.md", "name"),
        ("zp", "Zebra plan.md", "name"),
        ("zbrpln", "Zebra plan.md", "name"),
        ("zerba", "Zebra plan.md", "name"),
        ("zebraxplan", "Zebra plan.md", "name"),
        ("quokka", "Zebra plan.md", "alias"),
        ("qoukka", "Zebra plan.md", "alias"),
        ("striped", "Zebra plan.md", "title"),
        ("kubernets", "infra/prod/kubernetes.md", "name"),
        ("kuburnetis", "infra/prod/kubernetes.md", "name"),
        ("infra/kub", "infra/prod/kubernetes.md", "path"),
        ("infra kub", "infra/prod/kubernetes.md", "path"),
        ("infra", "infra/README.md", "name"),
        ("readme", "infra/README.md", "path"),
        ("user name", "code/getUserName.md", "name"),
        ("gun", "code/getUserName.md", "name"),
        ("회의", "회의/주간 회의록.md", "name"),
        ("회으", "회의/주간 회의록.md", "name"),
        ("ㅎㅇㄹ", "회의/주간 회의록.md", "name"),
        ("ㅈㄱㅎㅇ", "회의/주간 회의록.md", "name"),
        ("주간 ㅎㅇ", "회의/주간 회의록.md", "name"),
        ("회의럭", "회의/주간 회의록.md", "name"),
        ("보고", "회의/주간 회의록.md", "title"),
        ("한그", "여행/제주도 한글.md", "name"),
        ("ㅈㅈㄷ", "여행/제주도 한글.md", "name"),
        (unicodedata.normalize("NFD", "제주"), "여행/제주도 한글.md", "name"),
        ("여행/한글", "여행/제주도 한글.md", "path"),
        ("empty", "empty.md", "name"),
        ("🎉", "party 🎉.md", "name"),
        ("two lines", "two\nlines.md", "name"),
        ("q", "Zebra plan.md", "alias"),
    ],
)
def test_a_note_is_found_first(vault: Vault, typed: str, path: str, kind: str) -> None:
    first, *_ = vault.workspace.find(typed)
    assert first.matched is not None
    assert (first.document.path, first.matched.kind) == (path, kind)
    assert first.root == str(vault.root)


@pytest.mark.parametrize("typed", ["xylophone", "ㅂㅂㅂ", "kub/infra", "🦓", "zebra xylophone"])
def test_what_no_name_resembles_is_not_found(vault: Vault, typed: str) -> None:
    assert found(vault, typed) == []


def test_initials_are_no_finals(vault: Vault) -> None:
    assert "좋아.md" not in found(vault, "ㅎㅇ")


def test_without_text_the_latest_changed_notes_come_first(vault: Vault) -> None:
    latest = [unicodedata.normalize("NFC", path) for path in reversed(NOTES)]
    assert found(vault, "") == found(vault, " - ") == latest
    assert found(vault, "", limit=2, offset=1) == latest[1:3]


def test_pages_fit_together(vault: Vault) -> None:
    whole = found(vault, "e")
    assert len(whole) > 3
    assert [path for at in range(0, len(whole), 2) for path in found(vault, "e", limit=2, offset=at)] == whole


def test_filters_narrow_what_is_found(vault: Vault) -> None:
    def among(**filters: tuple[str, ...]) -> list[str]:
        notes = vault.workspace.find("e", filters=SearchFilters(**filters))  # type: ignore[arg-type]
        return sorted(note.document.path for note in notes)

    assert among(paths=("infra/**",)) == ["infra/README.md", "infra/prod/kubernetes.md"]
    assert among(sources=(SourceId("nowhere"),)) == []
    assert "empty.md" in among(sources=(vault.workspace.sources()[0].source_id,))


def test_equal_names_come_latest_first(tmp_path: Path) -> None:
    vault = Vault(tmp_path)
    for folder, when in (("old", 1_000), ("new", 3_000), ("middle", 2_000)):
        os.utime(vault.write(f"{folder}/plan.md", "text"), (when, when))
    vault.ingest()
    assert found(vault, "plan") == ["new/plan.md", "middle/plan.md", "old/plan.md"]
    os.utime(vault.write("old/plan.md", "changed"), (4_000, 4_000))
    vault.ingest()
    assert found(vault, "plan")[0] == "old/plan.md"
    vault.workspace.close()


def test_changes_are_found_at_once(tmp_path: Path) -> None:
    vault, writer = Vault(tmp_path), Vault(tmp_path)
    for number in range(5):
        vault.write(f"note {number}.md", "text")
    vault.ingest()
    assert found(vault, "zebra") == []
    writer.write("new/zebra.md", "")
    writer.ingest()
    assert found(vault, "zebra") == ["new/zebra.md"]
    writer.write("note 3.md", "---\naliases: Zebra\n---\ntext")
    writer.ingest()
    assert found(vault, "zebra") == ["new/zebra.md", "note 3.md"]
    assert found(vault, "note 3")[0] == "note 3.md"
    writer.move("new/zebra.md", "animals/zebra.md")
    writer.ingest()
    assert found(vault, "animals/zebra") == ["animals/zebra.md"]
    writer.write("note 3.md", "text")
    writer.move("animals/zebra.md", "animals/horse.md")
    writer.ingest()
    assert found(vault, "zebra") == []
    os.remove(vault.root / "animals/horse.md")
    writer.ingest()
    assert found(vault, "horse") == []
    for opened in (vault, writer):
        opened.workspace.close()


def test_after_many_changes_the_names_are_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(name_list, "_MOST_CHANGED", 2)
    vault = Vault(tmp_path)
    for round_number in range(4):
        for number in range(3):
            vault.write(f"{number} round {round_number}.md", "text")
        vault.ingest()
        assert sorted(found(vault, f"round {round_number}")[:3]) == [
            f"{number} round {round_number}.md" for number in range(3)
        ]
    assert len(found(vault, "round")) == 12
    vault.workspace.close()


def test_removed_notes_leave_no_gap(tmp_path: Path) -> None:
    vault = Vault(tmp_path)
    for number in range(150):
        vault.write(f"plan {number:03}.md", "text")
    vault.ingest()
    assert len(found(vault, "plan", limit=200)) == 150
    for number in range(120):
        os.remove(vault.root / f"plan {number:03}.md")
    vault.ingest()
    assert len(found(vault, "plan")) == 20
    vault.workspace.close()


def test_an_index_of_no_notes_finds_none(tmp_path: Path) -> None:
    vault = Vault(tmp_path)
    vault.ingest()
    assert found(vault, "zebra") == found(vault, "") == []
    vault.workspace.close()


def test_without_an_index_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(NotIndexedError):
        Vault(tmp_path).workspace.find("zebra")


def test_notes_of_a_missing_folder_are_still_found(tmp_path: Path) -> None:
    vault = Vault(tmp_path)
    vault.write("zebra.md", "text")
    vault.ingest()
    shutil.rmtree(vault.root)
    assert found(vault, "zebra") == ["zebra.md"]
    vault.workspace.close()
