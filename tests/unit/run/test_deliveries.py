"""What is concluded from what a client delivers: who has finished, how many calls there were, what to warning."""

from __future__ import annotations

import numpy as np
import pytest

from patternbench.drivers.library import calls_of, finished_users
from patternbench.lab.machine import MachineUse
from patternbench.records.attempts import from_batches
from patternbench.records.batches import Batch
from patternbench.run.round import warnings


def batch(rows: list[tuple[int, int, int, int]]) -> Batch:
    """Rows of (user, call, attempt, status), one microsecond each; status 0 stands for a rejected call."""
    user, call, attempt, status = (np.array(column, dtype=np.int64) for column in zip(*rows, strict=True))
    start = np.arange(len(rows)) * 10
    outcome = np.where(status == 0, 3, 0).astype(np.int8)
    return Batch(user, call, attempt, start, np.where(status == 0, 0, 1), outcome, status.astype(np.int16))


def test_a_user_is_finished_by_its_successes_or_by_its_attempts() -> None:
    rows = [(0, 0, 1, 200), (0, 1, 1, 200), (1, 0, 1, 503), (1, 1, 1, 503), (1, 2, 1, 503), (2, 0, 1, 200)]
    table = from_batches([batch(rows)], warm_up=False)
    assert finished_users(table, 3, 2, 3) == 2


def test_rejected_calls_are_no_attempts() -> None:
    table = from_batches([batch([(0, call, 0, 0) for call in range(5)])], warm_up=False)
    assert finished_users(table, 1, 2, 3) == 0


def test_a_user_that_made_no_attempt_is_not_finished() -> None:
    table = from_batches([], warm_up=False)
    assert finished_users(table, 4, 1, None) == 0


@pytest.mark.parametrize(
    ("shares", "kinds"),
    [
        ((0.5, 0.5, 0.0), []),
        ((1.9, 0.5, 0.0), ["generator_saturated"]),
        ((0.5, 0.99, 0.0), ["machine_saturated"]),
        ((0.5, 0.5, 0.1), ["cpu_stolen"]),
    ],
)
def test_each_warning_about_the_processors_comes_with_a_remedy(
    shares: tuple[float, float, float], kinds: list[str]
) -> None:
    generator, busy, stolen = shares
    found = [*warnings.of_generator(generator, cores=2), *warnings.of_machine(MachineUse(busy, busy, stolen))]
    assert [warning.kind for warning in found] == kinds
    assert all(warning.remedy for warning in found)


@pytest.mark.parametrize(
    ("calls", "good", "kinds"),
    [(8, 8, ["few_calls"]), (99, 1, ["few_calls"]), (100, 1, []), (100, 0, ["nothing_succeeded"])],
)
def test_a_round_of_few_calls_or_without_a_success_gets_a_warning(calls: int, good: int, kinds: list[str]) -> None:
    found = warnings.of_calls(calls, good)
    assert [warning.kind for warning in found] == kinds
    assert not any(warning.invalidates for warning in found)


def test_calls_are_counted_once_however_many_attempts_they_took() -> None:
    rows = [(0, 0, 1, 503), (0, 0, 2, 200), (0, 1, 1, 503), (0, 1, 2, 503), (1, 0, 0, 0)]
    assert calls_of(from_batches([batch(rows)], warm_up=False)) == (3, 1)


def test_answers_of_the_fault_proxy_itself_are_reported() -> None:
    (warning,) = warnings.of_proxy(37, 5000)
    assert "37 of 5,000 attempts were answered by the fault proxy" in warning.message
    assert not warnings.of_proxy(0, 5000)
