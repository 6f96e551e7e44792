"""The folder of a run in the hands of several processes."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

from patternbench.records.folder import RunFolder
from patternbench.study.problems import InputError


@pytest.mark.parametrize("locked", [True, False])
def test_a_folder_that_is_or_was_locked_can_be_handed_to_another_process(tmp_path: Path, locked: bool) -> None:
    """The report of a run of many rounds is made by several processes, in the command that has just run it."""
    folder = RunFolder(tmp_path)
    folder.lock()
    if not locked:
        folder.unlock()
    handed: RunFolder = pickle.loads(pickle.dumps(folder))
    assert (handed.path, handed.attempts) == (folder.path, folder.attempts)
    handed.unlock()
    if locked:
        with pytest.raises(InputError, match="another process"):
            RunFolder(tmp_path).lock()
