"""The user of a server: the system user of its package if root starts it, otherwise the caller.

A server that many can reach is then no way to what root owns.
"""

from __future__ import annotations

import getpass
import os
import pwd
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from patternbench.terms.problems import Problem, did_you_mean

CONTAINER_USER = 10001
"""The number of a user of containers whose engine root asks: nobody of this machine, and the user of our images."""


class AccountError(Exception):
    """A program cannot run as the user that its settings name."""


@dataclass(frozen=True)
class Account:
    """A user, and the words to put before a command to run it as this user.

    ``numbers`` are those of a user of a container and of the user's group, such as ``1000:1000``.
    """

    user: str
    words: tuple[str, ...] = ()
    numbers: str = ""

    def command(self, *words: str) -> list[str]:
        """Return the command line that carries a command out as this user."""
        return [*self.words, *words]

    def own(self, path: Path) -> None:
        """Hand a file or a folder that the caller has made to this account, alone."""
        path.chmod(0o700 if path.is_dir() else 0o600)
        if self.words:
            shutil.chown(path, self.user)
        elif self.numbers and os.geteuid() == 0:
            os.chown(path, *map(int, self.numbers.split(":")))

    def __str__(self) -> str:
        return self.user if self.words else f"{self.user}, who started the run"


@contextmanager
def scratch(prefix: str) -> Iterator[Path]:
    """Yield a folder for a system that is gone afterwards, which a server that runs as another user can reach."""
    with tempfile.TemporaryDirectory(prefix=prefix) as folder:
        Path(folder).chmod(0o711)
        yield Path(folder)


def owner_of_new(folder: Path, user: str, nobody_else: bool = False) -> Account:
    """Make an empty folder that is one account's alone, and return whose: the user's, where root can hand it over.

    That user must be named and exist, and be able to reach the folder; otherwise it is the caller's, unless
    ``nobody_else`` will do: then this raises AccountError.
    """
    _empty(folder)
    wrong = problem_of(user) if nobody_else else None
    if wrong:
        raise AccountError(str(wrong))
    account = _system_user(user) if user else None
    if account is None:
        return _caller()
    shutil.chown(folder, user)
    if _can(account, "-w", folder):
        return account
    os.chown(folder, os.geteuid(), -1)
    if nobody_else:
        raise AccountError(str(_out_of_reach(user, folder)))
    return _caller()


def of_container(folder: Path) -> Account:
    """Make an empty folder for a container, and return its user: nobody of this machine for root, else the caller."""
    _empty(folder)
    root = os.geteuid() == 0
    user, group = (CONTAINER_USER, CONTAINER_USER) if root else (os.geteuid(), os.getegid())
    account = Account(str(user), numbers=f"{user}:{group}")
    account.own(folder)
    return account


def _empty(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True, mode=0o700)


def problem_of(user: str) -> Problem | None:
    """Why nothing can be started as a user here; None where it can be, or where only root could."""
    if not user or os.geteuid() != 0:
        return None
    users = [entry.pw_name for entry in pwd.getpwall()]
    if user not in users:
        hint = did_you_mean(user, users) or f"type `useradd --system {shlex.quote(user)}`, or leave `user` out"
        return Problem("isn't a user of this machine", "user", value=user, hint=hint)
    if shutil.which("setpriv") is None:
        return Problem("needs setpriv, which is not installed", "user", value=user, hint="apt-get install util-linux")
    return None


def reach_problem(user: str, folder: Path) -> Problem | None:
    """Why a user could not work below a folder that is there or that is going to be made; None where it can."""
    account = _system_user(user) if user else None
    there = next(path for path in (folder.absolute(), *folder.absolute().parents) if path.is_dir())
    return None if account is None or _can(account, "-x", there) else _out_of_reach(user, there)


def _can(account: Account, how: str, folder: Path) -> bool:
    command = account.command("test", how, str(folder))
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def _out_of_reach(user: str, folder: Path) -> Problem:
    message = f"cannot reach {folder}, where its files would be, and it does not run as {caller()} instead"
    return Problem(message, "user", value=user, hint="begin in a folder that this user can reach (--out /tmp/...)")


def caller() -> str:
    """Return the name of the user who runs us; its number where it has no name, as in many containers."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return str(os.geteuid())


def _caller() -> Account:
    return Account(caller())


def _system_user(user: str) -> Account | None:
    """Return the account of a user of this machine that we can become; None where there is none."""
    become = shutil.which("setpriv")
    if os.geteuid() != 0 or become is None:
        return None
    try:
        group = pwd.getpwnam(user).pw_gid
    except KeyError:
        return None
    return Account(user, (become, f"--reuid={user}", f"--regid={group}", "--init-groups", "--"))
