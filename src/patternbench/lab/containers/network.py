"""The network of a container, entered from this machine: rules of its kernel that redirect, reset or lose what passes.

Each container has a network namespace of its own. Its rules and interfaces go away with the container, so that whatever
takes a project down leaves none of ours behind. Rules are written by ``iptables-restore``, all of a call or none, into
chains with names of our own.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from patternbench.lab.containers.engine import ProjectFailed, asked
from patternbench.lab.containers.states import ContainerState

PROC = Path("/proc")
PROGRAMS = {"nsenter": "util-linux", "iptables-restore": "iptables", "ss": "iproute2"}
"""The programs that are needed, and the package of each in most distributions."""
SYSTEM_PROGRAMS = "/usr/sbin:/sbin"
"""Where programs for root are, which not every PATH has."""
MARK = 0x7062
"""The mark of our proxies' own connections, which no rule of ours touches."""
RUNS = ("running", "paused")
RESET = "-m conntrack --ctdir ORIGINAL -j REJECT --reject-with tcp-reset"
"""Resets a connection that begins here; an answer to one that begins at the other end passes."""


def lacking() -> str:
    """Why no network of a container can be entered from here; nothing where it can."""
    missing = [package for program, package in PROGRAMS.items() if _program(program) is None]
    if os.geteuid():
        return "faults on links between containers act inside their networks, which only root can enter; run as root"
    return f"faults on links between containers need {', '.join(missing)}: install it" if missing else ""


def _program(name: str) -> str | None:
    return shutil.which(name, path=f"{os.environ.get('PATH', '')}:{SYSTEM_PROGRAMS}")


@dataclass(frozen=True)
class ContainerNetwork:
    """The network of a container of a service, by the number of a process in it."""

    service: str
    pid: int

    @property
    def file(self) -> str:
        """The file by which processes enter it."""
        return str(PROC / str(self.pid) / "ns" / "net")

    @property
    def is_there(self) -> bool:
        """Whether the process is still there by which it is entered."""
        return Path(self.file).exists()

    def write(self, rules: Sequence[str]) -> None:
        """Write rules, as ``iptables-restore`` reads them: all or none. Raises ProjectFailed."""
        self._asked("iptables-restore", "--noflush", "--wait", given="\n".join([*rules, ""]))

    def dropped(self, chain: str) -> int:
        """Return how many packets the rules of a chain have dropped so far. Raises ProjectFailed."""
        lines = self._asked("iptables-save", "--counters", "--table", "filter").splitlines()
        own = [line for line in lines if f"-A {chain} " in line and line.endswith(" -j DROP")]
        return sum(int(line[1 : line.index(":")]) for line in own)

    def reset(self, addresses: Sequence[str]) -> None:
        """Close the connections to some addresses, where the kernel can; their programs learn of it at once."""
        for address in addresses:
            with suppress(ProjectFailed):  # those that are left are reset by a rule when they are used
                self._asked("ss", "--kill", "--tcp", "dst", address)

    def _asked(self, program: str, *words: str, given: str = "") -> str:
        return asked(["nsenter", f"--net={self.file}", _program(program) or program, *words], given=given)


def network_of(one: ContainerState) -> ContainerNetwork:
    """Return the network of a container that runs. Raises ProjectFailed where it can't be entered, and says why."""
    if why := lacking():
        raise ProjectFailed(why)
    if one.status not in RUNS:
        raise ProjectFailed(f"service {one.service} is {one.status}, not running")
    found = ContainerNetwork(one.service, one.pid)
    if not _is_here(one):
        raise ProjectFailed(
            f"the processes of service {one.service} are not on this machine, so that its network can't be entered: "
            "the engine has to run here, and not in a virtual machine (Docker Desktop) or elsewhere (DOCKER_HOST)"
        )
    if Path(found.file).readlink() == (PROC / "self" / "ns" / "net").readlink():
        raise ProjectFailed(
            f"service {one.service} has the network of this machine (`network_mode: host`), so that a fault on a link "
            "would act on all programs here; give it a network of the project"
        )
    return found


def _is_here(one: ContainerState) -> bool:
    """Whether the process of that number on this machine is the container's: its control group bears its id."""
    with suppress(OSError):
        return one.id in (PROC / str(one.pid) / "cgroup").read_text("utf-8", "surrogateescape")
    return False


def chain_of(text: str) -> str:
    """Return the name of a chain of ours for what a text names; the kernel bounds it to 28 characters."""
    return f"patternbench-{hashlib.sha256(text.encode()).hexdigest()[:12]}"


def check_addresses(called: Sequence[ContainerState]) -> None:
    """Raise ProjectFailed for addresses of version 6, which our rules would let pass."""
    for one in called:
        if any(at.address6 for at in one.attachments):
            raise ProjectFailed(
                f"service {one.service} has an IPv6 address, and faults on links between containers act on IPv4 only; "
                "take `enable_ipv6` off its network"
            )


def redirecting(chain: str, addresses: Sequence[str], port: int, *, first: bool) -> list[str]:
    """Return the rules that have connections to some addresses pass a port of the container itself.

    Those that bear our mark, and come from the proxy, go on. One that was open before is reset when it is used, so that
    its program connects again. ``first`` says that the chain is not there yet, else its rules are replaced.
    """
    there = [f"-A {chain} -d {address} -p tcp -m mark ! --mark {MARK:#x}" for address in addresses]
    return [
        *_table("nat", chain, "OUTPUT", [f"{rule} -j REDIRECT --to-ports {port}" for rule in there], first=first),
        *_table("filter", chain, "OUTPUT", [f"{rule} {RESET}" for rule in there], first=first),
    ]


def losing(chain: str, addresses: Sequence[str], percentage: float) -> list[str]:
    """Return the rules that drop a share of the packets that arrive from some addresses, by chance."""
    by_chance = f"-m statistic --mode random --probability {percentage / 100:.10f} -j DROP"
    return _table("filter", chain, "INPUT", [f"-A {chain} -s {one} {by_chance}" for one in addresses], first=True)


def without(chain: str, hook: str, *tables: str) -> list[str]:
    """Return what removes a chain of ours, and its call at a hook, from some tables."""
    gone = [f"-D {hook} -j {chain}", f"-F {chain}", f"-X {chain}", "COMMIT"]
    return [line for table in tables for line in (f"*{table}", *gone)]


def _table(name: str, chain: str, hook: str, rules: Sequence[str], *, first: bool) -> list[str]:
    """Return a chain of a table with rules, in the place of those that it had; the ``first`` call hooks it in."""
    hooked = [f"-I {hook} -j {chain}"] if first else []
    return [f"*{name}", f":{chain} - [0:0]", *rules, *hooked, "COMMIT"]
