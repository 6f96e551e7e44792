"""Signals to all processes of a component."""

from __future__ import annotations

import time
from contextlib import suppress

import psutil

from patternbench.lab.host.processes import Process, StartError

STANDS_WITHIN_S = 2.0
GLANCE_S = 0.0005
STANDING = (psutil.STATUS_STOPPED, psutil.STATUS_TRACING_STOP, psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD)


def kill(process: Process) -> None:
    """Kill every process of a component."""
    for member in process.family():
        with suppress(psutil.NoSuchProcess):
            member.kill()


def wake(process: Process) -> None:
    """Let every process of a component continue."""
    for member in process.family():
        with suppress(psutil.NoSuchProcess):
            member.resume()


def stop(process: Process) -> None:
    """Stop every process of a component and return when all are stopped. Raises StartError if some aren't."""
    deadline = time.monotonic() + STANDS_WITHIN_S
    while not _stopped(process):
        if time.monotonic() > deadline:
            wake(process)
            raise StartError(f"{process.name} could not be stopped within {STANDS_WITHIN_S:g} s")
        time.sleep(GLANCE_S)


def _stopped(process: Process) -> bool:
    """Signal every process to stop. True if all have stopped, also those that started in the meantime."""
    for member in process.family():
        with suppress(psutil.NoSuchProcess):
            member.suspend()
    return all(_stands(member) for member in process.family())


def _stands(member: psutil.Process) -> bool:
    try:
        return member.status() in STANDING
    except psutil.NoSuchProcess:
        return True
