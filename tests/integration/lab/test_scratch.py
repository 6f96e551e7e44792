"""A scratch folder goes with the process that made it, however that ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Thread

import pytest
from tests.integration.run.conftest import left_behind

from patternbench.lab.host.processes import StartError
from patternbench.lab.host.scratch import ScratchFolder

MAKES = """
import sys, time
from patternbench.lab.host.scratch import ScratchFolder
scratch = ScratchFolder("made-")
(scratch.path / "deep" / "er").mkdir(parents=True)
(scratch.path / "deep" / "er" / "file").write_text("x")
print(scratch.path, flush=True)
sys.stdin.readline()
"""
KILLED = """
import os, signal
from patternbench.lab.host import scratch
from patternbench.lab.host.scratch import ScratchFolder
scratch.{name} = lambda *_, **__: os.kill(os.getpid(), signal.SIGKILL)
ScratchFolder("made-")
"""
SOON_S = 20.0


@contextmanager
def maker(folder: Path) -> Iterator[tuple[subprocess.Popen[str], Path]]:
    """A process with a scratch folder, and that folder."""
    env = {**os.environ, "TMPDIR": str(folder)}
    command = [sys.executable, "-c", MAKES]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env, text=True) as process:
        assert process.stdout is not None
        made = Path(process.stdout.readline().strip())
        assert made.parent == folder and (made / "deep/er/file").read_text() == "x"
        yield process, made
        process.kill()


def await_gone(folder: Path) -> None:
    deadline = time.monotonic() + SOON_S
    while folder.exists() or left_behind(str(folder)):
        assert time.monotonic() < deadline, [*folder.rglob("*"), *left_behind(str(folder))]
        time.sleep(0.02)


@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGTERM, None])
def test_a_scratch_folder_is_gone_with_its_process_however_that_ends(
    tmp_path: Path, end: signal.Signals | None
) -> None:
    with maker(tmp_path) as (process, made):
        if end is None:
            process.communicate("\n")
        else:
            process.send_signal(end)
        await_gone(made)


@pytest.mark.parametrize("name", ["Process", "ScratchFolder._await_ready"])
def test_no_scratch_folder_is_left_where_its_process_is_killed_while_it_makes_one(tmp_path: Path, name: str) -> None:
    """Just before the remover is started, and just after."""
    script = KILLED.format(name=name)
    env = {**os.environ, "TMPDIR": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", script], env=env, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (-signal.SIGKILL, b"")
    await_gone(tmp_path / "made-")
    assert [*tmp_path.iterdir()] == []


def test_a_scratch_folder_that_cannot_be_made_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "gone"))
    with pytest.raises(StartError, match=r"gone/mine-[0-9a-f]{16} can't be made: mkdir: .*No such file"):
        ScratchFolder("mine-")


def test_a_scratch_folder_goes_although_others_still_write_into_it_for_a_while(tmp_path: Path) -> None:
    def writes(folder: Path) -> None:
        for number in range(400):
            with suppress(FileNotFoundError):
                folder.mkdir(exist_ok=True)
                (folder / f"{number}.log").write_text("x")
            time.sleep(0.001)

    with maker(tmp_path) as (process, made):
        writer = Thread(target=writes, args=[made / "deep"])
        writer.start()
        process.kill()
        writer.join()
        await_gone(made)


def test_a_scratch_folder_that_is_closed_is_gone_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    scratch = ScratchFolder("mine-")
    (scratch.path / "file").write_text("x")
    scratch.close()
    assert not [*tmp_path.iterdir()]
    assert not left_behind(str(scratch.path))
