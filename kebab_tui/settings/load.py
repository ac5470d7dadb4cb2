"""Loads the settings: defaults < configuration file < environment < flags.

Called once per process, at its start. Every error names the line, variable or flag of the wrong value, and
the allowed values. An unknown key, a wrong type and a missing file that the user named are errors; only the
platform's default file may be absent. A renamed or removed key works, with a warning on stderr.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec import Struct, ValidationError, convert
from msgspec.structs import fields, replace

from kebab_tui.domain.errors import ConfigError
from kebab_tui.settings.settings import (
    OTHER_SPELLINGS,
    REMOVED,
    RENAMED,
    RENAMED_ACTIONS,
    Key,
    Settings,
    expectation,
    is_list,
    is_mapping,
    plain_keys,
    section_of,
)

if TYPE_CHECKING:
    from kebab_tui.domain.toml import Path

APP = "kebab"
PREFIX = "KEBAB_"
CONFIG_VARIABLE = "KEBAB_CONFIG"
OTHER_VARIABLES = (CONFIG_VARIABLE, "KEBAB_DEBUG", "KEBAB_EDITOR")
"""Variables of this program that are no settings; a misspelled name is compared with them too."""
_LARGEST = 1 << 20
_DATA_DIR: Key = ("data_dir",)
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]+:")
_INDEX_URL: Key = ("index", "url")
_FOLDERS: tuple[Key, ...] = (("sources",), ("index", "roots"))
"""Lists of tables with a path."""
_VARIABLES: dict[Key, str] = {_INDEX_URL: "KEBAB_INDEX", ("cli", "hyperlinks"): "KEBAB_HYPERLINKS"}
"""Variables that are not named after their key."""
_FLAGS: dict[Path, str] = {_INDEX_URL: "--index"}
_TYPE_NAMES = {
    "object": "a table",
    "array": "a list",
    "str": "a string",
    "bool": "true or false",
    "int": "an integer",
    "float": "a number",
}

Where = Callable[["Path"], str]


class _Layer(NamedTuple):
    """Values from one place; `where` names the place of a value in error messages."""

    values: dict[Key, Any]
    where: Where
    strict: bool = False
    """False if all values are text: the variable value `5` is a number then."""


def load_settings(
    config: str | None, environ: Mapping[str, str], overrides: Mapping[str, object]
) -> Settings:
    """All layers as one value. `overrides` maps dotted keys to values of flags; None means "not given"."""
    flags = {tuple(name.split(".")): value for name, value in overrides.items() if value is not None}
    layers = (
        _file_layer(config, environ),
        _environment_layer(environ),
        _Layer(_absolute_paths(flags, ""), lambda at: _FLAGS.get(at) or "--" + str(at[-1]).replace("_", "-")),
    )
    values: dict[Key, Any] = {}
    settings = Settings()
    for layer in layers:
        if layer.values:
            values |= layer.values
            try:
                settings = convert(_nested(values), Settings, strict=layer.strict)
            except ValidationError as error:
                raise _invalid_value(str(error), layer) from None
    settings = settings if settings.data_dir else replace(settings, data_dir=data_folder(environ))
    if not os.path.isdir(settings.data_dir):
        named = (
            layer.where(_DATA_DIR if layer.values.get(_INDEX_URL, "unset") else _INDEX_URL)
            for layer in reversed(layers)
            if _DATA_DIR in layer.values
        )
        _require_possible_folder(settings.data_dir, next(named, data_variable(environ)))
    return settings


def config_path(environ: Mapping[str, str], named: str | None = None) -> str:
    """The configuration file: the named one, else the platform's."""
    if chosen := named or environ.get(CONFIG_VARIABLE):
        return absolute(chosen)
    return os.path.join(_platform_folder(environ, "config"), "config.toml")


def data_folder(environ: Mapping[str, str]) -> str:
    """The platform's folder for the index; never the folder of the configuration."""
    folder = _platform_folder(environ, "data")
    if folder == _platform_folder(environ, "config"):
        return os.path.join(folder, "data")
    return folder


def data_variable(environ: Mapping[str, str]) -> str:
    """The variable that determines `data_folder`."""
    return "XDG_DATA_HOME" if os.path.isabs(environ.get("XDG_DATA_HOME", "")) else "HOME"


def absolute(path: str, base: str = "") -> str:
    """Expand `~`; resolve a relative path against `base` (the working folder when empty)."""
    if "\0" in path:
        raise ConfigError(f"not a path: {path!r}", "a path cannot contain a NUL character")
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
            f"the working folder was removed; cannot resolve {path!r}", "change to a folder that exists"
        ) from None


def _platform_folder(environ: Mapping[str, str], kind: str) -> str:
    """On Linux by the XDG rules: importing platformdirs costs nearly a third of importing click."""
    if sys.platform != "linux":
        import platformdirs

        folders = platformdirs.PlatformDirs(APP, appauthor=False)
        return folders.user_data_dir if kind == "data" else folders.user_config_dir
    base = environ.get(f"XDG_{kind.upper()}_HOME", "")
    if not os.path.isabs(base):  # the specification: ignore a relative value
        home = environ.get("HOME", "")
        if not home:  # `expanduser` would take an empty HOME for the root folder
            import pwd

            with suppress(KeyError):
                home = pwd.getpwuid(os.getuid()).pw_dir
        if not os.path.isabs(home):
            raise ConfigError("no home folder is known", "set HOME, or name a folder with KEBAB_DATA_DIR")
        base = os.path.join(home, ".config" if kind == "config" else ".local/share")
    return os.path.join(base, APP)


def _require_possible_folder(folder: str, named_by: str) -> None:
    """A missing folder can be created, but not below a file."""
    existing = folder
    while not os.path.exists(existing) and existing != os.path.dirname(existing):
        existing = os.path.dirname(existing)
    if not os.path.isdir(existing):
        relation = "is a file" if existing == folder else "is below a file"
        raise ConfigError(
            f"{named_by}: the data folder {relation}: {existing}",
            f"change {named_by} to a folder, or choose a folder for the index with --data-dir",
        )


def _file_layer(config: str | None, environ: Mapping[str, str]) -> _Layer:
    path = config_path(environ, config)
    named_by = "--config" if config else CONFIG_VARIABLE if environ.get(CONFIG_VARIABLE) else ""
    data = _read(path, named_by)
    if not data:
        return _Layer({}, lambda _: path, strict=True)
    from kebab_tui.domain import toml  # most commands have no configuration file

    file = toml.parse(data, path, ConfigError)

    def where(at: Path) -> str:
        return file.where(*_spellings(at))

    values = _collected(_flat(file.values, Settings, (), where), where, _dotted)
    return _Layer(_absolute_paths(values, os.path.dirname(path)), where, strict=True)


def _read(path: str, named_by: str) -> bytes:
    """The file's content; empty if the file is missing and the user did not name it."""
    try:
        with open(path, "rb") as file:
            data = file.read(_LARGEST + 1)
    except (FileNotFoundError, NotADirectoryError):
        if not named_by:
            return b""
        raise ConfigError(
            f"{named_by}: there is no file {path}", f"`kebab init --path {path}` writes a starter file"
        ) from None
    except OSError as error:
        raise ConfigError(
            f"{named_by}: ".removeprefix(": ") + f"cannot read the configuration {path}: {error.strerror}",
            "make the file readable, or name another one with --config",
        ) from None
    if len(data) > _LARGEST:
        raise ConfigError(
            f"{path} is too large for a configuration file (more than 1 MB)", "name another one with --config"
        )
    return data


def _environment_layer(environ: Mapping[str, str]) -> _Layer:
    variables = [name for name in environ if name.startswith(PREFIX) and environ[name]]
    known = {_variable(key): key for key in (*plain_keys(), *OTHER_SPELLINGS, *REMOVED)} if variables else {}
    for name in variables:
        if name not in known and name not in OTHER_VARIABLES:
            from kebab_tui.domain.text import did_you_mean  # only here: domain.text is slow to load

            # Other programs may use the prefix: only a name similar to a known one is an error.
            if hint := did_you_mean(name, (*known, *OTHER_VARIABLES), cutoff=0.8):
                raise ConfigError(f"unknown variable {name}", hint)
    found = [(known[name], environ[name]) for name in variables if name in known]

    def where(at: Path) -> str:
        keys = [key for key, _ in found if any(key[: len(s)] == s for s in _spellings(at))]
        return ", ".join(_variable(key) for key in keys) or PREFIX + "*"

    return _Layer(_absolute_paths(_collected(found, where, _variable), ""), where)


def _flat(tree: dict[str, Any], owner: type[Struct], prefix: Key, where: Where) -> Iterator[tuple[Key, Any]]:
    """The values of a file under their full keys; raises at the first unknown key."""
    items = {item.name: item for item in fields(owner)}
    for name, value in tree.items():
        key = (*prefix, name)
        if key in OTHER_SPELLINGS or key in REMOVED:
            yield key, value
            continue
        _require_known(name, owner, prefix, key, where)
        section = section_of(items[name])
        if section and not is_list(items[name]) and isinstance(value, dict):
            yield from _flat(value, section, key, where)
            continue
        if section and is_list(items[name]) and isinstance(value, list):
            for number, entry in enumerate(value):
                for entry_name in list(entry) if isinstance(entry, dict) else ():
                    path = (*key, number, entry_name)
                    if (*key, entry_name) in REMOVED:
                        _warn(f"{where(path)}: {_dotted(path)} has no effect any more; remove it")
                        del entry[entry_name]
                    else:
                        _require_known(entry_name, section, key, path, where)
        if is_mapping(items[name]) and isinstance(value, dict):
            for own_name, entry in value.items():  # msgspec would name only the table of a wrong value
                if not (isinstance(entry, list) and all(isinstance(text, str) for text in entry)):
                    raise ConfigError(
                        f"{where((*key, own_name))}: {_dotted((*key, own_name))}: expected a list of strings",
                        'for example: ["f4", "ctrl+e"]',
                    )
            value = dict(value)
            for old, new in RENAMED_ACTIONS.items():
                if old in value:
                    label = f"{where((*key, old))}: {_dotted((*key, old))}"
                    if new in value:
                        raise ConfigError(f"{label} is another name for {_dotted((*key, new))}; both are set")
                    _warn(f"{label} was renamed; use {_dotted((*key, new))}")
                    value[new] = value.pop(old)
        yield key, value


def _require_known(name: str, owner: type[Struct], prefix: Key, path: Path, where: Where) -> None:
    names = [item.name for item in fields(owner)]
    if name in names:
        return
    from kebab_tui.domain.text import closest  # only here: domain.text is slow to load

    elsewhere = {key[-1]: key for key in plain_keys()}
    if near := closest(name, names):
        hint = f"did you mean {_dotted((*prefix, near))}?"
    elif near := closest(name, elsewhere):
        hint = f"did you mean {_dotted(elsewhere[near])}?"
    else:
        hint = "known here: " + ", ".join(names)
    raise ConfigError(f"{where(path)}: unknown key {_dotted(path)}", hint)


def _collected(
    found: Iterable[tuple[Key, Any]], where: Where, spelled: Callable[[Key], str]
) -> dict[Key, Any]:
    """Values under the current name of their key; two spellings of one key are an error."""
    values: dict[Key, Any] = {}
    for written, value in found:
        key = OTHER_SPELLINGS.get(written, written)
        if written in REMOVED or written in RENAMED:
            place, name = where(written), spelled(written)
            label = name if place == name else f"{place}: {name}"
            if written in REMOVED:
                _warn(f"{label} has no effect any more; remove it")
                continue
            _warn(f"{label} was renamed; use {spelled(key)}")
        if key in values:
            other = next(name for name in (written, *OTHER_SPELLINGS) if OTHER_SPELLINGS.get(name) == key)
            raise ConfigError(
                f"{where(written)}: {_dotted(other)} is another name for {_dotted(key)}; both are set",
                f"keep {_dotted(key)}",
            )
        values[key] = value
    return values


def _warn(message: str) -> None:
    if sys.stderr is not None:
        from kebab_tui.domain.text import sanitize  # only here: would double the import time of the settings

        sys.stderr.write(f"warning: {sanitize(message)}\n")


def _absolute_paths(values: dict[Key, Any], base: str) -> dict[Key, Any]:
    """Make paths absolute against `base`; leave values of a wrong type to the validation.

    An index at a path is an index in that data folder; only other URLs remain URLs.
    """
    url = values.get(_INDEX_URL)
    if isinstance(url, str) and url and (not _SCHEME.match(url) or os.path.isdir(absolute(url, base))):
        values[_DATA_DIR], values[_INDEX_URL] = url, ""
    if isinstance(folder := values.get(_DATA_DIR), str) and folder:
        values[_DATA_DIR] = absolute(folder, base)
    for key in _FOLDERS:
        if isinstance(entries := values.get(key), list):
            values[key] = [
                {**entry, "path": absolute(path, base)}
                if isinstance(entry, dict) and isinstance(path := entry.get("path"), str) and path
                else entry
                for entry in entries
            ]
    return values


def _nested(values: Mapping[Key, Any]) -> dict[str, Any]:
    tree: dict[str, Any] = {}
    for key, value in values.items():
        branch = tree
        for name in key[:-1]:
            branch = branch.setdefault(name, {})
        branch[key[-1]] = value
    return tree


def _invalid_value(message: str, layer: _Layer) -> ConfigError:
    """Translate an error of msgspec, such as "Expected `int`, got `str` - at `$.search.default_k`"."""
    reason, _, place = message.partition(" - at `$")
    steps = re.findall(r"\[(\d+)\]|([^.\[\]`]+)", place)
    path: Path = tuple(int(number) if number else name for number, name in steps)
    reason = re.sub("`([^`]*)`", lambda quoted: _TYPE_NAMES.get(quoted[1], quoted[1]), reason)
    reason = reason[:1].lower() + reason[1:]
    hint = ""
    owner: type[Struct] = Settings
    for step in path:
        item = next((item for item in fields(owner) if item.name == step), None)
        if item is not None:
            section = section_of(item)
            hint = "" if section else f"expected {expectation(item)}"
            owner = section or owner
    return ConfigError(f"{layer.where(path)}: {_dotted(path)}: {reason}", hint)


def _variable(key: Key) -> str:
    return _VARIABLES.get(key) or PREFIX + "_".join(key).upper()


def _spellings(path: Path) -> list[Path]:
    """The path and its other spellings."""
    return [path, *(other for other, key in OTHER_SPELLINGS.items() if key == path)]


def _dotted(path: Path) -> str:
    text = "".join(f"[{step + 1}]" if isinstance(step, int) else f".{step}" for step in path)
    return text.lstrip(".")
