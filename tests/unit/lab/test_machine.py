"""Which core a generator gets, and that what is started meanwhile keeps off it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from patternbench.lab import machine


@pytest.mark.parametrize(("cores", "own"), [({0}, None), ({0, 1, 2}, None), ({0, 1, 2, 3}, 3), ({2, 5, 8, 9}, 9)])
def test_a_generator_gets_a_core_where_the_system_can_do_without_one(cores: set[int], own: int | None) -> None:
    assert machine.generator_core(cores) == own


@pytest.mark.parametrize(
    ("bound", "spare"),
    [(set(), ()), ({0}, (1, 2)), ({0, 7}, (1, 2)), ({0, 1, 2}, ())],
    ids=["none", "one", "far", "all"],
)
def test_the_spare_cores_are_those_to_which_nothing_is_bound(bound: set[int], spare: tuple[int, ...]) -> None:
    assert machine.spare_cores({0, 1, 2}, bound) == spare


def test_what_is_started_meanwhile_keeps_off_the_generators_core(monkeypatch: pytest.MonkeyPatch) -> None:
    given = [{0, 1, 2, 3}]
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: given[-1])
    monkeypatch.setattr(os, "sched_setaffinity", lambda _, cores: given.append(cores))
    with machine.kept_free(True) as core:
        assert (core, given[-1]) == (3, {0, 1, 2})
    assert given[-1] == {0, 1, 2, 3}


def test_no_core_is_kept_free_for_a_librarys_client(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1, 2, 3})
    with machine.kept_free(False) as core:
        assert core is None


@pytest.mark.parametrize("listed", [True, False])
def test_descendants_are_found_with_and_without_the_kernels_lists(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, listed: bool
) -> None:
    if not listed:
        monkeypatch.setattr(machine, "PROC", tmp_path)
    script = "import subprocess as s; child = s.Popen(['sleep', '60']); print(child.pid, flush=True); child.wait()"
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout
        child = int(parent.stdout.readline())
        assert list(machine.descendants(parent.pid)) == [child]
        os.kill(child, signal.SIGKILL)
