"""How long a round offers calls, as its study declares it."""

from __future__ import annotations

import pytest
from tests.unit.study.test_workloads import planned

from patternbench.study.workload.lengths import declared
from patternbench.terms.units import Duration

WARM_UP = Duration.parse("1s")


@pytest.mark.parametrize(
    ("workload", "seconds"),
    [
        ("{closed: {users: 1, duration: 3s, think_time: 10m}}", 3.0),
        ("{closed: {users: 1, successes: 3}}", None),
        ("{open: {rate: 1, duration: 2s}}", 2.0),
        ("{open: {rate: 2, arrivals: 10}}", 4.0),
        ("{open: {rate: 2, arrivals: 10, duration: 3s}}", 3.0),
        ("{open: {rate: 2, arrivals: 2}}", None),
        ("{open: {rate: 2, arrivals: 10, spacing: poisson}}", None),
        ("{open: {schedule: {constant: {rate: 5}}, arrivals: 10}}", 1.0),
        ("{open: {schedule: {poisson: {rate: 5}}, arrivals: 10}}", None),
        ("{open: {schedule: {steps: [{rate: 1, for: 2s}, {rate: 0, for: 3s}]}}}", 4.0),
        ("{open: {schedule: {steps: [{rate: 1, for: 2s}]}, duration: 9s}}", 1.0),
        ("{open: {schedule: {trace: a.csv}, duration: 9s}}", None),
        ("{duration: 7s, groups: [{name: a, users: 1}]}", 7.0),
    ],
)
def test_rates_are_over_the_time_for_which_a_study_offers_calls(workload: str, seconds: float | None) -> None:
    (scenario,) = planned(f"workload: {workload}\n").scenarios
    length = declared(scenario.workload, WARM_UP)
    assert (length.seconds if length else None) == seconds
