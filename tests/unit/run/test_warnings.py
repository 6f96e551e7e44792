"""Conditions of a round under which its numbers may mislead."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from typing import Any

import pytest

from patternbench.analyze.warmth import Drift
from patternbench.drivers.driver import DrivenRound
from patternbench.lab.machine import MachineUse, Meter
from patternbench.observe.warning import RoundWarning
from patternbench.records.journal import ActedFault
from patternbench.run.round import warnings
from patternbench.study.faults import Fault, by_name
from patternbench.study.model.system import UrlSystem
from patternbench.terms.units import Duration

BUSY_S = 60.0
"""More than this process itself takes between two readings."""


@pytest.mark.parametrize(("stolen", "warned"), [(0.0, False), (0.02, False), (0.021, True), (0.09, True)])
def test_the_cpu_time_that_other_machines_took_gets_a_warning_from_two_percent_on(stolen: float, warned: bool) -> None:
    assert [warning.kind for warning in warnings.of_machine(MachineUse(0.5, 0.5, stolen))] == ["cpu_stolen"] * warned


@pytest.mark.parametrize(("busy", "warned"), [(0.97, False), (0.971, True)])
def test_a_machine_gets_a_warning_that_was_busy_for_more_than_97_percent(busy: float, warned: bool) -> None:
    assert [warning.kind for warning in warnings.of_machine(MachineUse(busy, busy, 0.0))] == [
        "machine_saturated"
    ] * warned


@pytest.mark.parametrize(
    ("own", "kind", "words", "silent"),
    [
        (0.95, "machine_saturated", "95% with this run's own processes", "did not start"),
        (0.89, "machine_saturated", "generator and system may have slowed each other down", "did not start"),
        (0.88, "machine_shared", "11% with processes that this run did not start", "each other"),
        (0.04, "machine_shared", "4% with its own, so others may have slowed down", "each other"),
    ],
)
def test_what_held_up_a_round_is_reported_from_whose_processes_kept_the_machine_busy(
    own: float, kind: str, words: str, silent: str
) -> None:
    (warning,) = warnings.of_machine(MachineUse(0.99, own, 0.0))
    assert warning.kind == kind
    assert words in warning.message
    assert silent not in warning.message
    assert warning.remedy


def test_the_use_of_a_machine_is_the_difference_of_two_readings() -> None:
    before, after = Meter(busy=100.0, own=10.0, stolen=1.0, total=400.0), Meter(160.0, 30.0, 5.0, 480.0)
    use = after.since(before)
    assert (use.busy, use.own, use.stolen, use.others) == (0.75, 0.25, 0.05, 0.5)


def test_the_cpu_time_of_what_a_run_has_started_is_without_the_time_of_this_process() -> None:
    before = Meter(busy=100.0, own=10.0, stolen=1.0, total=400.0, here=4.0)
    assert Meter(160.0, 30.0, 5.0, 480.0, here=9.0).since(before).started_s == 15.0
    assert Meter(160.0, 12.0, 5.0, 480.0, here=9.0).since(before).started_s == 0.0, "a component that has ended is gone"


def test_what_a_child_used_counts_as_this_runs_own_while_it_runs_and_when_it_has_ended() -> None:
    before = Meter.read()
    burn = "import time\nwhile time.process_time() < 0.2: pass\nprint(flush=True)\nimport sys; sys.stdin.read()"
    with subprocess.Popen([sys.executable, "-c", burn], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        child.stdout.readline()
        running = Meter.read()
    ended = Meter.read()
    assert running.own - before.own >= 0.15  # the kernel counts in ticks
    assert ended.own >= running.own - 0.01


def test_what_containers_used_counts_as_this_runs_own_so_that_they_are_no_strangers() -> None:
    before, after = Meter.read(100.0), Meter.read(100.0 + BUSY_S)
    assert after.own - before.own == pytest.approx(BUSY_S, abs=5)
    use = replace(after, busy=before.busy + BUSY_S, total=before.total + BUSY_S).since(before)
    assert use.others == pytest.approx(0, abs=0.1)
    assert use.started_s == pytest.approx(BUSY_S, abs=5)


@pytest.mark.parametrize(("cpu", "cores", "warned"), [(1.6, 2, False), (1.61, 2, True), (1.61, 4, False)])
def test_a_generator_gets_a_warning_that_took_more_than_80_percent_of_all_cores(
    cpu: float, cores: int, warned: bool
) -> None:
    assert [warning.kind for warning in warnings.of_generator(cpu, cores)] == ["generator_saturated"] * warned


def test_the_warning_about_stolen_time_says_how_much_it_was() -> None:
    (warning,) = warnings.of_machine(MachineUse(0.5, 0.5, 0.07))
    assert "7%" in warning.message


@pytest.mark.parametrize(("verify", "warned"), [(None, False), (True, False), (False, True)])
def test_who_answered_gets_a_warning_where_certificates_are_not_verified(verify: bool | None, warned: bool) -> None:
    system = UrlSystem.model_validate({"url": "https://x", "verify": verify})
    assert [warning.kind for warning in warnings.of_trust(system)] == ["certificates_not_verified"] * warned


def test_a_round_after_which_the_system_was_gone_is_not_used_and_says_why() -> None:
    (warning,) = warnings.of_absence("connection refused")
    assert (warning.kind, warning.invalidates) == (warnings.TARGET_GONE, True)
    assert "connection refused" in warning.message
    assert "--retry-invalid" in warning.remedy
    assert warnings.of_absence(None) == []


def test_a_round_that_began_cold_gets_a_warning_with_the_warm_up_that_it_needs() -> None:
    drift = Drift(ratio=1.42, seconds=3.2, attempts=640)
    assert warnings.of_warmth(None, Duration.parse("2s")) == []
    (by_time,) = warnings.of_warmth(drift, Duration.parse("2s"))
    assert "1.42 times as long" in by_time.message
    assert by_time.remedy.endswith("set `warm_up: 6s`")
    (by_requests,) = warnings.of_warmth(drift, Duration.parse("1m"), 1000)
    assert by_requests.remedy.endswith("set `warm_up: {requests: 1640}`")
    assert not by_time.invalidates


def test_every_warning_says_what_was_seen_and_what_to_do() -> None:
    insecure = UrlSystem.model_validate({"url": "https://x", "verify": False})
    found = [
        *warnings.of_generator(2.0, 2),
        *warnings.of_calls(1, 0),
        *warnings.of_proxy(1, 10),
        *warnings.of_trust(insecure),
        *warnings.of_machine(MachineUse(1.0, 1.0, 0.1)),
        *warnings.of_machine(MachineUse(1.0, 0.1, 0.0)),
        *warnings.of_absence("connection refused"),
        *warnings.of_carried_over({"db": ("truncate",)}),
        *warnings.of_still_busy("the round before failed"),
        *faulted(CRASH, (9_000_000, None)),
        *faulted(DELAY, (2_000_000, 900.0)),
    ]
    assert [warning.kind for warning in found] == [
        "generator_saturated",
        "few_calls",
        "nothing_succeeded",
        "answered_by_proxy",
        "certificates_not_verified",
        "machine_saturated",
        "cpu_stolen",
        "machine_shared",
        "target_gone",
        "carried_over",
        "still_busy",
        "fault_never_began",
        "fault_late",
        "fault_inexact",
    ]
    for warning in found:
        assert len((warning.message or "").split()) > 4, warning.kind
        assert len((warning.remedy or "").split()) > 4, warning.kind


CRASH = {"crash": {}, "where": "shop", "when": [{"from": "1s", "for": "1s"}, {"from": "4s", "for": "1s"}]}
DELAY = {"delay": {"percentage": 100, "duration": "2ms"}}


def faulted(fault: dict[str, Any], *acted: tuple[int, float | None]) -> list[RoundWarning]:
    """The warnings about a fault that began at these microseconds, held requests back so much too long."""
    faults = by_name([Fault.model_validate(fault)])
    (name,) = faults
    done = [
        ActedFault(name, name, "shop", began, began + 1_000_000, {} if late is None else {"late_mean_us": late})
        for began, late in acted
    ]
    return warnings.of_faults(faults, done, measured_from_us=2_000_000)


def of_faults(fault: dict[str, Any], *acted: tuple[int, float | None]) -> list[str]:
    """The kinds of those warnings."""
    return [warning.kind for warning in faulted(fault, *acted)]


def test_faults_that_acted_at_their_times_raise_no_warning() -> None:
    assert of_faults(CRASH, (3_000_200, None), (6_049_000, None)) == []
    assert of_faults(DELAY, (-10, 99.0)) == []


def test_a_window_that_the_round_did_not_reach_makes_it_invalid() -> None:
    faults = by_name([Fault.model_validate(CRASH)])
    (warning,) = warnings.of_faults(faults, [ActedFault("crash", "crash", "shop", 3_000_000, 4_000_000)], 2_000_000)
    assert (warning.kind, warning.invalidates) == ("fault_never_began", True)
    assert "began 1 times before the round ended, not 2 times" in warning.message


def test_a_level_that_does_nothing_is_not_missed() -> None:
    assert of_faults({"crash": {}, "where": "shop", "when": {"from": "1s", "for": "0ms"}}) == []


def test_a_fault_that_began_late_is_told_of() -> None:
    assert of_faults(CRASH, (3_000_000, None), (6_060_000, None)) == ["fault_late"]


def test_a_delay_of_another_length_than_its_level_is_told_of() -> None:
    assert of_faults(DELAY, (-10, 201.0)) == ["fault_inexact"]


def test_a_store_that_begins_with_what_was_left_in_it_gets_a_warning_with_its_own_reset_as_the_remedy() -> None:
    (warning,) = warnings.of_carried_over({"db": ("truncate",)})
    assert warning.message == "db began the round with data of earlier rounds"
    assert warning.remedy.startswith("write `reset: truncate` in its entry of the system file, or `reset: none`")
    assert not warning.invalidates
    assert warnings.of_carried_over({}) == []


def test_a_round_that_began_with_work_of_the_one_before_gets_a_warning_with_what_was_seen_of_it() -> None:
    why = "the round before failed, and before this one it kept 1.0 CPUs busy"
    (warning,) = warnings.of_still_busy(why)
    assert warning.message == f"the round may have begun with work of the one before: {why}"
    assert not warning.invalidates
    assert warnings.of_still_busy("") == []


def test_a_round_without_a_call_is_not_valid() -> None:
    assert [warning.kind for warning in warnings.of_calls(0, 0) if warning.invalidates] == [warnings.NO_CALL]


def driven(**known: Any) -> DrivenRound:
    return DrivenRound(rows=10, cpu_seconds=known.pop("cpu_seconds", 0.1), **known)


IDLE, SLOW = MachineUse(0.1, 0.1, 0.0), RoundWarning("late", "sent late", "use fewer users")


def test_a_driver_that_does_not_judge_its_load_is_judged_by_its_cpu_time_and_its_calls() -> None:
    """A library's client that kept every core busy may itself be what was slow."""
    cores = os.cpu_count() or 1
    kinds = [
        [warning.kind for warning in warnings.of_load(driven(calls=9000, successes=9000, cpu_seconds=cpu), IDLE, 2.0)]
        for cpu in (0.1, 2.0 * cores)
    ]
    assert kinds == [[], ["generator_saturated"]]
    assert [warning.kind for warning in warnings.of_load(driven(calls=0), IDLE, 2.0)] == [warnings.NO_CALL]


def test_a_driver_that_judges_its_load_is_believed_but_for_a_round_without_a_call() -> None:
    busy = driven(warnings=[SLOW], calls=9, successes=9, cpu_seconds=1000.0)
    assert warnings.of_load(busy, IDLE, 2.0) == [SLOW]
    assert [warning.kind for warning in warnings.of_load(driven(warnings=[]), IDLE, 2.0)] == [warnings.NO_CALL]


def test_what_held_up_the_machine_is_said_whoever_judges_the_load() -> None:
    held_up = MachineUse(0.99, 0.99, 0.0)
    for measured in (driven(warnings=[], calls=9, successes=9), driven(calls=9000, successes=9000)):
        assert [warning.kind for warning in warnings.of_load(measured, held_up, 2.0)] == ["machine_saturated"]


def test_a_log_whose_middle_is_left_out_is_a_warning_that_names_the_component() -> None:
    (warning,) = warnings.of_cut_logs(["shop"])
    assert warning.kind == "log_cut"
    assert "logs/shop.log" in warning.message
    assert "log level" in warning.remedy
