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

# One line of an ignore file, understood as git understands it.
#
# A pattern is translated to a regular expression for a name or for a path relative to
# the folder of the ignore file; a folder is written with a slash at its end. A pattern
# that git would never match (a bracket left open, a backslash at the end) is no
# pattern. Unlike git, `?` and brackets stand for one character, not for one byte, and names
# are compared in NFC. Only the entry itself is matched, never what lies below it: whoever walks
# down leaves out an ignored folder as a whole. Stars are matched without going back
# over the name again and again, so no pattern can make the walk hang. A line of more than
# 4,096 characters is no pattern: no path is as long.

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
_LONGEST = 4096
_NOTHING = "(?!)"
_ANY_FOLDERS = "(?:[^/]+/)*?"


@dataclass(frozen=True, slots=True)
class Pattern:
    """`regex` is matched in full against a name, or a path when `by_path`.

    `literal` stands in every text that it matches; if `exact`, it is all of that text but the
    slash behind a folder.
    """

    regex: str
    by_path: bool
    negated: bool
    only_folders: bool
    literal: str
    exact: bool


def parse_pattern(line: str) -> Pattern | None:
    """Understand one line; None for a blank line, a comment or what can never match."""
    if len(line) > _LONGEST:
        return None
    text = unicodedata.normalize("NFC", _without_trailing_spaces(line))
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
    return Pattern(body + end, by_path, negated, only_folders, _longest_literal(text), exact=False)


def _longest_literal(text: str) -> str:
    """The longest run of characters within one name that stand for themselves."""
    runs = [""]
    for piece in _PIECE.finditer(text):
        if piece["plain"]:
            runs[-1] += piece["plain"]
        else:
            runs.append("")
    return max(runs, key=len)


def _without_trailing_spaces(line: str) -> str:
    bare = line.rstrip(" ")
    backslashes = len(bare) - len(bare.rstrip("\\"))
    return bare + " " if len(bare) < len(line) and backslashes % 2 else bare


def _path_regex(text: str) -> str | None:
    """Join the groups of segments between `**`; each takes its first fit, only the last may move on."""
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
    """Translate one name; each run between two stars takes its first fit and keeps it."""
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
    """The regular expressions between the stars of a name."""
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
            runs[-1] += _bracket_regex(bracket)
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


def _bracket_regex(bracket: re.Match[str]) -> str:
    members = "".join(_member_regex(member) for member in _MEMBER.finditer(bracket["body"]))
    if bracket["not"]:
        return f"[^/{members}]"
    return f"(?!/)[{members}]" if members else _NOTHING


def _member_regex(member: re.Match[str]) -> str:
    """One letter, range or class of a bracket; a range that runs backwards holds nothing."""
    if member["low"] is None:
        return _CLASSES.get(member["name"], "")
    low = member["low"][-1]
    if member["high"] is None:
        return re.escape(low)
    high = member["high"][-1]
    return f"{re.escape(low)}-{re.escape(high)}" if low <= high else ""


IGNORE_FILES = (".gitignore", ".ignore", ".kebabignore")
_LINES_BETWEEN_CHECKPOINTS = 31
"""A mask: each of these lines may have thousands of characters."""


@dataclass(frozen=True, slots=True)
class IgnoreRule:
    """One line that counts; `origin` says where it stands, as `docs/.gitignore:3`."""

    pattern: Pattern
    text: str
    origin: str

    def __str__(self) -> str:
        return f"{self.origin}: {self.text}"


def rules_of_file(origin: str, data: bytes, checkpoint: Checkpoint = UNLIMITED) -> list[IgnoreRule]:
    """Read the lines of an ignore file; what is no pattern is passed over, as git does."""
    text = data.removeprefix(codecs.BOM_UTF8).decode("utf-8", "surrogateescape")
    rules = []
    for number, line in enumerate(text.split("\n"), start=1):
        if number & _LINES_BETWEEN_CHECKPOINTS == 0:
            checkpoint()
        line = line.removesuffix("\r")
        if pattern := parse_pattern(line):
            rules.append(IgnoreRule(pattern, line, f"{origin}:{number}"))
    return rules


class Matcher:
    """The rules of one folder (`docs/`, the root is empty)."""

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
    """Rules of one kind. An entry costs a look-up, and one look into its text for each different glob.

    Rules without a glob are found by their text. Of the others, only those are compiled and matched
    whose literal part stands in a text, so that a huge file of rules costs linear time.
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
                if self._regex(place, rule).fullmatch(text):
                    return place, rule
        return exact

    def _regex(self, place: int, rule: IgnoreRule) -> re.Pattern[str]:
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

    def rule_against(self, name: str, path: str) -> IgnoreRule | None:
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

    def with_rules(self, folder: str, rules: Sequence[IgnoreRule]) -> Scope:
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


def _rule_of_glob(origin: str, glob: str) -> IgnoreRule:
    pattern = parse_pattern(glob)
    if pattern is None:
        raise UsageError(
            f"{origin}: {glob!r} is no pattern",
            "Write it as in a .gitignore, for example `drafts/` or `*.tmp.md`; close every bracket.",
        )
    return IgnoreRule(pattern, glob, origin)


def _normal(text: str) -> str:
    """A pattern typed on one system must fit a name that another one has decomposed."""
    return text if text.isascii() else unicodedata.normalize("NFC", text)
