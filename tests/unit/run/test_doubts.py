"""Conditions of a round under which its numbers may mislead."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import pytest

from patternbench.analyze.warmth import Drift
from patternbench.drivers.driver import DrivenRound
from patternbench.lab.machine import MachineUse, Meter
from patternbench.observe.doubt import Doubt
from patternbench.records.journal import ActedFault
from patternbench.run.round import doubts
from patternbench.study.faults import Fault, by_name
from patternbench.study.model.system import UrlSystem
from patternbench.terms.units import Duration


@pytest.mark.parametrize(("stolen", "doubted"), [(0.0, False), (0.02, False), (0.021, True), (0.09, True)])
def test_the_cpu_time_that_other_machines_took_is_doubted_from_two_percent_on(stolen: float, doubted: bool) -> None:
    assert [doubt.kind for doubt in doubts.of_machine(MachineUse(0.5, 0.5, stolen))] == ["cpu_stolen"] * doubted


@pytest.mark.parametrize(("busy", "doubted"), [(0.97, False), (0.971, True)])
def test_a_machine_is_doubted_that_was_busy_for_more_than_97_percent(busy: float, doubted: bool) -> None:
    assert [doubt.kind for doubt in doubts.of_machine(MachineUse(busy, busy, 0.0))] == ["machine_saturated"] * doubted


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
    (doubt,) = doubts.of_machine(MachineUse(0.99, own, 0.0))
    assert doubt.kind == kind
    assert words in doubt.message
    assert silent not in doubt.message
    assert doubt.remedy


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


@pytest.mark.parametrize(("cpu", "cores", "doubted"), [(1.6, 2, False), (1.61, 2, True), (1.61, 4, False)])
def test_a_generator_is_doubted_that_took_more_than_80_percent_of_all_cores(
    cpu: float, cores: int, doubted: bool
) -> None:
    assert [doubt.kind for doubt in doubts.of_generator(cpu, cores)] == ["generator_saturated"] * doubted


def test_the_doubt_about_stolen_time_says_how_much_it_was() -> None:
    (doubt,) = doubts.of_machine(MachineUse(0.5, 0.5, 0.07))
    assert "7%" in doubt.message


@pytest.mark.parametrize(("verify", "doubted"), [(None, False), (True, False), (False, True)])
def test_who_answered_is_doubted_where_certificates_are_not_verified(verify: bool | None, doubted: bool) -> None:
    system = UrlSystem.model_validate({"url": "https://x", "verify": verify})
    assert [doubt.kind for doubt in doubts.of_trust(system)] == ["certificates_not_verified"] * doubted


def test_a_round_after_which_the_system_was_gone_is_not_used_and_says_why() -> None:
    (doubt,) = doubts.of_absence("connection refused")
    assert (doubt.kind, doubt.invalidates) == (doubts.TARGET_GONE, True)
    assert "connection refused" in doubt.message
    assert "--retry-invalid" in doubt.remedy
    assert doubts.of_absence(None) == []


def test_a_round_that_began_cold_is_doubted_with_the_warm_up_that_it_needs() -> None:
    drift = Drift(ratio=1.42, seconds=3.2, attempts=640)
    assert doubts.of_warmth(None, Duration.parse("2s")) == []
    (by_time,) = doubts.of_warmth(drift, Duration.parse("2s"))
    assert "1.42 times as long" in by_time.message
    assert by_time.remedy.endswith("set `warm_up: 6s`")
    (by_requests,) = doubts.of_warmth(drift, Duration.parse("1m"), 1000)
    assert by_requests.remedy.endswith("set `warm_up: {requests: 1640}`")
    assert not by_time.invalidates


def test_every_doubt_says_what_was_seen_and_what_to_do() -> None:
    insecure = UrlSystem.model_validate({"url": "https://x", "verify": False})
    found = [
        *doubts.of_generator(2.0, 2),
        *doubts.of_calls(1, 0),
        *doubts.of_proxy(1, 10),
        *doubts.of_trust(insecure),
        *doubts.of_machine(MachineUse(1.0, 1.0, 0.1)),
        *doubts.of_machine(MachineUse(1.0, 0.1, 0.0)),
        *doubts.of_absence("connection refused"),
        *doubts.of_carried_over({"db": ("truncate",)}),
        *faulted(CRASH, (9_000_000, None)),
        *faulted(DELAY, (2_000_000, 900.0)),
    ]
    assert [doubt.kind for doubt in found] == [
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
        "fault_never_began",
        "fault_late",
        "fault_inexact",
    ]
    for doubt in found:
        assert len((doubt.message or "").split()) > 4, doubt.kind
        assert len((doubt.remedy or "").split()) > 4, doubt.kind


CRASH = {"crash": {}, "where": "shop", "when": [{"from": "1s", "for": "1s"}, {"from": "4s", "for": "1s"}]}
DELAY = {"delay": {"percentage": 100, "duration": "2ms"}}


def faulted(fault: dict[str, Any], *acted: tuple[int, float | None]) -> list[Doubt]:
    """The warnings about a fault that began at these microseconds, held requests back so much too long."""
    faults = by_name([Fault.model_validate(fault)])
    (name,) = faults
    done = [
        ActedFault(name, name, "shop", began, began + 1_000_000, {} if late is None else {"late_mean_us": late})
        for began, late in acted
    ]
    return doubts.of_faults(faults, done, measured_from_us=2_000_000)


def of_faults(fault: dict[str, Any], *acted: tuple[int, float | None]) -> list[str]:
    """The kinds of those doubts."""
    return [doubt.kind for doubt in faulted(fault, *acted)]


def test_faults_that_acted_at_their_times_raise_no_warning() -> None:
    assert of_faults(CRASH, (3_000_200, None), (6_049_000, None)) == []
    assert of_faults(DELAY, (-10, 99.0)) == []


def test_a_window_that_the_round_did_not_reach_makes_it_invalid() -> None:
    faults = by_name([Fault.model_validate(CRASH)])
    (doubt,) = doubts.of_faults(faults, [ActedFault("crash", "crash", "shop", 3_000_000, 4_000_000)], 2_000_000)
    assert (doubt.kind, doubt.invalidates) == ("fault_never_began", True)
    assert "began 1 times before the round ended, not 2 times" in doubt.message


def test_a_level_that_does_nothing_is_not_missed() -> None:
    assert of_faults({"crash": {}, "where": "shop", "when": {"from": "1s", "for": "0ms"}}) == []


def test_a_fault_that_began_late_is_told_of() -> None:
    assert of_faults(CRASH, (3_000_000, None), (6_060_000, None)) == ["fault_late"]


def test_a_delay_of_another_length_than_its_level_is_told_of() -> None:
    assert of_faults(DELAY, (-10, 201.0)) == ["fault_inexact"]


def test_a_store_that_begins_with_what_was_left_in_it_is_doubted_with_its_own_reset_as_the_remedy() -> None:
    (doubt,) = doubts.of_carried_over({"db": ("truncate",)})
    assert doubt.message == "db began the round with data of earlier rounds"
    assert doubt.remedy.startswith("write `reset: truncate` in its entry of the system file, or `reset: none`")
    assert not doubt.invalidates
    assert doubts.of_carried_over({}) == []


def test_a_round_without_a_call_is_not_valid() -> None:
    assert [doubt.kind for doubt in doubts.of_calls(0, 0) if doubt.invalidates] == [doubts.NO_CALL]


def driven(**known: Any) -> DrivenRound:
    return DrivenRound(rows=10, cpu_seconds=known.pop("cpu_seconds", 0.1), **known)


IDLE, SLOW = MachineUse(0.1, 0.1, 0.0), Doubt("late", "sent late", "use fewer users")


def test_a_driver_that_does_not_judge_its_load_is_judged_by_its_cpu_time_and_its_calls() -> None:
    """A library's client that kept every core busy may itself be what was slow."""
    cores = os.cpu_count() or 1
    kinds = [
        [doubt.kind for doubt in doubts.of_load(driven(calls=9000, successes=9000, cpu_seconds=cpu), IDLE, 2.0)]
        for cpu in (0.1, 2.0 * cores)
    ]
    assert kinds == [[], ["generator_saturated"]]
    assert [doubt.kind for doubt in doubts.of_load(driven(calls=0), IDLE, 2.0)] == [doubts.NO_CALL]


def test_a_driver_that_judges_its_load_is_believed_but_for_a_round_without_a_call() -> None:
    busy = driven(doubts=[SLOW], calls=9, successes=9, cpu_seconds=1000.0)
    assert doubts.of_load(busy, IDLE, 2.0) == [SLOW]
    assert [doubt.kind for doubt in doubts.of_load(driven(doubts=[]), IDLE, 2.0)] == [doubts.NO_CALL]


def test_what_held_up_the_machine_is_said_whoever_judges_the_load() -> None:
    held_up = MachineUse(0.99, 0.99, 0.0)
    for measured in (driven(doubts=[], calls=9, successes=9), driven(calls=9000, successes=9000)):
        assert [doubt.kind for doubt in doubts.of_load(measured, held_up, 2.0)] == ["machine_saturated"]


def test_a_log_whose_middle_is_left_out_is_a_warning_that_names_the_component() -> None:
    (doubt,) = doubts.of_cut_logs(["shop"])
    assert doubt.kind == "log_cut"
    assert "logs/shop.log" in doubt.message
    assert "log level" in doubt.remedy
