"""`python -m tests.toy_facet FOLDER` registers a kind of facet and prints what each place makes of it.

A process of its own: options, filter keys and the lexer read the registry when they are imported.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from kebab_tui.domain.facets import FACETS, FacetKind

FACETS["mood"] = FacetKind("mood", "moods", key="mood", front_matter=("mood", "moods"))


def everywhere(folder: Path) -> dict[str, Any]:
    from kebab_tui.domain.query import SearchFilters
    from kebab_tui.settings.settings import Settings
    from kebab_tui.tui.screens.help import help_groups
    from kebab_tui.tui.widgets.completion_list import offered
    from kebab_tui.workspace import Workspace
    from tests.command_line import Kebab

    notes = folder / "notes"
    notes.mkdir()
    for name, mood in (("happy", "[happy, Calm]"), ("calm", "calm"), ("sad", "sad")):
        (notes / f"{name}.md").write_text(f"---\ntitle: {name}\nmood: {mood}\n---\nalpha\n")
    (notes / "plain.md").write_text("alpha\n")
    kebab = Kebab(folder / "data", folder / "home")
    assert kebab("ingest", str(notes)).code == 0

    def found(*argv: str) -> list[str]:
        return sorted(hit["doc_path"] for hit in kebab("search", *argv, "--json").json["hits"])

    workspace = Workspace(Settings(), str(kebab.data))
    completions = workspace.completions()
    (_, stored, *_), _ = workspace.documents(SearchFilters())
    words = {"COMP_WORDS": "kebab search --moo", "COMP_CWORD": "2", "_KEBAB_COMPLETE": "bash_complete"}
    return {
        "facets": [(one.kind, one.value, one.line) for one in stored.facets if one.kind == "mood"],
        "typed": {text: found(text) for text in ("mood:happy", "mood:HAPPY,sad", "alpha -mood:calm")},
        "options": {
            text: found("alpha", *text.split())
            for text in ("--mood sad", "--moods calm,happy", "--no-mood calm")
        },
        "notice": kebab("search", "alpha -lang:ko").err,
        "why-not": kebab("search", "mood:happy", "--why-not", "sad.md").out,
        "list": {note["path"]: note["moods"] for note in kebab("list", "--json").json["items"]},
        "inspect": kebab("inspect", "happy.md").out.splitlines(),
        "help": kebab("search", "--help").out,
        "shell": kebab(**words).out,
        "screen": [
            [candidate.written for candidate in offer.candidates]
            for text in ("moo", "-moo", "mood:h", "mood:")
            if (offer := offered(text, len(text), Workspace.parse(text).tokens, completions))
        ],
        "help on the screen": dict(help_groups((), "Query")[0].rows),
    }


if __name__ == "__main__":
    print(json.dumps(everywhere(Path(sys.argv[1]))))
