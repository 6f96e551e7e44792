"""Every word, number and figure of the section on rate limiting is as agreed, for limiters that differ in everything.

The rows of rounds are made up, so that no two numbers of the section are alike by chance. What the tables say of costs
and of deviation is worked out here too, round by round.
"""

from __future__ import annotations

from statistics import mean, median
from typing import Any

import pandas as pd
import pytest
from scipy import stats
from tests.support.golden import is_golden, is_golden_section
from tests.unit.ratelimit.test_section import row

from patternbench.observe.section import Section
from patternbench.ratelimit.plan.accuracy_map import BAND, ClientGroup, Map, left_out, scenarios
from patternbench.ratelimit.plan.limit import EnforcedLimit
from patternbench.ratelimit.records import simulated
from patternbench.ratelimit.records.simulated import JudgeSummary, LimitMap, MapScenario, SimulationRecord
from patternbench.ratelimit.report import section, tables
from patternbench.ratelimit.report.tables import BALANCERS, CLIENTS
from patternbench.records.folder import RunFolder
from patternbench.terms.problems import InputError
from patternbench.terms.units import Duration

BLOCKS = 4
MEASURES = ("deviation", "wrongly_allowed", "wrongly_rejected", "client_mean", "deviation_tolerant")
MORE = ("deviation_least", "deviation_most", "peak")
CONFIGURATIONS = [
    ("no limiter", "-", "-", "-"),
    ("fixed window", "redis", "per request", "0ms"),
    ("fixed window", "redis", "per request", "5ms"),
    ("fixed window", "redis", "eager lease", "0ms"),
    ("fixed window", "mariadb", "per request", "0ms"),
    ("gcra", "redis", "per request", "0ms"),
    ("gcra", "redis", "per request", "5ms"),
    ("gcra", "mariadb", "per request", "0ms"),
    ("gcra", "crdt", "per request", "5ms"),
    ("sliding window log", "memory", "per request", "0ms"),
]
LIMITS = [
    EnforcedLimit(algorithm="gcra", limit=10, window=Duration.parse("6s"), store="redis", burst=4),
    EnforcedLimit(algorithm="fixed_window", limit=10, window=Duration.parse("6s"), store="redis"),
    EnforcedLimit(algorithm="sliding_window_counter", limit=10, window=Duration.parse("6s"), store="redis"),
    EnforcedLimit(algorithm="fixed_window", limit=10, window=Duration.parse("6s"), store="redis"),
]
NUMBERS = {name: number for number, name in enumerate(CONFIGURATIONS)}


def cost(number: int, block: int) -> float:
    """The latency of a round in ms: what its limiter adds, what its block does to all, and a little of its own."""
    return 10 + 0.3 * number + 0.5 * block + 0.01 * ((7 * number + 3 * block) % 5)


def deviation(number: int, block: int) -> float:
    """Percent: the first half of the limiters is accurate enough."""
    return 0.2 * number + 0.03 * block


def made() -> pd.DataFrame:
    """A round of each configuration in each block, one of which is not valid, and one whose store did not answer."""
    rows = []
    for block in range(BLOCKS):
        for (algorithm, store, mode, distance), number in NUMBERS.items():
            value = deviation(number, block)
            one = row(algorithm, cost(number, block), value, block, round=len(CONFIGURATIONS) * block + number)
            names = {"store": store, "synchronisation": mode, "distance": distance}
            rows.append({**one, **names, "throughput": 80.0 - number, **_measures(number, block)})
    rows[13]["valid"] = False
    rows[22]["missing"] = 40.0
    return pd.DataFrame(rows)


def _measures(number: int, block: int) -> dict[str, float]:
    """Other numbers for each measure, each side and each end of the scale."""
    value, free = deviation(number, block), not number
    sides: dict[str, float] = {}
    for far, side in enumerate((BALANCERS, CLIENTS)):
        for place, name in enumerate((*MEASURES, *MORE)):
            sides[f"{side}.no limiter.{name}"] = 30 + place + far
            sides[f"{side}.exact log.{name}"] = 0.0
            if not (free and side == BALANCERS):
                sides[f"{side}.measured.{name}"] = (31 if free else value) + 0.1 * place + 0.05 * far
    return {**sides, "group.small": value + 0.5, "group.large": value + 0.7}


def summary(deviates: float, requests: int = 10) -> JudgeSummary:
    """A summary of the judge whose measures differ from each other."""
    values = {"deviation": deviates, "wrongly_allowed": deviates / 4, "wrongly_rejected": 3 * deviates / 4}
    more = {"deviation_tolerant": deviates / 2, "client_mean": deviates + 0.1, "peak": 1 + deviates / 10}
    return JudgeSummary.model_validate({"requests": requests, **values, **more, "asked_store": 60 - deviates})


def a_map() -> LimitMap:
    """A grid with gaps: a lease only where there is one, copies only with several balancers."""
    cells = [
        ("fixed_window", "request", 0),
        ("fixed_window", "request", 100_000),
        ("fixed_window", "eager", 0),
        ("fixed_window", "eager", 100_000),
        ("gcra", "request", 0),
        ("gcra", "request", 35_000),
        ("gcra", "request", 100_000),
        ("sliding_window_log", "share", 0),
    ]
    made = [
        MapScenario(
            arrivals=arrivals,
            algorithm=algorithm,
            synchronisation=mode,
            balancers=balancers,
            staleness_us=late,
            measured=summary(far + 0.1 * place + 0.02 * balancers),
            scale={"no limiter": summary(40 + far), "exact log": summary(0)},
            cpu_s=0.25,
        )
        for far, arrivals in enumerate(("recorded", "bursty"))
        for place, (algorithm, mode, late) in enumerate(cells)
        for balancers in (1, 2, 64)
        if balancers > 1 or late == 0
    ]
    return LimitMap(LIMITS[0], 3, 2, made, ["leaky_bucket with eager: they compute times"])


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Section:
    run = RunFolder(tmp_path_factory.mktemp("limited"))
    again = {
        str(n): summary(deviation(n % len(CONFIGURATIONS), n // len(CONFIGURATIONS)) + (n % 3) / 4) for n in range(36)
    }
    simulated.write(run, SimulationRecord(again, [a_map()], 12_345, 6.5))
    return section.section(run, made(), LIMITS)


def test_every_word_table_and_figure_of_the_section_is_as_agreed(found: Section) -> None:
    is_golden_section("report/rate-limiting", found)


def test_what_a_limiter_adds_is_its_mean_difference_to_the_free_rounds_of_its_blocks() -> None:
    rows = made()
    valid = rows[rows["valid"]]
    found = tables.costs(valid)
    assert len(found) == len(CONFIGURATIONS)
    for one in found.to_dict("records"):
        number = NUMBERS[tuple(one[name] for name in ("algorithm", "store", "synchronisation", "distance"))]
        blocks = [block for block in range(BLOCKS) if (number, block) != (3, 1)]
        added = [cost(number, block) - cost(0, block) for block in blocks]
        assert (one["overhead"], one["rounds"]) == (pytest.approx(mean(added)), len(blocks))
        base = mean(cost(0, block) for block in range(BLOCKS))
        assert one["percent"] == pytest.approx(100 * mean(added) / base)


def test_a_difference_between_stores_has_students_interval_over_blocks() -> None:
    """Over both algorithms that each store has, per block: the mean of the two differences is one number of a block."""
    rows = made().assign(valid=True)
    found = tables.contrasts(rows).set_index(["choice", "distance"])
    one = found.loc[("mariadb instead of redis", "0ms")]
    pairs = (("fixed window", "gcra"), ("mariadb", "redis"))
    gaps = []
    for block in range(BLOCKS):
        costs = {
            (algorithm, store): cost(NUMBERS[(algorithm, store, "per request", "0ms")], block)
            for algorithm in pairs[0]
            for store in pairs[1]
        }
        gaps.append(mean(costs[(name, "mariadb")] - costs[(name, "redis")] for name in pairs[0]))
    assert one["added, ms"] == pytest.approx(mean(gaps))
    assert one["pairs of rounds"] == 8
    low, high = stats.t.interval(0.95, BLOCKS - 1, mean(gaps), stats.sem(gaps))
    shown = [float(word) for word in str(one["95 % interval, ms"]).split(" to ")]
    assert shown == pytest.approx([low, high], rel=0.02)


def test_deviations_are_medians_of_the_valid_rounds_of_each_side() -> None:
    rows = made()
    valid = rows[rows["valid"]]
    for far, side in enumerate((BALANCERS, CLIENTS)):
        found = tables.exactness(valid, side)
        assert list(found["algorithm"])[:: len(found) - 1] == ["no limiter", "exact log"]
        for one in found.to_dict("records")[1:-1]:
            number = NUMBERS[tuple(one[name] for name in ("algorithm", "store", "synchronisation", "distance"))]
            blocks = [block for block in range(BLOCKS) if (number, block) != (3, 1)]
            expected = median(deviation(number, block) for block in blocks) + 0.05 * far
            assert (one["over requests"], one["peak / limit"]) == pytest.approx((expected, expected + 0.7))


# --- what an accuracy map is made of


WHOLE_MAP = Map(
    balancers=(1, 2, 64),
    staleness=tuple(map(Duration.parse, ("0ms", "1s"))),
    arrivals=("steady", "on_off"),
    clients=(ClientGroup(5, 120), ClientGroup(75, 0.5)),
    limit=9,
    burst=3,
    sub_windows=4,
    duration=Duration.parse("2m"),
    routing="sticky",
    seed=8,
)


def test_every_scenario_of_a_map_is_as_agreed() -> None:
    listed = [
        " | ".join(str(one[name]) for name in ("id", "arrivals", "algorithm", "synchronisation", "balancers"))
        + f" | {one['staleness_us']} | {one['store']}"
        for one in scenarios(WHOLE_MAP)
    ]
    whole = {"first": scenarios(WHOLE_MAP)[0], "left out": left_out(WHOLE_MAP), "requests": WHOLE_MAP.requests}
    is_golden("report/rate-limiting/map.json", {**whole, "scenarios": dict(enumerate(listed))})


ENDS: list[tuple[dict[str, Any], dict[str, Any], str]] = [
    ({"balancers": (1, 64)}, {"balancers": (0, 65)}, "--balancers"),
    ({"limit": 1}, {"limit": 0}, "--limit"),
    ({"limit": 1_000_000}, {"limit": 1_000_001}, "--limit"),
    ({"burst": 1}, {"burst": 0}, "--burst"),
    ({"burst": 1_000_000}, {"burst": 1_000_001}, "--burst"),
    ({"sub_windows": 1}, {"sub_windows": 0}, "--sub-windows"),
    ({"sub_windows": 60}, {"sub_windows": 61}, "--sub-windows"),
    ({"tolerance": Duration(59_999_999)}, {"tolerance": Duration(60_000_000)}, "--tolerance"),
    ({"duration": Duration(1)}, {"duration": Duration(0)}, "--duration"),
    ({"window": Duration(BAND.us + 1)}, {"window": BAND}, "--tolerance"),
    (
        {"clients": (ClientGroup(10, 1_000_000),), "duration": Duration.parse("10m")},
        {"clients": (ClientGroup(10, 1_000_001),), "duration": Duration.parse("10m")},
        "--clients",
    ),
]


@pytest.mark.parametrize(("taken", "refused", "option"), ENDS)
def test_a_map_takes_the_ends_of_what_it_allows_and_nothing_beyond(
    taken: dict[str, Any], refused: dict[str, Any], option: str
) -> None:
    assert scenarios(Map(**taken))
    with pytest.raises(InputError) as raised:
        Map(**refused)
    assert {problem.path for problem in raised.value.problems} == {option}
