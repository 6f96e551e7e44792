"""Every study that we ship, in both of its forms, is one that a run accepts."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.studies import ROOT

from patternbench.records.inputs import Inputs
from patternbench.run.before import preflight
from patternbench.study.load import StudyFile

STUDIES = sorted((ROOT / "studies").glob("*.yaml"))
FORMS = [(path, False) for path in STUDIES] + [(path, True) for path in STUDIES if "\nquick:\n" in path.read_text()]


@pytest.mark.slow
@pytest.mark.parametrize(("path", "quick"), FORMS, ids=lambda part: getattr(part, "stem", "quick" if part else "whole"))
def test_a_shipped_study_has_no_problem_but_what_a_machine_lacks(path: Path, quick: bool) -> None:
    file = StudyFile.read(path, quick=quick)
    study, inputs = file.study(), Inputs(file.study_folder)
    plan = preflight.expanded(study, inputs)
    assert [*preflight.driver_problems(study, plan), *preflight.described_problems(study, plan, inputs)] == []
