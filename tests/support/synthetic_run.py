"""A run that was never run: rounds of the published study's shape, from a closed formula with seeded noise.

The formula follows the published observations: without a pattern the success time rises with the fault share
and the users; patterns keep it down and pay with execution time once faults are frequent.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from tests.support.factors import factors

from patternbench.analyze.failures import CAUSES
from patternbench.analyze.metrics import CURVE, RESPONSES
from patternbench.records.stored import PlannedScenario
from patternbench.report.model import RunReport

DELAYS = ("20ms", "40ms", "60ms")
FAULT = "faults.abort.percentage"
RETRY = "retry.backoff.exponential.initial"
BREAKER = "circuit_breaker.open_for"
LEVELS: Mapping[str, Sequence[Any]] = {
    FAULT: [0, 20, 40, 60, 80],
    "users": [50, 100, 150],
    "client": ["resilience4j", "native"],
    "strategy": ["baseline", "retry", "circuit_breaker"],
    RETRY: list(DELAYS),
    BREAKER: list(DELAYS),
}
STUDY = """patternbench: 1
name: retry-and-circuit-breaker
system: httpbin
rounds: 10
seed: 7
workload:
  closed: {users: [50, 100, 150], successes: 10, max_attempts: 500}
"""


def synthetic_run(rounds: int = 10, seed: int = 7, **levels: Sequence[Any]) -> RunReport:
    """Make a run of 210 scenarios; ``levels`` shortens a factor (``users=[50]``, ``fault=[0]``)."""
    levels_of = {
        **LEVELS,
        **{FAULT if name == "fault" else name: list(found) for name, found in levels.items()},
    }
    scenarios = [PlannedScenario(id=f"s{place:03d}", levels=each) for place, each in enumerate(_scenarios(levels_of))]
    generator = np.random.default_rng(seed)
    table = pd.DataFrame(_rounds(scenarios, rounds, generator))
    return RunReport(
        study_name="retry-and-circuit-breaker",
        study_text=STUDY,
        manifest=MANIFEST,
        factors=factors(levels_of),
        scenarios=scenarios,
        rounds=_with_troubles(table),
        latencies=_latencies(table, generator),
        left_out=[{"what": "client polly", "why": "not installed: this machine has no .NET runtime"}],
    )


MANIFEST: Mapping[str, Any] = {
    "patternbench": "0.1.0",
    "started": "2024-05-11T10:00:00Z",
    "seed": 7,
    "git_commit": "0123456789abcdef",
    "machine": {
        "cpu": "Example CPU at 2.5 GHz",
        "cores": 2,
        "memory_bytes": 8_000_000_000,
        "kernel": "6.1.0",
    },
    "components": {"envoy": "1.40.0", "httpbin": "0.10.2"},
    "clients": {"resilience4j": "2.2.0", "native": "0.1.0"},
}


def _scenarios(levels: Mapping[str, Sequence[Any]]) -> Iterator[dict[str, Any]]:
    for fault, users, client in product(levels[FAULT], levels["users"], levels["client"]):
        common = {FAULT: fault, "users": users, "client": client}
        for strategy in levels["strategy"]:
            own = {"retry": RETRY, "circuit_breaker": BREAKER}.get(strategy)
            for delay in levels[own] if own else [None]:
                yield {**common, "strategy": strategy, **({own: delay} if own else {})}


def _rounds(
    scenarios: Sequence[PlannedScenario], rounds: int, generator: np.random.Generator
) -> Iterator[dict[str, Any]]:
    number = 0
    for block in range(rounds):
        for place in generator.permutation(len(scenarios)):
            scenario = scenarios[place]
            yield {
                "round": number,
                "block": block,
                "scenario": scenario.id,
                "status": "done",
                "cause": None,
                **_responses(scenario.levels, block, generator),
            }
            number += 1


def _responses(levels: Mapping[str, Any], block: int, generator: np.random.Generator) -> dict[str, float]:
    """Work out one round's responses; noise is lognormal, and the machine slows by 0.2 % a block."""
    fault, users = levels[FAULT] / 100, levels["users"]
    delay = float((levels.get(RETRY) or levels.get(BREAKER) or "0ms").removesuffix("ms")) / 1000
    retry, breaker = levels["strategy"] == "retry", levels["strategy"] == "circuit_breaker"
    slow = (1 + 0.002 * block) * (1.15 if levels["client"] == "resilience4j" else 1)
    relief = 1 / (1 + 14 * delay * fault * (1.3 if retry else 1))
    success = 0.065 * (users / 50) ** 0.8 * (1 + 1.1 * fault**2 * relief**2) * relief
    success *= slow * generator.lognormal(0, 0.03)
    attempts = 10 / (1 - fault)
    waits = (attempts - 10) * delay * (1.7 if retry else 1.25) * (1 + 3 * fault**4)
    execution = (attempts * success * (1 - 0.35 * fault) + waits) * generator.lognormal(0, 0.02)
    error = success * 0.4 * generator.lognormal(0, 0.05) if fault else np.nan
    failed_calls = attempts - 10 if not retry else attempts * fault**6 / 3
    rejected = round(users * (attempts - 10) * 0.6) if breaker else 0
    calls = 10 + failed_calls + rejected / users
    return _named((users, attempts, calls, rejected), (success, error, execution), generator)


def _named(
    counts: tuple[int, float, float, float],
    seconds: tuple[float, float, float],
    generator: np.random.Generator,
) -> dict[str, float]:
    users, attempts, calls, rejected = counts
    success, error, execution = seconds
    times = {"p50": 0.9, "p90": 1.6, "p95": 1.9, "p99": 2.8, "p999": 4.1, "max": 5.5}
    bad = attempts - 10
    call = execution / calls
    found = {
        "SuccessfulCalls": 10.0 * users,
        "UnsuccessfulCalls": (calls - 10) * users,
        "TotalCalls": calls * users,
        "SuccessfulRequests": 10.0 * users,
        "UnsuccessfulRequests": bad * users,
        "TotalRequests": attempts * users,
        "TotalSuccessTime": 10 * success,
        "AverageSuccessTime": success,
        "TotalErrorTime": bad * error if bad else 0.0,
        "AverageErrorTime": error,
        "Throughput": attempts * users / execution,
        "TotalExecutionTime": execution,
        "amplification": attempts / calls,
        "rejected_calls": rejected,
        "failure_rate": 100 * (calls - 10) / calls,
        "success_rate": 1000 / calls,
        "rejected_rate": 100 * rejected / (calls * users),
        "goodput": 10 * users / execution,
        "time_to_success": execution / 10,
        **{f"success_{name}": success * by for name, by in times.items()},
        **{f"error_{name}": error * by for name, by in times.items()},
        **{name: call * by * generator.lognormal(0, 0.02 * by) for name, by in times.items()},
    }
    found["TotalContentionTime"] = found["TotalSuccessTime"] + found["TotalErrorTime"]
    found |= {f"call_success_{name}": 0.98 * found[name] for name in times}
    found["ContentionRate"] = found["TotalContentionTime"] / execution
    found |= {**dict.fromkeys(CAUSES, 0.0), "bad_status_rate": found["failure_rate"] - found["rejected_rate"]}
    return {name: found.get(name, np.nan) for name in RESPONSES}


def _with_troubles(rounds: pd.DataFrame) -> pd.DataFrame:
    """Let two rounds fail, and warning some others."""
    if len(rounds) > 500:
        rounds.loc[[17, 404], "status"] = "failed"
        rounds.loc[17, "cause"] = "the client resilience4j ended with exit code 137 (out of memory?)"
        rounds.loc[404, "cause"] = "over its time limit of 60s"
        rounds.loc[[17, 404], list(RESPONSES)] = np.nan
    late = [{"message": "the machine was busy with other work (7 % stolen)", "remedy": REMEDY}]
    rounds["warnings"] = [json.dumps(late if number % 150 == 3 else []) for number in rounds["round"]]
    return rounds


REMEDY = "run on a machine of your own, or close what else is running"


def _latencies(rounds: pd.DataFrame, generator: np.random.Generator) -> pd.DataFrame:
    quantiles = np.array(CURVE)
    shape = 0.35 + 0.25 * -np.log(np.clip(1 - quantiles, 0.0005, 1))
    parts = [
        pd.DataFrame(
            {
                "scenario": row.scenario,
                "round": row.round,
                "kind": kind,
                "quantile": quantiles,
                "seconds": middle * shape * generator.lognormal(0, 0.02 + 0.04 * quantiles),
            }
        )
        for row in rounds[rounds["status"] == "done"].itertuples()
        for kind, middle in (("call", row.p50), ("success", row.AverageSuccessTime))
    ]
    return pd.concat(parts, ignore_index=True)
