"""The report and ``compare`` choose the same reference: of each study that is shipped, and where no pattern is none."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from patternbench.analyze.compare.comparison import ComparisonOptions, compare_with_baseline
from patternbench.lab import systems
from patternbench.plan.expand import Plan, expand
from patternbench.records.stored import PlannedScenario
from patternbench.report.layout import layout
from patternbench.report.model import RunReport
from patternbench.report.sections.criteria import known_of
from patternbench.study.load import load
from patternbench.terms.factors import FactorTable

STUDIES = Path(__file__).parents[3] / "studies"
ROUNDS = 3


OF_ONE_CONFIGURATION = {"known-queue"}
"""Studies that compare nothing: the same is searched several times."""


def planned(path: Path) -> Plan:
    study = load(path)
    return expand(study) if study.system.name is None else expand(study, systems.load(study.system.name, path.parent))


def of_report(plan: Plan) -> set[tuple[str, str]]:
    """Each scenario that the report compares, with its reference, by their places in the plan."""
    cells = [PlannedScenario(id=str(i), levels=dict(one.levels)) for i, one in enumerate(plan.scenarios)]
    rounds = pd.DataFrame({"scenario": [cell.id for cell in cells]})
    placed = layout(RunReport("x", "", {}, dict(plan.factors), cells, rounds)).scenarios
    return {(one.scenario, one.baseline) for one in placed if not one.reference and one.baseline is not None}


def of_compare(plan: Plan) -> set[tuple[str, str]]:
    """The same of ``compare``: the place of a scenario is its response, so that both means say which two they are."""
    known = known_of(plan.factors)
    order = np.random.default_rng(1).permutation(len(plan.scenarios))
    rows = [
        {"block": b, **{n: known.level(n, v) for n, v in plan.scenarios[i].levels.items()}, "p95": float(1 + i)}
        for b in range(ROUNDS)
        for i in order
    ]
    found = compare_with_baseline(
        pd.DataFrame(rows), (), ComparisonOptions(responses=("p95",), factors=known)
    ).differences
    return {(f"{d.means[1] - 1:g}", f"{d.means[0] - 1:g}") for d in found}


@pytest.mark.parametrize("path", sorted(STUDIES.rglob("*.yaml")), ids=lambda path: path.stem)
def test_compare_and_the_report_choose_the_same_reference(path: Path) -> None:
    plan = planned(path)
    expected = of_report(plan)
    assert expected or path.stem in OF_ONE_CONFIGURATION
    assert of_compare(plan) == expected


def test_without_a_pattern_at_none_compare_says_which_configuration_stands_for_the_baseline() -> None:
    rows = [{"name": "design", "role": "pattern", "unit": "text", "none": None, "levels": ["plain", "clever"]}]
    table = pd.DataFrame(
        [{"block": b, "design": name, "p95": 1.0 + b} for b in range(ROUNDS) for name in ("clever", "plain")]
    )
    found = compare_with_baseline(table, (), ComparisonOptions(responses=("p95",), factors=FactorTable.of(rows)))
    assert [d.scenario for d in found.differences] == ["design=clever"]
    (note,) = [note.text for note in found.notes if note.kind == "first_declared"]
    assert "the first that the study declares (design=plain)" in note
