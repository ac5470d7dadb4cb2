"""What correcting typing slips costs: processor time of unknown words and of known ones.

    python -m tests.benchmarks.bench_typos FOLDER

FOLDER: real notes of 100,000 passages or more. Each slip adds, drops, changes or swaps a letter at
random. Korean slips are those of the sample notes, in an index of their own.
"""

from __future__ import annotations

import random
import re
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from string import ascii_lowercase

from kebab_tui.domain.change import SaveNote
from kebab_tui.domain.keyboard import neighbours
from kebab_tui.domain.query import SearchQuery
from kebab_tui.domain.tokens import plain_words, stem
from kebab_tui.search.query_language import parse
from kebab_tui.search.typos import correct
from kebab_tui.settings.settings import Settings
from kebab_tui.workspace import Workspace
from tests.benchmarks.bench_lexical_index import load_store
from tests.benchmarks.measuring import Figure, machine, median, notes_of, percentile, report
from tests.command_line import SAMPLE

CHUNKS = 100_000
_WORDS = 500
_NOW = datetime(2026, 1, 1, tzinfo=UTC)


def words_of(notes: Sequence[SaveNote], form: str, dice: random.Random) -> list[str]:
    """Different words that stand in several notes."""
    wanted = re.compile(form)
    seen: dict[str, int] = {}
    for note in notes:
        text = " ".join(passage.text for passage in note.passages)
        for word in {word for word in plain_words(text) if wanted.fullmatch(word)}:
            seen[word] = seen.get(word, 0) + 1
    found = sorted(word for word, count in seen.items() if count >= 3)
    return dice.sample(found, min(_WORDS, len(found)))


def latin_slip(word: str, dice: random.Random) -> str:
    at, letter = dice.randrange(len(word)), dice.choice(ascii_lowercase)
    before, after = word[:at], word[at:]
    made = (after[1:], letter + after, letter + after[1:], after[1:2] + after[:1] + after[2:])
    return before + dice.choice(made)


def hangul_slip(word: str, dice: random.Random) -> str:
    at = dice.randrange(len(word))
    return word[:at] + dice.choice(list(neighbours(word[at]))) + word[at + 1 :]


def spelling(workspace: Workspace, words: Sequence[str], slips: Sequence[str], name: str) -> list[Figure]:
    knows_word = workspace._parts.semantics.knows_word
    with workspace._parts.index.reader.snapshot() as snapshot:

        def spend(word: str) -> tuple[float, str]:
            tokens = parse(word, _NOW).tokens
            start = time.process_time()
            found, _ = correct(word, tokens, snapshot, knows_word, typing=False)
            return 1000 * (time.process_time() - start), found

        spend("warmupp")
        known = [spend(word)[0] for word in words]
        made = [(word, slip, *spend(slip)) for word, slip in zip(words, slips, strict=True) if slip != word]
    unknown = [spent for _, slip, spent, found in made if found != slip]
    right = [stem(found) == stem(word) for word, slip, _, found in made if found != slip]
    return [
        Figure(f"{name}, known word, p50", median(known), "ms"),
        Figure(f"{name}, unknown word, p50", median(unknown), "ms", 3.0),
        Figure(f"{name}, unknown word, p95", percentile(unknown, 0.95), "ms", 3.0),
        Figure(f"{name}, slips that are corrected", 100 * len(unknown) / len(made), "%"),
        Figure(f"{name}, to the word that was meant", 100 * sum(right) / len(right), "%"),
    ]


def known_words(workspace: Workspace, words: Sequence[str]) -> Figure:
    """Keyword searches of three known words, with and without a look at their spelling, in turns."""
    queries = [SearchQuery(" ".join(words[at : at + 3]), "lexical") for at in range(0, len(words), 3)]
    spent = {False: 0.0, True: 0.0}
    for turn in range(6):
        for query in queries:
            for exact in (bool(turn % 2), not turn % 2):
                workspace._parts.index.reader.close()  # it remembers the latest rankings
                workspace.search(SearchQuery("the quick brown fox", "lexical", exact=True))
                start = time.process_time()
                workspace.search(replace(query, exact=exact))
                spent[exact] += time.process_time() - start
    return Figure(
        "keyword search of three known words / the same as typed", spent[False] / spent[True], "x", 1.05
    )


def main() -> None:
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    print(machine())
    for title, folder, form, slip in (
        (f"typing slips, {CHUNKS:,} passages, processor time", sys.argv[1], "[a-z]{5,}", latin_slip),
        ("typing slips, the sample notes, processor time", str(SAMPLE), "[가-힣]{3,7}", hangul_slip),
    ):
        dice = random.Random(5)
        notes = notes_of(folder, CHUNKS)
        with tempfile.TemporaryDirectory() as root:
            load_store(notes, root)
            workspace = Workspace(Settings(), root)
            words = words_of(notes, form, dice)
            figures = spelling(workspace, words, list(map(partial(slip, dice=dice), words)), form)
            report(title, [*figures, known_words(workspace, words)])
            workspace.close()


if __name__ == "__main__":
    main()
