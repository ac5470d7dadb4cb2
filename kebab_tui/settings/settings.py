"""Defines every setting: name, default, range and documentation.

`load` validates against these structs and `starter` prints them. Reads no file and no variable.
The choices of `mode` and `trust` repeat names of the domain, because importing the domain would double
the import time of the settings; a test and mypy compare them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal, get_args, get_origin

from msgspec import Meta, Struct, field
from msgspec.structs import FieldInfo, fields

Key = tuple[str, ...]
"""The names that lead to a setting, outermost first."""

RENAMED: dict[Key, Key] = {("search", "second_look"): ("search", "rerank")}
"""Old name -> new name. The old name still works; a warning names the new one."""

RENAMED_ACTIONS = {"second_look": "rerank"}
"""The same for the names of actions under [keys]."""

REMOVED: frozenset[Key] = frozenset({("index", "bulk_chunks"), ("sources", "weight")})
"""Settings without effect. An old configuration may still have them; a warning asks to delete them."""

OTHER_SPELLINGS: dict[Key, Key] = {("search", "default_top"): ("search", "default_k"), **RENAMED}
"""Accepted wherever the key is, never printed."""

ModeName = Literal["lexical", "vector", "hybrid"]
FusionName = Literal["rrf"]
TrustLabel = Literal["primary", "secondary", "generated"]
Weight = Annotated[float, Meta(ge=0, le=100)]


class WeightSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Weights of the fields in the keyword ranking."""

    title: Weight = 4.0
    """Weight of a word in the note's title."""
    heading: Weight = 2.0
    """Weight of a word in a heading above the passage."""
    text: Weight = 1.0
    """Weight of a word in the passage text."""
    grams: Weight = 1.0
    """Weight of a part of a Korean word, in any field."""


class SearchSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Search and ranking."""

    default_k: Annotated[int, Meta(ge=1, le=1000)] = 10
    """The number of hits."""
    mode: ModeName = "hybrid"
    """The search mode without `--mode`: by keywords, by meaning, or by both."""
    snippet_chars: Annotated[int, Meta(ge=20, le=4000)] = 220
    """The maximum length of the excerpt of a hit, in characters."""
    hybrid_fusion: FusionName = "rrf"
    """The fusion of both lists; Reciprocal Rank Fusion is the only one so far."""
    rrf_k: Annotated[int, Meta(ge=1, le=1000)] = 60
    """The constant of Reciprocal Rank Fusion; a larger value makes the rank count less."""
    vector_weight: Annotated[float, Meta(ge=0, le=10)] = 1.0
    """The weight of a rank by meaning; a rank by keywords has weight 1."""
    vector_weight_hangul: Annotated[float, Meta(ge=0, le=10)] = 0.35
    """The same for queries in Hangul."""
    rerank: bool = True
    """Rerank the best fused hits by their own scores; false: keep the order of the fusion."""
    weights: WeightSettings = field(default_factory=WeightSettings)


class ChunkingSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Splitting of notes into passages. A change re-indexes the notes."""

    target: Annotated[int, Meta(ge=100, le=20_000)] = 1200
    """The target size of a passage, in characters; small neighbours in one section are joined up to it."""
    cap: Annotated[int, Meta(ge=200, le=20_000)] = 4000
    """The maximum size of a passage, in characters; not less than the target."""

    def __post_init__(self) -> None:
        if self.cap < self.target:
            raise ValueError(f"the cap ({self.cap}) is below the target ({self.target})")


class ReadingSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Limits for reading files."""

    max_file_mb: Annotated[int, Meta(ge=1, le=1024)] = 8
    """The maximum file size, in megabytes; larger files are skipped and listed as such."""
    pdf: bool = True
    """Read PDF files; false: the next scan removes them from the index."""
    max_pdf_mb: Annotated[int, Meta(ge=1, le=256)] = 64
    """The same limit for PDF files."""
    code: bool = False
    """Read source code in all folders; folders added with `--code` always do."""


class RootSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where the folder of a shared index is on this machine. Repeat for each folder."""

    source: Annotated[str, Meta(min_length=1)]
    """The name of the folder in the index, as `kebab source list` shows it."""
    path: Annotated[str, Meta(min_length=1)]
    """The folder here. `~` is your home folder; a relative path starts at the folder of this file."""


class IndexSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Indexing."""

    url: str = ""
    """Where the index is: a folder, or a URL; `kebab --help` lists the backends. Empty: in the data folder.
    Never write a password here. The variable is KEBAB_INDEX."""
    lock_timeout_s: Annotated[float, Meta(ge=0, le=3600)] = 30.0
    """The maximum wait for another process that writes the index, in seconds."""
    embed_threads: Annotated[int, Meta(ge=0, le=64)] = 0
    """The number of threads, at low priority, that compute vectors. 0: half as many as there are processors,
    but two if there are two."""
    watch: bool = True
    """The open screen watches the folders and updates the index; false: only `kebab watch` does."""
    ask_notes: Annotated[int, Meta(ge=0, le=10_000_000)] = 10_000
    """Ask before a new folder with more notes is indexed, or with five times as many files; also before the
    home folder and the folders above it."""
    on_missing_shard: Literal["", "fail", "partial"] = ""
    """What a search does if a server of a shared index does not answer: fail, or search the others and say
    so;
    empty: the screen searches the others, commands and agents fail."""
    shard_deadline_s: Annotated[float, Meta(ge=0.1, le=600)] = 3.0
    """How long a search waits for a server of a shared index, in seconds."""
    roots: tuple[RootSettings, ...] = ()


class EditorSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The editor that opens notes."""

    command: str = ""
    """The editor, such as `hx`, or a complete command, such as `hx {path}:{line}:{column}`; empty:
    KEBAB_EDITOR, VISUAL or EDITOR, else the first installed one of nvim, vim, nano and vi."""
    terminal: bool = True
    """A command with `{path}` runs in the terminal; false: it opens its own window."""

    def __post_init__(self) -> None:
        if "{path}" not in self.command and ("{line}" in self.command or "{column}" in self.command):
            raise ValueError("the editor command has {line} or {column}, but no {path}")


class ViewerSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The programs that open documents with pages, each in its own window."""

    pdf: str = ""
    """The viewer for PDF files, such as `okular`, or a complete command, such as `zathura -P {page} {path}`;
    empty: the first installed one of those that can open a page, else the desktop's."""

    def __post_init__(self) -> None:
        if "{page}" in self.pdf and "{path}" not in self.pdf:
            raise ValueError("the viewer command has {page}, but no {path}")


class ScreenSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The screen. These settings override the choices made on the screen."""

    theme: str = ""
    """The colours: dark, light, ansi, or a theme of Textual; empty: the theme last chosen on the screen."""
    layout: Literal["", "auto", "beside", "below"] = ""
    """Where the preview is: beside the hits, below them, or by the width of the terminal; empty: as last
    chosen on the screen."""
    wrap: Literal["", "on", "off"] = ""
    """Whether the preview wraps long lines; empty: as last chosen on the screen, at first on."""
    keys: Literal["default", "vim"] = "default"
    """vim adds a normal mode, in which single letters are commands."""
    ascii: bool = False
    """Draw borders, bars and marks with ASCII characters; `--ascii` does the same."""


class CliSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The command `kebab`."""

    piped: Literal["lines", "human"] = "lines"
    """What `kebab search` writes into a pipe or a file: `path:line:text`, or the same as on a terminal."""
    hyperlinks: Literal["auto", "always", "never"] = "auto"
    """Make paths links that a terminal opens; auto: in terminals known to support it. The variable is
    KEBAB_HYPERLINKS."""


class SourceSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A folder of notes, declared here instead of with `kebab source add`. Repeat for each folder."""

    path: Annotated[str, Meta(min_length=1)]
    """The folder. `~` is your home folder; a relative path starts at the folder of this file."""
    id: str = ""
    """The short name for `in:` and `--in`; empty: derived from the folder's name."""
    title: str = ""
    """The displayed name; empty: the folder's name."""
    description: str = ""
    """A description of the folder, for people."""
    include: tuple[str, ...] = ()
    """Index only files that match one of these .gitignore patterns; empty: all files."""
    exclude: tuple[str, ...] = ()
    """Skip files that match one of these .gitignore patterns."""
    trust: TrustLabel = "primary"
    """The trust level of its notes; a note can set its own."""
    rules: tuple[str, ...] = ()
    """Remarks added to every quotation from this folder."""
    stars: Annotated[int, Meta(ge=0, le=1_000_000_000)] = 0
    """Its stars, such as those of a project; they count for its score in `kebab source search`."""
    code: bool = False
    """Read its source code too."""


class Settings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The complete configuration. After loading, every path is absolute."""

    data_dir: str = ""
    """The folder of the index; empty: the platform's default data folder."""
    search: SearchSettings = field(default_factory=SearchSettings)
    chunking: ChunkingSettings = field(default_factory=ChunkingSettings)
    reading: ReadingSettings = field(default_factory=ReadingSettings)
    index: IndexSettings = field(default_factory=IndexSettings)
    editor: EditorSettings = field(default_factory=EditorSettings)
    viewer: ViewerSettings = field(default_factory=ViewerSettings)
    screen: ScreenSettings = field(default_factory=ScreenSettings)
    cli: CliSettings = field(default_factory=CliSettings)
    keys: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Key bindings of the screen. An entry replaces all keys of its action; the README lists the actions.
    A key that types a character is for the normal mode of `keys = "vim"`, under [screen], and for what-ifs in
    the explanation; elsewhere it types. An entry of characters only leaves the other keys as they are.
    Example: `next_hit = ["down", "ctrl+n", "j"]`"""
    sources: tuple[SourceSettings, ...] = ()


def section_of(item: FieldInfo) -> type[Struct] | None:
    """The struct of a nested section, or of the entries of a list of tables; None for a plain key."""
    candidates = (item.type, *get_args(item.type))
    return next((kind for kind in candidates if isinstance(kind, type) and issubclass(kind, Struct)), None)


def is_list(item: FieldInfo) -> bool:
    """Whether the key holds a list of strings or of tables."""
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
    """The allowed values in words, such as `an integer from 1 to 1000`."""
    if get_origin(item.type) is Literal:
        choices = ", ".join(f'"{choice}"' for choice in get_args(item.type))
        return f"one of {choices}" if len(get_args(item.type)) > 1 else choices
    if is_list(item):
        return "a list of strings"
    if item.type is bool:
        return "true or false"
    if get_origin(item.type) is Annotated and get_args(item.type)[0] is not str:
        number, limits = get_args(item.type)
        noun = "an integer" if number is int else "a number"
        return f"{noun} from {limits.ge:.15g} to {limits.le:.15g}"
    return "a string"
