"""Programs of Debian's packages, found on PATH or in the folders of root's PATH."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from patternbench.lab.software.needs import Need

SYSTEM = "/usr/sbin:/sbin:/usr/local/sbin"
LUA = ("/usr/share/lua/5.1", "/usr/local/share/lua/5.1", "/usr/lib/*/lua/5.1", "/usr/local/lib/lua/5.1")
"""Where Debian's LuaJIT looks for modules; one folder depends on the machine's architecture."""
INSTALL = Path(__file__).with_name("install-packages.sh")


def find(program: str, *first: str) -> str | None:
    """Return the program in the folders of a pattern, on PATH, or among the administrator's."""
    matching = [str(folder) for pattern in first for folder in sorted(Path("/").glob(pattern[1:]), reverse=True)]
    return shutil.which(program, path=":".join([*matching, os.environ.get("PATH", ""), SYSTEM]))


def need(name: str, present: bool, *packages: str) -> Need:
    """Return the need of a component that Debian's packages bring; the command starts none of their services."""
    install = ("sh", str(INSTALL), *packages)
    command = install if os.geteuid() == 0 else ("sudo", *install)
    by_hand = f"sudo apt-get install --no-install-recommends {' '.join(packages)}"
    hint = f"type `patternbench doctor --install` (or `{by_hand}`, which also starts its services)"
    return Need(name, name if present else None, hint, (command,))


def program(name: str, *first: str) -> str:
    """Return the path of a program that a need has shown to be there."""
    return find(name, *first) or name


def exists(*paths: str) -> bool:
    """Whether all the files are there."""
    return all(Path(path).is_file() for path in paths)


def has_lua(*files: str) -> bool:
    """Whether LuaJIT finds the files of all the modules."""
    return all(any(any(Path("/").glob(f"{folder[1:]}/{file}")) for folder in LUA) for file in files)
