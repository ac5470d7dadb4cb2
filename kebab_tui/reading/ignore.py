"""Which names a folder's ignore files leave out, and by which line.

Rules stand in `.gitignore`, `.ignore` and `.kebabignore`, in any folder. The rules of
a nearer folder win over those of its parents; within one folder a later file wins
over an earlier one, and within a file a later line over an earlier one. What git
reads from elsewhere (global excludes, folders above the root) has no say here: nothing
outside the root is read. Does not walk and touches no file. A huge file of rules takes seconds to read and to
match: a checkpoint lies between few lines, and between two patterns.
"""

from __future__ import annotations

import codecs
import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from kebab_tui.domain.checkpoint import UNLIMITED, Checkpoint
from kebab_tui.domain.errors import UsageError
from kebab_tui.reading.ignore_pattern import Pattern, parse_pattern

IGNORE_FILES = (".gitignore", ".ignore", ".kebabignore")
_LINES_BETWEEN_CHECKPOINTS = 31
"""A mask: each of these lines may have thousands of characters."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One line that counts; `origin` says where it stands, as `docs/.gitignore:3`."""

    pattern: Pattern
    text: str
    origin: str

    def __str__(self) -> str:
        return f"{self.origin}: {self.text}"


def rules_of_file(origin: str, data: bytes, checkpoint: Checkpoint = UNLIMITED) -> list[Rule]:
    """Read the lines of an ignore file; what is no pattern is passed over, as git does."""
    text = data.removeprefix(codecs.BOM_UTF8).decode("utf-8", "surrogateescape")
    rules = []
    for number, line in enumerate(text.split("\n"), start=1):
        if number & _LINES_BETWEEN_CHECKPOINTS == 0:
            checkpoint()
        line = line.removesuffix("\r")
        if pattern := parse_pattern(line):
            rules.append(Rule(pattern, line, f"{origin}:{number}"))
    return rules


class Matcher:
    """The rules of one folder (`docs/`, the root is empty)."""

    __slots__ = ("_by_name", "_by_path", "_skip")

    def __init__(self, folder: str, rules: Sequence[Rule], checkpoint: Checkpoint = UNLIMITED) -> None:
        self._skip = len(unicodedata.normalize("NFC", folder))
        self._by_name = _Rules(enumerate(rules), checkpoint, by_path=False)
        self._by_path = _Rules(enumerate(rules), checkpoint, by_path=True)

    def match(self, name: str, path: str) -> Rule | None:
        """Find the last rule for an entry (NFC); a folder's name and path end with a slash."""
        found = self._by_name.match(name)
        if self._by_path:
            found = max(found, self._by_path.match(path[self._skip :]), key=_position)
        return found[1]


_Found = tuple[int, Rule | None]
_NONE: _Found = (-1, None)


def _position(found: _Found | tuple[int, Rule]) -> int:
    return found[0]


class _Rules:
    """Rules of one kind. An entry costs a look-up, and one look into its text for each different glob.

    Rules without a glob are found by their text. Of the others, only those are compiled and matched
    whose literal part stands in a text, so that a huge file of rules costs linear time.
    """

    __slots__ = ("_checkpoint", "_compiled", "_exact", "_globs")

    def __init__(self, rules: Iterable[tuple[int, Rule]], checkpoint: Checkpoint, by_path: bool) -> None:
        self._checkpoint = checkpoint
        self._exact: dict[str, _Found] = {}
        last: dict[str, tuple[int, Rule]] = {}
        for place, rule in rules:
            pattern = rule.pattern
            if pattern.by_path != by_path:
                continue
            if not pattern.exact:
                last[pattern.regex] = place, rule
                continue
            self._exact[pattern.literal + "/"] = place, rule
            if not pattern.only_folders:
                self._exact[pattern.literal] = place, rule
        globs = sorted(last.values(), key=_position, reverse=True)
        self._globs = [(place, rule.pattern.literal, rule) for place, rule in globs]
        self._compiled: dict[int, re.Pattern[str]] = {}

    def __bool__(self) -> bool:
        return bool(self._exact or self._globs)

    def match(self, text: str) -> _Found:
        exact = self._exact.get(text, _NONE)
        for place, literal, rule in self._globs:
            if literal in text:
                if place < exact[0]:
                    break
                if self._regex(place, rule).fullmatch(text):
                    return place, rule
        return exact

    def _regex(self, place: int, rule: Rule) -> re.Pattern[str]:
        if place not in self._compiled:
            self._checkpoint()
            self._compiled[place] = re.compile(rule.pattern.regex, re.DOTALL)
        return self._compiled[place]


@dataclass(frozen=True, slots=True)
class Scope:
    """What has a say over the entries of one folder.

    `exclude` (the source's own) wins over every ignore file and may take back, with
    `!`, what one of them leaves out. `include`, if there is one, must take an entry or
    one of the folders above it; it never takes back.
    """

    exclude: Matcher | None = None
    include: Matcher | None = None
    included: bool = True
    """Whether this folder is taken by `include`."""
    nearest_first: tuple[Matcher, ...] = ()
    checkpoint: Checkpoint = field(default=UNLIMITED, compare=False)
    """Called for each name that is matched, and before each pattern that is compiled for it."""

    @property
    def takes_all(self) -> bool:
        return not (self.nearest_first or self.exclude or self.include)

    def leaves_out(self, name: str, path: str) -> bool:
        """Tell whether a file stays out, by a rule against it or for want of one for it."""
        return bool(self.rule_against(name, path)) or not self.includes(name, path)

    def rule_against(self, name: str, path: str) -> Rule | None:
        """Find the line that leaves an entry out: the strongest that knows it must not be negated."""
        self.checkpoint()
        name, path = _normal(name), _normal(path)
        matchers = (self.exclude, *self.nearest_first) if self.exclude else self.nearest_first
        for matcher in matchers:
            if rule := matcher.match(name, path):
                return None if rule.pattern.negated else rule
        return None

    def includes(self, name: str, path: str) -> bool:
        if self.include is None:
            return True
        rule = self.include.match(_normal(name), _normal(path))
        return self.included if rule is None else not rule.pattern.negated

    def with_rules(self, folder: str, rules: Sequence[Rule]) -> Scope:
        """Add what the ignore files of this folder say."""
        return replace(self, nearest_first=(Matcher(folder, rules, self.checkpoint), *self.nearest_first))

    def below(self, name: str, path: str) -> Scope:
        """The same for a folder in this one."""
        if self.include is None:
            return self
        included = self.includes(name, path)
        return self if included == self.included else replace(self, included=included)


def scope_of_root(
    include: Iterable[str], exclude: Iterable[str], checkpoint: Checkpoint = UNLIMITED
) -> Scope:
    """Understand the patterns of a source; unlike an ignore file's, each must be one."""
    wanted = _matcher_of_globs("include", include)
    return Scope(
        _matcher_of_globs("exclude", exclude), wanted, included=wanted is None, checkpoint=checkpoint
    )


def _matcher_of_globs(origin: str, globs: Iterable[str]) -> Matcher | None:
    rules = [_rule_of_glob(origin, glob) for glob in globs]
    return Matcher("", rules) if rules else None


def _rule_of_glob(origin: str, glob: str) -> Rule:
    pattern = parse_pattern(glob)
    if pattern is None:
        raise UsageError(
            f"{origin}: {glob!r} is no pattern",
            "Write it as in a .gitignore, for example `drafts/` or `*.tmp.md`; close every bracket.",
        )
    return Rule(pattern, glob, origin)


def _normal(text: str) -> str:
    """A pattern typed on one system must fit a name that another one has decomposed."""
    return text if text.isascii() else unicodedata.normalize("NFC", text)
