"""Every setting: its name, default, range and documentation, written down here and nowhere else.

`loading` validates against these structs, `starter` prints them; neither knows a key by
name. Refuses to read files or variables.

The choices of `mode` and `trust` repeat names of the domain (a test and mypy hold them
together): importing the domain's values for two words would double what settings cost.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal, get_args, get_origin

from msgspec import Meta, Struct, field
from msgspec.structs import FieldInfo, fields

Key = tuple[str, ...]
"""The names that lead to a setting, outermost first."""

OTHER_SPELLINGS: dict[Key, Key] = {("search", "default_top"): ("search", "default_k")}
"""Second spellings of a key: accepted wherever the key is, never printed."""


ModeName = Literal["lexical", "vector", "hybrid"]
TrustLabel = Literal["primary", "secondary", "generated"]
FusionName = Literal["rrf"]
Weight = Annotated[float, Meta(ge=0, le=100)]


class WeightSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How much a word counts by where it stands."""

    title: Weight = 4.0
    """A word in the note's title."""
    heading: Weight = 2.0
    """A word in one of the headings above the passage."""
    text: Weight = 1.0
    """A word in the passage itself."""
    grams: Weight = 1.0
    """A part of a Korean word, wherever it stands."""


class SearchSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How notes are found and shown."""

    default_k: Annotated[int, Meta(ge=1, le=1000)] = 10
    """How many hits are shown."""
    mode: ModeName = "hybrid"
    """How hits are found when a command does not say: by words, by meaning, or by both."""
    snippet_chars: Annotated[int, Meta(ge=20, le=4000)] = 220
    """The longest excerpt shown with a hit, in characters."""
    hybrid_fusion: FusionName = "rrf"
    """How the lists of words and meaning become one: by Reciprocal Rank Fusion, the only way there is."""
    rrf_k: Annotated[int, Meta(ge=1, le=1000)] = 60
    """How slowly a rank loses weight when the lists of words and meaning are fused."""
    vector_weight: Annotated[float, Meta(ge=0, le=10)] = 1.0
    """What a rank by meaning counts beside one by words."""
    vector_weight_hangul: Annotated[float, Meta(ge=0, le=10)] = 0.35
    """The same for a query in Hangul."""
    second_look: bool = True
    """Whether the best fused hits are ordered once more by their own scores; off: the pure fusion."""
    weights: WeightSettings = field(default_factory=WeightSettings)


class ChunkingSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How a note is cut into passages. A change re-indexes the notes."""

    target: Annotated[int, Meta(ge=100, le=20_000)] = 1200
    """The size aimed at, in characters: small neighbours of one section are joined up to it."""
    cap: Annotated[int, Meta(ge=200, le=20_000)] = 4000
    """No passage is longer than this, in characters; at least the target."""

    def __post_init__(self) -> None:
        if self.cap < self.target:
            raise ValueError(f"the cap ({self.cap}) is below the target ({self.target})")


class ReadingSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which files are read."""

    max_file_mb: Annotated[int, Meta(ge=1, le=1024)] = 8
    """Larger files are listed as skipped, not indexed; in megabytes."""


class IndexSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How the index is written."""

    lock_timeout_s: Annotated[float, Meta(ge=0, le=3600)] = 30.0
    """How long to wait for another process that is writing the index, in seconds."""
    bulk_chunks: Annotated[int, Meta(ge=1, le=1_000_000)] = 2000
    """From this many new passages on, the index is loaded in one piece instead of note by note."""
    embed_threads: Annotated[int, Meta(ge=1, le=64)] = 1
    """How many passages are read by the model side by side, at low priority."""
    watch: bool = True
    """Whether the open screen keeps the index in step with the folders; false: only `kebab watch` does."""


class EditorSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How a note is opened in an editor."""

    command: str = ""
    """The editor, such as `hx`, or the whole command, such as `hx {path}:{line}:{column}`; empty: what
    KEBAB_EDITOR, VISUAL or EDITOR says, else the first of nvim, vim, nano and vi that is there."""
    terminal: bool = True
    """Whether a command with `{path}` in it runs in the terminal; false: it has a window of its own."""

    def __post_init__(self) -> None:
        if "{path}" not in self.command and ("{line}" in self.command or "{column}" in self.command):
            raise ValueError("the editor's command says where the line goes, but not where {path} goes")


class SourceSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A folder of notes declared here instead of with `kebab source add`. Repeat for each folder."""

    path: Annotated[str, Meta(min_length=1)]
    """The folder. `~` is your home; a relative path starts at this file's folder."""
    id: str = ""
    """The short name for `in:` and `--in`; empty: made from the folder's name."""
    title: str = ""
    """The name shown; empty: the folder's name."""
    description: str = ""
    """What the folder holds, for people."""
    include: tuple[str, ...] = ()
    """Only files that match one of these patterns, as in .gitignore; empty: all."""
    exclude: tuple[str, ...] = ()
    """No files that match one of these patterns, as in .gitignore."""
    trust: TrustLabel = "primary"
    """How far its notes are trusted unless a note says so itself."""
    rules: tuple[str, ...] = ()
    """Remarks handed on with everything that is quoted from this folder."""


class Settings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The whole configuration. Once loaded, every path in it is absolute."""

    data_dir: str = ""
    """The folder of the index; empty: the platform's own place for such data."""
    search: SearchSettings = field(default_factory=SearchSettings)
    chunking: ChunkingSettings = field(default_factory=ChunkingSettings)
    reading: ReadingSettings = field(default_factory=ReadingSettings)
    index: IndexSettings = field(default_factory=IndexSettings)
    editor: EditorSettings = field(default_factory=EditorSettings)
    keys: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Other keys for actions of the screen. What stands here replaces all keys of that action; the README
    lists the actions. A key that types a character holds in the lists, any other one everywhere.
    Example: `next_hit = ["down", "ctrl+n", "j"]`"""
    sources: tuple[SourceSettings, ...] = ()


def section_of(item: FieldInfo) -> type[Struct] | None:
    """The struct of a nested section, or of the entries of a list of tables; None for a plain key."""
    candidates = (item.type, *get_args(item.type))
    return next((kind for kind in candidates if isinstance(kind, type) and issubclass(kind, Struct)), None)


def is_list(item: FieldInfo) -> bool:
    """Whether the key holds a list, of texts or of tables."""
    return get_origin(item.type) is tuple


def is_mapping(item: FieldInfo) -> bool:
    """Whether the key is a table whose names the user chooses."""
    return get_origin(item.type) is dict


def plain_keys(owner: type[Struct] = Settings, prefix: Key = ()) -> Iterator[Key]:
    """Every key that holds one value, such as `("search", "weights", "title")`."""
    for item in fields(owner):
        section = section_of(item)
        if section is None and not is_mapping(item):
            yield (*prefix, item.name)
        elif section and not is_list(item):
            yield from plain_keys(section, (*prefix, item.name))


def expectation(item: FieldInfo) -> str:
    """What may be written there, in words: `a whole number from 1 to 1000`."""
    if get_origin(item.type) is Literal:
        choices = ", ".join(f'"{choice}"' for choice in get_args(item.type))
        return f"one of {choices}" if len(get_args(item.type)) > 1 else choices
    if is_list(item):
        return "a list of texts"
    if item.type is bool:
        return "true or false"
    if get_origin(item.type) is Annotated and get_args(item.type)[0] is not str:
        number, limits = get_args(item.type)
        noun = "a whole number" if number is int else "a number"
        return f"{noun} from {limits.ge:.15g} to {limits.le:.15g}"
    return "a text"
