"""The user of a server: the system user of its package if root starts it, otherwise the caller.

A server that many can reach is then no way to what root owns.
"""

from __future__ import annotations

import getpass
import os
import pwd
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Account:
    """A user, and the words to put before a command to run it as this user."""

    user: str
    words: tuple[str, ...] = ()

    def command(self, *words: str) -> list[str]:
        """The command line that carries a command out as this user."""
        return [*self.words, *words]

    def own(self, path: Path) -> None:
        """Hand a file or a folder that the caller has made to this account, alone."""
        path.chmod(0o700 if path.is_dir() else 0o600)
        if self.words:
            shutil.chown(path, self.user)

    def __str__(self) -> str:
        return self.user if self.words else f"{self.user}, who started the run"


def owner_of_new(folder: Path, user: str) -> Account:
    """Make an empty folder that is one account's alone, and return whose: the user's, where root can hand it over.

    That user must be named and exist, and be able to reach the folder; otherwise it is the caller's.
    """
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True, mode=0o700)
    account = _system_user(user) if user else None
    if account is None:
        return _caller()
    shutil.chown(folder, user)
    if subprocess.run(account.command("test", "-w", str(folder)), capture_output=True, check=False).returncode == 0:
        return account
    os.chown(folder, os.geteuid(), -1)
    return _caller()


def _caller() -> Account:
    return Account(getpass.getuser())


def _system_user(user: str) -> Account | None:
    """The account of a user of this machine that we can become; None where there is none."""
    become = shutil.which("setpriv")
    if os.geteuid() != 0 or become is None:
        return None
    try:
        group = pwd.getpwnam(user).pw_gid
    except KeyError:
        return None
    return Account(user, (become, f"--reuid={user}", f"--regid={group}", "--init-groups", "--"))
