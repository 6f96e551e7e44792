"""Runs of a tiny study through the command line, in processes of their own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from patternbench.lab.software import engine

TINY = """\
patternbench: 1
name: tiny
system: {name: target, settings: {service_time: "fixed:1ms"}}
rounds: 3
seed: 5
warm_up: 100ms
time_limit: 20s
workload:
  closed: {users: [2, 4], successes: 3, max_attempts: 60}
  request: {path: /bytes/100}
faults:
  - abort: {percentage: [0, 50], status: 503}
strategies:
  - {client: native, baseline: {}}
  - {client: native, retry: {max_attempts: 3, backoff: {fixed: {delay: 2ms}}}}
"""
ROUNDS = 24


def by_library(study: str) -> str:
    """The same study with a client that speaks the contract, as those of libraries do, in place of the load engine."""
    client = f"clients: {{library: {{command: [{engine.path()}, client]}}}}\n"
    return study.replace("client: native", "client: library").replace("workload:\n", f"{client}workload:\n", 1)


Start = Callable[..., "subprocess.Popen[str]"]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.integration)


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-c", "from patternbench.cli.main import main; main()", *arguments]


def patternbench(*arguments: str, timeout: float = 280, **env: str) -> subprocess.CompletedProcess[str]:
    """Run a verb to its end; a little before the time of its test is over it is given up, and shows what it said."""
    return subprocess.run(
        command(*arguments), capture_output=True, text=True, timeout=timeout, env={**os.environ, **env}, check=False
    )


def entries(folder: Path) -> list[dict[str, Any]]:
    """The journal's rounds, warm-ups left out."""
    lines = (folder / "journal.jsonl").read_bytes().split(b"\n")[:-1] if (folder / "journal.jsonl").exists() else []
    return [entry for entry in map(json.loads, lines) if entry["status"] != "warm_up"]


def left_behind(mark: str) -> list[str]:
    """The command lines of processes that mention the mark."""
    found = []
    for place in Path("/proc").iterdir():
        try:
            line = (place / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            folder = (place / "cwd").readlink() if place.name.isdigit() else ""
        except OSError:
            continue
        if place.name != str(os.getpid()) and (mark in line or mark in str(folder)):
            found.append(line)
    return found


MOUNT_WHILE_WE_LIVE = """
place=$1; shift
mount "$@" "$place" || exit 0
echo mounted
cat  # ends when the other end of the pipe closes, even by a SIGKILL
umount -l "$place"
"""


@contextmanager
def mounted(place: Path, *what: str | Path) -> Iterator[None]:
    """What ``mount`` mounts at a folder, for as long as this process lives; skips where mounting is not allowed."""
    keeper = subprocess.Popen(
        ["sh", "-c", MOUNT_WHILE_WE_LIVE, "sh", place, *what], stdin=-1, stdout=-1, start_new_session=True
    )
    assert keeper.stdout is not None
    try:
        if not keeper.stdout.readline():
            pytest.skip("file systems can be mounted by root with CAP_SYS_ADMIN only")
        yield
    finally:
        keeper.communicate()
    assert keeper.returncode == 0, f"{place} is still mounted"


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    """A study file of 8 scenarios and 24 short rounds."""
    if engine.find() is None:
        pytest.fail("the native engine is not built; type `make setup`")
    path = tmp_path / "tiny.yaml"
    path.write_text(TINY)
    return path
