"""Whatever a command is put into, it ends in words: no traceback, no hang, no lost record, no half of a file."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.support.surroundings import KINDS, attack, cases

SEED, EACH = 20261126, 1


@pytest.mark.parametrize("kind", KINDS)
def test_a_command_holds_in_surroundings_of_the_kind(kind: str, tmp_path: Path) -> None:
    for folder in (tmp_path, *tmp_path.parents[:2]):
        folder.chmod(0o755)  # some run as another user
    found = attack(cases(kind, EACH, SEED), tmp_path)
    broken = {title: wrong for title, wrong in found.items() if wrong}
    assert not Path("/nonexistent").exists()  # other tests, and HOME of nobody, rely on it
    assert not broken, "\n".join([f"{title}\n  " + "\n  ".join(wrong) for title, wrong in broken.items()])


def test_a_pipe_that_refuses_to_wait_loses_nothing_of_what_a_command_prints() -> None:
    """As another program may leave it that shares the pipe: it refuses what is more than fits until somebody reads."""
    command = [sys.executable, "-m", "patternbench", "schema"]
    whole = subprocess.run(command, capture_output=True, check=True).stdout
    reader, writer = os.pipe()
    fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, 4096)
    os.set_blocking(writer, False)
    with subprocess.Popen(command, stdout=writer) as child:
        os.close(writer)
        with os.fdopen(reader, "rb") as pipe:
            assert pipe.read() == whole
    assert child.returncode == 0
