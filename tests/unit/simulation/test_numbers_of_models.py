"""The numbers that a calibration puts into a model are those that were looked for, in the model's own units.

Nothing is simulated here: what a model holds is worked out from the times and the numbers that it is made of.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from tests.support.golden import is_golden

from patternbench.plan.expand import expand
from patternbench.records.load_summaries import LoadSummary
from patternbench.simulation import calibrating, checking, fitting
from patternbench.simulation.calibrating import SHARES, ModelMaker, TracedGraph
from patternbench.simulation.fitting import FittedNumbers, Numbers, ObservedScenario, Trials, candidates
from patternbench.simulation.graphs import FORMS, graph
from patternbench.simulation.model_file import ServiceAt, SimulationModel, calls_of
from patternbench.study.load import loads

STUDY = """\
patternbench: 1
name: by-load
system: target
workload: {open: {rate: [100, 200], duration: 5s}, request: {path: /}}
strategies: [{client: native, baseline: {}}]
"""
ON_A_SERVICE = STUDY + "faults: [{freeze: {}, where: target, when: {from: 1s, for: 1s}}]\n"
TIMES = np.linspace(0.010, 0.030, 201)
"""Twenty milliseconds of times, of which the shortest is 10 ms and the median 20 ms."""


@pytest.mark.parametrize(
    ("busiest", "mean_s", "reached", "expected"),
    [
        (800, 0.005, True, [2, 3, 4, 5]),  # four requests at once: two fewer, one fewer, as many, one more
        (400, 0.005, True, [1, 2, 3]),  # none has fewer than one worker
        (0, 0.005, True, [1]),
        (800, 0.005, False, [4, 5, 7, 9, 16]),
        (300, 0.005, False, [2, 3, 4, 5, 8]),
        (1, 0.001, False, [1, 2, 3, 4]),
    ],
)
def test_the_numbers_of_workers_to_try_lie_around_those_that_were_busy(
    busiest: float, mean_s: float, reached: bool, expected: list[int]
) -> None:
    assert candidates(busiest, mean_s, reached) == expected


def summary(**known: Any) -> LoadSummary:
    times = {"p50": 2.0, "p90": 4.0, "p99": 8.0}
    base = {
        "requests": 90,
        "calls": 90,
        "successes": 60,
        "errors": 0,
        "dropped": 0,
        "duration_s": 3.0,
        "rate_per_s": 30,
    }
    more = {"response_ms": times, "service_ms": {"p50": 99.0}, "lateness_ms": {}, "generator_cpu_s": 0.1, "steps": []}
    return LoadSummary.model_validate({**base, **more, "generator": {"connections": 1}, **known})


def test_rounds_are_compared_by_the_logs_of_their_quantiles_and_their_successes_per_second() -> None:
    assert fitting.logs_of(summary()) == pytest.approx(np.log([2, 4, 8, 20]))
    none = fitting.logs_of(summary(response_ms={"p50": 2.0, "p90": None, "p99": 0.0}, duration_s=0.0))
    assert none[0] == pytest.approx(math.log(2)) and np.isnan(none[1:]).all()
    (scenario, _) = expand(loads(STUDY, "study.yaml")).scenarios
    seen = fitting.observed(scenario, [summary(), summary(successes=240)])
    assert seen.logs == pytest.approx(np.log([2, 4, 8, 40])), "their mean on a log scale is that of 20 and 80"


class Known(Trials):
    """Trials whose simulations come to known numbers."""

    def logs(self, model: SimulationModel) -> list[Any]:
        return [np.log([2.0, 4, 8, 20]), np.log([4.0, 8, np.nan, 20])]


def test_how_far_a_model_is_off_is_the_root_of_the_mean_square_of_the_logs_that_both_have() -> None:
    (scenario, _) = expand(loads(STUDY, "study.yaml")).scenarios
    seen = [ObservedScenario(scenario, np.log([2.0, 4, 8, 20])), ObservedScenario(scenario, np.log([2.0, 8, 8, 20]))]
    study: Any = None
    error = Known(study, study, seen).error(study)
    assert error == pytest.approx(math.sqrt(math.log(2) ** 2 / 7)), "one of seven is off by a factor of two"


def test_a_point_of_the_search_holds_a_factor_a_part_and_a_slowdown() -> None:
    assert fitting.numbers_of(3, np.array([math.log(0.8), 0.25, 1.5])) == Numbers(3, pytest.approx(0.8), 0.25, 1.5)


# --- what a model is made of


def maker(times: Mapping[str, Any], graph_: TracedGraph | None = None, text: str = STUDY) -> ModelMaker:
    """The maker of models of a run of which only these times are known."""
    study = loads(text, "study.yaml")
    first, second = (SimpleNamespace(scenario=one, files=("a", "b", "c")) for one in expand(study).scenarios)
    noted = SimpleNamespace(study="by-load", git_commit="c" * 40, machine={"cores": 8, "cpu": "x", "python": "3"})
    source: Any = SimpleNamespace(study=study, noted=noted, run=SimpleNamespace(path=Path("/runs/one")))
    division: Any = SimpleNamespace(used=(first, second), held_out=(), rule="")
    return ModelMaker(source, division, times, graph_)


def test_times_are_those_at_the_lowest_load_less_the_way_and_by_the_factor() -> None:
    model = maker({"request": TIMES}).model(Numbers(workers=5, scale=0.5, rtt=0.4, slowdown=0.3))
    service = model.services["service"]
    points = {one.share: one.time.us for one in service.times.quantiles or []}
    assert [*points] == [float(share) for share in SHARES]
    way_ms = 0.4 * 10
    assert (points[0], points[0.5], points[1]) == tuple(500 * (ms - way_ms) for ms in (10, 20, 30))
    assert model.network.us == 1000 * way_ms / 2, "the way there; that back is as long"
    assert (service.workers, model.entry, model.system) == (5, "service", "target")
    assert [(one.at, one.factor) for one in service.slowdown or []] == [(1, 1.0), (5, 1.3)]


@pytest.mark.parametrize(("workers", "slowdown"), [(1, 0.3), (5, 0.0009)])
def test_a_single_worker_and_a_thousandth_are_no_slow_down(workers: int, slowdown: float) -> None:
    model = maker({"request": TIMES}).model(Numbers(workers, 1.0, 0.0, slowdown))
    assert model.services["service"].slowdown is None
    ends = maker({"request": TIMES}).model(Numbers(2, 1.0, 0.0, 0.001)).services["service"].slowdown
    assert [(one.at, one.factor) for one in ends or []] == [(1, 1.0), (2, 1.001)]


def test_several_steps_have_times_of_their_own_and_the_way_is_part_of_the_shortest() -> None:
    model = maker({"list": TIMES, "buy": 2 * TIMES}).model(Numbers(1, 1.0, 0.5, 0.0))
    service = model.services["service"]
    medians = {
        name: next(one.time.us for one in of_it.times.quantiles or [] if one.share == 0.5)
        for name, of_it in (service.operations or {}).items()
    }
    assert medians == {"list": 15_000, "buy": 35_000}
    whole = {one.share: one.time.us for one in service.times.quantiles or []}
    assert (whole[0], whole[1]) == (5_000, 55_000)
    assert model.network.us == 2_500


def test_the_only_service_has_the_name_by_which_faults_act_on_it() -> None:
    model = maker({"request": TIMES}, text=ON_A_SERVICE).model(Numbers(1, 1.0, 0.0, 0.0))
    assert [*model.services] == [model.entry] == ["target"]


def service(*calls: str) -> ServiceAt:
    stages = [{"together": [{"to": name, "share": 100}]} for name in calls]
    points = [{"share": 0, "time": "1ms"}, {"share": 1, "time": "3ms"}]
    return ServiceAt.model_validate(
        {"workers": 1000, "times": {"quantiles": points}, **({"calls": stages} if stages else {})}
    )


def test_of_a_graph_only_the_entry_is_limited_and_the_way_is_shared_by_its_links() -> None:
    shop, stock = service("stock", "prices"), service("depot")
    graph_ = TracedGraph("shop", {"shop": shop, "stock": stock, "prices": service(), "depot": service()}, ())
    model = maker({"request": TIMES}, graph_).model(Numbers(workers=4, scale=2.0, rtt=0.6, slowdown=0.5))
    assert model.entry == "shop"
    assert {name: one.workers for name, one in model.services.items()} == {
        "shop": 4,
        "stock": 1000,
        "prices": 1000,
        "depot": 1000,
    }
    assert {one.time.us for one in model.services["depot"].times.quantiles or []} == {2000, 6000}
    assert model.network.us == 6000 / 2 / 3, "three links after each other, there and back"
    assert model.services["shop"].slowdown and not model.services["stock"].slowdown


def test_a_model_says_where_it_comes_from() -> None:
    fitted = FittedNumbers(Numbers(2, 1.0, 0.0, 0.0), 0.0123456, workers_known=True)
    model = maker({"request": TIMES}).whole(fitted, ["workers"])
    assert model.about == "Calibrated from 6 rounds of by-load."
    came = model.calibrated
    assert came is not None
    assert (came.run, came.study, came.rounds, came.error) == ("/runs/one", "by-load", 6, 0.01235)
    assert (came.machine, came.not_identified, len(came.used)) == ({"cores": 8, "cpu": "x"}, ["workers"], 2)


@pytest.mark.parametrize(
    ("levels", "known", "reached", "first"),
    [
        (2, True, True, "the limit of the queue: none was seen to be full"),
        (2, False, True, "workers: another number fits nearly as well"),
        (2, True, False, "workers, and the slow-down: no level of load that was used reached the capacity"),
        (1, True, True, "network: with one level of load it can't be told from the service's own time"),
    ],
)
def test_what_the_records_did_not_show_is_told(levels: int, known: bool, reached: bool, first: str) -> None:
    division: Any = SimpleNamespace(used=range(levels))
    told = calibrating._not_identified(division, FittedNumbers(Numbers(1, 1, 0, 0), 0.1, known), reached)
    assert told[0] == first
    assert told[-2].startswith("the limit of the queue") and told[-1].startswith("connection set-up")
    assert ("none was seen" in told[-2]) is reached


# --- what a check of a model holds


def test_an_error_counts_from_a_point_of_a_share_and_from_a_second_of_a_recovery() -> None:
    steps = {name: checking.step_of(name) for name in ("failure_rate", "recovered", "recovery_time", "p95", "goodput")}
    assert steps == {"failure_rate": 1.0, "recovered": 1.0, "recovery_time": 1.0, "p95": 0.0, "goodput": 0.0}


def test_numbers_are_kept_with_six_digits_and_none_where_they_are_unknown() -> None:
    assert checking.rounded(1234.56789) == 1234.57
    assert checking.rounded(math.nan) is None and checking.rounded(math.inf) is None


@pytest.mark.parametrize("name", FORMS)
def test_a_graph_that_is_shipped_is_as_agreed(name: str) -> None:
    """It is drawn by a seed: a change of any line of its making gives another graph, and other results of studies."""
    model = graph(name)
    found = {
        "about": model.about,
        "network": str(model.network),
        "entry": [str(call.to) for _, call in calls_of(model.services[model.entry])][:5],
        "workers": [one.workers for one in model.services.values()],
        "medians": [(one.times.quantiles or [])[1].time.us for one in model.services.values()],
        "longest": [(one.times.quantiles or [])[-1].time.us for one in model.services.values()],
        "shares": [call.share for one in model.services.values() for _, call in calls_of(one)],
        "tried again": sum(bool(call.policies) for one in model.services.values() for _, call in calls_of(one)),
        "stages": [len(one.calls or []) for one in model.services.values()],
    }
    is_golden(f"simulation/{name}.json", found)
