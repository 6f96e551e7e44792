"""What a check of a model covers, and what of a scenario lies outside of it."""

from __future__ import annotations

from pathlib import Path

from tests.support.simulated import DECIDED, verdicts
from tests.support.studies import study

from patternbench.plan.expand import expand
from patternbench.records import held_out
from patternbench.records.folder import RunFolder
from patternbench.records.held_out import HeldOut, covering, kinds_of
from patternbench.terms.nearness import Nearness

FREEZE = "[{freeze: {}, where: target, when: {from: 2s, for: [0ms, 1s, 2s]}}]"


def outside(checked: HeldOut, **changes: str) -> set[str]:
    return {checked.outside(one.configuration) for one in expand(study(DECIDED, **changes)).scenarios}


def test_scenarios_within_the_ranges_that_were_checked_are_covered() -> None:
    checked = verdicts(Nearness.NEAR, "p95")
    assert outside(checked) == {""}
    between = "{open: {rate: [150, 650], spacing: poisson, duration: 5s}, request: {path: /bytes/10, timeout: 1s}}"
    assert outside(checked, workload=between) == {""}


def test_what_lies_outside_is_named() -> None:
    checked = verdicts(Nearness.NEAR, "p95")
    faster = "{open: {rate: 701, spacing: poisson, duration: 5s}, request: {path: /bytes/10, timeout: 1s}}"
    assert outside(checked, workload=faster) == {"workload.open.rate is 701, and 100 to 700 was checked"}
    other = "{open: {rate: 100, spacing: regular, duration: 5s}, request: {path: /bytes/10, timeout: 1s}}"
    assert outside(checked, workload=other) == {"workload.open.spacing is regular, which was not checked"}
    hedged = "[{client: native, stack: [{timeout: 1s}, {hedge: {max_attempts: 2, delay: 5ms}}]}]"
    assert outside(checked, strategies=hedged) == {"no rounds with timeout+hedge were checked"}
    frozen = {name for name in outside(checked, faults=FREEZE) if name}
    assert frozen == {
        "no rounds with baseline under freeze were checked",
        "no rounds with retry under freeze were checked",
    }


def test_a_fault_that_does_nothing_is_none() -> None:
    kinds = [kinds_of(one.configuration) for one in expand(study(DECIDED, faults=FREEZE)).scenarios]
    assert kinds.count(("baseline", [])) == 4
    assert kinds.count(("retry", ["freeze"])) == 8


def test_a_pattern_of_longer_waits_than_were_checked_is_outside() -> None:
    checked = verdicts(Nearness.NEAR, "p95")
    longer = "[{client: native, retry: {max_attempts: 3, backoff: {fixed: {delay: 1s}}}}]"
    assert outside(checked, strategies=longer) == {
        "strategy.retry.backoff.fixed.delay is 1, and 0.009 to 0.009 was checked"
    }


def test_a_check_is_read_as_it_was_written(tmp_path: Path) -> None:
    run = RunFolder(tmp_path)
    scenarios = [one.configuration for one in expand(study(DECIDED, faults=FREEZE)).scenarios]
    checked = verdicts(Nearness.FAR, "p95").model_copy(update={"covers": covering(scenarios)})
    held_out.write(run, checked)
    assert held_out.read(run) == checked
    assert held_out.read(RunFolder(tmp_path / "other")) is None
