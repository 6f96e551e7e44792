"""Studies that are odd and allowed are run to their end: no traceback, no hang, no round without a line."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from tests.support.hostile_studies import STUDIES, faults_of

SAMPLE = random.Random(29).sample(sorted(STUDIES), 3)
"""Of all of them (``python -m tests.support.hostile_studies``), as many as a suite has time for."""


@pytest.mark.slow
@pytest.mark.parametrize("name", SAMPLE)
def test_an_odd_study_that_is_allowed_runs_to_its_end_and_has_a_report(name: str, tmp_path: Path) -> None:
    assert faults_of(name, tmp_path) == []
