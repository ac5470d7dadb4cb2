"""Where the program keeps its configuration and its data: the one place that computes these paths.

Creates nothing and reads no file. On Linux the XDG rules are applied here, because
importing platformdirs costs nearly a third of what click does; elsewhere platformdirs is
asked. A test holds the two together.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping

from kebab_tui.domain.errors import ConfigError

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
