"""Where the published pseudocode decides otherwise than the definitions that all of ours are held to."""

from __future__ import annotations

import importlib.util
from types import ModuleType

import pandas as pd
import pytest
from tests.support.studies import ROOT

from patternbench.ratelimit.analyze.throttling import LimitRule, exact_log, judge

SECOND = 1_000_000
LIMIT, WINDOW = 100, 60 * SECOND


@pytest.fixture(scope="module")
def definitions() -> ModuleType:
    """The algorithms by their definitions."""
    spec = importlib.util.spec_from_file_location("definitions", ROOT / "contracts" / "ratelimit" / "definitions.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def admitted(definitions: ModuleType, algorithm: str, rule: object, times: list[int]) -> int:
    """How many requests of cost one an algorithm admits by its definition."""
    grants: list[tuple[int, int]] = []
    for now in times:
        if definitions.DEFINITIONS[algorithm](grants, now, rule, 1).allowed:
            grants.append((now, 1))
    return len(grants)


@pytest.mark.parametrize("algorithm", ["leaky_bucket", "gcra"])
def test_the_published_leaky_bucket_and_gcra_admit_one_more_at_once_than_their_capacity(
    definitions: ModuleType, algorithm: str
) -> None:
    rule = definitions.Rule(limit=LIMIT, window=WINDOW, burst=5)
    times = list(range(SECOND, SECOND + 20))
    assert sum(definitions.paper(algorithm, rule, times)) == 5 + 1
    assert admitted(definitions, algorithm, rule, times) == 5


def test_the_published_leaky_bucket_does_not_space_requests_that_come_together(definitions: ModuleType) -> None:
    rule = definitions.Rule(limit=LIMIT, window=WINDOW, burst=5)
    assert sum(definitions.paper("leaky_bucket", rule, [SECOND] * 20)) == 5
    delays = [definitions.leaky_bucket([(SECOND, taken)] if taken else [], SECOND, rule, 1).delay for taken in range(5)]
    assert delays == [taken * WINDOW // LIMIT for taken in range(5)]


def test_the_published_log_still_counts_an_admission_exactly_one_window_ago(definitions: ModuleType) -> None:
    rule = definitions.Rule(limit=1, window=WINDOW)
    times = [SECOND, SECOND + WINDOW]
    assert definitions.paper("sliding_window_log", rule, times) == [True, False]
    assert admitted(definitions, "sliding_window_log", rule, times) == 2


def deviations_by_a_closed_window(times: list[int], allowed: list[bool]) -> int:
    """Algorithm 7 as printed, for one client: an admission exactly one window before a request counts."""
    found = 0
    for place, now in enumerate(times):
        before = sum(ok for at, ok in zip(times[:place], allowed[:place], strict=True) if now - WINDOW <= at <= now)
        found += allowed[place] != (before < LIMIT)
    return found


def test_the_edge_of_the_published_judge_decides_100_of_240_requests_of_a_regular_client() -> None:
    times = [number * SECOND // 2 for number in range(240)]
    asked = pd.DataFrame({"client": "ann", "time_us": times, "allowed": True})
    rule = LimitRule(WINDOW, LIMIT, 20_000)
    exact = asked.assign(allowed=exact_log(asked, rule))
    ours = judge(exact, rule)
    assert int((ours["wrongly_allowed"] | ours["wrongly_rejected"]).sum()) == 0
    assert deviations_by_a_closed_window(times, exact["allowed"].tolist()) == 100
