"""The operating system's reason for an error stands alone, whatever words a library puts around it."""

from __future__ import annotations

import errno
import os

import pytest

from patternbench.terms.problems import reason


@pytest.mark.parametrize("number", [errno.ENOENT, errno.ENOSPC, errno.EACCES, errno.EISDIR])
def test_an_error_with_a_number_has_the_systems_own_words(number: int) -> None:
    assert reason(OSError(number, "Cannot save file into a non-existent directory: 'x'")) == os.strerror(number)
    assert reason(OSError(number, os.strerror(number), "x")) == os.strerror(number)


def test_an_error_without_a_number_keeps_its_words() -> None:
    assert reason(OSError("Parquet magic bytes not found")) == "Parquet magic bytes not found"
