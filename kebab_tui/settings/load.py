"""Puts the settings together: defaults < configuration file < environment < flags.

Called once, at the edge; the result travels from there. Every refusal says which
line, variable or flag brought the value, and what would be right. Refuses to guess:
an unknown key, a wrong type, or a *named* file that is missing is an error; only the
platform's default file may be absent.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from msgspec import Struct, ValidationError, convert
from msgspec.structs import fields, replace

from kebab_tui.domain.errors import ConfigError
from kebab_tui.settings.settings import (
    OTHER_SPELLINGS,
    Key,
    Settings,
    expectation,
    is_list,
    is_mapping,
    plain_keys,
    section_of,
)

# The configuration file as text: reading it, parsing it, and saying which line a value stands in.
#
# Knows TOML, but no setting; refuses anything that is not a small UTF-8 text.

Path = tuple[str | int, ...]
"""Names and list positions that lead to a value in the file."""

_LARGEST = 1 << 20
_TOML_HINT = 'write `key = value`, text in "quotes"'


def read(path: str, named_by: str) -> str:
    """The file's text; empty when nobody named the file and it is not there."""
    try:
        with open(path, "rb") as file:
            data = file.read(_LARGEST + 1)
    except (FileNotFoundError, NotADirectoryError):
        if not named_by:
            return ""
        raise ConfigError(
            f"{named_by}: there is no file {path}", f"`kebab init --path {path}` writes one to start from"
        ) from None
    except OSError as error:
        raise ConfigError(
            f"{named_by}: ".removeprefix(": ") + f"cannot read the configuration {path}: {error.strerror}",
            "make it a file that you can read, or name another one with --config",
        ) from None
    if len(data) > _LARGEST:
        raise ConfigError(
            f"{path} is too large for a configuration file (more than 1 MB)", "name another one with --config"
        )
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ConfigError(f"{path}:{line}: not UTF-8 text", "save the file as UTF-8") from None


def parse(text: str, path: str) -> dict[str, Any]:
    """The tables of `text`; `path` is only for the refusal."""
    import tomllib

    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        place = re.search(r"\A(.*) \(at line (\d+), column (\d+)\)\Z", str(error))
        line, what = (place[2], f"{place[1]} (column {place[3]})") if place else ("1", str(error))
        if "end of document" in str(error):
            line = str(text.count("\n") + 1)
        raise ConfigError(f"{path}:{line}: not TOML: {what}", _TOML_HINT) from None


def line_of(text: str, path: Path) -> int:
    """The 1-based line where the statement begins that sets `path`, or the nearest thing around it.

    A statement belongs to the first piece of the file that is TOML by itself and holds
    the path, so the parser itself answers: exact for multi-line texts, arrays and tables.
    """
    import tomllib
    from bisect import bisect_left

    lines = text.split("\n")
    wanted = _steps(tomllib.loads(text), path)

    def holds(count: int) -> bool:
        for end in range(count, len(lines) + 1):
            try:
                return _steps(tomllib.loads("\n".join(lines[:end])), path) >= wanted
            except ValueError:
                continue
        return True

    return max(1, bisect_left(range(len(lines) + 1), True, key=holds))


def _steps(tree: Any, path: Path) -> int:
    """How many steps of `path` exist in the tree."""
    for count, step in enumerate(path):
        try:
            tree = tree[step]
        except (KeyError, IndexError, TypeError):
            return count
    return len(path)


# Where the program keeps its configuration and its data: the one place that computes these paths.
#
# Creates nothing and reads no file. On Linux the XDG rules are applied here, because
# importing platformdirs costs nearly a third of what click does; elsewhere platformdirs is
# asked. A test holds the two together.

APP = "kebab"
CONFIG_VARIABLE = "KEBAB_CONFIG"


def config_path(environ: Mapping[str, str], named: str | None = None) -> str:
    """The configuration file: the one that was named, else the platform's."""
    if chosen := named_config(environ, named):
        return absolute(chosen)
    return os.path.join(_platform_folder(environ, "config"), "config.toml")


def named_config(environ: Mapping[str, str], named: str | None = None) -> str:
    """The file that the user asked for by flag or variable, as written; empty when none was."""
    return named or environ.get(CONFIG_VARIABLE, "")


def data_folder(environ: Mapping[str, str]) -> str:
    """The platform's folder for the index; never the folder of the configuration."""
    folder = _platform_folder(environ, "data")
    if folder == _platform_folder(environ, "config"):
        return os.path.join(folder, "data")
    return folder


def data_variable(environ: Mapping[str, str]) -> str:
    """The variable that the platform's folder for the index depends on."""
    return "XDG_DATA_HOME" if os.path.isabs(environ.get("XDG_DATA_HOME", "")) else "HOME"


def absolute(path: str, base: str = "") -> str:
    """`~` expanded, relative paths taken from `base` (the working folder when empty)."""
    if "\0" in path:
        raise ConfigError(f"not a path: {path!r}", "a path cannot hold a NUL character")
    if not path.strip():
        raise ConfigError(f"not a path: {path!r}", "expected a path, not only blanks")
    expanded = os.path.expanduser(path)
    if expanded == "~" or expanded.startswith("~/"):
        raise ConfigError(f"no home folder is known for {path!r}", "set HOME, or write the whole path")
    first = expanded.partition("/")[0]
    if first.startswith("~") and not os.path.lexists(os.path.join(base, first)):
        raise ConfigError(
            f"there is no user {first[1:]!r}: {path!r}",
            f"write the whole path; ./{path} means a folder of that name",
        )
    try:
        return os.path.abspath(os.path.join(base, expanded))
    except FileNotFoundError:
        raise ConfigError(
            f"the working folder is gone, so {path!r} leads nowhere", "change to a folder that exists"
        ) from None


def _platform_folder(environ: Mapping[str, str], kind: str) -> str:
    if sys.platform != "linux":
        import platformdirs

        places = platformdirs.PlatformDirs(APP, appauthor=False)
        return places.user_data_dir if kind == "data" else places.user_config_dir
    return _xdg_folder(environ, kind)


def _xdg_folder(environ: Mapping[str, str], kind: str) -> str:
    """XDG base directories; a relative value is to be ignored, says the specification."""
    base = environ.get(f"XDG_{kind.upper()}_HOME", "")
    if not os.path.isabs(base):
        base = os.path.join(_home(environ), ".config" if kind == "config" else ".local/share")
    return os.path.join(base, APP)


def _home(environ: Mapping[str, str]) -> str:
    home = environ.get("HOME") or _home_of_user()
    if not os.path.isabs(home):
        raise ConfigError("no home folder is known", "set HOME, or name a folder with KEBAB_DATA_DIR")
    return home


def _home_of_user() -> str:
    """What the system knows without HOME; `expanduser` takes an empty one for the root of all folders."""
    import pwd

    try:
        return pwd.getpwuid(os.getuid()).pw_dir
    except KeyError:
        return ""


PREFIX = "KEBAB_"
OTHER_VARIABLES = (CONFIG_VARIABLE, "KEBAB_DEBUG", "KEBAB_EDITOR", "KEBAB_HYPERLINKS")
"""Variables of ours that are no settings; named so that a typing slip in one is noticed."""
_HYPERLINKS = ("always", "never", "auto")

_DATA_DIR: Key = ("data_dir",)
_WORDS = {"`": "", "object": "a table", "array": "a list", "str": "text", "bool": "true or false"}

Where = Callable[[Path], str]


class _Layer(NamedTuple):
    """Values from one place, and how that place is pointed at when a value is wrong."""

    values: dict[Key, Any]
    where: Where
    strict: bool = False
    """False where everything is text: a variable's `5` is a number then."""


def load_settings(
    config: str | None, environ: Mapping[str, str], overrides: Mapping[str, object]
) -> Settings:
    """All layers as one value. `overrides` maps dotted keys to what flags gave; None is "not given"."""
    layers = (_file_layer(config, environ), _environment_layer(environ), _flag_layer(overrides))
    values: dict[Key, Any] = {}
    settings = Settings()
    for layer in layers:
        if layer.values:
            values |= layer.values
            settings = _checked(values, layer)
    settings = settings if settings.data_dir else replace(settings, data_dir=data_folder(environ))
    if not os.path.isdir(settings.data_dir):
        named = (layer.where(_DATA_DIR) for layer in reversed(layers) if _DATA_DIR in layer.values)
        _refuse_file(settings.data_dir, next(named, data_variable(environ)))
    return settings


def _refuse_file(folder: str, named_by: str) -> None:
    """A folder can be made where there is none, but not below a file."""
    there = folder
    while not os.path.exists(there) and there != os.path.dirname(there):
        there = os.path.dirname(there)
    if not os.path.isdir(there):
        relation = "is a file" if there == folder else "lies below a file"
        raise ConfigError(
            f"{named_by}: the data folder {relation}: {there}",
            f"make {named_by} name a folder, or choose one for the index with --data-dir",
        )


def _checked(values: dict[Key, Any], newest: _Layer) -> Settings:
    try:
        return convert(_nested(values), Settings, strict=newest.strict)
    except ValidationError as error:
        raise _refusal(str(error), newest) from None


def _nested(values: Mapping[Key, Any]) -> dict[str, Any]:
    tree: dict[str, Any] = {}
    for key, value in values.items():
        branch = tree
        for name in key[:-1]:
            branch = branch.setdefault(name, {})
        branch[key[-1]] = value
    return tree


def _file_layer(config: str | None, environ: Mapping[str, str]) -> _Layer:
    path = config_path(environ, config)
    text = read(path, _named_by(config, environ))

    def where(at: Path) -> str:
        return f"{path}:{max(line_of(text, spelling) for spelling in _spellings(at))}"

    found = _flat(parse(text, path), Settings, (), where) if text else ()
    values = _collected(found, where)
    return _Layer(_anchored(values, os.path.dirname(path)), where, strict=True)


def _named_by(config: str | None, environ: Mapping[str, str]) -> str:
    if config:
        return "--config"
    return CONFIG_VARIABLE if named_config(environ) else ""


def _environment_layer(environ: Mapping[str, str]) -> _Layer:
    variables = [name for name in environ if name.startswith(PREFIX) and environ[name]]
    known = {_variable(key): key for key in (*plain_keys(), *OTHER_SPELLINGS)} if variables else {}
    for name in variables:
        if name not in known and name not in OTHER_VARIABLES:
            _refuse_slip(name, (*known, *OTHER_VARIABLES))
    if (links := environ.get("KEBAB_HYPERLINKS")) and links not in _HYPERLINKS:
        raise ConfigError(
            f"invalid KEBAB_HYPERLINKS: {links!r}; expected always, never or auto",
            "auto, or no value, makes links where the terminal is known to show them",
        )
    found = [(known[name], environ[name]) for name in variables if name in known]

    def where(at: Path) -> str:
        keys = [key for key, _ in found if any(key[: len(s)] == s for s in _spellings(at))]
        return ", ".join(_variable(key) for key in keys) or PREFIX + "*"

    return _Layer(_anchored(_collected(found, where), ""), where)


def _flag_layer(overrides: Mapping[str, object]) -> _Layer:
    found = [(tuple(name.split(".")), value) for name, value in overrides.items() if value is not None]

    def where(at: Path) -> str:
        return "--" + str(at[-1]).replace("_", "-")

    return _Layer(_anchored(_collected(found, where), ""), where)


def _collected(found: Iterable[tuple[Key, Any]], where: Where) -> dict[Key, Any]:
    """Values under the one spelling of their key; the same key in two spellings is refused."""
    values: dict[Key, Any] = {}
    for written, value in found:
        key = OTHER_SPELLINGS.get(written, written)
        if key in values:
            other = next(second for second, first in OTHER_SPELLINGS.items() if first == key)
            raise ConfigError(
                f"{where(written)}: {_dotted(other)} is another name for {_dotted(key)}; both are set",
                f"keep {_dotted(key)}",
            )
        values[key] = value
    return values


def _anchored(values: dict[Key, Any], base: str) -> dict[Key, Any]:
    """Paths made absolute against the place they were written in; anything of a wrong type stays."""
    if isinstance(folder := values.get(_DATA_DIR), str) and folder:
        values[_DATA_DIR] = absolute(folder, base)
    if isinstance(entries := values.get(("sources",)), list):
        values[("sources",)] = [_anchored_entry(entry, base) for entry in entries]
    return values


def _anchored_entry(entry: Any, base: str) -> Any:
    if isinstance(entry, dict) and isinstance(path := entry.get("path"), str) and path:
        return {**entry, "path": absolute(path, base)}
    return entry


def _flat(tree: dict[str, Any], owner: type[Struct], prefix: Key, where: Where) -> Iterator[tuple[Key, Any]]:
    """The values of a file under their full keys; an unknown key ends it."""
    items = {item.name: item for item in fields(owner)}
    for name, value in tree.items():
        key = (*prefix, name)
        _known(name, owner, prefix, key, where)
        section = section_of(items[name]) if name in items else None
        if section and is_list(items[name]):
            _check_entries(value, section, key, where)
            yield key, value
        elif section and isinstance(value, dict):
            yield from _flat(value, section, key, where)
        else:
            if name in items and is_mapping(items[name]):
                _check_mapping(value, key, where)
            yield key, value


def _check_entries(entries: Any, owner: type[Struct], key: Key, where: Where) -> None:
    for number, entry in enumerate(entries if isinstance(entries, list) else ()):
        for name in entry if isinstance(entry, dict) else ():
            _known(name, owner, key, (*key, number, name), where)


def _check_mapping(value: Any, key: Key, where: Where) -> None:
    """Names are the user's own; the library would name only the table of a wrong value."""
    for name, entry in value.items() if isinstance(value, dict) else ():
        if not (isinstance(entry, list) and all(isinstance(text, str) for text in entry)):
            raise ConfigError(
                f"{where((*key, name))}: {_dotted((*key, name))}: Expected a list of texts",
                'write it as in ["f4", "ctrl+e"]',
            )


def _known(name: str, owner: type[Struct], prefix: Key, path: Path, where: Where) -> None:
    names = [item.name for item in fields(owner)]
    names += [second[-1] for second in OTHER_SPELLINGS if second[:-1] == prefix]
    if name not in names:
        raise ConfigError(f"{where(path)}: unknown key {_dotted(path)}", _nearest(name, names, prefix))


def _nearest(name: str, names: list[str], prefix: Key) -> str:
    from difflib import get_close_matches

    if near := get_close_matches(name, names, 1):
        return f"did you mean {_dotted((*prefix, near[0]))}?"
    elsewhere = {key[-1]: key for key in plain_keys()}
    if near := get_close_matches(name, elsewhere, 1):
        return f"did you mean {_dotted(elsewhere[near[0]])}?"
    return "known here: " + ", ".join(names)


def _refuse_slip(name: str, known: Iterable[str]) -> None:
    """The environment is shared with other programs: only a name that resembles ours is a mistake."""
    from difflib import get_close_matches

    if near := get_close_matches(name, known, 1, cutoff=0.8):
        raise ConfigError(f"unknown variable {name}", f"did you mean {near[0]}?")


def _refusal(message: str, layer: _Layer) -> ConfigError:
    what, _, place = message.partition(" - at `$")
    steps = re.findall(r"\[(\d+)\]|([^.\[\]`]+)", place)
    path: Path = tuple(int(number) if number else name for number, name in steps)
    for word, plain in _WORDS.items():
        what = what.replace(word, plain)
    return ConfigError(f"{layer.where(path)}: {_dotted(path)}: {what}", _expected(path))


def _expected(path: Path) -> str:
    owner: type[Struct] = Settings
    for step in path:
        item = next((item for item in fields(owner) if item.name == step), None)
        if item is None:
            continue
        section = section_of(item)
        if section is None:
            return f"{step} is {expectation(item)}"
        owner = section
    return ""


def _variable(key: Key) -> str:
    return PREFIX + "_".join(key).upper()


def _spellings(path: Path) -> list[Path]:
    """The path itself and its second spelling, if it has one."""
    return [path, *(second for second, key in OTHER_SPELLINGS.items() if key == path)]


def _dotted(path: Path) -> str:
    text = "".join(f"[{step + 1}]" if isinstance(step, int) else f".{step}" for step in path)
    return text.lstrip(".")
