"""Matches names against ignore files, as git does.

Rules come from `.gitignore`, `.ignore` and `.kebabignore` in any folder; those of `.kebabprivate`
do not leave a note out but make it private, by the same syntax and nesting. The rules of a
nearer folder override those of its parents; within a folder a later file overrides an
earlier one, and within a file a later line an earlier one. Reads nothing outside the root
(no global excludes) and does not walk: a pattern matches only the entry itself, so the
walk must skip an ignored folder as a whole.

Differs from git: `?` and brackets match one character, not one byte; names are compared in
NFC; a line of more than 4,096 characters is not a pattern. A pattern becomes a regular
expression without backtracking between stars, so no pattern can block the walk. A huge
ignore file takes seconds to read and to match: the checkpoint is called every few lines
and before each pattern is compiled.
"""

from __future__ import annotations

import codecs
import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from kebab_tui.domain.checkpoint import UNLIMITED, Checkpoint
from kebab_tui.domain.errors import UsageError

IGNORE_FILES = (".gitignore", ".ignore", ".kebabignore")
PRIVATE_FILE = ".kebabprivate"
RULE_FILES = (*IGNORE_FILES, PRIVATE_FILE)
_MISTAKEN = re.compile(rb"""^\./|^\s|^["']|\s#|[\t\xa0\r]|//""")
"""A pattern that git accepts, but that matches no file its writer had in mind."""
_LINES_BETWEEN_CHECKPOINTS = 31
"""A bit mask. Each of these lines may have thousands of characters."""

_CLASSES = {
    "alnum": "a-zA-Z0-9",
    "alpha": "a-zA-Z",
    "blank": r" \t",
    "cntrl": r"\x00-\x1f\x7f",
    "digit": "0-9",
    "graph": r"\x21-\x7e",
    "lower": "a-z",
    "print": r"\x20-\x7e",
    "punct": r"!-/:-@\[-`{-~",
    "space": r" \t\n\r\f\v",
    "upper": "A-Z",
    "xdigit": "0-9a-fA-F",
}
_BRACKET = re.compile(r"(?s)\[(?P<not>[!^]?)(?P<body>\]?(?:\\.|\[:[a-z]*:\]|[^\]\\])*+)\]")
_MEMBER = re.compile(r"(?s)\[:(?P<name>[a-z]*):\]|(?P<low>\\.|.)(?:-(?P<high>\\.|[^\]]))?")
_PIECE = re.compile(rf"(?s)(?P<glob>[*?]|{_BRACKET.pattern[4:]})|(?P<slash>/)|\\?(?P<plain>.)")
_GLOB = re.compile(r"[*?\[\\]")
_LETTER = re.compile(r"\w")
_LONGEST = 4096
_NOTHING = "(?!)"
_ANY_FOLDERS = "(?:[^/]+/)*?"


@dataclass(frozen=True, slots=True)
class Pattern:
    """`regex` must match the whole name, or the path relative to the ignore file if `by_path`.

    Every matching text contains `literal`; if `exact`, it is `literal`, plus the slash at the end
    of a folder.
    """

    regex: str
    by_path: bool
    negated: bool
    only_folders: bool
    literal: str
    exact: bool


@dataclass(frozen=True, slots=True)
class IgnoreRule:
    """A valid line of an ignore file; `origin` is its place, such as `docs/.gitignore:3`."""

    pattern: Pattern
    text: str
    origin: str

    def __str__(self) -> str:
        return f"{self.origin}: {self.text}"


def rules_of_file(origin: str, data: bytes, checkpoint: Checkpoint = UNLIMITED) -> list[IgnoreRule]:
    """Parse an ignore file; skip lines that are not patterns, as git does."""
    text = data.removeprefix(codecs.BOM_UTF8).decode("utf-8", "surrogateescape")
    rules = []
    for number, line in enumerate(text.split("\n"), start=1):
        if number & _LINES_BETWEEN_CHECKPOINTS == 0:
            checkpoint()
        line = line.removesuffix("\r")
        if pattern := parse_pattern(line):
            rules.append(IgnoreRule(pattern, line, f"{origin}:{number}"))
    return rules


def rules_of_private_file(
    origin: str, data: bytes, checkpoint: Checkpoint = UNLIMITED
) -> tuple[list[IgnoreRule], int]:
    """Parse a `.kebabprivate`; also the number of the first line that should mark notes but cannot, or 0.

    Stricter than git: `./diary/` or `diary/ # mine` is such a line.
    """
    rules = rules_of_file(origin, data, checkpoint)
    parsed = {rule.origin for rule in rules}
    lines = data.removeprefix(codecs.BOM_UTF8).split(b"\n")
    wrong = (
        number
        for number, line in enumerate(lines, start=1)
        if line.strip()
        and not line.startswith((b"#", b"!"))
        and (f"{origin}:{number}" not in parsed or _MISTAKEN.search(line.removesuffix(b"\r")))
    )
    return rules, 1 if b"\0" in data else next(wrong, 0)


@dataclass(frozen=True, slots=True)
class FolderRules:
    """All rules that apply to the entries of one folder.

    `exclude` (of the source) overrides every ignore file; its `!` patterns restore ignored
    entries. `include`, if set, must match an entry or a folder above it; it never restores
    anything.
    """

    exclude: Matcher | None = None
    include: Matcher | None = None
    included: bool = True
    """Whether `include` matches this folder."""
    nearest_first: tuple[Matcher, ...] = ()
    off: frozenset[str] = frozenset()
    """The formats that are turned off, but for files that `named` matches."""
    named: Matcher | None = None
    """The patterns of `include` that name an ending, such as `*.py`, or a file."""
    checkpoint: Checkpoint = field(default=UNLIMITED, compare=False)
    """Called for each name, and before each pattern is compiled."""
    private: bool = False
    """Whether all notes below are private."""
    private_rules: tuple[Matcher, ...] = ()
    """Of `.kebabprivate` files, the nearest first."""

    takes_all: bool = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "takes_all", not (self.nearest_first or self.exclude or self.include))

    def leaves_out(self, name: str, path: str) -> bool:
        """Return whether a rule excludes a file, or `include` does not match it."""
        return bool(self.rule_against(name, path)) or not self.includes(name, path)

    def rule_against(self, name: str, path: str) -> IgnoreRule | None:
        """Return the line that excludes an entry; None if the strongest matching line is negated."""
        self.checkpoint()
        name, path = _normal(name), _normal(path)
        matchers = (self.exclude, *self.nearest_first) if self.exclude else self.nearest_first
        return _strongest_rule(matchers, name, path)

    def is_private(self, name: str, path: str) -> bool:
        """Return whether a `.kebabprivate` matches an entry or a folder above it."""
        if self.private or not self.private_rules:
            return self.private
        self.checkpoint()
        return _strongest_rule(self.private_rules, _normal(name), _normal(path)) is not None

    def includes(self, name: str, path: str) -> bool:
        if self.include is None:
            return True
        rule = self.include.match(_normal(name), _normal(path))
        return self.included if rule is None else not rule.pattern.negated

    def reads(self, kind: str, name: str, path: str) -> bool:
        """Return whether files of a format are read; the other rules apply too."""
        if kind not in self.off:
            return True
        if self.named is None:
            return False
        rule = self.named.match(_normal(name), _normal(path))
        return rule is not None and not rule.pattern.negated

    def with_rules(self, folder: str, rules: Sequence[IgnoreRule]) -> FolderRules:
        """Add the rules of the ignore files in this folder."""
        return replace(self, nearest_first=(Matcher(folder, rules, self.checkpoint), *self.nearest_first))

    def with_private_rules(self, folder: str, rules: Sequence[IgnoreRule]) -> FolderRules:
        """Add the rules of the `.kebabprivate` in this folder."""
        return replace(self, private_rules=(Matcher(folder, rules, self.checkpoint), *self.private_rules))

    def below(self, name: str, path: str) -> FolderRules:
        """Return the scope for a subfolder."""
        included, private = self.included, self.is_private(name, path)
        if self.include is not None:
            included = self.includes(name, path)
        if (included, private) == (self.included, self.private):
            return self
        return replace(self, included=included, private=private)


def scope_of_root(
    include: Iterable[str],
    exclude: Iterable[str],
    checkpoint: Checkpoint = UNLIMITED,
    off: frozenset[str] = frozenset(),
) -> FolderRules:
    """Parse the patterns of a source; raise if one is invalid."""
    include = tuple(include)
    wanted = _matcher_of_globs("include", include)
    return FolderRules(
        _matcher_of_globs("exclude", exclude),
        wanted,
        included=wanted is None,
        off=off,
        named=_matcher_of_globs("include", filter(_names_files, include)),
        checkpoint=checkpoint,
    )


def _names_files(glob: str) -> bool:
    """Whether a pattern states an ending (`*.py`, `src/**/*.p[yx]`) or a whole name (`Makefile`)."""
    name = glob.rpartition("/")[2]
    ending = name.rpartition(".")[2] if "." in name else ""
    return bool(_LETTER.search(ending if _GLOB.search(name) else name))


def _matcher_of_globs(origin: str, globs: Iterable[str]) -> Matcher | None:
    rules = []
    for glob in globs:
        pattern = parse_pattern(glob)
        if pattern is None:
            raise UsageError(
                f"{origin}: invalid pattern: {glob!r}",
                "write it as in a .gitignore, for example `drafts/` or `*.tmp.md`; close every bracket",
            )
        rules.append(IgnoreRule(pattern, glob, origin))
    return Matcher("", rules) if rules else None


def _strongest_rule(nearest_first: Iterable[Matcher], name: str, path: str) -> IgnoreRule | None:
    """The strongest rule that matches an entry (NFC); None if it is negated."""
    for matcher in nearest_first:
        if rule := matcher.match(name, path):
            return None if rule.pattern.negated else rule
    return None


class Matcher:
    """The rules of one folder (`docs/`; empty for the root)."""

    __slots__ = ("_by_name", "_by_path", "_skip")

    def __init__(self, folder: str, rules: Sequence[IgnoreRule], checkpoint: Checkpoint = UNLIMITED) -> None:
        self._skip = len(unicodedata.normalize("NFC", folder))
        self._by_name = _Rules(enumerate(rules), checkpoint, by_path=False)
        self._by_path = _Rules(enumerate(rules), checkpoint, by_path=True)

    def match(self, name: str, path: str) -> IgnoreRule | None:
        """Find the last rule for an entry (NFC); a folder's name and path end with a slash."""
        found = self._by_name.match(name)
        if self._by_path:
            found = max(found, self._by_path.match(path[self._skip :]), key=_position)
        return found[1]


_Found = tuple[int, IgnoreRule | None]
_NONE: _Found = (-1, None)


def _position(found: _Found | tuple[int, IgnoreRule]) -> int:
    return found[0]


class _Rules:
    """Rules that match by name, or those that match by path.

    Rules without a glob are found by a dictionary lookup. A glob is compiled and matched only if the
    text contains its literal part, so that a huge ignore file costs linear time.
    """

    __slots__ = ("_checkpoint", "_compiled", "_exact", "_globs")

    def __init__(
        self, rules: Iterable[tuple[int, IgnoreRule]], checkpoint: Checkpoint, by_path: bool
    ) -> None:
        self._checkpoint = checkpoint
        self._exact: dict[str, _Found] = {}
        last: dict[str, tuple[int, IgnoreRule]] = {}
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
                regex = self._compiled.get(place)
                if regex is None:
                    self._checkpoint()
                    regex = self._compiled[place] = re.compile(rule.pattern.regex, re.DOTALL)
                if regex.fullmatch(text):
                    return place, rule
        return exact


def _normal(text: str) -> str:
    """Normalise to NFC, since some systems store names decomposed."""
    return text if text.isascii() else unicodedata.normalize("NFC", text)


def parse_pattern(line: str) -> Pattern | None:
    """Parse one line; None for a blank line, a comment, or a pattern that can never match."""
    if len(line) > _LONGEST:
        return None
    bare = line.rstrip(" ")
    backslashes = len(bare) - len(bare.rstrip("\\"))
    if len(bare) < len(line) and backslashes % 2:
        bare += " "
    text = unicodedata.normalize("NFC", bare)
    if not text or text.startswith("#"):
        return None
    negated = text.startswith("!")
    text = text.removeprefix("!")
    only_folders = text.endswith("/")
    text = text.removesuffix("/")
    by_path = "/" in text
    text = text.removeprefix("/")
    if not text:
        return None
    end = "/" if only_folders else "/?"
    if _GLOB.search(text) is None:
        return Pattern(re.escape(text) + end, by_path, negated, only_folders, text, exact=True)
    body = _path_regex(text) if by_path else _segment_regex(text)
    if body is None:
        return None
    literals = [""]
    for piece in _PIECE.finditer(text):
        if piece["plain"]:
            literals[-1] += piece["plain"]
        else:
            literals.append("")
    return Pattern(body + end, by_path, negated, only_folders, max(literals, key=len), exact=False)


def _path_regex(text: str) -> str | None:
    """Join the groups of segments between `**`; only the last group may backtrack."""
    groups: list[list[str]] = [[]]
    *folders, name = text.split("/")
    for folder in folders:
        if folder == "**":
            groups.append([])
            continue
        regex = _segment_regex(folder)
        if regex is None:
            return None
        groups[-1].append(regex + "/")
    final = "[^/]+(?:/[^/]+)*" if name == "**" else _segment_regex(name)
    if final is None:
        return None
    groups[-1].append(final)
    first, *others = ("".join(group) for group in groups)
    if not others:
        return first
    middle = "".join(f"(?>{_ANY_FOLDERS}{group})" for group in others[:-1])
    return f"{first}{middle}{_ANY_FOLDERS}{others[-1]}"


def _segment_regex(segment: str) -> str | None:
    """Translate one name; only the run after the last star may backtrack."""
    runs = _runs(segment)
    if runs is None:
        return None
    first, *others = runs
    if not others:
        return first
    if not any(runs):
        return "[^/]+"
    middle = "".join(f"(?>[^/]*?{run})" for run in others[:-1])
    return f"{first}{middle}[^/]*{others[-1]}"


def _runs(segment: str) -> list[str] | None:
    """Return the regular expressions between the stars of a name; None if a bracket is open."""
    runs = [""]
    at = 0
    while at < len(segment):
        sign = segment[at]
        if sign == "*":
            if runs[-1] or len(runs) == 1:
                runs.append("")
            at += 1
        elif sign == "[":
            bracket = _BRACKET.match(segment, at)
            if bracket is None:
                return None
            members = "".join(_member_regex(member) for member in _MEMBER.finditer(bracket["body"]))
            if bracket["not"]:
                runs[-1] += f"[^/{members}]"
            else:
                runs[-1] += f"(?!/)[{members}]" if members else _NOTHING
            at = bracket.end()
        elif sign == "\\":
            if at + 1 == len(segment):
                return None
            runs[-1] += re.escape(segment[at + 1])
            at += 2
        else:
            runs[-1] += "[^/]" if sign == "?" else re.escape(sign)
            at += 1
    return runs


def _member_regex(member: re.Match[str]) -> str:
    """Translate a letter, range or class of a bracket; a reversed range is empty."""
    if member["low"] is None:
        return _CLASSES.get(member["name"], "")
    low = member["low"][-1]
    if member["high"] is None:
        return re.escape(low)
    high = member["high"][-1]
    return f"{re.escape(low)}-{re.escape(high)}" if low <= high else ""
